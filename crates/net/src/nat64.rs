//! How IPv4 is reached from networks that have IPv6 alone: NAT64, and how its prefix is found
//! (RFC 7050: the network's name servers are asked for IPv6 addresses of a name that has none).
//! Routers advertise it, too (RFC 8781): [`crate::links::Changes`] has what they say.

use crate::dns;
use crate::links::{Link, route_via};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The name that has IPv4 addresses alone (RFC 7050 §2.2).
const NAME: &str = "ipv4only.arpa";
/// The addresses that it has.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];
/// Lengths that a prefix may have, bits (RFC 6052 §2.2).
const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];
/// The prefix that is everybody's (RFC 6052 §2.1).
const WELL_KNOWN: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
/// The octet that is zero in every such address, and not used (RFC 6052 §2.2).
const ZERO: usize = 8;
/// Prefixes that one network may have.
const MOST: usize = 4;

/// The IPv6 addresses under which a network translates to IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: Ipv6Addr,
    length: u8,
}

impl Prefix {
    /// The first `length` bits of an address, which are 32, 40, 48, 56, 64 or 96; `None` for
    /// others, and where bits 64 to 71 are not zero.
    pub fn new(address: Ipv6Addr, length: u8) -> Option<Prefix> {
        if !LENGTHS.contains(&length) || address.octets()[ZERO] != 0 {
            return None;
        }
        let mask = u128::MAX << (128 - u32::from(length));
        Some(Prefix { address: Ipv6Addr::from_bits(address.to_bits() & mask), length })
    }

    /// The same of what somebody on a network says, who must not turn handshakes to a group, a
    /// neighbour or this machine: `None` as well where no router forwards its addresses.
    pub(crate) fn told(address: Ipv6Addr, length: u8) -> Option<Prefix> {
        let is_of_here = address.is_multicast() || address.is_unicast_link_local();
        Prefix::new(address, length).filter(|_| !is_of_here && address.octets()[..4] != [0; 4])
    }

    /// The IPv6 address that stands for an IPv4 address (RFC 6052 §2.2). `None` of the well-known
    /// prefix for private addresses, which it must not stand for (§3.1).
    pub fn embed(&self, ip: Ipv4Addr) -> Option<Ipv6Addr> {
        let is_private = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified();
        if is_private && self.address == WELL_KNOWN {
            return None;
        }
        let mut octets = self.address.octets();
        for (at, octet) in places(self.length).zip(ip.octets()) {
            octets[at] = octet;
        }
        Some(octets.into())
    }

    /// The prefix of an answer about [`NAME`]; `None` where none of its addresses is in it, where
    /// it may be at two places (RFC 7050 §3), or where [`Prefix::told`] refuses it.
    fn of_answer(answer: Ipv6Addr) -> Option<Prefix> {
        let octets = answer.octets();
        let is_in = |length: u8| {
            let mut embedded = [0; 4];
            embedded.iter_mut().zip(places(length)).for_each(|(octet, at)| *octet = octets[at]);
            ADDRESSES.contains(&embedded.into())
        };
        let mut found = LENGTHS.into_iter().filter(|l| is_in(*l));
        let length = found.next()?;
        found.next().is_none().then(|| Prefix::told(answer, length))?
    }
}

/// Where the four octets are (RFC 6052 §2.2, figure 1).
fn places(length: u8) -> impl Iterator<Item = usize> {
    (usize::from(length) / 8..16).filter(|at| *at != ZERO).take(4)
}

/// Whether an interface has IPv6 addresses alone.
pub fn is_wanted(link: &Link) -> bool {
    link.up && !link.speaks(Ipv4Addr::UNSPECIFIED.into()) && link.speaks(Ipv6Addr::UNSPECIFIED.into())
}

/// Asks the name servers of an interface's network for its prefixes: none if it has no NAT64.
/// `None` if nobody answered. Takes some seconds then.
pub fn discover(interface: &str) -> Option<Vec<Prefix>> {
    let answers = dns::ask_servers(interface, NAME)?;
    let mut found: Vec<Prefix> = Vec::new();
    for prefix in answers.into_iter().filter_map(Prefix::of_answer) {
        if !found.contains(&prefix) && found.len() < MOST {
            found.push(prefix);
        }
    }
    Some(found)
}

/// The prefixes that an interface needs for these endpoints: none unless some have IPv4 addresses, and
/// it has none. Takes some seconds if nobody answers, as [`discover`].
pub fn needed(link: &Link, to: &[SocketAddr]) -> Vec<Prefix> {
    let is_needed = is_wanted(link) && to.iter().any(SocketAddr::is_ipv4);
    is_needed.then(|| discover(&link.name)).flatten().unwrap_or_default()
}

/// Where datagrams to `to` go by an interface: there, or where its network translates; `None` if
/// it does not lead there.
pub fn reached_as(link: &Link, prefixes: &[Prefix], to: SocketAddr) -> Option<SocketAddr> {
    let leads =
        |to: &SocketAddr| link.speaks(to.ip()) && matches!(route_via(link.index, to.ip()), Ok(Some(_)));
    let translated = prefixes.iter().filter_map(|prefix| match to.ip() {
        IpAddr::V4(ip) => Some(SocketAddr::new(prefix.embed(ip)?.into(), to.port())),
        IpAddr::V6(_) => None,
    });
    std::iter::once(to).chain(translated).find(leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn six(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    /// RFC 6052 §2.4, both tables.
    const VECTORS: [(&str, u8, &str); 7] = [
        ("2001:db8::", 32, "2001:db8:c000:221::"),
        ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
        ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::", 96, "64:ff9b::192.0.2.33"),
    ];

    #[test]
    fn addresses_are_those_of_the_rfc() {
        for (prefix, length, whole) in VECTORS {
            let prefix = Prefix::new(six(prefix), length).unwrap();
            assert_eq!(prefix.embed(Ipv4Addr::new(192, 0, 2, 33)), Some(six(whole)), "{length}");
        }
        assert_eq!(Prefix::new(six("2001:db8::"), 80), None);
        assert_eq!(Prefix::new(six("2001:db8:122:344:100::"), 96), None, "bits 64 to 71");
        let private = Ipv4Addr::new(10, 9, 0, 1);
        let of = |prefix| Prefix::new(six(prefix), 96).unwrap().embed(private);
        assert_eq!((of("64:ff9b::"), of("2001:db8::")), (None, Some(six("2001:db8::10.9.0.1"))));
    }

    #[test]
    fn a_prefix_of_each_length_is_found_in_an_answer_and_nothing_else_is_taken_for_one() {
        for (prefix, length, _) in VECTORS {
            let prefix = Prefix::new(six(prefix), length).unwrap();
            for known in ADDRESSES {
                assert_eq!(Prefix::of_answer(prefix.embed(known).unwrap()), Some(prefix), "{length}");
            }
        }
        for none in ["2001:db8::1", "64:ff9b::192.0.2.33", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"] {
            assert_eq!(Prefix::of_answer(six(none)), None, "{none}");
        }
        for none in ["::ffff:192.0.0.170", "::192.0.0.170", "fe80::192.0.0.170", "ff0e::192.0.0.170"] {
            assert_eq!(Prefix::of_answer(six(none)), None, "{none} is not routed");
        }
        // One that could be of 32 bits as well as of 96.
        assert_eq!(Prefix::of_answer(six("2001:db8:c000:aa::192.0.0.171")), None);
        // The octet that has to be zero is not.
        assert_eq!(Prefix::of_answer(six("2001:db8:122:344:1c0:0:aa00::")), None);
    }
}
