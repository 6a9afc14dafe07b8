//! How long whole packets waited for those before them.

use hdrhistogram::Histogram;
use ropewalk_time::Duration;

/// The longest span that is told from longer ones, µs: a minute. Deadlines are far shorter.
const LONGEST_US: u64 = 60_000_000;

/// Packets that were whole while others before them were not, each by how long it waited. A span is told within 7 %, at most a minute of it.
/// Costs 3 KB once something has waited.
#[derive(Clone, Debug, Default)]
pub struct Waits(Option<Box<Histogram<u64>>>);

impl Waits {
    /// Counts one.
    pub(super) fn record(&mut self, span: Duration) {
        if self.0.is_none() {
            self.0 = Histogram::new_with_bounds(1, LONGEST_US, 1).ok().map(Box::new);
        }
        if let Some(spans) = &mut self.0 {
            spans.saturating_record(u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1));
        }
    }

    /// Packets that waited.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |spans| spans.len())
    }

    /// The span that this share (0 to 1) of those that waited did not exceed; none if none waited.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let spans = self.0.as_ref().filter(|spans| !spans.is_empty())?;
        Some(Duration::from_micros(spans.value_at_quantile(share)))
    }

    /// Those that came after `earlier`, a former state of the same.
    #[must_use]
    pub fn since(&self, earlier: &Waits) -> Waits {
        let mut rest = self.clone();
        if let (Some(spans), Some(earlier)) = (&mut rest.0, &earlier.0) {
            // What is not a former state of this is none of its business: then all of it counts.
            let _ = spans.subtract(&**earlier);
        }
        rest
    }
}
