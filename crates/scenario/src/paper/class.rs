//! Classes of runs of two subflows, by their time series: what the dual-band poster saw, with numbers.

use super::file::Rule;
use crate::report::{Report, Series};

/// Over how much of a run's end the ideal is judged, and its share of what both carry alone.
const IDEAL: (f64, f64) = (8.0, 0.95);
/// The fast subflow has taken over at this share of what it carries alone: 1.5 of 1.9 Gbit/s.
const TAKEN: f64 = 0.79;
/// For how long it has to stay there, s.
const STAYS: f64 = 0.5;
/// How long a collapse lasts, s, and how far below the median it is.
const COLLAPSE: (f64, f64) = (2.0, 1.0 / 3.0);

/// Figures of a run for a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Classified {
    /// 1 for the class of the run, 0 for the others: ideal, late, collapse, other.
    pub classes: [f64; 4],
    /// Until the fast subflow came to its rate, s; 0 if it never did.
    pub takes_s: f64,
    /// What the fast subflow carried until then, Mbit/s; 0 if it was there from the first interval on, or never.
    pub start_mbps: f64,
    /// What the slow subflow carried from then on, Mbit/s; 0 if that never was.
    pub left_mbps: f64,
    /// Largest round trip of the fast subflow, mean of an interval, ms.
    pub fast_rtt_ms: f64,
    /// The same of the slow one.
    pub slow_rtt_ms: f64,
    /// Of what both carry alone, over the last eight seconds.
    pub share: f64,
}

/// Names of what [`Classified`] has, in a metric.
pub const FIGURES: [&str; 10] = [
    "ideal",
    "late",
    "collapse",
    "other",
    "takes_s",
    "start_mbps",
    "left_mbps",
    "fast_rtt_ms",
    "slow_rtt_ms",
    "share",
];

impl Classified {
    /// The figure of one of [`FIGURES`].
    pub fn figure(&self, name: &str) -> Option<f64> {
        let [ideal, late, collapse, other] = self.classes;
        let all = [
            ideal,
            late,
            collapse,
            other,
            self.takes_s,
            self.start_mbps,
            self.left_mbps,
            self.fast_rtt_ms,
            self.slow_rtt_ms,
            self.share,
        ];
        FIGURES.iter().position(|figure| *figure == name).map(|place| all[place])
    }
}

/// A run in intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// Length of an interval, s.
    pub every_s: f64,
    /// Fast and slow subflow, Mbit/s.
    pub mbps: [Vec<f64>; 2],
    /// Fast and slow subflow, ms; 0 without a sample.
    pub rtt_ms: [Vec<f64>; 2],
    /// Segments sent again.
    pub again: Vec<f64>,
}

impl Bins {
    /// Of a report; none if it has no such series.
    pub fn of(report: &Report, rule: &Rule) -> Option<Bins> {
        let series = &report.series;
        let subflow = |interface: &str, figure: &str| {
            column(series, &format!("subflow.{}:{interface}.{figure}", rule.flow))
        };
        let both = |figure: &str| Some([subflow(&rule.fast, figure)?, subflow(&rule.slow, figure)?]);
        Some(Bins {
            every_s: series.interval_s,
            mbps: both("goodput_mbps")?,
            rtt_ms: both("rtt_ms")?,
            again: column(series, &format!("flow.{}.retransmissions", rule.flow))?,
        })
    }

    /// The same of a run whose air was not so many times slower.
    #[must_use]
    pub fn undilated(mut self, dilation: f64) -> Bins {
        self.every_s /= dilation;
        self.mbps.iter_mut().flatten().for_each(|mbps| *mbps *= dilation);
        self.rtt_ms.iter_mut().flatten().for_each(|ms| *ms /= dilation);
        self
    }

    fn count(&self, seconds: f64) -> usize {
        (seconds / self.every_s).round() as usize
    }
}

/// A column with zeros where nothing is said: a subflow that is not open yet carries nothing.
fn column(series: &Series, name: &str) -> Option<Vec<f64>> {
    let place = series.columns.iter().position(|c| c == name)?;
    Some(series.rows.iter().map(|row| row.get(place).copied().flatten().unwrap_or(0.0)).collect())
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The value below which this share of all is.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(0.0)
}

/// What a rule says of a run.
pub fn classify(bins: &Bins, rule: &Rule) -> Classified {
    let [fast, slow] = &bins.mbps;
    let total: Vec<f64> = fast.iter().zip(slow).map(|(a, b)| a + b).collect();
    let end = &total[total.len().saturating_sub(bins.count(IDEAL.0))..];
    let share = mean(end) / rule.alone.iter().sum::<f64>();
    let stays = bins.count(STAYS).max(1);
    let level = TAKEN * rule.alone[0];
    let taken = fast.windows(stays).position(|w| w[0] >= level && mean(w) >= level);
    let (takes_s, start_mbps, left_mbps) =
        taken.map_or((0.0, 0.0, 0.0), |at| (at as f64 * bins.every_s, mean(&fast[..at]), mean(&slow[at..])));
    let within = |bounds: &[f64], x: f64| bounds[0] <= x && x <= bounds[1];
    let is_late = taken.is_some() && within(&rule.takes, takes_s) && within(&rule.left, left_mbps);
    let place = match (is_collapsed(bins, &total, rule.rtt), share >= IDEAL.1, is_late) {
        (true, ..) => 2,
        (_, true, _) => 0,
        (.., true) => 1,
        _ => 3,
    };
    let mut classes = [0.0; 4];
    classes[place] = 1.0;
    Classified {
        classes,
        takes_s,
        start_mbps,
        left_mbps,
        fast_rtt_ms: most(&bins.rtt_ms[0]),
        slow_rtt_ms: most(&bins.rtt_ms[1]),
        share,
    }
}

fn is_collapsed(bins: &Bins, total: &[f64], rtt_ms: f64) -> bool {
    let length = bins.count(COLLAPSE.0).max(1);
    let least = COLLAPSE.1 * quantile(total, 0.5);
    (0..(total.len() + 1).saturating_sub(length)).any(|at| {
        let span = at..at + length;
        quantile(&total[span.clone()], 0.1) < least
            && most(&bins.rtt_ms[0][span.clone()]) >= rtt_ms
            && most(&bins.again[span]) == 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> Rule {
        let text = |s: &str| s.to_owned();
        Rule {
            name: text("at10"),
            flow: text("down"),
            fast: text("client:wlan0"),
            slow: text("client:wlan1"),
            alone: vec![1900.0, 550.0],
            takes: vec![0.5, 4.0],
            left: vec![50.0, 400.0],
            rtt: 40.0,
        }
    }

    /// Ten seconds of 0.1 s; a tuple for each: fast, slow, round trip of the fast one, sent again.
    fn bins(of: impl Fn(usize) -> (f64, f64, f64, f64)) -> Bins {
        let all: Vec<_> = (0..100).map(of).collect();
        Bins {
            every_s: 0.1,
            mbps: [all.iter().map(|b| b.0).collect(), all.iter().map(|b| b.1).collect()],
            rtt_ms: [all.iter().map(|b| b.2).collect(), all.iter().map(|b| 3.0 * b.2).collect()],
            again: all.iter().map(|b| b.3).collect(),
        }
    }

    fn class(of: impl Fn(usize) -> (f64, f64, f64, f64)) -> [f64; 4] {
        classify(&bins(of), &rule()).classes
    }

    const IDEAL_RUN: [f64; 4] = [1.0, 0.0, 0.0, 0.0];
    const LATE_RUN: [f64; 4] = [0.0, 1.0, 0.0, 0.0];
    const COLLAPSED_RUN: [f64; 4] = [0.0, 0.0, 1.0, 0.0];
    const OTHER_RUN: [f64; 4] = [0.0, 0.0, 0.0, 1.0];

    #[test]
    fn the_sum_over_the_last_eight_seconds_is_ideal() {
        assert_eq!(class(|_| (1900.0, 550.0, 3.0, 0.0)), IDEAL_RUN);
        assert_eq!(
            class(|i| if i < 20 { (0.0, 0.0, 0.0, 0.0) } else { (1900.0, 550.0, 3.0, 0.0) }),
            IDEAL_RUN
        );
        // 0.94 of the sum, from the start on: nothing that has a name.
        assert_eq!(class(|_| (0.94 * 1900.0, 0.94 * 550.0, 3.0, 0.0)), OTHER_RUN);
    }

    #[test]
    fn a_fast_subflow_that_comes_late_and_leaves_the_slow_one_little_is_late() {
        let run = |until: usize, left: f64| {
            move |i: usize| if i < until { (1200.0, 540.0, 3.0, 0.0) } else { (1890.0, left, 4.0, 0.0) }
        };
        let found = classify(&bins(run(20, 100.0)), &rule());
        assert_eq!(found.classes, LATE_RUN);
        assert_eq!((found.takes_s, found.start_mbps, found.left_mbps), (2.0, 1200.0, 100.0));
        assert_eq!(found.slow_rtt_ms, 12.0);
        assert_eq!(class(run(2, 100.0)), OTHER_RUN, "0.2 s is not late");
        assert_eq!(class(run(50, 100.0)), OTHER_RUN, "5 s are more than the poster saw");
        assert_eq!(class(run(20, 20.0)), OTHER_RUN);
        assert_eq!(class(run(20, 540.0)), IDEAL_RUN, "both carry all");
        // A single interval at the full rate is no transition.
        let once = |i: usize| if i == 20 { (1890.0, 100.0, 3.0, 0.0) } else { (1200.0, 300.0, 3.0, 0.0) };
        assert_eq!(class(once), OTHER_RUN);
    }

    #[test]
    fn two_seconds_of_holes_with_long_round_trips_and_no_losses_are_a_collapse() {
        let holes = |span: core::ops::Range<usize>, rtt: f64, again: f64| {
            move |i: usize| match (span.contains(&i), i % 3) {
                (true, 0) => (100.0, 20.0, rtt, again),
                (true, _) => (1500.0, 300.0, rtt, again),
                _ => (1900.0, 550.0, 3.0, 0.0),
            }
        };
        assert_eq!(class(holes(40..70, 50.0, 0.0)), COLLAPSED_RUN);
        assert_eq!(class(holes(40..70, 10.0, 0.0)), OTHER_RUN, "round trips are short");
        assert_eq!(class(holes(40..70, 50.0, 3.0)), OTHER_RUN, "losses would explain it");
        assert_eq!(class(holes(40..43, 50.0, 0.0)), IDEAL_RUN, "one hole is no collapse");
    }

    #[test]
    fn a_short_or_empty_run_has_no_class_of_its_own() {
        assert_eq!(classify(&Bins { every_s: 0.1, ..Bins::default() }, &rule()).classes, OTHER_RUN);
    }

    #[test]
    fn every_figure_has_a_name() {
        let found = classify(&bins(|_| (1900.0, 550.0, 3.0, 0.0)), &rule());
        assert!(FIGURES.iter().all(|name| found.figure(name).is_some()));
        assert_eq!(found.figure("ideal"), Some(1.0));
        assert_eq!(found.figure("idle"), None);
    }
}
