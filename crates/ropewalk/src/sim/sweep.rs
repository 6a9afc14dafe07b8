//! `ropewalk sim sweep`: every run of a plan, on all cores.
//!
//! Tables, charts and the judgement are made of the files of finished runs, in the order of the plan, so that results do not depend on who
//! was faster.

use super::driver::{Driver, Simulator};
use super::format::Format;
use super::store::Store;
use super::workers::{self, WorkerPool};
use super::{Sweep, figure, interrupt, once, output, stale};
use crate::exit::{Code, failure};
use crate::reproduce::origin::BUILD;
use anyhow::Result;
use ropewalk_scenario::file::Seeds;
use ropewalk_scenario::over_seeds;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::sweep::{Labels, Plan, Point};
use ropewalk_scenario::verdict::{self, Verdict};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Runs a sweep, or what is left of it.
pub(super) fn run(args: &Sweep) -> Result<()> {
    let document = args.which.document()?;
    let plan = Plan::of(&document)?;
    first_seed(args.which.seed, &plan.base.sweep.seeds)?;
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
    let pool = WorkerPool::new((&document, &plan), &store, &Simulator, &interrupted)?;
    let bar = workers::bar(pool.missing());
    let worked = pool.work(args.jobs.map_or_else(|| Simulator.jobs(), usize::from), &bar);
    bar.finish_and_clear();
    worked?;
    conclude(&plan, (&directory, args.format), pool.finished()?, interrupted.load(Ordering::Relaxed))
}

/// Refuses a first seed where each is listed: it would change nothing.
fn first_seed(first: Option<u64>, seeds: &Seeds) -> Result<()> {
    match (first, seeds) {
        (Some(seed), Seeds::List(_)) => {
            let sentence = format!(
                "--seed {seed} would change nothing, as `sweep.seeds` lists the seeds; write --set 'sweep.seeds=[{seed}]' instead, \
                 or add --set sweep.seeds=5 for five from {seed} on"
            );
            Err(failure(Code::Usage, sentence))
        }
        _ => Ok(()),
    }
}

/// `NAME-sweep` in the current directory, for `DIR/NAME.toml`.
fn beside(file: &Path) -> PathBuf {
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    PathBuf::from(format!("{stem}-sweep"))
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
    over_seeds: Vec<OverSeeds>,
    /// Its tables and charts.
    files: Vec<String>,
}

/// What came of the expectations over the seeds of a point.
#[derive(Serialize)]
struct OverSeeds {
    point: Labels,
    holds: bool,
    verdict: String,
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
fn conclude(
    plan: &Plan,
    (directory, format): (&Path, Format),
    finished: Vec<(&Point, Report)>,
    interrupted: bool,
) -> Result<()> {
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
    let over_seeds = judge_seeds(plan, &finished);
    let (runs, done) = (plan.points.len(), finished.len());
    let numbers: Vec<usize> = finished.iter().map(|(point, _)| point.index).collect();
    let reports: Vec<Report> = finished.into_iter().map(|(_, report)| report).collect();
    let file = reports.first().map_or("", |r| r.provenance.file.as_str());
    let axes = plan.scales.iter().map(|s| s.name.as_str()).collect();
    let told = |v: &Verdict, point: &Labels| OverSeeds {
        point: point.clone(),
        holds: v.holds,
        verdict: v.to_string(),
    };
    let over = over_seeds.iter().map(|(point, v)| told(v, point)).collect();
    let title = &plan.base.title;
    let version = BUILD;
    let mut files = format.write(directory, &reports, &numbers)?;
    files.extend(figure::write_of_sweep(directory, plan, &reports)?);
    stale::remove(directory, &files)?;
    let summary =
        Summary { title, file, version, axes, runs, finished: done, unexpected, over_seeds: over, files };
    output::write_json(&directory.join(stale::SUMMARY), &summary)?;
    if interrupted && done < runs {
        let sentence = format!(
            "interrupted: {done} of {runs} runs are finished and in {}; --resume runs the rest",
            directory.display()
        );
        return Err(failure(Code::Interrupted, sentence));
    }
    if done < runs {
        let sentence = format!(
            "{} of {runs} runs are not in {}: their files are gone, or a trace has changed since they began; --resume makes them",
            runs - done,
            directory.display()
        );
        return Err(failure(Code::Failure, sentence));
    }
    println!("{runs} runs: tables and charts are in {}", directory.display());
    for (point, verdict) in &over_seeds {
        println!(
            "{verdict}{}",
            if point.is_empty() { String::new() } else { format!(" ({})", listed(point)) }
        );
    }
    let placed = |(point, v): (Labels, Verdict)| {
        let place = if point.is_empty() { String::new() } else { format!("{}: ", listed(&point)) };
        Verdict { metric: format!("{place}{}", v.metric), ..v }
    };
    failed.extend(over_seeds.into_iter().filter(|(_, v)| !v.holds).map(placed));
    once::complain(&failed, "")
}

/// Judges the seeds of each point together; a point that is not finished is not judged.
fn judge_seeds(plan: &Plan, finished: &[(&Point, Report)]) -> Vec<(Labels, Verdict)> {
    let mut all = Vec::new();
    for group in plan.points.chunk_by(|a, b| a.labels == b.labels) {
        let labels = &group[0].labels;
        let reports: Vec<&Report> =
            finished.iter().filter(|(p, _)| p.labels == *labels).map(|(_, r)| r).collect();
        if reports.len() == group.len() {
            let verdicts = over_seeds::judge_seeds(&plan.base.expect, &reports);
            all.extend(verdicts.into_iter().map(|verdict| (labels.clone(), verdict)));
        }
    }
    all
}

/// What sets a run apart, as the beginning of a line.
fn place(point: &Point) -> String {
    let labels = if point.labels.is_empty() { String::new() } else { listed(&point.labels) + ", " };
    format!("{labels}seed {}: ", point.seed)
}

fn listed(labels: &Labels) -> String {
    labels.iter().map(|(axis, label)| format!("{axis} = {label}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::kind_of;

    #[test]
    fn a_first_seed_of_seeds_that_are_listed_is_refused() {
        let error = first_seed(Some(7), &Seeds::List(vec![1, 2])).unwrap_err();
        assert_eq!(kind_of(&error), Code::Usage);
        assert!(error.to_string().contains("--set 'sweep.seeds=[7]'"), "{error}");
        assert!(first_seed(Some(7), &Seeds::Count(2)).is_ok());
        assert!(first_seed(None, &Seeds::List(vec![1, 2])).is_ok());
    }
}
