//! Who may speak: carrier sense, virtual carrier sense and backoff of one radio (802.11-2020, 10.3.4 and 10.23.2).
//!
//! # How time is counted
//! ```text
//!  … busy │ idle_since          base           start                       expiry
//!         ├── EIFS, if the last frame was broken, or the NAV ──┼── AIFS ──┼─ backoff · slot ─┤ transmit
//! ```
//! Nobody counts slots one by one. While the medium is idle the end of the shortest backoff stands
//! in the timers; when it becomes busy, whole slots since `start` are taken off each backoff at
//! once. An access that is due less than [`CCA_NS`] after the medium became busy still happens:
//! nobody has noticed yet.

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use crate::Time;

/// The category of beacons, above the four of EDCA.
pub(crate) const BEACON: usize = 4;
/// What carrier sense takes to notice a signal (aCCATime of an OFDM PHY, 17.4.4), ns; ns-3 takes as
/// long.
pub(crate) const CCA_NS: u64 = 4_000;
/// Categories with a backoff of their own.
pub(crate) const CATEGORIES: usize = 5;

/// One category's backoff.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Category {
    pub(crate) aifs_ns: u64,
    pub(crate) cw_min: u32,
    pub(crate) cw_max: u32,
    /// Failures in a row, to the retry limit: QSRC\[AC\] of 10.23.2.2.
    failures: u8,
    /// Current contention window.
    cw: u32,
    /// Slots that are left.
    backoff: u32,
    /// Counting does not start before this, whatever the medium does.
    from: u64,
    /// It has found the medium idle and goes without a backoff, unless the medium becomes busy before AIFS is over.
    fresh: bool,
}

/// The contention of one radio. Times in ns.
#[derive(Debug)]
pub(crate) struct Access {
    slot_ns: u64,
    eifs_extra_ns: u64,
    retry_limit: u8,
    /// EDCA's way of counting slots rather than DCF's.
    edca: bool,
    busy: bool,
    /// The radio is in an exchange of its own: nothing counts.
    held: bool,
    /// Categories that have something to send, by bit.
    wants: u8,
    /// Categories that want, or whose backoff may be under way: all others need no look.
    active: u8,
    idle_since: u64,
    busy_since: u64,
    nav_until: u64,
    /// EIFS without the AIFS at its end, after a frame that was broken.
    eifs_until: u64,
    /// The medium's becoming busy is noticed from then on.
    noticed_at: u64,
    /// When an answer was last found missing.
    failed_at: u64,
    pub(crate) categories: [Category; CATEGORIES],
    rng: ChaCha8Rng,
}

impl Category {
    /// The window after a failure (10.23.2.2): the next larger one, or, once as many failures in a row as the retry limit
    /// have been counted, the least again. Frames given up do not count: the next one begins with the window as it is.
    fn widen(&mut self, retry_limit: u8) {
        if self.failures < retry_limit {
            (self.failures, self.cw) = (self.failures + 1, (2 * self.cw + 1).min(self.cw_max));
        } else {
            (self.failures, self.cw) = (0, self.cw_min);
        }
    }
}

impl Access {
    pub(crate) fn new(
        slot_ns: u64,
        eifs_extra_ns: u64,
        (retry_limit, edca): (u8, bool),
        categories: [(u64, u32, u32); CATEGORIES],
        rng: ChaCha8Rng,
    ) -> Access {
        let category = |(aifs_ns, cw_min, cw_max)| Category {
            aifs_ns,
            cw_min,
            cw_max,
            failures: 0,
            cw: cw_min,
            backoff: 0,
            from: 0,
            fresh: false,
        };
        Access {
            slot_ns,
            eifs_extra_ns,
            retry_limit,
            edca,
            busy: false,
            held: false,
            wants: 0,
            active: 0,
            idle_since: 0,
            busy_since: 0,
            noticed_at: 0,
            nav_until: 0,
            eifs_until: 0,
            failed_at: 0,
            categories: categories.map(category),
            rng,
        }
    }

    /// From when AIFS is counted, if nothing happens. Time spent waiting for an answer in vain is not part of it, as in ns-3.
    #[inline]
    fn base(&self) -> u64 {
        self.idle_since.max(self.nav_until).max(self.eifs_until).max(self.failed_at)
    }

    /// When the next category may transmit; never while the medium is known to be busy.
    #[inline]
    pub(crate) fn expiry(&self, now: Time) -> Time {
        if self.held || self.wants == 0 {
            return Time::NEVER;
        }
        let base = self.base();
        let mut first = u64::MAX;
        let mut wants = self.wants;
        while wants != 0 {
            let c = &self.categories[wants.trailing_zeros() as usize];
            wants &= wants - 1;
            let start = (base + c.aifs_ns).max(c.from);
            first = first.min(start + u64::from(c.backoff) * self.slot_ns);
        }
        if self.busy && now.as_nanos().max(first) >= self.noticed_at {
            return Time::NEVER;
        }
        Time::from_nanos(first)
    }

    /// From when the radio knows that the medium is busy.
    #[inline]
    pub(crate) fn notices_at(&self) -> Time {
        Time::from_nanos(self.noticed_at)
    }

    /// Whether the medium is busy, and has been for long enough to be noticed.
    #[inline]
    fn knows_busy(&self, now: u64) -> bool {
        self.busy && self.busy_since < now && self.noticed_at <= now
    }

    /// The medium becomes busy, perhaps by a transmission of its `own`. Whole slots that have passed are taken off.
    #[inline]
    pub(crate) fn on_busy(&mut self, now: Time, own: bool) {
        if self.busy {
            return;
        }
        let now = now.as_nanos();
        if !self.held {
            self.settle(now, self.edca);
            // What came while the medium was idle needs no backoff (10.23.2.4): also if it was the gap before an answer of its own, as in ns-3.
            if !own {
                self.stop_fresh(now);
            }
        }
        (self.busy, self.busy_since) = (true, now);
        self.noticed_at = if own { now } else { now + CCA_NS };
    }

    /// Categories that meant to go at once, and now cannot, draw a backoff.
    fn stop_fresh(&mut self, now: u64) {
        let base = self.base();
        let mut left = self.wants;
        while left != 0 {
            let category = left.trailing_zeros() as usize;
            left &= left - 1;
            let c = &mut self.categories[category];
            if c.fresh && (base + c.aifs_ns).max(c.from) >= now + CCA_NS {
                c.fresh = false;
                c.backoff = self.rng.next_u32() & c.cw;
            }
        }
    }

    /// A frame was heard and was broken (EIFS), or was in order, which ends EIFS.
    #[inline]
    pub(crate) fn on_frame(&mut self, now: Time, broken: bool) {
        self.eifs_until = if broken { now.as_nanos() + self.eifs_extra_ns } else { 0 };
    }

    /// The medium becomes idle.
    #[inline]
    pub(crate) fn on_idle(&mut self, now: Time) {
        (self.busy, self.idle_since) = (false, now.as_nanos());
    }

    /// Takes off the slots that have passed. Where the medium becomes busy, EDCA takes off one more: it counts at the
    /// beginning of slots, that in which the medium becomes busy included, and DCF at the end of idle ones (10.23.2.4, 10.3.4.3).
    fn settle(&mut self, now: u64, begun_too: bool) {
        if self.busy || self.held {
            return;
        }
        let base = self.base();
        let mut left = self.active;
        while left != 0 {
            let category = left.trailing_zeros() as usize;
            left &= left - 1;
            let c = &mut self.categories[category];
            let start = (base + c.aifs_ns).max(c.from);
            if c.backoff > 0 && now >= start {
                // Backoffs fit 32 bits, and 32-bit divisions are the faster ones.
                let since = u32::try_from(now - start).unwrap_or(u32::MAX);
                let passed = c.backoff.min(since / self.slot_ns as u32 + u32::from(begun_too));
                c.backoff -= passed;
                c.from = start + u64::from(passed) * self.slot_ns;
            }
            if c.backoff == 0 && self.wants & (1 << category) == 0 {
                self.active &= !(1 << category);
            }
        }
    }

    /// Something of this category waits to be sent. A category that finds the medium busy, with no backoff under way,
    /// draws one (10.23.2.4); one that finds it idle goes after AIFS. True if it may go at this instant.
    pub(crate) fn want(&mut self, category: usize, now: Time) -> bool {
        let bit = 1 << category;
        if self.wants & bit != 0 {
            return false;
        }
        self.wants |= bit;
        self.active |= bit;
        let now = now.as_nanos();
        if !self.held && !self.busy {
            self.settle(now, false);
        }
        let c = &self.categories[category];
        let start = (self.base() + c.aifs_ns).max(c.from);
        let idle = c.backoff == 0;
        // What became busy a moment ago is not sensed yet.
        let sensed_busy = self.held || self.knows_busy(now) || self.nav_until > now;
        if sensed_busy {
            if idle {
                self.draw(category);
            }
            return false;
        }
        self.categories[category].fresh = idle && start > now;
        idle && start <= now
    }

    /// The access timer fired: the most urgent category that is due wins, and holds the radio. Others that were due as
    /// well have collided within the radio: they back off as after a collision on the air (10.23.2.4).
    pub(crate) fn grant(&mut self, now: Time) -> Option<usize> {
        let now = now.as_nanos();
        // Busy since earlier: the timer was not for this idle period.
        if self.held || self.wants == 0 || self.knows_busy(now) {
            return None;
        }
        let base = self.base();
        let due = |c: &Category| (base + c.aifs_ns).max(c.from) + u64::from(c.backoff) * self.slot_ns <= now;
        let mut winner = None;
        for category in (0..CATEGORIES).rev() {
            if self.wants & (1 << category) == 0 || !due(&self.categories[category]) {
                continue;
            }
            if winner.is_none() {
                winner = Some(category);
            } else {
                let c = &mut self.categories[category];
                c.widen(self.retry_limit);
                (c.backoff, c.from, c.fresh) = (self.rng.next_u32() & c.cw, now, false);
            }
        }
        let winner = winner?;
        self.settle(now, self.edca);
        (self.categories[winner].backoff, self.categories[winner].fresh) = (0, false);
        self.held = true;
        self.wants &= !(1 << winner);
        for category in 0..CATEGORIES {
            let c = &mut self.categories[category];
            if category != winner {
                c.from = c.from.max(now);
            }
        }
        Some(winner)
    }

    /// The exchange of a category has ended well: the window shrinks to its least, and a new backoff begins, whether
    /// something waits or not.
    pub(crate) fn release_after_success(&mut self, category: usize, now: Time) {
        let c = &mut self.categories[category];
        (c.cw, c.failures) = (c.cw_min, 0);
        self.release(category, now);
    }

    /// An exchange has failed: the window doubles, or begins anew; that a frame was given up changes nothing here.
    pub(crate) fn note_failure(&mut self, category: usize) {
        self.categories[category].widen(self.retry_limit);
    }

    /// The exchange has failed, and the medium is let go.
    pub(crate) fn release_after_failure(&mut self, category: usize, now: Time) {
        self.note_failure(category);
        self.failed_at = now.as_nanos();
        self.release(category, now);
    }

    fn release(&mut self, category: usize, now: Time) {
        self.held = false;
        for c in &mut self.categories {
            c.from = c.from.max(now.as_nanos());
        }
        self.draw(category);
    }

    /// Nothing was sent after all: the radio goes on as if it had not been asked.
    pub(crate) fn release_unused(&mut self) {
        self.held = false;
    }

    fn draw(&mut self, category: usize) {
        let c = &mut self.categories[category];
        // cw + 1 is a power of two.
        c.backoff = self.rng.next_u32() & c.cw;
        self.active |= 1 << category;
    }

    /// Virtual carrier sense: somebody has announced that the medium is his until then.
    #[inline]
    pub(crate) fn set_nav(&mut self, until: Time) {
        self.nav_until = self.nav_until.max(until.as_nanos());
    }

    /// Forgets the NAV: the RTS that set it was not followed by anything (10.3.2.4).
    pub(crate) fn reset_nav(&mut self, now: Time) {
        self.nav_until = self.nav_until.min(now.as_nanos());
    }

    /// Until when the NAV says busy.
    pub(crate) fn nav_until(&self) -> Time {
        Time::from_nanos(self.nav_until)
    }

    /// Whether the radio is in an exchange of its own.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Since when the medium has been idle.
    pub(crate) fn idle_since(&self) -> Time {
        Time::from_nanos(self.idle_since)
    }

    /// Back to the beginning: the radio was off, or changed channel. What waits keeps waiting.
    pub(crate) fn reset(&mut self, now: Time) {
        self.held = false;
        (self.eifs_until, self.nav_until, self.failed_at) = (0, 0, 0);
        for c in &mut self.categories {
            (c.cw, c.failures, c.backoff, c.from, c.fresh) = (c.cw_min, 0, 0, now.as_nanos(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    const SLOT: u64 = 9_000;
    const AIFS: u64 = 34_000;

    fn access(edca: bool) -> Access {
        Access::new(SLOT, 60_000, (7, edca), [(AIFS, 15, 1023); CATEGORIES], ChaCha8Rng::seed_from_u64(1))
    }

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn the_window_doubles_to_the_limit_and_begins_anew_whatever_frames_are_given_up() {
        let mut a = access(true);
        let mut seen = Vec::new();
        for n in 1..=9 {
            a.release_after_failure(0, at(n));
            seen.push(a.categories[0].cw);
        }
        assert_eq!(seen, [31, 63, 127, 255, 511, 1023, 1023, 15, 31]);
        a.release_after_success(0, at(10));
        assert_eq!((a.categories[0].cw, a.categories[0].failures), (15, 0));
    }

    #[test]
    fn after_a_missing_answer_aifs_begins_when_it_is_found_missing() {
        let mut a = access(false);
        a.wants = 1;
        a.on_idle(at(100_000));
        a.release_after_failure(0, at(145_000));
        assert_eq!(a.expiry(at(145_000)), at(145_000 + AIFS + u64::from(a.categories[0].backoff) * SLOT));
    }

    #[test]
    fn what_comes_in_the_gap_before_the_own_answer_goes_without_a_backoff_after_it() {
        let mut a = access(false);
        for (answers, backs_off) in [(true, false), (false, true)] {
            // Somebody's frame ends at 100 µs, a packet comes at once, and after a SIFS the medium is busy for 28 µs.
            a.reset(at(0));
            a.wants = 0;
            a.on_busy(at(50_000), false);
            a.on_idle(at(100_000));
            assert!(!a.want(0, at(100_000)));
            // The generator's next draws are not 0.
            a.on_busy(at(116_000), answers);
            a.on_idle(at(144_000));
            assert_eq!(a.expiry(at(144_000)) > at(144_000 + AIFS), backs_off, "{a:?}");
        }
    }

    #[test]
    fn what_became_busy_less_than_a_cca_ago_is_not_noticed() {
        for (before, goes) in
            [(0, true), (2_000, true), (CCA_NS - 1, true), (CCA_NS, false), (SLOT - 1, false)]
        {
            for edca in [true, false] {
                let mut a = access(edca);
                (a.wants, a.active) = (1, 1);
                a.categories[0].backoff = 3;
                let due = at(AIFS + 3 * SLOT);
                let busy = Time::from_nanos(due.as_nanos() - before);
                a.on_busy(busy, false);
                assert_eq!(a.expiry(busy) == due, goes, "{before} ns before, {edca}");
                assert_eq!(a.grant(due), goes.then_some(0));
            }
        }
        // Its own transmission a radio knows of at once.
        let mut a = access(true);
        (a.wants, a.active) = (1, 1);
        a.on_busy(at(AIFS - 1000), true);
        assert_eq!(a.expiry(at(AIFS - 1000)), Time::NEVER);
    }

    #[test]
    fn a_slot_that_becomes_busy_counts_in_edca_and_not_in_dcf() {
        for (edca, left) in [(false, 7), (true, 6)] {
            let mut a = access(edca);
            (a.wants, a.active) = (1, 1);
            a.categories[0].backoff = 10;
            // At the beginning of the fourth slot; and before AIFS is over nothing counts.
            a.on_busy(at(AIFS + 3 * SLOT), false);
            assert_eq!(a.categories[0].backoff, left);
            a.on_idle(at(1_000_000));
            a.on_busy(at(1_000_000 + AIFS - 1), false);
            assert_eq!(a.categories[0].backoff, left);
        }
    }
}
