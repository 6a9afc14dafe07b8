//! What follows from the wiring: who shares a segment, and which routes lead everywhere.

use super::{Attach, IfIndex, Net, NodeId, Route, same_prefix};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// Metric of routes that were worked out: any route that the scenario names goes first.
const FOUND: u32 = 1000;

impl Net {
    /// Joins the segments of two interfaces, as an association on air or the two ends of a tunnel do.
    pub fn join_segments(&mut self, a: IfIndex, b: IfIndex) {
        let (keep, gone) = (self.interfaces[a.index()].segment, self.interfaces[b.index()].segment);
        for i in self.interfaces.iter_mut().filter(|i| i.segment == gone) {
            i.segment = keep;
        }
    }

    /// Works out segments and routes. Call it once everything is wired; segments on air are joined before.
    ///
    /// Every node gets a route to the prefixes of its own interfaces and, by the fewest routers, to all others: as a
    /// routing protocol would have found them. Nothing is routed into what an address translation hides.
    pub fn settle(&mut self) {
        for i in 0..self.cables.len() {
            let [a, b] = self.cables[i].ends;
            self.join_segments(a, b);
        }
        for i in 0..self.interfaces.len() {
            if let Attach::Bridge(bridge) = self.interfaces[i].attach {
                for p in 0..self.bridges[bridge].ports.len() {
                    self.join_segments(IfIndex(i as u32), self.bridges[bridge].ports[p]);
                }
            }
        }
        self.neighbours.clear();
        for (i, interface) in self.interfaces.iter().enumerate() {
            if let Some((address, _)) = interface.address {
                self.neighbours.entry((interface.segment, address)).or_insert(IfIndex(i as u32));
            }
        }
        for node in 0..self.nodes.len() {
            self.find_routes(NodeId(node as u32));
        }
    }

    /// Interfaces with an address, by segment, would be a map; worlds are small enough to search.
    fn find_routes(&mut self, node: NodeId) {
        let mut seen = vec![false; self.interfaces.len()];
        let mut queue: VecDeque<(u32, IfIndex, Option<Ipv4Addr>)> = VecDeque::new();
        for &i in &self.nodes[node.index()].interfaces.clone() {
            let interface = &self.interfaces[i.index()];
            if let Some((address, len)) = interface.address {
                let route = Route { prefix: address, len, out: i, via: None, metric: 0 };
                queue.push_back((interface.segment, i, None));
                self.nodes[node.index()].routes.add(route);
            }
        }
        while let Some((segment, out, via)) = queue.pop_front() {
            if std::mem::replace(&mut seen[segment as usize], true) {
                continue;
            }
            for i in self.routers_on(segment, node) {
                let (address, _) = self.interfaces[i.index()].address.unwrap_or((Ipv4Addr::UNSPECIFIED, 0));
                let via = via.unwrap_or(address);
                for &other in &self.nodes[self.node_of(i).index()].interfaces.clone() {
                    self.route_beyond(node, other, out, via);
                    let far = &self.interfaces[other.index()];
                    if far.address.is_some() && !seen[far.segment as usize] {
                        queue.push_back((far.segment, out, Some(via)));
                    }
                }
            }
        }
    }

    /// Interfaces of routers on a segment by which one may go further.
    fn routers_on(&self, segment: u32, not: NodeId) -> Vec<IfIndex> {
        let is_way = |i: &super::Interface| {
            i.segment == segment
                && i.address.is_some()
                && i.node != not
                && !i.masquerade
                && self.nodes[i.node.index()].forward
        };
        let found = self.interfaces.iter().enumerate().filter(|(_, i)| is_way(i));
        found.map(|(k, _)| IfIndex(k as u32)).collect()
    }

    fn route_beyond(&mut self, node: NodeId, far: IfIndex, out: IfIndex, via: Ipv4Addr) {
        let Some((address, len)) = self.interfaces[far.index()].address else { return };
        let routes = &mut self.nodes[node.index()].routes;
        let known = routes.iter().any(|r| r.len == len && same_prefix(r.prefix, address, len));
        if !known {
            routes.add(Route { prefix: address, len, out, via: Some(via), metric: FOUND });
        }
    }
}
