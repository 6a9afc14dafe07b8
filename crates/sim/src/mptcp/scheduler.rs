//! Which subflow takes the next segment.

mod blest;
mod ecf;
#[cfg(test)]
mod tests;

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
    /// The smallest round trip; a slower subflow only if it does not fill the window that the faster one will need
    /// (Ferlin, Alay, Mehani, Boreli: BLEST, IFIP Networking 2016).
    Blest,
    /// The smallest round trip; a slower subflow only if it is done sooner than the faster one would be that is waited for
    /// (Lim, Nahum, Towsley, Gibbens: ECF, CoNEXT 2017).
    Ecf,
}

/// A subflow that is used, whether it could send a segment now or not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    pub index: usize,
    pub srtt: Duration,
    /// Mean deviation of its round-trip times.
    pub deviation: Duration,
    /// How long what it has on the way lasts at its rate.
    pub linger: Duration,
    /// Congestion window, bytes.
    pub window: u64,
    /// On the way, bytes.
    pub flight: u64,
    /// Bytes of a segment.
    pub mss: u64,
    pub backup: bool,
}

/// What a rule sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    /// Subflows with room.
    pub ready: &'a [Ready],
    /// Those that are used and have none. Only [`Blest`](SchedulerKind::Blest) and [`Ecf`](SchedulerKind::Ecf) look at them.
    pub busy: &'a [Ready],
    /// Usable subflows that are no backups, ready or not.
    pub primaries: usize,
    /// The subflow that took the segment before.
    pub last: usize,
    /// Data that waits and that the peer's window takes, bytes.
    pub unsent: u64,
    /// From the first byte that is not acknowledged to the end of the peer's window, bytes.
    pub send_window: u64,
}

/// The choice among the ready; backups only if there are no primaries. None: nobody is ready, or it is better to wait, which `waiting` keeps.
pub(super) fn choose(kind: SchedulerKind, choice: &Choice<'_>, waiting: &mut bool) -> Option<usize> {
    let fits = |r: &&Ready| !r.backup || choice.primaries == 0;
    let candidates = choice.ready.iter().filter(fits);
    let by_rtt = |r: &&Ready| (r.srtt, r.index);
    let chosen = match kind {
        SchedulerKind::LeastLinger => candidates.min_by_key(|r| (r.linger, r.index)),
        SchedulerKind::RoundRobin => candidates.min_by_key(|r| (r.index <= choice.last, r.index)),
        SchedulerKind::MinRtt | SchedulerKind::Blest | SchedulerKind::Ecf => candidates.min_by_key(by_rtt),
    }?;
    let faster = || choice.busy.iter().filter(fits).filter(|b| b.srtt < chosen.srtt).min_by_key(by_rtt);
    let waits = match kind {
        SchedulerKind::Blest => faster().is_some_and(|fast| blest::waits(fast, chosen, choice.send_window)),
        SchedulerKind::Ecf => {
            *waiting = faster().is_some_and(|fast| ecf::waits(fast, chosen, choice.unsent, *waiting));
            *waiting
        }
        _ => false,
    };
    (!waits).then_some(chosen.index)
}
