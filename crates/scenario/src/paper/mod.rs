//! A paper: what it reported, which scenarios show the same here, and how the two are held against each other.
//!
//! A directory per paper holds `paper.toml` and the scenarios it names. [`Paper::read`] finds everything that is wrong before anything runs;
//! a driver makes the runs; [`file::Claim::outcome`] judges each claim by the [`formula`] that stands beside it.

mod check;
pub mod class;
pub mod file;
pub mod formula;
mod outcome;

pub use file::File;
pub use outcome::{Band, Outcome, Reported};

use crate::document::{Document, locate};
use crate::field::{Field, Form, Reader};
use crate::problem::{Problem, Problems};
use crate::report::{Metric, Report};
use crate::sweep::{Only, Plan, label_of};
use crate::tree::{self, Node, Origin};
use formula::{FormulaError, Value};
use std::path::Path;

/// The driver whose runs are set as [`File::lab`] says.
pub const LAB: &str = "lab";
/// The lab in virtual time, whose runs are the lab's.
pub const VIRTUAL: &str = "virtual";

/// What a paper's file is called.
pub const FILE_NAME: &str = "paper.toml";

/// A paper, checked.
#[derive(Debug)]
pub struct Paper {
    /// What its file says.
    pub file: File,
    /// Its scenarios, in the order of [`File::run`].
    pub runs: Vec<PaperRun>,
    /// The same as the lab runs them; those that it does not are not there.
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
        let cut = |run: &file::Run| -> Vec<String> {
            file.quick.iter().chain(&run.quick).filter(|_| quick).cloned().collect()
        };
        let simulated = |run: &file::Run| PaperRun::read(directory, run, &cut(run), &[], &[]);
        let runs = file.run.iter().map(simulated).collect::<Result<Vec<_>, _>>()?;
        let live = file.run.iter().filter(|run| run.lab.skip.is_none()).map(|run| {
            let settings: Vec<String> = file.lab.iter().cloned().chain(cut(run)).collect();
            let only: Vec<_> = run.lab.only.iter().map(|(a, l)| (a.clone(), labels_of(l))).collect();
            PaperRun::read(directory, run, &settings, &only, &run.lab.set)
        });
        let live = live.collect::<Result<Vec<_>, _>>()?;
        let paper = Paper { file, runs, live };
        let place =
            |(key, sentence): (String, String)| Problem { origin: locate(&root, &key), key, sentence };
        let found: Vec<Problem> = check::check(&paper).into_iter().map(place).collect();
        if found.is_empty() { Ok(paper) } else { Err(problems(found)) }
    }

    /// The scenarios as `driver` runs them.
    pub fn runs_of(&self, driver: &str) -> &[PaperRun] {
        if [LAB, VIRTUAL].contains(&driver) { &self.live } else { &self.runs }
    }

    /// The values of a series under `driver`; `reports` gives what is finished of a run. Figures of
    /// a run whose air is slower (`medium.time-dilation`) are told as of an air that is not: rates
    /// as many times higher, times as many times shorter.
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
        let figure = Figure::of(&self.file, &series.metric).map_err(|_| not_run())?;
        let run = self.runs_of(driver).iter().find(|r| r.name == series.run);
        let plan = &run.ok_or_else(not_run)?.plan;
        let dilation = f64::from(plan.base.medium.time_dilation);
        let reports = reports(&series.run);
        let place: Place = series.when.iter().map(|(a, l)| (a.clone(), label_of(l))).collect();
        let labels = labels(plan, series.over.as_deref()).ok_or_else(not_run)?;
        let seed = series.seed.map(|seed| seed.to_string());
        let each = |label: &String| {
            let value = match series.over.as_deref() {
                Some(SEED) => mean(&reports, plan, &place, Some(label), |r| figure.value(r, dilation)),
                Some(TIME) => {
                    mean(&reports, plan, &place, seed.as_ref(), |r| figure.at_time(r, label, dilation))
                }
                over => {
                    let more = over.map(|axis| (axis.to_owned(), label.clone()));
                    let place: Place = place.iter().cloned().chain(more).collect();
                    mean(&reports, plan, &place, seed.as_ref(), |r| figure.value(r, dilation))
                }
            };
            value.ok_or_else(not_run)
        };
        if series.over.is_none() {
            return each(&String::new()).map(Value::One);
        }
        let all = labels.iter().map(|label| Ok((label.clone(), each(label)?)));
        all.collect::<Result<Vec<_>, FormulaError>>().map(Value::Many)
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
    /// `last` counts for the whole sweep and again after its axes.
    fn read(
        directory: &Path,
        run: &file::Run,
        settings: &[String],
        only: &Only,
        last: &[String],
    ) -> Result<PaperRun, Problems> {
        let mut document = Document::read(&directory.join(&run.scenario))?;
        // A page judges no expectations, which may be of more seeds than it runs.
        document.set_text("expect=[]")?;
        for setting in settings.iter().chain(last) {
            document.set_text(setting)?;
        }
        let plan = Plan::part(&document, only, last)?;
        Ok(PaperRun { name: run.name.clone(), document, plan })
    }
}

fn labels_of(nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(label_of).collect()
}

/// What a series is a figure of.
enum Figure<'a> {
    Metric(Metric),
    /// What a rule says of the run, and which of its figures.
    Class(&'a file::Rule, String),
}

/// What the name of a rule's figure begins with.
const CLASS: &str = "class.";

impl Figure<'_> {
    /// The figure of this name, or a sentence about what is wrong with it.
    fn of<'a>(file: &'a File, name: &str) -> Result<Figure<'a>, String> {
        let Some(below) = name.strip_prefix(CLASS) else {
            return name.parse().map(Figure::Metric).map_err(|e: crate::report::MetricError| e.to_string());
        };
        let (rule, figure) = below.split_once('.').unwrap_or((below, ""));
        let Some(found) = file.rule.iter().find(|r| r.name == rule) else {
            let remedy = crate::problem::remedy(rule, file.rule.iter().map(|r| r.name.as_str()));
            return Err(format!("there is no rule `{rule}`; {remedy}"));
        };
        if !class::FIGURES.contains(&figure) {
            let remedy = crate::problem::remedy(figure, class::FIGURES);
            return Err(format!("a rule has no figure `{figure}`; {remedy}"));
        }
        Ok(Figure::Class(found, figure.to_owned()))
    }

    fn value(&self, report: &Report, dilation: f64) -> Option<f64> {
        match self {
            Figure::Metric(metric) => Some(undilated(metric, metric.value(report)?, dilation)),
            Figure::Class(rule, figure) => {
                class::classify(&class::Bins::of(report, rule)?.undilated(dilation), rule).figure(figure)
            }
        }
    }

    /// A class is of a whole run and has no value at a time.
    fn at_time(&self, report: &Report, label: &str, dilation: f64) -> Option<f64> {
        match self {
            Figure::Metric(metric) => Some(undilated(metric, at_time(report, metric, label)?, dilation)),
            Figure::Class(..) => None,
        }
    }
}

/// What a figure is without the dilation of its run's time, by its unit.
fn undilated(metric: &Metric, value: f64, dilation: f64) -> f64 {
    let name = metric.to_string();
    let unit = name.trim_end_matches(')').rsplit('_').next().unwrap_or_default();
    match unit {
        "mbps" => value * dilation,
        "ms" | "s" => value / dilation,
        _ => value,
    }
}

/// What a series runs over if it is no axis: the seeds, or the rows of the time series.
const SEED: &str = "seed";
const TIME: &str = "time";

/// Where on a sweep: axes with their labels.
type Place = Vec<(String, String)>;

/// The labels of what a series runs over; none if there is no such axis.
fn labels(plan: &Plan, over: Option<&str>) -> Option<Vec<String>> {
    Some(match over {
        None => Vec::new(),
        Some(SEED) => {
            let mut seeds: Vec<String> = Vec::new();
            for point in &plan.points {
                let seed = point.seed.to_string();
                if !seeds.contains(&seed) {
                    seeds.push(seed);
                }
            }
            seeds
        }
        Some(TIME) => {
            let every = plan.base.measure.interval.filter(|i| !i.is_zero())?;
            let rows = (plan.base.duration.as_nanos() / every.as_nanos()) as u32;
            (1..=rows).map(|row| format!("{}s", (every * row).as_secs_f64())).collect()
        }
        Some(axis) => {
            let scale = plan.scales.iter().find(|s| s.name == axis)?;
            scale.steps.iter().map(|step| step.0.clone()).collect()
        }
    })
}

/// The figure of a time series in the interval that ends at `label`; not a number where the run has nothing to say.
fn at_time(report: &Report, metric: &Metric, label: &str) -> Option<f64> {
    let series = &report.series;
    let column = series.columns.iter().position(|c| *c == metric.to_string())?;
    let row = (formula::label_number(label)? / series.interval_s).round() as usize;
    let row = series.rows.get(row.checked_sub(1)?)?;
    Some(row.get(column).copied().flatten().unwrap_or(f64::NAN))
}

/// The mean over seeds at a place of a sweep, or the value with one seed; none unless all of them are there.
fn mean(
    reports: &[Report],
    plan: &Plan,
    place: &Place,
    seed: Option<&String>,
    value: impl Fn(&Report) -> Option<f64>,
) -> Option<f64> {
    let is = |labels: &[(String, String)], of: u64| {
        seed.is_none_or(|s| *s == of.to_string()) && place.iter().all(|at| labels.contains(at))
    };
    let wanted = plan.points.iter().filter(|p| is(&p.labels, p.seed)).count();
    let fit = reports.iter().filter(|r| is(&r.provenance.point, r.provenance.seed));
    let values: Vec<f64> = fit.filter_map(value).collect();
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
