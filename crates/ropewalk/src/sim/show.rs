//! A report as a user wants to read it: what each flow and each station got, not only sums.

use ropewalk_scenario::file::{Expect, Over};
use ropewalk_scenario::report::{Report, Row, TableVisitor};
use ropewalk_scenario::verdict::{Verdict, round};
use std::fmt::Write;

/// What `ropewalk sim run` prints.
pub(crate) fn render(report: &Report, verdicts: &[Verdict]) -> String {
    let mut out = String::new();
    let p = &report.provenance;
    let title = if p.title.is_empty() { &p.file } else { &p.title };
    let counted = p.duration_s - p.warmup_s;
    let _ = writeln!(out, "{title}: {counted} s counted of {} s, seed {}", p.duration_s, p.seed);
    if let Some(lab) = &p.lab {
        let [p50, p99, p999, latest] = lab.late_us.map(round);
        let _ = writeln!(
            out,
            "in {} time: late by p50 {p50} µs, p99 {p99} µs, p99.9 {p999} µs, max {latest} µs ({} packets); {}",
            if lab.machine.is_some() { "virtual" } else { "real" },
            lab.packets,
            if lab.invalid.is_empty() { "valid" } else { "NOT VALID" }
        );
        let forecast = lab.forecast.map(|f| format!(", {:.0} % forecast", f * 100.0)).unwrap_or_default();
        let _ = writeln!(
            out,
            "the thread that moves packets worked {:.0} % of the time{forecast}{}",
            lab.load * 100.0,
            lab.idle
                .map(|idle| format!("; {:.0} % of the processors' time was left", idle * 100.0))
                .unwrap_or_default()
        );
        if let Some(machine) = &lab.machine {
            let _ = writeln!(out, "{machine}");
        }
    }
    report.visit(&mut Printer { out: &mut out });
    if !verdicts.is_empty() {
        out.push('\n');
        verdicts.iter().for_each(|verdict| out.push_str(&format!("{verdict}\n")));
    }
    out
}

/// What a single run leaves open: expectations over the seeds of a sweep.
pub(crate) fn left_to_sweeps(expects: &[Expect]) -> String {
    match expects.iter().filter(|e| e.over != Over::Each).count() {
        0 => String::new(),
        1 => "one expectation is over seeds: `ropewalk sim sweep` judges it\n".into(),
        n => format!("{n} expectations are over seeds: `ropewalk sim sweep` judges them\n"),
    }
}

struct Printer<'a> {
    out: &'a mut String,
}

/// Tables that only a file is wanted of: their rows are many and seldom the question.
pub(crate) const QUIET: [&str; 1] = ["interface"];

impl TableVisitor for Printer<'_> {
    fn table<R: Row>(&mut self, rows: &[R]) {
        if rows.is_empty() || QUIET.contains(&R::TABLE) {
            return;
        }
        let numbers: Vec<Vec<Option<f64>>> = rows.iter().map(Row::numbers).collect();
        // A column of nothing but gaps and zeros says nothing.
        let says = |i: usize| numbers.iter().any(|row| row[i].is_some_and(|n| n != 0.0));
        let shown: Vec<usize> = (0..R::NUMBERS.len()).filter(|i| says(*i)).collect();
        let mut lines = vec![head::<R>(&shown)];
        for (row, numbers) in rows.iter().zip(&numbers) {
            let cells = shown.iter().map(|i| numbers[*i].map_or("-".to_owned(), round));
            lines.push([row.name().to_owned()].into_iter().chain(cells).collect());
        }
        self.out.push('\n');
        self.out.push_str(&aligned(&lines));
    }
}

fn head<R: Row>(shown: &[usize]) -> Vec<String> {
    let columns = shown.iter().map(|i| R::NUMBERS[*i].name.to_owned());
    [R::TABLE.to_owned()].into_iter().chain(columns).collect()
}

/// Columns under each other: the name to the left, numbers to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let cell = |(i, text): (usize, &String)| match i {
            0 => format!("{text:<0$}", widths[i]),
            _ => format!("{text:>0$}", widths[i]),
        };
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::report::{FlowRow, Provenance};

    #[test]
    fn a_report_reads_like_this() {
        let flow = |name: &str, goodput_mbps, rtt_ms| FlowRow {
            name: name.into(),
            goodput_mbps,
            rtt_ms,
            ..FlowRow::default()
        };
        let provenance = Provenance {
            title: "two".into(),
            seed: 7,
            duration_s: 10.0,
            warmup_s: 2.0,
            ..Provenance::default()
        };
        let flow = vec![flow("down-sta1", 12.345678, Some(20.0)), flow("up", 0.5, None)];
        let verdict = Verdict {
            metric: "flow.up.goodput_mbps".into(),
            value: Some(0.5),
            interval: None,
            wanted: "at least 1".into(),
            holds: false,
        };
        let text = render(&Report { provenance, flow, ..Report::default() }, &[verdict]);
        let want = "\
two: 8 s counted of 10 s, seed 7

flow       goodput_mbps  rtt_ms
down-sta1         12.35      20
up               0.5000       -

FAILS: flow.up.goodput_mbps is 0.5000, expected at least 1
";
        assert_eq!(text, want, "\n{text}");
    }
}
