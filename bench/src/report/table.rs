//! The cells of a row's table, and of the summary, before they are text or Markdown.

use super::{Report, RowReport};
use crate::sample::Value;

/// A table: its head, then its lines.
pub(crate) struct Table {
    pub head: Vec<String>,
    pub lines: Vec<Vec<String>>,
}

/// One line for each figure of each row: its worst case.
pub(super) fn summary(report: &Report) -> Table {
    let head = ["row", "figure", "worst case", "ours", "peers there", "target", "verdict"];
    let mut lines = Vec::new();
    for row in &report.rows {
        for what in row.figure_names() {
            let Some((case, figure)) = row.worst(what) else { continue };
            let text = |value: Option<f64>| value.map_or("–".to_owned(), |value| figure.unit.text(value));
            let peers = figure.peers.iter().map(|(name, value)| format!("{name} {}", text(*value)));
            lines.push(vec![
                row.name.to_owned(),
                what.to_owned(),
                case.name.clone(),
                text(figure.ours),
                peers.collect::<Vec<_>>().join(", "),
                figure.goal.text(figure.unit),
                figure.verdict.word().to_owned(),
            ]);
        }
    }
    Table { head: head.map(String::from).to_vec(), lines }
}

/// One line for each case of a row.
pub(super) fn cases(row: &RowReport) -> Table {
    let mut head = vec!["case".to_owned()];
    let columns = value_columns(row);
    head.extend(columns.iter().map(|(name, sign)| format!("{name} {sign}").trim_end().to_owned()));
    let names = row.figure_names();
    for what in &names {
        if is_value(row, what) {
            head.push(if names.len() > 1 { format!("{what}: verdict") } else { "verdict".to_owned() });
            continue;
        }
        head.push((*what).to_owned());
        head.extend(peer_columns(row, what));
        head.push("verdict".to_owned());
    }
    let lines = row.cases.iter().map(|case| {
        let mut line = vec![case.name.clone()];
        line.extend(columns.iter().map(|(name, unit)| {
            let is_it = |value: &&Value| value.name == *name && value.unit.sign() == *unit;
            let value = case.values.iter().find(is_it);
            let figure = value.and_then(|value| value.figure.map(|figure| value.unit.number(figure)));
            figure.unwrap_or("–".to_owned())
        }));
        for what in &names {
            line.extend(figure_cells(row, case, what));
        }
        line
    });
    let lines = lines.collect();
    Table { head, lines }
}

/// Names of values and their units, in the order in which they come up.
fn value_columns(row: &RowReport) -> Vec<(String, &'static str)> {
    let mut columns = Vec::new();
    for value in row.cases.iter().flat_map(|case| &case.values) {
        let column = (value.name.clone(), value.unit.sign());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// Whether a figure is in the table already, as one of the values.
fn is_value(row: &RowReport, what: &str) -> bool {
    let mut figures = row.cases.iter().flat_map(|case| case.figures.iter().map(move |figure| (case, figure)));
    figures.all(|(case, figure)| {
        let same = |value: &Value| value.unit == figure.unit && value.figure == figure.ours;
        figure.what != what || case.values.iter().any(same)
    })
}

/// Names of the peers for which a figure is known.
fn peer_columns(row: &RowReport, what: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in row.cases.iter().flat_map(|case| &case.figures).filter(|figure| figure.what == what) {
        names.extend(
            figure
                .peers
                .iter()
                .map(|(name, _)| name.clone())
                .filter(|n| !names.contains(n))
                .collect::<Vec<_>>(),
        );
    }
    names
}

fn figure_cells(row: &RowReport, case: &super::Case, what: &str) -> Vec<String> {
    let peers = peer_columns(row, what);
    let Some(figure) = case.figures.iter().find(|figure| figure.what == what) else {
        return vec![String::new(); if is_value(row, what) { 1 } else { peers.len() + 2 }];
    };
    if is_value(row, what) {
        return vec![figure.verdict.word().to_owned()];
    }
    let cell = |value: Option<f64>| value.map_or("–".to_owned(), |value| figure.unit.number(value));
    let mut cells = vec![cell(figure.ours)];
    cells.extend(peers.iter().map(|name| {
        let value = figure.peers.iter().find(|(peer, _)| peer == name).and_then(|(_, value)| *value);
        cell(value)
    }));
    cells.push(figure.verdict.word().to_owned());
    cells
}

/// What is asked of each figure of a row, in words.
pub(super) fn goals(row: &RowReport) -> Vec<String> {
    let mut goals = Vec::new();
    for figure in row.cases.iter().flat_map(|case| &case.figures) {
        let asked = figure.goal.text(figure.unit);
        let goal = format!("{}: {asked}", figure.what);
        if !asked.is_empty() && !goals.contains(&goal) {
            goals.push(goal);
        }
    }
    goals
}

/// Remarks on a row's values, and how many of its measurements were disturbed.
pub(super) fn notes(row: &RowReport) -> Vec<String> {
    let mut notes = Vec::new();
    let values = || row.cases.iter().flat_map(|case| case.values.iter().map(move |value| (case, value)));
    for (case, value) in values() {
        notes.extend(value.notes.iter().map(|note| {
            // What a program said may be long; the JSON has all of it.
            let line: String = note.lines().next().unwrap_or_default().chars().take(160).collect();
            format!("{}, {}: {line}", case.name, value.name)
        }));
    }
    let disturbed: usize = values().map(|(_, value)| value.disturbed).sum();
    if disturbed > 0 {
        let all: usize = values().map(|(_, value)| value.samples.len()).sum();
        notes.push(format!(
            "other programs were at work on this machine during {disturbed} of {all} measurements"
        ));
    }
    notes
}
