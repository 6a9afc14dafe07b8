//! Telling random loss from loss that sending less would avoid.
//!
//! Random loss is repaired by the tunnel and must not slow the path down: the rate that the link *served* is the
//! acknowledged rate divided by one minus the loss. A policer drops without queueing, and sending more only
//! loses more. The two look alike until one sends less for a moment (a *trial*): random loss stays.

use ropewalk_time::{Duration, Time};

/// Loss beyond this is not made up for: whatever its cause, a path that loses so much is not worth filling.
const MAX_MADE_UP: f64 = 0.15;
/// Below this, the cause of loss does not matter.
const TRIAL_LOSS: f64 = 0.02;
/// A trial sends less by this many times the loss, and by at least `TRIAL_MIN`, so that a policer would have
/// no reason left to drop.
const TRIAL_DEPTH: f64 = 1.5;
const TRIAL_MIN: f64 = 0.08;
/// A trial lasts until so many packets would have been lost if loss were random: with fewer than 0.4 × 12 lost
/// the chance of a wrong "policer" is about one in a hundred.
const TRIAL_PACKETS: f64 = 12.0;
/// Loss during a trial under this part of the usual loss means a policer.
const POLICER_PART: f64 = 0.4;
/// Time from one trial to the next, and how long a diagnosis counts.
const TRIAL_EVERY: Duration = Duration::from_secs(5);
/// The same when a probe gives reason for it.
const TRIAL_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
struct Trial {
    from: Time,
    depth: f64,
    acked: f64,
    lost: f64,
}

#[derive(Clone, Debug)]
pub(super) struct LossSense {
    /// Smoothed part of packets lost.
    part: f64,
    trial: Option<Trial>,
    last_trial: Time,
    /// A trial should begin with the next interval.
    wanted: bool,
    /// Loss that remains when we send less; known while a policer is believed in.
    policed: Option<f64>,
}

impl LossSense {
    pub(super) fn new() -> Self {
        LossSense { part: 0.0, trial: None, last_trial: Time::ZERO, wanted: false, policed: None }
    }

    /// Bytes acknowledged and lost in a monitor interval. Loss next to a long queue or
    /// during a probe (`ours`) may be our own doing.
    pub(super) fn on_interval(&mut self, acked: f64, lost: f64, mtu: f64, ours: bool) {
        let total = acked + lost;
        if total > 0.0 {
            // A few hundred packets of memory.
            let weight = (total / mtu / 400.0).clamp(0.02, 0.25);
            let seen = lost / total;
            if seen < self.part || !ours {
                self.part += (seen - self.part) * weight;
            }
        }
    }

    /// Count towards a running trial: packets sent at `sent`.
    pub(super) fn count(&mut self, sent: Time, acked: u64, lost: u64) {
        if let Some(t) = &mut self.trial
            && sent >= t.from
        {
            t.acked += acked as f64;
            t.lost += lost as f64;
        }
    }

    /// Part of the sent bytes that is lost for no fault of ours.
    pub(super) fn made_up(&self) -> f64 {
        self.policed.unwrap_or(self.part).min(self.part).min(MAX_MADE_UP)
    }

    /// Sending more only lost more. Find out by a trial; if loss is otherwise too small for one, a policer is likely.
    pub(super) fn suspect(&mut self, now: Time) {
        if self.trial.is_some() || now.since(self.last_trial) < TRIAL_AGAIN {
            return;
        }
        if self.part >= TRIAL_LOSS {
            self.wanted = true;
        } else {
            self.policed = Some(self.part);
            self.last_trial = now;
        }
    }

    fn begin_trial(&mut self, now: Time) {
        let depth = (TRIAL_DEPTH * self.part).clamp(TRIAL_MIN, 0.3);
        self.trial = Some(Trial { from: now, depth, acked: 0.0, lost: 0.0 });
        self.last_trial = now;
        self.wanted = false;
    }

    /// A policer is believed in.
    pub(super) fn is_policed(&self) -> bool {
        self.policed.is_some()
    }

    /// By how much to send less in this interval for the sake of a trial; zero without one.
    pub(super) fn trial_depth(&self) -> f64 {
        self.trial.as_ref().map_or(0.0, |t| t.depth)
    }

    /// Start, continue or end a trial at the end of a monitor interval.
    pub(super) fn step(&mut self, now: Time, mtu: f64) {
        if let Some(t) = &mut self.trial {
            let expected = (t.acked + t.lost) * self.part / mtu;
            if expected >= TRIAL_PACKETS {
                let seen = t.lost / (t.acked + t.lost);
                self.policed = (seen < POLICER_PART * self.part).then_some(seen);
                self.trial = None;
            }
            return;
        }
        if now.since(self.last_trial) < TRIAL_EVERY && !self.wanted {
            return;
        }
        if self.part < TRIAL_LOSS && !self.is_policed() {
            return;
        }
        if self.part < TRIAL_LOSS {
            self.policed = None;
            self.last_trial = now;
        } else {
            self.begin_trial(now);
        }
    }
}
