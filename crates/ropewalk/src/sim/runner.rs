//! One run from beginning to end.

use anyhow::Result;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::{Document, Scenario};
use ropewalk_sim::Simulation;
use std::sync::atomic::{AtomicBool, Ordering};

/// A simulation of a checked scenario; what a model refuses is told with file and line.
pub(super) fn build(document: &Document, scenario: &Scenario) -> Result<Simulation> {
    let built = Simulation::new(scenario, &document.directory());
    Ok(built.map_err(|e| document.problem(&e.key, e.sentence))?)
}

/// Runs to the end; none: it was interrupted. `progress` is told the share of time that has passed, 0 to 1.
pub(super) fn finish(
    simulation: &mut Simulation,
    document: &Document,
    interrupted: &AtomicBool,
    mut progress: impl FnMut(f64),
) -> Option<Report> {
    while !simulation.advance() {
        if interrupted.load(Ordering::Relaxed) {
            return None;
        }
        progress(simulation.now().as_secs_f64() / simulation.end().as_secs_f64());
    }
    let mut report = simulation.report();
    report.provenance.file = document.file().to_owned();
    report.provenance.version = crate::reproduce::origin::BUILD.to_owned();
    Some(report)
}
