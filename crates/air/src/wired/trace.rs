//! Recorded rates in the format of Mahimahi (Netravali et al., USENIX ATC 2015, section 3).
//!
//! A trace is a text of one whole number per line: the millisecond, since the start of the trace, of an opportunity
//! to carry 1504 bytes. A line may repeat a number; lines never go back. The trace starts again after its last line,
//! whose number is therefore its period.

use core::time::Duration;
use std::sync::Arc;

use crate::Time;

/// Bytes that one opportunity carries.
pub const OPPORTUNITY_BYTES: u64 = 1504;
/// Lines that a trace may have: 12 hours at 50 Mb/s fit.
pub const MAX_OPPORTUNITIES: usize = 200_000_000;

const NS_PER_MS: u64 = 1_000_000;

/// Why a text is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line that is no whole number.
    #[error("line {line}: \"{text}\" is not a whole number of milliseconds; write one number per line")]
    NotANumber {
        /// Line, from 1.
        line: usize,
        /// Its text, shortened.
        text: String,
    },
    /// A line whose number is smaller than the one before.
    #[error("line {line}: {this} ms comes after {before} ms; sort the trace, its times must not go back")]
    GoesBack {
        /// Line, from 1.
        line: usize,
        /// Its number.
        this: u64,
        /// The number before it.
        before: u64,
    },
    /// No line, or only zeros: a trace without a period cannot repeat.
    #[error("the trace ends at 0 ms and cannot repeat; give it a last line above 0")]
    NoPeriod,
    /// More lines than [`MAX_OPPORTUNITIES`], or a time beyond what nanoseconds can count.
    #[error("line {line}: the trace is too long; cut it to at most {MAX_OPPORTUNITIES} lines and 49 days")]
    TooLong {
        /// Line, from 1.
        line: usize,
    },
}

/// Opportunities to send, repeating. Cloning shares the numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    at_ms: Arc<[u32]>,
    period_ms: u32,
}

impl Trace {
    /// Reads the text of a trace file. Empty lines and lines that begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut at_ms: Vec<u32> = Vec::new();
        for (index, raw) in text.lines().enumerate() {
            let (line, word) = (index + 1, raw.trim());
            if word.is_empty() || word.starts_with('#') {
                continue;
            }
            let this: u64 = word
                .parse()
                .map_err(|_| TraceError::NotANumber { line, text: word.chars().take(40).collect() })?;
            let before = at_ms.last().copied().unwrap_or(0);
            if this < u64::from(before) {
                return Err(TraceError::GoesBack { line, this, before: u64::from(before) });
            }
            let this = u32::try_from(this).map_err(|_| TraceError::TooLong { line })?;
            if at_ms.len() >= MAX_OPPORTUNITIES {
                return Err(TraceError::TooLong { line });
            }
            at_ms.push(this);
        }
        match at_ms.last() {
            Some(&period_ms) if period_ms > 0 => Ok(Trace { at_ms: at_ms.into(), period_ms }),
            _ => Err(TraceError::NoPeriod),
        }
    }

    /// The rate over one whole period, in bits per second.
    pub fn mean_rate_bps(&self) -> u64 {
        let bits = self.at_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
        bits.saturating_mul(1000) / u64::from(self.period_ms)
    }

    /// The time after which the trace repeats.
    pub fn period(&self) -> Duration {
        Duration::from_millis(u64::from(self.period_ms))
    }

    /// The number, counted from the beginning of the run, of the first opportunity at `now` or later.
    pub(super) fn first_from(&self, now: Time) -> u64 {
        let ms = now.as_nanos().div_ceil(NS_PER_MS);
        let (mut lap, mut within) = (ms / u64::from(self.period_ms), ms % u64::from(self.period_ms));
        // The end of one lap is the beginning of the next: its last opportunities may still be at this very time.
        if within == 0 && lap > 0 {
            lap -= 1;
            within = u64::from(self.period_ms);
        }
        let index = self.at_ms.partition_point(|&at| u64::from(at) < within);
        lap * self.at_ms.len() as u64 + index as u64
    }

    /// When opportunity `number` comes.
    pub(super) fn time_of(&self, number: u64) -> Time {
        let count = self.at_ms.len() as u64;
        let at = u64::from(self.at_ms[(number % count) as usize]);
        Time::from_millis((number / count).saturating_mul(u64::from(self.period_ms)).saturating_add(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_opportunities_over_laps() {
        let trace = Trace::parse("# two per 10 ms\n0\n5\n\n10\n").unwrap();
        assert_eq!(trace.mean_rate_bps(), 3 * 1504 * 8 * 100);
        assert_eq!(trace.period(), Duration::from_millis(10));
        let times: Vec<u64> = (0..7).map(|n| trace.time_of(n).as_nanos() / NS_PER_MS).collect();
        assert_eq!(times, [0, 5, 10, 10, 15, 20, 20]);
        for (ms, number) in [(0, 0), (1, 1), (5, 1), (6, 2), (10, 2), (11, 4), (20, 5), (21, 7)] {
            assert_eq!(trace.first_from(Time::from_millis(ms)), number, "at {ms} ms");
        }
        assert_eq!(trace.first_from(Time::from_nanos(5_000_001)), 2);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        assert_eq!(Trace::parse(""), Err(TraceError::NoPeriod));
        assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::NoPeriod));
        assert_eq!(Trace::parse("3\n2"), Err(TraceError::GoesBack { line: 2, this: 2, before: 3 }));
        assert_eq!(Trace::parse("99999999999"), Err(TraceError::TooLong { line: 1 }));
        let said = Trace::parse("1\nx\n").unwrap_err().to_string();
        assert!(said.starts_with("line 2: \"x\""), "{said}");
    }
}
