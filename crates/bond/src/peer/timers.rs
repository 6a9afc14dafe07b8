//! What a session does by the clock.

use super::paths::spread;
use super::{Peer, Shared};
use crate::api::Event;
use crate::path::recv::MAX_ACK_DELAY;
use crate::path::{Class, Path, PathId, State};
use crate::queue::codel::Limits;
use ropewalk_time::{Duration, Time};

/// While data flows, every path's estimates stay this fresh.
const REFRESH: Duration = Duration::from_millis(400);
/// Data counts as flowing for this long after the last packet.
const FLOWING: Duration = Duration::from_secs(3);
/// A gateway forgets a dead path after this.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// A path that is silent keeps probes without an answer for so long.
const PROBES_KEPT: Duration = Duration::from_secs(10);
/// A stream that is the only path is given the time of two retransmission timeouts (RFC 6298 has 1
/// s): what would be sent again stood behind what it repairs.
const STREAM_ALONE: Duration = Duration::from_secs(2);
/// The peer's timers may be so late (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// CoDel's least target (RFC 8289 §4.2), and its interval beside the bond's own round trip: the interval is to cover that of the flows (§4.3), part of which
/// lies beyond the bond.
const CODEL_TARGET: Duration = Duration::from_millis(5);
const CODEL_INTERVAL: Duration = Duration::from_millis(100);

/// Loss that makes repairs a matter of every round trip.
const LOSSY: f64 = 0.002;
/// And while a path is starting.
const STARTING_TARGET: Duration = Duration::from_millis(400);

impl Peer {
    /// Does what is due.
    pub(crate) fn on_timers(&mut self, now: Time, shared: &mut Shared) {
        for i in self.paths.ids() {
            self.detect_losses(i, now, shared);
            self.detect_death(i, now, shared);
            self.notice_narrow(i, now, shared);
            self.keep_alive(i, now, shared);
        }
        if self.receive.is_due(now) {
            self.check_order(now, shared);
        }
        if self.receive.is_sweep_due(now) {
            self.sweep_order(now, shared);
        }
        self.expire_candidates(now);
        self.forget_dead_paths(now, shared);
        self.paths.pass_probe_turn(now);
        self.tune_queue(now, shared.config.max_spread);
        if self.backhaul.as_mut().is_some_and(|b| b.on_timer(now, self.paths.as_slice())) {
            self.on_queue_changed();
        }
    }

    /// A gateway is not told that a client has taken a path away; one that has been dead for long while others work is forgotten, but for what must outlive it. If
    /// it lives, the client's next datagram on it makes it again.
    fn forget_dead_paths(&mut self, now: Time, shared: &mut Shared) {
        if self.is_client || !self.paths.iter().any(|p| p.live.state == State::Active) {
            return;
        }
        let dead =
            |p: &Path| p.live.state != State::Active && now.since(p.recv.last_arrival()) > FORGET_AFTER;
        if let Some(id) = self.paths.iter().find(|p| dead(p)).map(|p| p.id) {
            self.remove_path(id, now, shared);
        }
    }

    fn detect_losses(&mut self, i: PathId, now: Time, shared: &mut Shared) {
        let p = &mut self.paths[i];
        let delay = p.loss_delay();
        if p.sent.loss_time(delay).is_none_or(|t| t > now) {
            return;
        }
        let mut out = std::mem::take(&mut shared.outcome);
        out.clear();
        p.sent.on_loss_timer(now, delay, &mut out);
        self.paths.on_losses(i, now, &out);
        self.send.retransmit(&out.to_retransmit, now, shared);
        shared.outcome = out;
    }

    /// RFC 9002's probe timeout; twice that where there is nowhere else to go.
    fn timeout(&self, i: PathId, now: Time) -> Duration {
        let p = &self.paths[i];
        let late = self.backhaul.as_ref().map_or(Duration::ZERO, |b| b.ack_delay(now, p.id));
        let timeout = p.rtt.probe_timeout(late + MAX_ACK_DELAY + GRANULARITY);
        let alone = !self.paths.iter().any(|q| q.id != p.id && q.is_usable());
        match (alone, p.route.is_stream()) {
            (true, true) => timeout.max(STREAM_ALONE),
            (true, false) => (timeout * 2).max(p.rtt.smoothed() * 3),
            // TCP's own repair takes a round trip more.
            (false, true) => timeout.max(p.rtt.smoothed() * 2),
            (false, false) => timeout,
        }
    }

    /// Since when the peer owes an answer on a path, if it does.
    fn owed_since(&self, now: Time, p: &Path) -> Option<Time> {
        let oldest = p.sent.oldest_in_flight()?;
        Some(self.backhaul.as_ref().map_or(oldest.1, |b| b.owed_since(now, p.id, oldest)))
    }

    fn detect_death(&mut self, i: PathId, now: Time, shared: &mut Shared) {
        let timeout = self.timeout(i, now);
        let p = &self.paths[i];
        let is_silent = matches!(p.live.state, State::Down | State::Validating);
        let is_old = p.sent.oldest_in_flight().is_some_and(|(_, at)| now.since(at) > PROBES_KEPT);
        // Who answers ever later is waited for ever longer, and what leaves meanwhile is recorded.
        if is_silent && is_old || p.sent.is_overfull() {
            self.declare_all_lost(i, now, shared);
        }
        let oldest = self.owed_since(now, &self.paths[i]);
        let p = &mut self.paths[i];
        match p.live.on_timer(now, oldest, timeout, p.rtt.smoothed()) {
            Some(State::Suspect) => {
                p.control.ping_due = true;
                self.declare_all_lost(i, now, shared);
                // Its datagrams no longer count as owed; the probe that follows does.
                self.emit_event(i, now, shared);
                self.on_queue_changed();
            }
            Some(State::Down) => {
                self.declare_all_lost(i, now, shared);
                self.emit_event(i, now, shared);
            }
            _ => {}
        }
        let rests = self.rests(&self.paths[i]);
        let p = &mut self.paths[i];
        if !rests && p.live.poll_probe(now, p.rtt.min()) {
            p.control.ping_due = true;
        }
    }

    /// What such a path had on its way goes elsewhere; the path is no use before a probe passes.
    fn notice_narrow(&mut self, i: PathId, now: Time, shared: &mut Shared) {
        let p = &mut self.paths[i];
        let is_narrow = p.mtu.is_too_narrow();
        let is_told = std::mem::replace(&mut p.control.too_narrow_told, is_narrow) == is_narrow;
        // A silent one carries nothing, and its return is told with the state that it has then.
        if is_told || p.live.state != State::Active {
            return;
        }
        if is_narrow {
            self.declare_all_lost(i, now, shared);
        }
        self.emit_event(i, now, shared);
        self.on_queue_changed();
    }

    /// Data went either way of late.
    pub(in crate::peer) fn is_flowing(&self, now: Time) -> bool {
        now.since(self.last_data) < FLOWING
    }

    /// Its allowance is used up, and the session has another path: nothing is asked of it.
    pub(in crate::peer) fn rests(&self, p: &Path) -> bool {
        !p.class.has_allowance() && self.paths.iter().any(Path::is_usable)
    }

    /// When a path that works is to be asked something again, if nothing else asks meanwhile.
    fn next_ping(&self, p: &Path, now: Time, keepalive: Duration) -> Option<Time> {
        let every = match (self.is_flowing(now) && p.class.has_allowance(), self.is_client) {
            (true, _) => REFRESH,
            (false, true) => keepalive,
            // The client keeps its NATs open; the gateway only answers.
            (false, false) => return None,
        };
        (p.live.state == State::Active && !self.rests(p)).then_some(p.last_eliciting + every)
    }

    fn keep_alive(&mut self, i: PathId, now: Time, shared: &mut Shared) {
        let is_due = self.next_ping(&self.paths[i], now, shared.config.keepalive).is_some_and(|at| at <= now);
        let p = &mut self.paths[i];
        p.control.ping_due |= is_due;
        if p.class == (Class::Metered { left: 0 }) && self.is_client && !p.control.exhausted_told {
            p.control.exhausted_told = true;
            self.paths.tell_class(i);
            shared.events.push_back(Event::Exhausted { path: i.get() });
        }
    }

    /// CoDel's target follows the bond: a flow's queue pays for the difference of delay between the paths it uses (see [`crate::queue`]), and
    /// a lone CUBIC flow, which falls to 0.7 of its window, needs 0.43 of its round trip in front of the paths to keep them busy even then.
    fn tune_queue(&mut self, now: Time, max_spread: Duration) {
        let taking_part = self.taking_part(now);
        let all = || taking_part.iter().map(|id| &self.paths[*id]).filter(|p| p.rtt.is_known());
        let quickest = all().filter_map(|p| p.rtt.one_way_us_range()).map(|r| r[0]).min().unwrap_or(0);
        let limit = quickest.saturating_add(i64::try_from(max_spread.as_micros()).unwrap_or(i64::MAX));
        // Backups, and paths too slow to carry anything, make no flow wait.
        let carrying = || all().filter(|p| p.rtt.one_way_us_range().is_none_or(|r| r[0] <= limit));
        let Some(least) = carrying().map(|p| p.rtt.smoothed()).min() else { return };
        // While a path is still looking for its rate, the queue is long for want of knowledge, not of capacity.
        // One that rests for a better one of its channel is not looking.
        let rests = |p: &Path| self.airtime.as_ref().is_some_and(|a| a.rests(p.id));
        let starting = carrying().any(|p| p.cc.is_starting() && !rests(p));
        // Where paths lose, the flow waits for repairs: that is part of its round trip.
        let lossy = carrying().any(|p| p.loss > LOSSY);
        let spread = spread(carrying());
        let round_trip = least + spread + if lossy { least * 5 / 4 } else { Duration::ZERO };
        let target = if starting { STARTING_TARGET } else { spread + round_trip / 2 };
        let target = target.max(CODEL_TARGET);
        // What filled all paths waits for those that are left, while one that died may be back in
        // the next moment. At the top of TCP's swing a queue is twice the target.
        let target = match self.shrunk(now) {
            1.0 => target,
            shrunk => (target * 2 + least).mul_f64(shrunk).saturating_sub(least),
        };
        let target = target.min(Duration::from_millis(400));
        let most = carrying().map(|p| p.rtt.smoothed()).max().unwrap_or_default();
        let is_known = carrying().all(|p| p.cc.has_rate());
        let rate = is_known.then(|| carrying().map(|p| p.cc.bandwidth_bps()).sum());
        self.send.set_limits(Limits { target, interval: CODEL_INTERVAL + most }, rate);
    }

    /// The rate of all paths over that of those that work, with the paths that may return among
    /// all; 1 or more.
    fn shrunk(&self, now: Time) -> f64 {
        let sum = |away: bool| -> u64 {
            let counted = |p: &&Path| p.live.may_return(now) == away && (away || p.is_usable());
            self.paths.iter().filter(counted).map(|p| p.cc.bandwidth_bps()).sum()
        };
        let (here, away) = (sum(false), sum(true));
        if here == 0 { 1.0 } else { (here + away) as f64 / here as f64 }
    }

    /// When [`Peer::on_timers`] or a transmission is due next, and why.
    pub(crate) fn next_timeout(&self, now: Time, keepalive: Duration) -> (Time, &'static str) {
        let mut next = (now + Duration::from_secs(5), "housekeeping");
        let mut at = |t: Option<Time>, why: &'static str| {
            if let Some(t) = t.filter(|t| *t < next.0) {
                next = (t, why);
            }
        };
        at(self.receive.due(), "order");
        at(self.session.keys.expires(), "end of keys");
        if !self.session.is_up() {
            // Without keys nothing can leave, whatever is due.
            return next;
        }
        let waiting = self.send.waits();
        if let Some((time, why)) =
            self.backhaul.as_ref().and_then(|b| b.next_timeout(now, self.paths.as_slice(), waiting))
        {
            at(Some(time), why);
        }
        at(self.air_due(now), "air of the paths");
        let short = self.airtime.as_ref().filter(|_| waiting && self.send.heeds_air());
        at(short.and_then(|a| a.next_timeout()), "air of a channel");
        for p in self.paths.iter() {
            if p.may_speak() {
                at(p.recv.due(), "acknowledgement");
                at(p.address.challenge.map(|(_, t)| t), "address validation");
            }
            at(p.address.candidate.as_ref().and_then(|c| c.due()), "address validation");
            at(p.sent.loss_time(p.loss_delay()), "loss detection");
            at(
                p.live.next_change(self.owed_since(now, p), self.timeout(p.id, now), p.rtt.smoothed()),
                "dead path detection",
            );
            if self.rests(p) {
                continue;
            }
            at(p.live.next_probe(now), "path probe");
            if p.live.state != State::Active {
                continue;
            }
            // A probe is spaced by the round trip: before there is one, none leaves.
            at(p.rtt.is_known().then(|| p.mtu.next_probe()), "MTU search");
            at(self.next_ping(p, now, keepalive), "keepalive");
            if waiting && self.send.waits_for_pacing(p.id) {
                at(p.paced_until(), "pacing");
            }
        }
        next
    }
}

#[cfg(test)]
#[path = "timers_tests.rs"]
mod tests;
