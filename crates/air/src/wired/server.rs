//! How long a packet takes to leave: the rate of a link, constant or from a trace.

use core::time::Duration;

use super::trace::OPPORTUNITY_BYTES;
use super::{Rate, Trace};
use crate::Time;

const NS_PER_S: u128 = 1_000_000_000;

/// The transmitter of a link. It knows nothing of queues: it is asked when it could begin and when it would be done.
#[derive(Debug)]
pub(super) enum Server {
    /// Packets leave the moment they come.
    Unlimited,
    /// So many bits each second. `carry` is the part of a nanosecond, in 1/rate, by which the last packet ended later
    /// than the time told, so that packets back to back keep the exact rate.
    Constant { bps: u64, free_at: Time, carry: u64 },
    /// `next` is the number of the opportunity in use, `left` its bytes not yet used.
    Traced { trace: Trace, next: u64, left: u64 },
}

impl Server {
    pub(super) fn new(rate: &Rate) -> Server {
        match rate {
            Rate::Unlimited => Server::Unlimited,
            Rate::Constant { bps } => Server::Constant { bps: *bps, free_at: Time::ZERO, carry: 0 },
            Rate::Traced(trace) => Server::Traced { trace: trace.clone(), next: 0, left: OPPORTUNITY_BYTES },
        }
    }

    /// The first time, `now` or later, at which a packet could begin. The transmitter must not be busy at `now`.
    pub(super) fn ready(&mut self, now: Time) -> Time {
        match self {
            Server::Unlimited | Server::Constant { .. } => now,
            Server::Traced { trace, next, left } => {
                // An opportunity that nobody used is gone.
                if *left == 0 || trace.time_of(*next) < now {
                    let unused = *next + u64::from(*left == 0);
                    *next = unused.max(trace.first_from(now));
                    *left = OPPORTUNITY_BYTES;
                }
                trace.time_of(*next)
            }
        }
    }

    /// Sends `bytes` from `start`, which came from [`Server::ready`]; says when the last bit is out.
    pub(super) fn serve(&mut self, start: Time, bytes: u64) -> Time {
        match self {
            Server::Unlimited => start,
            Server::Constant { bps, free_at, carry } => {
                if start != *free_at {
                    *carry = 0;
                }
                let work = u128::from(bytes) * 8 * NS_PER_S + u128::from(*carry);
                let rate = u128::from(*bps);
                // Below 2^64: `carry` is less than the rate, and the span is capped by `Duration`.
                *carry = (work % rate) as u64;
                *free_at = start + Duration::from_nanos(u64::try_from(work / rate).unwrap_or(u64::MAX));
                *free_at
            }
            Server::Traced { trace, next, left } => {
                let mut missing = bytes;
                while missing > *left {
                    missing -= *left;
                    *next += 1;
                    *left = OPPORTUNITY_BYTES;
                }
                *left -= missing;
                trace.time_of(*next)
            }
        }
    }

    /// Bytes of a packet of `bytes` that still have to leave at `now` when all would be out at `done`. A packet under a
    /// trace counts as not begun, because a trace does not say which part of it went.
    pub(super) fn remaining(&self, now: Time, done: Time, bytes: u64) -> u64 {
        match self {
            Server::Unlimited => 0,
            Server::Traced { .. } => bytes,
            Server::Constant { bps, .. } => {
                let bits = (done - now).as_nanos() * u128::from(*bps) / NS_PER_S;
                bytes.min((bits / 8) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_rate_carries_the_fraction() {
        // 1500 bytes at 7 Mb/s take 1714285.714… ns; a thousand of them must not lose a nanosecond.
        let mut server = Server::new(&Rate::Constant { bps: 7_000_000 });
        let mut at = Time::from_millis(3);
        for _ in 0..7_000 {
            at = server.serve(at, 1500);
        }
        assert_eq!(at, Time::from_millis(3) + Duration::from_secs(12));
    }

    #[test]
    fn trace_spreads_a_packet_over_opportunities() {
        let mut server = Server::new(&Rate::Traced(Trace::parse("2\n4\n10").unwrap()));
        let start = server.ready(Time::ZERO);
        assert_eq!(start, Time::from_millis(2));
        assert_eq!(server.serve(start, 1000), Time::from_millis(2));
        // 504 bytes of the first opportunity are left, so 1000 more end in the second.
        assert_eq!(server.ready(start), start);
        assert_eq!(server.serve(start, 1000), Time::from_millis(4));
        // An idle spell wastes what is left.
        assert_eq!(server.ready(Time::from_millis(5)), Time::from_millis(10));
        assert_eq!(server.serve(Time::from_millis(10), 1504), Time::from_millis(10));
        assert_eq!(server.ready(Time::from_millis(10)), Time::from_millis(12));
    }
}
