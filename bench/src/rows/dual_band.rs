//! `dual-band` and `dual-band-causes`: one unmodified TCP connection over 60 GHz and 5 GHz
//! (`docs/papers/004.md`), live at an eighth of the rates and simulated at all of them.

use std::time::Instant;

use anyhow::Result;

use super::Outcome;
use super::compare::ratio;
use super::simulated::{Simulated, figure, sample};
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::usage;

/// What is looked at in each report.
const GOODPUT: &str = "flow.down.goodput_mbps";
/// Labels of `scenarios/bench/dual-band.toml`, with what tables call them; the last is Ropewalk.
const SYSTEMS: [(&str, &str); 5] = [
    ("60GHz", "60 GHz alone"),
    ("5GHz", "5 GHz alone"),
    ("mptcp-cubic", "kernel MPTCP, CUBIC"),
    ("mptcp-olia", "kernel MPTCP, rw_olia"),
    ("ropewalk", "ropewalk"),
];
const DISTANCES: [&str; 2] = ["10ft", "70ft"];
const REPEATS: u32 = 3;
/// How often a run is made that did not keep time.
const TRIES: u32 = 3;

/// Causes, and whether the bond is to have the sum under them. A receiver with less room than both
/// paths need bounds everybody.
const CAUSES: [(&str, bool); 5] =
    [("none", true), ("buffer", false), ("jitter", true), ("hold", true), ("lumps", true)];
const SEEDS: u32 = 20;
/// Four seconds from the flow's start; what decides comes before.
const CUT: [&str; 2] = ["duration=5s", "warmup=1s"];

/// What has to be reached of the sum, and what is meant to be.
fn goal() -> Goal {
    Goal::at_least(0.93, 0.97)
}

fn systems(plan: &Plan) -> &'static [(&'static str, &'static str)] {
    &SYSTEMS[if plan.alone { 4 } else { 0 }..]
}

pub(super) fn live_measurements(plan: &Plan) -> u64 {
    (DISTANCES.len() * systems(plan).len()) as u64 * u64::from(plan.repeats(REPEATS))
}

pub(super) fn live(bench: &Bench) -> Result<Outcome> {
    let runs = Simulated::read("bench/dual-band.toml")?;
    let cases = DISTANCES.map(|distance| live_case(bench, &runs, distance)).into();
    let method = format!(
        "scenarios/bench/dual-band.toml by `ropewalk lab run`: radios of 802.11ad and 802.11ac whose time goes eight times slower, so that rates are an eighth and \
         a path holds as many packets; timers of TCP and of the bond are not scaled. Buffers are the same for all; MPTCP has Linux's one scheduler. 20 s after 4 s \
         of warm-up. Median of {}.",
        bench.plan.repeats(REPEATS)
    );
    Ok(Outcome { method, cases })
}

fn live_case(bench: &Bench, runs: &Simulated, distance: &str) -> Case {
    let systems = systems(&bench.plan);
    let mut values: Vec<Value> = systems.iter().map(|s| Value::new(s.1, Unit::Mbps)).collect();
    for round in bench.plan.rounds(bench.plan.repeats(REPEATS)) {
        for (system, value) in systems.iter().zip(&mut values) {
            let label = format!("dual-band {distance}: {}", system.1);
            value.push(live_sample(bench, &label, || {
                figure(&runs.report_by(bench, "lab", &[distance, system.0], round, &[])?, GOODPUT)
            }));
        }
    }
    let of = |system: usize| values.iter().find(|v| v.name == SYSTEMS[system].1)?.figure;
    let sum = of(0).zip(of(1)).map(|(a, b)| a + b);
    let peers = [2, 3].map(|peer| (SYSTEMS[peer].1.to_owned(), ratio(of(peer), sum)));
    let figures = vec![Figure::new("over the sum", Unit::Times, ratio(of(4), sum), peers, goal())];
    Case { name: distance.to_owned(), values, figures }
}

/// One run; once more if it did not keep time, as the lab says itself, or if others were at work.
fn live_sample(bench: &Bench, label: &str, run: impl Fn() -> Result<f64>) -> Sample {
    bench.progress.begin(label);
    let mut sample = Sample::none("no run");
    for _ in 0..TRIES {
        bench.wait_for_quiet(label);
        let (began, others) = (Instant::now(), usage::cpu_seconds_of_others());
        let tried = run().map_or_else(|e| Sample::none(format!("{e:#}")), Sample::of);
        let others = (usage::cpu_seconds_of_others() - others) / began.elapsed().as_secs_f64();
        if sample.value.is_none() || tried.value.is_some() && others < sample.others {
            sample = Sample { others, ..tried };
        }
        if sample.value.is_some() && (bench.wait.is_zero() || !sample.is_disturbed()) {
            break;
        }
    }
    bench.progress.end(&format!("{label}: {:.1} Mb/s", sample.value.unwrap_or(f64::NAN)));
    sample
}

pub(super) fn causes_measurements(plan: &Plan) -> u64 {
    let runs = CAUSES.len() as u64 * u64::from(plan.repeats(SEEDS));
    DISTANCES.len() as u64 * (runs + 2)
}

pub(super) fn causes(bench: &Bench) -> Result<Outcome> {
    let (single, bond) = (Simulated::read("004/single.toml")?, Simulated::read("004/bond.toml")?);
    let mut cases = Vec::new();
    for distance in DISTANCES {
        let alone = ["60GHz", "5GHz"].map(|by| {
            bench.progress.begin(&format!("dual-band-causes {distance}: {by} alone"));
            let value = single.value(bench, &[distance, by], 1, GOODPUT);
            bench.progress.end(&format!("dual-band-causes {distance}: {by} alone: {value:.1?} Mb/s"));
            value
        });
        let sum = alone.into_iter().sum::<Result<f64>>()?;
        cases.extend(CAUSES.map(|cause| causes_case(bench, &bond, (distance, sum), cause)));
    }
    let method = format!(
        "scenarios/004/bond.toml in the simulator at full rate: one TCP connection in the tunnel, the first four seconds of it, start-up included, over the sum of \
         what TCP has on each path alone in ten seconds without a cause (scenarios/004/single.toml). {} seeds of each cause.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}

fn causes_case(
    bench: &Bench,
    bond: &Simulated,
    (distance, sum): (&str, f64),
    (cause, has_goal): (&str, bool),
) -> Case {
    let name = format!("{distance}, {cause}");
    let mut value = Value::new("ropewalk", Unit::Mbps);
    for seed in bench.plan.rounds(bench.plan.repeats(SEEDS)) {
        let label = format!("dual-band-causes {name}, seed {seed}");
        bench.progress.begin(&label);
        let report = bond.report_by(bench, "sim", &[distance, cause], seed, &CUT);
        let sample = sample(&report, |r| figure(r, GOODPUT));
        bench.progress.end(&format!("{label}: {:.0} Mb/s", sample.value.unwrap_or(f64::NAN)));
        value.push(sample);
    }
    let shares = Shares::of(&value.samples, sum);
    let goal = if has_goal { goal() } else { Goal::none() };
    let figure = |what, share, goal| Figure::new(what, Unit::Times, share, [], goal);
    let figures = vec![
        figure("worst seed over the sum", shares.as_ref().map(|s| s.worst), goal),
        figure("tenth part below", shares.as_ref().map(|s| s.p10), Goal::none()),
        figure("mean over the sum", shares.as_ref().map(|s| s.mean), Goal::none()),
    ];
    Case { name, values: vec![value], figures }
}

/// What seeds make of the share of a sum.
#[derive(Debug, PartialEq)]
struct Shares {
    worst: f64,
    /// A tenth of the seeds is below it.
    p10: f64,
    mean: f64,
}

impl Shares {
    fn of(samples: &[f64], sum: f64) -> Option<Shares> {
        let mut all: Vec<f64> = samples.iter().map(|s| s / sum).collect();
        all.sort_by(f64::total_cmp);
        let (worst, p10) = (*all.first()?, *all.get(all.len() / 10)?);
        Some(Shares { worst, p10, mean: all.iter().sum::<f64>() / all.len() as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_seeds() {
        let samples: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let shares = Shares::of(&samples, 20.0).unwrap();
        assert_eq!((shares.worst, shares.p10), (0.05, 0.15));
        assert!((shares.mean - 0.525).abs() < 1e-12, "{shares:?}");
        assert_eq!(Shares::of(&[], 1.0), None);
    }

    #[test]
    fn the_scenarios_have_what_is_asked_for() {
        let read = |file| Simulated::read(file).unwrap();
        let (lab, bond, single) =
            (read("bench/dual-band.toml"), read("004/bond.toml"), read("004/single.toml"));
        for distance in DISTANCES {
            assert!(SYSTEMS.iter().all(|s| lab.has(&[distance, s.0])));
            assert!(CAUSES.iter().all(|c| bond.has(&[distance, c.0])));
            assert!(["60GHz", "5GHz"].into_iter().all(|by| single.has(&[distance, by])));
        }
    }
}
