//! How many connections there may be at a gateway's port, and how many of them that have not shown
//! who they are.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Access points at once, those that are coming included.
const CONNECTIONS: usize = 1024;
/// Descriptors for all else: the device, files, connections of the control socket and of metrics.
const OTHERS: usize = 128;
/// What a gateway needs with all of them.
pub(super) const DESCRIPTORS: u64 = (CONNECTIONS + OTHERS) as u64;
/// Unknown ones at once.
const MOST: usize = 256;
/// Of one network, so that nobody takes the places of all others.
const OF_ONE: usize = 32;

/// Connections of a gateway that may have so many descriptors.
pub(super) fn places(descriptors: u64) -> usize {
    (descriptors.min(DESCRIPTORS) as usize).saturating_sub(OTHERS).max(1)
}

/// An IPv4 address or an IPv6 /64: who has one /64 has all addresses of it.
fn network(of: SocketAddr) -> IpAddr {
    match of.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// Which of them, the oldest first, has to go when one more comes: the oldest of its network, or
/// of the network that has most.
pub(super) fn makes_room(unknown: &[(u32, SocketAddr)], comes: SocketAddr) -> Option<u32> {
    let mut by_network: BTreeMap<IpAddr, Vec<u32>> = BTreeMap::new();
    for (id, remote) in unknown {
        by_network.entry(network(*remote)).or_default().push(*id);
    }
    let own = by_network.get(&network(comes)).filter(|own| own.len() >= OF_ONE);
    let most = by_network.values().max_by_key(|all| all.len()).filter(|_| unknown.len() >= MOST);
    own.or(most)?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn where_descriptors_are_few_there_are_fewer_places() {
        assert_eq!([DESCRIPTORS, u64::MAX].map(places), [CONNECTIONS; 2]);
        assert_eq!([1024, 256, 10].map(places), [896, 128, 1]);
    }

    #[test]
    fn one_network_pushes_out_its_own_connections_and_nobody_else_s() {
        let home = at("203.0.113.7:1000");
        let mut unknown = vec![(0, home)];
        let mut comes = |id: u32, from: SocketAddr| {
            let goes = makes_room(&unknown, from);
            unknown.retain(|(old, _)| Some(*old) != goes);
            unknown.push((id, from));
            (goes, unknown.len())
        };
        for id in 1..1000 {
            let greedy = at(&format!("198.51.100.9:{}", 1000 + id));
            let (goes, count) = comes(id, greedy);
            assert!(goes != Some(0) && count <= 1 + OF_ONE, "{id}");
        }
        // A /64 is one network, however many addresses it has; others still get in.
        for id in 1000..2000 {
            let (goes, count) = comes(id, at(&format!("[2001:db8::{id:x}]:9")));
            assert!(goes != Some(0) && count <= 1 + 2 * OF_ONE, "{id}");
        }
        // Many networks: what has most loses its oldest, and in the end the oldest of all goes.
        for id in 2000..2400u32 {
            let (goes, count) = comes(id, at(&format!("192.0.{}.{}:9", id / 256, id % 256)));
            assert!(count <= MOST);
            assert!(id >= 2000 + 190 || goes.is_none(), "{id} {goes:?}");
        }
        assert_eq!(makes_room(&[(5, home)], home), None);
    }
}
