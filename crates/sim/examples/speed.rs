//! Runs scenario files, and says what flows got and how fast the simulator was:
//! `cargo run --release -p ropewalk-sim --example speed -- scenarios/bench/*.toml`.

use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;
use std::path::Path;
use std::time::Instant;

fn main() {
    for file in std::env::args().skip(1) {
        if let Err(sentence) = run(&file) {
            eprintln!("{sentence}");
            std::process::exit(1);
        }
    }
}

fn run(file: &str) -> Result<(), String> {
    let document = Document::read(Path::new(file)).map_err(|e| e.to_string())?;
    let scenario = document.scenario().map_err(|e| e.to_string())?;
    let mut simulation = Simulation::new(&scenario, &document.directory()).map_err(|e| e.to_string())?;
    let start = Instant::now();
    simulation.run();
    let wall = start.elapsed().as_secs_f64();
    let report = simulation.report();
    for f in report.flow.iter().take(12) {
        println!("  {:20} {:8.3} Mbit/s  {} packets", f.name, f.goodput_mbps, f.sent_packets);
    }
    let sum: f64 = report.flow.iter().map(|f| f.goodput_mbps).sum();
    let p = &report.provenance;
    println!(
        "{file}: {sum:.3} Mbit/s in {} flows; {:.1} simulated s/s, {:.2} M events/s, trace {}",
        report.flow.len(),
        p.duration_s / wall,
        p.events as f64 / wall / 1e6,
        p.trace
    );
    Ok(())
}
