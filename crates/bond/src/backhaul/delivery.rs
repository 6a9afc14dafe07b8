//! A repeater's way out to its clients, whose radio may hold less than the order lets go at once.
//!
//! Where one datagram was missing, hundreds of packets are in order the moment it comes. What a radio has no room for it drops, after both links have carried it and the
//! access point was told that it arrived. So no more is handed over than leaves the longest queue at the most that it should be, as far as the reports of
//! [`crate::api::Input::ClientQueue`] tell; the rest waits here, in order.
//!
//! This is for bursts. Where more comes all the time than the clients take, keeping it would only make it old: so no more is kept than they take in a fifth of a second, and
//! what has not drained after half a second is handed over. The radio then drops what it must, until its queue is short again.

use crate::backhaul::limiter::ClientQueues;
use ropewalk_time::{Duration, Time};

/// A report counts for this long.
const FRESH: Duration = Duration::from_millis(20);
/// Packets that wait for longer without an end are no burst, or their client takes nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// No more is kept than leaves in this time, or than some aggregates.
const MOST_S: f64 = 0.2;
const ALWAYS: f64 = 256.0;
/// Fewer packets say nothing of where they went.
const TELLING: f64 = 32.0;

/// How many packets may be handed to the device.
#[derive(Debug)]
pub(crate) struct DeliveryPacer {
    /// The longest queue that a client should have, packets.
    most: f64,
    /// As reported last: the longest queue, and packets per second that all clients' queues get rid of.
    queue: f64,
    drained_pps: f64,
    at: Option<Time>,
    /// Packets that had come to the queues by then, and that were handed over since.
    came: u64,
    handed: f64,
    /// The part of these that goes to the radio; the rest leaves by a cable, or is for this machine.
    to_radio: f64,
    /// Since when something has been waiting.
    since: Option<Time>,
    /// More comes than leaves.
    overrun: bool,
    waits: u64,
}

impl DeliveryPacer {
    /// Of a repeater whose clients should have `most` packets in front of them at most.
    pub(crate) fn new(most: u32) -> DeliveryPacer {
        DeliveryPacer {
            most: f64::from(most),
            queue: 0.0,
            drained_pps: 0.0,
            at: None,
            came: 0,
            handed: 0.0,
            to_radio: 1.0,
            since: None,
            overrun: false,
            waits: 0,
        }
    }

    /// The radio has spoken, of one client or of several, one after the other.
    pub(crate) fn on_report(&mut self, now: Time, clients: &ClientQueues, low: u32) {
        if self.at != Some(now) {
            if self.handed >= TELLING {
                let share = (clients.came().saturating_sub(self.came) as f64 / self.handed).min(1.0);
                self.to_radio += (share - self.to_radio) / 4.0;
            }
            self.handed = 0.0;
        }
        (self.at, self.came) = (Some(now), clients.came());
        (self.queue, self.drained_pps) = (f64::from(clients.longest(low)), clients.drained_pps());
        self.overrun &= self.queue >= self.most / 2.0;
    }

    /// Packets were handed over, and so many are left.
    pub(crate) fn on_handed(&mut self, packets: usize, left: usize) {
        self.handed += packets as f64;
        if left == 0 {
            self.since = None;
        }
    }

    /// Whether another may be; `kept` wait.
    pub(crate) fn has_room(&mut self, now: Time, kept: usize) -> bool {
        let Some(age) = self.at.map(|at| now.since(at)) else { return true };
        // What is still on its way to the radio, or dropped by it, did not come either.
        let to_radio = if self.to_radio > 0.5 { 1.0 } else { self.to_radio };
        let queue = self.queue + self.handed * to_radio - self.drained_pps * age.as_secs_f64();
        if self.overrun || age >= FRESH || queue < self.most {
            return true;
        }
        self.waits += u64::from(self.since.is_none());
        self.overrun = now.since(*self.since.get_or_insert(now)) >= PATIENCE;
        self.overrun || kept as f64 > (self.drained_pps * MOST_S).max(ALWAYS)
    }

    /// How often packets had to wait.
    pub(crate) fn waits(&self) -> u64 {
        self.waits
    }

    /// When to look again though no report comes.
    pub(crate) fn opens_at(&self) -> Option<Time> {
        Some((self.at? + FRESH).min(self.since? + PATIENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::LinkState;

    /// A radio that sends one packet per millisecond, of whose queue the pacer hears every two.
    struct Radio {
        pacer: DeliveryPacer,
        monitor: ClientQueues,
        ms: u64,
        waiting: u32,
        sent: u64,
        kept: usize,
    }

    impl Radio {
        fn new() -> Radio {
            let (pacer, monitor) = (DeliveryPacer::new(384), ClientQueues::default());
            Radio { pacer, monitor, ms: 0, waiting: 0, sent: 0, kept: 0 }
        }

        /// So many packets become in order.
        fn step(&mut self, came: usize, sends: bool) {
            self.ms += 1;
            let now = Time::from_millis(self.ms);
            if sends && self.waiting > 0 {
                (self.waiting, self.sent) = (self.waiting - 1, self.sent + 1);
            }
            if self.ms.is_multiple_of(2) {
                let state =
                    LinkState { delivered: self.sent, backlog_packets: self.waiting, ..LinkState::default() };
                self.monitor.on_queue(now, 1, state);
                self.pacer.on_report(now, &self.monitor, 32);
            }
            self.kept += came;
            while self.kept > 0 && self.pacer.has_room(now, self.kept) {
                (self.kept, self.waiting) = (self.kept - 1, self.waiting + 1);
                self.pacer.on_handed(1, self.kept);
            }
        }
    }

    #[test]
    fn where_nothing_is_told_nothing_waits() {
        let mut pacer = DeliveryPacer::new(384);
        assert!(pacer.has_room(Time::from_millis(5), 5000) && pacer.opens_at().is_none());
    }

    #[test]
    fn a_burst_waits_for_room_and_the_radio_is_never_idle() {
        let mut radio = Radio::new();
        radio.step(100, true);
        for _ in 0..100 {
            radio.step(1, true);
        }
        radio.step(500, true);
        let sent = radio.sent;
        for _ in 0..500 {
            radio.step(0, true);
            assert!(radio.waiting <= 386, "{}", radio.waiting);
        }
        assert_eq!((radio.sent - sent, radio.kept, radio.pacer.waits() > 0), (500, 0, true));
    }

    #[test]
    fn a_queue_that_stands_still_is_waited_for_once_and_not_for_long() {
        let mut radio = Radio::new();
        for _ in 0..10 {
            radio.step(1, true);
        }
        radio.step(600, false);
        assert!(radio.kept > 200);
        for _ in 0..510 {
            radio.step(0, false);
        }
        assert_eq!(radio.kept, 0);
        radio.step(100, false);
        assert_eq!(radio.kept, 0, "it still stands");
    }

    #[test]
    fn old_reports_hold_nothing_back() {
        let mut radio = Radio::new();
        radio.step(0, true);
        radio.step(600, true);
        assert!(radio.kept > 0);
        let at = radio.pacer.opens_at().expect("something waits");
        assert!(at <= Time::from_millis(radio.ms) + FRESH);
        assert!(radio.pacer.has_room(at, radio.kept));
    }

    #[test]
    fn what_leaves_by_a_cable_does_not_wait_for_the_radio() {
        let mut radio = Radio::new();
        radio.step(0, true);
        // A thousand packets per report, all but one in ten by cable: the first are taken for the radio's.
        let all_but_few = |radio: &mut Radio| {
            radio.kept += 500;
            radio.ms += 1;
            let now = Time::from_millis(radio.ms);
            let state = LinkState { delivered: radio.sent, backlog_packets: 0, ..LinkState::default() };
            if radio.ms.is_multiple_of(2) {
                radio.monitor.on_queue(now, 1, state);
                radio.pacer.on_report(now, &radio.monitor, 32);
            }
            while radio.kept > 0 && radio.pacer.has_room(now, radio.kept) {
                radio.kept -= 1;
                radio.pacer.on_handed(1, radio.kept);
                radio.sent += u64::from(radio.kept.is_multiple_of(10));
            }
        };
        for _ in 0..100 {
            all_but_few(&mut radio);
        }
        assert_eq!(radio.kept, 0);
    }

    #[test]
    fn what_is_too_much_for_long_does_not_grow_old_here() {
        let mut radio = Radio::new();
        for _ in 0..1000 {
            radio.step(2, true);
        }
        // The radio has what is too much, and drops it as it sees fit.
        for _ in 0..1000 {
            radio.step(2, true);
            assert!(radio.kept <= 2, "{}", radio.kept);
        }
        // It has got rid of it: bursts are kept again.
        radio.waiting = 0;
        radio.step(0, true);
        radio.step(0, true);
        radio.step(600, true);
        assert!(radio.kept > 200, "{}", radio.kept);
    }
}
