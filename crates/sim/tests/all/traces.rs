//! Same scenario, same seed: the same run on every machine. The hashes of `traces.txt` are those of all arrivals of the first two
//! seconds of scenarios that together use everything there is.
//!
//! A change of a model changes them, and is meant to be seen: `UPDATE_TRACES=1 cargo test -p
//! ropewalk-sim traces` writes them anew.

use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;
use std::fmt::Write;
use std::path::Path;

const SCENARIOS: [&str; 6] = [
    "scenarios/bench/11a-54-n10.toml",
    "scenarios/bench/11n-ampdu-n10.toml",
    "scenarios/bench/multifacet.toml",
    "scenarios/validation/hidden-ampdu-rts.toml",
    "scenarios/validation/tcp-up-down-ampdu.toml",
    "crates/sim/tests/everything.toml",
];

fn trace(file: &str, seed: u64) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut document = Document::read(&root.join(file)).unwrap_or_else(|e| panic!("{e}"));
    document
        .set_text("duration=2s")
        .and_then(|()| document.set_text("warmup=0s"))
        .unwrap_or_else(|e| panic!("{e}"));
    document.set_text(&format!("seed={seed}")).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.scenario().unwrap_or_else(|e| panic!("{e}"));
    let mut simulation =
        Simulation::new(&scenario, &document.directory()).unwrap_or_else(|e| panic!("{file}: {e}"));
    simulation.run();
    let net = &simulation.built().world.net;
    assert!(net.trace.arrivals() > 1000, "{file}: hardly anything arrived");
    format!("{:016x} {}", net.trace.hash(), net.trace.arrivals())
}

#[test]
fn runs_are_the_same_everywhere() {
    let mut found = String::new();
    for file in SCENARIOS {
        writeln!(found, "{file} {}", trace(file, 1)).expect("a string takes everything");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces.txt");
    if std::env::var_os("UPDATE_TRACES").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        found, stored,
        "the traces have changed; if that is meant, write them anew (see this file's head)"
    );
}

#[test]
fn chance_comes_from_the_seed_alone() {
    let file = "crates/sim/tests/everything.toml";
    assert_eq!(trace(file, 7), trace(file, 7));
    assert_ne!(trace(file, 7), trace(file, 8));
}
