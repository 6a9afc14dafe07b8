//! A report for the documentation.

use super::table::{self, Table};
use super::{Report, RowReport};

/// The whole report, written by the program: nobody types a figure.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("# Ropewalk beside its peers\n\n{}\n\n", report.machine.line());
    if report.quick {
        out += "*Quick run: shorter and fewer measurements than a figure that is quoted needs.*\n\n";
    }
    out += "## Summary, the worst case of each figure\n\n";
    out += &grid(&table::summary(report));
    report.rows.iter().for_each(|row| out += &row_markdown(row));
    out
}

fn row_markdown(row: &RowReport) -> String {
    let mut out = format!("\n## `{}`: {}\n\n{}\n\n", row.name, row.what, row.method);
    table::goals(row).iter().for_each(|goal| out += &format!("- {goal}\n"));
    out += "\n";
    out += &grid(&table::cases(row));
    let notes = table::notes(row);
    if !notes.is_empty() {
        out += "\nRemarks:\n\n";
        notes.iter().for_each(|note| out += &format!("- {}\n", escape(note)));
    }
    out
}

pub(super) fn grid(table: &Table) -> String {
    let row = |line: &Vec<String>| {
        let cells = line.iter().map(|cell| escape(cell)).collect::<Vec<_>>();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = row(&table.head) + &format!("|{}\n", "---|".repeat(table.head.len()));
    table.lines.iter().for_each(|line| out += &row(line));
    out
}

fn escape(cell: &str) -> String {
    cell.replace('|', "\\|")
}
