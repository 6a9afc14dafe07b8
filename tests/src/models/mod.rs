//! What the models are held against, without ns-3 at hand: formulae, analyses, and figures that were stored with their source.
//!
//! Each check gives a [`Table`]. `./run models` prints them into the pages of `docs/models` (example `models`); the test `models` holds the
//! quick ones in CI. A row passes if the model's figure is within its band of what is expected.

pub mod cell;
pub mod page;
pub mod theory;

mod channels;
mod choices;
mod contention;
mod hwsim;
mod ns3;
mod phy;
mod reception;
mod sender;

use std::fmt::Write;

/// A figure of the model beside what is expected.
#[derive(Debug, Clone)]
pub struct Row {
    /// What was measured.
    pub case: String,
    /// What should come out; the nearest edge counts if it is a range.
    pub expected: (f64, f64),
    /// What came out.
    pub got: f64,
    /// How far it may be off, as a share of what is expected, or of `whole`.
    pub band: f64,
    /// What shares are of, if not of what is expected: for a station that is all but starved, a fair share.
    pub whole: Option<f64>,
}

impl Row {
    /// A row with one expected value.
    pub fn new(case: impl Into<String>, expected: f64, got: f64, band: f64) -> Row {
        Row::between(case, (expected, expected), got, band)
    }

    /// A row with a range of expected values.
    pub fn between(case: impl Into<String>, expected: (f64, f64), got: f64, band: f64) -> Row {
        Row { case: case.into(), expected, got, band, whole: None }
    }

    /// How far it is off the nearest edge of what is expected, as a share with its sign.
    pub fn off(&self) -> f64 {
        let (low, high) = self.expected;
        let edge = self.got.clamp(low, high);
        if self.got == edge { 0.0 } else { (self.got - edge) / self.whole.unwrap_or(edge) }
    }

    /// Whether it is within its band.
    pub fn holds(&self) -> bool {
        self.off().abs() <= self.band
    }
}

/// Rows of one kind.
#[derive(Debug, Clone)]
pub struct Table {
    /// The name of its markers in the page.
    pub name: &'static str,
    /// What the figures are, and their unit.
    pub unit: &'static str,
    /// Where the expected ones come from.
    pub source: &'static str,
    /// Rows.
    pub rows: Vec<Row>,
}

impl Table {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut text =
            format!("| case | {} | {} | off | band |\n|---|---|---|---|---|\n", self.source, self.unit);
        for row in &self.rows {
            let (low, high) = row.expected;
            let expected =
                if low == high { figure(low) } else { format!("{} to {}", figure(low), figure(high)) };
            let mark = if row.holds() { "" } else { " **outside**" };
            let (off, band) = (100.0 * row.off(), 100.0 * row.band);
            let (case, got) = (&row.case, figure(row.got));
            let _ = writeln!(text, "| {case} | {expected} | {got} | {off:+.2} % | {band:.1} %{mark} |");
        }
        text
    }

    /// The rows outside their band, one to a line; empty if all hold. A table without rows fails.
    pub fn failures(&self) -> String {
        if self.rows.is_empty() {
            return format!("{}: there are no rows\n", self.name);
        }
        let outside = self.rows.iter().filter(|row| !row.holds());
        outside.fold(String::new(), |mut text, row| {
            let _ = writeln!(
                text,
                "{}: {}: expected {:?}, got {} ({:+.2} %)",
                self.name,
                row.case,
                row.expected,
                row.got,
                100.0 * row.off()
            );
            text
        })
    }
}

/// Four digits that matter.
fn figure(value: f64) -> String {
    let digits = 4 - (value.abs().max(0.1).log10().floor() as i32 + 1);
    format!("{value:.*}", digits.clamp(0, 4) as usize)
}

/// A check.
pub struct Check {
    /// Makes the table.
    pub run: fn() -> Table,
    /// Whether it is quick enough for every run of the tests.
    pub quick: bool,
}

/// All checks, in the order of the page.
pub const CHECKS: &[Check] = &[
    Check { run: phy::half_loss, quick: true },
    Check { run: phy::slope, quick: true },
    Check { run: sender::closed_form, quick: true },
    Check { run: contention::bianchi, quick: true },
    Check { run: contention::partly_understood, quick: false },
    Check { run: contention::oracle, quick: true },
    Check { run: ns3::quick, quick: true },
    Check { run: ns3::all, quick: false },
    Check { run: hwsim::udp, quick: true },
    Check { run: hwsim::tcp, quick: true },
    Check { run: hwsim::beside_ns3, quick: true },
    Check { run: hwsim::rates, quick: false },
    Check { run: hwsim::controls, quick: false },
    Check { run: reception::attempts, quick: true },
    Check { run: reception::capture, quick: true },
    Check { run: reception::fading, quick: true },
    Check { run: choices::minstrel_ht, quick: true },
    Check { run: channels::overlap, quick: true },
];
