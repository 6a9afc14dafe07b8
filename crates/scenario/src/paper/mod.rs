//! A paper: what it reported, which scenarios show the same here, and how the two are held against each other.
//!
//! A directory per paper holds `paper.toml` and the scenarios it names. [`Paper::read`] finds everything that is wrong before anything runs;
//! a driver makes the runs; [`file::Claim::outcome`] judges each claim by the [`formula`] that stands beside it.

mod check;
pub mod file;
pub mod formula;
mod outcome;

pub use file::File;
pub use outcome::{Band, Outcome, Reported};

use crate::document::{Document, locate};
use crate::field::{Field, Form, Reader};
use crate::problem::{Problem, Problems};
use crate::report::{Metric, Report};
use crate::sweep::{Plan, label_of};
use crate::tree::{self, Node, Origin};
use formula::{FormulaError, Value};
use std::path::Path;

/// The driver whose runs are set as [`File::lab`] says.
pub const LAB: &str = "lab";

/// What a paper's file is called.
pub const FILE_NAME: &str = "paper.toml";

/// A paper, checked.
#[derive(Debug)]
pub struct Paper {
    /// What its file says.
    pub file: File,
    /// Its scenarios, in the order of [`File::run`].
    pub runs: Vec<PaperRun>,
    /// The same as the lab runs them.
    pub live: Vec<PaperRun>,
}

/// A scenario of a paper.
#[derive(Debug)]
pub struct PaperRun {
    /// Its name.
    pub name: String,
    /// Its file with what `--quick` sets.
    pub document: Document,
    /// Its sweep.
    pub plan: Plan,
}

/// What a paper's file can say.
pub fn form() -> Form {
    File::form()
}

impl Paper {
    /// Reads a paper's directory; `quick` shortens its runs as its file says.
    ///
    /// # Errors
    /// All that is wrong with its file, or all that is wrong with its scenarios.
    pub fn read(directory: &Path, quick: bool) -> Result<Paper, Problems> {
        let path = directory.join(FILE_NAME);
        let name = path.display().to_string();
        let problems = |list| Problems { file: name.clone(), list };
        let whole = |sentence: String| {
            problems(vec![Problem { origin: Origin::Line(0), key: String::new(), sentence }])
        };
        let text =
            std::fs::read_to_string(&path).map_err(|e| whole(format!("the file cannot be read: {e}")))?;
        let (root, file) = parse(&text).map_err(problems)?;
        let cut: &[String] = if quick { &file.quick } else { &[] };
        let runs_with = |settings: &[&[String]]| {
            let read = |run: &file::Run| PaperRun::read(directory, run, settings);
            file.run.iter().map(read).collect::<Result<Vec<_>, _>>()
        };
        let (runs, live) = (runs_with(&[cut])?, runs_with(&[&file.lab, cut])?);
        let paper = Paper { file, runs, live };
        let place =
            |(key, sentence): (String, String)| Problem { origin: locate(&root, &key), key, sentence };
        let found: Vec<Problem> = check::check(&paper).into_iter().map(place).collect();
        if found.is_empty() { Ok(paper) } else { Err(problems(found)) }
    }

    /// The scenarios as `driver` runs them.
    pub fn runs_of(&self, driver: &str) -> &[PaperRun] {
        if driver == LAB { &self.live } else { &self.runs }
    }

    /// The values of a series under `driver`; `reports` gives what is finished of a run.
    ///
    /// # Errors
    /// There is no such series, or not all its runs are finished.
    pub fn series(
        &self,
        name: &str,
        driver: &str,
        reports: &dyn Fn(&str) -> Vec<Report>,
    ) -> Result<Value, FormulaError> {
        let not_run = || FormulaError::NotRun(name.to_owned());
        let Some(series) = self.file.series.iter().find(|s| s.name == name) else {
            let remedy = crate::problem::remedy(name, self.file.series.iter().map(|s| s.name.as_str()));
            return Err(FormulaError::Wrong(format!("there is no series `{name}`; {remedy}")));
        };
        let metric: Metric = series.metric.parse().map_err(|_| not_run())?;
        let run = self.runs_of(driver).iter().find(|r| r.name == series.run);
        let plan = &run.ok_or_else(not_run)?.plan;
        let reports = reports(&series.run);
        let fixed: Vec<(&str, String)> = series.when.iter().map(|(a, l)| (a.as_str(), label_of(l))).collect();
        let at = |more: Option<(&str, &str)>| {
            let all = fixed.iter().map(|(a, l)| (*a, l.as_str())).chain(more).collect::<Vec<_>>();
            mean(&metric, &reports, &all, plan).ok_or_else(not_run)
        };
        let Some(over) = &series.over else { return Ok(Value::One(at(None)?)) };
        let scale = plan.scales.iter().find(|s| s.name == *over).ok_or_else(not_run)?;
        let each = |step: &(String, _)| Ok((step.0.clone(), at(Some((over.as_str(), step.0.as_str())))?));
        scale.steps.iter().map(each).collect::<Result<Vec<_>, FormulaError>>().map(Value::Many)
    }

    /// The labels of a formula's values; none if it is one number.
    pub fn labels(&self, text: &str) -> Vec<String> {
        match formula::evaluate(text, &|name| check::placeholder(self, name)) {
            Ok(Value::Many(many)) => many.into_iter().map(|m| m.0).collect(),
            _ => Vec::new(),
        }
    }

    /// The sweep of a run.
    pub fn plan(&self, run: &str) -> Option<&Plan> {
        self.runs.iter().find(|r| r.name == run).map(|r| &r.plan)
    }
}

impl PaperRun {
    fn read(directory: &Path, run: &file::Run, settings: &[&[String]]) -> Result<PaperRun, Problems> {
        let mut document = Document::read(&directory.join(&run.scenario))?;
        for setting in settings.iter().copied().flatten() {
            document.set_text(setting)?;
        }
        let plan = Plan::of(&document)?;
        Ok(PaperRun { name: run.name.clone(), document, plan })
    }
}

/// The mean over seeds at a place of a sweep; none unless all of them are there.
fn mean(metric: &Metric, reports: &[Report], place: &[(&str, &str)], plan: &Plan) -> Option<f64> {
    let is = |labels: &[(String, String)]| {
        place.iter().all(|(axis, label)| labels.iter().any(|(a, l)| a == axis && l == label))
    };
    let wanted = plan.points.iter().filter(|p| is(&p.labels)).count();
    let values: Vec<f64> =
        reports.iter().filter(|r| is(&r.provenance.point)).filter_map(|r| metric.value(r)).collect();
    (wanted > 0 && values.len() == wanted).then(|| values.iter().sum::<f64>() / wanted as f64)
}

fn parse(text: &str) -> Result<(Node, File), Vec<Problem>> {
    let table = tree::parse(text).map_err(|errors| {
        let problem = |e: tree::SyntaxError| Problem {
            origin: Origin::Line(e.line),
            key: String::new(),
            sentence: e.sentence,
        };
        errors.into_iter().map(problem).collect::<Vec<_>>()
    })?;
    let root = Node { value: tree::Value::Table(table), origin: Origin::Line(1) };
    let mut reader = Reader::default();
    let file = File::read(&root, &mut reader);
    match (file, reader.finish().0) {
        (Some(file), problems) if problems.is_empty() => Ok((root, file)),
        (_, problems) => Err(problems),
    }
}

#[cfg(test)]
mod tests;
