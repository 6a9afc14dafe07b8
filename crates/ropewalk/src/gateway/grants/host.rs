//! What there is on the gateway's machine: interfaces, and ports that its programs listen at.

use ropewalk_net::links;
use ropewalk_net::setup::Protocol;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The names of this machine's interfaces.
pub(crate) fn interfaces() -> BTreeSet<String> {
    links::list().into_iter().flatten().map(|link| link.name).collect()
}

/// Ports at which programs of this machine wait for anybody (proc(5), `/proc/net/tcp`).
pub(crate) fn listening() -> BTreeSet<(Protocol, u16)> {
    let tables = [
        (Protocol::Tcp, "/proc/net/tcp"),
        (Protocol::Tcp, "/proc/net/tcp6"),
        (Protocol::Udp, "/proc/net/udp"),
        (Protocol::Udp, "/proc/net/udp6"),
    ];
    let mut all = BTreeSet::new();
    for (protocol, table) in tables {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        all.extend(text.lines().skip(1).filter_map(port).map(|port| (protocol, port)));
    }
    all
}

/// The port of a line, if its socket has no other end and other machines reach it.
fn port(line: &str) -> Option<u16> {
    let mut words = line.split_whitespace().skip(1);
    let (own, other, state) = (words.next()?, words.next()?, words.next()?);
    let (host, port) = own.rsplit_once(':')?;
    let loopback = address(host).is_some_and(|at| at.to_canonical().is_loopback());
    // LISTEN of TCP; UDP without a connection has the number of CLOSE.
    let waits = matches!(state, "0A" | "07") && other.ends_with(":0000");
    (waits && !loopback).then(|| u16::from_str_radix(port, 16).ok()).flatten()
}

/// An address as the kernel prints it: by words of 32 bits, each as a number of this machine.
fn address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => word(0).map(IpAddr::from),
        32 => {
            let octets = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            <[u8; 16]>::try_from(octets).ok().map(IpAddr::from)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{IpAddr, port};

    /// An address as the kernel of this machine prints it.
    fn hex(text: &str) -> String {
        let octets = match text.parse::<IpAddr>().unwrap() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let word = |part: &[u8]| format!("{:08X}", u32::from_ne_bytes(part.try_into().unwrap()));
        octets.chunks(4).map(word).collect()
    }

    #[test]
    fn ports_that_wait() {
        let line =
            |own: &str, other: &str, state: &str| format!("  0: {own} {other} {state} 00000000:00000000");
        assert_eq!(port(&line("00000000:1F90", "00000000:0000", "0A")), Some(8080));
        assert_eq!(port(&line("00000000:1194", "00000000:0000", "07")), Some(4500));
        assert_eq!(hex("127.0.0.1"), if cfg!(target_endian = "little") { "0100007F" } else { "7F000001" });
        let at = |own: &str| format!("{}:1F90", hex(own));
        assert_eq!(port(&line(&at("127.0.0.1"), "00000000:0000", "0A")), None, "loopback");
        let to_any = |own: &str| port(&line(&at(own), "00000000000000000000000000000000:0000", "0A"));
        assert_eq!((to_any("::"), to_any("2001:db8::1")), (Some(8080), Some(8080)));
        assert_eq!((to_any("::1"), to_any("::ffff:127.0.0.1")), (None, None), "loopback");
        assert_eq!(port(&line(&at("10.0.2.2"), "0302000A:0050", "01")), None, "a connection");
        assert_eq!(port("sl local_address"), None);
    }
}
