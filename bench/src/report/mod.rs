//! What a run found, and how it is written down.

mod against;
mod markdown;
mod table;
mod text;

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::machine::Machine;
use crate::sample::{Unit, Value};

pub use against::{Change, Comparison};
pub use markdown::markdown;
pub use text::text;

/// A whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Where and when.
    pub machine: Machine,
    /// Shorter and fewer measurements than usual.
    pub quick: bool,
    /// In the order in which they were measured.
    pub rows: Vec<RowReport>,
}

/// One row of the table of targets.
#[derive(Debug, Clone, Serialize)]
pub struct RowReport {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures.
    pub what: &'static str,
    /// How: durations, repeats, what counts.
    pub method: String,
    /// How long it took, in s.
    pub took_s: f64,
    /// Its cases: one, or one for each environment.
    pub cases: Vec<Case>,
}

/// A row under one set of conditions.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// The conditions.
    pub name: String,
    /// What was measured.
    pub values: Vec<Value>,
    /// What follows from it.
    pub figures: Vec<Figure>,
}

/// A figure for which there is a target.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What it is.
    pub what: &'static str,
    /// In what.
    pub unit: Unit,
    /// Ropewalk's.
    pub ours: Option<f64>,
    /// The peers'.
    pub peers: Vec<(String, Option<f64>)>,
    /// What it should be.
    pub goal: Goal,
    /// Whether it is.
    pub verdict: Verdict,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goal {
    /// Which way is better.
    pub better: Better,
    /// What it has to reach.
    pub at_least: Option<f64>,
    /// What it is meant to reach.
    pub aim: Option<f64>,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
}

/// What a figure is against its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As meant.
    Aim,
    /// As it has to be.
    Pass,
    /// Worse.
    Miss,
    /// It could not be measured.
    Unknown,
    /// Nothing is asked of it here.
    Free,
}

impl Goal {
    /// More is better.
    pub fn at_least(at_least: f64, aim: f64) -> Goal {
        Goal { better: Better::Higher, at_least: Some(at_least), aim: Some(aim) }
    }

    /// Less is better.
    pub fn at_most(at_most: f64, aim: f64) -> Goal {
        Goal { better: Better::Lower, at_least: Some(at_most), aim: Some(aim) }
    }

    /// Only an aim.
    pub fn aim(aim: f64) -> Goal {
        Goal { better: Better::Higher, at_least: None, aim: Some(aim) }
    }

    /// Nothing is asked.
    pub fn none() -> Goal {
        Goal { better: Better::Higher, at_least: None, aim: None }
    }

    fn judge(&self, figure: Option<f64>) -> Verdict {
        let Some(figure) = figure else { return Verdict::Unknown };
        let reaches = |goal: f64| match self.better {
            Better::Higher => figure >= goal,
            Better::Lower => figure <= goal,
        };
        match (self.at_least, self.aim) {
            (None, None) => Verdict::Free,
            (_, Some(aim)) if reaches(aim) => Verdict::Aim,
            (Some(least), _) if reaches(least) => Verdict::Pass,
            _ => Verdict::Miss,
        }
    }

    /// As a user reads it: `at least 0.93 ×, aim 0.98 ×`.
    pub fn text(&self, unit: Unit) -> String {
        let bound = match self.better {
            Better::Higher => "at least",
            Better::Lower => "at most",
        };
        let least = self.at_least.map(|goal| format!("{bound} {}", unit.text(goal)));
        let aim = self.aim.map(|goal| format!("aim {}", unit.text(goal)));
        [least, aim].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Verdict {
    /// In a word; a miss is to be seen.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Aim => "aim",
            Verdict::Pass => "pass",
            Verdict::Miss => "MISS",
            Verdict::Unknown => "none",
            Verdict::Free => "",
        }
    }
}

impl Figure {
    /// Judges a figure.
    pub fn new(
        what: &'static str,
        unit: Unit,
        ours: Option<f64>,
        peers: impl IntoIterator<Item = (String, Option<f64>)>,
        goal: Goal,
    ) -> Figure {
        Figure { what, unit, ours, peers: peers.into_iter().collect(), goal, verdict: goal.judge(ours) }
    }
}

impl Case {
    /// The figure of one of its values.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|value| value.name == name)?.figure
    }
}

impl RowReport {
    /// The names of its figures, each once.
    fn figure_names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for figure in self.cases.iter().flat_map(|case| &case.figures) {
            if !names.contains(&figure.what) {
                names.push(figure.what);
            }
        }
        names
    }

    /// The worst case of a figure.
    fn worst(&self, what: &str) -> Option<(&Case, &Figure)> {
        let all = self.cases.iter().flat_map(|case| case.figures.iter().map(move |figure| (case, figure)));
        let all = all.filter(|(_, figure)| figure.what == what && figure.verdict != Verdict::Free);
        let badness = |figure: &Figure| {
            let sign = if figure.goal.better == Better::Higher { -1.0 } else { 1.0 };
            figure.ours.map_or(f64::INFINITY, |ours| ours * sign)
        };
        all.max_by(|(_, a), (_, b)| badness(a).total_cmp(&badness(b)))
    }
}

/// Writes `report.md` and `report.json` into a directory.
///
/// # Errors
/// If they cannot be written.
pub fn write(report: &Report, directory: &Path) -> Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    write_files(directory, [("report.md", markdown(report)), ("report.json", json)])
}

fn write_files(directory: &Path, files: [(&str, String); 2]) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for (name, content) in files {
        let path = directory.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let goal = Goal::at_least(0.9, 1.0);
        let judged = [Some(0.8), Some(0.9), Some(1.0), None].map(|figure| goal.judge(figure));
        assert_eq!(judged, [Verdict::Miss, Verdict::Pass, Verdict::Aim, Verdict::Unknown]);
        let judged = [0.2, 0.1, 0.0].map(|figure| Goal::at_most(0.1, 0.0).judge(Some(figure)));
        assert_eq!(judged, [Verdict::Miss, Verdict::Pass, Verdict::Aim]);
        assert_eq!(Goal::aim(0.88).judge(Some(0.8)), Verdict::Miss);
        assert_eq!(Goal::none().judge(Some(0.8)), Verdict::Free);
    }
}
