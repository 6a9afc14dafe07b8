//! What tests of whole runs share.
#![allow(dead_code, reason = "each test file uses a part")]

use ropewalk_scenario::Document;
use ropewalk_scenario::report::{FlowRow, Report};
use ropewalk_sim::Simulation;
use std::path::Path;

/// A simulation of the scenario in `text`, which has to be right.
pub(crate) fn simulation(text: &str) -> Simulation {
    let scenario =
        Document::parse("test.toml", text).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
    Simulation::new(&scenario, Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

/// What comes out of it.
pub(crate) fn run(text: &str) -> Report {
    let mut simulation = simulation(text);
    simulation.run();
    simulation.report()
}

/// What comes of each, in their order. All run at once, so that no processor is idle while another
/// has several to do.
pub(crate) fn each<T: Send, R: Send>(
    of: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let begun: Vec<_> = of.into_iter().map(|one| scope.spawn(move || work(one))).collect();
        begun.into_iter().map(|one| one.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    })
}

/// The row of a flow.
pub(crate) fn flow<'a>(report: &'a Report, name: &str) -> &'a FlowRow {
    report.flow.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no flow {name}"))
}

/// Whether a value is off by no more than a share.
pub(crate) fn near(value: f64, of: f64, tolerance: f64) -> bool {
    (value / of - 1.0).abs() <= tolerance
}
