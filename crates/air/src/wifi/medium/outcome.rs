//! Whether what was heard was also understood.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Signal;
use super::ear::{Ear, Lock};
use super::tuning::Decodes;
use crate::Time;
use crate::wifi::phy::ErrorModel;

/// Above this exponent not one frame in 10¹⁷ arrives.
const HOPELESS: f64 = 40.0;

/// The error model, and the dice.
#[derive(Debug)]
pub(crate) struct Errors {
    model: ErrorModel,
    rng: ChaCha8Rng,
    /// Reused: the stretches of the data field that is looked at.
    stretches: Vec<Stretch>,
}

/// A stretch of a data field with the same interference throughout.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Its end, ns; infinite for the last.
    until: f64,
    /// λ of the error model in it.
    loss_per_bit: f64,
}

/// What is wanted of the parts of a PSDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Which of them were decoded.
    All,
    /// Whether any was: all that a bystander needs, whose NAV it sets.
    Any,
}

impl Errors {
    pub(crate) fn new(rng: ChaCha8Rng) -> Errors {
        Errors { model: ErrorModel::new(), rng, stretches: Vec::new() }
    }

    /// Whether not a bit can have been lost: at the worst interference the model gives no error.
    #[inline]
    pub(crate) fn beyond_doubt(&self, ear: &Ear, signal: &Signal) -> bool {
        understandable(&ear.lock, signal) && self.model.is_lossless(signal.rate, sinr(ear, ear.lock.worst_mw))
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

    /// Which parts of the PSDU were decoded, by bit; any bit if [`Wanted::Any`] is. Parts are (offset, bytes), in order.
    pub(crate) fn parts(
        &mut self,
        (ear, signal): (&Ear, &Signal),
        parts: impl Iterator<Item = (u32, u32)> + Clone,
        psdu_bytes: u32,
        wanted: Wanted,
    ) -> u64 {
        if !understandable(&ear.lock, signal) {
            return 0;
        }
        self.collect_stretches(ear, signal);
        let least = self.stretches.iter().map(|s| s.loss_per_bit).fold(f64::INFINITY, f64::min);
        let shortest = parts.clone().map(|(_, bytes)| bytes).min().unwrap_or(0);
        if least * f64::from(shortest) * 8.0 >= HOPELESS {
            return 0;
        }
        let arrives = parts.scan(0, |at, part| {
            let exponent = exponent(&self.stretches, at, signal, part, psdu_bytes);
            Some(if exponent >= HOPELESS { 0.0 } else { libm::exp(-exponent) })
        });
        if wanted == Wanted::Any {
            let mut none = 1.0;
            for chance in arrives {
                none *= 1.0 - chance;
                // Less than the dice can show.
                if none < 1e-17 {
                    return 1;
                }
            }
            return u64::from(none < 1.0 && self.rng.random::<f64>() >= none);
        }
        let rng = &mut self.rng;
        let mut dice = |chance: f64| chance >= 1.0 || (chance > 0.0 && rng.random::<f64>() < chance);
        arrives.enumerate().fold(0, |decoded, (n, chance)| decoded | u64::from(dice(chance)) << n)
    }

    /// Puts the stretches of the data field into `stretches`: one look at the error model for each.
    fn collect_stretches(&mut self, ear: &Ear, signal: &Signal) {
        self.stretches.clear();
        let segments = &ear.lock.segments;
        for (k, segment) in segments.iter().enumerate() {
            let next = segments.get(k + 1).map(|next| next.from);
            if next.is_some_and(|next| next <= signal.data) {
                continue;
            }
            let until = next.map_or(f64::INFINITY, |next| next.as_nanos() as f64);
            let loss_per_bit = self.model.loss_per_bit(signal.rate, sinr(ear, segment.mw));
            self.stretches.push(Stretch { until, loss_per_bit });
        }
    }
}

/// Σ λ·bits over the stretches that a part spans, from the one numbered `at` on; `at` then is the last of them. Bytes are
/// spread evenly over the data field: symbols are short beside stretches.
fn exponent(
    stretches: &[Stretch],
    at: &mut usize,
    signal: &Signal,
    (offset, bytes): (u32, u32),
    psdu_bytes: u32,
) -> f64 {
    let bits = f64::from(bytes) * 8.0;
    if let [only] = stretches {
        return only.loss_per_bit * bits;
    }
    let span = (signal.end - signal.data).as_nanos() as f64;
    let time =
        |byte: u32| signal.data.as_nanos() as f64 + span * f64::from(byte) / f64::from(psdu_bytes.max(1));
    let (from, to) = (time(offset), time(offset + bytes));
    let (mut begun, mut sum) = (from, 0.0);
    while let Some(stretch) = stretches.get(*at) {
        if stretch.until > begun {
            let end = stretch.until.min(to);
            sum += stretch.loss_per_bit * bits * (end - begun) / (to - from);
            begun = end;
            if stretch.until >= to {
                break;
            }
        }
        *at += 1;
    }
    sum
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
