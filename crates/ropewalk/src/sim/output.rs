//! Files of results. Each is written beside its place and moved there, so that nobody ever reads half a file.

use crate::exit::{Code, failure};
use anyhow::Result;
use ropewalk_scenario::report::{Report, Row, TableVisitor};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Makes a directory for results and sees that something can be written there, before anything runs.
pub(crate) fn prepare(directory: &Path) -> Result<()> {
    let cannot = |e: &io::Error| {
        failure(
            Code::Unwritable,
            format!(
                "results cannot be written to {}: {e}; choose another directory with --out",
                directory.display()
            ),
        )
    };
    fs::create_dir_all(directory).map_err(|e| cannot(&e))?;
    let probe = directory.join(".ropewalk-probe");
    fs::write(&probe, [0; 512]).and_then(|()| fs::remove_file(&probe)).map_err(|e| cannot(&e))
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = Path::new(&beside);
    let written = fs::File::create(beside).and_then(|mut file| {
        file.write_all(bytes)?;
        // A full disk shows here at the latest, not after the old file has been replaced.
        file.sync_all()
    });
    written.and_then(|()| fs::rename(beside, path)).map_err(|e| {
        let _ = fs::remove_file(beside);
        failure(Code::Unwritable, format!("{} cannot be written: {e}", path.display()))
    })
}

/// Gives a file another name.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to)
        .map_err(|e| failure(Code::Unwritable, format!("{} cannot be renamed: {e}", from.display())))
}

/// Writes a value as JSON.
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    write(path, &bytes)
}

/// Writes a CSV file for each table that has rows, and the time series; returns the files' names.
pub(crate) fn write_tables(directory: &Path, reports: &[Report]) -> Result<Vec<String>> {
    let mut written = Vec::new();
    let mut tables = Tables { reports, wanted: 0, files: Vec::new() };
    if let Some(first) = reports.first() {
        first.visit(&mut tables);
    }
    for (name, text) in tables.files {
        let name = format!("{name}.csv");
        write(&directory.join(&name), &text?)?;
        written.push(name);
    }
    if reports.iter().any(|r| !r.series.rows.is_empty()) {
        write(&directory.join("series.csv"), &series(reports)?)?;
        written.push("series.csv".to_owned());
    }
    Ok(written)
}

/// Makes the tables' files, each of all reports' rows.
struct Tables<'a> {
    reports: &'a [Report],
    /// The table that is being made, by its place among all.
    wanted: usize,
    files: Vec<(&'static str, Result<Vec<u8>>)>,
}

impl TableVisitor for Tables<'_> {
    fn table<R: Row>(&mut self, _: &[R]) {
        let mut rows = Rows { place: self.wanted, seen: 0, labels: Vec::new(), lines: Vec::new() };
        for report in self.reports {
            (rows.seen, rows.labels) = (0, labels(report));
            report.visit(&mut rows);
        }
        if !rows.lines.is_empty() {
            self.files.push((R::TABLE, file::<R>(&self.reports[0], &rows.lines)));
        }
        self.wanted += 1;
    }
}

/// Collects the rows of one table out of a report.
struct Rows {
    place: usize,
    seen: usize,
    labels: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl TableVisitor for Rows {
    fn table<R: Row>(&mut self, rows: &[R]) {
        if self.seen == self.place {
            for row in rows {
                let texts = row.texts().into_iter().map(str::to_owned);
                let numbers = row.numbers().into_iter().map(|n| n.map(|n| n.to_string()).unwrap_or_default());
                let named = self.labels.iter().cloned().chain([row.name().to_owned()]);
                self.lines.push(named.chain(texts).chain(numbers).collect());
            }
        }
        self.seen += 1;
    }
}

/// What sets a report apart: its point and its seed.
fn labels(report: &Report) -> Vec<String> {
    let point = report.provenance.point.iter().map(|(_, label)| label.clone());
    point.chain([report.provenance.seed.to_string()]).collect()
}

fn axes(report: &Report) -> impl Iterator<Item = &str> {
    report.provenance.point.iter().map(|(axis, _)| axis.as_str()).chain(["seed"])
}

fn file<R: Row>(first: &Report, lines: &[Vec<String>]) -> Result<Vec<u8>> {
    let columns = R::TEXTS.iter().chain(R::NUMBERS).map(|c| c.name);
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(axes(first).chain(["name"]).chain(columns))?;
    lines.iter().try_for_each(|line| out.write_record(line))?;
    Ok(out.into_inner()?)
}

/// When an interval of a time series ends, seconds, as in the Parquet tables. Intervals are whole
/// nanoseconds: three of 0.1 s are 0.3 s, to the bit.
pub(super) fn end_of(number: usize, interval_s: f64) -> f64 {
    (number + 1) as f64 * (interval_s * 1e9).round() / 1e9
}

/// Time series of all reports, one value a line, as programs for statistics like it.
fn series(reports: &[Report]) -> Result<Vec<u8>> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(axes(&reports[0]).chain(["time_s", "metric", "value"]))?;
    for report in reports {
        let labels = labels(report);
        for (i, row) in report.series.rows.iter().enumerate() {
            let time = end_of(i, report.series.interval_s).to_string();
            for (metric, value) in report.series.columns.iter().zip(row) {
                let Some(value) = value else { continue };
                let line = labels.iter().cloned().chain([time.clone(), metric.clone(), value.to_string()]);
                out.write_record(line.collect::<Vec<_>>())?;
            }
        }
    }
    Ok(out.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::report::Series;

    #[test]
    fn times_of_a_series_are_multiples_of_its_interval() {
        let (columns, rows) = (vec!["flow.down.rtt_ms".to_owned()], vec![vec![Some(2.5)]; 3]);
        let report = Report { series: Series { interval_s: 0.1, columns, rows }, ..Report::default() };
        let text = String::from_utf8(series(&[report]).unwrap()).unwrap();
        let times: Vec<&str> = text.lines().map(|line| line.split(',').nth(1).unwrap()).collect();
        assert_eq!(times, ["time_s", "0.1", "0.2", "0.3"]);
        assert_eq!(end_of(999_999, 0.001), 1000.0);
    }
}
