//! Minstrel_HT, as Linux 6 has it for 802.11n and ac (Fietkau; this follows its behaviour as described in
//! `docs/models/rate-control.md` and in the kernel's commit messages, in code of our own).
//!
//! Every 50 ms each rate's share of acknowledged MPDUs goes through a second-order low-pass filter, and the rates are ranked.
//! Frames are sent at the best rate by throughput; what fails goes on at the second best, then at the most reliable, both
//! behind RTS and CTS. Every 20 ms one frame is a probe, of one of three kinds in turn: a small step up (INC), a jump up (JUMP), and
//! a look at rates between the reliable one and the best (SLOW).

use core::time::Duration;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::cost::{AccessCost, MODEL_MPDUS};
use super::{RateChain, RateControl, SelectCtx, Stage, TxReport};
use crate::Time;
use crate::wifi::phy::Rate;

/// Time between rankings.
const INTERVAL: Duration = Duration::from_millis(50);
/// Time between probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(20);
/// Kinds of probes, in turn.
const PROBES: [Probe; 6] = [Probe::Inc, Probe::Jump, Probe::Inc, Probe::Jump, Probe::Inc, Probe::Slow];
/// Candidates of each kind, filled at each ranking.
const CANDIDATES: usize = 5;
/// Probabilities are in units of 1/4096.
const ONE: i32 = 4096;
/// The filter: weights of the new value, of the last output and of the one before, in units of 1/4096. They add up to one.
const FILTER: [i32; 3] = [0x495, 0x1499, -0x92e];
/// Below this probability a rate has no throughput.
const LEAST: i32 = ONE / 10;
/// A probability counts for no more than this, so that of two good rates the faster one wins.
const MOST: i32 = ONE * 9 / 10;
/// Above this probability the most reliable rate is chosen by throughput.
const RELIABLE: i32 = ONE * 3 / 4;
/// Above this probability a SLOW probe teaches nothing.
const WELL_KNOWN: i32 = ONE * 95 / 100;
/// Below this probability a stage tries twice only.
const DOUBTFUL: i32 = ONE / 5;
/// After so many attempts in an interval with less than a quarter acknowledged, a rate is left at once.
const SUDDEN_DEATH_ATTEMPTS: u32 = 30;
/// Weight of the past in the mean aggregate length: 96/128.
const KEEP: f64 = 96.0 / 128.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Inc,
    Jump,
    Slow,
}

#[derive(Debug, Clone)]
struct Known {
    rate: Rate,
    /// Time of a model packet's bits, its share of the preamble included.
    packet: Duration,
    overhead: Duration,
    tries: u8,
    tries_with_rts: u8,
    attempts: u32,
    acked: u32,
    /// The filter's last outputs; none before the first result.
    filtered: Option<[i32; 2]>,
    /// Bits per second that it would deliver, times a constant.
    throughput: u64,
}

impl Known {
    fn probability(&self) -> i32 {
        self.filtered.map_or(0, |f| f[0])
    }

    fn filter(&mut self) {
        if self.attempts > 0 {
            let now = (i64::from(ONE) * i64::from(self.acked) / i64::from(self.attempts)) as i32;
            self.filtered = Some(match self.filtered {
                None => [now, now],
                Some([last, before]) => {
                    let sum = FILTER[0] * now + FILTER[1] * last + FILTER[2] * before;
                    [(sum >> 12).clamp(0, ONE), last]
                }
            });
        }
        (self.attempts, self.acked) = (0, 0);
    }

    /// Packets per 10⁹ s, if aggregates are `mpdus` long.
    fn throughput_at(&self, probability: i32, mpdus: f64) -> u64 {
        if probability < LEAST {
            return 0;
        }
        let packet_ns = self.packet.as_nanos() as f64 + self.overhead.as_nanos() as f64 / mpdus;
        (f64::from(probability.min(MOST)) / f64::from(ONE) * 1e18 / packet_ns) as u64
    }
}

/// Linux's rate control for 802.11n and ac.
#[derive(Debug, Clone)]
pub struct MinstrelHt {
    /// Group by group, within each by MCS.
    rates: Vec<Known>,
    /// First rate of each group, whose rates differ in MCS only, and the number of rates at the end.
    groups: Vec<usize>,
    best: usize,
    second: usize,
    surest: usize,
    ranked: Time,
    /// Mean MPDUs per aggregate; none before the first.
    mean_mpdus: Option<f64>,
    /// Aggregates and MPDUs since the last ranking.
    sent: (u32, u32),
    next_probe: Time,
    probes: u32,
    candidates: [Vec<usize>; 3],
    /// The group at which the search for candidates begins next.
    first_group: usize,
    rng: ChaCha8Rng,
}

impl MinstrelHt {
    /// Chooses among `rates`, which must not be empty.
    pub fn new(rates: &[Rate], cost: &AccessCost, seed: u64) -> MinstrelHt {
        let mut sorted = rates.to_vec();
        sorted.sort_by_key(|r| (group_of(*r), r.mcs()));
        let mut groups: Vec<usize> =
            (0..sorted.len()).filter(|&i| i == 0 || group_of(sorted[i]) != group_of(sorted[i - 1])).collect();
        groups.push(sorted.len());
        let know = |&rate: &Rate| Known {
            rate,
            packet: cost.data(rate, MODEL_MPDUS) / MODEL_MPDUS,
            overhead: cost.overhead(rate, true) + cost.timing.slot * (u32::from(cost.timing.cw_min) / 2),
            tries: cost.tries(rate, MODEL_MPDUS, false),
            tries_with_rts: cost.tries(rate, MODEL_MPDUS, true),
            attempts: 0,
            acked: 0,
            filtered: None,
            throughput: 0,
        };
        let mut control = MinstrelHt {
            rates: sorted.iter().map(know).collect(),
            groups,
            best: 0,
            second: 0,
            surest: 0,
            ranked: Time::ZERO,
            mean_mpdus: None,
            sent: (0, 0),
            next_probe: Time::ZERO,
            probes: 0,
            candidates: [const { Vec::new() }; 3],
            first_group: 0,
            rng: ChaCha8Rng::seed_from_u64(seed),
        };
        control.choose();
        control.refill();
        control
    }

    fn mpdus(&self) -> f64 {
        self.mean_mpdus.unwrap_or(1.0).max(1.0)
    }

    fn rank(&mut self) {
        let (aggregates, mpdus) = core::mem::take(&mut self.sent);
        if aggregates > 0 {
            let now = f64::from(mpdus) / f64::from(aggregates);
            self.mean_mpdus = Some(self.mean_mpdus.map_or(now, |before| KEEP * before + (1.0 - KEEP) * now));
        }
        let mpdus = self.mpdus();
        for known in &mut self.rates {
            known.filter();
            known.throughput = known.throughput_at(known.probability(), mpdus);
        }
        self.choose();
        self.refill();
    }

    /// Best, second best, and most reliable rate.
    fn choose(&mut self) {
        // Of rates without any throughput the slowest counts as best, so that a dead link ends there.
        let slowest = self.by_time(|_| true, false).unwrap_or(0);
        let top = |rates: &[Known], not: Option<usize>| {
            let alive = rates.iter().enumerate().filter(|(i, k)| Some(*i) != not && k.throughput > 0);
            alive.max_by_key(|(_, k)| k.throughput).map_or(slowest, |(i, _)| i)
        };
        self.best = top(&self.rates, None);
        self.second = top(&self.rates, Some(self.best));
        let reliable = self.rates.iter().enumerate().filter(|(_, k)| k.probability() >= RELIABLE);
        let tried = self.rates.iter().enumerate().filter(|(_, k)| k.probability() > 0);
        self.surest = reliable
            .max_by_key(|(_, k)| k.throughput)
            .or_else(|| tried.max_by_key(|(_, k)| k.probability()))
            .map_or(slowest, |(i, _)| i);
    }

    /// Among rates that fit, the one whose packets take least time, or most.
    fn by_time(&self, fits: impl Fn(&Known) -> bool, fastest: bool) -> Option<usize> {
        let fitting = self.rates.iter().enumerate().filter(|(_, k)| fits(k));
        if fastest {
            fitting.min_by_key(|(_, k)| k.packet).map(|(i, _)| i)
        } else {
            fitting.max_by_key(|(_, k)| k.packet).map(|(i, _)| i)
        }
    }

    /// Fills the lists of candidates for the next interval.
    fn refill(&mut self) {
        let groups = self.groups.len() - 1;
        let best = self.rates[self.best].packet;
        self.candidates.iter_mut().for_each(Vec::clear);
        for turn in 0..groups {
            let group = (self.first_group + turn) % groups;
            let faster: Vec<usize> = (self.groups[group]..self.groups[group + 1])
                .filter(|&i| self.rates[i].packet < best)
                .collect();
            // The first of a group that is faster than the best, and any of them.
            let inc = faster.iter().copied().max_by_key(|&i| self.rates[i].packet);
            self.candidates[Probe::Inc as usize].extend(inc);
            if !faster.is_empty() {
                let jump = faster[self.rng.random_range(0..faster.len())];
                self.candidates[Probe::Jump as usize].push(jump);
            }
        }
        self.first_group = (self.first_group + 1) % groups;
        let surest = self.rates[self.surest].packet;
        let between = (0..self.rates.len()).filter(|&i| {
            let known = &self.rates[i];
            i != self.best && (best..surest).contains(&known.packet) && known.probability() <= WELL_KNOWN
        });
        let mut between: Vec<usize> = between.collect();
        between.shuffle(&mut self.rng);
        self.candidates[Probe::Slow as usize].extend(between);
        self.candidates.iter_mut().for_each(|list| {
            list.truncate(CANDIDATES);
            list.reverse();
        });
    }

    /// The rate to probe with this frame, if it is time and there is one.
    fn probe(&mut self, now: Time) -> Option<usize> {
        if now < self.next_probe {
            return None;
        }
        self.next_probe = now + PROBE_INTERVAL;
        let kind = PROBES[self.probes as usize % PROBES.len()];
        self.probes = self.probes.wrapping_add(1);
        let chosen = self.candidates[kind as usize].pop()?;
        (chosen != self.best).then_some(chosen)
    }

    fn stage(&self, i: usize, fallback: bool) -> Stage {
        let known = &self.rates[i];
        let tries = match (known.probability() < DOUBTFUL, fallback) {
            (true, _) => 2,
            (false, true) => known.tries_with_rts,
            (false, false) => known.tries,
        };
        Stage { rate: known.rate, tries, rts: fallback }
    }

    /// Leaves the best or second best rate for fewer streams, between rankings, if it suddenly fails.
    fn watch_for_sudden_death(&mut self) {
        let dead = |k: &Known| k.attempts > SUDDEN_DEATH_ATTEMPTS && k.acked < k.attempts / 4;
        let fewer = |rates: &[Known], i: usize| {
            let streams = rates[i].rate.streams();
            let others =
                rates.iter().enumerate().filter(|(j, k)| *j != i && k.rate.streams() < streams && !dead(k));
            others.filter(|(_, k)| k.throughput > 0).max_by_key(|(_, k)| k.throughput).map(|(j, _)| j)
        };
        for chosen in [&mut self.best, &mut self.second] {
            if dead(&self.rates[*chosen])
                && let Some(other) = fewer(&self.rates, *chosen)
            {
                *chosen = other;
            }
        }
    }
}

/// Width, streams and guard interval as one number; groups lie by it.
fn group_of(rate: Rate) -> u32 {
    rate.width().mhz() * 100 + u32::from(rate.streams()) * 10 + rate.guard_interval() as u32
}

impl RateControl for MinstrelHt {
    fn name(&self) -> &'static str {
        "minstrel_ht"
    }

    fn select(&mut self, now: Time, _: &SelectCtx) -> RateChain {
        if now.since(self.ranked) >= INTERVAL {
            self.ranked = now;
            self.rank();
        }
        let probe = self.probe(now);
        let first = match probe {
            Some(i) => Stage { rate: self.rates[i].rate, tries: 1, rts: false },
            None => self.stage(self.best, false),
        };
        let mut chain = RateChain::single(first.rate, first.tries);
        chain.probe = probe.is_some();
        chain.then(self.stage(self.second, true)).then(self.stage(self.surest, true))
    }

    fn report(&mut self, _: Time, report: &TxReport) {
        if !report.probe {
            self.sent.0 += 1;
            self.sent.1 += u32::from(report.mpdus);
        }
        for stage in report.stages() {
            if let Some(known) = self.rates.iter_mut().find(|k| k.rate == stage.rate) {
                known.attempts += u32::from(stage.mpdus_sent);
                known.acked += u32::from(stage.mpdus_acked);
            }
        }
        self.watch_for_sudden_death();
    }
}
