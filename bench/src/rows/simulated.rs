//! A scenario with a sweep, run by `ropewalk sim run`: the binary that is measured simulates its
//! own engine. The figures are the same on every machine. `ropewalk lab run` has the same report.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::{Metric, Report};
use ropewalk_scenario::sweep::{Plan as Points, Point};

use crate::bench::Bench;

pub(super) struct Simulated {
    file: PathBuf,
    points: Points,
    metric: Metric,
}

impl Simulated {
    /// The scenario `file`, below `scenarios/`, and the figure of its report that is looked at.
    pub(super) fn read(file: &str, metric: &str) -> Result<Simulated> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(file);
        let document = Document::read(&file).map_err(|problems| anyhow!("{problems}"))?;
        let points = Points::of(&document).map_err(|problems| anyhow!("{problems}"))?;
        let metric = metric.parse().map_err(|e| anyhow!("{e}"))?;
        Ok(Simulated { file, points, metric })
    }

    /// Whether there is a point with these labels.
    #[cfg(test)]
    pub(super) fn has(&self, labels: &[&str]) -> bool {
        let is = |p: &Point| labels.iter().all(|label| p.labels.iter().any(|(_, l)| l == label));
        self.points.points.iter().any(is)
    }

    /// The figure at the point that has these labels.
    pub(super) fn value(&self, bench: &Bench, labels: &[&str], seed: u64) -> Result<f64> {
        self.value_by(bench, "sim", labels, seed, &[])
    }

    /// The same by `ropewalk sim run` or `ropewalk lab run`, with settings after those of the point.
    pub(super) fn value_by(
        &self,
        bench: &Bench,
        driver: &str,
        labels: &[&str],
        seed: u64,
        settings: &[&str],
    ) -> Result<f64> {
        let is = |p: &&Point| labels.iter().all(|label| p.labels.iter().any(|(_, l)| l == label));
        let point = self.points.points.iter().find(is).context("the scenario has no such point")?;
        let program = bench.programs.ropewalk.as_ref().context("there is no ropewalk binary")?;
        let mut command = Command::new(program);
        command.args([driver, "run", "--json", "--seed", &seed.to_string()]);
        let options = point.options().chain(settings.iter().map(|s| (*s).to_owned()));
        command.args(options.flat_map(|option| ["--set".to_owned(), option])).arg(&self.file);
        let said = command.output().context("cannot run ropewalk")?;
        ensure!(said.status.success(), "ropewalk {driver}: {}", String::from_utf8_lossy(&said.stderr).trim());
        let report: Report = serde_json::from_slice(&said.stdout)
            .with_context(|| format!("ropewalk {driver} printed no report"))?;
        self.metric.value(&report).context("the report lacks the figure")
    }
}
