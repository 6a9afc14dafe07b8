//! How the air of one channel is shared.
//!
//! ```text
//!            the best alone carries less than the channel has
//!   Alone ─────────────────────────────────────────────────────▶ Open
//!   only the best send            the others send, too, as much as those leave
//!     ▲                                                            │
//!     └── after a while; those that brought less than they cost rest
//! ```
//!
//! The best leaves 1 - rate · packet time, but what the others hold would look free, too. So they
//! start from a measurement of the best alone (`docs/design/roam.md`, "Over the bond").

use crate::path::PathId;
use ropewalk_time::{Duration, Time};

/// Share of the air that is left unused.
const MARGIN: f64 = 0.02;
/// Less air than this is not worth a try.
const WORTH: f64 = 0.05;
/// A window is so many round trips, within these bounds.
const ROUNDS: u32 = 8;
const WINDOW_LEAST: Duration = Duration::from_millis(200);
const WINDOW_MOST: Duration = Duration::from_secs(1);
/// The others send for so long at first, and at most, until the best is measured again.
const OPEN_FIRST: Duration = Duration::from_secs(1);
const OPEN_MOST: Duration = Duration::from_secs(16);
/// They rest for so long after they brought less than they cost, at first and at most.
const REST_FIRST: Duration = Duration::from_secs(2);
const REST_MOST: Duration = Duration::from_secs(32);
/// The best alone carries by so much more than all that it is no noise.
const LOSS: f64 = 1.05;
/// The best's share of the air changed by so much that it is measured again soon.
const CHANGE: f64 = 0.1;
/// Air that may be saved up.
const SAVED_NS: f64 = 10e6;
/// The longest wait for air before the next look.
const WAIT_NS: f64 = 1e9;

/// What happened on a channel since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// Air that the best paths' delivered packets took, nanoseconds.
    pub air_ns: f64,
    /// Bytes that all paths delivered.
    pub bytes: f64,
    /// The longest round trip of the best.
    pub round: Duration,
    /// The best could carry more: there is nothing, or it is only looking for its rate.
    pub is_idle: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Alone {
        /// A window has passed, in which what was under way of the others arrived.
        settled: bool,
        /// Bytes per second of all paths while the others sent; none where that is not known.
        with_others: Option<f64>,
    },
    Open {
        until: Time,
        settled: bool,
        bytes: f64,
        seconds: f64,
    },
}

#[derive(Clone, Copy, Debug)]
struct Window {
    since: Time,
    air_ns: f64,
    bytes: f64,
    idle: Duration,
}

impl Window {
    fn at(now: Time) -> Window {
        Window { since: now, air_ns: 0.0, bytes: 0.0, idle: Duration::ZERO }
    }
}

/// A channel with several paths.
#[derive(Debug)]
pub(super) struct Channel {
    /// The client's number of it.
    pub number: u8,
    /// The path with the least packet time.
    pub best: PathId,
    /// That packet time, nanoseconds.
    pub best_ns: f64,
    phase: Phase,
    window: Window,
    looked: Time,
    was_idle: bool,
    /// Share of the air that the best has.
    used: f64,
    /// Share that the others may take.
    allowance: f64,
    /// Air that they may take now, nanoseconds.
    saved_ns: f64,
    lasts: Duration,
    rest: Duration,
    rests_until: Time,
}

impl Channel {
    pub(super) fn new(number: u8, best: PathId, now: Time) -> Channel {
        Channel {
            number,
            best,
            best_ns: f64::INFINITY,
            phase: Phase::Alone { settled: false, with_others: None },
            window: Window::at(now),
            looked: now,
            was_idle: true,
            used: 0.0,
            allowance: 0.0,
            saved_ns: 0.0,
            lasts: OPEN_FIRST,
            rest: REST_FIRST,
            rests_until: Time::ZERO,
        }
    }

    /// The others may send at all.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    /// They may send now.
    pub(super) fn has_air(&self) -> bool {
        self.is_open() && self.saved_ns > 0.0
    }

    /// Share of the air that they may take.
    pub(super) fn allowance(&self) -> f64 {
        self.allowance
    }

    /// Packets that take `ns` each for which there is air; one at least.
    pub(super) fn datagrams(&self, ns: f64) -> usize {
        (self.saved_ns / ns).ceil().max(1.0) as usize
    }

    /// The others sent something.
    pub(super) fn spend(&mut self, ns: f64) {
        // While they rest acknowledgements and probes go out, which are no debt.
        if self.is_open() {
            self.saved_ns -= ns;
        }
    }

    /// When the others may send again.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let is_short = self.is_open() && self.saved_ns <= 0.0 && self.allowance > 0.0;
        let wait = ((1.0 - self.saved_ns) / self.allowance).min(WAIT_NS);
        is_short.then(|| self.looked + Duration::from_nanos(wait as u64 + 1))
    }

    pub(super) fn on_look(&mut self, now: Time, look: &Look) {
        let passed = now.since(self.looked);
        self.looked = now;
        if std::mem::replace(&mut self.was_idle, look.is_idle) {
            self.window.idle += passed;
        }
        self.window.air_ns += look.air_ns;
        self.window.bytes += look.bytes;
        if self.is_open() {
            self.saved_ns = (self.saved_ns + self.allowance * passed.as_nanos() as f64).min(SAVED_NS);
        }
        let length = (look.round * ROUNDS).clamp(WINDOW_LEAST, WINDOW_MOST);
        if now.since(self.window.since) >= length {
            self.on_window(now, length);
        }
    }

    fn on_window(&mut self, now: Time, length: Duration) {
        let window = std::mem::replace(&mut self.window, Window::at(now));
        let passed = now.since(window.since);
        let share = window.air_ns / passed.as_nanos().max(1) as f64;
        let seconds = passed.as_secs_f64();
        let is_busy = window.idle * 4 <= passed;
        match &mut self.phase {
            Phase::Alone { settled, .. } if !*settled => *settled = true,
            // What the best could carry is not known.
            Phase::Alone { .. } if !is_busy => {}
            Phase::Alone { with_others, .. } => {
                let with_others = with_others.take();
                self.judge(now, share, window.bytes / seconds.max(1e-9), with_others);
                if now >= self.rests_until && 1.0 - MARGIN - share >= WORTH {
                    self.open(now, length);
                }
            }
            Phase::Open { until, settled, bytes, seconds: all } => {
                if *settled && is_busy {
                    (*bytes, *all) = (*bytes + window.bytes, *all + seconds);
                }
                *settled = true;
                self.used = (self.used + share) / 2.0;
                self.allowance = (1.0 - MARGIN - self.used).clamp(0.0, 1.0);
                if now >= *until {
                    let with_others = (*all > 0.0).then(|| *bytes / *all);
                    self.phase = Phase::Alone { settled: false, with_others };
                }
            }
        }
    }

    /// The best was measured alone; what all carried before shows what the others are worth.
    fn judge(&mut self, now: Time, share: f64, alone: f64, with_others: Option<f64>) {
        let before = std::mem::replace(&mut self.used, share);
        match with_others {
            Some(all) if alone > all * LOSS => {
                self.rests_until = now + self.rest;
                (self.rest, self.lasts) = ((self.rest * 2).min(REST_MOST), OPEN_FIRST);
            }
            Some(_) => {
                let is_steady = (share - before).abs() <= CHANGE;
                self.rest = REST_FIRST;
                self.lasts = if is_steady { (self.lasts * 2).min(OPEN_MOST) } else { OPEN_FIRST };
            }
            None => {}
        }
    }

    fn open(&mut self, now: Time, window: Duration) {
        // Some windows are needed to tell what the others bring.
        let until = now + self.lasts.max(window * 4);
        self.phase = Phase::Open { until, settled: false, bytes: 0.0, seconds: 0.0 };
        (self.allowance, self.saved_ns) = ((1.0 - MARGIN - self.used).clamp(0.0, 1.0), 0.0);
    }
}
