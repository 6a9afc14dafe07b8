//! `environments`, `quic`: whole transfers in the sixteen environments.

use anyhow::Result;
use ropewalk_lab::env::Environment;

use super::Outcome;
use super::compare::{Comparison, figure_of, ratio};
use crate::bench::Bench;
use crate::plan::Plan;
use crate::quic;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::{Open, System};

const TCP_SYSTEMS: [System; 4] = [System::Path(1), System::Path(2), System::Mptcp, System::Ropewalk];
const QUIC_SYSTEMS: [System; 3] = [System::Path(1), System::Path(2), System::Ropewalk];
const REPEATS: u32 = 3;
/// Where one path is better than the other by more than this, nothing is asked of the sum.
const COMPARABLE: f64 = 5.0;

fn count(plan: &Plan, systems: &[System]) -> u64 {
    u64::from(plan.repeats(REPEATS)) * (plan.systems(systems).len() * plan.environments().count()) as u64
}

pub(super) fn tcp_measurements(plan: &Plan) -> u64 {
    count(plan, &TCP_SYSTEMS)
}

pub(super) fn quic_measurements(plan: &Plan) -> u64 {
    count(plan, &QUIC_SYSTEMS)
}

fn seconds(plan: &Plan) -> u32 {
    plan.pick(15, 8)
}

pub(super) fn tcp(bench: &Bench) -> Result<Outcome> {
    let seconds = seconds(&bench.plan);
    let goal = Goal::at_least(0.97, 1.0);
    sixteen(bench, "environments", &TCP_SYSTEMS, goal, |site, open| {
        Ok(Sample::of(bench.flow(site, open, seconds)?.whole_mbps()))
    })
}

pub(super) fn quic(bench: &Bench) -> Result<Outcome> {
    let goal = Goal::at_least(0.95, 1.0);
    sixteen(bench, "quic", &QUIC_SYSTEMS, goal, |site, open| {
        let certificate = site.lab.topology.logs().join("quic-certificate");
        let (client, gateway) = (&site.lab.client, &site.lab.gateway);
        let (program, seconds) = (&bench.own, seconds(&bench.plan));
        let (download, _) = quic::download(program, client, gateway, open.target, seconds, &certificate)?;
        Ok(Sample::of(download.mbps))
    })
}

fn sixteen(
    bench: &Bench,
    row: &str,
    systems: &[System],
    goal: Goal,
    measure: impl Fn(&Site, &Open) -> Result<Sample>,
) -> Result<Outcome> {
    let mut cases = Vec::new();
    let repeats = bench.plan.repeats(REPEATS);
    for environment in bench.plan.environments() {
        let label = format!("{row} {}", environment.name);
        let comparison =
            Comparison { bench, label, links: &environment.links, systems, repeats, unit: Unit::Mbps };
        let values = comparison.run(&measure)?;
        cases.push(case(environment, values, goal));
    }
    let method = format!(
        "Whole transfers of {} s as users see them, start-up included, the same for all. Median of {repeats}, each \
         with its own random fate of the links.",
        seconds(&bench.plan)
    );
    Ok(Outcome { method, cases })
}

fn case(environment: &Environment, values: Vec<Value>, goal: Goal) -> Case {
    let alone = figure_of(&values, System::Path(1)).zip(figure_of(&values, System::Path(2)));
    let (best, sum) = (alone.map(|(a, b)| a.max(b)), alone.map(|(a, b)| a + b));
    let peers = |over| {
        let mptcp = values.iter().find(|value| value.name == System::Mptcp.name());
        mptcp.map(|value| (value.name.clone(), ratio(value.figure, over)))
    };
    let figure = |what, over, goal| {
        let ours = ratio(figure_of(&values, System::Ropewalk), over);
        Figure::new(what, Unit::Times, ours, peers(over), goal)
    };
    let comparable = alone.is_some_and(|(a, b)| a.max(b) <= COMPARABLE * a.min(b));
    let of_sum = if comparable { Goal::aim(0.88) } else { Goal::none() };
    let figures = vec![figure("over the best path", best, goal), figure("over the sum", sum, of_sum)];
    Case { name: environment.name.clone(), values, figures }
}
