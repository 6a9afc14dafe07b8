//! What was expected, and whether it came out.

use crate::file::{Expect, Over};
use crate::report::{Metric, Report};
use crate::sweep::label_of;

/// How an expectation turned out.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was looked at.
    pub metric: String,
    /// What came out; none if the run has no such figure.
    pub value: Option<f64>,
    /// Its confidence interval, if one was asked for.
    pub interval: Option<(f64, f64)>,
    /// What it had to be.
    pub wanted: String,
    /// It is.
    pub holds: bool,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Verdict { metric, value, interval, wanted, holds } = self;
        let is = if *holds { "holds" } else { "FAILS" };
        let sure = interval.map_or_else(String::new, |(a, b)| format!(" ({} to {})", round(a), round(b)));
        match value {
            Some(value) => write!(f, "{is}: {metric} is {}{sure}, expected {wanted}", round(*value)),
            None => write!(f, "{is}: there is no {metric}, expected {wanted}"),
        }
    }
}

/// A number with as many digits as anyone wants to read.
pub fn round(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value}");
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.digits$}")
}

impl Expect {
    /// Whether it is about a run at this point of a sweep.
    pub fn concerns(&self, point: &[(String, String)]) -> bool {
        let is = |axis: &String, label: String| point.iter().any(|(a, l)| a == axis && *l == label);
        self.when.iter().all(|(axis, label)| is(axis, label_of(label)))
    }

    /// Bands of a figure that do not depend on other figures.
    pub(crate) fn fixed_bands(&self) -> Vec<(String, (f64, f64))> {
        let mut bands = Vec::new();
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        if let Some(min) = self.min {
            bands.push((format!("at least {}", round(min)), (min, high)));
        }
        if let Some(max) = self.max {
            bands.push((format!("at most {}", round(max)), (low, max)));
        }
        if let Some(within) = &self.within {
            let slack = within.of.abs() * within.tolerance.0;
            let text = format!("{} within {}%", round(within.of), round(within.tolerance.0 * 100.0));
            bands.push((text, (within.of - slack, within.of + slack)));
        }
        bands
    }

    fn bands(&self, report: &Report) -> Vec<(String, Option<(f64, f64)>)> {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut bands: Vec<_> =
            self.fixed_bands().into_iter().map(|(text, band)| (text, Some(band))).collect();
        if let Some(ratio) = &self.ratio {
            let other = ratio.to.parse::<Metric>().ok().and_then(|m| m.value(report));
            for (word, bound) in [("least", ratio.min), ("most", ratio.max)] {
                let Some(bound) = bound else { continue };
                let value = other.map_or("which there is not".into(), round);
                let text = format!("at {word} {} times {}, {value}", round(bound), ratio.to);
                let band = other.map(|o| if word == "least" { (bound * o, high) } else { (low, bound * o) });
                bands.push((text, band));
            }
        }
        bands
    }
}

/// Judges a report; an expectation with several bounds has as many verdicts. Those over the seeds of a sweep are not about one run.
pub fn judge(expects: &[Expect], report: &Report) -> Vec<Verdict> {
    let single = expects.iter().filter(|e| e.over == Over::Each);
    let concerned = single.filter(|e| e.concerns(&report.provenance.point));
    let of = |expect: &Expect| {
        let value = expect.metric.parse::<Metric>().ok().and_then(|m| m.value(report));
        let verdict = |(wanted, band): (String, Option<(f64, f64)>)| {
            let holds = matches!((value, band), (Some(v), Some((low, high))) if low <= v && v <= high);
            Verdict { metric: expect.metric.clone(), value, interval: None, wanted, holds }
        };
        expect.bands(report).into_iter().map(verdict).collect::<Vec<_>>()
    };
    concerned.flat_map(of).collect()
}
