//! Which subflow takes the next segment.

use core::time::Duration;

/// A rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulerKind {
    /// The ready subflow with the smallest smoothed round-trip time: the default of the MPTCP of the papers, and DB-3.
    #[default]
    MinRtt,
    /// Each ready subflow in turn, a segment each.
    RoundRobin,
    /// The ready subflow whose data on the way lasts shortest at its rate, as Linux has it since 5.19 (`mptcp_subflow_get_send`).
    LeastLinger,
}

/// A subflow that could send a segment now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub index: usize,
    pub srtt: Duration,
    /// How long what it has on the way lasts at its rate.
    pub linger: Duration,
    pub backup: bool,
}

/// The choice among `ready`; backups only if `primaries` (usable subflows that are none, ready or not) is zero. `last` is
/// the subflow that took the segment before.
pub(super) fn choose(kind: SchedulerKind, ready: &[Ready], primaries: usize, last: usize) -> Option<usize> {
    let candidates = ready.iter().filter(|r| !r.backup || primaries == 0);
    let chosen = match kind {
        SchedulerKind::MinRtt => candidates.min_by_key(|r| (r.srtt, r.index)),
        SchedulerKind::LeastLinger => candidates.min_by_key(|r| (r.linger, r.index)),
        SchedulerKind::RoundRobin => candidates.min_by_key(|r| (r.index <= last, r.index)),
    };
    chosen.map(|r| r.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(index: usize, ms: u64, backup: bool) -> Ready {
        // Who is near has much on the way.
        Ready { index, srtt: Duration::from_millis(ms), linger: Duration::from_millis(100 - ms), backup }
    }

    #[test]
    fn smallest_round_trip_or_in_turn_and_backups_last() {
        let all = [ready(0, 30, false), ready(1, 10, false), ready(2, 5, true)];
        assert_eq!(choose(SchedulerKind::MinRtt, &all, 2, 0), Some(1));
        assert_eq!(choose(SchedulerKind::LeastLinger, &all, 2, 0), Some(0));
        assert_eq!(choose(SchedulerKind::RoundRobin, &all, 2, 0), Some(1));
        assert_eq!(choose(SchedulerKind::RoundRobin, &all, 2, 1), Some(0));
        assert_eq!(choose(SchedulerKind::MinRtt, &all[2..], 2, 0), None, "primaries are only busy");
        assert_eq!(choose(SchedulerKind::MinRtt, &all[2..], 0, 0), Some(2));
    }
}
