//! What follows from the wiring: who shares a segment, and which routes lead everywhere.

use super::{Attach, IfIndex, Net, NodeId, Route, same_prefix};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

/// Metric of routes that were worked out, to which the number of routers is added: any route that the scenario names goes first.
const FOUND: u32 = 1000;

/// A network: an address in it, and the length of its prefix.
pub type Prefix = (Ipv4Addr, u8);

/// Interfaces of routers by which one may go further, by segment.
type Routers = BTreeMap<u32, Vec<IfIndex>>;

/// A network that was found, and the way to it.
struct Found {
    prefix: Prefix,
    via: Ipv4Addr,
    routers: u32,
}

impl Net {
    /// Joins the segments of two interfaces, as an association on air does.
    pub fn join_segments(&mut self, a: IfIndex, b: IfIndex) {
        let (keep, gone) = (self.interfaces[a.index()].segment, self.interfaces[b.index()].segment);
        if keep != gone {
            self.interfaces.iter_mut().filter(|i| i.segment == gone).for_each(|i| i.segment = keep);
        }
    }

    /// Works out segments and routes, and forgets the routes there were. Call it once everything is wired; segments on air
    /// are joined before.
    ///
    /// Every node gets a route to the networks of its own interfaces and, by each interface, to all others that can be reached by
    /// it, fewest routers first: as a routing protocol would have found them. Nothing is routed into what an address
    /// translation hides.
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
        let routers = self.routers(None);
        for node in 0..self.nodes.len() {
            self.find_routes(NodeId(node as u32), &routers);
        }
    }

    /// Networks that a node can reach without passing `not`.
    pub fn reachable(&self, node: NodeId, not: NodeId) -> Vec<Prefix> {
        let routers = self.routers(Some(not));
        let mut all = Vec::new();
        for &i in &self.nodes[node.index()].interfaces {
            all.extend(self.interfaces[i.index()].address);
            all.extend(self.search(node, i, &routers).into_iter().map(|f| f.prefix));
        }
        all
    }

    fn routers(&self, not: Option<NodeId>) -> Routers {
        let mut routers = Routers::new();
        for (k, i) in self.interfaces.iter().enumerate() {
            let forwards = self.nodes[i.node.index()].forward && Some(i.node) != not;
            if forwards && i.address.is_some() && !i.masquerade {
                routers.entry(i.segment).or_default().push(IfIndex(k as u32));
            }
        }
        routers
    }

    fn find_routes(&mut self, node: NodeId, routers: &Routers) {
        self.nodes[node.index()].routes = super::Table::default();
        for out in self.nodes[node.index()].interfaces.clone() {
            let Some((prefix, len)) = self.interfaces[out.index()].address else { continue };
            let route = Route { prefix, len, out, via: None, metric: 0 };
            let found = if self.nodes[node.index()].finds_routes {
                self.search(node, out, routers)
            } else {
                Vec::new()
            };
            let routes = &mut self.nodes[node.index()].routes;
            routes.add(route);
            for Found { prefix: (prefix, len), via, routers } in found {
                routes.add(Route { prefix, len, out, via: Some(via), metric: FOUND + routers });
            }
        }
    }

    /// Networks beyond an interface of a node, nearest first.
    fn search(&self, node: NodeId, out: IfIndex, routers: &Routers) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let start = self.interfaces[out.index()].segment;
        if self.interfaces[out.index()].address.is_none() {
            return found;
        }
        let mut seen = vec![start];
        let mut queue: VecDeque<(u32, Option<Ipv4Addr>, u32)> = VecDeque::from([(start, None, 0)]);
        while let Some((segment, via, hops)) = queue.pop_front() {
            for &router in routers.get(&segment).map_or(&[][..], |r| r) {
                let (owner, address) = (self.node_of(router), self.interfaces[router.index()].address);
                let Some((address, _)) = address.filter(|_| owner != node) else { continue };
                let via = via.unwrap_or(address);
                for &far in &self.nodes[owner.index()].interfaces {
                    let far = &self.interfaces[far.index()];
                    let Some(prefix) = far.address.filter(|_| far.announced) else { continue };
                    if seen.contains(&far.segment) {
                        continue;
                    }
                    seen.push(far.segment);
                    queue.push_back((far.segment, Some(via), hops + 1));
                    let same =
                        |f: &Found| f.prefix.1 == prefix.1 && same_prefix(f.prefix.0, prefix.0, prefix.1);
                    if !found.iter().any(same) {
                        found.push(Found { prefix, via, routers: hops + 1 });
                    }
                }
            }
        }
        found
    }
}
