//! The runs of a sweep: every combination of its axes, each with every seed.

use crate::document::Document;
use crate::file::{Axis, Scenario, Seeds};
use crate::place;
use crate::problem::{Problem, Problems};
use crate::tree::{Node, Origin, Value};
use std::sync::Arc;

/// Most runs of a sweep.
pub const MAX_RUNS: usize = 100_000;

/// The axes with their labels, which set a run apart.
pub type Labels = Vec<(String, String)>;
/// Keys with their values.
pub type Settings = Vec<(String, Node)>;

/// An axis with its labels.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The axis's name.
    pub name: String,
    /// Its labels in order, each with the keys that it sets.
    pub steps: Vec<(String, Settings)>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its number, from 0, in the order of the sweep.
    pub index: usize,
    /// What sets it apart: the axes with their labels.
    pub labels: Labels,
    /// Its seed.
    pub seed: u64,
    settings: Settings,
}

impl Point {
    /// What its axes set, each as `--set` takes it.
    pub fn options(&self) -> impl Iterator<Item = String> {
        self.settings.iter().map(|(key, value)| format!("{key}={value}"))
    }
}

/// A sweep, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario without any setting of an axis.
    pub base: Scenario,
    /// The axes.
    pub scales: Vec<Scale>,
    /// The runs.
    pub points: Vec<Point>,
    document: Document,
    /// What is set after the axes, as `--set` takes it.
    last: Vec<String>,
}

/// Axes with the labels that are run; those that are not named are run whole.
pub type Only = [(String, Vec<String>)];

impl Axis {
    /// What it is called.
    pub fn label(&self) -> String {
        let last = |key: &String| key.rsplit('.').next().unwrap_or_default().to_owned();
        self.name.clone().or_else(|| self.key.as_ref().map(last)).unwrap_or_default()
    }
}

/// A value as a label: a text without its quotes.
pub fn label_of(value: &Node) -> String {
    match &value.value {
        Value::Text(text) => text.clone(),
        _ => value.to_string(),
    }
}

/// The axes with their labels.
pub fn scales(scenario: &Scenario) -> Vec<Scale> {
    let of = |axis: &Axis| {
        let one =
            |value: &Node| (label_of(value), vec![(axis.key.clone().unwrap_or_default(), value.clone())]);
        let case = |(name, settings): (&String, &indexmap::IndexMap<String, Node>)| {
            (name.clone(), settings.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
        };
        let steps = axis.values.iter().map(one).chain(axis.cases.iter().map(case)).collect();
        Scale { name: axis.label(), steps }
    };
    scenario.sweep.axis.iter().map(of).collect()
}

fn seeds(scenario: &Scenario) -> Vec<u64> {
    match &scenario.sweep.seeds {
        Seeds::Count(n) => (0..u64::from(*n)).map(|i| scenario.seed.wrapping_add(i)).collect(),
        Seeds::List(list) => list.clone(),
    }
}

impl Plan {
    /// Works the runs of a document's sweep out, and checks each before any is run.
    ///
    /// # Errors
    /// All that is wrong, with the file itself or with what an axis makes of it.
    pub fn of(document: &Document) -> Result<Plan, Problems> {
        Plan::part(document, &[], &[])
    }

    /// The same for a part of a sweep; `last` is set after what the axes set.
    ///
    /// # Errors
    /// As [`Plan::of`].
    pub fn part(document: &Document, only: &Only, last: &[String]) -> Result<Plan, Problems> {
        let base = document.scenario()?;
        let mut scales = scales(&base);
        for (axis, labels) in only {
            let named = scales.iter_mut().filter(|s| s.name == *axis);
            named.for_each(|scale| scale.steps.retain(|step| labels.contains(&step.0)));
        }
        let combinations = scales.iter().try_fold(1_usize, |n, s| n.checked_mul(s.steps.len()));
        // Counted before they are listed: a number of seeds may be any of 32 bits.
        let seeds_of_each = base.sweep.seeds.count();
        let runs = combinations.and_then(|n| n.checked_mul(seeds_of_each)).filter(|n| *n <= MAX_RUNS);
        if runs.is_none() {
            let sentence = format!("these are more than {MAX_RUNS} runs; take values or seeds out");
            return Err(document.problem("sweep", sentence));
        }
        let seeds = seeds(&base);
        let mut plan =
            Plan { base, scales, points: Vec::new(), document: document.clone(), last: last.to_vec() };
        let mut wrong: Vec<Problem> = Vec::new();
        for combination in 0..combinations.unwrap_or(0) {
            let (labels, settings) = plan.combination(combination);
            let first = plan.points.len();
            for (i, seed) in seeds.iter().enumerate() {
                let (labels, settings) = (labels.clone(), settings.clone());
                plan.points.push(Point { index: first + i, labels, seed: *seed, settings });
            }
            let checked = plan.points.get(first).map(|point| plan.scenario(point));
            if let Some(Err(problems)) = checked {
                wrong.extend(problems.list.into_iter().filter(|p| !wrong.contains(p)).collect::<Vec<_>>());
            }
        }
        if wrong.is_empty() { Ok(plan) } else { Err(Problems { file: document.file().into(), list: wrong }) }
    }

    /// The labels and settings of a combination; the last axis changes fastest.
    fn combination(&self, mut number: usize) -> (Labels, Settings) {
        let (mut labels, mut settings) = (Vec::new(), Vec::new());
        for scale in self.scales.iter().rev() {
            let (label, set) = &scale.steps[number % scale.steps.len()];
            number /= scale.steps.len();
            labels.insert(0, (scale.name.clone(), label.clone()));
            settings.splice(
                0..0,
                set.iter().map(|(key, value)| {
                    let mut value = value.clone();
                    value.set_origin(&Origin::Given(Arc::from(format!(
                        "{}, with {} = {label}",
                        self.document.file(),
                        scale.name
                    ))));
                    (key.clone(), value)
                }),
            );
        }
        (labels, settings)
    }

    /// The scenario of a run.
    ///
    /// # Errors
    /// What is wrong with it; none of a plan that was made is.
    pub fn scenario(&self, point: &Point) -> Result<Scenario, Problems> {
        let mut document = self.document.clone();
        for (key, value) in &point.settings {
            document.set(key, value)?;
        }
        for option in &self.last {
            document.set_text(option)?;
        }
        let mut scenario = document.scenario_at(&point.labels)?;
        scenario.seed = point.seed;
        place::settle(&mut scenario);
        Ok(scenario)
    }
}
