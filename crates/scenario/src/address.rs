//! Addresses for interfaces that have none, and interfaces for cables' ends that no table declares.

use crate::file::{Interface, Mode, Scenario};
use ipnet::Ipv4Net;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// An interface or a bridge of a node.
type Port = (String, String);

/// Makes interfaces of cables' ends and gives addresses to all that can have one. What is wrong is left for the checks.
pub(crate) fn fill(scenario: &mut Scenario) {
    make_ends(scenario);
    let networks = networks(scenario);
    let mut taken: BTreeSet<Ipv4Addr> = addresses(scenario).map(|net| net.network()).collect();
    let mut used: BTreeSet<Ipv4Addr> = addresses(scenario).map(|net| net.addr()).collect();
    let mut number = 0;
    for ports in networks {
        let given = ports.iter().find_map(|port| address_of(scenario, port));
        let wanting: Vec<&Port> = ports.iter().filter(|p| wants(scenario, p)).collect();
        if wanting.is_empty() {
            continue;
        }
        let Some(net) = given.map(|n| n.trunc()).or_else(|| free_network(&mut number, &mut taken)) else {
            return;
        };
        for port in wanting {
            let Some(host) = net.hosts().find(|h| !used.contains(h)) else { break };
            used.insert(host);
            let address = Ipv4Net::new(host, net.prefix_len()).ok();
            set_address(scenario, port, address);
        }
    }
    tunnels(scenario);
}

/// Interfaces and bridges for which no address was left.
pub(crate) fn lacking(scenario: &Scenario) -> Vec<Port> {
    networks(scenario).into_iter().flatten().filter(|port| wants(scenario, port)).collect()
}

/// A bond without an address gets 10.77.N.2/24.
fn tunnels(scenario: &mut Scenario) {
    for (n, bond) in scenario.bond.values_mut().enumerate().take(256) {
        let address = Ipv4Net::new(Ipv4Addr::new(10, 77, n as u8, 2), 24).ok();
        bond.address = bond.address.or(address);
    }
}

fn make_ends(scenario: &mut Scenario) {
    for link in &scenario.link {
        for (node, interface) in link.ends.iter().filter_map(|end| end.split_once(':')) {
            if let Some(node) = scenario.node.get_mut(node) {
                node.interface.entry(interface.to_owned()).or_insert_with(Interface::wired);
            }
        }
    }
}

fn addresses(scenario: &Scenario) -> impl Iterator<Item = Ipv4Net> {
    scenario.node.values().flat_map(|node| {
        let own = node.interface.values().filter_map(|i| i.address);
        own.chain(node.bridge.values().filter_map(|b| b.address))
    })
}

fn address_of(scenario: &Scenario, (node, name): &Port) -> Option<Ipv4Net> {
    let node = scenario.node.get(node)?;
    node.interface.get(name).and_then(|i| i.address).or_else(|| node.bridge.get(name)?.address)
}

/// Whether it should have an address and has none: ports of a bridge need none.
fn wants(scenario: &Scenario, port: &Port) -> bool {
    let (node, name) = port;
    let is_port = |node: &crate::file::NodeSpec| node.bridge.values().any(|b| b.ports.contains(name));
    scenario.node.get(node).is_some_and(|n| !is_port(n)) && address_of(scenario, port).is_none()
}

fn set_address(scenario: &mut Scenario, (node, name): &Port, address: Option<Ipv4Net>) {
    let Some(node) = scenario.node.get_mut(node) else { return };
    if let Some(interface) = node.interface.get_mut(name) {
        interface.address = address;
    } else if let Some(bridge) = node.bridge.get_mut(name) {
        bridge.address = address;
    }
}

fn free_network(number: &mut u8, taken: &mut BTreeSet<Ipv4Addr>) -> Option<Ipv4Net> {
    loop {
        *number = number.checked_add(1)?;
        let network = Ipv4Addr::new(10, 1, *number, 0);
        if taken.insert(network) {
            return Ipv4Net::new(network, 24).ok();
        }
    }
}

/// What is joined without a router, access points and the first ends of cables first.
fn networks(scenario: &Scenario) -> Vec<Vec<Port>> {
    let mut join = Joined::default();
    for (name, node) in &scenario.node {
        let of = |port: &str| (name.clone(), port.to_owned());
        for (bridge, spec) in &node.bridge {
            spec.ports.iter().for_each(|port| join.join(&of(bridge), &of(port)));
        }
    }
    for link in &scenario.link {
        let mut ends =
            link.ends.iter().filter_map(|e| e.split_once(':')).map(|(n, i)| (n.to_owned(), i.to_owned()));
        if let (Some(a), Some(b)) = (ends.next(), ends.next()) {
            join.join(&a, &b);
        }
    }
    let mut cells: BTreeMap<&str, Vec<(bool, Port)>> = BTreeMap::new();
    for (name, node) in &scenario.node {
        for (interface, spec) in &node.interface {
            let Some(ssid) = spec.ssid.as_deref() else { continue };
            let station = spec.mode != Some(Mode::Ap);
            cells.entry(ssid).or_default().push((station, (name.clone(), interface.clone())));
        }
    }
    for mut ports in cells.into_values() {
        ports.sort_by_key(|(station, _)| *station);
        for pair in ports.windows(2) {
            join.join(&pair[0].1, &pair[1].1);
        }
        if let [(_, only)] = &ports[..] {
            join.number(only);
        }
    }
    join.groups()
}

/// Sets that grow together.
#[derive(Default)]
struct Joined {
    ports: Vec<Port>,
    index: BTreeMap<Port, usize>,
    parent: Vec<usize>,
}

impl Joined {
    fn number(&mut self, port: &Port) -> usize {
        if let Some(n) = self.index.get(port) {
            return *n;
        }
        self.ports.push(port.clone());
        self.parent.push(self.parent.len());
        self.index.insert(port.clone(), self.parent.len() - 1);
        self.parent.len() - 1
    }

    fn root(&self, mut n: usize) -> usize {
        while self.parent[n] != n {
            n = self.parent[n];
        }
        n
    }

    fn join(&mut self, a: &Port, b: &Port) {
        let (a, b) = (self.number(a), self.number(b));
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    fn groups(&self) -> Vec<Vec<Port>> {
        let mut groups: BTreeMap<usize, Vec<Port>> = BTreeMap::new();
        for (n, port) in self.ports.iter().enumerate() {
            groups.entry(self.root(n)).or_default().push(port.clone());
        }
        groups.into_values().collect()
    }
}
