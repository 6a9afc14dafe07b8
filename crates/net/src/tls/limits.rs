//! What anybody may make the thread bear: connections, handshakes in a second, time.

use ropewalk_time::{Duration, Time};
use std::net::{IpAddr, Ipv6Addr};

/// Connections at once. A process may have 1024 descriptors where nobody raised that.
const ALL: usize = 512;
/// Of them, those that no session uses yet; the oldest makes room for the next.
const HALF_OPEN: usize = 128;
/// Of one address, or one IPv6 network of 64 bits. A reverse proxy is one address for all of its
/// clients.
const OF_ADDRESS: usize = 64;
/// Of these, half open.
const HALF_OF_ADDRESS: usize = 32;
/// Handshakes in a second, and at once: a tenth of a processor.
const PER_SECOND: u32 = 100;
const BURST: u32 = 200;

/// From the accepted connection to the stream of datagrams; a client allows the same from when it
/// connects.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes that may come by then.
pub(super) const BEFORE: usize = 64 << 10;
/// A stream that no session has a path by after so long is of no use.
pub(super) const UNANSWERED: Duration = Duration::from_secs(15);
/// And one that no session has used for so long.
pub(super) const IDLE: Duration = Duration::from_secs(180);
/// The answer to a browser is to be fetched within.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// Whether one more may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Yes.
    Take,
    /// Yes, and the oldest that is half open goes.
    Replace,
    /// No.
    Refuse,
}

/// By the connections that there are, each with its address and whether it is half open.
pub(super) fn admit(address: IpAddr, there: impl Iterator<Item = (IpAddr, bool)>) -> Verdict {
    let (mut all, mut half, mut own, mut own_half) = (0, 0, 0, 0);
    for (other, is_half) in there {
        let is_own = network(other) == network(address);
        all += 1;
        half += usize::from(is_half);
        own += usize::from(is_own);
        own_half += usize::from(is_own && is_half);
    }
    match () {
        () if own >= OF_ADDRESS || own_half >= HALF_OF_ADDRESS => Verdict::Refuse,
        () if half >= HALF_OPEN || all >= ALL && half > 0 => Verdict::Replace,
        () if all >= ALL => Verdict::Refuse,
        () => Verdict::Take,
    }
}

/// Whoever has one IPv6 address has 2⁶⁴ of them.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(a) => Ipv6Addr::from_bits(a.to_bits() >> 64 << 64).into(),
    }
}

/// Handshakes in time: a bucket that time fills.
#[derive(Debug)]
pub(super) struct Rate {
    left: Duration,
    at: Time,
}

/// What one handshake takes from the bucket.
const ONE: Duration = Duration::from_millis(1000 / PER_SECOND as u64);

impl Rate {
    pub(super) fn new(now: Time) -> Rate {
        Rate { left: ONE * BURST, at: now }
    }

    /// Takes one; else says when there will be one.
    pub(super) fn take(&mut self, now: Time) -> Result<(), Time> {
        let passed = now.since(std::mem::replace(&mut self.at, now));
        self.left = (self.left + passed).min(ONE * BURST);
        match self.left.checked_sub(ONE) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(now + (ONE - self.left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::from((0x0a00_0000 + n).to_be_bytes())
    }

    #[test]
    fn nobody_gets_all_the_room() {
        let some = |count: u32, half: bool| (0..count).map(move |n| (address(n), half));
        let of_one = |count: usize, half: bool| std::iter::repeat_n((address(7), half), count);
        assert_eq!(admit(address(7), some(100, true)), Verdict::Take);
        assert_eq!(admit(address(7), of_one(31, true)), Verdict::Take);
        assert_eq!(admit(address(7), of_one(32, true)), Verdict::Refuse);
        assert_eq!(admit(address(7), of_one(32, false)), Verdict::Take);
        assert_eq!(admit(address(7), of_one(64, false)), Verdict::Refuse);
        assert_eq!(admit(address(9), of_one(64, false)), Verdict::Take);
        assert_eq!(admit(address(999), some(128, true)), Verdict::Replace);
        assert_eq!(admit(address(999), some(512, false)), Verdict::Refuse, "streams stay");
        let [a, b, c] =
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"].map(|t| t.parse::<IpAddr>().unwrap());
        assert_eq!(admit(b, std::iter::repeat_n((a, true), 32)), Verdict::Refuse, "one network");
        assert_eq!(admit(c, std::iter::repeat_n((a, true), 32)), Verdict::Take);
    }

    #[test]
    fn a_flood_of_handshakes_gets_its_share() {
        let mut now = Time::from_millis(1000);
        let mut rate = Rate::new(now);
        let until = now + Duration::from_secs(10);
        let mut taken = 0;
        while now < until {
            match rate.take(now) {
                Ok(()) => taken += 1,
                Err(at) => {
                    assert!(at > now);
                    now = at;
                }
            }
        }
        assert!((BURST + PER_SECOND * 10 - 5..=BURST + PER_SECOND * 10 + 5).contains(&taken), "{taken}");
    }
}
