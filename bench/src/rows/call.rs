//! `call`: a call by UDP over paths that lose in bursts. In simulated time.

use anyhow::Result;
use ropewalk_scenario::report::Report;

use super::Outcome;
use super::simulated::{Simulated, figure, sample};
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Unit, Value};

/// The scenario's labels, with what tables call them; without loss is the null case.
const LOSSES: [(&str, &str); 4] = [
    ("none", "no loss"),
    ("single", "3 %, single packets"),
    ("bursts-4", "3 %, bursts of 4"),
    ("bursts-8", "3 %, bursts of 8"),
];
const BESIDE: [(&str, &str); 2] = [("nothing", "alone"), ("download", "beside a download")];
/// The last is Ropewalk.
const WAYS: [(&str, &str); 3] = [("a", "path A"), ("b", "path B"), ("bond", "ropewalk")];
const SEEDS: u32 = 10;

pub(super) fn measurements(plan: &Plan) -> u64 {
    (LOSSES.len() * BESIDE.len() * ways(plan).len()) as u64 * u64::from(plan.repeats(SEEDS))
}

fn ways(plan: &Plan) -> &'static [(&'static str, &'static str)] {
    &WAYS[if plan.alone { 2 } else { 0 }..]
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let call = Simulated::read("bench/call.toml")?;
    let each = BESIDE.into_iter().flat_map(|beside| LOSSES.map(|loss| (beside, loss)));
    let cases = each.map(|(beside, loss)| case(bench, &call, beside, loss)).collect();
    let method = format!(
        "scenarios/bench/call.toml in the simulator: 2 Mbit/s of packets of 1200 bytes, marked EF, over two paths of 20 Mbit/s with round trips of 40 \
         and 80 ms; alone on each of them, and over both. In time is what takes no longer than 150 ms. Mean of {} runs of a minute.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}

fn case(bench: &Bench, call: &Simulated, beside: (&str, &str), loss: (&str, &str)) -> Case {
    let name = format!("{}, {}", beside.1, loss.1);
    let ways = ways(&bench.plan);
    let mut values: Vec<Value> = ways.iter().map(|w| Value::new(w.1, Unit::Percent).into_mean()).collect();
    let mut overhead = Value::new("overhead", Unit::Percent).into_mean();
    for (value, way) in values.iter_mut().zip(ways) {
        bench.progress.begin(&format!("call: {name}, {}", way.1));
        for round in bench.plan.rounds(bench.plan.repeats(SEEDS)) {
            let report = call.report(bench, &[way.0, loss.0, beside.0], round);
            value.push(sample(&report, |r| figure(r, "flow.call.late_percent")));
            if way.0 == "bond" {
                overhead.push(sample(&report, overhead_percent));
            }
        }
        let line = format!("call: {name}, {}: {:.2} % late", way.1, value.figure.unwrap_or(f64::NAN));
        bench.progress.end(&line);
    }
    let of = |name: &str| values.iter().find(|v| v.name == name)?.figure;
    let peers = ["path A", "path B"].map(|path| (path.to_owned(), of(path)));
    let figures = vec![
        Figure::new("late or lost", Unit::Percent, of("ropewalk"), peers, Goal::at_most(0.1, 0.01)),
        Figure::new("overhead", Unit::Percent, overhead.figure, [], Goal::at_most(25.0, 10.0)),
    ];
    values.push(overhead);
    Case { name, values, figures }
}

/// What the bond sent beyond what arrived of both flows, headers included.
fn overhead_percent(report: &Report) -> Result<f64> {
    let sent = figure(report, "sum(path.rw0:gateway:*.sent_mbps)")?;
    Ok((sent / figure(report, "sum(flow.*.goodput_mbps)")? - 1.0) * 100.0)
}
