//! Those who make the runs of a plan. They take the next run from one counter; each finished run becomes a file at once.

use super::driver::Driver;
use super::identity::Identity;
use super::store::Store;
use crate::exit::{Code, kind_of};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::sweep::{Plan, Point};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Who works on the runs of a plan.
pub(crate) struct WorkerPool<'a> {
    document: &'a Document,
    plan: &'a Plan,
    store: &'a Store,
    driver: &'a dyn Driver,
    interrupted: &'a AtomicBool,
    /// Runs that are not there yet.
    missing: Vec<&'a Point>,
    /// The next of them.
    next: AtomicUsize,
    /// What went wrong first; it ends the work.
    failure: Mutex<Option<anyhow::Error>>,
    /// Runs whose figures may not be used, and why. The others go on.
    unusable: Mutex<Vec<String>>,
}

/// A bar of runs; nothing is drawn where nobody looks.
pub(crate) fn bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {elapsed} so far, {eta} to go");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

impl<'a> WorkerPool<'a> {
    /// Looks what of a plan is missing in the store.
    pub(crate) fn new(
        (document, plan): (&'a Document, &'a Plan),
        store: &'a Store,
        driver: &'a dyn Driver,
        interrupted: &'a AtomicBool,
    ) -> Result<WorkerPool<'a>> {
        let (mut missing, mut identity) = (Vec::new(), Identity::new(document));
        for point in &plan.points {
            let identity = identity.of(&plan.scenario(point)?);
            if store.finished(point.index, &identity, point.seed).is_none() {
                missing.push((point.index, identity, point.seed));
            }
        }
        if !missing.is_empty() {
            store.renumber(plan, &missing)?;
            missing.retain(|(index, identity, seed)| store.finished(*index, identity, *seed).is_none());
        }
        let missing: Vec<&Point> = missing.iter().map(|(index, ..)| &plan.points[*index]).collect();
        let (next, failure, unusable) = (AtomicUsize::new(0), Mutex::new(None), Mutex::default());
        Ok(WorkerPool { document, plan, store, driver, interrupted, missing, next, failure, unusable })
    }

    /// How many runs are missing.
    pub(crate) fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Makes the runs that are missing, `jobs` at a time.
    pub(crate) fn work(&self, jobs: usize, bar: &ProgressBar) -> Result<()> {
        std::thread::scope(|scope| {
            for _ in 0..jobs.min(self.missing.len()) {
                scope.spawn(|| self.worker(bar));
            }
        });
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    fn worker(&self, bar: &ProgressBar) {
        while !self.interrupted.load(Ordering::Relaxed) {
            let Some(point) = self.missing.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            if let Err(error) = self.one(point, bar) {
                if kind_of(&error) == Code::Invalid {
                    let place: Vec<String> =
                        point.labels.iter().map(|(axis, label)| format!("{axis} = {label}")).collect();
                    let mut unusable = self.unusable.lock().unwrap_or_else(PoisonError::into_inner);
                    unusable.push(format!("{}, seed {}: {error}", place.join(", "), point.seed));
                    bar.inc(1);
                    continue;
                }
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
                // The others need not begin anything.
                self.next.store(self.missing.len(), Ordering::Relaxed);
                return;
            }
        }
    }

    fn one(&self, point: &Point, bar: &ProgressBar) -> Result<()> {
        let scenario = self.plan.scenario(point)?;
        // Before the run: of a trace that changes meanwhile it may be either.
        let identity = Identity::new(self.document).of(&scenario);
        if let Some(mut report) = self.driver.run(self.document, &scenario, self.interrupted)? {
            report.provenance.point = point.labels.clone();
            self.store.keep(point.index, &identity, &report)?;
            bar.inc(1);
        }
        Ok(())
    }

    /// What may not be used of what was run.
    pub(crate) fn unusable(&self) -> Vec<String> {
        self.unusable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The finished runs, in the order of the plan.
    pub(crate) fn finished(&self) -> Result<Vec<(&'a Point, Report)>> {
        self.store.of(self.document, self.plan)
    }
}
