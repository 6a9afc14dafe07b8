//! Where a sweep keeps its finished runs: a file for each, so that an interrupted sweep has lost nothing but what was running.

use super::identity::Identity;
use super::output;
use crate::exit::{Code, failure};
use crate::reproduce::origin::BUILD;
use anyhow::Result;
use ropewalk_scenario::Document;
use ropewalk_scenario::report::{Provenance, Report};
use ropewalk_scenario::sweep::{Plan, Point};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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

    /// Keeps a finished run under its identity.
    pub(crate) fn keep(&self, index: usize, identity: &str, report: &Report) -> Result<()> {
        let identity = (identity != report.provenance.scenario).then_some(identity);
        output::write_json(&self.path(index), &Kept { identity, report })
    }

    /// The finished runs of a plan, in its order. What the plan calls them counts, not what they
    /// were called when they were made: another name makes no run anew.
    pub(crate) fn of<'a>(&self, document: &Document, plan: &'a Plan) -> Result<Vec<(&'a Point, Report)>> {
        let (mut out, mut identity) = (Vec::new(), Identity::new(document));
        for point in &plan.points {
            let scenario = plan.scenario(point)?;
            let found = self.finished(point.index, &identity.of(&scenario), point.seed);
            let Some(mut report) = found else { continue };
            report.provenance.point = point.labels.clone();
            report.provenance.title = scenario.title;
            out.push((point, report));
        }
        Ok(out)
    }

    /// A finished run, if it is one of this identity, seed and build; what was run of another is
    /// run again.
    pub(crate) fn finished(&self, index: usize, identity: &str, seed: u64) -> Option<Report> {
        let bytes = fs::read(self.path(index)).ok()?;
        let head = Head::of(&bytes)?;
        let is_it = (head.identity(), head.provenance.seed) == (identity, seed) && head.is_of_this_build();
        if is_it { serde_json::from_slice(&bytes).ok() } else { None }
    }

    /// Gives finished runs the numbers that they have in this plan: with more seeds or values most
    /// have another. `missing` has number, identity and seed of each that is not in its place.
    pub(crate) fn renumber(&self, plan: &Plan, missing: &[(usize, String, u64)]) -> Result<()> {
        let wanted: BTreeMap<(&str, u64), usize> =
            missing.iter().map(|(number, identity, seed)| ((identity.as_str(), *seed), *number)).collect();
        let lacking: BTreeSet<usize> = missing.iter().map(|(number, ..)| *number).collect();
        let is_in_place = |path: &Path| {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            stem.parse::<usize>().is_ok_and(|n| n < plan.points.len() && !lacking.contains(&n))
        };
        let mut moves: BTreeMap<usize, (PathBuf, PathBuf)> = BTreeMap::new();
        for path in fs::read_dir(&self.runs).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_run = path.extension().is_some_and(|end| end == "json") && !is_in_place(&path);
            let bytes = if is_run { fs::read(&path).unwrap_or_default() } else { continue };
            let Some(head) = Head::of(&bytes).filter(Head::is_of_this_build) else { continue };
            let (identity, seed) = (head.identity(), head.provenance.seed);
            if let Some(number) = wanted.get(&(identity, seed)) {
                let aside = self.runs.join(format!("moved-{identity}-{seed}.json"));
                moves.insert(*number, (path, aside));
            }
        }
        // All are put aside first, as another may be where one goes. A kill in between loses none:
        // what is aside is found like the rest.
        for (from, aside) in moves.values() {
            output::rename(from, aside)?;
        }
        for (number, (_, aside)) in &moves {
            output::rename(aside, &self.path(*number))?;
        }
        Ok(())
    }
}

/// What a kept run is in its file: a report that any reader of reports takes, and the identity where
/// that is not the scenario's hash.
#[derive(Serialize)]
struct Kept<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<&'a str>,
    #[serde(flatten)]
    report: &'a Report,
}

/// By what a kept run is found; the rest of its file is skipped.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    identity: Option<String>,
    provenance: Provenance,
}

impl Head {
    /// None if the file is not whole.
    fn of(bytes: &[u8]) -> Option<Head> {
        serde_json::from_slice(bytes).ok()
    }

    fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.provenance.scenario)
    }

    fn is_of_this_build(&self) -> bool {
        self.provenance.version == BUILD
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
    use crate::sim::driver::Simulator;
    use crate::sim::workers::WorkerPool;
    use indicatif::ProgressBar;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

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
        // A child that another test starts has all files, and the lock, until it is its program.
        let opens = || Store::open(&scratch.0).is_ok();
        assert!((0..1000).any(|_| opens() || {
            std::thread::sleep(Duration::from_millis(1));
            false
        }));
    }

    /// A sweep over the rate of a cable, with these names of its axis and values.
    fn document(axis: &str, values: &str) -> Document {
        let text = format!(
            "title = \"{axis}\"\nduration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\n\
             ends = [\"a:x\", \"b:x\"]\n[[sweep.axis]]\nname = \"{axis}\"\nkey = \"link.wan.rate\"\n\
             values = {values}\n"
        );
        Document::parse("s.toml", &text).unwrap()
    }

    /// Keeps what a run of a point leaves, but for its figures.
    fn keep(store: &Store, plan: &Plan, point: &Point) {
        let scenario = plan.scenario(point).unwrap();
        let provenance = Provenance {
            title: scenario.title.clone(),
            scenario: scenario.hash(),
            seed: point.seed,
            point: point.labels.clone(),
            version: BUILD.to_owned(),
            ..Provenance::default()
        };
        let report = Report { provenance, ..Report::default() };
        store.keep(point.index, &scenario.hash(), &report).unwrap();
    }

    #[test]
    fn a_run_is_known_by_its_trace_and_its_report_names_the_scenario() {
        let scratch = Scratch::new("trace");
        let store = Store::open(&scratch.0).unwrap();
        let text = "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\ntrace = \"wan.trace\"\n";
        fs::write(scratch.0.join("wan.trace"), "1\n2\n").unwrap();
        let document = Document::parse(&scratch.0.join("s.toml").display().to_string(), text).unwrap();
        let plan = Plan::of(&document).unwrap();
        let asked = AtomicBool::new(false);
        let pool = || WorkerPool::new((&document, &plan), &store, &Simulator, &asked).unwrap();
        pool().work(1, &ProgressBar::hidden()).unwrap();
        assert_eq!(pool().missing(), 0);
        // As `ropewalk compare` reads it.
        let kept: Report = serde_json::from_slice(&fs::read(store.path(0)).unwrap()).unwrap();
        let hash = plan.scenario(&plan.points[0]).unwrap().hash();
        assert_eq!(kept.provenance.scenario, hash);
        let found = store.of(&document, &plan).unwrap();
        assert_eq!(found[0].1.provenance.scenario, hash);
        fs::write(scratch.0.join("wan.trace"), "1\n3\n").unwrap();
        assert_eq!((pool().missing(), store.of(&document, &plan).unwrap().len()), (1, 0));
    }

    #[test]
    fn a_kept_run_is_called_as_the_plan_calls_it() {
        let (scratch, values) = (Scratch::new("names"), "[\"1Mbit/s\", \"2Mbit/s\"]");
        let store = Store::open(&scratch.0).unwrap();
        let before = Plan::of(&document("rate", values)).unwrap();
        for point in &before.points {
            keep(&store, &before, point);
        }
        let renamed = document("speed", values);
        let after = Plan::of(&renamed).unwrap();
        let found = store.of(&renamed, &after).unwrap();
        assert_eq!(found.len(), 2, "another name makes no run anew");
        let place = &found[1].1.provenance;
        assert_eq!(place.point, [("speed".to_owned(), "2Mbit/s".to_owned())]);
        assert_eq!(place.title, "speed");
    }

    #[test]
    fn what_is_finished_counts_where_more_values_and_seeds_give_it_another_number() {
        let scratch = Scratch::new("more");
        let store = Store::open(&scratch.0).unwrap();
        let few = Plan::of(&document("rate", "[\"1Mbit/s\", \"2Mbit/s\"]")).unwrap();
        for point in &few.points {
            keep(&store, &few, point);
        }
        // As a kill between two moves leaves it.
        fs::rename(store.path(1), scratch.0.join("runs/moved-x-1.json")).unwrap();
        fs::write(store.path(5), "{ half a").unwrap();
        let mut more = document("rate", "[\"3Mbit/s\", \"1Mbit/s\", \"2Mbit/s\"]");
        more.set_text("sweep.seeds=2").unwrap();
        let plan = Plan::of(&more).unwrap();
        let asked = AtomicBool::new(false);
        let missing = || {
            WorkerPool::new((&more, &plan), &store, &Simulator, &asked).map(|pool| pool.missing()).unwrap()
        };
        assert_eq!((plan.points.len(), missing()), (6, 4));
        let found = store.of(&more, &plan).unwrap();
        let numbers: Vec<usize> = found.iter().map(|(point, _)| point.index).collect();
        assert_eq!(numbers, [2, 4], "1 and 2 Mbit/s with the first seed");
        assert_eq!(missing(), 4, "and they stay there");
    }
}
