//! `dual-band` and `dual-band-causes`: one unmodified TCP connection over 60 GHz and 5 GHz
//! (`docs/papers/004.md`), live at an eighth of the rates and simulated at all of them.

use std::time::Instant;

use anyhow::Result;

use super::Outcome;
use super::compare::ratio;
use super::simulated::{Simulated, figure, sample, side_by_side};
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
/// By what the connection goes, and the settings for that; the bond then stands idle beside it.
const CARRIERS: [(&str, &[&str]); 3] = [
    ("ropewalk", &[]),
    ("60 GHz alone", &[r#"flow.down.from="server""#, r#"flow.down.to="client:wlan0""#]),
    ("5 GHz alone", &[r#"flow.down.from="server""#, r#"flow.down.to="client:wlan1""#]),
];

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
    (DISTANCES.len() * CAUSES.len() * CARRIERS.len()) as u64 * u64::from(plan.repeats(SEEDS))
}

pub(super) fn causes(bench: &Bench) -> Result<Outcome> {
    let scenario = Simulated::read("004/bond.toml")?;
    let mut cases = Vec::new();
    for distance in DISTANCES {
        let runs = CAUSES.map(|(cause, _)| Runs::make(bench, &scenario, distance, cause));
        let undisturbed = runs[0].sums();
        let case = |((cause, has_goal), runs)| {
            causes_case(&format!("{distance}, {cause}"), runs, &undisturbed, has_goal)
        };
        cases.extend(CAUSES.into_iter().zip(&runs).map(case));
    }
    let method = format!(
        "scenarios/004/bond.toml in the simulator at full rate: one TCP connection in the tunnel, the first four seconds of it, start-up included, over the sum of \
         what the same connection has on each path alone with the same seed and time: without a cause, and under the same one. {} seeds of each cause.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}

/// Goodput of each seed, Mb/s: over the bond, and over each path alone.
struct Runs([Vec<Sample>; 3]);

impl Runs {
    /// All seeds under a cause, on all processors: figures in simulated time do not disturb each other.
    fn make(bench: &Bench, scenario: &Simulated, distance: &str, cause: &str) -> Runs {
        let seeds = bench.plan.repeats(SEEDS) as usize;
        let samples = side_by_side(seeds * CARRIERS.len(), |n| {
            let (carrier, settings) = CARRIERS[n % CARRIERS.len()];
            let seed = 1 + (n / CARRIERS.len()) as u64;
            let label = format!("dual-band-causes {distance}, {cause}, seed {seed}, {carrier}");
            let report =
                scenario.report_by(bench, "sim", &[distance, cause], seed, &[&CUT, settings].concat());
            let sample = sample(&report, |r| figure(r, GOODPUT));
            bench.progress.end(&format!("{label}: {:.0} Mb/s", sample.value.unwrap_or(f64::NAN)));
            sample
        });
        let of = |carrier| samples.iter().skip(carrier).step_by(CARRIERS.len()).cloned().collect();
        Runs([of(0), of(1), of(2)])
    }

    /// The sum of both paths one by one, by seed; none where one of them failed.
    fn sums(&self) -> Vec<Option<f64>> {
        let [_, first, second] = &self.0;
        first.iter().zip(second).map(|(a, b)| Some(a.value? + b.value?)).collect()
    }

    /// What the bond has of these sums; none if a seed failed, which could be the worst.
    fn shares(&self, sums: &[Option<f64>]) -> Option<Shares> {
        let shares: Option<Vec<f64>> =
            self.0[0].iter().zip(sums).map(|(bond, sum)| Some(bond.value? / (*sum)?)).collect();
        Shares::of(shares?)
    }
}

fn causes_case(name: &str, runs: &Runs, undisturbed: &[Option<f64>], has_goal: bool) -> Case {
    let values = CARRIERS.iter().zip(&runs.0).map(|((carrier, _), samples)| {
        let mut value = Value::new(*carrier, Unit::Mbps);
        samples.iter().for_each(|sample| value.push(sample.clone()));
        value
    });
    let (of_all, of_same) = (runs.shares(undisturbed), runs.shares(&runs.sums()));
    let goal = if has_goal { goal() } else { Goal::none() };
    let figure = |what, share, goal| Figure::new(what, Unit::Times, share, [], goal);
    let figures = vec![
        figure("worst seed over the sum", of_all.as_ref().map(|s| s.worst), goal),
        figure("tenth part below", of_all.as_ref().map(|s| s.p10), Goal::none()),
        figure("mean over the sum", of_all.as_ref().map(|s| s.mean), Goal::none()),
        figure("worst seed over the sum under the same cause", of_same.as_ref().map(|s| s.worst), goal),
        figure("tenth part below that", of_same.as_ref().map(|s| s.p10), Goal::none()),
        figure("mean over the sum under the same cause", of_same.as_ref().map(|s| s.mean), Goal::none()),
    ];
    Case { name: name.to_owned(), values: values.collect(), figures }
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
    fn of(mut all: Vec<f64>) -> Option<Shares> {
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
        let shares = Shares::of((1..=20).rev().map(|n| f64::from(n) / 20.0).collect()).unwrap();
        assert_eq!((shares.worst, shares.p10), (0.05, 0.15));
        assert!((shares.mean - 0.525).abs() < 1e-12, "{shares:?}");
        assert_eq!(Shares::of(Vec::new()), None);
    }

    #[test]
    fn seeds_are_held_against_their_own_sum_and_none_is_left_out() {
        let samples = |values: [f64; 2]| values.map(Sample::of).to_vec();
        let mut runs = Runs([samples([90.0, 150.0]), samples([60.0, 150.0]), samples([40.0, 50.0])]);
        assert_eq!(runs.sums(), [Some(100.0), Some(200.0)]);
        let shares = runs.shares(&runs.sums()).unwrap();
        assert_eq!((shares.worst, shares.mean), (0.75, 0.825));
        assert_eq!(runs.shares(&[Some(180.0), Some(200.0)]).unwrap().worst, 0.5);
        runs.0[2][1] = Sample::none("no report");
        assert_eq!((runs.sums()[1], runs.shares(&runs.sums())), (None, None));
    }

    #[test]
    fn the_scenarios_have_what_is_asked_for() {
        let read = |file| Simulated::read(file).unwrap();
        let (lab, bond) = (read("bench/dual-band.toml"), read("004/bond.toml"));
        for distance in DISTANCES {
            assert!(SYSTEMS.iter().all(|s| lab.has(&[distance, s.0])));
            assert!(CAUSES.iter().all(|c| bond.has(&[distance, c.0])));
        }
    }
}
