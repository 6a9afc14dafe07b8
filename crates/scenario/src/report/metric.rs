//! Names of figures: `flow.down.goodput_mbps`, `sum(flow.*.goodput_mbps)`.

use super::{Report, Row, TableVisitor, tables};
use crate::document::fits;
use crate::problem::remedy;
use std::fmt;
use std::str::FromStr;

/// One number out of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The least.
    Min,
    /// The largest.
    Max,
    /// Jain's fairness index, 1/n to 1: (Σx)² / (n·Σx²).
    Jain,
}

const AGGREGATES: [(&str, Aggregate); 5] = [
    ("sum", Aggregate::Sum),
    ("mean", Aggregate::Mean),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("jain", Aggregate::Jain),
];

/// The name of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// What is done with several rows; none: there has to be one.
    pub aggregate: Option<Aggregate>,
    /// The table.
    pub table: String,
    /// The row, in which `*` stands for any characters.
    pub row: String,
    /// The column.
    pub column: String,
}

/// Why a text names no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MetricError(pub String);

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Metric, MetricError> {
        let (aggregate, inner) = match text.split_once('(') {
            None => (None, text),
            Some((name, rest)) => {
                let found = AGGREGATES.iter().find(|(n, _)| *n == name);
                let wrong = || {
                    let remedy = remedy(name, AGGREGATES.iter().map(|a| a.0));
                    MetricError(format!("`{name}` makes no number out of several; {remedy}"))
                };
                let inner =
                    rest.strip_suffix(')').ok_or_else(|| MetricError(format!("`{text}` lacks its `)`")))?;
                (Some(found.ok_or_else(wrong)?.1), inner)
            }
        };
        let parts: Vec<&str> = inner.split('.').collect();
        let [table, row, column] = parts[..] else {
            let sentence =
                format!("`{inner}` names no figure; write TABLE.ROW.COLUMN, such as flow.down.goodput_mbps");
            return Err(MetricError(sentence));
        };
        let all = tables();
        let Some(form) = all.iter().find(|t| t.name == table) else {
            return Err(MetricError(format!(
                "there is no table `{table}`; {}",
                remedy(table, all.iter().map(|t| t.name))
            )));
        };
        if !form.numbers.iter().any(|c| c.name == column) {
            let remedy = remedy(column, form.numbers.iter().map(|c| c.name));
            return Err(MetricError(format!("a {table} has no figure `{column}`; {remedy}")));
        }
        Ok(Metric { aggregate, table: table.into(), row: row.into(), column: column.into() })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metric { aggregate, table, row, column } = self;
        match AGGREGATES.iter().find(|(_, a)| Some(*a) == *aggregate) {
            Some((name, _)) => write!(f, "{name}({table}.{row}.{column})"),
            None => write!(f, "{table}.{row}.{column}"),
        }
    }
}

/// Finds the values of a metric.
struct Find<'a> {
    metric: &'a Metric,
    values: Vec<f64>,
}

impl TableVisitor for Find<'_> {
    fn table<R: Row>(&mut self, rows: &[R]) {
        if R::TABLE != self.metric.table {
            return;
        }
        let Some(column) = R::NUMBERS.iter().position(|c| c.name == self.metric.column) else { return };
        let fit = rows.iter().filter(|row| fits(&self.metric.row, row.name()));
        self.values.extend(fit.filter_map(|row| row.numbers()[column]));
    }
}

/// Finds the names of rows.
struct FindRows<'a> {
    metric: &'a Metric,
    names: Vec<String>,
}

impl TableVisitor for FindRows<'_> {
    fn table<R: Row>(&mut self, rows: &[R]) {
        if R::TABLE == self.metric.table {
            let fit = rows.iter().map(Row::name).filter(|name| fits(&self.metric.row, name));
            self.names.extend(fit.map(str::to_owned));
        }
    }
}

impl Metric {
    /// The figures of a report that it stands for, each by its own name: itself if it makes one number out of several.
    pub fn each(&self, report: &Report) -> Vec<Metric> {
        if self.aggregate.is_some() {
            return vec![self.clone()];
        }
        let mut find = FindRows { metric: self, names: Vec::new() };
        report.visit(&mut find);
        find.names.into_iter().map(|row| Metric { row, ..self.clone() }).collect()
    }

    /// Its value in a report; none if no row has one, or several have one and nothing says what to make of them.
    pub fn value(&self, report: &Report) -> Option<f64> {
        let mut find = Find { metric: self, values: Vec::new() };
        report.visit(&mut find);
        self.combine(&find.values)
    }

    fn combine(&self, values: &[f64]) -> Option<f64> {
        let (n, sum) = (values.len() as f64, values.iter().sum::<f64>());
        let squares: f64 = values.iter().map(|v| v * v).sum();
        if values.is_empty() {
            return None;
        }
        match self.aggregate {
            None => (values.len() == 1).then(|| values[0]),
            Some(Aggregate::Sum) => Some(sum),
            Some(Aggregate::Mean) => Some(sum / n),
            Some(Aggregate::Min) => values.iter().copied().reduce(f64::min),
            Some(Aggregate::Max) => values.iter().copied().reduce(f64::max),
            Some(Aggregate::Jain) => Some(if squares == 0.0 { 1.0 } else { sum * sum / (n * squares) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FlowRow;
    use super::*;

    fn report() -> Report {
        let flow =
            |name: &str, goodput_mbps| FlowRow { name: name.into(), goodput_mbps, ..FlowRow::default() };
        Report { flow: vec![flow("up-a", 1.0), flow("up-b", 3.0), flow("down", 9.0)], ..Report::default() }
    }

    #[test]
    fn figures_are_found_by_name() {
        for (text, value) in [
            ("flow.down.goodput_mbps", Some(9.0)),
            ("sum(flow.up-*.goodput_mbps)", Some(4.0)),
            ("mean(flow.*.goodput_mbps)", Some(13.0 / 3.0)),
            ("min(flow.up*.goodput_mbps)", Some(1.0)),
            ("max(flow.*.goodput_mbps)", Some(9.0)),
            ("jain(flow.up*.goodput_mbps)", Some(0.8)),
            ("flow.up*.goodput_mbps", None),
            ("flow.none.goodput_mbps", None),
            ("flow.down.rtt_ms", None),
        ] {
            let metric: Metric = text.parse().unwrap();
            assert_eq!(metric.value(&report()), value, "{text}");
            assert_eq!(metric.to_string(), text);
        }
    }

    #[test]
    fn what_names_no_figure_is_refused() {
        for (text, sentence) in [
            ("goodput", "`goodput` names no figure; write TABLE.ROW.COLUMN, such as flow.down.goodput_mbps"),
            ("flow.a.goodput-mbps", "a flow has no figure `goodput-mbps`; did you mean `goodput_mbps`?"),
            ("flows.a.bytes", "there is no table `flows`; did you mean `flow`?"),
            (
                "average(flow.a.bytes)",
                "`average` makes no number out of several; known are sum, mean, min, max, jain",
            ),
            ("sum(flow.a.bytes", "`sum(flow.a.bytes` lacks its `)`"),
        ] {
            assert_eq!(text.parse::<Metric>().unwrap_err().to_string(), sentence);
        }
    }
}
