//! Minstrel, as Linux had it for 802.11a/b/g (Smithies and Fietkau; described in MadWifi's and linuxwireless.org's
//! documentation).
//!
//! Ten times a second each rate's share of acknowledged transmissions goes into a moving average, and rates are ranked by
//! throughput, share over the time of a perfect transmission. Frames are sent with a chain of four: the best by throughput, the second
//! best, the most reliable, the lowest. One frame in ten looks around: it takes another rate first, or, if that one is
//! slower than the best, second. A rate that is fast but fails often can lead the ranking, and is then tried up to seven times: this
//! is what the multi-AP paper found to be good for a client of several access points (section 4.2).

use core::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::cost::AccessCost;
use super::{RateChain, RateControl, SelectCtx, Stage, TxReport};
use crate::Time;
use crate::wifi::phy::Rate;

/// Time between rankings.
const INTERVAL: Duration = Duration::from_millis(100);
/// Weight of the past in the moving average.
const KEEP: f64 = 0.75;
/// One frame in so many looks around.
const LOOKAROUND: u32 = 10;
/// Below this share a rate counts as dead.
const LEAST: f64 = 0.10;
/// Above this share a rate counts as certain: reliable rates are then ranked by throughput, and it is not looked at often.
const CERTAIN: f64 = 0.95;
/// Looks per interval at a rate that is dead or certain.
const LOOKS_AT_KNOWN: u8 = 4;

#[derive(Debug, Clone)]
struct Known {
    rate: Rate,
    /// Seconds of a perfect exchange of the model packet.
    time_s: f64,
    tries: u8,
    attempts: u32,
    acked: u32,
    /// Moving average; none before the first result.
    share: Option<f64>,
    /// Looks left in this interval; none if it may be looked at without limit.
    looks: Option<u8>,
}

impl Known {
    fn share(&self) -> f64 {
        self.share.unwrap_or(0.0)
    }

    /// Packets per second, by the statistics.
    fn throughput(&self) -> f64 {
        if self.share() < LEAST { 0.0 } else { self.share() / self.time_s }
    }

    fn nearly_sure(&self) -> bool {
        self.share.is_some_and(|s| !(LEAST..=CERTAIN).contains(&s))
    }

    /// Where the outcome is nearly certain, more tries at this rate teach and help little.
    fn stage(&self) -> Stage {
        let tries = if self.nearly_sure() { (self.tries / 2).clamp(1, 2) } else { self.tries };
        Stage { rate: self.rate, tries, rts: false }
    }

    /// Takes in an interval's results.
    fn rank(&mut self) {
        if self.attempts > 0 {
            let now = f64::from(self.acked) / f64::from(self.attempts);
            self.share = Some(self.share.map_or(now, |before| KEEP * before + (1.0 - KEEP) * now));
        }
        (self.attempts, self.acked) = (0, 0);
        self.looks = self.nearly_sure().then_some(LOOKS_AT_KNOWN);
    }
}

/// Linux's former rate control for 802.11a, b and g.
#[derive(Debug, Clone)]
pub struct Minstrel {
    /// By rate, slowest first.
    rates: Vec<Known>,
    best: usize,
    second: usize,
    surest: usize,
    ranked: Time,
    frames: u32,
    looks: u32,
    /// Rates in the order in which they will be looked at, shuffled anew each time it ends.
    order: Vec<usize>,
    place: usize,
    rng: ChaCha8Rng,
}

impl Minstrel {
    /// Chooses among `rates`, which must not be empty.
    pub fn new(rates: &[Rate], cost: &AccessCost, seed: u64) -> Minstrel {
        let know = |&rate: &Rate| Known {
            rate,
            time_s: (cost.data(rate, 1) + cost.overhead(rate, false)).as_secs_f64(),
            tries: cost.tries(rate, 1, false),
            attempts: 0,
            acked: 0,
            share: None,
            looks: None,
        };
        let mut rates: Vec<Known> = rates.iter().map(know).collect();
        rates.sort_by_key(|k| k.rate.bps());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..rates.len()).collect();
        order.shuffle(&mut rng);
        Minstrel {
            rates,
            best: 0,
            second: 0,
            surest: 0,
            ranked: Time::ZERO,
            frames: 0,
            looks: 0,
            order,
            place: 0,
            rng,
        }
    }

    fn rank(&mut self, now: Time) {
        if now.since(self.ranked) < INTERVAL {
            return;
        }
        self.ranked = now;
        self.rates.iter_mut().for_each(Known::rank);
        // Of equals the slower wins: before anything is known that is the lowest rate.
        let top = |rates: &[Known], not: Option<usize>| {
            let others = rates.iter().enumerate().filter(|(i, _)| Some(*i) != not).rev();
            others.max_by(|a, b| a.1.throughput().total_cmp(&b.1.throughput())).map_or(0, |(i, _)| i)
        };
        self.best = top(&self.rates, None);
        self.second = top(&self.rates, Some(self.best));
        let certain = self.rates.iter().enumerate().filter(|(_, k)| k.share() >= CERTAIN);
        self.surest = certain
            .max_by(|a, b| a.1.throughput().total_cmp(&b.1.throughput()))
            .or_else(|| {
                self.rates.iter().enumerate().rev().max_by(|a, b| a.1.share().total_cmp(&b.1.share()))
            })
            .map_or(0, |(i, _)| i);
        // The looking around starts afresh, so that a long run of frames cannot be made up for at once.
        (self.frames, self.looks) = (0, 0);
    }

    /// The rate to look at with this frame, if any.
    fn look(&mut self) -> Option<usize> {
        self.frames += 1;
        if self.rates.len() < 2 || self.frames / LOOKAROUND <= self.looks {
            return None;
        }
        if self.place == self.order.len() {
            self.place = 0;
            self.order.shuffle(&mut self.rng);
        }
        let chosen = self.order[self.place];
        self.place += 1;
        self.looks += 1;
        if chosen == self.best {
            return None;
        }
        match &mut self.rates[chosen].looks {
            Some(0) => None,
            Some(left) => {
                *left -= 1;
                Some(chosen)
            }
            None => Some(chosen),
        }
    }
}

impl RateControl for Minstrel {
    fn name(&self) -> &'static str {
        "minstrel"
    }

    fn select(&mut self, now: Time, _: &SelectCtx) -> RateChain {
        self.rank(now);
        let look = self.look();
        let stage = |i: usize| self.rates[i].stage();
        let once = |i: usize| Stage { tries: 1, ..stage(i) };
        let (first, second) = match look {
            // A slower rate is looked at only if the best one fails, so that looking costs little.
            Some(l) if self.rates[l].time_s > self.rates[self.best].time_s => (stage(self.best), once(l)),
            Some(l) => (once(l), stage(self.best)),
            None => (stage(self.best), stage(self.second)),
        };
        let mut chain = RateChain::single(first.rate, first.tries).then(second);
        chain.probe = look.is_some_and(|l| self.rates[l].rate == first.rate);
        chain.then(stage(self.surest)).then(stage(0))
    }

    fn report(&mut self, _: Time, report: &TxReport) {
        for stage in report.stages() {
            if let Some(known) = self.rates.iter_mut().find(|k| k.rate == stage.rate) {
                known.attempts += u32::from(stage.mpdus_sent);
                known.acked += u32::from(stage.mpdus_acked);
            }
        }
    }
}
