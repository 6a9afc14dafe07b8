//! From a plan to a signal: RTS or not, durations, what the medium is told.

use super::exchange::after;
use super::frame::{self, GROUP, Kind, Ppdu};
use super::progress::Progress;
use super::radio::Step;
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::medium::Emission;
use crate::wifi::phy::{Format, Width, duration};
use crate::wifi::timers::Cause;

impl<T: Clone> Air<T> {
    /// How long the planned PPDU takes with all that belongs to it.
    pub(crate) fn exchange_times(&self, radio: usize, peer: usize, category: usize) -> ExchangeTimes {
        let r = &self.radios[radio];
        let planned = &r.planned;
        let (rate, bytes) = (planned.rate, planned.psdu_bytes);
        let to_group = planned.to == GROUP;
        let answer_ns = if to_group { 0 } else { r.sifs_ns + answer_ns(r, planned) };
        let data_ns = r.ppdu_ns(rate, bytes);
        let chain = self.peers[peer].tx[category].chain.as_ref();
        let stage_rts = chain.is_some_and(|(c, _)| c.stages()[r.exchange.stage].rts);
        let long = r.spec.rts_threshold.is_some_and(|limit| bytes > limit);
        let rts = planned.kind == Kind::Data && !to_group && (stage_rts || long);
        let protection_ns = if rts {
            let rts_rate = r.control_rate(rate);
            let rts_ns = r.ppdu_ns(rts_rate, frame::frame_bytes(Kind::Rts, r.spec.standard));
            let cts_ns = r.ppdu_ns(r.answer_rate(rts_rate), frame::frame_bytes(Kind::Cts, r.spec.standard));
            rts_ns + cts_ns + 2 * r.sifs_ns
        } else {
            0
        };
        ExchangeTimes { protection_ns, data_ns, answer_ns }
    }

    /// Puts the planned PPDU on the air, behind an RTS if it needs one. Within a transmit opportunity its Duration covers
    /// all that is left of it (9.2.5.2, multiple protection).
    pub(crate) fn begin(&mut self, radio: usize, peer: usize, category: usize) {
        let times = self.exchange_times(radio, peer, category);
        let r = &mut self.radios[radio];
        let until = after(self.now, times.total_ns()).max(r.exchange.txop_end);
        r.planned.nav_until = until;
        if times.protection_ns == 0 {
            self.send_planned(radio);
            return;
        }
        let rate = r.planned.rate;
        let rts_bytes = frame::frame_bytes(Kind::Rts, r.spec.standard);
        let rts_rate = r.control_rate(rate);
        let ppdu = &mut r.ppdu;
        (ppdu.kind, ppdu.from, ppdu.to) = (Kind::Rts, r.planned.from, r.planned.to);
        ppdu.rate = rts_rate;
        (ppdu.nav_until, ppdu.peer, ppdu.category) = (until, peer as u32, category as u8);
        ppdu.power_management = false;
        ppdu.set_single(0, rts_bytes, false);
        r.exchange.step = Step::Rts;
        r.stats.rts_sent += 1;
        let width = rate.width();
        self.put_on_air(radio, width);
    }

    /// Gives back what is left of the transmit opportunity (10.23.2.10), if there is time to say so. Whoever hears it
    /// forgets its NAV.
    pub(crate) fn send_cf_end(&mut self, radio: usize) -> bool {
        let r = &mut self.radios[radio];
        let bytes = frame::frame_bytes(Kind::CfEnd, r.spec.standard);
        if after(self.now, r.ppdu_ns(r.lowest, bytes)) > r.exchange.txop_end {
            return false;
        }
        let ppdu = &mut r.ppdu;
        (ppdu.kind, ppdu.to, ppdu.rate) = (Kind::CfEnd, GROUP, r.lowest);
        ppdu.from = self.peers[r.exchange.peer as usize].iface;
        (ppdu.nav_until, ppdu.power_management) = (Time::ZERO, false);
        ppdu.set_single(0, bytes, false);
        r.exchange.step = Step::CfEnd;
        // As wide as what set the NAV.
        let width = self.medium.width(radio);
        self.put_on_air(radio, width);
        true
    }

    /// Puts the planned PPDU on the air, and counts the attempt.
    pub(crate) fn send_planned(&mut self, radio: usize) {
        let r = &mut self.radios[radio];
        core::mem::swap(&mut r.ppdu, &mut r.planned);
        r.exchange.step = match r.ppdu.kind {
            _ if r.ppdu.to == GROUP => Step::Unanswered,
            Kind::BlockAckRequest { .. } => Step::Bar,
            _ => Step::Data,
        };
        let airtime = r.ppdu_ns(r.ppdu.rate, r.ppdu.psdu_bytes);
        let p = &mut self.peers[r.ppdu.peer as usize];
        p.stats.airtime_tx_ns += airtime;
        p.tx[usize::from(r.ppdu.category)].deficit_ns -= airtime as i64;
        let rate = r.ppdu.rate;
        if r.exchange.step != Step::Bar {
            let queue = &mut p.tx[usize::from(r.ppdu.category)];
            let first = queue.start();
            for part in &r.ppdu.parts {
                let place = frame::seq_diff(part.seq, first);
                let Some(mpdu) = usize::try_from(place).ok().and_then(|n| queue.window.get_mut(n)) else {
                    continue;
                };
                p.stats.retries += u64::from(mpdu.attempts > 0);
                mpdu.attempts = mpdu.attempts.saturating_add(1);
                (mpdu.sent, mpdu.rate) = (true, Some(rate));
                mpdu.airtime_ns += airtime * u64::from(part.bytes) / u64::from(r.ppdu.psdu_bytes.max(1));
            }
            p.stats.mpdus_sent += r.ppdu.parts.len() as u64;
        }
        // Management and control frames are duplicated over the channel, data as wide as their rate says.
        let width = if r.ppdu.kind == Kind::Data { rate.width() } else { Width::Mhz20 };
        self.put_on_air(radio, width);
    }

    /// The radio's `ppdu` starts.
    pub(crate) fn put_on_air(&mut self, radio: usize, width: Width) {
        let now = self.now;
        let r = &mut self.radios[radio];
        self.ppdus = self.ppdus.wrapping_add(1);
        (r.ppdu.number, r.ppdu.progress) = (self.ppdus, Progress::default());
        let length = r.ppdu_ns(r.ppdu.rate, r.ppdu.psdu_bytes);
        let end = after(now, length);
        r.stats.ppdus_sent += 1;
        r.stats.airtime_tx_ns += length;
        let duplicate = width > Width::Mhz20 && matches!(r.ppdu.rate.format(), Format::Ofdm | Format::Dsss);
        let emission = Emission {
            data: now + duration::preamble(r.ppdu.rate),
            end,
            rate: r.ppdu.rate,
            tuning: r.tuning(width),
            duplicate,
        };
        self.start_signal(radio, emission);
        self.timers.set(radio, Cause::TransmitEnd, self.next_look(radio));
    }

    /// A signal starts, and some find their medium busy.
    pub(crate) fn start_signal(&mut self, emitter: usize, emission: Emission) {
        let now = self.now;
        self.medium.start(now, emitter, emission);
        for touch in &self.medium.touched {
            let rx = usize::from(touch.rx);
            self.access[rx].on_busy(now, rx == emitter);
            let at = self.timers.get(rx, Cause::Access);
            if at != Time::NEVER && at >= self.access[rx].notices_at() && at != now {
                self.timers.clear(rx, Cause::Access);
            }
        }
    }
}

/// What an exchange takes, ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExchangeTimes {
    /// RTS, CTS and the SIFS after each; 0 without.
    pub(crate) protection_ns: u64,
    data_ns: u64,
    /// SIFS and the answer; 0 for a frame to a group.
    answer_ns: u64,
}

impl ExchangeTimes {
    pub(crate) fn total_ns(&self) -> u64 {
        self.protection_ns + self.data_ns + self.answer_ns
    }
}

/// How long the answer to the planned PPDU takes, ns.
fn answer_ns(r: &super::radio::Radio, planned: &Ppdu) -> u64 {
    let block = planned.aggregate || matches!(planned.kind, Kind::BlockAckRequest { .. });
    let bytes = if block { duration::BLOCK_ACK_BYTES } else { duration::ACK_BYTES };
    r.ppdu_ns(r.answer_rate(planned.rate), bytes)
}
