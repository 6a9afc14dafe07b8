//! What anybody may make the thread bear: connections, handshakes in a second, time.

use ropewalk_time::{Duration, Rate};
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
/// At both bounds of an address its oldest half-open connection makes room, if it is older than
/// this: a client has begun by then, and a flood gets 16 handshakes in a second.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// Handshakes in a second, and at once: a tenth of a processor.
pub(super) const HANDSHAKES: Rate = Rate::new(100, 200);

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
    /// Yes, and the oldest of the same network that is half open goes.
    ReplaceOwn,
    /// No.
    Refuse,
}

/// By the connections that there are, each with its address and, if it is half open, for how long.
pub(super) fn admit(address: IpAddr, there: impl Iterator<Item = (IpAddr, Option<Duration>)>) -> Verdict {
    let (mut all, mut half, mut own, mut own_half, mut oldest) = (0, 0, 0, 0, Duration::ZERO);
    for (other, half_open) in there {
        let is_own = network(other) == network(address);
        all += 1;
        half += usize::from(half_open.is_some());
        own += usize::from(is_own);
        if let Some(age) = half_open.filter(|_| is_own) {
            own_half += 1;
            oldest = oldest.max(age);
        }
    }
    let is_full = own >= OF_ADDRESS || own_half >= HALF_OF_ADDRESS;
    match () {
        () if is_full && oldest > GRACE => Verdict::ReplaceOwn,
        () if is_full => Verdict::Refuse,
        () if half >= HALF_OPEN || all >= ALL && half > 0 => Verdict::Replace,
        () if all >= ALL => Verdict::Refuse,
        () => Verdict::Take,
    }
}

/// Whoever has one IPv6 address has 2⁶⁴ of them.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(a) => Ipv6Addr::from_bits(a.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::from((0x0a00_0000 + n).to_be_bytes())
    }

    const YOUNG: Option<Duration> = Some(GRACE);
    const OLD: Option<Duration> = Some(Duration::from_millis(2001));

    fn of_one(count: usize, half_open: Option<Duration>) -> impl Iterator<Item = (IpAddr, Option<Duration>)> {
        std::iter::repeat_n((address(7), half_open), count)
    }

    #[test]
    fn nobody_gets_all_the_room() {
        let some = |count: u32, half_open: Option<Duration>| (0..count).map(move |n| (address(n), half_open));
        assert_eq!(admit(address(7), some(100, OLD)), Verdict::Take);
        assert_eq!(admit(address(7), of_one(31, OLD)), Verdict::Take);
        assert_eq!(admit(address(7), of_one(32, YOUNG)), Verdict::Refuse);
        assert_eq!(admit(address(7), of_one(32, None)), Verdict::Take);
        assert_eq!(admit(address(7), of_one(64, None)), Verdict::Refuse);
        assert_eq!(admit(address(9), of_one(64, None)), Verdict::Take);
        assert_eq!(admit(address(999), some(128, YOUNG)), Verdict::Replace);
        assert_eq!(admit(address(999), some(512, None)), Verdict::Refuse, "streams stay");
        let [a, b, c] =
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"].map(|t| t.parse::<IpAddr>().unwrap());
        assert_eq!(admit(b, std::iter::repeat_n((a, YOUNG), 32)), Verdict::Refuse, "one network");
        assert_eq!(admit(c, std::iter::repeat_n((a, YOUNG), 32)), Verdict::Take);
    }

    #[test]
    fn idle_connections_make_room_for_others_of_their_address() {
        assert_eq!(admit(address(7), of_one(32, OLD)), Verdict::ReplaceOwn);
        assert_eq!(admit(address(7), of_one(32, YOUNG)), Verdict::Refuse);
        assert_eq!(admit(address(7), of_one(31, YOUNG).chain(of_one(1, OLD))), Verdict::ReplaceOwn);
        assert_eq!(admit(address(7), of_one(63, None).chain(of_one(1, OLD))), Verdict::ReplaceOwn);
        let another = std::iter::once((address(8), OLD));
        assert_eq!(admit(address(7), of_one(32, YOUNG).chain(another)), Verdict::Refuse);
    }
}
