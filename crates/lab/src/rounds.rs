//! Where the time of a thread that keeps time goes: what makes packets late.

use std::fmt;
use std::time::Duration;

use crate::Lateness;

/// Spans of the rounds of an emulator's thread since measuring began, each as a histogram.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// From the time for which an alarm was set to the thread's waking: what the kernel and the machine below it add, whatever the lab does.
    pub waking: Lateness,
    /// Waits for the last microseconds before something is due, without sleeping.
    pub spinning: Lateness,
    /// Reading the devices that are ready, in a round that reads any.
    pub reading: Lateness,
    /// Working the models and writing what is due, in a round in which something is.
    pub working: Lateness,
    /// One write to a device: the kernel of the node that receives does its work before it returns.
    pub writing: Lateness,
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |d: Duration| d.as_nanos() as f64 / 1e3;
        writeln!(
            f,
            "{:<9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9}",
            "µs", "times", "p50", "p99", "p99.9", "max", "sum, ms"
        )?;
        let rows = [
            ("waking", &self.waking),
            ("spinning", &self.spinning),
            ("reading", &self.reading),
            ("working", &self.working),
            ("writing", &self.writing),
        ];
        for (name, spans) in rows {
            let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| us(spans.quantile(q)));
            let (count, max, sum) = (spans.count(), us(spans.max()), us(spans.total()) / 1e3);
            writeln!(f, "{name:<9} {count:>9} {p50:>8.1} {p99:>8.1} {p999:>8.1} {max:>8.1} {sum:>9.0}")?;
        }
        Ok(())
    }
}
