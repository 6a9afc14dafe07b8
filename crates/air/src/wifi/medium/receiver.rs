//! One radio's receiver: energy, carrier sense, the frame on which it is locked.

use super::NOBODY;
use super::tuning::{Decodes, TuningId};
use crate::Time;

/// The most 20 MHz channels in one.
pub(crate) const SUBS: usize = 4;

/// Within this time of a preamble's start another one makes the receiver look again; ns-3's detection takes as long.
const DETECTION_NS: u64 = 4_000;

/// When a later frame takes the receiver from an earlier one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CaptureLimits {
    /// Within so many ns of the first frame's start …
    pub(crate) window_ns: u64,
    /// … if it is so many times stronger; infinite: never.
    pub(crate) ratio: f64,
    /// The same, later than the window.
    pub(crate) late_ratio: f64,
}

/// Interference from an instant on, mW over the frame's width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) from: Time,
    pub(crate) mw: f64,
}

/// The frame on which a receiver is locked, or was locked last.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Lock {
    /// Its emitter, or [`NOBODY`].
    pub(crate) from: u16,
    pub(crate) decodes: Decodes,
    /// Received power in the part of the channel that is looked at, mW.
    pub(crate) signal_mw: f64,
    /// 20 MHz parts that are looked at.
    pub(crate) parts: usize,
    pub(crate) since: Time,
    /// The worst interference while it lasted, mW.
    pub(crate) worst_mw: f64,
    /// All of it, oldest first.
    pub(crate) segments: Vec<Segment>,
}

/// A receiver. Each start and end of a signal visits all receivers in its reach, so what every
/// visit looks at lies in the first cache line, and what locking and interference need in the
/// second.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Receiver {
    /// Received energy per part, mW, primary first.
    energy: [f64; SUBS],
    signals: u32,
    /// 20 MHz parts of the channel; 1 also for DSSS and DMG.
    pub(crate) parts: u8,
    transmitting: bool,
    /// Deaf while it is off or retunes; then its medium counts as busy.
    deaf: bool,
    busy: bool,
    /// Thresholds and noise per part, mW.
    pub(crate) energy_detection_mw: f64,
    pub(crate) lock: Lock,
    pub(crate) preamble_min_mw: f64,
    pub(crate) preamble_min_snr: f64,
    pub(crate) noise_mw: f64,
    pub(crate) tuning: TuningId,
    busy_since: Time,
    busy_ns: u64,
    pub(crate) secondary_detection_mw: f64,
    /// Since when each part but the primary has been idle, or was before it became busy.
    secondary_idle: [Time; SUBS],
    /// Since when it has been busy; `Time::NEVER` while it is idle.
    secondary_busy: [Time; SUBS],
}

/// What a receiver is made with; powers in mW.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    pub(crate) energy_detection_mw: f64,
    pub(crate) secondary_detection_mw: f64,
    pub(crate) preamble_min_mw: f64,
    pub(crate) preamble_min_snr: f64,
    pub(crate) noise_mw: f64,
}

impl Receiver {
    pub(crate) fn new(tuning: TuningId, parts: usize, t: Thresholds) -> Receiver {
        let lock = Lock {
            from: NOBODY,
            decodes: Decodes::Nothing,
            signal_mw: 0.0,
            parts: 1,
            since: Time::ZERO,
            segments: Vec::new(),
            worst_mw: 0.0,
        };
        Receiver {
            tuning,
            parts: parts as u8,
            energy: [0.0; SUBS],
            signals: 0,
            lock,
            transmitting: false,
            deaf: false,
            busy: false,
            busy_since: Time::ZERO,
            busy_ns: 0,
            secondary_idle: [Time::ZERO; SUBS],
            secondary_busy: [Time::NEVER; SUBS],
            energy_detection_mw: t.energy_detection_mw,
            secondary_detection_mw: t.secondary_detection_mw,
            preamble_min_mw: t.preamble_min_mw,
            preamble_min_snr: t.preamble_min_snr,
            noise_mw: t.noise_mw,
        }
    }

    /// Whether the primary channel is busy by carrier sense or energy.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Whether a frame is being received.
    #[inline]
    pub(crate) fn is_receiving(&self) -> bool {
        self.lock.from != NOBODY
    }

    /// Time that the medium has been busy here, own transmissions included, ns.
    pub(crate) fn busy_ns(&self, now: Time) -> u64 {
        self.busy_ns + if self.busy { (now - self.busy_since).as_nanos() as u64 } else { 0 }
    }

    /// How many 20 MHz parts (1, 2 or 4) were idle from `since` until now, the primary taken for idle. What starts at this
    /// very instant is not sensed yet.
    pub(crate) fn idle_parts(&self, since: Time, now: Time) -> usize {
        let idle = |k: &usize| self.secondary_busy[*k] >= now && self.secondary_idle[*k] <= since;
        let parts = 1 + (1..usize::from(self.parts)).take_while(idle).count();
        if parts >= 4 { 4 } else { parts.min(2) }
    }

    /// A signal starts. True if the medium became busy by it.
    #[inline]
    pub(crate) fn signal_starts(
        &mut self,
        now: Time,
        from: u16,
        subs: &[f64; SUBS],
        decodes: Decodes,
        capture: &CaptureLimits,
    ) -> bool {
        self.signals += 1;
        self.energy[0] += subs[0];
        if self.parts > 1 {
            self.add_secondary(now, subs);
        }
        if !self.transmitting && !self.deaf {
            if self.lock.from == NOBODY {
                self.look_at(now, from, subs, decodes);
            } else {
                self.disturb(now, from, subs, decodes, capture);
            }
        }
        self.sense(now)
    }

    /// A signal ends: whether it was the one on which the receiver is locked, and whether the
    /// medium became idle.
    #[inline]
    pub(crate) fn signal_ends(&mut self, now: Time, from: u16, subs: &[f64; SUBS]) -> (bool, bool) {
        self.signals -= 1;
        self.energy[0] -= subs[0];
        if self.parts > 1 {
            self.remove_secondary(now, subs);
        }
        if self.signals == 0 {
            // Sums of differences drift by rounding; silence is exact.
            self.energy = [0.0; SUBS];
        }
        let heard = self.lock.from == from;
        if heard {
            self.lock.from = NOBODY;
        } else if self.lock.from != NOBODY {
            self.note_interference(now);
        }
        let was = self.busy;
        self.sense(now);
        (heard, was && !self.busy)
    }

    /// The radio begins to transmit; what it was receiving is lost. True if its medium was idle before.
    pub(crate) fn begin_transmission(&mut self, now: Time) -> bool {
        self.transmitting = true;
        self.lock.from = NOBODY;
        self.sense(now)
    }

    /// The radio's transmission has ended. True if its medium is idle now.
    pub(crate) fn end_transmission(&mut self, now: Time) -> bool {
        self.transmitting = false;
        self.sense(now);
        !self.busy
    }

    /// The radio becomes deaf, or hears again. True if its medium changed between busy and idle.
    pub(crate) fn set_deaf(&mut self, now: Time, deaf: bool) -> bool {
        self.deaf = deaf;
        self.lock.from = NOBODY;
        let was = self.busy;
        self.sense(now);
        was != self.busy
    }

    /// Settles whether the medium is busy. True if it was idle until now and is no more.
    #[inline]
    fn sense(&mut self, now: Time) -> bool {
        let busy = self.lock.from != NOBODY
            || self.transmitting
            || self.energy[0] >= self.energy_detection_mw
            || self.deaf;
        if busy == self.busy {
            return false;
        }
        self.busy = busy;
        if busy {
            self.busy_since = now;
        } else {
            self.busy_ns += (now - self.busy_since).as_nanos() as u64;
        }
        busy
    }

    /// Locks on a preamble if it is strong and clear enough.
    #[inline]
    fn look_at(&mut self, now: Time, from: u16, subs: &[f64; SUBS], decodes: Decodes) {
        let parts = match decodes {
            Decodes::Nothing => return,
            Decodes::All { parts } => usize::from(parts),
            Decodes::Legacy => 1,
        };
        let signal_mw: f64 = subs[..parts].iter().sum();
        if signal_mw < self.preamble_min_mw {
            return;
        }
        let interference = self.energy_over(parts) - signal_mw;
        if !self.is_clear(signal_mw, interference, parts) {
            return;
        }
        let lock = &mut self.lock;
        (lock.from, lock.decodes, lock.signal_mw, lock.parts, lock.since) =
            (from, decodes, signal_mw, parts, now);
        lock.segments.clear();
        lock.worst_mw = 0.0;
        self.note_interference(now);
    }

    fn is_clear(&self, signal_mw: f64, interference_mw: f64, parts: usize) -> bool {
        signal_mw >= self.preamble_min_snr * (self.noise_mw * parts as f64 + interference_mw.max(0.0))
    }

    /// Another signal comes while one is being received.
    fn disturb(
        &mut self,
        now: Time,
        from: u16,
        subs: &[f64; SUBS],
        decodes: Decodes,
        capture: &CaptureLimits,
    ) {
        let age = (now - self.lock.since).as_nanos() as u64;
        let signal_mw = match decodes {
            Decodes::Nothing => 0.0,
            Decodes::All { parts } => subs[..usize::from(parts)].iter().sum(),
            Decodes::Legacy => subs[0],
        };
        let ratio = if age <= capture.window_ns { capture.ratio } else { capture.late_ratio };
        if signal_mw >= self.lock.signal_mw * ratio {
            self.lock.from = NOBODY;
            self.look_at(now, from, subs, decodes);
        } else if age < DETECTION_NS {
            let interference = self.energy_over(self.lock.parts) - self.lock.signal_mw;
            if !self.is_clear(self.lock.signal_mw, interference, self.lock.parts) {
                self.lock.from = NOBODY;
                if signal_mw > self.lock.signal_mw {
                    self.look_at(now, from, subs, decodes);
                }
            }
        }
        if self.lock.from != NOBODY && self.lock.from != from {
            self.note_interference(now);
        }
    }

    fn energy_over(&self, parts: usize) -> f64 {
        self.energy[..parts].iter().sum()
    }

    /// Writes down the interference that the locked frame has from now on.
    fn note_interference(&mut self, now: Time) {
        // What rounding leaves of a signal that has gone is nothing against the noise.
        let mw = (self.energy_over(self.lock.parts) - self.lock.signal_mw).max(0.0);
        let lock = &mut self.lock;
        match lock.segments.last_mut() {
            Some(last) if last.from == now => last.mw = mw,
            _ => lock.segments.push(Segment { from: now, mw }),
        }
        lock.worst_mw = lock.worst_mw.max(mw);
    }

    fn add_secondary(&mut self, now: Time, subs: &[f64; SUBS]) {
        let parts = 1..usize::from(self.parts);
        self.energy[parts.clone()].iter_mut().zip(&subs[parts]).for_each(|(energy, mw)| *energy += mw);
        self.sense_secondary(now);
    }

    fn remove_secondary(&mut self, now: Time, subs: &[f64; SUBS]) {
        let parts = 1..usize::from(self.parts);
        self.energy[parts.clone()].iter_mut().zip(&subs[parts]).for_each(|(energy, mw)| *energy -= mw);
        self.sense_secondary(now);
    }

    fn sense_secondary(&mut self, now: Time) {
        for k in 1..usize::from(self.parts) {
            let busy = self.energy[k] >= self.secondary_detection_mw;
            match (busy, self.secondary_busy[k] != Time::NEVER) {
                (true, false) => self.secondary_busy[k] = now,
                (false, true) => (self.secondary_busy[k], self.secondary_idle[k]) = (Time::NEVER, now),
                _ => {}
            }
        }
    }

    /// Counts a signal that was on the air before the receiver came.
    pub(crate) fn overhear(&mut self, subs: &[f64; SUBS]) {
        self.signals += 1;
        for (energy, mw) in self.energy.iter_mut().zip(subs) {
            *energy += mw;
        }
    }

    /// Moves the receiver to another channel, where it has heard nothing yet.
    pub(crate) fn retune(&mut self, tuning: TuningId, parts: usize, noise_mw: f64) {
        (self.tuning, self.parts, self.noise_mw) = (tuning, parts as u8, noise_mw);
        self.energy = [0.0; SUBS];
        self.signals = 0;
        self.lock.from = NOBODY;
        self.secondary_idle = [Time::ZERO; SUBS];
        self.secondary_busy = [Time::NEVER; SUBS];
    }
}
