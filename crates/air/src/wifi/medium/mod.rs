//! The medium: what each radio hears of what the others send.
//!
//! # The walk of a transmission
//! ```text
//!  start ──▶ neighbours of the sender ──▶ each one's receiver ─────────────────────────────▶ end
//!            power above the floor,       energy += power per 20 MHz                    energy −= power
//!            part that falls into         ├─ not locked: preamble strong and clear?     ├─ it was the locked one:
//!            their channel                │    → locked, medium busy                    │    heard: header, then MPDUs,
//!                                         ├─ locked: interference from now on;          │    by SINR in each segment
//!                                         │    stronger? → capture                      └─ nothing left? medium idle
//!                                         └─ energy over the threshold? medium busy
//! ```
//! There is no propagation delay. Whatever is busy at an instant does not stop an access that is due at the same one,
//! so equal slots collide (see `mac::access`).
//!
//! Each receiver keeps the sum of what it receives per 20 MHz of its channel, the primary one
//! first, so that a start or an end costs the same whatever else is on the air. Radios below
//! [`AirSpec::floor_dbm`](super::AirSpec::floor_dbm) of each other are not neighbours and cost
//! nothing. Lists of neighbours are made when a radio sends for the first time after something
//! moved.
//!
//! *Reception in two stages.* A radio that is not busy with another frame locks on a preamble of at least
//! `preamble_min_dbm` whose SINR is at least `preamble_min_snr_db`. If in the first 4 µs another one comes, the
//! stronger is looked at again. A frame is *heard* when its header (the SIGNAL field at the lowest rate) was decoded,
//! and its MPDUs are then drawn one by one; a bystander only asks whether any was decoded, so that it may trust the Duration.

mod neighbours;
mod outcome;
mod receiver;
mod tuning;

use rand_chacha::ChaCha8Rng;

pub(crate) use neighbours::Paths;
pub(crate) use outcome::Wanted;
pub(crate) use receiver::{CaptureLimits, Receiver, SUBS, Thresholds};
pub(crate) use tuning::{TuningId, Tunings, parts};

use self::neighbours::Neighbours;
use self::outcome::Errors;
use super::phy::{Rate, Width};
use crate::Time;

/// No emitter.
pub(crate) const NOBODY: u16 = u16::MAX;

/// What an emitter has on the air.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub(crate) on: bool,
    pub(crate) start: Time,
    /// Where the data field begins.
    pub(crate) data: Time,
    pub(crate) end: Time,
    pub(crate) rate: Rate,
    pub(crate) tuning: TuningId,
    /// A non-HT duplicate: each 20 MHz carries the whole frame.
    pub(crate) duplicate: bool,
    /// Who receives how much of it; kept so that the end takes away what the start gave.
    reached: Vec<Reached>,
}

/// How much of a signal a receiver receives, mW per 20 MHz.
#[derive(Debug, Clone, Copy)]
struct Reached {
    rx: u16,
    subs: [f64; SUBS],
}

/// A receiver for which a start or an end changed something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touch {
    pub(crate) rx: u16,
    /// The frame on which it was locked has ended.
    pub(crate) heard: bool,
    /// Its medium has become idle (at an end) or busy (at a start).
    pub(crate) flipped: bool,
}

/// What a start needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Emission {
    pub(crate) data: Time,
    pub(crate) end: Time,
    pub(crate) rate: Rate,
    pub(crate) tuning: TuningId,
    pub(crate) duplicate: bool,
}

/// All receivers, and all that is on the air. Emitters are the radios, then the interferers.
#[derive(Debug)]
pub(crate) struct Medium {
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) tunings: Tunings,
    pub(crate) paths: Paths,
    neighbours: Vec<Neighbours>,
    capture: CaptureLimits,
    errors: Errors,
    /// Receivers that the last start or end changed.
    pub(crate) touched: Vec<Touch>,
}

impl Medium {
    pub(crate) fn new(
        receivers: Vec<Receiver>,
        paths: Paths,
        tunings: Tunings,
        capture: CaptureLimits,
        rng: ChaCha8Rng,
        idle: Rate,
    ) -> Medium {
        let signal = Signal {
            on: false,
            start: Time::ZERO,
            data: Time::ZERO,
            end: Time::ZERO,
            rate: idle,
            tuning: TuningId(0),
            duplicate: false,
            reached: Vec::new(),
        };
        Medium {
            signals: vec![signal; paths.emitters()],
            neighbours: vec![Neighbours::default(); paths.emitters()],
            touched: Vec::with_capacity(receivers.len()),
            receivers,
            tunings,
            paths,
            capture,
            errors: Errors::new(rng),
        }
    }

    /// Puts a signal on the air. `touched` then holds the receivers whose medium became busy, the
    /// sender's among them.
    pub(crate) fn start(&mut self, now: Time, emitter: usize, e: Emission) {
        self.touched.clear();
        self.paths.refresh(emitter, &mut self.neighbours[emitter], &self.receivers, &self.tunings);
        let signal = &mut self.signals[emitter];
        debug_assert!(!signal.on, "an emitter sends one thing at a time");
        (signal.on, signal.start, signal.data, signal.end) = (true, now, e.data, e.end);
        (signal.rate, signal.tuning, signal.duplicate) = (e.rate, e.tuning, e.duplicate);
        signal.reached.clear();
        if self.receivers.get_mut(emitter).is_some_and(|rx| rx.begin_transmission(now)) {
            self.touched.push(Touch { rx: emitter as u16, heard: false, flipped: true });
        }
        let fades = self.paths.is_fading();
        let own = e.tuning == self.neighbours[emitter].tuning;
        for n in &self.neighbours[emitter].list {
            let rx = &mut self.receivers[usize::from(n.rx)];
            let (mut subs, mut decodes) = (n.subs, n.decodes);
            if !own {
                let coupling = self.tunings.coupling(e.tuning, rx.tuning);
                subs = coupling.parts.map(|part| part * n.power_mw);
                decodes = coupling.decodes;
            }
            if fades {
                let factor = self.paths.fading(emitter, usize::from(n.rx), now);
                subs = subs.map(|s| s * factor);
            }
            signal.reached.push(Reached { rx: n.rx, subs });
            if rx.signal_starts(now, emitter as u16, &subs, decodes, &self.capture) {
                self.touched.push(Touch { rx: n.rx, heard: false, flipped: true });
            }
        }
    }

    /// Takes a signal off the air. `touched` then holds the receivers that heard it, or whose
    /// medium became idle.
    pub(crate) fn end(&mut self, now: Time, emitter: usize) {
        self.touched.clear();
        let signal = &mut self.signals[emitter];
        signal.on = false;
        if self.receivers.get_mut(emitter).is_some_and(|rx| rx.end_transmission(now)) {
            self.touched.push(Touch { rx: emitter as u16, heard: false, flipped: true });
        }
        for r in &signal.reached {
            let (heard, flipped) =
                self.receivers[usize::from(r.rx)].signal_ends(now, emitter as u16, &r.subs);
            if heard || flipped {
                self.touched.push(Touch { rx: r.rx, heard, flipped });
            }
        }
    }

    /// Whether the header of the frame that `rx` has just heard from `emitter` was decoded.
    #[inline]
    pub(crate) fn header_decoded(&mut self, rx: usize, emitter: usize) -> bool {
        self.errors.header(&self.receivers[rx], &self.signals[emitter])
    }

    /// Which parts of the PSDU, each an offset and a length in bytes, `rx` has decoded, by bit.
    #[inline]
    pub(crate) fn decoded(
        &mut self,
        (rx, emitter): (usize, usize),
        parts: impl Iterator<Item = (u32, u32)> + Clone,
        psdu_bytes: u32,
        wanted: Wanted,
    ) -> u64 {
        self.errors.parts((&self.receivers[rx], &self.signals[emitter]), parts, psdu_bytes, wanted)
    }

    /// Whether whatever `rx` has just heard was far above any doubt.
    #[inline]
    pub(crate) fn beyond_doubt(&self, rx: usize, emitter: usize) -> bool {
        self.errors.beyond_doubt(&self.receivers[rx], &self.signals[emitter])
    }

    /// The width of what an emitter sends, or sent last.
    pub(crate) fn width(&self, emitter: usize) -> Width {
        self.tunings.width(self.signals[emitter].tuning)
    }

    /// Moves a receiver to another channel. What is on the air there is heard as energy: its
    /// preambles have gone by.
    pub(crate) fn retune(&mut self, rx: usize, tuning: TuningId, parts: usize, noise_mw: f64) {
        self.receivers[rx].retune(tuning, parts, noise_mw);
        self.paths.set_tuning(rx, tuning);
        for emitter in (0..self.signals.len()).filter(|&e| e != rx) {
            let signal = &mut self.signals[emitter];
            signal.reached.retain(|r| usize::from(r.rx) != rx);
            if !signal.on {
                continue;
            }
            let power_mw = self.paths.received_mw(emitter, rx);
            let subs = self.tunings.coupling(signal.tuning, tuning).parts.map(|part| part * power_mw);
            if subs.iter().any(|&mw| self.paths.reaches(mw)) {
                signal.reached.push(Reached { rx: rx as u16, subs });
                self.receivers[rx].overhear(&subs);
            }
        }
    }
}
