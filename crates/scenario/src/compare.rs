//! Two reports side by side, and whether they agree within the bands of their file.

use crate::report::{Band, Metric, Report};
use crate::verdict::round;

/// A figure of two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Its name.
    pub metric: String,
    /// In the first report, and in the second; none where it has no such figure.
    pub values: [Option<f64>; 2],
    /// How far the second may be from the first; none: it is only shown.
    pub band: Option<(f64, f64)>,
}

impl Pair {
    /// The second as a multiple of the first; none where that says nothing.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = self.values;
        a.zip(b).filter(|(a, _)| *a != 0.0).map(|(a, b)| b / a)
    }

    /// Whether they agree; none if nobody says how far they may be apart. A figure that one report lacks agrees with nothing.
    pub fn agrees(&self) -> Option<bool> {
        let (low, high) = self.band?;
        Some(match self.values {
            [Some(_), Some(b)] => low <= b && b <= high,
            [None, None] => true,
            _ => false,
        })
    }

    /// The band as a user reads it.
    pub fn band_text(&self) -> String {
        self.band.map_or(String::new(), |(low, high)| format!("{} to {}", round(low), round(high)))
    }
}

/// Figures of flows that are shown although nobody says how far they may be apart.
const SHOWN: [&str; 12] = [
    "goodput_mbps",
    "completion_s",
    "loss_percent",
    "retransmissions",
    "rtt_ms",
    "rtt_p99_ms",
    "delay_ms",
    "response_ms",
    "psnr_db",
    "quality_mbps",
    "stalls",
    "stall_s",
];

fn pair(metric: &Metric, band: Option<&Band>, [a, b]: [&Report; 2]) -> Pair {
    let values = [metric.value(a), metric.value(b)];
    let around = |band: &Band| {
        let centre = values[0]?;
        let room = (centre.abs() * band.tolerance).max(band.slack);
        Some((centre - room, centre + room))
    };
    // Without a first value there is no band, but what has to agree and is missing must show.
    let band = band.map(|b| around(b).unwrap_or((f64::NAN, f64::NAN)));
    Pair { metric: metric.to_string(), values, band }
}

/// All figures that the bands of the first report are about, then what else of their flows there is to see.
pub fn pairs(first: &Report, second: &Report) -> Vec<Pair> {
    let mut all: Vec<Pair> = Vec::new();
    let mut add = |pair: Pair| {
        if !all.iter().any(|p| p.metric == pair.metric) {
            all.push(pair);
        }
    };
    for band in &first.bands {
        let Ok(metric) = band.metric.parse::<Metric>() else { continue };
        let rows = metric.each(first).into_iter().chain(metric.each(second));
        rows.for_each(|m| add(pair(&m, Some(band), [first, second])));
    }
    for table in ["flow", "subflow"] {
        for column in SHOWN {
            let Ok(metric) = format!("{table}.*.{column}").parse::<Metric>() else { continue };
            for m in metric.each(first) {
                let shown = pair(&m, None, [first, second]);
                // A pair of gaps or of zeros says nothing.
                if shown.values.iter().any(|v| v.is_some_and(|v| v != 0.0)) {
                    add(shown);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::FlowRow;

    fn report(goodput: &[(&str, f64)]) -> Report {
        let row = |(name, goodput_mbps): &(&str, f64)| FlowRow {
            name: (*name).into(),
            goodput_mbps: *goodput_mbps,
            ..FlowRow::default()
        };
        let band = |metric: &str, tolerance, slack| Band { metric: metric.into(), tolerance, slack };
        let bands = vec![band("flow.*.goodput_mbps", 0.1, 0.0), band("sum(flow.*.goodput_mbps)", 0.0, 1.0)];
        Report { flow: goodput.iter().map(row).collect(), bands, ..Report::default() }
    }

    fn agreement(a: &Report, b: &Report) -> Vec<(String, Option<bool>)> {
        pairs(a, b).into_iter().map(|p| (p.metric.clone(), p.agrees())).collect()
    }

    #[test]
    fn a_figure_agrees_within_its_band_only() {
        let a = report(&[("down", 20.0), ("up", 5.0)]);
        let told = agreement(&a, &report(&[("down", 21.9), ("up", 4.6)]));
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["flow.down.goodput_mbps", "flow.up.goodput_mbps", "sum(flow.*.goodput_mbps)"]);
        assert_eq!(told.iter().map(|t| t.1).collect::<Vec<_>>(), [Some(true), Some(true), Some(false)]);
        let apart = agreement(&a, &report(&[("down", 22.1), ("up", 4.4)]));
        assert_eq!(apart.iter().map(|t| t.1).collect::<Vec<_>>(), [Some(false), Some(false), Some(false)]);
    }

    #[test]
    fn what_one_report_lacks_does_not_agree() {
        let (a, b) = (report(&[("down", 20.0)]), report(&[("other", 20.0)]));
        for (metric, agrees) in agreement(&a, &b) {
            let sum = metric.starts_with("sum");
            assert_eq!(agrees, Some(sum), "{metric}");
        }
    }

    #[test]
    fn the_ratio_is_of_the_second_to_the_first() {
        let pair = |values| Pair { metric: String::new(), values, band: None };
        assert_eq!(pair([Some(4.0), Some(5.0)]).ratio(), Some(1.25));
        assert_eq!(pair([Some(0.0), Some(5.0)]).ratio(), None);
        assert_eq!(pair([None, Some(5.0)]).ratio(), None);
    }
}
