//! Static routes: the longest prefix wins.

use crate::packet::IfIndex;
use std::net::Ipv4Addr;

/// One way to a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// First address of the range.
    pub prefix: Ipv4Addr,
    /// Bits that count, 0 to 32.
    pub len: u8,
    /// Interface that leads there.
    pub out: IfIndex,
    /// The next router; none where the destination itself is on the segment.
    pub via: Option<Ipv4Addr>,
    /// Among routes of equal length the smallest goes first.
    pub metric: u32,
}

impl Route {
    /// Whether `address` is in the range.
    pub fn covers(&self, address: Ipv4Addr) -> bool {
        same_prefix(self.prefix, address, self.len)
    }
}

/// Whether two addresses agree in their first `len` bits.
pub fn same_prefix(a: Ipv4Addr, b: Ipv4Addr, len: u8) -> bool {
    let differing = u32::from(a) ^ u32::from(b);
    u32::from(len) <= differing.leading_zeros()
}

/// The routes of a node, best first.
#[derive(Clone, Debug, Default)]
pub struct Table {
    routes: Vec<Route>,
}

impl Table {
    /// Adds a route behind its equals.
    pub fn add(&mut self, route: Route) {
        let key = |r: &Route| (32 - r.len.min(32), r.metric);
        let at = self.routes.partition_point(|r| key(r) <= key(&route));
        self.routes.insert(at, route);
    }

    /// Routes that lead to `address`, best first.
    pub fn to(&self, address: Ipv4Addr) -> impl Iterator<Item = &Route> {
        self.routes.iter().filter(move |r| r.covers(address))
    }

    /// All routes, best first.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(prefix: [u8; 4], len: u8, out: u32, metric: u32) -> Route {
        Route { prefix: prefix.into(), len, out: IfIndex(out), via: None, metric }
    }

    #[test]
    fn the_longest_prefix_wins_then_the_metric_then_the_first() {
        let mut t = Table::default();
        for r in [
            route([0, 0, 0, 0], 0, 0, 0),
            route([10, 0, 0, 0], 8, 1, 5),
            route([10, 1, 0, 0], 16, 2, 9),
            route([10, 0, 0, 0], 8, 3, 1),
            route([10, 0, 0, 0], 8, 4, 1),
        ] {
            t.add(r);
        }
        let out = |a: [u8; 4]| t.to(a.into()).map(|r| r.out.0).collect::<Vec<_>>();
        assert_eq!(out([10, 1, 2, 3]), [2, 3, 4, 1, 0]);
        assert_eq!(out([10, 2, 2, 3]), [3, 4, 1, 0]);
        assert_eq!(out([192, 0, 2, 1]), [0]);
    }

    #[test]
    fn prefixes_of_all_lengths() {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        assert!(same_prefix(a, a, 32) && same_prefix(a, b, 30) && same_prefix(a, b, 0));
        assert!(!same_prefix(a, b, 31) && !same_prefix(a, b, 32));
    }
}
