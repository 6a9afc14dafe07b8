//! `sim`: how fast the simulator is, and ns-3 beside it where its wheel is there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ropewalk_scenario::{Document, Scenario};
use ropewalk_sim::Simulation;

use super::Outcome;
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::usage;

/// The scenarios, in `scenarios`; the first two are run in ns-3 as well.
const SCENARIOS: [(&str, &str); 4] = [
    ("bench/11a-54-n10", "802.11a 54 Mb/s, 10 saturated stations"),
    ("bench/11n-ampdu-n10", "802.11n A-MPDU, 10 saturated stations"),
    ("multifacet", "Multifacet's repeater, one TCP flow"),
    ("bench/dense", "50 access points and 200 stations, three channels"),
];
const REPEATS: u32 = 3;
/// Names the Python that has ns-3's wheel.
const NS3: &str = "ROPEWALK_NS3";

pub(super) fn measurements(plan: &Plan) -> u64 {
    SCENARIOS.len() as u64 * u64::from(plan.repeats(REPEATS)) + 2
}

/// What one run of a scenario showed.
struct Speed {
    simulated_per_s: f64,
    events_per_s: f64,
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

fn scenario(name: &str) -> Result<(Scenario, PathBuf)> {
    let path = scenarios().join(format!("{name}.toml"));
    let document = Document::read(&path).map_err(|problems| anyhow::anyhow!("{problems}"))?;
    let scenario = document.scenario().map_err(|problems| anyhow::anyhow!("{problems}"))?;
    Ok((scenario, document.directory()))
}

fn speed(name: &str, quick: bool) -> Result<Speed> {
    let (mut scenario, directory) = scenario(name)?;
    if quick {
        scenario.duration = scenario.warmup + Duration::from_secs(2);
    }
    let mut simulation = Simulation::new(&scenario, &directory).context("the scenario is refused")?;
    let began = Instant::now();
    simulation.run();
    let took = began.elapsed().as_secs_f64();
    let simulated = scenario.duration.as_secs_f64();
    Ok(Speed { simulated_per_s: simulated / took, events_per_s: simulation.events() as f64 / took })
}

/// Simulated seconds per second of ns-3 by scenario, if its wheel is there.
fn ns3(quick: bool) -> Option<Vec<(String, f64)>> {
    let python = std::env::var_os(NS3)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ns3/speed.py");
    let output = Command::new(python).arg(script).arg(if quick { "1" } else { "6" }).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some((fields.first()?.to_string(), fields.get(3)?.parse().ok()?))
    };
    Some(text.lines().filter_map(line).collect())
}

/// Two runs at once, over one alone: 2 if the cores do not disturb each other.
fn both_cores(quick: bool) -> Result<f64> {
    let alone = speed(SCENARIOS[0].0, quick)?.simulated_per_s;
    let together: Vec<Result<Speed>> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| speed(SCENARIOS[0].0, quick))).collect();
        runs.into_iter().filter_map(|run| run.join().ok()).collect()
    });
    let sum: f64 =
        together.into_iter().collect::<Result<Vec<_>>>()?.iter().map(|run| run.simulated_per_s).sum();
    Ok(sum / alone)
}

/// Resident memory, MiB, after a tenth of a run and at its end.
fn memory(plan: &Plan) -> Result<(f64, f64)> {
    let (mut scenario, directory) = scenario(SCENARIOS[0].0)?;
    scenario.duration = plan.pick(Duration::from_secs(200), Duration::from_secs(20));
    let resident = || usage::resident_mib(std::process::id()).context("memory cannot be read");
    let mut simulation = Simulation::new(&scenario, &directory).context("the scenario is refused")?;
    let tenth = scenario.duration.as_secs_f64() / 10.0;
    while simulation.now().as_secs_f64() < tenth && !simulation.advance() {}
    let early = resident()?;
    simulation.run();
    Ok((early, resident()?))
}

fn told(result: Result<f64>) -> Sample {
    result.map_or_else(|error| Sample::none(format!("{error:#}")), Sample::of)
}

fn case(bench: &Bench, (name, what): (&str, &str), peer: Option<f64>, compared: bool) -> Case {
    let mut values = [Value::new("simulated s per s", Unit::Times), Value::new("events", Unit::PerSecond)];
    for _ in 0..bench.plan.repeats(REPEATS) {
        bench.progress.begin(&format!("sim: {what}"));
        let (simulated, events) = match speed(name, bench.plan.quick) {
            Ok(speed) => (Sample::of(speed.simulated_per_s), Sample::of(speed.events_per_s)),
            Err(error) => (Sample::none(format!("{error:#}")), Sample::none("no run")),
        };
        bench.progress.end(&format!("{what}: {:.0} s/s", simulated.value.unwrap_or(f64::NAN)));
        values[0].push(simulated);
        values[1].push(events);
    }
    let ours = values[0].figure;
    let mut figures =
        vec![Figure::new("simulated s per s", Unit::Times, ours, [("ns-3".to_owned(), peer)], Goal::none())];
    if compared {
        let ratio = ours.zip(peer).map(|(ours, peer)| ours / peer);
        figures.push(Figure::new("times ns-3's speed", Unit::Times, ratio, [], Goal::at_least(30.0, 100.0)));
    }
    Case { name: what.to_owned(), values: values.into(), figures }
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let peers = ns3(bench.plan.quick).unwrap_or_default();
    if peers.is_empty() {
        bench
            .progress
            .say(&format!("ns-3 is left out: {NS3} names no Python with its wheel; see bench/ns3/README.md"));
    }
    let mut cases = Vec::new();
    for (index, which) in SCENARIOS.into_iter().enumerate() {
        let peer = peers.iter().find(|(name, _)| which.0.ends_with(name.as_str())).map(|(_, speed)| *speed);
        cases.push(case(bench, which, peer, index < 2));
    }
    let mut cores = Value::new("two runs at once over one alone", Unit::Times);
    cores.push(told(both_cores(bench.plan.quick)));
    bench.progress.end("two runs at once");
    let mut growth = Value::new("memory at the end over that after a tenth", Unit::Times);
    growth.push(told(memory(&bench.plan).map(|(early, late)| late / early)));
    bench.progress.end("memory");
    let figures = vec![
        Figure::new("both cores", Unit::Times, cores.figure, [], Goal::at_least(1.6, 1.9)),
        Figure::new("memory at the end", Unit::Times, growth.figure, [], Goal::at_most(1.1, 1.02)),
    ];
    cases.push(Case { name: "whole machine".to_owned(), values: vec![cores, growth], figures });
    let method = format!(
        "Scenarios of this repository, in this process, one thread; building the world is not counted. ns-3 3.44 runs the same networks \
         with the same offered load in a process of its own, and only its Simulator::Run is counted. Median of {}.",
        bench.plan.repeats(REPEATS)
    );
    Ok(Outcome { method, cases })
}
