//! How a network translates to IPv4, as its routers advertise it (RFC 8781). The kernel hands the
//! option on where it reads advertisements itself, and does not keep it.

use std::net::Ipv6Addr;
use std::time::Duration;

use crate::nat64::Prefix;
use crate::netlink::HEADER;

/// The kernel's message with options for programs (`RTM_NEWNDUSEROPT`, `linux/rtnetlink.h`).
const MESSAGE: u16 = 68;
/// Length of what stands before the options (`struct nduseroptmsg`), bytes.
const FIXED: usize = 16;
/// The type of a router advertisement (RFC 4861 §4.2).
const ROUTER: u8 = 134;
/// Type and length of the option (RFC 8781 §4); with another length it has to be ignored.
const PREF64: [u8; 2] = [38, 2];
/// Lengths of a prefix in the order of their codes (RFC 8781 §4), bits.
const LENGTHS: [u8; 6] = [96, 64, 56, 48, 40, 32];

/// What a router says of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// The index of the interface that it came by, for whose network alone it holds.
    pub index: u32,
    /// The prefix.
    pub prefix: Prefix,
    /// For how long it may be used from now on; zero withdraws it.
    pub lifetime: Duration,
}

/// The prefixes of a message of netlink with its header; `None` if it has no such options at all.
pub(crate) fn read(message: &[u8]) -> Option<Vec<Advertised>> {
    let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
    let (fixed, rest) = message.get(HEADER..)?.split_first_chunk::<FIXED>()?;
    if kind != MESSAGE {
        return None;
    }
    let length = usize::from(u16::from_ne_bytes([fixed[2], fixed[3]]));
    let index = u32::from_ne_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    let of_router = rest.get(..length).filter(|_| fixed[8] == ROUTER).unwrap_or_default();
    let prefixes = options(of_router).filter_map(pref64);
    Some(prefixes.map(|(prefix, lifetime)| Advertised { index, prefix, lifetime }).collect())
}

/// Options, whose second byte is the length in units of eight bytes (RFC 4861 §4.6); ends at one that
/// is not whole.
fn options(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = 8 * usize::from(*rest.get(1)?);
        let option = rest.get(..length).filter(|option| !option.is_empty())?;
        rest = &rest[length..];
        Some(option)
    })
}

/// The prefix of an option, and for how long it holds; `None` of any other option, and of one that
/// has to be ignored.
fn pref64(option: &[u8]) -> Option<(Prefix, Duration)> {
    let whole: &[u8; 16] = option.try_into().ok()?;
    // Thirteen bits in units of eight seconds, and three of the code.
    let word = u16::from_be_bytes([whole[2], whole[3]]);
    let length = *LENGTHS.get(usize::from(word & 7)).filter(|_| whole[..2] == PREF64)?;
    let mut address = [0; 16];
    address[..12].copy_from_slice(&whole[4..]);
    let prefix = Prefix::told(Ipv6Addr::from(address), length)?;
    Some((prefix, Duration::from_secs(u64::from(word & !7))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An option as RFC 8781 §4 draws it.
    fn option(scaled_lifetime: u16, code: u16, prefix: &str) -> Vec<u8> {
        let address: Ipv6Addr = prefix.parse().unwrap();
        let word = ((scaled_lifetime << 3) | code).to_be_bytes();
        [&[38, 2][..], &word, &address.octets()[..12]].concat()
    }

    /// The kernel's message about options that came by an interface.
    fn message(index: u32, icmp: u8, options: &[u8]) -> Vec<u8> {
        let mut all = ((HEADER + FIXED + options.len()) as u32).to_ne_bytes().to_vec();
        all.extend(MESSAGE.to_ne_bytes());
        all.extend([0; 10]);
        all.extend([10, 0]);
        all.extend((options.len() as u16).to_ne_bytes());
        all.extend(index.to_ne_bytes());
        all.extend([icmp, 0, 0, 0, 0, 0, 0, 0]);
        all.extend(options);
        all
    }

    #[test]
    fn each_length_and_lifetime_is_read() {
        for (code, length) in LENGTHS.into_iter().enumerate() {
            let prefix = Prefix::new("2001:db8:122:344::".parse().unwrap(), length);
            let found = pref64(&option(225, code as u16, "2001:db8:122:344::"));
            assert_eq!(found, prefix.map(|prefix| (prefix, Duration::from_secs(1800))), "{length}");
        }
        let well_known = Prefix::new("64:ff9b::".parse().unwrap(), 96).unwrap();
        let bytes = [38, 2, 0x07, 0x08, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(pref64(&bytes), Some((well_known, Duration::from_secs(1800))));
        let of = |scaled| pref64(&option(scaled, 0, "64:ff9b::")).unwrap().1.as_secs();
        assert_eq!((of(0), of(1), of(8191)), (0, 8, 65528));
    }

    #[test]
    fn what_has_to_be_ignored_is() {
        let good = option(225, 0, "64:ff9b::");
        for length in 0..good.len() {
            assert_eq!(pref64(&good[..length]), None, "{length}: cut off");
        }
        assert_eq!(pref64(&[&good[..], &[0; 8]].concat()), None, "too long");
        for (at, other) in [(0, 25), (1, 1), (1, 3)] {
            let mut bytes = good.clone();
            bytes[at] = other;
            assert_eq!(pref64(&bytes), None, "{at}: {other}");
        }
        for code in [6, 7] {
            assert_eq!(pref64(&option(225, code, "64:ff9b::")), None, "{code} is no length");
        }
        // Bits 64 to 71 have to be zero; no router forwards the others.
        for prefix in ["2001:db8:1:2:300::", "::", "ff0e::", "fe80::", "::ffff:0:0"] {
            assert_eq!(pref64(&option(225, 0, prefix)), None, "{prefix}");
        }
        // What stands behind a shorter prefix is none of it.
        let short = pref64(&option(225, 5, "2001:db8:1:2::7:0:0")).unwrap().0;
        assert_eq!(Some(short), Prefix::new("2001:db8::".parse().unwrap(), 32));
    }

    #[test]
    fn a_message_is_read_for_its_interface_and_a_damaged_one_is_none() {
        let good = option(225, 0, "64:ff9b::");
        let others = [25, 1, 0, 0, 0, 0, 0, 0];
        let bytes = message(7, ROUTER, &[&others[..], &good, &good].concat());
        let found = read(&bytes).unwrap();
        assert_eq!(found.iter().map(|a| a.index).collect::<Vec<_>>(), [7, 7]);
        for length in 0..bytes.len() {
            let found = read(&bytes[..length]);
            assert!(found.is_none_or(|found| found.is_empty()), "{length}: cut off");
        }
        assert_eq!(read(&message(7, 136, &good)), Some(Vec::new()), "of a neighbour");
        assert_eq!(read(&message(7, ROUTER, &[38, 0, 0, 0])), Some(Vec::new()), "an option without length");
        let mut other = bytes;
        other[4] = 16;
        assert_eq!(read(&other), None, "another message");
    }
}
