//! `rivals`: the bond beside somebody else's TCP on one of its paths. In simulated time.

use anyhow::Result;

use super::Outcome;
use super::simulated::{Simulated, figure, sample};
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Unit, Value};

/// The scenario's labels, what tables call them, and how many share path A with the bond: nobody is
/// the null case.
const RIVALS: [(&str, &str, f64); 6] = [
    ("none", "nobody", 0.0),
    ("cubic", "one CUBIC", 1.0),
    ("cubic-first", "one CUBIC, there before", 1.0),
    ("cubic-4", "four CUBIC", 4.0),
    ("reno", "one Reno", 1.0),
    ("reno-4", "four Reno", 4.0),
];
const QUEUES: [(&str, &str); 3] = [("half", "0.5 BDP"), ("one", "1 BDP"), ("four", "4 BDP")];
/// Rates of the two paths, Mbit/s.
const PATHS: [f64; 2] = [50.0, 20.0];
const SEEDS: u32 = 3;

pub(super) fn measurements(plan: &Plan) -> u64 {
    (RIVALS.len() * QUEUES.len()) as u64 * u64::from(plan.repeats(SEEDS))
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let scenario = Simulated::read("bench/rivals.toml")?;
    let each = QUEUES.into_iter().flat_map(|queue| RIVALS.map(|rivals| (queue, rivals)));
    let cases = each.map(|(queue, rivals)| case(bench, &scenario, queue, rivals)).collect();
    let method = format!(
        "scenarios/bench/rivals.toml in the simulator: one flow over a bond of 50 and 20 Mbit/s, the first shared with foreign TCP from the fifth second \
         on; what the bond sends there over a fair share, 50 Mbit/s by the number of flows, the bond's counted as one. Median of {} runs of 55 s.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}

fn case(bench: &Bench, scenario: &Simulated, queue: (&str, &str), rivals: (&str, &str, f64)) -> Case {
    let name = format!("{}, queue of {}", rivals.1, queue.1);
    let mut values = [Value::new("on path A", Unit::Mbps), Value::new("on path B", Unit::Mbps)];
    bench.progress.begin(&format!("rivals: {name}"));
    for round in bench.plan.rounds(bench.plan.repeats(SEEDS)) {
        let report = scenario.report(bench, &[rivals.0, queue.0], round);
        for (value, path) in values.iter_mut().zip(["wan1", "wan2"]) {
            let metric = format!("path.rw0:client:{path}.sent_mbps");
            value.push(sample(&report, |r| figure(r, &metric)));
        }
    }
    let [a, b] = [0, 1].map(|i| values[i].figure);
    bench.progress.end(&format!("rivals: {name}: {:.1} Mb/s on A", a.unwrap_or(f64::NAN)));
    let fair = PATHS[0] / (1.0 + rivals.2);
    let figures = vec![
        Figure::new(
            "over a fair share, at least",
            Unit::Times,
            a.map(|a| a / fair),
            [],
            Goal::at_least(0.8, 1.0),
        ),
        Figure::new(
            "over a fair share, at most",
            Unit::Times,
            a.map(|a| a / fair),
            [],
            Goal::at_most(1.25, 1.0),
        ),
        Figure::new("the other path", Unit::Times, b.map(|b| b / PATHS[1]), [], Goal::at_least(0.95, 0.99)),
    ];
    Case { name, values: values.into(), figures }
}
