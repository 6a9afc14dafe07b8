//! `equal`, `unequal`, `lossy`: one steady flow over two paths.

use std::time::Duration;

use anyhow::{Context, Result};
use ropewalk_lab::env::Environment;

use super::Outcome;
use super::compare::{Comparison, figure_of, ratio};
use crate::bench::{Bench, WARM_UP};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::system::System;

const SYSTEMS: [System; 4] = [System::Path(1), System::Path(2), System::Mptcp, System::Ropewalk];
const REPEATS: u32 = 3;

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * plan.systems(&SYSTEMS).len() as u64
}

fn seconds(plan: &Plan) -> u32 {
    plan.pick(12, 7)
}

pub(super) fn equal(bench: &Bench) -> Result<Outcome> {
    let values = steady(bench, "equal", "equal_20")?;
    let figures = vec![over_sum(&values, Goal::at_least(0.93, 0.98))];
    outcome(bench, "20+20 Mb/s, 10 ms", values, figures)
}

pub(super) fn unequal(bench: &Bench) -> Result<Outcome> {
    let values = steady(bench, "unequal", "unequal_300_80")?;
    let figures = vec![over_sum(&values, Goal::at_least(0.90, 0.96))];
    outcome(bench, "300 Mb/s 10 ms + 80 Mb/s 30 ms", values, figures)
}

pub(super) fn lossy(bench: &Bench) -> Result<Outcome> {
    let values = steady(bench, "lossy", "lossy_50")?;
    let peer = (System::Mptcp.name(), figure_of(&values, System::Mptcp));
    let goal = Goal::at_least(75.0, 88.0);
    let figures = vec![Figure::new("rate", Unit::Mbps, figure_of(&values, System::Ropewalk), [peer], goal)];
    outcome(bench, "2 × 50 Mb/s, 20 ms, 2 % loss", values, figures)
}

fn steady(bench: &Bench, label: &str, environment: &str) -> Result<Vec<Value>> {
    let environment = Environment::named(environment).context("no such environment")?;
    let comparison = Comparison {
        bench,
        label: label.to_owned(),
        links: &environment.links,
        systems: &SYSTEMS,
        repeats: bench.plan.repeats(REPEATS),
        unit: Unit::Mbps,
    };
    let seconds = seconds(&bench.plan);
    comparison.run(|site, open| Ok(Sample::of(bench.flow(site, open, seconds)?.steady_mbps(WARM_UP))))
}

/// What one flow gets over the sum of what one flow gets on each path alone.
fn over_sum(values: &[Value], goal: Goal) -> Figure {
    let alone = figure_of(values, System::Path(1)).zip(figure_of(values, System::Path(2)));
    let sum = alone.map(|(a, b)| a + b);
    let over = |system| ratio(figure_of(values, system), sum);
    Figure::new(
        "over the sum",
        Unit::Times,
        over(System::Ropewalk),
        [(System::Mptcp.name(), over(System::Mptcp))],
        goal,
    )
}

fn outcome(bench: &Bench, case: &str, values: Vec<Value>, figures: Vec<Figure>) -> Result<Outcome> {
    let (seconds, omitted) = (seconds(&bench.plan), WARM_UP.as_secs());
    let repeats = bench.plan.repeats(REPEATS);
    let method = format!(
        "Flows of {seconds} s, of which the first {omitted} do not count: the rate of a flow that has settled. \
         Median of {repeats}."
    );
    debug_assert!(Duration::from_secs(seconds.into()) > WARM_UP);
    Ok(Outcome { method, cases: vec![Case { name: case.to_owned(), values, figures }] })
}
