//! Feedback: what has become of the datagrams that were handed to a link.
//!
//! There are two sources. The peer's acknowledgements say what arrived and what was lost; every
//! session has them. A link that reports its own completions ([`LinkState`]: a Wi-Fi driver, a
//! radio of the lab or of the simulator) says so a round trip after the frame was on the air, which
//! is what the backpressure scheduler lives on (Multifacet, MF-7). Both are counted on one scale,
//! the packet numbers of the path, and the one that knows more counts.

mod service_rate;

use ropewalk_time::{Duration, Time};
use service_rate::ServiceRate;
use std::collections::VecDeque;

/// What a link says of itself: cumulative since its epoch began, so that a report which gets lost costs nothing (T-12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Another number than before: the counters began anew (the driver or the radio restarted), or are those of another link, which the path leads over now.
    pub epoch: u32,
    /// Packets that the far end of the link confirmed. Segments, where the kernel cuts super-packets before the link.
    pub delivered: u64,
    /// Packets that the link gave up.
    pub failed: u64,
    /// Attempts beyond the first, all packets together.
    pub retries: u64,
    /// Packets in the link's queue, those on the air included.
    pub backlog_packets: u32,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Rate at which the link sends now, bits per second; 0 where unknown.
    pub tx_rate_bps: u64,
}

impl LinkState {
    /// Packets that have left the link one way or the other.
    pub fn completed(&self) -> u64 {
        self.delivered.saturating_add(self.failed)
    }
}

/// Whose word counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The peer's acknowledgements, and what they show to be lost.
    #[default]
    Acknowledgements,
    /// The link's own completions.
    Link,
}

impl Source {
    /// Its name in status.
    pub fn name(self) -> &'static str {
        match self {
            Source::Acknowledgements => "acknowledgements",
            Source::Link => "link",
        }
    }
}

/// A link that has been silent for this long while datagrams were under way is not listened to: acknowledgements count alone. Drivers report within
/// milliseconds; an interface that changes its channel is silent for 200 ms (MF-16).
const SILENT: Duration = Duration::from_millis(500);
/// Looks after which a completion that lags behind the acknowledgements all the time is held lost.
/// A report may be later than the peer's acknowledgement; eight in a row are not.
const LEAK_LOOKS: u32 = 8;
/// What the far end of the link confirmed is there: that the peer's acknowledgement is late says
/// that the way back is held up, until it is this late. The repeater's small frames contend with
/// full aggregates; after some collisions their backoff alone lasts 200 ms.
const ACK_GRACE: Duration = Duration::from_millis(500);
/// The same where the link has got rid of nothing but what it gave up.
const ACK_GRACE_OF_FAILED: Duration = Duration::from_millis(100);
/// A link that has got rid of nothing at all for so long, though it holds something, is no longer one: its station is away, or its radio hangs.
const STUCK: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
struct Link {
    state: LinkState,
    at: Time,
    /// Packet number up to which the link has completed.
    settled: u64,
    /// How far it lags behind the acknowledgements when it reports, and when they come. A link that lags by as much as it may hold has always caught up with the
    /// word before when it reports; one that is idle hears no words.
    lags: [Lag; 2],
    /// It has reported since the last word.
    spoke: bool,
}

/// Places in [`Link::lags`].
const AT_REPORTS: usize = 0;
const AT_WORDS: usize = 1;

/// The least lag of some looks in a row.
#[derive(Clone, Copy, Debug)]
struct Lag {
    least: u64,
    looks: u32,
}

impl Lag {
    const NEW: Lag = Lag { least: u64::MAX, looks: 0 };

    /// Completions that will never come, if it is time to say so.
    fn look(&mut self, lag: u64) -> u64 {
        self.least = self.least.min(lag);
        self.looks += 1;
        let over = self.least == 0 || self.looks >= LEAK_LOOKS;
        if over { std::mem::replace(self, Lag::NEW).least } else { 0 }
    }
}

/// How many datagrams of a path are still in front of its link or on the air.
#[derive(Debug, Default)]
pub struct Completions {
    /// Number after the newest datagram that the peer acknowledged. On one link nothing overtakes, so all before it are settled too.
    acked: u64,
    link: Option<Link>,
    /// Bytes of the datagrams from number `first` on that have no completion.
    sizes: VecDeque<u32>,
    first: u64,
    held_bytes: u64,
    service: ServiceRate,
    /// Bytes of those that the link delivered or, where it says nothing, the peer acknowledged.
    carried_bytes: u64,
    /// When the link last said that it had got rid of anything.
    moved_at: Time,
    /// When the link last said that the far end confirmed something.
    delivered_at: Option<Time>,
    /// Since when the peer has said nothing new while the link had got rid of something that it has not acknowledged.
    unconfirmed_since: Option<Time>,
}

impl Completions {
    /// For a path whose next datagram has this number.
    pub fn starting_at(number: u64) -> Self {
        Completions { acked: number, first: number, ..Completions::default() }
    }

    /// The path's next datagram left, with so many bytes.
    pub fn on_sent(&mut self, bytes: u32) {
        self.sizes.push_back(bytes);
        self.held_bytes += u64::from(bytes);
    }

    /// The link reports; `next` is the number of the path's next datagram.
    pub fn on_link(&mut self, now: Time, state: LinkState, next: u64) {
        match &mut self.link {
            Some(l) if l.state.epoch == state.epoch => {
                // Counters do not go back within an epoch; a report that does is an old one.
                let more = state.completed().saturating_sub(l.state.completed());
                l.settled = l.settled.saturating_add(more).min(next);
                if more > 0 {
                    self.moved_at = now;
                }
                let delivered = state.delivered.saturating_sub(l.state.delivered);
                if delivered > 0 {
                    self.delivered_at = Some(now);
                }
                if state.completed() >= l.state.completed() {
                    l.state = state;
                }
                (l.at, l.spoke) = (now, true);
                let bytes = self.let_go(true);
                self.carried_bytes += bytes * delivered.min(more) / more.max(1);
                if let Some(l) = &mut self.link {
                    if l.settled > self.acked {
                        // Ahead of the word: what it lagged by before was a report on its way.
                        l.lags[AT_WORDS] = Lag::NEW;
                    }
                    l.resync(AT_REPORTS, self.acked);
                }
            }
            link => {
                // What the counters meant before is not known; what waits in the link is.
                let settled = next.saturating_sub(u64::from(state.backlog_packets)).max(self.acked);
                *link = Some(Link { state, at: now, settled, lags: [Lag::NEW; 2], spoke: true });
            }
        }
        self.advance(now, next);
    }

    /// The peer acknowledged the datagram with this number.
    pub fn on_acked(&mut self, now: Time, number: u64, next: u64) {
        if number >= self.acked {
            self.unconfirmed_since = None;
        }
        self.acked = self.acked.max(number + 1).min(next);
        if let Some(l) = self.link.as_mut().filter(|l| l.spoke) {
            l.spoke = false;
            l.resync(AT_WORDS, self.acked);
        }
        let silent = self.source(now) == Source::Acknowledgements;
        let bytes = self.let_go(silent);
        self.carried_bytes += if silent { bytes } else { 0 };
        self.advance(now, next);
    }

    /// All that is on its way counts as lost.
    pub fn on_all_lost(&mut self, next: u64) {
        self.acked = next;
        if let Some(l) = &mut self.link {
            l.settled = next;
        }
        self.let_go(false);
    }

    fn settled(&self) -> u64 {
        self.link.map_or(0, |l| l.settled).max(self.acked)
    }

    /// Datagrams without a completion; `next` is the number of the path's next one.
    pub fn outstanding(&self, next: u64) -> u64 {
        next.saturating_sub(self.settled())
    }

    /// Their bytes.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Bytes carried over the link, ever, as the link reports: long before the peer acknowledges them.
    pub fn carried_bytes(&self) -> u64 {
        self.carried_bytes
    }

    /// Since when the peer's silence means something, where the link reports; `oldest` is the first datagram whose fate is open, and when it left.
    ///
    /// What is still in front of the link cannot be answered, and what the link has delivered is answered late if the way back is held up, as by a
    /// competitor that the far end alone hears. Taken for a dead path, that would be sent again, whole windows of it.
    pub fn owed_since(&self, oldest: (u64, Time)) -> Time {
        let gone = self.link.is_some_and(|l| oldest.0 < l.settled);
        let Some(since) = self.unconfirmed_since.filter(|_| gone) else {
            return self.moved_at.max(oldest.1) + STUCK;
        };
        let confirmed = self.delivered_at.is_some_and(|at| at >= since);
        since.max(oldest.1) + if confirmed { ACK_GRACE } else { ACK_GRACE_OF_FAILED }
    }

    /// When the link will have said nothing for so long that it is no longer listened to.
    pub fn heeded_until(&self, now: Time) -> Option<Time> {
        self.link.map(|l| l.at + SILENT).filter(|until| *until > now)
    }

    /// Whose word counts at present.
    pub fn source(&self, now: Time) -> Source {
        match self.link {
            Some(l) if now.since(l.at) < SILENT => Source::Link,
            _ => Source::Acknowledgements,
        }
    }

    /// The link's last report.
    pub fn link(&self) -> Option<&LinkState> {
        self.link.as_ref().map(|l| &l.state)
    }

    /// Bytes per second while the link was kept busy and served; 0 before it was.
    pub fn rate(&self) -> f64 {
        self.service.rate()
    }

    fn advance(&mut self, now: Time, next: u64) {
        let done = self.settled();
        self.unconfirmed_since = (done > self.acked).then(|| self.unconfirmed_since.unwrap_or(now));
        self.let_go(false);
        self.service.update(now, done >= next);
    }

    /// Datagrams have settled. `at_work`: as the link completes them, not as a completion is missed: what has long left must not pass for haste.
    /// Returns their bytes.
    fn let_go(&mut self, at_work: bool) -> u64 {
        let (done, held) = (self.settled(), self.held_bytes);
        while self.first < done
            && let Some(bytes) = self.sizes.pop_front()
        {
            self.first += 1;
            self.held_bytes -= u64::from(bytes);
            if at_work {
                self.service.on_completed(bytes);
            }
        }
        self.first = self.first.max(done);
        held - self.held_bytes
    }
}

impl Link {
    /// A completion that never comes would hold its slot for ever. The peer's acknowledgement shows
    /// it: what was acknowledged has left the link.
    fn resync(&mut self, when: usize, acked: u64) {
        let lost = self.lags[when].look(acked.saturating_sub(self.settled));
        if lost > 0 {
            self.settled += lost;
            self.lags = [Lag::NEW; 2];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    fn report(delivered: u64) -> LinkState {
        LinkState { epoch: 1, delivered, ..LinkState::default() }
    }

    #[test]
    fn without_a_link_the_acknowledgements_complete() {
        let mut c = Completions::starting_at(100);
        assert_eq!((c.outstanding(100), c.outstanding(110)), (0, 10));
        c.on_acked(ms(1), 104, 110);
        assert_eq!((c.outstanding(110), c.source(ms(1))), (5, Source::Acknowledgements));
        c.on_acked(ms(2), 102, 110);
        assert_eq!(c.outstanding(110), 5);
        c.on_all_lost(110);
        assert_eq!(c.outstanding(110), 0);
    }

    #[test]
    fn failures_free_slots_like_deliveries_and_a_lost_report_costs_nothing() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(50), 0);
        c.on_link(ms(1), LinkState { failed: 3, ..report(54) }, 10);
        assert_eq!((c.outstanding(10), c.source(ms(1))), (3, Source::Link));
        c.on_link(ms(3), LinkState { failed: 4, ..report(56) }, 10);
        assert_eq!(c.outstanding(10), 0);
        // An old report, and one that counts what was not ours.
        c.on_link(ms(4), report(51), 12);
        assert_eq!(c.outstanding(12), 2);
        c.on_link(ms(5), report(99), 12);
        assert_eq!(c.outstanding(12), 0);
        assert_eq!(c.source(ms(505)), Source::Acknowledgements);
    }

    #[test]
    fn carried_is_what_the_link_delivered_and_not_what_it_gave_up() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        (0..20).for_each(|_| c.on_sent(1000));
        c.on_link(ms(1), report(4), 20);
        assert_eq!(c.carried_bytes(), 4000);
        // A channel on which nobody listens.
        c.on_link(ms(2), LinkState { failed: 6, ..report(4) }, 20);
        assert_eq!((c.carried_bytes(), c.held_bytes()), (4000, 10_000));
        // The peer's acknowledgement adds nothing while the link speaks, and counts when it does
        // not.
        c.on_acked(ms(3), 11, 20);
        assert_eq!(c.carried_bytes(), 4000);
        c.on_acked(ms(900), 14, 20);
        assert_eq!(c.carried_bytes(), 7000);
    }

    #[test]
    fn a_new_epoch_begins_with_what_waits_in_the_link() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        c.on_link(
            ms(1),
            LinkState { epoch: 2, delivered: 7, backlog_packets: 4, ..LinkState::default() },
            20,
        );
        assert_eq!(c.outstanding(20), 4);
        c.on_link(ms(2), LinkState { epoch: 2, delivered: 9, ..LinkState::default() }, 20);
        assert_eq!(c.outstanding(20), 2);
    }

    #[test]
    fn reports_that_are_merely_late_do_not_count_twice() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        let mut next = 0;
        for k in 1..100u64 {
            next += 10;
            // The peer's acknowledgement is ahead of the report by five, and then the report
            // overtakes it.
            c.on_acked(ms(k), k * 10 - 3, next);
            c.on_link(ms(k), report(k * 10 - 7), next);
            c.on_link(ms(k), report(k * 10 - 1), next);
        }
        assert_eq!(c.outstanding(next), 1);
    }

    /// A link that sends at `rate` bytes per second and holds what it is let hold: datagrams of these lengths, in turn.
    struct Busy {
        c: Completions,
        now: Time,
        queue: VecDeque<u32>,
        next: u64,
        done: u64,
        credit: f64,
        /// Longest time that what it held would take, and how often it held nothing, since the last look.
        longest: f64,
        dry: u32,
    }

    impl Busy {
        fn new() -> Busy {
            let mut c = Completions::default();
            c.on_link(ms(0), report(0), 0);
            Busy {
                c,
                now: ms(0),
                queue: VecDeque::new(),
                next: 0,
                done: 0,
                credit: 0.0,
                longest: 0.0,
                dry: 0,
            }
        }

        fn run(&mut self, rate: f64, lengths: &[u32], millis: u64) {
            (self.longest, self.dry) = (0.0, 0);
            for _ in 0..millis * 10 {
                self.now += Duration::from_micros(100);
                self.credit = (self.credit + rate / 10_000.0).min(3000.0);
                while let Some(&bytes) = self.queue.front()
                    && self.credit >= f64::from(bytes)
                {
                    self.credit -= f64::from(bytes);
                    self.queue.pop_front();
                    self.done += 1;
                }
                self.dry += u32::from(self.queue.is_empty());
                self.c.on_link(self.now, report(self.done), self.next);
                let most = crate::schedule::DeviceThreshold::default().of(self.c.rate() / 2290.0, 0.0);
                while self.c.held_bytes().div_ceil(2290) < u64::from(most) {
                    let bytes = lengths[self.next as usize % lengths.len()];
                    self.queue.push_back(bytes);
                    self.c.on_sent(bytes);
                    self.next += 1;
                }
                assert_eq!(self.c.held_bytes(), self.queue.iter().map(|b| u64::from(*b)).sum::<u64>());
                self.longest = self.longest.max(self.c.held_bytes() as f64 / rate);
            }
        }
    }

    #[test]
    fn a_link_holds_some_milliseconds_whatever_its_rate_and_the_lengths() {
        const MIXED: [u32; 5] = [2290, 300, 1455, 2290, 90];
        let mut link = Busy::new();
        for (rate, lengths) in
            [(4e6, &[2290][..]), (4e6, &[1455]), (25e6, &MIXED), (3e6, &MIXED), (3e6, &[120]), (3e6, &[2290])]
        {
            // What was held at another rate has to leave, and the other rate to be forgotten.
            link.run(rate, lengths, 600);
            link.run(rate, lengths, 1000);
            assert!(link.longest < 0.012, "{rate} {lengths:?}: {:.1} ms", link.longest * 1e3);
            assert_eq!(link.dry, 0, "{rate} {lengths:?}");
        }
    }

    #[test]
    fn a_link_that_has_nothing_to_do_is_not_slow() {
        let mut link = Busy::new();
        link.run(4e6, &[2000], 500);
        assert!((link.c.rate() / 4e6 - 1.0).abs() < 0.05, "{}", link.c.rate());
        for k in 0..1000 {
            link.next += 1;
            link.done = link.next;
            link.c.on_sent(2000);
            link.c.on_link(link.now + Duration::from_millis(k), report(link.done), link.next);
        }
        assert!(link.c.rate() > 3.8e6, "{}", link.c.rate());
    }

    #[test]
    fn a_link_that_is_silenced_half_of_the_time_keeps_the_rate_of_the_other_half() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        (0..64).for_each(|_| c.on_sent(1000));
        let mut done = 0;
        for k in 1..2000 {
            let more = if k / 40 % 2 == 0 { 4 } else { 0 };
            done += more;
            (0..more).for_each(|_| c.on_sent(1000));
            c.on_link(ms(k), report(done), done + 64);
        }
        // The mean is 2 MB/s, and a threshold by it held half an aggregate.
        assert!(c.rate() > 3.7e6, "{}", c.rate());
    }

    #[test]
    fn what_was_missed_and_what_is_given_up_leaves_without_passing_for_haste() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        (0..100).for_each(|_| c.on_sent(1000));
        // No completion is ever told; the peer has all of them.
        c.on_acked(ms(1), 79, 100);
        assert_eq!((c.held_bytes(), c.outstanding(100)), (20_000, 20));
        c.on_all_lost(100);
        c.on_link(ms(30), report(0), 100);
        assert_eq!((c.held_bytes(), c.rate()), (0, 0.0));
    }

    #[test]
    fn what_a_link_still_holds_or_has_just_delivered_is_not_owed() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        // Ten left at 1 ms; the link is held up by a competitor for 60 ms.
        c.on_link(ms(2), report(0), 10);
        assert_eq!(c.owed_since((0, ms(1))), ms(1) + STUCK);
        // It delivered half of them; the peer's answer is held up as well, and then is not.
        c.on_link(ms(60), report(5), 10);
        assert_eq!(c.owed_since((0, ms(1))), ms(60) + ACK_GRACE);
        assert_eq!(c.owed_since((5, ms(1))), ms(60) + STUCK);
        c.on_acked(ms(90), 4, 10);
        assert_eq!(c.owed_since((5, ms(1))), ms(60) + STUCK);
        // A peer that says nothing at all is found out, and so is a link that says nothing.
        c.on_link(ms(95), report(8), 10);
        c.on_link(ms(150), report(10), 10);
        assert_eq!(c.owed_since((5, ms(1))), ms(95) + ACK_GRACE);
        assert_eq!(c.heeded_until(ms(200)), Some(ms(150) + SILENT));
        assert_eq!(c.heeded_until(ms(650)), None);
    }

    #[test]
    fn a_link_that_gets_rid_of_nothing_is_found_out() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        c.on_link(ms(10), report(5), 10);
        c.on_acked(ms(12), 4, 10);
        // Its station is away. The driver goes on reporting, always the same.
        (0..300).for_each(|k| c.on_link(ms(20 + 2 * k), report(5), 10));
        assert_eq!(c.source(ms(620)), Source::Link);
        assert_eq!(c.owed_since((5, ms(8))), ms(10) + STUCK);
    }

    #[test]
    fn silence_about_what_the_link_gave_up_means_something_sooner() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        c.on_link(ms(20), LinkState { failed: 5, ..report(0) }, 10);
        assert_eq!(c.owed_since((0, ms(1))), ms(20) + ACK_GRACE_OF_FAILED);
        c.on_link(ms(30), LinkState { failed: 5, ..report(1) }, 10);
        assert_eq!(c.owed_since((0, ms(1))), ms(20) + ACK_GRACE);
    }

    #[test]
    fn a_link_that_lags_by_all_that_it_holds_is_healed() {
        let mut c = Completions::default();
        c.on_link(ms(0), report(0), 0);
        // Four are never told. Of each four after them, the last is told when the next four leave.
        c.on_acked(ms(1), 3, 4);
        for k in 1..10 {
            let next = 4 * k + 4;
            c.on_link(ms(10 * k + 1), report(next - 4), next);
            c.on_acked(ms(10 * k + 9), next - 1, next);
        }
        c.on_link(ms(200), report(44 - 4), 44);
        assert_eq!(c.outstanding(44), 0);
    }

    proptest! {
        /// T-12: whatever completions are never told, slots come back as soon as the peer has acknowledged and the link has spoken a few times.
        #[test]
        fn no_completion_leaks_a_slot(told in prop::collection::vec(any::<bool>(), 50..400)) {
            let mut c = Completions::default();
            c.on_link(ms(0), report(0), 0);
            let mut done = 0;
            for (k, told) in told.iter().enumerate() {
                let (now, next) = (ms(k as u64 + 1), k as u64 + 1);
                done += u64::from(*told);
                c.on_acked(now, next - 1, next);
                c.on_link(now, report(done), next);
                prop_assert_eq!(c.outstanding(next), 0);
            }
            let next = told.len() as u64;
            // Twice, since a smaller lag from before may stand in the first.
            (0..2 * LEAK_LOOKS).for_each(|_| c.on_link(ms(1000), report(done), next));
            // Healed: the link's own word suffices again.
            c.on_link(ms(1001), report(done + 3), next + 5);
            prop_assert_eq!(c.outstanding(next + 5), 2);
        }
    }
}
