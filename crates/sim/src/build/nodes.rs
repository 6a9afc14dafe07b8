//! Nodes, their interfaces and bridges, and the routes that the scenario gives them.

use super::Built;
use crate::cpu::CpuSpec;
use crate::net::{Route, same_prefix};
use crate::packet::IfIndex;
use ropewalk_pep::{Config, Policy};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{NodeCpu, NodeSpec, PepPolicy};
use std::net::Ipv4Addr;

pub(super) fn add(built: &mut Built, scenario: &Scenario) {
    for (name, spec) in &scenario.node {
        let node = built.world.net.add_node(name, spec.forward);
        built.world.net.nodes[node.index()].finds_routes = spec.route.is_empty();
        built.nodes.insert(name.clone(), node);
        if let Some(cpu) = &spec.cpu {
            built.world.net.add_cpu(node, cpu_spec(cpu));
        }
        if let Some(policy) = spec.pep.policy {
            let policy = match policy {
                PepPolicy::Split => Policy::Split,
                PepPolicy::Snoop => Policy::Snoop,
            };
            let config = Config { memory_bytes: spec.pep.window.0, ..Config::new(policy) };
            built.world.net.add_proxy(node, config, spec.pep.connections as usize);
        }
        for (interface, i) in &spec.interface {
            let address = i.address.map(|a| (a.addr(), a.prefix_len()));
            let index = built.world.net.add_interface(node, interface, address);
            built.world.net.interfaces[index.index()].mtu = u32::from(i.mtu);
            built.name_interface(name, interface, index);
        }
        for (bridge, b) in &spec.bridge {
            let ports: Vec<IfIndex> = b
                .ports
                .iter()
                .filter_map(|p| built.interfaces.get(&format!("{name}:{p}")).copied())
                .collect();
            let address = b.address.map(|a| (a.addr(), a.prefix_len()));
            let index = built.world.net.add_bridge(node, bridge, address, &ports);
            built.name_interface(name, bridge, index);
        }
        for nat in &spec.nat {
            if let Some(i) = built.interfaces.get(&format!("{name}:{nat}")) {
                built.world.net.interfaces[i.index()].masquerade = true;
            }
        }
    }
}

fn cpu_spec(cpu: &NodeCpu) -> CpuSpec {
    CpuSpec {
        per_packet: cpu.per_packet,
        per_byte: cpu.per_byte,
        per_interrupt: cpu.per_interrupt,
        coalescing: cpu.coalescing,
        queue: cpu.queue as usize,
    }
}

/// Adds the routes that nodes are given.
pub(super) fn route(built: &mut Built, scenario: &Scenario) {
    for (name, spec) in &scenario.node {
        let Some(node) = built.nodes.get(name).copied() else { continue };
        for route in &spec.route {
            let out = match &route.interface {
                Some(interface) => built.interfaces.get(&format!("{name}:{interface}")).copied(),
                None => route.via.and_then(|via| towards(built, name, spec, via)),
            };
            let Some(out) = out else { continue };
            let (prefix, len) = (route.to.addr(), route.to.prefix_len());
            let route = Route { prefix, len, out, via: route.via, metric: route.metric };
            built.world.net.nodes[node.index()].routes.add(route);
        }
    }
}

/// The interface whose network a neighbour is in.
fn towards(built: &Built, name: &str, spec: &NodeSpec, neighbour: Ipv4Addr) -> Option<IfIndex> {
    let interfaces = spec.interface.keys().chain(spec.bridge.keys());
    let all = interfaces.filter_map(|i| built.interfaces.get(&format!("{name}:{i}")).copied());
    all.into_iter().find(|i| {
        let address = built.world.net.interfaces[i.index()].address;
        address.is_some_and(|(address, len)| same_prefix(address, neighbour, len))
    })
}
