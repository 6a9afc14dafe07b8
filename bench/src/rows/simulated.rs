//! A scenario with a sweep, run by `ropewalk sim run`: the binary that is measured simulates its
//! own engine. The figures are the same on every machine. `ropewalk lab run` has the same report.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use anyhow::{Context, Result, anyhow, ensure};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::{Metric, Report};
use ropewalk_scenario::sweep::{Plan as Points, Point};

use crate::bench::Bench;
use crate::sample::Sample;

pub(super) struct Simulated {
    file: PathBuf,
    points: Points,
}

impl Simulated {
    /// The scenario `file`, below `scenarios/`.
    pub(super) fn read(file: &str) -> Result<Simulated> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(file);
        let document = Document::read(&file).map_err(|problems| anyhow!("{problems}"))?;
        let points = Points::of(&document).map_err(|problems| anyhow!("{problems}"))?;
        Ok(Simulated { file, points })
    }

    /// Whether there is a point with these labels.
    #[cfg(test)]
    pub(super) fn has(&self, labels: &[&str]) -> bool {
        let is = |p: &Point| labels.iter().all(|label| p.labels.iter().any(|(_, l)| l == label));
        self.points.points.iter().any(is)
    }

    /// A figure of the report at the point that has these labels.
    pub(super) fn value(&self, bench: &Bench, labels: &[&str], seed: u64, metric: &str) -> Result<f64> {
        figure(&self.report(bench, labels, seed)?, metric)
    }

    /// The report at the point that has these labels.
    pub(super) fn report(&self, bench: &Bench, labels: &[&str], seed: u64) -> Result<Report> {
        self.report_by(bench, "sim", labels, seed, &[])
    }

    /// The same by `ropewalk sim run` or `ropewalk lab run`, with settings after those of the
    /// point.
    pub(super) fn report_by(
        &self,
        bench: &Bench,
        driver: &str,
        labels: &[&str],
        seed: u64,
        settings: &[&str],
    ) -> Result<Report> {
        let is = |p: &&Point| labels.iter().all(|label| p.labels.iter().any(|(_, l)| l == label));
        let point = self.points.points.iter().find(is).context("the scenario has no such point")?;
        let program = bench.programs.ropewalk.as_ref().context("there is no ropewalk binary")?;
        let mut command = Command::new(program);
        command.args([driver, "run", "--json", "--seed", &seed.to_string()]);
        let options = point.options().chain(settings.iter().map(|s| (*s).to_owned()));
        command.args(options.flat_map(|option| ["--set".to_owned(), option])).arg(&self.file);
        let said = command.output().context("cannot run ropewalk")?;
        ensure!(said.status.success(), "ropewalk {driver}: {}", String::from_utf8_lossy(&said.stderr).trim());
        serde_json::from_slice(&said.stdout).with_context(|| format!("ropewalk {driver} printed no report"))
    }
}

/// A figure of a report, as expectations name it.
pub(super) fn figure(report: &Report, metric: &str) -> Result<f64> {
    let metric: Metric = metric.parse().map_err(|e| anyhow!("{e}"))?;
    metric.value(report).with_context(|| format!("the report lacks {metric}"))
}

/// What is made of a run, or why there is nothing.
pub(super) fn sample(report: &Result<Report>, of: impl Fn(&Report) -> Result<f64>) -> Sample {
    match report.as_ref().map(of) {
        Ok(Ok(value)) => Sample::of(value),
        Ok(Err(error)) => Sample::none(format!("{error:#}")),
        Err(error) => Sample::none(format!("{error:#}")),
    }
}

/// What `run` gives for each number below `count`, in their order, worked out on all processors.
pub(super) fn side_by_side<T: Send>(count: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let one_by_one = || {
        let numbers =
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count));
        numbers.map(|n| (n, run(n))).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get).min(count);
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(one_by_one)).collect();
        let join = |w: ScopedJoinHandle<'_, Vec<(usize, T)>>| {
            w.join().unwrap_or_else(|p| std::panic::resume_unwind(p))
        };
        workers.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_by_side_keeps_the_order() {
        assert_eq!(side_by_side(100, |n| n * n), (0..100).map(|n| n * n).collect::<Vec<_>>());
        assert!(side_by_side(0, |n| n).is_empty());
    }
}
