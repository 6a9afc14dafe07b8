//! How long short downloads take over a bond, in simulated time: `scenarios/bench/short.toml`, each
//! cell the median over the seeds, over that of the better path alone, and the same of the 95th
//! percentile.
//!
//!     cargo run --release -p ropewalk-tests --example short -- 20            20 seeds of each point
//!     cargo run --release -p ropewalk-tests --example short -- 20 baseline flow.one.slow-start="standard"
//!                                                                            of one, with a key set

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::{Plan, Point};
use ropewalk_sim::Simulation;

const SIZES: [&str; 4] = ["10kB", "100kB", "1MB", "10MB"];
const SYSTEMS: [&str; 3] = ["cold", "warm", "mptcp"];

/// Seconds by environment, size and system; a download that did not end counts as the whole run.
type Times = BTreeMap<(String, String, String), Vec<f64>>;

fn main() {
    let mut words = std::env::args().skip(1);
    let seeds: u64 = words.next().map_or(20, |w| w.parse().expect("a number of seeds"));
    let (set, only): (Vec<String>, Vec<String>) = words.partition(|w| w.contains('='));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/bench/short.toml");
    let text = std::fs::read_to_string(path).expect("the scenario");
    let plans: Vec<Plan> = (1..=seeds).map(|seed| plan(&text, seed, &set)).collect();
    let wanted = |p: &&Point| only.is_empty() || only.contains(&label(p, "environment"));
    let runs: Vec<(&Plan, &Point)> =
        plans.iter().flat_map(|plan| plan.points.iter().filter(wanted).map(move |p| (plan, p))).collect();
    let environments: Vec<String> =
        plans[0].points.iter().filter(wanted).map(|p| label(p, "environment")).collect();
    let times = all(&runs);
    println!("{:<14} {:<6} {}", "environment", "", SIZES.map(|s| format!("{s:>15}")).join(""));
    let mut last = String::new();
    for environment in environments {
        if environment != last {
            SYSTEMS.iter().for_each(|system| print_row(&times, &environment, system));
        }
        last = environment;
    }
}

fn plan(text: &str, seed: u64, set: &[String]) -> Plan {
    let mut document = Document::parse("short", text).expect("the scenario");
    document.set_text(&format!("seed={seed}")).expect("a seed");
    set.iter().for_each(|option| document.set_text(option).expect(option));
    Plan::of(&document).expect("a sweep")
}

fn label(point: &Point, axis: &str) -> String {
    point.labels.iter().find(|(a, _)| a == axis).map(|(_, l)| l.clone()).expect("the axis")
}

/// Runs all, on every processor.
fn all(runs: &[(&Plan, &Point)]) -> Times {
    let (next, times) = (AtomicUsize::new(0), Mutex::new(Times::new()));
    let work = || {
        while let Some((plan, point)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let took = seconds(plan, point);
            let key = (label(point, "environment"), label(point, "size"), label(point, "system"));
            times.lock().expect("no panic").entry(key).or_default().push(took);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    times.into_inner().expect("no panic")
}

fn seconds(plan: &Plan, point: &Point) -> f64 {
    let scenario = plan.scenario(point).expect("a scenario");
    let mut simulation = Simulation::new(&scenario, Path::new(".")).expect("a simulation");
    simulation.run();
    let report = simulation.report();
    let flow = report.flow.iter().find(|f| f.name == "one").expect("the flow");
    flow.completion_s.unwrap_or(f64::INFINITY)
}

fn print_row(times: &Times, environment: &str, system: &str) {
    let cells = SIZES.map(|size| {
        let of = |system: &str, part: f64| {
            let key = (environment.to_owned(), size.to_owned(), system.to_owned());
            let mut sorted = times[&key].clone();
            sorted.sort_by(f64::total_cmp);
            sorted[(part * (sorted.len() - 1) as f64).round() as usize]
        };
        let over = |part: f64| of(system, part) / of("a", part).min(of("b", part));
        format!("{:>8.2} {:>5.2} ", over(0.5), over(0.95))
    });
    println!("{environment:<14} {system:<6} {}", cells.join(""));
}
