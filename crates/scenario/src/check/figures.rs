//! Expectations, charts and axes.

use super::Judge;
use crate::document::fits;
use crate::file::{Axis, Expect, Figure, Mode, Over, Seeds};
use crate::over_seeds::seeds_needed;
use crate::problem::{COMMANDS, is_command};
use crate::report::Metric;
use crate::sweep::{label_of, scales};
use std::collections::BTreeSet;

pub(super) fn check(judge: &mut Judge) {
    check_sweep(judge);
    for (i, expect) in judge.scenario.expect.iter().enumerate() {
        check_expect(judge, &format!("expect.{i}"), expect);
    }
    for (i, compare) in judge.scenario.compare.iter().enumerate() {
        let key = format!("compare.{i}.metric");
        if let Err(error) = compare.metric.parse::<Metric>() {
            judge.fail(key, error.to_string());
        }
        judge.fail_if(
            !compare.slack.is_finite() || compare.slack < 0.0,
            format!("compare.{i}.slack"),
            || "write how far figures may be apart, at least 0".into(),
        );
    }
    for figure in &judge.scenario.figure {
        check_figure(judge, &format!("figure.{}", figure.name), figure);
    }
}

fn check_sweep(judge: &mut Judge) {
    let sweep = &judge.scenario.sweep;
    judge.fail_if(sweep.seeds.count() == 0, "sweep.seeds", || {
        "without a seed nothing runs; write a number of them, such as 5".into()
    });
    if let Seeds::List(list) = &sweep.seeds {
        let mut seen = BTreeSet::new();
        for seed in list.iter().filter(|seed| !seen.insert(**seed)) {
            judge.fail("sweep.seeds", format!("{seed} is there twice; its runs would be the same"));
        }
    }
    let mut seen = BTreeSet::new();
    for (i, axis) in sweep.axis.iter().enumerate() {
        let key = format!("sweep.axis.{}", axis.name.clone().unwrap_or_else(|| i.to_string()));
        check_axis(judge, &key, axis);
        judge.fail_if(!seen.insert(axis.label()), format!("{key}.name"), || {
            format!("there are two axes called `{}`; give one of them another `name`", axis.label())
        });
    }
}

fn check_axis(judge: &mut Judge, key: &str, axis: &Axis) {
    let (valued, cased) = (axis.key.is_some() && !axis.values.is_empty(), !axis.cases.is_empty());
    let mixed = cased && (axis.key.is_some() || !axis.values.is_empty());
    judge.fail_if(mixed || !(valued || cased), key, || {
        "an axis has either `key` and `values`, or `cases`".into()
    });
    judge.fail_if(!axis.cases.is_empty() && axis.name.is_none(), key, || {
        "an axis of cases needs a `name`".into()
    });
    let mut seen = BTreeSet::new();
    for value in &axis.values {
        judge.fail_if(!seen.insert(label_of(value)), format!("{key}.values"), || {
            format!("{value} is there twice")
        });
    }
    let labels = axis.values.iter().map(label_of).chain(axis.cases.keys().cloned());
    for _ in labels.filter(|label| label.contains(is_command)) {
        judge.fail(key, COMMANDS);
    }
    let keys = axis.key.iter().chain(axis.cases.values().flat_map(|settings| settings.keys()));
    for own in keys.filter(|k| {
        ["sweep", "expect", "compare", "figure", "seed"].contains(&k.split('.').next().unwrap_or(""))
    }) {
        judge.fail(key, format!("`{own}` cannot be varied; `sweep.seeds` varies the seed"));
    }
}

fn check_expect(judge: &mut Judge, key: &str, expect: &Expect) {
    let bound =
        expect.min.is_some() || expect.max.is_some() || expect.within.is_some() || expect.ratio.is_some();
    judge.fail_if(!bound, key, || "nothing is expected; give min, max, within or ratio".into());
    judge.fail_if(
        matches!((expect.min, expect.max), (Some(a), Some(b)) if a > b),
        format!("{key}.min"),
        || "the least is above the most; nothing can be both".into(),
    );
    check_over(judge, key, expect);
    let axes = scales(judge.scenario);
    for (axis, label) in &expect.when {
        let key = format!("{key}.when.{axis}");
        if judge.known(&key, "axis", axis, axes.iter().map(|a| a.name.as_str())) {
            let labels = axes.iter().find(|a| a.name == *axis).map(|a| a.steps.iter().map(|s| s.0.as_str()));
            let labels: Vec<&str> = labels.into_iter().flatten().collect();
            judge.known(&key, "label", &label_of(label), labels);
        }
    }
    let concerned = expect.concerns(judge.point);
    judge.metric(&format!("{key}.metric"), &expect.metric, concerned);
    if let Some(ratio) = &expect.ratio {
        judge.metric(&format!("{key}.ratio.to"), &ratio.to, concerned);
        judge.fail_if(ratio.min.is_none() && ratio.max.is_none(), format!("{key}.ratio"), || {
            "a ratio needs min or max".into()
        });
    }
}

fn check_over(judge: &mut Judge, key: &str, expect: &Expect) {
    let over = expect.over;
    judge.fail_if(
        (over == Over::Share) && expect.share.is_none_or(|s| s.0 <= 0.0),
        format!("{key}.over"),
        || "say which share of the seeds has to be in the band, such as share = \"90%\"".into(),
    );
    judge.fail_if(over != Over::Share && expect.share.is_some(), format!("{key}.share"), || {
        "this only counts with over = \"share\"".into()
    });
    if over == Over::Each {
        let sentence =
            || "one run has no confidence interval; give over = \"mean\", \"median\" or \"share\"".into();
        return judge.fail_if(expect.confidence.is_some(), format!("{key}.confidence"), sentence);
    }
    let sensible = expect.confidence.is_none_or(|c| (0.5..1.0).contains(&c.0));
    judge.fail_if(!sensible, format!("{key}.confidence"), || {
        "a confidence is at least 50% and less than 100%; 95% is usual".into()
    });
    let seeds = judge.scenario.sweep.seeds.count();
    let needed = if sensible { seeds_needed(expect) } else { 2 };
    judge.fail_if(needed == usize::MAX, format!("{key}.confidence"), || {
        "no number of seeds shows that all would be in the band; expect a smaller share, or leave `confidence` out".into()
    });
    judge.fail_if(needed != usize::MAX && seeds < needed, format!("{key}.over"), || {
        format!("this takes at least {needed} seeds to hold, and the sweep has {seeds}; raise `sweep.seeds`")
    });
}

fn check_figure(judge: &mut Judge, key: &str, figure: &Figure) {
    let axes: Vec<String> = scales(judge.scenario).into_iter().map(|a| a.name).collect();
    let names = || axes.iter().map(String::as_str);
    if figure.x == "time" {
        judge.fail_if(judge.scenario.measure.interval.is_none(), format!("{key}.x"), || {
            "without `measure.interval` there is no time series".into()
        });
        judge.fail_if(figure.by.is_some(), format!("{key}.by"), || {
            "this only counts for axes of a sweep".into()
        });
    } else {
        judge.known(&format!("{key}.x"), "axis", &figure.x, names().chain(["time"]).collect::<Vec<_>>());
    }
    if let Some(by) = &figure.by {
        judge.known(&format!("{key}.by"), "axis", by, names().filter(|n| *n != figure.x).collect::<Vec<_>>());
    }
    judge.fail_if(figure.y.is_empty(), format!("{key}.y"), || {
        "a chart needs a figure that goes up, such as [\"flow.down.goodput_mbps\"]".into()
    });
    for metric in &figure.y {
        judge.metric(&format!("{key}.y"), metric, false);
    }
}

impl Judge<'_> {
    /// Says why a text names no figure; with `row`, also that nothing has the row's name.
    fn metric(&mut self, key: &str, text: &str, row: bool) {
        let metric = match text.parse::<Metric>() {
            Ok(metric) => metric,
            Err(error) => return self.fail(key, error.to_string()),
        };
        let Some(rows) = self.rows(&metric.table).filter(|_| row) else { return };
        if !metric.row.contains('*') {
            self.known(key, &metric.table, &metric.row, rows.iter().map(String::as_str));
        } else {
            let fit = rows.iter().filter(|r| fits(&metric.row, r)).count();
            let several = metric.aggregate.is_none() && fit > 1;
            self.fail_if(fit == 0, key, || format!("no {} is called like `{}`", metric.table, metric.row));
            self.fail_if(several, key, || {
                format!("these are {fit} figures; say what to make of them, such as sum({metric})")
            });
        }
    }

    /// The rows that a table will have; none if that shows only in the run.
    fn rows(&self, table: &str) -> Option<Vec<String>> {
        let s = self.scenario;
        let both = |name: &String, ends: [&str; 2]| ends.map(|end| format!("{name}:{end}"));
        Some(match table {
            "flow" => s.flow.iter().map(|f| f.name.clone()).collect(),
            "radio" => self.names.radios.iter().filter(|r| r.contains(':')).cloned().collect(),
            "cpu" => s.node.iter().filter(|n| n.1.cpu.is_some()).map(|n| n.0.clone()).collect(),
            "interface" => self.names.interfaces.clone(),
            "link" => self.names.links.iter().flat_map(|l| both(l, ["forward", "back"])).collect(),
            "bond" => s.bond.keys().flat_map(|b| both(b, ["client", "gateway"])).collect(),
            "bunch" => s.bunch.iter().flat_map(|(name, b)| bunch_rows(name, b)).collect(),
            "station" => self.stations(),
            _ => return None,
        })
    }

    /// Who may send to whom by radio.
    fn stations(&self) -> Vec<String> {
        let mut all: Vec<(String, Mode, &str)> = Vec::new();
        for (name, node) in &self.scenario.node {
            for (interface, spec) in &node.interface {
                if let (Some(mode), Some(ssid)) = (spec.mode, spec.ssid.as_deref()) {
                    all.push((format!("{name}:{interface}"), mode, ssid));
                }
            }
        }
        let speak = |a: Mode, b: Mode| {
            matches!((a, b), (Mode::Ap, Mode::Station) | (Mode::Station, Mode::Ap) | (Mode::Mesh, Mode::Mesh))
        };
        let mut out = Vec::new();
        for (from, mode, ssid) in &all {
            let peers =
                all.iter().filter(|(to, other, name)| to != from && name == ssid && speak(*mode, *other));
            out.extend(peers.map(|(to, ..)| format!("{from}>{to}")));
            out.push(format!("{from}>*"));
        }
        out
    }
}

/// The rows of a bunch: its own, and one for each of its access points.
fn bunch_rows(name: &str, bunch: &crate::file::Bunch) -> Vec<String> {
    let points = [&bunch.home].into_iter().chain(&bunch.neighbours);
    core::iter::once(name.to_owned()).chain(points.map(|p| format!("{name}:{p}"))).collect()
}
