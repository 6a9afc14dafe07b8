//! What the next PPDU to a peer is: its rate, and the MPDUs that go in it.

use core::time::Duration;

use super::backlog::Waiting;
use super::frame::{self, GROUP, Kind, Part, seq_add};
use super::peer::Peer;
use super::queue::{Bounds, Content, TxQueue};
use super::radio::Iface;
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::api::Status;
use crate::wifi::medium::parts;
use crate::wifi::phy::decibel::db_from_ratio;
use crate::wifi::phy::duration::{BLOCK_ACK_WINDOW, ampdu_subframe_bytes};
use crate::wifi::phy::{Format, Rate, Standard, Width, duration};
use crate::wifi::rate::{SelectCtx, Stage, TxReport};

impl<T: Clone> Air<T> {
    /// Drops what has waited too long, from the queue's head on: packets, and MPDUs that were not acknowledged in time.
    pub(crate) fn expire(&mut self, peer: usize, category: usize) {
        let lifetime = self.radios[usize::from(self.peers[peer].radio)].spec.queue.lifetime;
        let now = self.now;
        let old = |w: &Waiting<T>| now.since(w.since) > lifetime;
        let queue = &mut self.peers[peer].tx[category];
        // Packets of the window are older than those that wait; the oldest tells whether a closer look is needed.
        let mut expired = false;
        if queue.window.front().is_some_and(|m| m.content.packets().first().is_some_and(old)) {
            for mpdu in queue.window.iter_mut().filter(|m| m.fate.is_none()) {
                if mpdu.content.packets().first().is_some_and(old) {
                    (mpdu.fate, expired) = (Some(Status::Expired), true);
                }
            }
        }
        if expired {
            self.fail_done(peer, category);
            self.report(peer, category);
        }
        while self.peers[peer].tx[category].waiting.front(now).is_some_and(old) {
            let Some(oldest) = self.peers[peer].tx[category].waiting.pop_front(now) else { return };
            self.peers[peer].stats.expired_packets += 1;
            self.leave_queue(peer, 1);
            self.complete(peer, &oldest, Status::Expired, 0, None, 0);
        }
        self.complete_lost(peer, category);
    }

    pub(crate) fn leave_queue(&mut self, peer: usize, packets: usize) {
        let iface = usize::from(self.peers[peer].iface);
        self.ifaces[iface].queued -= packets;
    }

    /// Decides what the next PPDU to this peer is: `planned` then holds it, its rate and MPDUs.
    pub(crate) fn plan(&mut self, radio: usize, peer: usize, category: usize) -> bool {
        let saving = self.is_saving(self.peers[peer].iface);
        let Air { peers, radios, ifaces, medium, now, .. } = self;
        let (p, r) = (&mut peers[peer], &mut radios[radio]);
        let queue = &mut p.tx[category];
        let planned = &mut r.planned;
        (planned.from, planned.to, planned.peer) = (p.iface, p.other, peer as u32);
        (planned.category, planned.aggregate, planned.power_management) = (category as u8, false, saving);
        planned.more_data = false;
        r.exchange.stage = 0;
        if queue.bar_due {
            planned.kind = Kind::BlockAckRequest { start: queue.start() };
            planned.rate = queue.chain.as_ref().map_or(r.lowest, |(chain, _)| {
                let stage = chain.stages()[0];
                r.spec.control_rate.unwrap_or_else(|| duration::response_rate(stage.rate, &r.basic))
            });
            let bytes = frame::frame_bytes(planned.kind, r.spec.standard);
            planned.set_single(0, bytes, false);
            return true;
        }
        if queue.window.is_empty() {
            fill_window(queue, &mut ifaces[usize::from(p.iface)], &p.bounds, (r.spec.standard, *now));
        }
        let Some(first) = queue.window.iter().find(|m| m.fate.is_none()) else { return false };
        if let Content::Frame(kind) = first.content {
            planned.kind = kind;
            planned.rate = p.basic_rate;
            planned.set_single(first.seq, first.bytes, first.attempts > 0);
            return true;
        }
        planned.kind = Kind::Data;
        if p.other == GROUP {
            // Only an injected frame has a chain here.
            planned.rate = queue.chain.as_ref().map_or(p.basic_rate, |(chain, _)| chain.stages()[0].rate);
            planned.set_single(first.seq, first.bytes, false);
            return true;
        }
        let stage = choose(p, category, *now, |p| {
            let (from, to) = (usize::from(p.radio), usize::from(p.other_radio));
            let mw = medium.paths.received_mw(from, to) * medium.paths.fading(from, to, *now);
            db_from_ratio(mw / medium.receivers[to].noise_mw)
        });
        r.exchange.stage = stage.0;
        let pifs_ago = Time::from_nanos(now.as_nanos().saturating_sub(r.sifs_ns + r.slot_ns));
        let idle = medium.receivers[radio].idle_parts(pifs_ago, *now);
        let stage = Stage { rate: narrowed(stage.1.rate, idle), ..stage.1 };
        r.planned.rate = stage.rate;
        let probe = p.tx[category].chain.as_ref().is_some_and(|(chain, _)| chain.probe);
        let formats = matches!(stage.rate.format(), Format::Ht | Format::Vht | Format::DmgSc);
        if p.aggregates && formats && !probe && !p.polled {
            let before = p.tx[category].waiting.len();
            aggregate(p, r, category, (stage.rate, *now));
            ifaces[usize::from(p.iface)].queued -= before - p.tx[category].waiting.len();
        } else if let Some(first) = p.tx[category].window.iter().find(|m| m.fate.is_none()) {
            r.planned.set_single(first.seq, first.bytes, first.attempts > 0);
        }
        if p.polled {
            r.planned.more_data = p.tx.iter().map(super::queue::TxQueue::available).sum::<usize>() > 1;
        }
        true
    }
}

/// Puts the next frame or packet into an empty window.
fn fill_window<T>(
    queue: &mut TxQueue<T>,
    iface: &mut Iface,
    bounds: &Bounds,
    (standard, now): (Standard, Time),
) {
    if let Some(kind) = queue.frames.pop_front() {
        let bytes = frame::frame_bytes(kind, standard);
        queue.push_mpdu(iface.next_seq, bytes, Content::Frame(kind));
        iface.next_seq = seq_add(iface.next_seq, 1);
        return;
    }
    let before = queue.waiting.len();
    let own = (!bounds.qos).then_some(iface.next_seq);
    let made = queue.make_mpdu(now, own, bounds);
    iface.queued -= before - queue.waiting.len();
    if made && own.is_some() {
        iface.next_seq = seq_add(iface.next_seq, 1);
    }
}

/// The stage of the rate chain for the next transmission; a new chain for a new frame.
fn choose<T>(
    p: &mut Peer<T>,
    category: usize,
    now: Time,
    snr_db: impl FnOnce(&Peer<T>) -> f64,
) -> (usize, Stage) {
    if p.tx[category].chain.is_none() {
        let snr_db = p.wants_snr.then(|| snr_db(p));
        let queue = &p.tx[category];
        let mpdu_bytes = queue.window.iter().find(|m| m.fate.is_none()).map_or(0, |m| m.bytes);
        let mpdus = if p.aggregates { queue.available().clamp(1, 64) as u16 } else { 1 };
        let chain = p.control.select(now, &SelectCtx { mpdu_bytes, mpdus, snr_db });
        let queue = &mut p.tx[category];
        queue.tries = 0;
        queue.chain = Some((chain, TxReport::new(&chain, mpdus)));
    }
    let queue = &p.tx[category];
    match &queue.chain {
        Some((chain, _)) => chain.stage_of(queue.tries),
        None => unreachable!("a chain was just chosen"),
    }
}

/// Plans an A-MPDU: MPDUs of the window that are not done, oldest first, then new ones, as many as fit.
fn aggregate<T>(p: &mut Peer<T>, r: &mut super::radio::Radio, category: usize, (rate, now): (Rate, Time)) {
    let most = r.most_bytes(rate).min(most_within_txop(r, rate, now));
    let most_mpdus = usize::from(r.spec.aggregation.ampdu_mpdus);
    let queue = &mut p.tx[category];
    let planned = &mut r.planned;
    planned.parts.clear();
    planned.psdu_bytes = 0;
    let (start, mut next) = (queue.start(), 0);
    while planned.parts.len() < most_mpdus {
        if next == queue.window.len() {
            let room = next < usize::from(BLOCK_ACK_WINDOW);
            if !room || !queue.frames.is_empty() || !queue.make_mpdu(now, None, &p.bounds) {
                break;
            }
        }
        let mpdu = &queue.window[next];
        next += 1;
        if mpdu.fate.is_some() || matches!(mpdu.content, Content::Frame(_)) {
            continue;
        }
        // Every subframe but the last is padded (9.7.1).
        let offset =
            planned.parts.last().map_or(0, |last: &Part| last.offset - 4 + ampdu_subframe_bytes(last.bytes));
        let whole = offset + 4 + mpdu.bytes;
        if whole > most && !planned.parts.is_empty() {
            break;
        }
        planned.psdu_bytes = whole;
        let retry = mpdu.attempts > 0;
        planned.parts.push(Part { seq: mpdu.seq, offset: offset + 4, bytes: mpdu.bytes, retry });
    }
    debug_assert!(planned.parts.iter().all(|part| frame::seq_diff(part.seq, start) < 64));
    match planned.parts[..] {
        [only] if rate.format() == Format::Ht => planned.set_single(only.seq, only.bytes, only.retry),
        [_] => planned.aggregate = false,
        _ => planned.aggregate = true,
    }
}

/// The most bytes of an A-MPDU for which a transmit opportunity with a limit has time, with their Block Ack; one MPDU may be
/// longer than the first PPDU's time (10.23.2.9).
fn most_within_txop(r: &super::radio::Radio, rate: Rate, now: Time) -> u32 {
    let left = r.exchange.txop_end.since(now);
    if left.is_zero() {
        return u32::MAX;
    }
    let answer_ns = r.sifs_ns + r.ppdu_ns(r.answer_rate(rate), duration::BLOCK_ACK_BYTES);
    duration::psdu_bytes_within(rate, left.saturating_sub(Duration::from_nanos(answer_ns)), r.band)
}

/// The rate in as much of the channel as has been idle for PIFS: 10.23.2.5 lets a wide PPDU shrink to its primary part.
/// `idle_parts` counts 20 MHz.
fn narrowed(rate: Rate, idle_parts: usize) -> Rate {
    let fits = |width: Width| parts(width) <= idle_parts;
    if fits(rate.width()) {
        return rate;
    }
    let width = [Width::Mhz40, Width::Mhz20].into_iter().find(|&w| fits(w)).unwrap_or(Width::Mhz20);
    let make = if rate.format() == Format::Vht { Rate::vht } else { Rate::ht };
    // A few VHT rates do not exist in the smaller width; the next lower one does.
    let lower =
        (0..=rate.mcs()).rev().find_map(|mcs| make(mcs, rate.streams(), width, rate.guard_interval()).ok());
    lower.unwrap_or(rate)
}
