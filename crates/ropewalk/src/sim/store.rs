//! Where a sweep keeps its finished runs: a file for each, so that an interrupted sweep has lost nothing but what was running.

use super::output;
use crate::reproduce::origin::BUILD;
use anyhow::Result;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::sweep::{Plan, Point};
use std::fs;
use std::path::{Path, PathBuf};

/// The runs' directory.
#[derive(Debug)]
pub(crate) struct Store {
    runs: PathBuf,
}

impl Store {
    /// Below a sweep's directory.
    pub(crate) fn open(directory: &Path) -> Result<Store> {
        let runs = directory.join("runs");
        output::prepare(&runs)?;
        Ok(Store { runs })
    }

    /// Whether there is any run.
    pub(crate) fn is_empty(&self) -> bool {
        fs::read_dir(&self.runs).map_or(true, |mut entries| entries.next().is_none())
    }

    /// Where a run is kept.
    pub(crate) fn path(&self, index: usize) -> PathBuf {
        self.runs.join(format!("{index:06}.json"))
    }

    /// Keeps a finished run.
    pub(crate) fn keep(&self, index: usize, report: &Report) -> Result<()> {
        output::write_json(&self.path(index), report)
    }

    /// The finished runs of a plan, in its order.
    pub(crate) fn of<'a>(&self, plan: &'a Plan) -> Result<Vec<(&'a Point, Report)>> {
        let mut out = Vec::new();
        for point in &plan.points {
            let hash = plan.scenario(point)?.hash();
            out.extend(self.finished(point.index, &hash, point.seed).map(|report| (point, report)));
        }
        Ok(out)
    }

    /// A finished run, if it is one of this scenario, seed and build; what was run of another is run again.
    pub(crate) fn finished(&self, index: usize, scenario: &str, seed: u64) -> Option<Report> {
        let report: Report = serde_json::from_slice(&fs::read(self.path(index)).ok()?).ok()?;
        let p = &report.provenance;
        (p.scenario == scenario && p.seed == seed && p.version == BUILD).then_some(report)
    }
}
