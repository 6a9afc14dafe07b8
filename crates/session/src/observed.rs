//! From where a gateway received an INIT: what a client behind a NAT cannot know by itself.

use super::Extensions;
use super::reader::Reader;
use core::net::{IpAddr, SocketAddr};

/// Extension: of a client without a value, which asks; of a gateway the answer, `4 or 6 u8 ‖ port u16 ‖ address`.
pub const OBSERVED: u8 = 5;

impl Extensions {
    /// Adds a client's question from where the gateway receives its INIT.
    pub fn ask_address(&mut self) {
        // A value that is empty fits.
        let _ = self.push(OBSERVED, &[]);
    }

    pub(super) fn asks_address(&self) -> bool {
        self.get(OBSERVED).is_some()
    }

    /// Adds a gateway's answer. An IPv6-mapped address is written as what it is.
    pub(super) fn put_observed(&mut self, from: SocketAddr) {
        let port = from.port().to_be_bytes();
        // Both are far shorter than an extension may be.
        let _ = match from.ip().to_canonical() {
            IpAddr::V4(a) => self.push(OBSERVED, &[&[4][..], &port, &a.octets()].concat()),
            IpAddr::V6(a) => self.push(OBSERVED, &[&[6][..], &port, &a.octets()].concat()),
        };
    }

    /// A gateway's answer; `None` if there is none, or none that this version understands.
    pub(super) fn observed(&self) -> Option<SocketAddr> {
        let mut reader = Reader(self.get(OBSERVED)?);
        let (family, port) = (reader.u8()?, reader.u16()?);
        let address: IpAddr = match family {
            4 => reader.array::<4>()?.into(),
            6 => reader.array::<16>()?.into(),
            _ => return None,
        };
        Some(SocketAddr::new(address, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(value: &[u8]) -> Option<SocketAddr> {
        let mut extensions = Extensions::of_this_version();
        assert!(extensions.push(OBSERVED, value));
        extensions.observed()
    }

    #[test]
    fn an_address_comes_back_and_a_mapped_one_as_ipv4() {
        let [v4, v6] = ["203.0.113.7:40123", "[2001:db8::7]:40123"].map(|a| a.parse::<SocketAddr>().unwrap());
        let mapped = "[::ffff:203.0.113.7]:40123".parse().unwrap();
        for (from, seen) in [(v4, v4), (v6, v6), (mapped, v4)] {
            let mut extensions = Extensions::of_this_version();
            extensions.put_observed(from);
            assert_eq!(extensions.observed(), Some(seen));
        }
        let mut extensions = Extensions::default();
        extensions.put_observed(mapped);
        assert_eq!(extensions.as_bytes(), [OBSERVED, 7, 4, 0x9c, 0xbb, 203, 0, 113, 7]);
    }

    #[test]
    fn what_is_cut_short_or_of_another_family_is_none_and_what_is_longer_is_read() {
        for none in [&[][..], &[4, 0, 1, 192, 0, 2], &[6, 0, 1, 192, 0, 2, 1], &[5, 0, 1, 192, 0, 2, 1]] {
            assert_eq!(said(none), None, "{none:?}");
        }
        assert_eq!(said(&[4, 0, 1, 192, 0, 2, 1, 99]), Some("192.0.2.1:1".parse().unwrap()));
        assert_eq!(Extensions::of_this_version().observed(), None);
    }
}
