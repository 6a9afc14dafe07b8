//! A report for the terminal.

use super::table::{self, Table};
use super::{Report, RowReport};

/// The whole report.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    for row in &report.rows {
        out += &row_text(row);
        out += "\n";
    }
    out += "Summary, the worst case of each figure\n";
    out += &grid(&table::summary(report));
    out += &format!("\n{}\n", report.machine.line());
    if report.quick {
        out += "Quick run: shorter and fewer measurements than a figure that is quoted needs.\n";
    }
    out
}

fn row_text(row: &RowReport) -> String {
    let mut out = format!("{}: {}\n  {} ({:.0} s)\n", row.name, row.what, row.method, row.took_s);
    table::goals(row).iter().for_each(|goal| out += &format!("  {goal}\n"));
    out += &grid(&table::cases(row));
    table::notes(row).iter().for_each(|note| out += &format!("  * {note}\n"));
    out
}

/// Columns as wide as their widest cell, numbers to the right.
pub(crate) fn grid(table: &Table) -> String {
    let lines = || std::iter::once(&table.head).chain(&table.lines);
    let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    let numeric = |column: usize| {
        let mut cells = table.lines.iter().map(|line| line[column].as_str());
        cells.all(|cell| cell.is_empty() || cell == "–" || cell.parse::<f64>().is_ok())
    };
    let right: Vec<bool> = (0..widths.len()).map(numeric).collect();
    let row = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(i, cell)| match right[i] {
            true => format!("{cell:>width$}", width = widths[i]),
            false => format!("{cell:<width$}", width = widths[i]),
        });
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ");
    let mut out = row(&table.head) + &format!("  {rule}\n");
    table.lines.iter().for_each(|line| out += &row(line));
    out
}
