//! Says what `tidal` makes of its cases in simulated time: goodput, and the delay of a ping beside the flow.
//! `cargo run --release -p ropewalk-tests --example ablation -- 1 2 3` runs them with three seeds. Change the
//! controller, run it again, compare: `docs/design/tidal.md` was made so.

use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::Plan;
use ropewalk_sim::Simulation;
use std::path::Path;

/// A bond of one path, whose queue a CUBIC flow shares for a while.
const BESIDE: &str = r#"
title = "A bond of one path beside a CUBIC flow in the same queue"
duration = "30s"
[node.client]
[node.gateway]
[[link]]
name = "a"
ends = ["client:wan1", "gateway:wan1"]
rate = "40Mbit/s"
delay = "15ms"
[bond.rw0]
client = "client"
gateway = "gateway"
paths = ["wan1"]
[[flow]]
name = "one"
kind = "tcp"
from = "client:rw0"
to = "gateway:rw0"
[[flow]]
name = "beside"
kind = "tcp"
from = "client:wan1"
to = "gateway:wan1"
start = "4s"
stop = "22s"
[[flow]]
name = "ping"
kind = "ping"
from = "client:rw0"
to = "gateway:rw0"
interval = "50ms"
start = "2s"
"#;

/// What is added to the sixteen environments, so that delay shows.
const PING: &str = r#"
[[flow]]
name = "ping"
kind = "ping"
from = "client:rw0"
to = "gateway:rw0"
interval = "50ms"
start = "2s"
"#;

fn main() {
    let seeds: Vec<u64> = std::env::args().skip(1).map(|s| s.parse().expect("a seed")).collect();
    println!("{:<28} {:>6} {:>8} {:>8}", "case", "seed", "Mb/s", "ping ms");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a scenario");
    let sixteen = read("bench/sixteen.toml") + PING;
    for seed in seeds {
        run("sixteen", &sixteen, &["duration=8s"], seed, &[("one", "ping")]);
        run("demo", &read("demo.toml"), &[], seed, &[("bond", "bond-loaded"), ("cut", "")]);
        run("beside", BESIDE, &[], seed, &[("one", "ping"), ("beside", "")]);
    }
}

/// Run a scenario at each point of its sweep; `flows` are a flow and the ping beside it.
fn run(title: &str, text: &str, set: &[&str], seed: u64, flows: &[(&str, &str)]) {
    let mut document = Document::parse(title, text).expect(title);
    document.set_text(&format!("seed={seed}")).expect("a seed");
    for option in set {
        document.set_text(option).expect(option);
    }
    let plan = Plan::of(&document).expect(title);
    for point in
        plan.points.iter().filter(|p| p.labels.iter().all(|(axis, at)| axis != "way" || at == "bond"))
    {
        let scenario = plan.scenario(point).expect(title);
        let mut simulation = Simulation::new(&scenario, Path::new(".")).expect(title);
        simulation.run();
        let report = simulation.report();
        let row = |name: &str| report.flow.iter().find(|f| f.name == name);
        let at = point.labels.first().map_or(title, |(_, label)| label);
        for (flow, ping) in flows {
            let goodput = row(flow).map_or(f64::NAN, |f| f.goodput_mbps);
            let delay = row(ping).and_then(|f| f.rtt_ms).unwrap_or(f64::NAN);
            println!("{:<28} {seed:>6} {goodput:>8.2} {delay:>8.2}", format!("{at} {flow}"));
        }
    }
}
