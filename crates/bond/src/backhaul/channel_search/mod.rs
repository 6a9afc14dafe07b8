//! When the dedicated link of a backhaul leaves its channel, and where it goes (Multifacet, 000
//! §3.3 and §5.4; rows MF-15 to MF-20 of the ledger).
//!
//! ```text
//!            rate under `least` for a whole `window`, though data waited
//!   Watching ───────────────────────────────────────────────────────────▶ Moving(candidate) ──arrived──▶ Testing ──▶ next candidate, or the end
//!      ▲                                                                     │ not there in time: the candidate counts as 0
//!      └──────── Resting ◀──── arrived ──── Moving(home: the origin or the best) ◀───┘
//! ```
//!
//! The search has no radio: a driver tells it what the link carried and where the radio is ([`Reading`]), and does what it says ([`Order`]). The channel that the
//! link shares with clients is never among the candidates, because the clients are only there.

use ropewalk_time::{Duration, Time};

/// A test that has seen nothing after so many times its length ends with a rate of 0: the station did not follow.
const DEAF: u32 = 10;
/// Packets of 1500 B for which a test has room at the least rate: in a shorter one a straggler from
/// the channel before would decide.
const PACKETS: f64 = 8.0;
/// Share of the looks of a window at which data has to wait.
const WANTED: f64 = 0.7;
/// Attempts to go home.
const HOMEWARD: u32 = 3;

/// How candidates are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The first that carries more than the link carried before; otherwise home again.
    Adequate,
    /// All, then the best, the origin included.
    Best,
}

/// What a search goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Centres of the candidates' primary 20 MHz, MHz, in the order in which they are tried.
    pub candidates_mhz: Vec<u32>,
    /// How they are gone through.
    pub search: Search,
    /// The link is to carry at least this while data waits for it, bit/s.
    pub least_bps: f64,
    /// So long it may carry less, if data waits for it at seven of ten looks.
    pub window: Duration,
    /// Length of a test: 20 ms in the paper. It is longer, and as long as `window` at most, where
    /// fewer than eight packets of 1500 B come in that time at `least_bps`.
    pub test: Duration,
    /// So long a switch may take, its announcement included: two beacons and the station's way. A busy machine may take several times as long, and a search pays for
    /// it only where a radio neither goes nor says that it will not.
    pub patience: Duration,
    /// So long nothing is searched after a search.
    pub rest: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            candidates_mhz: Vec::new(),
            search: Search::Adequate,
            least_bps: 5e6,
            window: Duration::from_millis(1000),
            test: Duration::from_millis(20),
            patience: Duration::from_millis(1500),
            rest: Duration::from_secs(30),
        }
    }
}

impl Settings {
    fn test_length(&self) -> Duration {
        let packets = Duration::from_secs_f64(PACKETS * 12_000.0 / self.least_bps.max(1.0));
        self.test.max(packets.min(self.window))
    }
}

/// How the link is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Bytes that arrived over the link, ever.
    pub carried_bytes: u64,
    /// Whether it is what limits: data waits for it, or it holds much of what it may ([`crate::engine::Engine::link_load`]).
    pub wanted: bool,
    /// Where its radio is, MHz; `None` while that cannot be said.
    pub channel_mhz: Option<u32>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Give the link nothing more, and announce another channel.
    Move {
        /// Centre of its primary 20 MHz, MHz.
        to_mhz: u32,
    },
    /// The link may carry again: it is to be tested, or to stay.
    Resume,
    /// A search is over; the link may carry.
    Settled(Outcome),
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Where the link was, MHz.
    pub from_mhz: u32,
    /// Where it is, MHz; `None` if its radio is not where it was sent.
    pub at_mhz: Option<u32>,
    /// Candidates that were tried.
    pub probes: u32,
    /// What it carried before, bit/s.
    pub before_bps: f64,
    /// What it carried in the test at its new place, bit/s.
    pub after_bps: f64,
}

/// The search of one link.
#[derive(Clone, Debug)]
pub struct Migration {
    settings: Settings,
    state: State,
    /// Of the search under way.
    origin_mhz: u32,
    before_bps: f64,
    /// Next candidate, as an index.
    next: usize,
    /// What tests gave: channel, bit/s.
    results: Vec<(u32, f64)>,
    /// Searches that ended.
    searches: u64,
    /// The radio has said that it does not go where it was sent last.
    is_refused: bool,
    /// A candidate was not reached in time, and not refused either: the radio may still be on its way there.
    is_adrift: bool,
}

/// A window that began when data waited.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Watch {
    since: Time,
    /// What had been carried then.
    carried: u64,
    /// Looks, and those of them at which data waited.
    looks: u32,
    wanted: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Watching(Option<Watch>),
    Moving {
        to_mhz: u32,
        until: Time,
        /// Attempts left; 0 for a candidate, which gets one.
        home: u32,
    },
    /// `began`: when the first bytes came, and how many had been carried then.
    Testing {
        at_mhz: u32,
        resumed: (Time, u64),
        began: Option<(Time, u64)>,
    },
    Resting(Time),
}

impl Migration {
    /// A link that stays where it is until it carries too little.
    pub fn new(settings: Settings) -> Migration {
        Migration {
            settings,
            state: State::Watching(None),
            origin_mhz: 0,
            before_bps: 0.0,
            next: 0,
            results: Vec::new(),
            searches: 0,
            is_refused: false,
            is_adrift: false,
        }
    }

    /// Searches that ended.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    /// Whether a search is under way.
    pub fn is_searching(&self) -> bool {
        matches!(self.state, State::Moving { .. } | State::Testing { .. })
    }

    /// When to ask again at the latest, as long as nothing happens.
    pub fn next_timeout(&self, now: Time) -> Time {
        match self.state {
            State::Watching(_) => now + self.settings.window / 10,
            State::Moving { .. } | State::Testing { .. } => now + self.settings.test / 10,
            State::Resting(until) => until,
        }
    }

    /// The radio does not go where [`Order::Move`] sent it. That ends the trial of a candidate. On
    /// the way home it may only say that an earlier switch is not over: it is asked again later.
    pub fn refused(&mut self, now: Time) {
        if let State::Moving { until, home, .. } = &mut self.state {
            self.is_refused = true;
            if *home == 0 {
                *until = now;
            }
        }
    }

    /// What to do now, if anything. Ask until there is nothing.
    pub fn poll(&mut self, now: Time, reading: Reading) -> Option<Order> {
        match self.state {
            State::Resting(until) if now < until => None,
            State::Resting(_) => {
                self.state = State::Watching(None);
                None
            }
            State::Watching(since) => self.watch(since, now, reading),
            State::Moving { to_mhz, until, home } => self.move_on(to_mhz, until, home, now, reading),
            State::Testing { at_mhz, resumed, began } => self.test(at_mhz, resumed, began, now, reading),
        }
    }

    fn watch(&mut self, watch: Option<Watch>, now: Time, reading: Reading) -> Option<Order> {
        let fresh = Watch { since: now, carried: reading.carried_bytes, looks: 0, wanted: 0 };
        let Some(mut watch) = watch else {
            self.state = State::Watching(reading.wanted.then_some(fresh));
            return None;
        };
        (watch.looks, watch.wanted) = (watch.looks + 1, watch.wanted + u32::from(reading.wanted));
        let lasted = now.since(watch.since);
        if lasted < self.settings.window {
            self.state = State::Watching(Some(watch));
            return None;
        }
        self.state = State::Watching(reading.wanted.then_some(fresh));
        let bps = rate(reading.carried_bytes, watch.carried, lasted);
        let origin = reading.channel_mhz?;
        // A queue that a window runs dry now and then is one that data waits in.
        if bps >= self.settings.least_bps || f64::from(watch.wanted) < WANTED * f64::from(watch.looks) {
            return None;
        }
        (self.origin_mhz, self.before_bps, self.next) = (origin, bps, 0);
        self.results.clear();
        self.is_adrift = false;
        self.go_on(now)
    }

    /// To the next candidate, or home if there is none.
    fn go_on(&mut self, now: Time) -> Option<Order> {
        while let Some(&to_mhz) = self.settings.candidates_mhz.get(self.next) {
            self.next += 1;
            if to_mhz != self.origin_mhz {
                return self.go(to_mhz, 0, now);
            }
        }
        if self.results.is_empty() {
            // Nowhere to go: nothing was moved.
            self.state = State::Resting(now + self.settings.rest);
            return None;
        }
        let best = match self.settings.search {
            Search::Adequate => None,
            Search::Best => self.results.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }),
        };
        let home = best.filter(|b| b.1 > self.before_bps).map_or(self.origin_mhz, |b| b.0);
        self.go(home, HOMEWARD, now)
    }

    fn go(&mut self, to_mhz: u32, home: u32, now: Time) -> Option<Order> {
        self.is_refused = false;
        self.state = State::Moving { to_mhz, until: now + self.settings.patience, home };
        Some(Order::Move { to_mhz })
    }

    fn move_on(&mut self, to_mhz: u32, until: Time, home: u32, now: Time, reading: Reading) -> Option<Order> {
        let there = reading.channel_mhz == Some(to_mhz);
        // At home, with a switch of before still announced.
        let may_leave = self.is_adrift && self.is_refused && home > 1;
        match (there, home) {
            (true, 0) => {
                self.is_adrift = false;
                let resumed = (now, reading.carried_bytes);
                self.state = State::Testing { at_mhz: to_mhz, resumed, began: None };
                Some(Order::Resume)
            }
            // It may only not have left yet.
            (true, _) if self.is_adrift && now < until => None,
            (true, attempts) if may_leave => self.go(to_mhz, attempts - 1, now),
            (true, _) => self.settle(Some(to_mhz), now),
            (false, _) if now < until => None,
            (false, 0) => {
                self.is_adrift |= !self.is_refused;
                self.results.push((to_mhz, 0.0));
                self.go_on(now)
            }
            (false, 1) => self.settle(reading.channel_mhz, now),
            (false, attempts) => self.go(to_mhz, attempts - 1, now),
        }
    }

    fn test(
        &mut self,
        at_mhz: u32,
        resumed: (Time, u64),
        began: Option<(Time, u64)>,
        now: Time,
        reading: Reading,
    ) -> Option<Order> {
        let Some((start, carried)) = began else {
            if reading.carried_bytes > resumed.1 {
                let began = Some((now, reading.carried_bytes));
                self.state = State::Testing { at_mhz, resumed, began };
            } else if now.since(resumed.0) >= self.settings.test_length() * DEAF {
                return self.tested(at_mhz, 0.0, now);
            }
            return None;
        };
        let lasted = now.since(start);
        if lasted < self.settings.test_length() {
            return None;
        }
        self.tested(at_mhz, rate(reading.carried_bytes, carried, lasted), now)
    }

    fn tested(&mut self, at_mhz: u32, bps: f64, now: Time) -> Option<Order> {
        self.results.push((at_mhz, bps));
        if self.settings.search == Search::Adequate && bps > self.before_bps {
            return self.settle(Some(at_mhz), now);
        }
        self.go_on(now)
    }

    fn settle(&mut self, at_mhz: Option<u32>, now: Time) -> Option<Order> {
        self.state = State::Resting(now + self.settings.rest);
        self.searches += 1;
        let tested = at_mhz.and_then(|at| self.results.iter().rfind(|r| r.0 == at));
        Some(Order::Settled(Outcome {
            from_mhz: self.origin_mhz,
            at_mhz,
            probes: self.results.len() as u32,
            before_bps: self.before_bps,
            after_bps: tested.map_or(self.before_bps, |r| r.1),
        }))
    }
}

fn rate(now_bytes: u64, then_bytes: u64, lasted: Duration) -> f64 {
    now_bytes.saturating_sub(then_bytes) as f64 * 8.0 / lasted.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests;
