//! From a plan to a signal: RTS or not, durations, what the medium is told.

use super::exchange::after;
use super::frame::{self, GROUP, Kind};
use super::radio::Step;
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::medium::Emission;
use crate::wifi::phy::{Format, Width, duration};
use crate::wifi::timers::Cause;

impl<T: Clone> Air<T> {
    /// Puts the planned PPDU on the air, behind an RTS if it needs one.
    pub(crate) fn begin(&mut self, radio: usize, peer: usize, category: usize) {
        let now = self.now;
        let p = &self.peers[peer];
        let r = &mut self.radios[radio];
        let (rate, bytes) = (r.planned.rate, r.planned.psdu_bytes);
        let answer_ns = if r.planned.to == GROUP { 0 } else { r.sifs_ns + answer_ns(r) };
        let data_ns = r.ppdu_ns(rate, bytes);
        let stage_rts = p.tx[category].chain.as_ref().is_some_and(|(c, _)| c.stages()[r.exchange.stage].rts);
        let long = r.spec.rts_threshold.is_some_and(|limit| bytes > limit);
        let is_data = r.planned.kind == Kind::Data && r.planned.to != GROUP;
        if !(is_data && (stage_rts || long)) {
            r.planned.nav_until = after(now, data_ns + answer_ns);
            self.send_planned(radio);
            return;
        }
        let rts_rate = r.answer_rate(rate);
        let rts_bytes = frame::frame_bytes(Kind::Rts, r.spec.standard);
        let rts_ns = r.ppdu_ns(rts_rate, rts_bytes);
        let cts_ns = r.ppdu_ns(r.answer_rate(rts_rate), frame::frame_bytes(Kind::Cts, r.spec.standard));
        let until = after(now, rts_ns + cts_ns + data_ns + answer_ns + 2 * r.sifs_ns);
        r.planned.nav_until = until;
        let ppdu = &mut r.ppdu;
        (ppdu.kind, ppdu.from, ppdu.to, ppdu.rate) = (Kind::Rts, r.planned.from, r.planned.to, rts_rate);
        (ppdu.nav_until, ppdu.peer, ppdu.category) = (until, peer as u32, category as u8);
        ppdu.power_management = false;
        ppdu.set_single(0, rts_bytes, false);
        r.exchange.step = Step::Rts;
        r.stats.rts_sent += 1;
        let width = rate.width();
        self.put_on_air(radio, width);
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
        r.ppdu.number = self.ppdus;
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
        self.timers.set(radio, Cause::TransmitEnd, end);
        self.start_signal(radio, emission);
    }

    /// A signal starts, and some find their medium busy.
    pub(crate) fn start_signal(&mut self, emitter: usize, emission: Emission) {
        let now = self.now;
        self.medium.start(now, emitter, emission);
        for touch in &self.medium.touched {
            let ear = usize::from(touch.ear);
            self.access[ear].on_busy(now);
            let at = self.timers.get(ear, Cause::Access);
            if at != now && at != Time::MAX {
                self.timers.clear(ear, Cause::Access);
            }
        }
    }
}

/// How long the answer to the planned PPDU takes, ns.
pub(crate) fn answer_ns(r: &super::radio::Radio) -> u64 {
    let block = r.planned.aggregate || matches!(r.planned.kind, Kind::BlockAckRequest { .. });
    let bytes = if block { duration::BLOCK_ACK_BYTES } else { duration::ACK_BYTES };
    r.ppdu_ns(r.answer_rate(r.planned.rate), bytes)
}
