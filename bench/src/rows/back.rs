//! `return`: how soon a flow has the sum again after a path came back. In simulated time.

use anyhow::{Context, Result, ensure};
use ropewalk_scenario::report::Report;

use super::Outcome;
use super::simulated::{Simulated, sample};
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Unit, Value};

/// The scenario's labels, what tables call them, and until when the flow is to have the sum again,
/// ms; a path that was never away is the null case.
const AWAY: [(&str, &str, f64); 6] = [
    ("none", "never away", 300.0),
    ("500ms", "away for 0.5 s", 300.0),
    ("1s", "away for 1 s", 300.0),
    ("3s", "away for 3 s", 300.0),
    ("4900ms", "away for 4.9 s", 300.0),
    ("8s", "away for 8 s", 1000.0),
];
/// When the path is back, s.
const BACK: f64 = 12.0;
/// Goodput that counts as the sum's nine tenths: of 60 Mbit/s less 3 % of headers.
const NINE_TENTHS: f64 = 0.9 * 60.0 * 0.97;
/// Intervals of the series over which the mean is taken.
const OVER: usize = 3;
const SEEDS: u32 = 4;

pub(super) fn measurements(plan: &Plan) -> u64 {
    AWAY.len() as u64 * u64::from(plan.repeats(SEEDS))
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let scenario = Simulated::read("bench/return.toml")?;
    let cases = AWAY.map(|away| case(bench, &scenario, away)).into();
    let method = format!(
        "scenarios/bench/return.toml in the simulator: one flow over 40 Mbit/s, 10 ms and 20 Mbit/s, 30 ms; the first path is away until the twelfth \
         second. Until the flow's mean over 300 ms is {NINE_TENTHS:.1} Mbit/s, in steps of 100 ms. Worst of {} seeds.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}

fn case(bench: &Bench, scenario: &Simulated, (label, name, goal): (&str, &str, f64)) -> Case {
    let mut value = Value::new("until the sum", Unit::Ms).into_largest();
    bench.progress.begin(&format!("return: {name}"));
    for round in bench.plan.rounds(bench.plan.repeats(SEEDS)) {
        value.push(sample(&scenario.report(bench, &[label], round), until_the_sum));
    }
    bench.progress.end(&format!("return: {name}: {:.0} ms", value.figure.unwrap_or(f64::NAN)));
    let figures = vec![Figure::new(
        "until nine tenths of the sum",
        Unit::Ms,
        value.figure,
        [],
        Goal::at_most(goal, 100.0),
    )];
    Case { name: name.to_owned(), values: vec![value], figures }
}

/// From the path's return to the beginning of the first 300 ms with nine tenths of the sum, ms.
fn until_the_sum(report: &Report) -> Result<f64> {
    let series = &report.series;
    let of_flow = |name: &String| name == "flow.one.goodput_mbps";
    let column = series.columns.iter().position(of_flow).context("the series lacks the flow")?;
    let first = (BACK / series.interval_s).round() as usize;
    let after: Vec<f64> = series.rows.iter().skip(first).filter_map(|row| row[column]).collect();
    let has_sum = |window: &[f64]| window.iter().sum::<f64>() >= OVER as f64 * NINE_TENTHS;
    let found = after.windows(OVER).position(has_sum);
    ensure!(found.is_some(), "not before the end");
    Ok(found.map_or(f64::NAN, |at| at as f64 * series.interval_s * 1e3))
}
