//! `short`: downloads of 10 kB to 10 MB, what people feel, over the better path's. In simulated
//! time: the figures are the same on every machine.

use anyhow::Result;

use super::Outcome;
use super::compare::ratio;
use super::simulated::Simulated;
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};

/// The scenario's labels, with what is asked of the bond beside the better path alone.
const SIZES: [(&str, f64, f64); 4] =
    [("10kB", 1.05, 1.0), ("100kB", 1.05, 1.0), ("1MB", 1.05, 0.9), ("10MB", 1.05, 0.7)];
/// The scenario's labels for what is compared, with what tables call it: the last two are
/// Ropewalk's.
const SYSTEMS: [(&str, &str); 5] = [
    ("a", "path A"),
    ("b", "path B"),
    ("mptcp", "MPTCP"),
    ("warm", "ropewalk, warm"),
    ("cold", "ropewalk, cold"),
];
const SEEDS: u32 = 20;

pub(super) fn measurements(plan: &Plan) -> u64 {
    let cases = plan.environments().count() * SIZES.len() * systems(plan).len();
    cases as u64 * u64::from(plan.repeats(SEEDS))
}

fn systems(plan: &Plan) -> &'static [(&'static str, &'static str)] {
    &SYSTEMS[if plan.alone { 3 } else { 0 }..]
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let scenario = Simulated::read("bench/short.toml")?;
    let environments: Vec<_> = bench.plan.environments().collect();
    let cases = environments
        .iter()
        .flat_map(|environment| SIZES.map(|size| case(bench, &scenario, &environment.name, size)));
    let cases = cases.collect();
    let method = format!(
        "scenarios/bench/short.toml in the simulator, with CUBIC and MPTCP as Linux has them: the time from the first SYN to the last byte of a \
         download, over that of the better path alone. Warm: another of 4 MB went before. Median of {} seeds.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}

fn case(bench: &Bench, scenario: &Simulated, environment: &str, size: (&str, f64, f64)) -> Case {
    let name = format!("{environment}, {}", size.0);
    let systems = systems(&bench.plan);
    let mut values: Vec<Value> = systems.iter().map(|s| Value::new(s.1, Unit::Ms)).collect();
    for (value, system) in values.iter_mut().zip(systems) {
        bench.progress.begin(&format!("short: {name}, {}", system.1));
        for round in bench.plan.rounds(bench.plan.repeats(SEEDS)) {
            let took =
                scenario.value(bench, &[environment, size.0, system.0], round, "flow.one.completion_s");
            value.push(took.map_or_else(|e| Sample::none(format!("{e:#}")), |s| Sample::of(s * 1e3)));
        }
        let line = format!("short: {name}, {}: {:.0} ms", system.1, value.figure.unwrap_or(f64::NAN));
        bench.progress.end(&line);
    }
    let of = |name: &str| values.iter().find(|v| v.name == name)?.figure;
    let better = [of("path A"), of("path B")].into_iter().flatten().reduce(f64::min);
    let over = |name: &str| ratio(of(name), better);
    let goal = || Goal::at_most(size.1, size.2);
    let figures = vec![
        Figure::new(
            "cold, over the better path",
            Unit::Times,
            over("ropewalk, cold"),
            [("MPTCP".to_owned(), over("MPTCP"))],
            goal(),
        ),
        Figure::new("warm", Unit::Times, over("ropewalk, warm"), [], goal()),
    ];
    Case { name, values, figures }
}
