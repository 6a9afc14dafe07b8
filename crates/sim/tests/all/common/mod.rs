//! What tests of whole runs share.
#![allow(dead_code, reason = "each test file uses a part")]

use ropewalk_scenario::Document;
use ropewalk_scenario::report::{FlowRow, Report};
use ropewalk_sim::Simulation;
use std::path::Path;
use std::sync::Mutex;

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

/// What comes of each, in their order. As many run at once as there are processors: more would share
/// the caches, and none is idle while another has several to do.
pub(crate) fn each<T: Send, R: Send>(
    of: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let waiting = Mutex::new(of.into_iter().enumerate().collect::<Vec<_>>().into_iter());
    let next = || waiting.lock().unwrap().next();
    let worker = || {
        let mut done = Vec::new();
        while let Some((at, one)) = next() {
            done.push((at, work(one)));
        }
        done
    };
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| worker.join());
        ends.flat_map(|end| end.unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The row of a flow.
pub(crate) fn flow<'a>(report: &'a Report, name: &str) -> &'a FlowRow {
    report.flow.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no flow {name}"))
}

/// Whether a value is off by no more than a share.
pub(crate) fn near(value: f64, of: f64, tolerance: f64) -> bool {
    (value / of - 1.0).abs() <= tolerance
}
