//! Where a sweep keeps its finished runs: a file for each, so that an interrupted sweep has lost nothing but what was running.

use super::output;
use crate::exit::{Code, failure};
use crate::reproduce::origin::BUILD;
use anyhow::Result;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::sweep::{Plan, Point};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The runs' directory.
#[derive(Debug)]
pub(crate) struct Store {
    runs: PathBuf,
    /// Locked for as long as runs may be kept here.
    _lock: Option<File>,
}

impl Store {
    /// Below a sweep's directory, for this process alone.
    pub(crate) fn open(directory: &Path) -> Result<Store> {
        let runs = directory.join("runs");
        output::prepare(&runs)?;
        let lock = lock(&runs, directory)?;
        Ok(Store { runs, _lock: lock })
    }

    /// To read what is there, whoever writes beside that.
    pub(crate) fn look(directory: &Path) -> Store {
        Store { runs: directory.join("runs"), _lock: None }
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

    /// A finished run, if it is one of this scenario, seed and build; what was run of another is
    /// run again.
    pub(crate) fn finished(&self, index: usize, scenario: &str, seed: u64) -> Option<Report> {
        let report: Report = serde_json::from_slice(&fs::read(self.path(index)).ok()?).ok()?;
        let p = &report.provenance;
        (p.scenario == scenario && p.seed == seed && p.version == BUILD).then_some(report)
    }
}

/// Locks the runs' directory (flock(2)); a lock leaves nothing behind and ends with its process.
fn lock(runs: &Path, directory: &Path) -> Result<Option<File>> {
    let Ok(opened) = File::open(runs) else { return Ok(None) };
    match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(opened)),
        Err(Errno::WOULDBLOCK) => {
            let sentence = format!(
                "somebody else makes runs in {}; wait until that ends, or choose another directory",
                directory.display()
            );
            Err(failure(Code::Taken, sentence))
        }
        // Some file systems of a network lock no directories.
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::kind_of;

    /// A directory that goes away.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Scratch {
            let name = format!("ropewalk-store-{test}-{}", std::process::id());
            Scratch(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn one_sweep_at_a_time_makes_runs_in_a_directory() {
        let scratch = Scratch::new("lock");
        let first = Store::open(&scratch.0).unwrap();
        let error = Store::open(&scratch.0).unwrap_err();
        assert_eq!(kind_of(&error), Code::Taken);
        assert!(error.to_string().starts_with("somebody else makes runs in "), "{error}");
        assert!(
            Store::look(&scratch.0).is_empty(),
            "who reads is not kept out, and there is no file of a lock"
        );
        drop(first);
        Store::open(&scratch.0).unwrap();
    }
}
