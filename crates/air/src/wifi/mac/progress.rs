//! MPDUs of an A-MPDU are handed on as they come, before its end and its Block Ack.
//!
//! What follows from a packet at its receiver, a TCP acknowledgement above all, then comes spread over the next aggregate rather than in one lot.

use super::exchange::after;
use super::frame::{GROUP, Part};
use crate::Time;
use crate::wifi::air::Air;
use crate::wifi::medium::Wanted;
use crate::wifi::timers::Cause;

/// What a PPDU's receiver has made of its first MPDUs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// MPDUs that it has looked at.
    looked_at: usize,
    /// Those of them that it decoded, by bit.
    decoded: u64,
    /// Whether it decoded the header, once it has looked.
    header: Option<bool>,
}

impl<T: Clone> Air<T> {
    /// When something next comes of the signal that a radio has on the air: the end of an MPDU of an aggregate whose receiver listens, or its own end.
    pub(crate) fn next_look(&self, emitter: usize) -> Time {
        let (ppdu, signal) = (&self.radios[emitter].ppdu, &self.medium.signals[emitter]);
        let Some(rx) = self.listener(emitter).filter(|_| ppdu.aggregate) else { return signal.end };
        let from = if ppdu.progress.looked_at == 0 { signal.data } else { self.now };
        // ns-3 hands on each MPDU at its end. At 100 µs and 20 MHz that is the same, since a long MPDU takes longer.
        let due = after(from, self.radios[rx].spec.rx_coalescing.as_nanos() as u64);
        let mut ends = ppdu.parts[ppdu.progress.looked_at..].iter().map(|part| self.end_of(emitter, part));
        ends.find(|end| *end >= due).unwrap_or(signal.end).min(signal.end)
    }

    /// The radio that a signal is for, if it is receiving it.
    fn listener(&self, emitter: usize) -> Option<usize> {
        let to = self.radios[emitter].ppdu.to;
        let rx = (to != GROUP).then(|| usize::from(self.ifaces[usize::from(to)].radio))?;
        let lock = &self.medium.receivers[rx].lock;
        let listens = usize::from(lock.from) == emitter && lock.since == self.medium.signals[emitter].start;
        listens.then_some(rx)
    }

    /// When an MPDU of a signal ends. Bytes are spread evenly over the data field: symbols are short beside MPDUs.
    fn end_of(&self, emitter: usize, part: &Part) -> Time {
        let signal = &self.medium.signals[emitter];
        let span = (signal.end - signal.data).as_nanos() as u64;
        let psdu_bytes = u64::from(self.radios[emitter].ppdu.psdu_bytes.max(1));
        after(signal.data, (span * u64::from(part.offset + part.bytes)).div_ceil(psdu_bytes))
    }

    /// Some MPDUs of an aggregate have ended: those that were decoded are handed on.
    pub(crate) fn on_mpdus_ended(&mut self, emitter: usize) {
        if let Some(rx) = self.listener(emitter) {
            self.look(rx, emitter);
        }
        let broken = self.radios[emitter].ppdu.progress.header == Some(false);
        let at = if broken { self.medium.signals[emitter].end } else { self.next_look(emitter) };
        self.timers.set(emitter, Cause::TransmitEnd, at);
    }

    fn look(&mut self, rx: usize, emitter: usize) {
        let clean = self.medium.beyond_doubt(rx, emitter);
        if !self.header_decoded(rx, emitter, clean) {
            return;
        }
        let ppdu = &self.radios[emitter].ppdu;
        let begun = ppdu.progress.looked_at;
        let new = ppdu.parts[begun..].iter().take_while(|part| self.end_of(emitter, part) <= self.now);
        let ended = begun + new.count();
        let before = ppdu.progress.decoded;
        let decoded = self.decode(rx, emitter, Wanted::All, ended, clean);
        let ppdu = &mut self.radios[emitter].ppdu;
        (ppdu.progress.looked_at, ppdu.progress.decoded) = (ended, decoded);
        let (to, from) = (usize::from(ppdu.to), ppdu.from);
        if let Some(receiver) = self.ifaces[to].peer(from).filter(|&peer| self.peers[peer].joined) {
            self.take_parts(rx, emitter, receiver, decoded & !before);
        }
    }

    /// Whether `rx` decoded the header of what `emitter` has on the air, or had last. It is drawn
    /// once.
    pub(crate) fn header_decoded(&mut self, rx: usize, emitter: usize, clean: bool) -> bool {
        let listener = self.is_for(rx, emitter);
        if listener && let Some(known) = self.radios[emitter].ppdu.progress.header {
            return known;
        }
        let decoded = clean || self.medium.header_decoded(rx, emitter);
        if listener {
            self.radios[emitter].ppdu.progress.header = Some(decoded);
        }
        decoded
    }

    /// Whether what a radio has on the air, or had last, is for this one.
    pub(crate) fn is_for(&self, rx: usize, emitter: usize) -> bool {
        let to = self.radios.get(emitter).map_or(GROUP, |sender| sender.ppdu.to);
        to != GROUP && usize::from(self.ifaces[usize::from(to)].radio) == rx
    }

    /// What `rx` has handed on of it already, by bit.
    pub(crate) fn handed_on(&self, rx: usize, emitter: usize) -> u64 {
        if self.is_for(rx, emitter) { self.radios[emitter].ppdu.progress.decoded } else { 0 }
    }

    /// Which of the first `count` MPDUs `rx` has decoded, by bit; for a bystander, whether any was.
    /// Each is drawn once.
    pub(crate) fn decode(
        &mut self,
        rx: usize,
        emitter: usize,
        wanted: Wanted,
        count: usize,
        clean: bool,
    ) -> u64 {
        let mine = self.is_for(rx, emitter);
        let ppdu = &self.radios[emitter].ppdu;
        let known = if mine { ppdu.progress } else { Progress::default() };
        let new = (count - known.looked_at) as u32;
        if new == 0 {
            return known.decoded;
        }
        let parts = ppdu.parts[known.looked_at..count].iter().map(|part| (part.offset, part.bytes));
        let drawn = if clean {
            u64::MAX >> (64 - new)
        } else {
            self.medium.decoded((rx, emitter), parts, ppdu.psdu_bytes, wanted)
        };
        known.decoded | drawn << known.looked_at
    }
}
