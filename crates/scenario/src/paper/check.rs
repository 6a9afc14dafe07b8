//! What is wrong with a paper's file beyond its types: names that nothing has, formulas that cannot be worked out, claims without a band.

use super::file::{Claim, Plot, Rule, Run, Series, Table};
use super::formula::{self, FormulaError, Value};
use super::{Figure, Paper, Reported, SEED, TIME, labels};
use crate::problem::remedy;
use crate::sweep::{Plan, label_of};
use std::collections::BTreeSet;

/// Keys with sentences.
type Found = Vec<(String, String)>;

/// Everything that is wrong.
pub(super) fn check(paper: &Paper) -> Found {
    let mut found = Found::new();
    let file = &paper.file;
    unique(&mut found, "run", file.run.iter().map(|r| r.name.as_str()));
    unique(&mut found, "rule", file.rule.iter().map(|r| r.name.as_str()));
    unique(&mut found, "series", file.series.iter().map(|s| s.name.as_str()));
    unique(&mut found, "plot", file.plot.iter().map(|p| p.name.as_str()));
    unique(&mut found, "claim", file.claim.iter().map(|c| c.id.as_str()));
    for run in &file.run {
        check_only(&mut found, paper, run);
    }
    for rule in &file.rule {
        check_rule(&mut found, rule);
    }
    for series in &file.series {
        check_series(&mut found, paper, series);
    }
    if found.is_empty() {
        for (i, claim) in file.claim.iter().enumerate() {
            check_claim(&mut found, paper, &format!("claim.{i}"), claim);
        }
        for (i, table) in file.table.iter().enumerate() {
            check_table(&mut found, paper, &format!("table.{i}"), table);
        }
        for plot in &file.plot {
            check_plot(&mut found, paper, plot);
        }
    }
    found
}

fn unique<'a>(found: &mut Found, what: &str, names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    for name in names {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(fits) {
            found.push((
                what.into(),
                format!("nothing can be called `{name}`: names have letters, digits, - and _"),
            ));
        }
        if !seen.insert(name) {
            found.push((what.into(), format!("there are two called `{name}`; give one another name")));
        }
    }
}

/// The part of a sweep that the lab runs has to be one.
fn check_only(found: &mut Found, paper: &Paper, run: &Run) {
    let Some(plan) = paper.plan(&run.name) else { return };
    let key = format!("run.{}.lab.only", run.name);
    for (axis, labels) in &run.lab.only {
        let Some(scale) = plan.scales.iter().find(|s| s.name == *axis) else {
            let remedy = remedy(axis, plan.scales.iter().map(|s| s.name.as_str()));
            found.push((key.clone(), format!("there is no axis `{axis}`; {remedy}")));
            continue;
        };
        let known = |label: &String| scale.steps.iter().any(|s| s.0 == *label);
        for label in labels.iter().map(label_of).filter(|label| !known(label)) {
            let remedy = remedy(&label, scale.steps.iter().map(|s| s.0.as_str()));
            found.push((key.clone(), format!("the axis `{axis}` has no `{label}`; {remedy}")));
        }
        if labels.is_empty() {
            found.push((
                key.clone(),
                format!("nothing of the axis `{axis}` is left; name labels, or `skip` the run"),
            ));
        }
    }
}

/// Two numbers each, the smaller first where they are bounds.
fn check_rule(found: &mut Found, rule: &Rule) {
    for (key, numbers, ordered) in
        [("alone", &rule.alone, false), ("takes", &rule.takes, true), ("left", &rule.left, true)]
    {
        let fits = matches!(numbers[..], [a, b] if a >= 0.0 && b > 0.0 && (a <= b || !ordered));
        if !fits {
            found.push((format!("rule.{}.{key}", rule.name), "give two numbers, [least, most]".into()));
        }
    }
}

fn check_series(found: &mut Found, paper: &Paper, series: &Series) {
    let key = format!("series.{}", series.name);
    let Some(plan) = paper.plan(&series.run) else {
        let remedy = remedy(&series.run, paper.runs.iter().map(|r| r.name.as_str()));
        return found.push((format!("{key}.run"), format!("there is no run `{}`; {remedy}", series.run)));
    };
    match Figure::of(&paper.file, &series.metric) {
        Err(sentence) => found.push((format!("{key}.metric"), sentence)),
        Ok(Figure::Class(..)) if series.over.as_deref() == Some(TIME) => {
            found.push((format!("{key}.over"), "a class is of a whole run; take another figure".into()));
        }
        Ok(Figure::Class(..)) if labels(plan, Some(TIME)).is_none() => {
            let sentence = "a class is told by the time series; give the scenario `measure.interval`";
            found.push((format!("{key}.metric"), sentence.into()));
        }
        Ok(_) => {}
    }
    let has_seed = |seed: u64| plan.points.iter().any(|p| p.seed == seed);
    if let Some(seed) = series.seed.filter(|seed| !has_seed(*seed)) {
        found.push((format!("{key}.seed"), format!("the sweep has no seed {seed}")));
    }
    if series.seed.is_some() && series.over.as_deref() == Some(SEED) {
        found.push((format!("{key}.seed"), "a series over seeds is not of one; take this out".into()));
    }
    let axes = || plan.scales.iter().map(|s| s.name.as_str());
    for (axis, label) in &series.when {
        let Some(scale) = plan.scales.iter().find(|s| s.name == *axis) else {
            found.push((
                format!("{key}.when"),
                format!("there is no axis `{axis}`; {}", remedy(axis, axes())),
            ));
            continue;
        };
        let label = label_of(label);
        if !scale.steps.iter().any(|s| s.0 == label) {
            let remedy = remedy(&label, scale.steps.iter().map(|s| s.0.as_str()));
            found.push((format!("{key}.when"), format!("the axis `{axis}` has no `{label}`; {remedy}")));
        }
    }
    if let Some(over) = series.over.as_deref().filter(|over| labels(plan, Some(over)).is_none()) {
        found.push((
            format!("{key}.over"),
            match over {
                TIME => "its scenario has no time series; give it `measure.interval`".into(),
                _ => format!("there is no axis `{over}`; {}", remedy(over, axes().chain([SEED, TIME]))),
            },
        ));
    }
    let said = |axis: &str| series.when.contains_key(axis) || series.over.as_deref() == Some(axis);
    for axis in axes().filter(|axis| !said(axis)) {
        found.push((
            key.clone(),
            format!("it does not say where on the axis `{axis}`; give it in `when` or `over`"),
        ));
    }
}

/// A series as it will be, with ones for values: enough to find what is wrong with a formula before anything runs.
pub(super) fn placeholder(paper: &Paper, name: &str) -> Result<Value, FormulaError> {
    let series = paper.file.series.iter().find(|s| s.name == name);
    let over = |s: &Series| -> Option<Value> {
        let plan: &Plan = paper.plan(&s.run)?;
        let over = s.over.as_deref();
        let many = labels(plan, over)?.into_iter().map(|label| (label, 1.0)).collect();
        Some(if over.is_some() { Value::Many(many) } else { Value::One(1.0) })
    };
    match series.map(over) {
        Some(Some(value)) => Ok(value),
        // Says that there is no such series.
        _ => paper.series(name, "sim", &|_| Vec::new()),
    }
}

fn check_claim(found: &mut Found, paper: &Paper, key: &str, claim: &Claim) {
    let mut fail = |sub: &str, sentence: String| {
        found.push((format!("{key}{sub}"), format!("{}: {sentence}", claim.id)))
    };
    let kinds = [
        claim.value.is_some(),
        claim.setting.is_some(),
        claim.missing.is_some(),
        claim.without_radios.is_some(),
    ];
    if kinds.iter().filter(|k| **k).count() != 1 {
        fail("", "give exactly one of `value`, `setting`, `missing` and `without-radios`".into());
    }
    if claim.reported().is_none() {
        fail(".reported", "give a number, two as [least, most], or a text".into());
    }
    if claim.tolerance.is_some() && matches!(claim.reported(), Some(Reported::Words(_))) {
        fail(".tolerance", "a tolerance needs a number to be around; give `min` or `max`".into());
    }
    if let Some(text) = &claim.value {
        if let Err(error) = formula::number(text, &|name| placeholder(paper, name)) {
            fail(".value", error.to_string());
        }
        match claim.band() {
            None => fail("", "a value needs a band: `tolerance`, `min` or `max`".into()),
            Some(band) if band.least > band.most => {
                fail("", "its band is empty; the least is above the most".into())
            }
            Some(_) => {}
        }
    }
    for driver in claim.because.keys().filter(|k| !["sim", super::LAB, super::VIRTUAL].contains(&k.as_str()))
    {
        fail(".because", format!("there is no driver `{driver}`; known are sim, lab, virtual"));
    }
}

/// All cells of a column are of one label.
fn check_table(found: &mut Found, paper: &Paper, key: &str, table: &Table) {
    let mut columns: Option<Vec<String>> = None;
    for value in table.row.iter().flat_map(|row| &row.value) {
        let labels: Vec<String> = match formula::evaluate(value, &|name| placeholder(paper, name)) {
            Ok(Value::Many(many)) => many.into_iter().map(|m| m.0).collect(),
            Ok(Value::One(_)) => Vec::new(),
            Err(error) => {
                found.push((format!("{key}.row"), error.to_string()));
                continue;
            }
        };
        if labels.is_empty() || *columns.get_or_insert_with(|| labels.clone()) != labels {
            let sentence = format!("`{value}` has not the labels of the other cells; take one axis for all");
            found.push((format!("{key}.row"), sentence));
        }
    }
}

fn check_plot(found: &mut Found, paper: &Paper, plot: &Plot) {
    for (i, line) in plot.line.iter().enumerate() {
        let key = format!("plot.{}.line.{i}", plot.name);
        let labels: Vec<String> = match formula::evaluate(&line.value, &|name| placeholder(paper, name)) {
            Ok(Value::Many(many)) => many.into_iter().map(|m| m.0).collect(),
            Ok(Value::One(_)) => {
                found.push((format!("{key}.value"), "a line needs a series, and this is one number".into()));
                continue;
            }
            Err(error) => {
                found.push((format!("{key}.value"), error.to_string()));
                continue;
            }
        };
        for (label, id) in &line.reported {
            let claim = paper.file.claim.iter().find(|c| c.id == *id);
            if !labels.contains(label) {
                let remedy = remedy(label, labels.iter().map(String::as_str));
                found.push((format!("{key}.reported"), format!("the line has no `{label}`; {remedy}")));
            }
            if claim.and_then(Claim::reported).and_then(|r| r.number()).is_none() {
                found.push((format!("{key}.reported"), format!("there is no claim `{id}` with a number")));
            }
        }
    }
}
