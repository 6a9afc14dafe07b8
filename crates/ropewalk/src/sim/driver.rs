//! What makes a run of a scenario: the simulator, or the live lab.

use super::runner;
use anyhow::Result;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::{Document, Scenario};
use std::sync::atomic::AtomicBool;

/// Makes runs. The same scenario gives a report of the same form, whoever made it.
pub(crate) trait Driver: Sync {
    /// A short name, by which results are kept and explanations found.
    fn name(&self) -> &'static str;

    /// How many runs it may make at once.
    fn jobs(&self) -> usize;

    /// Makes a run; none: it was interrupted.
    ///
    /// # Errors
    /// What the driver refuses, with file and line.
    fn run(
        &self,
        document: &Document,
        scenario: &Scenario,
        interrupted: &AtomicBool,
    ) -> Result<Option<Report>>;
}

/// Virtual time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simulator;

impl Driver for Simulator {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn jobs(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn run(
        &self,
        document: &Document,
        scenario: &Scenario,
        interrupted: &AtomicBool,
    ) -> Result<Option<Report>> {
        let mut simulation = runner::build(document, scenario)?;
        Ok(runner::finish(&mut simulation, document, interrupted, |_| ()))
    }
}
