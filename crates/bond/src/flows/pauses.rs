//! When packets of a connection are handed to the device, and whether it noticed that a path was
//! dead.
//!
//! ```text
//!   deliveries   ││││││││││││              ││││││││
//!   path         ───────────╳ dead ──────╳─────────
//!                ├── run ──┤├── pause ───┤
//! ```
//!
//! A connection *was delivering* if something of it had come for a second, with no pause of more
//! than a second. It *noticed* the outage if, within a second of its beginning, a pause began that
//! was longer by [`NOTICED_AFTER`] than any of the ten seconds before.

use ropewalk_time::{Duration, Time};

/// By so much a pause is longer than the longest of before if a connection noticed it: a call has a
/// gap that is heard, and a download stands visibly still.
pub const NOTICED_AFTER: Duration = Duration::from_millis(300);
/// A longer pause is the connection's own: it was idle.
const IDLE: Duration = Duration::from_secs(1);
/// A connection that has delivered for so long without being idle would be missed.
const RUN: Duration = Duration::from_secs(1);
/// A pause that begins later after a path's end has another cause.
const CAUSED_WITHIN: Duration = Duration::from_secs(1);
/// A connection that delivered so shortly before the end was delivering, however short its pauses
/// were.
const NEAR: Duration = Duration::from_millis(100);
/// What counts as usual is the longest pause of the last one or two of these.
const REMEMBERED: Duration = Duration::from_secs(5);
/// Long pauses that are remembered, for outages that are judged some seconds later.
const KEPT: usize = 2;

/// A pause that was longer than usual by [`NOTICED_AFTER`], of a connection that was delivering.
#[derive(Clone, Copy, Debug, Default)]
struct Lapse {
    begin: Time,
    end: Time,
    /// The longest pause of before, microseconds.
    usual: u32,
}

/// When a connection's packets came.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses {
    /// The last delivery; none has come while this is zero.
    last: Time,
    /// Since when it was not idle.
    run: Time,
    /// The longest pause of all, and those of this and the last while; microseconds, an hour at
    /// most.
    longest: u32,
    recent: [u32; 2],
    /// When this while began.
    since: Time,
    lapses: [Lapse; KEPT],
    /// Which lapse is the next to be replaced.
    next: u8,
}

/// A path that was dead, or still is, as a connection sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dead {
    /// Since when.
    pub since: Time,
    /// There is no other way now.
    pub no_way: bool,
}

impl Pauses {
    /// Something was handed to the device.
    pub(super) fn on_delivery(&mut self, now: Time) {
        if self.last == Time::ZERO {
            (self.last, self.run, self.since) = (now, now, now);
            return;
        }
        let pause = now.since(self.last);
        let usual = self.usual();
        if pause > usual + NOTICED_AFTER && self.last.since(self.run) >= RUN {
            self.lapses[usize::from(self.next)] = Lapse { begin: self.last, end: now, usual: micros(usual) };
            self.next = (self.next + 1) % KEPT as u8;
        }
        let pause_us = micros(pause);
        self.longest = self.longest.max(pause_us);
        if pause > IDLE {
            (self.run, self.since, self.recent) = (now, now, [0; 2]);
        } else {
            self.turn(now);
            self.recent[0] = self.recent[0].max(pause_us);
        }
        self.last = now;
    }

    fn turn(&mut self, now: Time) {
        let over = now.since(self.since);
        if over >= REMEMBERED {
            self.recent = [0, if over < REMEMBERED * 2 { self.recent[0] } else { 0 }];
            self.since = now;
        }
    }

    /// The longest pause of late, without the one that is under way.
    fn usual(&self) -> Duration {
        let [this, before] = self.recent;
        Duration::from_micros(this.max(before).into())
    }

    /// The longest time between two deliveries.
    pub(super) fn longest(&self) -> Duration {
        Duration::from_micros(self.longest.into())
    }

    /// Whether the connection noticed that a path was dead; `None` if it was not delivering when
    /// that began. `spoke`: when this end last sent something of it.
    pub(super) fn judge(&self, dead: Dead, spoke: Time, now: Time) -> Option<bool> {
        let start = dead.since;
        let began =
            |at: Time, usual: Duration| at <= start + CAUSED_WITHIN && start.since(at) <= usual.max(NEAR);
        let lapsed = |l: &Lapse| l.end > start && began(l.begin, Duration::from_micros(l.usual.into()));
        if self.lapses.iter().any(lapsed) {
            return Some(true);
        }
        let usual = self.usual();
        let delivered = self.last.since(self.run) >= RUN;
        if now.since(self.last) > usual + NOTICED_AFTER && delivered && began(self.last, usual) {
            // It stands still: it is at its end, unless somebody asks in vain, or nothing can come.
            return Some(dead.no_way || spoke > self.last + NOTICED_AFTER);
        }
        let went_on = self.last >= start || start.since(self.last) <= usual.max(NEAR);
        (went_on && self.run + RUN <= start && self.last > Time::ZERO).then_some(false)
    }
}

fn micros(d: Duration) -> u32 {
    u32::try_from(d.as_micros()).unwrap_or(u32::MAX)
}
