//! One access point's part in a session: what it holds, and how much it may be asked for.

use super::Tunnel;
use crate::Time;
use crate::elide::Elision;
use crate::wire::report::{MAX_NUMBER, Mark};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Marks that wait for the home access point's.
const UNMATCHED: usize = 64;
/// Laps of 802.11 back from the newest mark in which an equal one is looked for: twice as many
/// packets as a session keeps.
const LAPS: u64 = 32;
/// A number is believed when a mark no further away was right: half a lap of 802.11.
const TRUST: u64 = 2048;
/// An access point that brings nothing for so long is not waited for; less than four of its round
/// trips are no failure either.
const PATIENCE_MIN: Duration = Duration::from_millis(200);
/// Before the first packet came.
const PATIENCE_FIRST: Duration = Duration::from_secs(1);
/// For so long a request that was overdue may still come, and say that round trips have grown.
const LATE: Duration = Duration::from_secs(2);
/// Failures within this time are one.
const ONE_FAILURE: Duration = Duration::from_secs(1);
/// How long the highest delivery rate is remembered: twice this at most.
const RATE_MEMORY: Duration = Duration::from_secs(1);
/// The shortest round trip is measured anew, with half the window, each so often.
const REFRESH: Duration = Duration::from_secs(15);
/// Packets beyond the product of rate and delay, so that whole ones fit.
const SLACK: f64 = 4.0 * 1400.0;
/// As BBR has it: enough to find more bandwidth, and a short queue.
const GAIN: f64 = 1.25;
/// While the rate is not known.
const STARTUP_GAIN: f64 = 2.0;

/// A packet that was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Time,
    bytes: u64,
    delivered: u64,
    delivered_at: Time,
    /// There was less to ask for than the window: the sample says less than the rate.
    limited: bool,
}

/// What is left of a window after failures: 1/8 to 1. Failures within a second are one.
#[derive(Clone, Copy, Debug)]
struct Trust {
    share: f64,
    failed_at: Option<Time>,
}

impl Trust {
    fn new(share: f64) -> Trust {
        Trust { share, failed_at: None }
    }

    fn fail(&mut self, now: Time) {
        if self.failed_at.is_none_or(|at| now >= at + ONE_FAILURE) {
            (self.share, self.failed_at) = ((self.share * 0.5).max(1.0 / 8.0), Some(now));
        }
    }

    fn grow(&mut self) {
        self.share = (self.share * 1.05).min(1.0);
    }
}

/// How fast an access point delivers, from what it was asked for and brought.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    asked: BTreeMap<u64, Asked>,
    pub(super) outstanding: u64,
    delivered: u64,
    delivered_at: Time,
    /// Highest rates of this spell and the one before, bytes a second.
    rates: [f64; 2],
    spell_from: Time,
    /// Shortest time from asking to having.
    least: Option<Duration>,
    least_at: Time,
    smoothed: Option<Duration>,
    /// Startup ends when three round trips bring no quarter more.
    startup: Option<(f64, u8, u64)>,
    /// After packets that it did not bring. Its account keeps this for other sessions.
    score: Trust,
    /// After packets that were not what was listed: the home may have handed out others.
    integrity: Trust,
    /// When it brought something last, late or not; at first when it came.
    pub(super) brought_at: Time,
    /// A packet is overdue, and it has brought nothing since it was asked for it.
    pub(super) is_in_doubt: bool,
    /// One request that was overdue, and when it was made.
    late: Option<(u64, Time)>,
}

impl Delivery {
    fn new(score: f64, now: Time) -> Delivery {
        Delivery {
            asked: BTreeMap::new(),
            outstanding: 0,
            delivered: 0,
            delivered_at: now,
            rates: [0.0; 2],
            spell_from: now,
            least: None,
            least_at: now,
            smoothed: None,
            startup: Some((0.0, 0, 0)),
            score: Trust::new(score),
            integrity: Trust::new(1.0),
            brought_at: now,
            is_in_doubt: false,
            late: None,
        }
    }

    fn rate(&self) -> f64 {
        self.rates[0].max(self.rates[1])
    }

    /// Bytes that it may be asked for at once. Whatever it is, one packet may be asked for.
    pub(super) fn window(&self, now: Time) -> f64 {
        if self.is_in_doubt {
            return 0.0;
        }
        let Some(least) = self.least else {
            return 10.0 * 1400.0 * self.trust();
        };
        let gain = if self.startup.is_some() { STARTUP_GAIN } else { GAIN };
        let refresh = if now >= self.least_at + REFRESH { 0.5 } else { 1.0 };
        let whole = (self.rate() * least.as_secs_f64() * gain + SLACK).max(10.0 * 1400.0 * refresh);
        whole * refresh * self.trust()
    }

    fn trust(&self) -> f64 {
        (self.score.share * self.integrity.share).max(1.0 / 8.0)
    }

    /// 1/8 to 1: how much of its window it is trusted with, whatever a home handed out to it.
    pub(super) fn score(&self) -> f64 {
        self.score.share
    }

    /// When what it is asked for now would be here.
    pub(super) fn expected(&self, bytes: u64, now: Time) -> Time {
        let rate = self.rate().max(10_000.0);
        let least = self.least.unwrap_or(Duration::from_millis(100));
        now + least.max(Duration::from_secs_f64((self.outstanding + bytes) as f64 / rate))
    }

    /// After so long it is taken to have failed.
    pub(super) fn patience(&self) -> Duration {
        self.smoothed.map_or(PATIENCE_FIRST, |s| (s * 4).max(PATIENCE_MIN))
    }

    pub(super) fn ask(&mut self, number: u64, bytes: u64, more: bool, now: Time) {
        if self.outstanding == 0 {
            self.delivered_at = now;
        }
        let limited =
            self.is_in_doubt || !more && (self.outstanding + bytes) as f64 + SLACK < self.window(now);
        self.outstanding += bytes;
        let (delivered, delivered_at) = (self.delivered, self.delivered_at);
        let asked = Asked { at: now, bytes, delivered, delivered_at, limited };
        if let Some(old) = self.asked.insert(number, asked) {
            self.outstanding -= old.bytes;
        }
    }

    /// It brought a number, which ends all doubt. False if it was not asked for it, or is late.
    pub(super) fn brought(&mut self, number: u64, now: Time) -> bool {
        (self.brought_at, self.is_in_doubt) = (now, false);
        let Some(asked) = self.asked.remove(&number) else {
            // It took longer than was waited for. By how much says nothing: it may be an outage.
            let took = self.late.take_if(|(n, _)| *n == number).map(|_| self.patience());
            self.smoothed = self.smoothed.map(|s| took.map_or(s, |took| (s * 7 + took) / 8));
            return false;
        };
        self.outstanding -= asked.bytes;
        self.delivered += asked.bytes;
        self.delivered_at = now;
        self.score.grow();
        self.integrity.grow();
        let took = now.since(asked.at);
        self.smoothed = Some(self.smoothed.map_or(took, |s| (s * 7 + took) / 8));
        let renewed = now >= self.least_at + REFRESH + took * 2;
        if renewed || self.least.is_none_or(|l| took <= l) {
            (self.least, self.least_at) = (Some(took.max(Duration::from_micros(100))), now);
        }
        self.sample(&asked, now);
        true
    }

    fn sample(&mut self, asked: &Asked, now: Time) {
        let span = now.since(asked.delivered_at).as_secs_f64();
        if now >= self.spell_from + RATE_MEMORY.max(self.smoothed.unwrap_or_default() * 4) {
            // A spell in which there was too little to do says nothing.
            if self.rates[0] > 0.0 {
                self.rates = [0.0, self.rates[0]];
            }
            self.spell_from = now;
        }
        let rate = (self.delivered - asked.delivered) as f64 / span.max(1e-4);
        if span > 0.0 && (!asked.limited || rate > self.rate()) && span >= 0.002 {
            self.rates[0] = self.rates[0].max(rate);
        }
        if let Some((full, rounds, until)) = &mut self.startup
            && asked.delivered >= *until
            && !asked.limited
        {
            *until = self.delivered;
            let best = self.rates[0].max(self.rates[1]);
            (*full, *rounds) = if best > *full * 1.25 { (best, 0) } else { (*full, *rounds + 1) };
            if *rounds >= 3 {
                self.startup = None;
            }
        }
    }

    /// Numbers that others are to bring: those that are overdue, and all if it has brought nothing
    /// since it was asked for one of them. It is asked for less from now on.
    pub(super) fn overdue(&mut self, now: Time) -> Vec<u64> {
        let patience = self.patience();
        let is_late = |a: &Asked| now >= a.at + patience;
        let oldest = self.asked.iter().map(|(n, a)| (*n, a.at)).min_by_key(|(_, at)| *at);
        let Some(oldest) = oldest.filter(|(_, at)| now >= *at + patience) else {
            return Vec::new();
        };
        self.late = self.late.filter(|(_, at)| now < *at + LATE).or(Some(oldest));
        let is_silent = self.asked.values().any(|a| is_late(a) && a.at >= self.brought_at);
        self.is_in_doubt |= is_silent;
        let late: Vec<u64> =
            self.asked.iter().filter(|(_, a)| is_silent || is_late(a)).map(|(n, _)| *n).collect();
        for n in &late {
            self.outstanding -= self.asked.remove(n).map_or(0, |a| a.bytes);
        }
        self.score.fail(now);
        late
    }

    /// What it brought is not what the home access point listed.
    pub(super) fn damaged(&mut self, now: Time) {
        self.integrity.fail(now);
    }

    /// Somebody else brought it, or it is not wanted any more.
    pub(super) fn forget(&mut self, number: u64) {
        self.outstanding -= self.asked.remove(&number).map_or(0, |a| a.bytes);
    }

    /// Nothing of what it was asked for is wanted any more.
    pub(super) fn forget_all(&mut self) {
        self.asked.clear();
        self.outstanding = 0;
    }

    pub(super) fn asked_for(&self) -> impl Iterator<Item = u64> + '_ {
        self.asked.keys().copied()
    }
}

/// A member of a session.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) tunnel: Tunnel,
    /// Whose account it is.
    pub(super) who: u64,
    /// Its number for the session, in its tunnel.
    pub(super) wire: u8,
    /// Its number in the session; 0 is the home access point.
    pub(super) apid: u8,
    /// What it drew when it started.
    pub(super) boot: u64,
    /// Added to its numbers, they are the session's; none while that is not known.
    pub(super) shift: Option<i64>,
    /// A number whose mark was right.
    confirmed: u64,
    unmatched: VecDeque<Mark>,
    pub(super) held: BTreeSet<u64>,
    pub(super) room: u64,
    /// When its last report came; at first when it came itself.
    pub(super) reported_at: Time,
    pub(super) elision: Elision,
    pub(super) delivery: Delivery,
    pub(super) told_native: bool,
    pub(super) released: u64,
    pub(super) released_at: Time,
}

impl Member {
    pub(super) fn new(
        (tunnel, wire): (Tunnel, u8),
        who: u64,
        apid: u8,
        boot: u64,
        score: f64,
        now: Time,
    ) -> Member {
        Member {
            tunnel,
            who,
            wire,
            apid,
            boot,
            shift: None,
            confirmed: 0,
            unmatched: VecDeque::new(),
            held: BTreeSet::new(),
            room: 0,
            reported_at: now,
            elision: Elision::default(),
            delivery: Delivery::new(score, now),
            told_native: true,
            released: 0,
            released_at: Time::ZERO,
        }
    }

    pub(super) fn is_home(&self) -> bool {
        self.apid == 0
    }

    /// For how long it has neither reported nor brought anything.
    pub(super) fn silence(&self, now: Time) -> Duration {
        now.since(self.reported_at.max(self.delivery.brought_at))
    }

    /// The session's number of one of its own.
    pub(super) fn session_number(&self, own: u64) -> Option<u64> {
        shifted(own, self.shift?)
    }

    /// Its own number of one of the session's.
    pub(super) fn own_number(&self, number: u64) -> Option<u64> {
        number.checked_add_signed(self.shift?.checked_neg()?)
    }

    /// Marks of packets that it heard, beside those of the home access point: they say which of its
    /// numbers is which, and whether it still counts right.
    pub(super) fn align(&mut self, marks: &[Mark], home: &BTreeMap<u64, u32>) {
        // Of many the newest: they say where it is now, and each costs a search.
        self.unmatched.extend(&marks[marks.len().saturating_sub(UNMATCHED)..]);
        for (own, hash) in core::mem::take(&mut self.unmatched) {
            match self.session_number(own) {
                Some(number) => match home.get(&number) {
                    Some(right) if *right == hash => self.confirmed = number,
                    // It has lost count: what it says means nothing until another mark fits.
                    Some(_) => (self.shift, _) = (None, self.held.clear()),
                    None => self.unmatched.push_back((own, hash)),
                },
                None => match newest_equal(home, own, hash) {
                    Some(n) => (self.shift, self.confirmed) = (Some(n as i64 - own as i64), n),
                    None => self.unmatched.push_back((own, hash)),
                },
            }
        }
        let excess = self.unmatched.len().saturating_sub(UNMATCHED);
        self.unmatched.drain(..excess);
    }

    /// Of its own numbers those that can be believed, as the session's.
    pub(super) fn believed(&self, own: &[u64]) -> Vec<u64> {
        let near = |n: &u64| n.abs_diff(self.confirmed) < TRUST;
        own.iter().filter_map(|n| self.session_number(*n)).filter(near).collect()
    }
}

/// A number after a shift, if there is such a number.
pub(super) fn shifted(own: u64, shift: i64) -> Option<u64> {
    own.checked_add_signed(shift).filter(|n| *n < MAX_NUMBER)
}

/// The newest of the home access point's marks that has this hash, and a number that agrees with
/// this one in 12 bits.
fn newest_equal(home: &BTreeMap<u64, u32>, own: u64, hash: u32) -> Option<u64> {
    let newest = *home.last_key_value()?.0;
    let back = newest.wrapping_sub(own) & 4095;
    let mut places = (0..LAPS).map_while(|lap| newest.checked_sub(back + 4096 * lap));
    places.find(|n| home.get(n) == Some(&hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of this rate (bytes a second) and delay, always asked for as much as it may be.
    fn run(rate: f64, delay: Duration, seconds: u64) -> (f64, Duration) {
        let mut d = Delivery::new(1.0, Time::ZERO);
        let (mut now, mut number, mut free, mut carried) = (Time::ZERO, 0, Time::ZERO, 0u64);
        let mut arrivals: VecDeque<(Time, u64)> = VecDeque::new();
        let (end, mut took) = (Time::from_secs(seconds), Duration::ZERO);
        while now < end {
            while (d.outstanding + 1400) as f64 <= d.window(now) {
                d.ask(number, 1400, true, now);
                free = free.max(now + delay / 2) + Duration::from_secs_f64(1400.0 / rate);
                arrivals.push_back((free + delay / 2, number));
                number += 1;
            }
            let (at, n) = arrivals.pop_front().unwrap();
            now = at;
            d.brought(n, now);
            carried += u64::from(now > Time::from_millis(500 * seconds)) * 1400;
            took = d.smoothed.unwrap();
        }
        (carried as f64 / (seconds as f64 / 2.0) / rate, took)
    }

    #[test]
    fn keeps_a_link_busy_and_its_queue_short() {
        for (rate, delay) in [(250e3, 32), (250e3, 192), (1250e3, 80), (2500e3, 20), (125e3, 20)] {
            let (used, took) = run(rate, Duration::from_millis(delay), 60);
            assert!(used > 0.98, "{rate} {delay}: {used}");
            let packets = Duration::from_secs_f64(10.0 * 1400.0 / rate);
            assert!(took < Duration::from_millis(delay) * 3 / 2 + packets, "{rate} {delay}: {took:?}");
        }
    }

    #[test]
    fn one_that_brings_nothing_is_asked_for_less_and_forgiven() {
        let mut d = Delivery::new(1.0, Time::ZERO);
        let window = d.window(Time::ZERO);
        d.ask(1, 1400, true, Time::ZERO);
        assert_eq!(d.overdue(Time::from_secs(3)), [1]);
        assert_eq!((d.outstanding, d.window(Time::ZERO)), (0, 0.0), "one packet at a time");
        assert!(!d.brought(1, Time::from_secs(4)), "late");
        assert_eq!(d.window(Time::ZERO), window / 2.0, "it lives");
        for n in 2..60 {
            d.ask(n, 1400, true, Time::from_secs(4));
            assert!(d.brought(n, Time::from_secs(4) + Duration::from_millis(n)));
        }
        assert_eq!(d.score(), 1.0);
    }

    #[test]
    fn who_brings_others_is_not_in_doubt_for_one_that_does_not_come() {
        let (mut d, ms) = (Delivery::new(1.0, Time::ZERO), Time::from_millis);
        (1..4).for_each(|n| d.ask(n, 1400, true, ms(0)));
        assert!(d.brought(2, ms(40)) && d.brought(3, ms(40)));
        assert_eq!((d.overdue(ms(250)), d.is_in_doubt), (vec![1], false));
        d.ask(4, 1400, true, ms(250));
        d.ask(5, 1400, true, ms(290));
        assert_eq!(d.overdue(ms(440)), [0u64; 0]);
        assert_eq!((d.overdue(ms(450)), d.is_in_doubt), (vec![4, 5], true), "with what is not late yet");
        // A request that is not overdue stays, and the next one waits for its time.
        d.ask(6, 1400, true, ms(450));
        assert_eq!((d.overdue(ms(600)), d.overdue(ms(650))), (vec![], vec![6]));
        assert!(d.is_in_doubt);
        d.ask(7, 1400, true, ms(650));
        assert!(d.brought(7, ms(690)) && !d.is_in_doubt);
        assert_eq!(d.outstanding, 0);
    }

    #[test]
    fn a_longer_round_trip_is_learnt_from_what_comes_late() {
        let (mut d, ms) = (Delivery::new(1.0, Time::ZERO), Time::from_millis);
        d.ask(0, 1400, true, ms(0));
        assert!(d.brought(0, ms(40)));
        // A request each 10 ms, which comes after 300; a tick each 50.
        let mut last_overdue = 0;
        for n in 1..=200u64 {
            let now = ms(40 + 10 * n);
            if n > 30 {
                d.brought(n - 30, now);
            }
            if n.is_multiple_of(5) && !d.overdue(now).is_empty() {
                last_overdue = n;
            }
            d.ask(n, 1400, true, now);
        }
        assert!((20..100).contains(&last_overdue), "{last_overdue}");
        assert!(!d.is_in_doubt && d.smoothed > Some(Duration::from_millis(290)), "{:?}", d.smoothed);
    }

    #[test]
    fn the_newest_mark_that_may_be_meant_is_found() {
        let home = BTreeMap::from([(64, 7), (64 + 4096, 7), (64 + 3 * 4096, 8), (128 + 3 * 4096, 7)]);
        assert_eq!(newest_equal(&home, 64 + (9 << 12), 7), Some(64 + 4096));
        assert_eq!(newest_equal(&home, 128, 7), Some(128 + 3 * 4096));
        assert_eq!(newest_equal(&home, 192, 7), None, "another place of the lap");
        assert_eq!(newest_equal(&home, 64, 9), None);
        assert_eq!(newest_equal(&BTreeMap::from([(3, 7)]), 4, 7), None, "before the first lap");
    }

    #[test]
    fn of_many_marks_the_newest_are_looked_at() {
        let mut m = Member::new((Tunnel(1), 0), 1, 2, 9, 1.0, Time::ZERO);
        let marks: Vec<Mark> = (0..1000).map(|n| (64 * n, n as u32)).collect();
        m.align(&marks, &BTreeMap::from([(64, 1)]));
        assert_eq!((m.shift, m.unmatched.len()), (None, UNMATCHED));
        m.align(&[], &BTreeMap::from([(64 * 999, 999)]));
        assert_eq!((m.shift, m.confirmed), (Some(0), 64 * 999));
    }

    #[test]
    fn numbers_are_put_side_by_side_by_marks_and_a_wrong_one_ends_belief() {
        let mut m = Member::new((Tunnel(1), 0), 1, 2, 9, 1.0, Time::ZERO);
        let home = BTreeMap::from([(10_048, 77), (10_112, 78), (10_176, 79)]);
        assert_eq!(m.believed(&[10_050 - 8192]), [0u64; 0], "nothing is known yet");
        m.align(&[(10_048 - 8192, 77)], &home);
        assert_eq!(m.believed(&[10_050 - 8192, 10_050]), [10_050]);
        m.align(&[(10_112 - 8192, 78)], &home);
        m.align(&[(10_176 - 8192, 1)], &home);
        assert_eq!(m.believed(&[10_050 - 8192]), [0u64; 0]);
    }
}
