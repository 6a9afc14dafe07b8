//! One flow of the ingress queue: its packets in order, and whether it is a sparse one.

use super::budget::Budget;
use super::codel::Codel;
use crate::inner::Inner;
use crate::store::{NIL, Store, UNNUMBERED};
use ropewalk_time::{Duration, Time};

/// Flow queues of one bond (RFC 8290 §5.2.3 has the same number).
pub(crate) const FLOWS: usize = 1024;

/// Largest packet that can be low-latency without asking for it by DSCP, bytes: a game's or a voice codec's frame, a key press, a DNS query.
const SMALL_BYTES: u32 = 300;
/// Largest packet that can be low-latency at all, bytes. One frame must hold it, since it is never put together from parts, and that frame with its
/// offload header must fit a datagram of the least MTU: 1280 less 48 of IPv6 and UDP, 27 of header, timestamp and tag, 18 of the frame's own.
const LARGEST_URGENT: u32 = 1180;
/// A flow that had large packets this lately is carrying data: its small packets belong in their place among them.
const BULK_MEMORY: Duration = Duration::from_millis(250);
/// What one flow may send as low-latency, bytes per second: 2 Mb/s, several video-call audio streams or a fast download's acknowledgements.
pub(crate) const URGENT_BYTES_PER_S: u64 = 250_000;
/// And at once.
const URGENT_BURST: u64 = 32_768;
/// A flow that went over is plain until it has been silent for this long, so that it does not
/// flicker between the two flows. One that had to stand back because all together went over is
/// plain for this long: it may be a call, which is never silent.
const FORGIVEN_AFTER: Duration = Duration::from_secs(1);

/// How a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Takes the fastest path now, is never held; order is not promised.
    LowLatency,
    /// Striped over the paths and delivered in order.
    Ordered,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub head: u32,
    pub tail: u32,
    pub bytes: u64,
    pub packets: u32,
    pub deficit: i64,
    pub codel: Codel,
    pub listed: bool,
    pub next_seq: u32,
    pub next_low_latency_seq: u32,
    last_large: Option<Time>,
    last_seen: Time,
    budget: Budget,
    over: bool,
    stands_back_until: Time,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            head: NIL,
            tail: NIL,
            bytes: 0,
            packets: 0,
            deficit: 0,
            codel: Codel::default(),
            listed: false,
            next_seq: 0,
            next_low_latency_seq: 0,
            last_large: None,
            last_seen: Time::ZERO,
            budget: Budget::full(URGENT_BURST),
            over: false,
            stands_back_until: Time::ZERO,
        }
    }
}

impl Flow {
    /// Classifies a packet of `len` bytes of this flow. `all_may`: all flows together may send it
    /// as low-latency; asked only if it wants to.
    pub(super) fn classify(
        &mut self,
        inner: &Inner,
        len: u32,
        now: Time,
        all_may: impl FnOnce() -> bool,
    ) -> Class {
        let idle = now.since(self.last_seen);
        self.last_seen = now;
        if idle >= FORGIVEN_AFTER {
            self.over = false;
        }
        let wants = self.wants_urgent(inner, len, now);
        if len > SMALL_BYTES && !inner.asks_low_delay() {
            self.last_large = Some(now);
        }
        if !wants || self.over || now < self.stands_back_until {
            return Class::Ordered;
        }
        self.over = !self.budget.take(now, u64::from(len), URGENT_BYTES_PER_S, URGENT_BURST);
        if self.over {
            return Class::Ordered;
        }
        if !all_may() {
            self.stands_back_until = now + FORGIVEN_AFTER;
            return Class::Ordered;
        }
        Class::LowLatency
    }

    fn wants_urgent(&self, inner: &Inner, len: u32, now: Time) -> bool {
        if len > LARGEST_URGENT {
            return false;
        }
        if inner.is_bare_tcp() || inner.is_icmp() || inner.asks_low_delay() || inner.sets_up_a_station() {
            return true;
        }
        let carries_data = self.packets > 0 || self.last_large.is_some_and(|t| now.since(t) < BULK_MEMORY);
        let closes = inner.is_tcp() && inner.tcp_flags & 0b101 != 0;
        len <= SMALL_BYTES && !carries_data && !closes
    }

    pub(super) fn push(&mut self, store: &mut Store, i: u32) {
        let (len, tail) = (store.get(i).len, self.tail);
        let r = store.get_mut(i);
        (r.prev, r.next, r.queued) = (tail, NIL, true);
        if tail == NIL {
            self.head = i;
        } else {
            store.get_mut(tail).next = i;
        }
        self.tail = i;
        self.bytes += u64::from(len);
        self.packets += 1;
    }

    /// Gives packet `last` its number, and all before it that have none: the numbers are the order in which the far end delivers.
    pub(super) fn number_up_to(&mut self, store: &mut Store, last: u32) {
        let mut i = if store.get(last).seq == UNNUMBERED { self.head } else { NIL };
        while i != NIL {
            let r = store.get_mut(i);
            if r.seq == UNNUMBERED {
                r.seq = self.next_seq;
                self.next_seq = (self.next_seq + 1) & 0xff_ffff;
            }
            i = if i == last { NIL } else { r.next };
        }
    }

    /// Takes packet `i`, whose unsent bytes are already off the account, out of the queue.
    pub(super) fn unlink(&mut self, store: &mut Store, i: u32) {
        let (prev, next) = (store.get(i).prev, store.get(i).next);
        match prev {
            NIL => self.head = next,
            p => store.get_mut(p).next = next,
        }
        match next {
            NIL => self.tail = prev,
            n => store.get_mut(n).prev = prev,
        }
        store.get_mut(i).queued = false;
        self.packets -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::IpAddr;

    fn inner(protocol: u8, payload_len: u32, tcp_flags: u8) -> Inner {
        let a = IpAddr::from([10, 0, 0, 1]);
        Inner {
            src: a,
            dst: a,
            protocol,
            ports: (1, 2),
            dscp: 0,
            ecn: 0,
            tcp_flags,
            icmp_type: None,
            transport_at: 20,
            payload_len,
            frame: None,
        }
    }

    #[test]
    fn acknowledgements_are_urgent_data_is_not_and_fin_keeps_its_place() {
        let mut f = Flow::default();
        let t = Time::from_millis(1);
        assert_eq!(f.classify(&inner(6, 0, 0x10), 52, t, || true), Class::LowLatency);
        assert_eq!(f.classify(&inner(6, 1448, 0x10), 1500, t, || true), Class::Ordered);
        assert_eq!(f.classify(&inner(6, 0, 0x11), 52, t, || true), Class::Ordered);
        assert_eq!(f.classify(&inner(6, 0, 0x10), 52, t, || true), Class::LowLatency);
    }

    #[test]
    fn small_datagrams_among_large_ones_keep_their_order() {
        let mut f = Flow::default();
        assert_eq!(f.classify(&inner(17, 60, 0), 88, Time::from_millis(1), || true), Class::LowLatency);
        assert_eq!(f.classify(&inner(17, 1200, 0), 1228, Time::from_millis(2), || true), Class::Ordered);
        assert_eq!(f.classify(&inner(17, 60, 0), 88, Time::from_millis(3), || true), Class::Ordered);
        assert_eq!(f.classify(&inner(17, 60, 0), 88, Time::from_millis(300), || true), Class::LowLatency);
    }

    #[test]
    fn a_call_that_stood_back_for_others_is_in_its_class_again_without_a_silence() {
        let mut f = Flow::default();
        let mut call = |ms, all_may: bool| {
            f.classify(&inner(17, 160, 0), 188, Time::from_millis(ms), || all_may) == Class::LowLatency
        };
        assert!(call(0, true) && !call(20, false));
        let later: Vec<bool> = (2..100).map(|n| call(20 * n, true)).collect();
        assert_eq!(later.iter().position(|is_urgent| *is_urgent), Some(49), "after a second");
        assert!(later[49..].iter().all(|is_urgent| *is_urgent));
    }

    #[test]
    fn a_flood_of_small_packets_loses_its_privilege_and_does_not_flicker() {
        let mut f = Flow::default();
        let classes: Vec<Class> = (0..10_000)
            .map(|i| f.classify(&inner(17, 100, 0), 128, Time::from_micros(i * 100), || true))
            .collect();
        let first = classes.iter().position(|c| *c == Class::Ordered).unwrap();
        assert!(first > 200 && classes[first..].iter().all(|c| *c == Class::Ordered));
    }
}
