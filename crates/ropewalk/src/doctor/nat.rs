//! Whether a path goes through a NAT, and how that maps (RFC 4787, section 4.1).

use crate::address::{is_public, is_shared};
use std::net::{IpAddr, SocketAddr};

/// A handshake by one socket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// The gateway's endpoint.
    pub remote: SocketAddr,
    /// The socket's own address.
    pub own: SocketAddr,
    /// The address that the gateway saw.
    pub outside: SocketAddr,
}

/// What two endpoints saw of one address and port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mapping {
    /// The same, and the endpoints have two addresses.
    EndpointIndependent,
    /// The same, but the endpoints differ in the port alone.
    PortIndependent,
    /// Not the same.
    DestinationDependent,
}

impl Seen {
    pub(super) fn is_translated(&self) -> bool {
        !is_same(self.own, self.outside)
    }

    /// What a second handshake from the same port shows; `None` if it was not from the same address.
    pub(super) fn mapping(&self, second: &Seen) -> Option<Mapping> {
        if !is_same(self.own, second.own) {
            return None;
        }
        Some(match is_same(self.outside, second.outside) {
            false => Mapping::DestinationDependent,
            true if self.remote.ip() == second.remote.ip() => Mapping::PortIndependent,
            true => Mapping::EndpointIndependent,
        })
    }

    /// In a few words.
    pub(super) fn words(&self, mapping: Option<Mapping>) -> String {
        if !self.is_translated() {
            return "no NAT".into();
        }
        let nat = match (self.own.ip(), self.outside.ip()) {
            (IpAddr::V4(own), _) if is_shared(own) => "the provider's NAT",
            (IpAddr::V6(_), IpAddr::V4(_)) => "NAT64",
            _ => "NAT",
        };
        let how = match mapping {
            Some(Mapping::DestinationDependent) => "a mapping for each destination",
            // A NAT that keeps ports shows the same to all, whatever it maps by.
            _ if self.own.port() == self.outside.port() => "port kept",
            Some(Mapping::EndpointIndependent) => "one mapping for all destinations",
            Some(Mapping::PortIndependent) => "one mapping for all ports of the gateway",
            None => "port changed",
        };
        format!("seen as {} ({nat}, {how})", self.outside)
    }
}

/// Whether two are one address and port; a socket's own may have a scope besides.
fn is_same(a: SocketAddr, b: SocketAddr) -> bool {
    (a.ip(), a.port()) == (b.ip(), b.port())
}

/// What an address of this machine says of the network in front, where the gateway does not say what it saw.
pub(super) fn guess(own: IpAddr, remote: IpAddr) -> Option<&'static str> {
    let IpAddr::V4(own) = own else { return None };
    if !is_public(remote) {
        return None;
    }
    if is_shared(own) {
        return Some("behind the provider's NAT (RFC 6598)");
    }
    own.is_private().then_some("behind a NAT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(remote: &str, own: &str, outside: &str) -> Seen {
        let [remote, own, outside] = [remote, own, outside].map(|a| a.parse().unwrap());
        Seen { remote, own, outside }
    }

    #[test]
    fn a_private_address_towards_a_public_one_is_guessed_to_be_behind_a_nat() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(guess(ip("192.168.1.2"), ip("198.51.100.1")), Some("behind a NAT"));
        assert!(guess(ip("100.64.1.2"), ip("198.51.100.1")).unwrap().contains("provider"));
        assert_eq!(guess(ip("10.1.1.1"), ip("10.1.1.2")), None, "both ends are private");
        assert_eq!(guess(ip("203.0.113.9"), ip("198.51.100.1")), None);
        assert_eq!(guess(ip("2001:db8::1"), ip("2001:db8::2")), None);
    }

    #[test]
    fn two_endpoints_show_how_a_nat_maps() {
        let (own, outside) = ("192.168.1.2:40000", "203.0.113.7:50000");
        let first = seen("198.51.100.1:4500", own, outside);
        let mapping = |remote, own, outside| first.mapping(&seen(remote, own, outside));
        assert_eq!(mapping("198.51.100.2:4500", own, outside), Some(Mapping::EndpointIndependent));
        assert_eq!(mapping("198.51.100.1:443", own, outside), Some(Mapping::PortIndependent));
        for other in ["203.0.113.7:50001", "203.0.113.8:50000"] {
            assert_eq!(mapping("198.51.100.2:4500", own, other), Some(Mapping::DestinationDependent));
            assert_eq!(mapping("198.51.100.1:443", own, other), Some(Mapping::DestinationDependent));
        }
        assert_eq!(mapping("198.51.100.2:4500", "192.168.1.3:40000", outside), None);
    }

    #[test]
    fn a_mapping_shows_where_ports_are_changed() {
        let words = |own, mapping| seen("198.51.100.1:4500", own, "203.0.113.7:50000").words(Some(mapping));
        let changed = "192.168.1.2:40000";
        for (mapping, says) in [
            (Mapping::EndpointIndependent, "one mapping for all destinations"),
            (Mapping::PortIndependent, "one mapping for all ports of the gateway"),
            (Mapping::DestinationDependent, "a mapping for each destination"),
        ] {
            assert!(words(changed, mapping).contains(says), "{mapping:?}");
        }
        let kept = "192.168.1.2:50000";
        assert!(words(kept, Mapping::EndpointIndependent).contains("port kept"));
        assert!(words(kept, Mapping::DestinationDependent).contains("a mapping for each"));
    }

    #[test]
    fn a_nat_has_its_name_and_none_has_none() {
        let words = |own, outside| seen("198.51.100.1:4500", own, outside).words(None);
        let outside = "203.0.113.7:50000";
        assert_eq!(words(outside, outside), "no NAT");
        assert_eq!(words("192.168.1.2:40000", outside), "seen as 203.0.113.7:50000 (NAT, port changed)");
        assert_eq!(words("192.168.1.2:50000", outside), "seen as 203.0.113.7:50000 (NAT, port kept)");
        assert!(words("100.64.1.2:40000", outside).ends_with("(the provider's NAT, port changed)"));
        assert!(words("[2001:db8::1]:40000", outside).ends_with("(NAT64, port changed)"));
        assert_eq!(words("[fe80::1%3]:40000", "[fe80::1]:40000"), "no NAT", "a scope is no translation");
    }
}
