//! When how much of a flow arrived.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Width of a step of the series.
const STEP: Duration = Duration::from_millis(10);
/// Shorter silences are not kept one by one.
const LEAST_GAP: Duration = Duration::from_millis(3);
/// Silences kept: the longest of them.
const GAPS: usize = 256;

/// A silence between two arrivals, or between the last one and the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The last arrival before it, on the shared clock, in ns.
    pub from_ns: u64,
    /// Its length in ns.
    pub length_ns: u64,
}

/// What arrived at a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// When the flow was accepted, on the shared clock, in ns.
    pub began_ns: u64,
    /// When the receiver stopped.
    pub ended_ns: u64,
    /// All of it.
    pub bytes: u64,
    /// The width of a step, in ms.
    pub step_ms: u64,
    /// Bytes that arrived in each step.
    pub steps: Vec<u64>,
    /// The longest silences, longest first.
    pub gaps: Vec<Gap>,
}

impl Arrivals {
    /// Mb/s from `omit` after the beginning to the end.
    pub fn mbps_after(&self, omit: Duration) -> f64 {
        self.mbps_between(omit, Duration::from_nanos(self.ended_ns - self.began_ns))
    }

    /// Mb/s between two moments after the beginning, to the width of a step.
    pub fn mbps_between(&self, from: Duration, to: Duration) -> f64 {
        let step = |at: Duration| (at.as_millis() as u64 / self.step_ms.max(1)) as usize;
        let steps = step(from)..step(to).min(self.steps.len());
        let ms = steps.len() as u64 * self.step_ms;
        let bytes: u64 = self.steps.get(steps).unwrap_or_default().iter().sum();
        bytes as f64 * 8.0 / 1e3 / ms.max(1) as f64
    }

    /// The longest silence that began and ended between two moments after the beginning.
    pub fn longest_gap_between(&self, from: Duration, to: Duration) -> Duration {
        let [from, to] = [from, to].map(|at| self.began_ns + at.as_nanos() as u64);
        let inside = |gap: &&Gap| gap.from_ns >= from && gap.from_ns + gap.length_ns <= to;
        Duration::from_nanos(self.gaps.iter().filter(inside).map(|gap| gap.length_ns).max().unwrap_or(0))
    }

    /// The longest silence that had not ended by this moment of the shared clock.
    pub fn longest_gap_after(&self, moment: Duration) -> Duration {
        let moment = moment.as_nanos() as u64;
        let late = self.gaps.iter().filter(|gap| gap.from_ns + gap.length_ns > moment);
        Duration::from_nanos(late.map(|gap| gap.length_ns).max().unwrap_or(0))
    }
}

/// Keeps arrivals as they come.
pub(super) struct Recorder {
    began: Duration,
    span: Duration,
    last: Duration,
    bytes: u64,
    steps: Vec<u64>,
    gaps: Vec<Gap>,
}

impl Recorder {
    /// For a flow that is accepted now and taken for so long.
    pub(super) fn new(now: Duration, span: Duration) -> Recorder {
        let steps = vec![0; span.as_millis().div_ceil(STEP.as_millis()) as usize];
        Recorder { began: now, span, last: now, bytes: 0, steps, gaps: Vec::with_capacity(2 * GAPS) }
    }

    /// When it is enough.
    pub(super) fn until(&self) -> Duration {
        self.began + self.span
    }

    pub(super) fn record(&mut self, now: Duration, bytes: u64) {
        self.end_gap(now);
        self.bytes += bytes;
        let step = ((now - self.began).as_nanos() / STEP.as_nanos()) as usize;
        if let Some(step) = self.steps.get_mut(step) {
            *step += bytes;
        }
    }

    fn end_gap(&mut self, now: Duration) {
        let length = now.saturating_sub(self.last);
        if length >= LEAST_GAP {
            let nanos = |d: Duration| d.as_nanos() as u64;
            self.gaps.push(Gap { from_ns: nanos(self.last), length_ns: nanos(length) });
            if self.gaps.len() == 2 * GAPS {
                self.keep_longest();
            }
        }
        self.last = now;
    }

    fn keep_longest(&mut self) {
        self.gaps.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns));
        self.gaps.truncate(GAPS);
    }

    pub(super) fn finish(mut self) -> Arrivals {
        let until = self.until();
        self.end_gap(until);
        self.keep_longest();
        Arrivals {
            began_ns: self.began.as_nanos() as u64,
            ended_ns: until.as_nanos() as u64,
            bytes: self.bytes,
            step_ms: STEP.as_millis() as u64,
            steps: self.steps,
            gaps: self.gaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn rates_and_silences() {
        let mut recorder = Recorder::new(ms(5000), ms(100));
        for at in [5010, 5020, 5021, 5070] {
            recorder.record(ms(at), 1000);
        }
        let arrivals = recorder.finish();
        assert_eq!((arrivals.bytes, arrivals.steps.len()), (4000, 10));
        assert_eq!(arrivals.longest_gap_between(ms(0), ms(60)), ms(10));
        assert_eq!(arrivals.longest_gap_after(ms(5000)), ms(49));
        assert_eq!(arrivals.longest_gap_after(ms(5070)), ms(30));
        assert_eq!(arrivals.longest_gap_after(ms(5100)), ms(0));
        assert_eq!(arrivals.mbps_after(ms(20)), 3000.0 * 8.0 / 80e3);
    }

    #[test]
    fn the_longest_silences_stay() {
        let mut recorder = Recorder::new(ms(0), ms(1_000_000));
        let mut at = 0;
        (0..1000).for_each(|n| {
            at += 4 + n % 7;
            recorder.record(ms(at), 1);
        });
        recorder.record(ms(at + 500), 1);
        let gaps = recorder.finish().gaps;
        assert_eq!(gaps.len(), GAPS);
        assert_eq!(gaps[1].length_ns, 500_000_000);
    }
}
