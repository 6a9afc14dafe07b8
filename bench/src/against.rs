//! The same rows with two builds of Ropewalk, in turn.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::bench::Bench;
use crate::machine::Machine;
use crate::report::{Change, Comparison, RowReport};
use crate::rows::Row;

/// How often each measurement is made with each build, if nobody says.
pub const REPEATS: u32 = 5;

/// Measures Ropewalk's part of `rows` with the bench's own binary and with `before`: one and the other, then the other
/// and the one, and so on. Both have the same links in each round. The bench's plan is to be for Ropewalk alone.
///
/// # Errors
/// If a row measures no binary, or the lab cannot be built.
pub fn run(mut bench: Bench, machine: Machine, rows: &[&'static Row], before: &Path) -> Result<Comparison> {
    for row in rows {
        ensure!(
            row.by_binary,
            "row {} measures this program's own code: there is nothing to compare",
            row.name
        );
    }
    let now = bench.programs.ropewalk.clone().context("there is no ropewalk binary")?;
    let repeats = bench.plan.repeats(REPEATS);
    let mut comparison = Comparison {
        machine,
        before: before.display().to_string(),
        repeats,
        quick: bench.plan.quick,
        figures: Vec::new(),
        notes: Vec::new(),
    };
    bench.plan.repeat = Some(1);
    for row in rows {
        for round in 0..repeats {
            bench.plan.rounds_before = round;
            let mut turns = [(&now, false), (&before.to_owned(), true)];
            if round % 2 == 1 {
                turns.reverse();
            }
            for turn in turns {
                one(&mut bench, row, turn, &mut comparison)?;
            }
        }
    }
    bench.progress.finish();
    Ok(comparison)
}

fn one(
    bench: &mut Bench,
    row: &'static Row,
    (program, is_before): (&PathBuf, bool),
    comparison: &mut Comparison,
) -> Result<()> {
    let build = if is_before { "before" } else { "now" };
    bench.progress.say(&format!("round {}, {build}:", bench.plan.rounds_before + 1));
    bench.programs.ropewalk = Some(program.clone());
    merge(comparison, row.run(bench)?, build, is_before);
    Ok(())
}

fn merge(comparison: &mut Comparison, report: RowReport, build: &str, is_before: bool) {
    for case in report.cases {
        for value in case.values {
            let name =
                value.name.strip_prefix("ropewalk").unwrap_or(&value.name).trim_start_matches([',', ' ']);
            let what = if name.is_empty() { case.name.clone() } else { format!("{}: {name}", case.name) };
            let is = |change: &Change| change.row == report.name && change.what == what;
            let known = comparison.figures.iter().position(is).unwrap_or_else(|| {
                let (now, before) = (Vec::new(), Vec::new());
                comparison.figures.push(Change {
                    row: report.name,
                    what: what.clone(),
                    unit: value.unit,
                    now,
                    before,
                });
                comparison.figures.len() - 1
            });
            let change = &mut comparison.figures[known];
            let samples = if is_before { &mut change.before } else { &mut change.now };
            samples.extend(&value.samples);
            if value.samples.is_empty() {
                let notes = value.notes.join("; ");
                comparison.notes.push(format!("{}, {what}, {build}: no figure: {notes}", report.name));
            }
            if value.disturbed > 0 {
                comparison
                    .notes
                    .push(format!("{}, {what}, {build}: other programs were at work", report.name));
            }
        }
    }
}
