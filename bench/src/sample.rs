//! One measurement, and many of one thing.

use serde::Serialize;

use crate::report::Better;

/// What one measurement gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// The figure; none where the measurement failed or does not count.
    pub value: Option<f64>,
    /// Why it does not count, or what else was seen.
    pub notes: Vec<String>,
    /// What other programs on the machine took meanwhile, in processors.
    pub others: f64,
}

/// Above this share of a processor, other programs disturb.
pub(crate) const DISTURBANCE: f64 = 0.1;

impl Sample {
    /// A figure that counts.
    pub fn of(value: f64) -> Sample {
        Sample { value: Some(value), ..Sample::default() }
    }

    /// No figure, and why.
    pub fn none(why: impl Into<String>) -> Sample {
        Sample { notes: vec![why.into()], ..Sample::default() }
    }

    /// Other programs were at work on the same machine.
    pub fn is_disturbed(&self) -> bool {
        self.others > DISTURBANCE
    }

    /// The same with a remark.
    pub fn note(mut self, note: impl Into<String>) -> Sample {
        self.notes.push(note.into());
        self
    }
}

/// How samples become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduce {
    /// The middle one; of an even number the mean of the middle two.
    Median,
    /// The mean: of shares of packets, which are all alike.
    Mean,
    /// The largest.
    Largest,
}

/// What a figure is counted in, and how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Mb/s (10⁶ bit/s).
    #[serde(rename = "Mb/s")]
    Mbps,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Microseconds.
    #[serde(rename = "µs")]
    Us,
    /// Of a hundred.
    #[serde(rename = "%")]
    Percent,
    /// Things.
    #[serde(rename = "")]
    Count,
    /// Per second of one processor.
    #[serde(rename = "/s")]
    PerSecond,
    /// 2²⁰ bytes.
    #[serde(rename = "MiB")]
    MiB,
    /// Nanoseconds of a processor for each byte.
    #[serde(rename = "ns/B")]
    NsPerByte,
    /// A ratio.
    #[serde(rename = "×")]
    Times,
}

impl Unit {
    /// Its sign; empty for bare numbers.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::Mbps => "Mb/s",
            Unit::Ms => "ms",
            Unit::Us => "µs",
            Unit::Percent => "%",
            Unit::Count => "",
            Unit::PerSecond => "/s",
            Unit::MiB => "MiB",
            Unit::NsPerByte => "ns/B",
            Unit::Times => "×",
        }
    }

    /// Which way is better, of what rows measure: rates and ratios go up, times, losses and memory down.
    pub fn better(self) -> Better {
        match self {
            Unit::Mbps | Unit::PerSecond | Unit::Times => Better::Higher,
            Unit::Ms | Unit::Us | Unit::Percent | Unit::Count | Unit::MiB | Unit::NsPerByte => Better::Lower,
        }
    }

    /// A figure without its sign, as exact as it deserves.
    pub fn number(self, value: f64) -> String {
        let digits = match self {
            Unit::Times => 3,
            Unit::Percent => 3,
            Unit::NsPerByte => 2,
            Unit::Count | Unit::PerSecond => 0,
            Unit::Mbps | Unit::Ms | Unit::Us | Unit::MiB if value.abs() >= 200.0 => 0,
            Unit::Mbps | Unit::Ms | Unit::Us | Unit::MiB => 1,
        };
        format!("{value:.digits$}")
    }

    /// A figure with its sign.
    pub fn text(self, value: f64) -> String {
        let text = format!("{} {}", self.number(value), self.sign());
        text.trim_end().to_owned()
    }
}

/// All samples of one thing.
#[derive(Debug, Clone, Serialize)]
pub struct Value {
    /// What was measured: `path A`, `ropewalk`.
    pub name: String,
    /// In what.
    pub unit: Unit,
    /// How the samples become the figure.
    pub reduce: Reduce,
    /// The figure, if any sample counts.
    pub figure: Option<f64>,
    /// Those that count, in the order in which they were taken.
    pub samples: Vec<f64>,
    /// How many of them other programs on the machine disturbed.
    pub disturbed: usize,
    /// What was seen besides, and why some do not count.
    pub notes: Vec<String>,
}

impl Value {
    /// Nothing measured yet.
    pub fn new(name: impl Into<String>, unit: Unit) -> Value {
        let (samples, notes) = (Vec::new(), Vec::new());
        Value { name: name.into(), unit, reduce: Reduce::Median, figure: None, samples, disturbed: 0, notes }
    }

    /// The same, judged by its largest sample.
    pub fn into_largest(self) -> Value {
        self.reduced_by(Reduce::Largest)
    }

    /// The same, judged by the mean of its samples.
    pub fn into_mean(self) -> Value {
        self.reduced_by(Reduce::Mean)
    }

    fn reduced_by(self, reduce: Reduce) -> Value {
        let mut value = Value { reduce, ..self };
        value.reduce();
        value
    }

    /// Adds a sample. A remark made before is not repeated.
    pub fn push(&mut self, sample: Sample) {
        self.disturbed += usize::from(sample.is_disturbed() && sample.value.is_some());
        self.samples.extend(sample.value);
        let new = sample.notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>();
        self.notes.extend(new);
        self.reduce();
    }

    /// Its name and its last sample, for people.
    pub fn latest(&self) -> String {
        format!("{} {}", self.name, self.samples.last().map_or("none".into(), |v| self.unit.text(*v)))
    }

    fn reduce(&mut self) {
        self.figure = match self.reduce {
            Reduce::Median => median(&self.samples),
            Reduce::Mean if self.samples.is_empty() => None,
            Reduce::Mean => Some(self.samples.iter().sum::<f64>() / self.samples.len() as f64),
            Reduce::Largest => self.samples.iter().copied().reduce(f64::max),
        };
    }
}

/// The middle value; the mean of two if there are two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        len if len % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The value that a share (0 to 1) of all do not exceed.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn quantiles() {
        let twenty: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let at = [0.0, 0.05, 0.5, 0.95, 0.99, 1.0].map(|share| quantile(&twenty, share).unwrap());
        assert_eq!(at, [1.0, 1.0, 10.0, 19.0, 20.0, 20.0]);
        assert_eq!((quantile(&[7.0], 0.99), quantile(&[], 0.5)), (Some(7.0), None));
    }

    #[test]
    fn values_keep_what_counts() {
        let mut value = Value::new("x", Unit::Ms).into_largest();
        value.push(Sample::of(2.0).note("odd"));
        value.push(Sample::none("late"));
        value.push(Sample::of(1.0).note("odd"));
        assert_eq!((value.figure, value.samples.len(), value.notes.len()), (Some(2.0), 2, 2));
        assert_eq!((Unit::Ms.text(2.04), Unit::Times.text(0.985)), ("2.0 ms".into(), "0.985 ×".into()));
    }
}
