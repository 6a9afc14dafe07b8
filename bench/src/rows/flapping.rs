//! `flapping`: paths that go away for a moment, again and again, under one flow. `crates/sim/tests/flapping.rs` is the
//! same in simulated time.

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
use crate::way::{Open, Way};

const REPEATS: u32 = 3;
const RATE_MBPS: f64 = 20.0;
const DELAY: Duration = Duration::from_millis(10);
/// How long a path is away at a time.
const AWAY: Duration = Duration::from_millis(300);

/// Paths, and when they are away.
struct Flaps {
    name: &'static str,
    ways: &'static [Way],
    paths: u32,
    /// Each path is away once in so long; several are so in turn.
    period: Duration,
    /// The longest gap that is meant: a lone path cannot be better than it is away.
    aim_ms: f64,
}

const CASES: [Flaps; 2] = [
    Flaps {
        name: "two paths in turn",
        ways: &[Way::Mptcp, Way::Ropewalk],
        paths: 2,
        period: Duration::from_secs(1),
        aim_ms: 150.0,
    },
    Flaps {
        name: "one path alone",
        ways: &[Way::Path(1), Way::Ropewalk],
        paths: 1,
        period: Duration::from_millis(1500),
        aim_ms: 350.0,
    },
];

pub(super) fn measurements(plan: &Plan) -> u64 {
    let ways = CASES.iter().map(|flaps| plan.ways(flaps.ways).len() as u64).sum::<u64>();
    u64::from(plan.repeats(REPEATS)) * ways
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let cases = CASES.iter().map(|flaps| flaps.case(bench)).collect::<Result<Vec<_>>>()?;
    let method = format!(
        "Paths of {RATE_MBPS:.0} Mb/s and {} ms one way are silent in both directions for {} ms: each of two once a \
         second, one half a second after the other, or a lone one every 1.5 s. From {} s after the flow began to {} s: the \
         longest time between two arrivals at the receiver, the longest of {repeats}; and the flow's rate over the sum of \
         the paths' rates while they were there, median of {repeats}.",
        DELAY.as_millis(),
        AWAY.as_millis(),
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
        let links = vec![LinkSpec::new(RATE_MBPS, DELAY); self.paths as usize];
        let ways = bench.plan.ways(self.ways);
        let all = |what: &str, unit| -> Vec<Value> {
            ways.iter().map(|way| Value::new(format!("{}, {what}", way.name()), unit)).collect()
        };
        let (mut gaps, mut shares) = (all("longest gap", Unit::Ms), all("of the sum", Unit::Times));
        let label = format!("flapping, {}", self.name);
        for round in bench.plan.rounds(bench.plan.repeats(REPEATS)) {
            let site = Site::emulated(&links, round)?;
            for (i, way) in ways.iter().enumerate() {
                let share = Cell::new(None);
                let gap = bench.sample(&site, *way, &label, Unit::Ms, |open| {
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
            let last = ways.len() - 1;
            let peers = ways[..last].iter().zip(values).map(|(way, value)| (way.name(), value.figure));
            Figure::new(what, unit, values[last].figure, peers, goal)
        };
        let figures = vec![
            figure("longest gap", Unit::Ms, &gaps, Goal::at_most(400.0, self.aim_ms)),
            figure("of the sum", Unit::Times, &shares, Goal::at_least(0.4, 0.8)),
        ];
        let values = gaps.into_iter().chain(shares).collect();
        Ok(Case { name: self.name.to_owned(), values, figures })
    }

    /// What the paths carry together, without the time in which they are away.
    fn sum_mbps(&self) -> f64 {
        f64::from(self.paths) * RATE_MBPS * (1.0 - AWAY.div_duration_f64(self.period))
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
        for cable in site.lab.cables.iter().cycle() {
            sleep_until(next);
            if over.load(Ordering::Relaxed) {
                break;
            }
            cable.set_up(false)?;
            sleep_until(next + AWAY);
            cable.set_up(true)?;
            next += self.period / self.paths;
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
        let sums = CASES.map(|flaps| flaps.sum_mbps());
        assert!((sums[0] - 28.0).abs() < 1e-9 && (sums[1] - 16.0).abs() < 1e-9, "{sums:?}");
    }
}
