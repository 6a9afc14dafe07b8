//! What kind of address one is.

use std::net::{IpAddr, Ipv4Addr};

/// Of a private network (RFC 1918, RFC 4193), or of those that providers share (RFC 6598).
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => a.is_private() || is_shared(a),
        IpAddr::V6(a) => a.is_unique_local(),
    }
}

/// Between a provider's NAT and its customers (RFC 6598).
pub(crate) fn is_shared(address: Ipv4Addr) -> bool {
    address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64
}

/// The internet may lead to it: it is not private, nor of one link or one machine alone.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let is_of_link = match address {
        IpAddr::V4(a) => a.is_link_local(),
        IpAddr::V6(a) => a.is_unicast_link_local(),
    };
    !is_private(address) && !is_of_link && !address.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_ones_are_a_part_of_those_that_are_not_public() {
        let kind = |text: &str| {
            let ip: IpAddr = text.parse().unwrap();
            (is_private(ip), is_public(ip))
        };
        for private in ["10.0.0.1", "172.31.0.1", "192.168.1.1", "100.64.0.1", "100.127.255.254", "fd00::1"] {
            assert_eq!(kind(private), (true, false), "{private}");
        }
        for local in ["127.0.0.1", "169.254.1.1", "::1", "fe80::1"] {
            assert_eq!(kind(local), (false, false), "{local}");
        }
        for public in ["172.32.0.1", "100.63.0.1", "100.128.0.1", "203.0.113.9", "2001:db8::1"] {
            assert_eq!(kind(public), (false, true), "{public}");
        }
    }
}
