//! Whether what was heard was also understood.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Signal;
use super::ear::{Ear, Lock};
use super::tuning::Decodes;
use crate::Time;
use crate::wifi::phy::{ErrorModel, Rate};

/// The error model, and the dice.
#[derive(Debug)]
pub(crate) struct Errors {
    model: ErrorModel,
    rng: ChaCha8Rng,
}

impl Errors {
    pub(crate) fn new(rng: ChaCha8Rng) -> Errors {
        Errors { model: ErrorModel::new(), rng }
    }

    /// Whether not a bit can have been lost: at the worst interference the model gives no error.
    #[inline]
    pub(crate) fn beyond_doubt(&self, ear: &Ear, signal: &Signal) -> bool {
        let lock = &ear.lock;
        understandable(lock, signal)
            && self.model.loss_per_bit(signal.rate, sinr(ear, lock.worst_mw)) == 0.0
            && self.model.header_success(signal.rate, sinr(ear, lock.worst_mw)) >= 1.0
    }

    /// Whether the header was decoded: the preamble's and header's time, at the rate of headers.
    pub(crate) fn header(&mut self, ear: &Ear, signal: &Signal) -> bool {
        if ear.lock.decodes == Decodes::Nothing {
            return false;
        }
        // Headers are short: the worst that came in their time counts for all of it.
        let worst = worst_within(&ear.lock, signal.start, signal.data);
        let success = self.model.header_success(signal.rate, sinr(ear, worst));
        success >= 1.0 || self.rng.random::<f64>() < success
    }

    /// Whether a part of the PSDU was decoded; `part` is its offset and length in bytes.
    pub(crate) fn part(&mut self, ear: &Ear, signal: &Signal, part: (u32, u32), psdu_bytes: u32) -> bool {
        if !understandable(&ear.lock, signal) {
            return false;
        }
        let exponent = self.exponent(ear, signal, part, psdu_bytes);
        exponent <= 0.0 || (exponent < 40.0 && self.rng.random::<f64>() < libm::exp(-exponent))
    }

    /// Σ λ·bits over the segments of interference that the part spans.
    fn exponent(&self, ear: &Ear, signal: &Signal, (offset, bytes): (u32, u32), psdu_bytes: u32) -> f64 {
        let bits = f64::from(bytes) * 8.0;
        let rate = signal.rate;
        if let [only] = ear.lock.segments[..] {
            return self.loss(rate, sinr(ear, only.mw)) * bits;
        }
        // Bytes are spread evenly over the data field; symbols are short beside segments.
        let span = (signal.end - signal.data).as_nanos() as f64;
        let at =
            |byte: u32| signal.data.as_nanos() as f64 + span * f64::from(byte) / f64::from(psdu_bytes.max(1));
        let (from, to) = (at(offset), at(offset + bytes));
        let segments = &ear.lock.segments;
        let mut exponent = 0.0;
        for (k, segment) in segments.iter().enumerate() {
            let start = (segment.from.as_nanos() as f64).max(from);
            let end = segments.get(k + 1).map_or(to, |next| (next.from.as_nanos() as f64).min(to));
            if end > start {
                exponent += self.loss(rate, sinr(ear, segment.mw)) * bits * (end - start) / (to - from);
            }
        }
        exponent
    }

    fn loss(&self, rate: Rate, sinr: f64) -> f64 {
        self.model.loss_per_bit(rate, sinr)
    }
}

/// Whether the receiver has the width, or each 20 MHz carries all of the frame.
fn understandable(lock: &Lock, signal: &Signal) -> bool {
    match lock.decodes {
        Decodes::All { .. } => true,
        Decodes::Legacy => signal.duplicate,
        Decodes::Nothing => false,
    }
}

fn sinr(ear: &Ear, interference_mw: f64) -> f64 {
    let noise = ear.noise_mw * ear.lock.parts as f64;
    ear.lock.signal_mw / (noise + interference_mw)
}

fn worst_within(lock: &Lock, from: Time, to: Time) -> f64 {
    let segments = &lock.segments;
    let begun = segments.iter().enumerate().filter(|(k, s)| {
        let end = segments.get(k + 1).map_or(Time::MAX, |next| next.from);
        s.from < to && end > from
    });
    begun.map(|(_, s)| s.mw).fold(0.0, f64::max)
}
