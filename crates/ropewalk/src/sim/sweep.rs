//! `ropewalk sim sweep`: every run of a plan, on all cores.
//!
//! Workers take the next run from one counter; each finished run becomes a file at once. Tables, charts and the judgement are made of
//! these files at the end, in the order of the plan, so that results do not depend on who was faster.

use super::store::Store;
use super::{Sweep, figure, interrupt, once, output, runner};
use crate::exit::{Code, failure};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::sweep::{Labels, Plan, Point};
use ropewalk_scenario::verdict::{self, Verdict};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs a sweep, or what is left of it.
pub fn run(args: &Sweep) -> Result<()> {
    let document = args.which.document()?;
    let plan = Plan::of(&document)?;
    let directory = args.out.clone().unwrap_or_else(|| beside(&args.which.file));
    output::prepare(&directory)?;
    let store = Store::open(&directory)?;
    if !args.resume && !store.is_empty() {
        let sentence = format!(
            "{} has runs already; add --resume to keep those that still fit, or choose another directory with --out",
            directory.display()
        );
        return Err(failure(Code::Taken, sentence));
    }
    let interrupted = interrupt::watch()?;
    let crew = Crew::new(&document, &plan, &store, &interrupted)?;
    crew.work(args.jobs.map_or_else(cores, usize::from))?;
    conclude(&plan, &directory, crew.finished()?, interrupted.load(Ordering::Relaxed))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `NAME-sweep` in the current directory, for `DIR/NAME.toml`.
fn beside(file: &Path) -> PathBuf {
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    PathBuf::from(format!("{stem}-sweep"))
}

/// Who works on a sweep.
struct Crew<'a> {
    document: &'a Document,
    plan: &'a Plan,
    store: &'a Store,
    interrupted: &'a AtomicBool,
    /// Runs that are not there yet.
    missing: Vec<&'a Point>,
    /// The next of them.
    next: AtomicUsize,
    /// What went wrong first; it ends the sweep.
    failure: Mutex<Option<anyhow::Error>>,
    bar: ProgressBar,
}

impl<'a> Crew<'a> {
    fn new(
        document: &'a Document,
        plan: &'a Plan,
        store: &'a Store,
        interrupted: &'a AtomicBool,
    ) -> Result<Crew<'a>> {
        let mut missing = Vec::new();
        for point in &plan.points {
            if store.finished(point.index, &plan.scenario(point)?.hash(), point.seed).is_none() {
                missing.push(point);
            }
        }
        let bar = ProgressBar::new(plan.points.len() as u64)
            .with_position((plan.points.len() - missing.len()) as u64);
        let style =
            ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {elapsed} so far, {eta} to go");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        Ok(Crew { document, plan, store, interrupted, missing, next, failure, bar })
    }

    /// Runs what is missing, `jobs` at a time.
    fn work(&self, jobs: usize) -> Result<()> {
        std::thread::scope(|scope| {
            for _ in 0..jobs.min(self.missing.len()) {
                scope.spawn(|| self.worker());
            }
        });
        self.bar.finish_and_clear();
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    fn worker(&self) {
        while !self.interrupted.load(Ordering::Relaxed) {
            let Some(point) = self.missing.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            if let Err(error) = self.one(point) {
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
                // The others need not begin anything.
                self.next.store(self.missing.len(), Ordering::Relaxed);
                return;
            }
        }
    }

    fn one(&self, point: &Point) -> Result<()> {
        let scenario = self.plan.scenario(point)?;
        let mut simulation = runner::build(self.document, &scenario)?;
        let report = runner::finish(&mut simulation, self.document, self.interrupted, |_| ());
        if let Some(mut report) = report {
            report.provenance.point = point.labels.clone();
            self.store.keep(point.index, &report)?;
            self.bar.inc(1);
        }
        Ok(())
    }

    /// The finished runs, in the order of the plan.
    fn finished(&self) -> Result<Vec<(&'a Point, Report)>> {
        let mut out = Vec::new();
        for point in &self.plan.points {
            let hash = self.plan.scenario(point)?.hash();
            out.extend(self.store.finished(point.index, &hash, point.seed).map(|report| (point, report)));
        }
        Ok(out)
    }
}

/// What a sweep says of itself, in `sweep.json`.
#[derive(Serialize)]
struct Summary<'a> {
    title: &'a str,
    file: &'a str,
    version: &'a str,
    axes: Vec<&'a str>,
    runs: usize,
    finished: usize,
    unexpected: Vec<Unexpected>,
}

/// A run whose figures are not as expected.
#[derive(Serialize)]
struct Unexpected {
    run: usize,
    point: Labels,
    seed: u64,
    verdicts: Vec<String>,
}

/// Writes tables, charts and the summary of what is finished, and judges it.
fn conclude(plan: &Plan, directory: &Path, finished: Vec<(&Point, Report)>, interrupted: bool) -> Result<()> {
    let mut failed: Vec<Verdict> = Vec::new();
    let mut unexpected = Vec::new();
    for (point, report) in &finished {
        let place = place(point);
        let bad =
            verdict::judge(&plan.base.expect, report).into_iter().filter(|v| !v.holds).collect::<Vec<_>>();
        if !bad.is_empty() {
            let verdicts = bad.iter().map(Verdict::to_string).collect();
            unexpected.push(Unexpected {
                run: point.index,
                point: point.labels.clone(),
                seed: point.seed,
                verdicts,
            });
        }
        failed.extend(bad.into_iter().map(|v| Verdict { metric: format!("{place}{}", v.metric), ..v }));
    }
    let (runs, done) = (plan.points.len(), finished.len());
    let reports: Vec<Report> = finished.into_iter().map(|(_, report)| report).collect();
    let file = reports.first().map_or("", |r| r.provenance.file.as_str());
    let axes = plan.scales.iter().map(|s| s.name.as_str()).collect();
    let version = env!("CARGO_PKG_VERSION");
    let summary = Summary { title: &plan.base.title, file, version, axes, runs, finished: done, unexpected };
    output::write_json(&directory.join("sweep.json"), &summary)?;
    output::write_tables(directory, &reports)?;
    figure::write_of_sweep(directory, plan, &reports)?;
    if interrupted && done < runs {
        let sentence = format!(
            "interrupted: {done} of {runs} runs are finished and in {}; --resume runs the rest",
            directory.display()
        );
        return Err(failure(Code::Interrupted, sentence));
    }
    println!("{runs} runs: tables and charts are in {}", directory.display());
    once::complain(&failed, "")
}

/// What sets a run apart, as the beginning of a line.
fn place(point: &Point) -> String {
    let mut out: String = point.labels.iter().map(|(axis, label)| format!("{axis} = {label}, ")).collect();
    out.push_str(&format!("seed {}: ", point.seed));
    out
}
