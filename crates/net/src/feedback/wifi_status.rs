//! Completions that a Wi-Fi driver reports to a UDP socket (`SO_WIFI_STATUS`, Linux 3.3).
//!
//! They come by the socket's error queue, one for each datagram, and say whether its receiver acknowledged it. Where another source counts all packets of the interface,
//! these are exactly a path's own. Not every driver reports them (those that leave aggregation and retries to firmware often do not), so the other source is believed until
//! the first has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Events, FeedbackError, LinkFeedback, LinkReport, Source};

/// Counts the completions of a socket; clones count together. Written by who reads the socket, read by who wants to know.
#[derive(Clone, Debug, Default)]
pub struct CompletionCounter(Arc<[AtomicU64; 2]>);

impl CompletionCounter {
    /// One datagram more is done with.
    pub fn add(&self, acknowledged: bool) {
        self.0[usize::from(!acknowledged)].fetch_add(1, Ordering::Relaxed);
    }

    /// Datagrams that were acknowledged, and that were not.
    pub fn totals(&self) -> (u64, u64) {
        (self.0[0].load(Ordering::Relaxed), self.0[1].load(Ordering::Relaxed))
    }
}

/// A socket's completions over another source, which tells the rest.
pub struct Completions {
    base: Box<dyn LinkFeedback>,
    counter: CompletionCounter,
    reported: bool,
}

impl Completions {
    /// Lets a socket's completions stand for those that `base` counts.
    pub fn over(base: Box<dyn LinkFeedback>, counter: CompletionCounter) -> Completions {
        Completions { base, counter, reported: false }
    }
}

impl LinkFeedback for Completions {
    fn source(&self) -> Source {
        if self.reported { Source::WifiStatus } else { self.base.source() }
    }

    fn read(&mut self) -> Result<LinkReport, FeedbackError> {
        let report = self.base.read()?;
        let (delivered, failed) = self.counter.totals();
        self.reported |= delivered + failed > 0;
        if !self.reported {
            return Ok(report);
        }
        // Other counters than before the first completion: another epoch than any of the base's so far.
        Ok(LinkReport { epoch: report.epoch | 1 << 31, delivered, failed, ..report })
    }

    fn events(&self) -> Events<'_> {
        self.base.events()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Fixed;

    impl LinkFeedback for Fixed {
        fn source(&self) -> Source {
            Source::Nl80211
        }
        fn read(&mut self) -> Result<LinkReport, FeedbackError> {
            Ok(LinkReport { epoch: 4, delivered: 100, failed: 7, retries: 9, ..LinkReport::default() })
        }
        fn events(&self) -> Events<'_> {
            Events::Every(Duration::from_millis(1))
        }
    }

    #[test]
    fn completions_count_once_the_driver_reports_them() {
        let counter = CompletionCounter::default();
        let mut source = Completions::over(Box::new(Fixed), counter.clone());
        let before = source.read().unwrap();
        assert_eq!((source.source(), before.delivered, before.failed), (Source::Nl80211, 100, 7));
        counter.add(true);
        counter.add(true);
        counter.add(false);
        let after = source.read().unwrap();
        assert_eq!((source.source(), after.delivered, after.failed), (Source::WifiStatus, 2, 1));
        assert_eq!(after.retries, 9, "the rest is the other source's");
        assert_ne!(after.epoch, before.epoch, "the counters are others");
    }
}
