//! Two builds side by side.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::table::Table;
use super::{Better, markdown, text};
use crate::machine::Machine;
use crate::sample::{Unit, median};

/// A change of the median of more than this share is told.
const TELLING: f64 = 0.03;

/// What two builds showed of the same rows.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Where and when, with the build that is judged.
    pub machine: Machine,
    /// The build beside it.
    pub before: String,
    /// How often each measurement was made with each.
    pub repeats: u32,
    /// Shorter measurements than usual.
    pub quick: bool,
    /// In the order in which they were measured.
    pub figures: Vec<Change>,
    /// Why some measurements gave no figure, and what disturbed others.
    pub notes: Vec<String>,
}

/// One figure of both builds.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The row's name.
    pub row: &'static str,
    /// The case, and what was measured if that is not Ropewalk's only figure there.
    pub what: String,
    /// In what.
    pub unit: Unit,
    /// Samples of the build that is judged.
    pub now: Vec<f64>,
    /// Samples of the other.
    pub before: Vec<f64>,
}

/// What became of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Better by more than 3 %.
    Better,
    /// Within 3 %.
    Same,
    /// Worse by more than 3 %.
    Worse,
    /// One of the builds gave no figure.
    Unknown,
}

impl Change {
    /// Now over before.
    pub fn ratio(&self) -> Option<f64> {
        median(&self.now)
            .zip(median(&self.before))
            .filter(|(_, before)| *before != 0.0)
            .map(|(now, was)| now / was)
    }

    /// Whether that is better or worse.
    pub fn judge(&self) -> Judgement {
        let Some((now, before)) = median(&self.now).zip(median(&self.before)) else {
            return Judgement::Unknown;
        };
        let gain = match self.unit.better() {
            Better::Higher => now - before,
            Better::Lower => before - now,
        };
        let telling = TELLING * before.abs();
        match gain {
            gain if gain < -telling => Judgement::Worse,
            gain if gain > telling => Judgement::Better,
            _ => Judgement::Same,
        }
    }

    fn cells(&self) -> Vec<String> {
        let figure = |samples: &[f64]| {
            let least = samples.iter().copied().reduce(f64::min);
            let most = samples.iter().copied().reduce(f64::max);
            let number = |value| self.unit.number(value);
            match (median(samples), least, most) {
                (Some(median), Some(least), Some(most)) => {
                    format!("{} ({}–{})", self.unit.text(median), number(least), number(most))
                }
                _ => "–".to_owned(),
            }
        };
        let word = match self.judge() {
            Judgement::Better => "better",
            Judgement::Same => "same",
            Judgement::Worse => "WORSE",
            Judgement::Unknown => "none",
        };
        let ratio = self.ratio().map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
        vec![
            self.row.to_owned(),
            self.what.clone(),
            figure(&self.before),
            figure(&self.now),
            ratio,
            word.to_owned(),
        ]
    }
}

impl Comparison {
    /// The figures that are worse, or could not be compared.
    pub fn failed(&self) -> impl Iterator<Item = &Change> {
        self.figures.iter().filter(|change| matches!(change.judge(), Judgement::Worse | Judgement::Unknown))
    }

    fn table(&self) -> Table {
        let head = ["row", "figure", "before", "now", "now/before", "verdict"].map(String::from).to_vec();
        Table { head, lines: self.figures.iter().map(Change::cells).collect() }
    }

    fn method(&self) -> String {
        let quick =
            if self.quick { " Quick: each was shorter than a figure that is quoted needs." } else { "" };
        format!(
            "Medians of {} (least–most), the builds in turn. Worse or better: by more than {:.0} %.{quick}",
            self.repeats,
            100.0 * TELLING
        )
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("  * {note}\n")).collect::<String>();
        let (grid, method, machine) = (text::grid(&self.table()), self.method(), self.machine.line());
        format!("{grid}{notes}\n{method}\n{machine}\nbefore: {}\n", self.before)
    }

    /// For the documentation.
    pub fn markdown(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("- {note}\n")).collect::<String>();
        let (grid, method, machine) = (markdown::grid(&self.table()), self.method(), self.machine.line());
        format!(
            "# Two builds of Ropewalk\n\n{machine}; before: {}\n\n{method}\n\n{grid}\n{notes}",
            self.before
        )
    }

    /// Writes `against.md` and `against.json` into a directory.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)?;
        let files = [("against.md", self.markdown()), ("against.json", json)];
        super::write_files(directory, files).context("the comparison is not kept")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(unit: Unit, before: &[f64], now: &[f64]) -> Change {
        Change { row: "x", what: "y".to_owned(), unit, now: now.to_vec(), before: before.to_vec() }
    }

    #[test]
    fn a_change_of_more_than_three_per_cent_counts() {
        let judge = |unit, before: f64, now: f64| change(unit, &[before], &[now]).judge();
        assert_eq!(judge(Unit::Mbps, 100.0, 96.9), Judgement::Worse);
        assert_eq!(judge(Unit::Mbps, 100.0, 97.1), Judgement::Same);
        assert_eq!(judge(Unit::Mbps, 100.0, 103.1), Judgement::Better);
        assert_eq!(judge(Unit::Ms, 100.0, 103.1), Judgement::Worse);
        assert_eq!(judge(Unit::MiB, 100.0, 96.9), Judgement::Better);
        assert_eq!(judge(Unit::Percent, 0.0, 0.1), Judgement::Worse);
        assert_eq!(judge(Unit::Percent, 0.0, 0.0), Judgement::Same);
        assert_eq!(change(Unit::Ms, &[], &[1.0]).judge(), Judgement::Unknown);
    }

    #[test]
    fn the_median_is_judged() {
        let change = change(Unit::Mbps, &[100.0, 90.0, 500.0], &[98.0, 1.0, 99.0]);
        assert_eq!((change.judge(), change.ratio()), (Judgement::Same, Some(0.98)));
        assert_eq!(change.cells()[2..], ["100.0 Mb/s (90.0–500)", "98.0 Mb/s (1.0–99.0)", "0.980", "same"]);
    }
}
