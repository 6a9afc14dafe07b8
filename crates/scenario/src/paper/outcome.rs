//! What became of a claim.

use super::file::Claim;
use super::formula::{self, FormulaError, Value};
use crate::tree::{Node, Value as Said};
use crate::verdict::round;
use std::fmt;

/// What a paper reported.
#[derive(Clone, Debug, PartialEq)]
pub enum Reported {
    /// A number, or the least and the most.
    Range(f64, f64),
    /// Words.
    Words(String),
}

/// Where a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// At least.
    pub least: f64,
    /// At most.
    pub most: f64,
}

/// How a claim turned out.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The figure is in its band.
    Reproduced(f64),
    /// It is outside; with the reason if the file has one.
    Differs(f64, Option<String>),
    /// What it needs was not run.
    NotRun,
    /// Something that it needs does not exist here: what.
    Missing(String),
    /// It is part of the setup: where it is set.
    Setting(String),
    /// No model can say it, for this reason.
    WithoutRadios(String),
}

impl Reported {
    /// Of a value in the file; none if it is neither a number, nor two, nor a text.
    pub fn of(node: &Node) -> Option<Reported> {
        let number = |node: &Node| match node.value {
            Said::Whole(n) => Some(n as f64),
            Said::Real(x) => Some(x),
            _ => None,
        };
        match &node.value {
            Said::Text(text) => Some(Reported::Words(text.clone())),
            Said::List(list) => match &list[..] {
                [a, b] => Some(Reported::Range(number(a)?, number(b)?)),
                _ => None,
            },
            _ => number(node).map(|x| Reported::Range(x, x)),
        }
    }

    /// The number, or the middle of two.
    pub fn number(&self) -> Option<f64> {
        match self {
            Reported::Range(a, b) => Some((a + b) / 2.0),
            Reported::Words(_) => None,
        }
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // As the paper has it, not rounded.
            Reported::Range(a, b) if a == b => write!(f, "{a}"),
            Reported::Range(a, b) => write!(f, "{a} to {b}"),
            Reported::Words(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least.is_finite(), self.most.is_finite()) {
            (true, true) => write!(f, "{} to {}", round(self.least), round(self.most)),
            (true, false) => write!(f, "at least {}", round(self.least)),
            (false, true) => write!(f, "at most {}", round(self.most)),
            (false, false) => Ok(()),
        }
    }
}

impl Claim {
    /// What was reported.
    pub fn reported(&self) -> Option<Reported> {
        Reported::of(&self.reported)
    }

    /// Where its figure has to be; none if the file gives no bound.
    pub fn band(&self) -> Option<Band> {
        let around = self.tolerance.and_then(|share| match self.reported()? {
            Reported::Range(a, b) => Some(Band { least: a - a.abs() * share.0, most: b + b.abs() * share.0 }),
            Reported::Words(_) => None,
        });
        let (low, high) = around.map_or((f64::NEG_INFINITY, f64::INFINITY), |b| (b.least, b.most));
        let band = Band {
            least: self.min.map_or(low, |m| m.max(low)),
            most: self.max.map_or(high, |m| m.min(high)),
        };
        (band.least.is_finite() || band.most.is_finite()).then_some(band)
    }

    /// Whether its figure needs no run: arithmetic on what the paper says.
    pub fn is_arithmetic(&self) -> bool {
        let none = |name: &str| Err(FormulaError::NotRun(name.to_owned()));
        self.value.as_ref().is_some_and(|text| formula::number(text, &none).is_ok())
    }

    /// How it turned out under `driver` (`sim` or `lab`), whose figures `series` gives.
    pub fn outcome(&self, driver: &str, series: &dyn Fn(&str) -> Result<Value, FormulaError>) -> Outcome {
        if let Some(setting) = &self.setting {
            return Outcome::Setting(setting.clone());
        }
        if let Some(what) = &self.missing {
            return Outcome::Missing(what.clone());
        }
        if let Some(reason) = &self.without_radios {
            return Outcome::WithoutRadios(reason.clone());
        }
        let Some(value) = self.value.as_ref().and_then(|text| formula::number(text, series).ok()) else {
            return Outcome::NotRun;
        };
        let holds = self.band().is_some_and(|b| b.least <= value && value <= b.most);
        if holds {
            Outcome::Reproduced(value)
        } else {
            Outcome::Differs(value, self.because.get(driver).cloned())
        }
    }
}
