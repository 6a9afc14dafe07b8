//! Whether what was heard was also understood.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Signal;
use super::receiver::{Lock, Receiver, Segment};
use super::tuning::Decodes;
use crate::Time;
use crate::wifi::phy::{AtRate, ErrorModel};

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
    sinr: f64,
    /// λ of the error model in it; worked out when a part first needs it, not a number until then.
    loss_per_bit: f64,
}

impl Stretch {
    #[inline]
    fn loss_per_bit(&mut self, rates: AtRate) -> f64 {
        if self.loss_per_bit.is_nan() {
            self.loss_per_bit = rates.loss_per_bit(self.sinr);
        }
        self.loss_per_bit
    }
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
    pub(crate) fn beyond_doubt(&self, rx: &Receiver, signal: &Signal) -> bool {
        understandable(&rx.lock, signal) && self.model.is_lossless(signal.rate, sinr(rx, rx.lock.worst_mw))
    }

    /// Whether the header was decoded: the preamble's and header's time, at the rate of headers.
    pub(crate) fn header(&mut self, rx: &Receiver, signal: &Signal) -> bool {
        if rx.lock.decodes == Decodes::Nothing {
            return false;
        }
        // Headers are short: the worst that came in their time counts for all of it.
        let worst = worst_within(&rx.lock, signal.start, signal.data);
        let success = self.model.header_success(signal.rate, sinr(rx, worst));
        success >= 1.0 || self.rng.random::<f64>() < success
    }

    /// Which parts of the PSDU were decoded, by bit; any bit if [`Wanted::Any`] is. Parts are (offset, bytes), in order.
    pub(crate) fn parts(
        &mut self,
        (rx, signal): (&Receiver, &Signal),
        parts: impl Iterator<Item = (u32, u32)> + Clone,
        psdu_bytes: u32,
        wanted: Wanted,
    ) -> u64 {
        if !understandable(&rx.lock, signal) {
            return 0;
        }
        let rates = self.model.at(signal.rate);
        let clearest = segments(&rx.lock, signal).map(|(s, _)| s.mw).fold(f64::INFINITY, f64::min);
        let shortest = parts.clone().map(|(_, bytes)| bytes).min().unwrap_or(0);
        // Where the best stretch is hopeless, all of them are: one look at the model is enough.
        if rates.loss_per_bit(sinr(rx, clearest)) * f64::from(shortest) * 8.0 >= HOPELESS {
            return 0;
        }
        if wanted == Wanted::Any
            && rates.loses_nothing(sinr(rx, clearest))
            && any_is_clear(rates, rx, signal, parts.clone(), psdu_bytes)
        {
            return 1;
        }
        self.collect_stretches(rx, signal);
        let Errors { rng, stretches, .. } = self;
        // Parts of a stretch are alike, so that few of them need an exponential of their own.
        let mut last = (0.0, 1.0);
        let arrives = parts.scan(0, |at, part| {
            let exponent = exponent((rates, stretches), at, signal, part, psdu_bytes);
            if exponent != last.0 {
                last = (exponent, if exponent >= HOPELESS { 0.0 } else { libm::exp(-exponent) });
            }
            Some(last.1)
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
            return u64::from(none < 1.0 && rng.random::<f64>() >= none);
        }
        let mut dice = |chance: f64| chance >= 1.0 || (chance > 0.0 && rng.random::<f64>() < chance);
        arrives.enumerate().fold(0, |decoded, (n, chance)| decoded | u64::from(dice(chance)) << n)
    }

    /// Puts the stretches of the data field into `stretches`.
    fn collect_stretches(&mut self, rx: &Receiver, signal: &Signal) {
        self.stretches.clear();
        let stretch = |(segment, until): (&Segment, f64)| Stretch {
            until,
            sinr: sinr(rx, segment.mw),
            loss_per_bit: f64::NAN,
        };
        self.stretches.extend(segments(&rx.lock, signal).map(stretch));
    }
}

/// The segments that reach into the data field, each with its end, ns; the last one's is infinite.
fn segments<'a>(lock: &'a Lock, signal: &'a Signal) -> impl Iterator<Item = (&'a Segment, f64)> {
    let next = move |k: usize| lock.segments.get(k + 1).map(|next| next.from);
    let reaches = move |&(k, _): &(usize, &Segment)| next(k).is_none_or(|next| next > signal.data);
    let end = move |k| next(k).map_or(f64::INFINITY, |next| next.as_nanos() as f64);
    lock.segments.iter().enumerate().filter(reaches).map(move |(k, segment)| (segment, end(k)))
}

/// Whether a part lies wholly within a stretch in which nothing is lost.
fn any_is_clear(
    rates: AtRate,
    rx: &Receiver,
    signal: &Signal,
    parts: impl Iterator<Item = (u32, u32)> + Clone,
    psdu_bytes: u32,
) -> bool {
    let mut from = f64::NEG_INFINITY;
    segments(&rx.lock, signal).any(|(segment, until)| {
        let begin = core::mem::replace(&mut from, until);
        rates.loses_nothing(sinr(rx, segment.mw))
            && parts.clone().any(|part| {
                let (first, last) = span(signal, part, psdu_bytes);
                first >= begin && last <= until
            })
    })
}

/// When a part begins and ends, ns. Bytes are spread evenly over the data field: symbols are short beside stretches.
fn span(signal: &Signal, (offset, bytes): (u32, u32), psdu_bytes: u32) -> (f64, f64) {
    let span = (signal.end - signal.data).as_nanos() as f64;
    let time =
        |byte: u32| signal.data.as_nanos() as f64 + span * f64::from(byte) / f64::from(psdu_bytes.max(1));
    (time(offset), time(offset + bytes))
}

/// Σ λ·bits over the stretches that a part spans, from the one numbered `at` on; `at` then is the last that was looked at: what is beyond hope
/// already need not be known any better.
fn exponent(
    (rates, stretches): (AtRate, &mut [Stretch]),
    at: &mut usize,
    signal: &Signal,
    (offset, bytes): (u32, u32),
    psdu_bytes: u32,
) -> f64 {
    let bits = f64::from(bytes) * 8.0;
    if let [only] = stretches {
        return only.loss_per_bit(rates) * bits;
    }
    let (from, to) = span(signal, (offset, bytes), psdu_bytes);
    let (mut begun, mut sum) = (from, 0.0);
    while let Some(stretch) = stretches.get_mut(*at) {
        if stretch.until > begun {
            if begun == from && stretch.until >= to {
                return stretch.loss_per_bit(rates) * bits;
            }
            let end = stretch.until.min(to);
            sum += stretch.loss_per_bit(rates) * bits * (end - begun) / (to - from);
            begun = end;
            if stretch.until >= to || sum >= HOPELESS {
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

fn sinr(rx: &Receiver, interference_mw: f64) -> f64 {
    let noise = rx.noise_mw * rx.lock.parts as f64;
    rx.lock.signal_mw / (noise + interference_mw)
}

fn worst_within(lock: &Lock, from: Time, to: Time) -> f64 {
    let segments = &lock.segments;
    let begun = segments.iter().enumerate().filter(|(k, s)| {
        let end = segments.get(k + 1).map_or(Time::NEVER, |next| next.from);
        s.from < to && end > from
    });
    begun.map(|(_, s)| s.mw).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::{Thresholds, TuningId};
    use super::*;
    use crate::wifi::phy::{GuardInterval, Rate, Width};
    use rand::SeedableRng;

    const MPDU_BYTES: u32 = 1538;
    const NOISE_MW: f64 = 1e-9;
    const DATA: u64 = 36_000;

    /// A frame of `parts` MPDUs heard with these changes of interference: at a share of its time, and so many times the noise.
    fn heard(signal_db: f64, parts: u32, changes: &[(f64, f64)]) -> (Receiver, Signal) {
        let none = Thresholds {
            energy_detection_mw: 1.0,
            secondary_detection_mw: 1.0,
            preamble_min_mw: 0.0,
            preamble_min_snr: 0.0,
            noise_mw: NOISE_MW,
        };
        let mut rx = Receiver::new(TuningId(0), 1, none);
        rx.lock.decodes = Decodes::All { parts: 1 };
        rx.lock.signal_mw = NOISE_MW * libm::pow(10.0, signal_db / 10.0);
        let end = DATA + u64::from(parts) * 200_000;
        let mut at: Vec<_> =
            changes.iter().map(|(share, times)| ((share * end as f64) as u64, *times)).collect();
        at.sort_by_key(|(at, _)| *at);
        at.dedup_by_key(|(at, _)| *at);
        rx.lock.segments = vec![Segment { from: Time::ZERO, mw: 0.0 }];
        for (at, times) in at.into_iter().filter(|(at, _)| *at > 0) {
            rx.lock.segments.push(Segment { from: Time::from_nanos(at), mw: times * NOISE_MW });
        }
        let signal = Signal {
            on: false,
            start: Time::ZERO,
            data: Time::from_nanos(DATA),
            end: Time::from_nanos(end),
            rate: Rate::ht(7, 1, Width::Mhz20, GuardInterval::Long).unwrap(),
            tuning: TuningId(0),
            duplicate: false,
            reached: Vec::new(),
        };
        (rx, signal)
    }

    /// The chance that a part is lost, worked out the long way.
    fn lost(model: ErrorModel, rx: &Receiver, signal: &Signal, part: (u32, u32), psdu_bytes: u32) -> f64 {
        let (from, to) = span(signal, part, psdu_bytes);
        let overlap = |(segment, until, begin): (&Segment, f64, f64)| {
            let share = (until.min(to) - begin.max(from)).max(0.0) / (to - from);
            let bits = f64::from(part.1) * 8.0 * share;
            if share > 0.0 { model.loss_per_bit(signal.rate, sinr(rx, segment.mw)) * bits } else { 0.0 }
        };
        let mut begin = 0.0;
        let all =
            segments(&rx.lock, signal).map(|(s, until)| (s, until, core::mem::replace(&mut begin, until)));
        1.0 - libm::exp(-all.map(overlap).sum::<f64>())
    }

    #[test]
    fn a_bystander_understands_as_often_as_the_chances_of_all_parts_say_whatever_is_cut_short() {
        let mut draw = ChaCha8Rng::seed_from_u64(5);
        let mut understood = [0; 2];
        for seed in 0..4000 {
            let (signal_db, count) = (draw.random_range(5.0..45.0), draw.random_range(1..20));
            let changes: Vec<(f64, f64)> = (0..draw.random_range(0..12))
                .map(|_| (draw.random_range(0.0..1.0), draw.random_range(0.0..300.0)))
                .collect();
            let (rx, signal) = heard(signal_db, count, &changes);
            let parts: Vec<_> = (0..count).map(|n| (n * MPDU_BYTES, MPDU_BYTES)).collect();
            let (psdu, mut errors) = (count * MPDU_BYTES, Errors::new(ChaCha8Rng::seed_from_u64(seed)));
            let none: f64 = parts.iter().map(|p| lost(errors.model, &rx, &signal, *p, psdu)).product();
            let dice = ChaCha8Rng::seed_from_u64(seed).random::<f64>();
            if (dice - none).abs() < 1e-9 {
                // Within what the two ways round differently.
                continue;
            }
            let any = errors.parts((&rx, &signal), parts.iter().copied(), psdu, Wanted::Any) != 0;
            assert_eq!(any, dice >= none, "{seed}: {none}");
            understood[usize::from(any)] += 1;
        }
        assert!(understood.iter().all(|n| *n > 500), "both must have come: {understood:?}");
    }
}
