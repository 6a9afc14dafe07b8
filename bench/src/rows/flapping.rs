//! `flapping` and `blockage`: paths that go away for a moment, again and again, under one flow. In
//! simulated time the same are `crates/sim/tests/all/flapping.rs` and `blockage.rs`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ropewalk_air::wired::LinkSpec;

use super::Outcome;
use crate::bench::{Bench, WARM_UP};
use crate::flow::FlowReport;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::{Open, System};

const REPEATS: u32 = 3;

/// Paths, and when they are away.
struct Flaps {
    name: &'static str,
    systems: &'static [System],
    /// Mbit/s, and delay one way.
    paths: &'static [(f64, Duration)],
    /// So many of them, the first ones, are away in turn.
    away: usize,
    /// For how long at a time.
    away_for: Duration,
    /// Each of those is away once in so long.
    period: Duration,
    /// The longest gap that may be and that is meant, ms: a lone path cannot be better than it is
    /// away.
    gap_ms: (f64, f64),
    /// Of what the paths carry while they are there: the least that may be and that is meant.
    share: (f64, f64),
}

const LIKE: (f64, Duration) = (20.0, Duration::from_millis(10));

const FLAPPING: [Flaps; 2] = [
    Flaps {
        name: "two paths in turn",
        systems: &[System::Mptcp, System::Ropewalk],
        paths: &[LIKE, LIKE],
        away: 2,
        away_for: Duration::from_millis(300),
        period: Duration::from_secs(1),
        gap_ms: (400.0, 150.0),
        share: (0.4, 0.8),
    },
    Flaps {
        name: "one path alone",
        systems: &[System::Path(1), System::Ropewalk],
        paths: &[LIKE],
        away: 1,
        away_for: Duration::from_millis(300),
        period: Duration::from_millis(1500),
        gap_ms: (400.0, 350.0),
        share: (0.4, 0.8),
    },
];

/// An eighth of what 60 GHz and 5 GHz carry (dual-band poster); somebody stands in the way of 60
/// GHz.
const BLOCKAGE: [Flaps; 1] = [Flaps {
    name: "240 + 70 Mb/s, 1 s in 5",
    systems: &[System::Mptcp, System::Ropewalk],
    paths: &[(240.0, Duration::from_millis(1)), (70.0, Duration::from_millis(2))],
    away: 1,
    away_for: Duration::from_secs(1),
    period: Duration::from_secs(5),
    gap_ms: (100.0, 50.0),
    share: (0.9, 0.95),
}];

pub(super) fn flapping_measurements(plan: &Plan) -> u64 {
    measurements(&FLAPPING, plan)
}

pub(super) fn blockage_measurements(plan: &Plan) -> u64 {
    measurements(&BLOCKAGE, plan)
}

fn measurements(cases: &[Flaps], plan: &Plan) -> u64 {
    let systems = cases.iter().map(|flaps| plan.systems(flaps.systems).len() as u64).sum::<u64>();
    u64::from(plan.repeats(REPEATS)) * systems
}

pub(super) fn flapping(bench: &Bench) -> Result<Outcome> {
    let how = "Paths of 20 Mb/s and 10 ms one way are silent in both directions for 300 ms: each of two once a second, one \
               half a second after the other, or a lone one every 1.5 s.";
    run(&FLAPPING, how, bench)
}

pub(super) fn blockage(bench: &Bench) -> Result<Outcome> {
    let how = "Of a path of 240 Mb/s and 1 ms one way and one of 70 Mb/s and 2 ms the first is silent in both directions \
               for one second in five.";
    run(&BLOCKAGE, how, bench)
}

fn run(cases: &[Flaps], how: &str, bench: &Bench) -> Result<Outcome> {
    let cases = cases.iter().map(|flaps| flaps.case(bench)).collect::<Result<Vec<_>>>()?;
    let method = format!(
        "{how} From {} s after the flow began to {} s: the longest time between two arrivals at the receiver, the longest of \
         {repeats}; and the flow's rate over the sum of the paths' rates while they were there, median of {repeats}.",
        WARM_UP.as_secs(),
        seconds(&bench.plan),
        repeats = bench.plan.repeats(REPEATS),
    );
    Ok(Outcome { method, cases })
}

fn seconds(plan: &Plan) -> u32 {
    plan.pick(20, 10)
}

impl Flaps {
    fn case(&self, bench: &Bench) -> Result<Case> {
        let links: Vec<_> = self.paths.iter().map(|(mbps, delay)| LinkSpec::new(*mbps, *delay)).collect();
        let systems = bench.plan.systems(self.systems);
        let all = |what: &str, unit| -> Vec<Value> {
            systems.iter().map(|system| Value::new(format!("{}, {what}", system.name()), unit)).collect()
        };
        let (mut gaps, mut shares) = (all("longest gap", Unit::Ms), all("of the sum", Unit::Times));
        let label = format!("paths that go away, {}", self.name);
        for round in bench.plan.rounds(bench.plan.repeats(REPEATS)) {
            let site = Site::emulated(&links, round)?;
            for (i, system) in systems.iter().enumerate() {
                let share = Cell::new(None);
                let gap = bench.sample(&site, *system, &label, Unit::Ms, |open| {
                    let report = self.flow(bench, &site, open)?;
                    let rate = report.steady_mbps(WARM_UP);
                    share.set(Some(rate / self.sum_mbps()));
                    Ok(Sample::of(longest_gap_ms(&report)).note(format!("{rate:.1} Mb/s")))
                });
                shares[i].push(
                    share.get().filter(|_| gap.value.is_some()).map_or_else(Sample::default, Sample::of),
                );
                gaps[i].push(gap);
            }
        }
        let gaps: Vec<Value> = gaps.into_iter().map(Value::into_largest).collect();
        let figure = |what, unit, values: &[Value], goal| {
            let last = systems.len() - 1;
            let peers =
                systems[..last].iter().zip(values).map(|(system, value)| (system.name(), value.figure));
            Figure::new(what, unit, values[last].figure, peers, goal)
        };
        let figures = vec![
            figure("longest gap", Unit::Ms, &gaps, Goal::at_most(self.gap_ms.0, self.gap_ms.1)),
            figure("of the sum", Unit::Times, &shares, Goal::at_least(self.share.0, self.share.1)),
        ];
        let values = gaps.into_iter().chain(shares).collect();
        Ok(Case { name: self.name.to_owned(), values, figures })
    }

    /// What the paths carry together, without the time in which they are away.
    fn sum_mbps(&self) -> f64 {
        let there = |i| if i < self.away { 1.0 - self.away_for.div_duration_f64(self.period) } else { 1.0 };
        self.paths.iter().enumerate().map(|(i, (mbps, _))| mbps * there(i)).sum()
    }

    /// Runs a flow; from the end of its warm-up on, the paths flap.
    fn flow(&self, bench: &Bench, site: &Site, open: &Open) -> Result<FlowReport> {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flapping = scope.spawn(|| self.flap(site, &over));
            let report = bench.flow(site, open, seconds(&bench.plan));
            over.store(true, Ordering::Relaxed);
            let flapped = flapping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            flapped.context("a cable cannot be cut")?;
            report
        })
    }

    /// Cuts paths and mends them until it is over; leaves all of them whole.
    fn flap(&self, site: &Site, over: &AtomicBool) -> ropewalk_lab::Result<()> {
        let mut next = Instant::now() + WARM_UP;
        let sleep_until = |at: Instant| std::thread::sleep(at.saturating_duration_since(Instant::now()));
        for cable in site.lab.cables.iter().take(self.away).cycle() {
            sleep_until(next);
            if over.load(Ordering::Relaxed) {
                break;
            }
            cable.set_up(false)?;
            sleep_until(next + self.away_for);
            cable.set_up(true)?;
            next += self.period / self.away as u32;
        }
        Ok(())
    }
}

fn longest_gap_ms(report: &FlowReport) -> f64 {
    let whole = Duration::from_nanos(report.arrivals.ended_ns - report.arrivals.began_ns);
    report.arrivals.longest_gap_between(WARM_UP, whole).as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_of_what_is_there() {
        let sums: Vec<f64> = FLAPPING.iter().chain(&BLOCKAGE).map(Flaps::sum_mbps).collect();
        let meant = [28.0, 16.0, 262.0];
        assert!(sums.iter().zip(meant).all(|(sum, meant)| (sum - meant).abs() < 1e-9), "{sums:?}");
    }
}
