//! The sender's timers: retransmission timeout (RFC 6298 §5), tail loss probe (RFC 8985 §7.2), reordering, and the
//! zero-window probe (RFC 9293 §3.8.6.1).

use super::Sender;
use super::ack::Round;
use super::recovery::Phase;
use core::time::Duration;
use ropewalk_air::Time;

/// What a probe's time has on top of two round trips (Linux's TCP_TIMEOUT_MIN).
const PROBE_SLACK: Duration = Duration::from_millis(2);
/// A probe without any round-trip sample (RFC 8985 §7.2).
const PROBE_UNKNOWN: Duration = Duration::from_secs(1);
/// Longest time between zero-window probes.
const MAX_WINDOW_PROBE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    rto: Option<Time>,
    probe: Option<Time>,
    pub reordering: Option<Time>,
    window_probe: Option<Time>,
    /// Zero-window probes in a row.
    window_probes: u32,
}

impl Timers {
    pub(super) fn arm_rto_if_idle(&mut self, now: Time, rto: Duration) {
        self.rto.get_or_insert(now + rto);
    }

    pub(super) fn restart_rto_if_none(&mut self, now: Time, rto: Duration) {
        self.arm_rto_if_idle(now, rto);
    }

    pub(super) fn restart_rto(&mut self, now: Time, rto: Duration) {
        self.rto = Some(now + rto);
    }

    pub(super) fn reset_window_probe(&mut self) {
        (self.window_probe, self.window_probes) = (None, 0);
    }

    fn next(&self) -> Option<Time> {
        [self.rto, self.probe, self.reordering, self.window_probe].into_iter().flatten().min()
    }
}

/// Takes `timer` if it is due.
fn take_due(timer: &mut Option<Time>, now: Time) -> bool {
    let due = timer.is_some_and(|at| at <= now);
    if due {
        *timer = None;
    }
    due
}

impl Sender {
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        [self.timers.next(), self.release_due()].into_iter().flatten().min()
    }

    /// When pacing lets the next segment go, if one is held.
    fn release_due(&self) -> Option<Time> {
        let waits = || self.board.next_lost().is_some() || self.next_new().is_some();
        (self.held && waits()).then(|| self.control.release())
    }

    pub(crate) fn on_timer(&mut self, now: Time) {
        if take_due(&mut self.timers.reordering, now) {
            self.on_reordering_timer(now);
        }
        if take_due(&mut self.timers.window_probe, now) {
            self.window_probe = self.board.is_empty();
            self.timers.window_probes += 1;
            self.await_window(now);
        }
        if take_due(&mut self.timers.probe, now) && !self.board.is_empty() {
            self.recovery.set_probe_due();
            // The timeout is counted from the probe.
            return self.timers.restart_rto(now, self.rtt.rto());
        }
        if take_due(&mut self.timers.rto, now) && !self.board.is_empty() {
            self.time_out(now);
            self.timers.probe = None;
            self.timers.reordering = None;
            self.timers.restart_rto(now, self.rtt.rto());
        }
    }

    /// Too many timeouts without an answer.
    pub(crate) fn has_given_up(&self) -> bool {
        let limit = if self.una == 0 { 6 } else { self.config.max_timeouts };
        self.rtt.backoff() > limit
    }

    /// New data left.
    pub(super) fn on_new_sent(&mut self, now: Time) {
        self.timers.arm_rto_if_idle(now, self.rtt.rto());
        self.schedule_probe(now);
    }

    /// After an acknowledgement.
    pub(super) fn set_timers(&mut self, now: Time, round: &Round) {
        if self.board.is_empty() {
            let (window_probe, window_probes) = (self.timers.window_probe, self.timers.window_probes);
            self.timers = Timers { window_probe, window_probes, ..Timers::default() };
            return self.await_window(now);
        }
        if round.advanced {
            self.timers.restart_rto(now, self.rtt.rto());
        }
        if round.advanced || round.sacked {
            self.schedule_probe(now);
        }
    }

    /// RFC 8985 §7.2, TLP_calc_PTO; only where no loss is suspected.
    fn schedule_probe(&mut self, now: Time) {
        self.timers.probe = None;
        let calm =
            matches!(self.recovery.phase, Phase::Open | Phase::Reducing) && self.board.sacked_segments() == 0;
        if !calm
            || !self.uses_rack()
            || self.una == 0
            || self.recovery.has_probe_out()
            || self.board.is_empty()
        {
            return;
        }
        let lone = if self.board.len() == 1 { self.rtt.floor() } else { PROBE_SLACK };
        let wait = self.rtt.srtt().map_or(PROBE_UNKNOWN, |srtt| srtt * 2 + lone);
        let at = now + wait;
        self.timers.probe = Some(self.timers.rto.map_or(at, |rto| at.min(rto)));
    }

    /// Nothing is on the way, something waits, and the peer's window is shut: ask it now and then.
    pub(super) fn await_window(&mut self, now: Time) {
        let shut = self.board.is_empty() && self.unsent() > 0 && self.una > 0 && self.next_new().is_none();
        if self.ignore_peer_window || !shut {
            return self.timers.reset_window_probe();
        }
        let wait =
            self.rtt.rto().saturating_mul(1 << self.timers.window_probes.min(16)).min(MAX_WINDOW_PROBE);
        self.timers.window_probe.get_or_insert(now + wait);
    }
}
