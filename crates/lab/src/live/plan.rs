//! What a scenario asks of a machine: nodes, interfaces, addresses, neighbours, routes. All of it is the simulator's own ([`Built`]), so that both
//! drivers of a file agree; here it is only put into words that a kernel understands.

use std::net::Ipv4Addr;

use ropewalk_air::wifi::{IfaceId, Mac, RadioId};
use ropewalk_scenario::Scenario;
use ropewalk_sim::build::Built;
use ropewalk_sim::net::{Attach, Interface, NodeId, Route, mac_of};
use ropewalk_sim::packet::IfIndex;

use super::kernel::Kernel;
use super::transport::{self, Transport};

/// A network in `ip`'s words.
fn prefix((address, len): (Ipv4Addr, u8)) -> String {
    let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
    format!("{}/{len}", Ipv4Addr::from(u32::from(address) & mask))
}

/// What an interface is joined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// Nothing, or the ports of a bridge.
    Nothing,
    /// A cable; its packets go by this direction.
    Cable(usize),
    /// The air, as this interface.
    Radio(IfaceId),
}

/// An interface.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// `node:interface`.
    pub(super) name: String,
    /// Its name in its node.
    pub(super) short: String,
    pub(super) node: usize,
    pub(super) address: Option<(Ipv4Addr, u8)>,
    pub(super) mtu: u32,
    pub(super) mac: Mac,
    pub(super) joint: Joint,
    /// The bridge that it is a port of, by its name.
    pub(super) master: Option<String>,
    pub(super) is_bridge: bool,
}

/// A whole network, in plain data that may cross threads.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) nodes: Vec<String>,
    /// In the order of the simulator's interfaces.
    pub(super) ports: Vec<Port>,
    /// Names of cables, and the interfaces at their ends.
    pub(super) links: Vec<(String, [usize; 2])>,
    /// Radios as `node:radio`.
    pub(super) radios: Vec<String>,
    /// Radios by interfaces of the air.
    pub(super) radio_of: Vec<RadioId>,
    /// Interfaces by interfaces of the air.
    pub(super) on_air: Vec<usize>,
    /// For each node: `ip` commands that make devices of bridges; those that set everything up; and its rules for nft.
    pub(super) commands: Vec<NodeCommands>,
}

/// What is to be told to a node's kernel.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeCommands {
    /// For `ip -batch`, once the TAP devices are there.
    pub(super) ip: Vec<String>,
    /// For `nft -f`; empty: none.
    pub(super) nft: String,
    /// Sysctls.
    pub(super) sysctls: Vec<(String, String)>,
    /// What routes end in, with a space before it, or nothing.
    pub(super) route_suffix: String,
}

impl Plan {
    pub(super) fn new(scenario: &Scenario, built: &Built) -> Plan {
        let net = &built.world.net;
        let bridge_of = |bridge: usize| {
            let device = net.interfaces.iter().find(|i| i.attach == Attach::Bridge(bridge));
            device.map(|d| d.name.clone())
        };
        let port = |(index, i): (usize, &Interface)| Port {
            name: built.names[index].clone(),
            short: i.name.clone(),
            node: i.node.0 as usize,
            address: i.address,
            mtu: i.mtu,
            mac: mac_of(IfIndex(index as u32)),
            joint: match i.attach {
                Attach::Cable(direction) => Joint::Cable(direction),
                Attach::Radio(iface) => Joint::Radio(iface),
                Attach::Nothing | Attach::Bridge(_) | Attach::Tunnel(_) => Joint::Nothing,
            },
            master: i.bridge.and_then(bridge_of),
            is_bridge: matches!(i.attach, Attach::Bridge(_)),
        };
        let ports: Vec<Port> = net.interfaces.iter().enumerate().map(port).collect();
        let cables = built.links.iter().zip(&net.cables);
        let links = cables.map(|(name, c)| (name.clone(), c.ends.map(|e| e.0 as usize))).collect();
        let on_air =
            net.radios.as_ref().map_or(Vec::new(), |r| r.interfaces.iter().map(|i| i.0 as usize).collect());
        let kernel = Kernel::present();
        let commands = (0..net.nodes.len())
            .map(|n| commands((scenario, &kernel), built, &ports, NodeId(n as u32)))
            .collect();
        let nodes = net.nodes.iter().map(|n| n.name.clone()).collect();
        let radio_of =
            built.air.as_ref().map_or(Vec::new(), |(spec, _)| spec.ifaces.iter().map(|i| i.radio).collect());
        Plan { radio_of, nodes, ports, links, radios: built.radios.clone(), on_air, commands }
    }
}

/// The first table of routes that packets with a source address of their own take.
const FIRST_TABLE: usize = 1000;

fn commands(
    (scenario, kernel): (&Scenario, &Kernel),
    built: &Built,
    ports: &[Port],
    node: NodeId,
) -> NodeCommands {
    let net = &built.world.net;
    let this = &net.nodes[node.0 as usize];
    let transport = Transport::new(scenario, &this.name, kernel);
    let of_routes = transport.of_routes();
    let mine = || ports.iter().filter(|p| p.node == node.0 as usize);
    let mut ip = Vec::new();
    for p in mine().filter(|p| p.is_bridge) {
        // No spanning tree and no querier: a scenario's bridges close no loop, and nothing may speak that it did not ask for.
        ip.push(format!(
            "link add {} address {} type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
            p.short, p.mac
        ));
    }
    for p in mine() {
        let queue = if p.is_bridge { "" } else { " txqueuelen 4000" };
        ip.push(format!("link set {} address {} mtu {}{queue}", p.short, p.mac, p.mtu));
        ip.extend(p.master.iter().map(|bridge| format!("link set {} master {bridge}", p.short)));
        // Without an address of its broadcasts: nobody is to hear of them.
        ip.extend(p.address.map(|(address, len)| format!("address add {address}/{len} dev {}", p.short)));
        ip.push(format!("link set {} up", p.short));
        // The route that came with the address, once more with what the node's routes end in.
        ip.extend(p.address.filter(|a| a.1 < 32 && !of_routes.is_empty()).map(|(address, len)| {
            let net = prefix((address, len));
            format!("route replace {net} dev {} proto kernel scope link src {address}{of_routes}", p.short)
        }));
    }
    for p in mine() {
        let index = ports.iter().position(|q| std::ptr::eq(p, q)).unwrap_or_default();
        for (address, who) in net.neighbours(IfIndex(index as u32)).filter(|_| p.address.is_some()) {
            let mac = mac_of(who);
            ip.push(format!("neighbour replace {address} lladdr {mac} nud permanent dev {}", p.short));
        }
    }
    let main = this.routes.iter().filter(|r| r.via.is_some() || !is_own(ports, r));
    ip.extend(main.map(|r| format!("route append {}{of_routes}", route(ports, r))));
    let addressed: Vec<&Port> = mine().filter(|p| p.address.is_some()).collect();
    if addressed.len() > 1 {
        for (n, p) in addressed.iter().enumerate() {
            let Some((address, _)) = p.address else { continue };
            let table = FIRST_TABLE + n;
            for r in this.routes.iter().filter(|r| ports[r.out.0 as usize].name == p.name) {
                ip.push(format!("route append {} table {table}{of_routes}", route(ports, r)));
            }
            ip.push(format!("rule add from {address} lookup {table} priority {table}"));
        }
    }
    ip.extend(transport::mptcp(scenario, &this.name, &addressed, kernel));
    let sysctls = sysctls(this.forward).into_iter().chain(transport.sysctls()).collect();
    NodeCommands { ip, nft: nft(scenario, &this.name), sysctls, route_suffix: of_routes }
}

/// Whether a route is the one that its interface's address makes by itself.
fn is_own(ports: &[Port], route: &Route) -> bool {
    ports[route.out.0 as usize].address.is_some_and(|a| prefix(a) == prefix((route.prefix, route.len)))
}

fn route(ports: &[Port], r: &Route) -> String {
    let via = r.via.map(|via| format!(" via {via}")).unwrap_or_default();
    let metric = if r.metric > 0 { format!(" metric {}", r.metric) } else { String::new() };
    format!("{}{via} dev {}{metric}", prefix((r.prefix, r.len)), ports[r.out.0 as usize].short)
}

/// Address translation: what leaves by these interfaces takes their address.
fn nft(scenario: &Scenario, node: &str) -> String {
    let outer = scenario.node.get(node).map_or(&[][..], |n| &n.nat);
    if outer.is_empty() {
        return String::new();
    }
    let names: Vec<String> = outer.iter().map(|i| format!("\"{i}\"")).collect();
    format!(
        "table ip lab {{ chain out {{ type nat hook postrouting priority srcnat; oifname {{ {} }} masquerade; }}; }}\n",
        names.join(", ")
    )
}

/// Redirects would tell hosts ways that the scenario did not give them.
fn sysctls(forward: bool) -> Vec<(String, String)> {
    let set = [
        ("net.ipv4.ip_forward", if forward { "1" } else { "0" }),
        ("net.ipv4.conf.all.send_redirects", "0"),
        ("net.ipv4.conf.default.send_redirects", "0"),
        ("net.ipv4.conf.all.accept_redirects", "0"),
        ("net.ipv4.conf.default.accept_redirects", "0"),
        ("net.ipv6.conf.all.disable_ipv6", "1"),
        ("net.ipv6.conf.default.disable_ipv6", "1"),
        // Multicast reports would be frames that nobody sent.
        ("net.ipv4.igmp_link_local_mcast_reports", "0"),
    ];
    set.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}
