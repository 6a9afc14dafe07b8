//! Cables, bridges, addresses, routes and tunnels.

use super::Judge;
use crate::address;
use crate::file::{Bond, Link, MediumModel, Migrate, Mode, NodeSpec, Scheduler};
use crate::units::BitRate;
use ipnet::Ipv4Net;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

impl Link {
    /// Its name, or its ends.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.ends.join("-"))
    }
}

pub(super) fn check(judge: &mut Judge) {
    let mut used = BTreeSet::new();
    for (i, link) in judge.scenario.link.iter().enumerate() {
        let key = format!("link.{}", link.name.clone().unwrap_or_else(|| i.to_string()));
        check_ends(judge, &key, link, &mut used);
        check_rates(judge, &key, link);
    }
    for (name, node) in &judge.scenario.node {
        check_bridges(judge, name, node);
        check_routes(judge, name, node);
    }
    check_addresses(judge);
    for (name, bond) in &judge.scenario.bond {
        check_bond(judge, &format!("bond.{name}"), bond);
    }
}

fn check_ends<'a>(judge: &mut Judge, key: &str, link: &'a Link, used: &mut BTreeSet<&'a str>) {
    let key = format!("{key}.ends");
    if link.ends.len() != 2 {
        return judge.fail(key, "a link has two ends, such as [\"server:eth0\", \"ap:eth0\"]");
    }
    for end in &link.ends {
        let Some((node, interface)) = end.split_once(':') else {
            judge.fail(
                &key,
                format!("`{end}` is no end of a link; write node:interface, such as \"server:eth0\""),
            );
            continue;
        };
        let nodes = judge.names.nodes.clone();
        if !judge.known(&key, "node", node, nodes) {
            continue;
        }
        judge.fail_if(!used.insert(end), &key, || {
            format!("`{end}` has a cable already; take another interface")
        });
        let spec = judge.scenario.node.get(node).and_then(|n| n.interface.get(interface));
        judge.fail_if(spec.is_some_and(|i| i.radio.is_some()), &key, || {
            format!("`{end}` is on a radio and takes no cable; take another interface")
        });
    }
    let same = link.ends[0].split_once(':').map(|e| e.0) == link.ends[1].split_once(':').map(|e| e.0);
    judge.fail_if(same, &key, || "both ends are on one machine; connect two".into());
}

fn check_rates(judge: &mut Judge, key: &str, link: &Link) {
    let rates = [("rate", link.rate), ("forward.rate", link.forward.rate), ("back.rate", link.back.rate)];
    for (below, rate) in rates {
        judge.fail_if(rate == Some(BitRate { bps: 0 }), format!("{key}.{below}"), || {
            "a rate of 0 carries nothing; write more, or `up = false`".into()
        });
    }
    for (below, both) in [
        ("trace", link.rate.is_some() && link.trace.is_some()),
        ("forward.trace", link.forward.rate.is_some() && link.forward.trace.is_some()),
        ("back.trace", link.back.rate.is_some() && link.back.trace.is_some()),
    ] {
        judge.fail_if(both, format!("{key}.{below}"), || "give either a rate or a trace".into());
    }
}

fn check_bridges(judge: &mut Judge, name: &str, node: &NodeSpec) {
    let mut ports = BTreeSet::new();
    for (bridge, spec) in &node.bridge {
        let key = format!("node.{name}.bridge.{bridge}.ports");
        judge.fail_if(spec.ports.is_empty(), &key, || {
            "a bridge needs interfaces, such as [\"eth0\", \"wlan0\"]".into()
        });
        for port in &spec.ports {
            if !judge.known(&key, "interface", port, node.interface.keys().map(String::as_str)) {
                continue;
            }
            judge.fail_if(!ports.insert(port), &key, || format!("`{port}` is in a bridge already"));
            let interface = &node.interface[port];
            judge.fail_if(
                interface.address.is_some(),
                format!("node.{name}.interface.{port}.address"),
                || format!("a port of a bridge has no address of its own; give it to `{bridge}`"),
            );
            judge.fail_if(interface.mode == Some(Mode::Station), &key, || {
                format!("`{port}` is a station, and access points take no frames of others from it; bridge access points and cables")
            });
        }
    }
    for (i, interface) in node.nat.iter().enumerate() {
        let bonds =
            judge.scenario.bond.iter().filter(|(_, b)| b.client == name || b.gateway == name).map(|b| b.0);
        let all: Vec<&String> = node.interface.keys().chain(node.bridge.keys()).chain(bonds).collect();
        judge.known(&format!("node.{name}.nat.{i}"), "interface", interface, all.iter().map(|n| n.as_str()));
    }
    judge.fail_if(!node.nat.is_empty() && !node.forward, format!("node.{name}.nat"), || {
        "it hides nobody, because it does not forward; write forward = true".into()
    });
    judge.fail_if(node.pep.policy.is_some() && !node.forward, format!("node.{name}.pep"), || {
        "no connection passes here, because it does not forward; write forward = true".into()
    });
    judge.fail_if(node.pep.window.0 < 4096, format!("node.{name}.pep.window"), || {
        "less than 4096B would not hold two packets; write more".into()
    });
    judge.fail_if(node.pep.connections == 0, format!("node.{name}.pep.connections"), || {
        "this is a proxy for nobody; write 1 or more, or no policy".into()
    });
}

fn check_routes(judge: &mut Judge, name: &str, node: &NodeSpec) {
    let own: Vec<Ipv4Net> = addresses(node).map(|(_, net)| net).collect();
    for (i, route) in node.route.iter().enumerate() {
        let key = format!("node.{name}.route.{i}");
        judge.fail_if(route.via.is_none() && route.interface.is_none(), &key, || {
            "a route needs `via` or `interface`".into()
        });
        if let Some(via) = route.via {
            judge.fail_if(!own.iter().any(|net| net.contains(&via)), format!("{key}.via"), || {
                format!("{via} is in none of this machine's networks; name a neighbour's address")
            });
        }
        if let Some(interface) = &route.interface {
            let bonds = judge.scenario.bond.iter().filter(|(_, b)| b.client == name || b.gateway == name);
            let all: Vec<&str> = node
                .interface
                .keys()
                .chain(node.bridge.keys())
                .map(String::as_str)
                .chain(bonds.map(|(n, _)| n.as_str()))
                .collect();
            judge.known(&format!("{key}.interface"), "interface", interface, all);
        }
    }
}

/// Interfaces and bridges with their addresses.
fn addresses(node: &NodeSpec) -> impl Iterator<Item = (String, Ipv4Net)> {
    let own = node.interface.iter().filter_map(|(n, i)| Some((format!("interface.{n}"), i.address?)));
    own.chain(node.bridge.iter().filter_map(|(n, b)| Some((format!("bridge.{n}"), b.address?))))
}

fn check_addresses(judge: &mut Judge) {
    let mut seen: BTreeMap<Ipv4Addr, String> = BTreeMap::new();
    for (name, node) in &judge.scenario.node {
        for (port, net) in addresses(node) {
            let key = format!("node.{name}.{port}");
            let edge = net.prefix_len() < 31 && [net.network(), net.broadcast()].contains(&net.addr());
            judge.fail_if(edge, format!("{key}.address"), || {
                format!("{net} is the network itself or its broadcast address; write a host of it")
            });
            if let Some(first) = seen.insert(net.addr(), key.clone()) {
                judge.fail(
                    format!("{key}.address"),
                    format!("{first} has {} already; write another", net.addr()),
                );
            }
        }
    }
    for (name, port) in address::lacking(judge.scenario) {
        let is_bridge = judge.scenario.node[&name].bridge.contains_key(&port);
        let kind = if is_bridge { "bridge" } else { "interface" };
        judge.fail(
            format!("node.{name}.{kind}.{port}.address"),
            "there is no address left for it; write one of a larger network, such as \"10.2.0.1/16\", at one of its machines",
        );
    }
}

fn check_bond(judge: &mut Judge, key: &str, bond: &Bond) {
    let nodes = judge.names.nodes.clone();
    let client = judge.known(&format!("{key}.client"), "node", &bond.client, nodes.iter().copied());
    let gateway = judge.known(&format!("{key}.gateway"), "node", &bond.gateway, nodes);
    judge.fail_if(bond.client == bond.gateway, format!("{key}.gateway"), || {
        "client and gateway are one machine; name two".into()
    });
    judge.fail_if(bond.paths.is_empty(), format!("{key}.paths"), || {
        "a bond needs paths, such as [\"wlan0\", \"wwan0\"]".into()
    });
    let mut seen = BTreeSet::new();
    for path in &bond.paths {
        let key = format!("{key}.paths");
        judge.fail_if(!seen.insert((&path.interface, &path.to)), &key, || {
            format!("`{}` is there twice", path.interface)
        });
        if client {
            let of = &judge.scenario.node[&bond.client].interface;
            judge.known(&key, "interface", &path.interface, of.keys().map(String::as_str));
        }
        if let (true, Some(to)) = (gateway, &path.to) {
            let of = &judge.scenario.node[&bond.gateway];
            judge.known(
                &key,
                "interface",
                to,
                of.interface.keys().chain(of.bridge.keys()).map(String::as_str),
            );
        }
        judge.fail_if(!(1..=1000).contains(&path.weight), &key, || "a weight is from 1 to 1000".into());
    }
    judge.fail_if(!(1280..=9000).contains(&bond.tun_mtu), format!("{key}.tun-mtu"), || {
        "an MTU is from 1280 to 9000 here".into()
    });
    judge.fail_if(bond.queue_packets.is_some_and(|n| n < 10), format!("{key}.queue-packets"), || {
        "a bond's queue holds at least 10 packets".into()
    });
    judge.fail_if(bond.queue.0 < 200_000, format!("{key}.queue"), || {
        "a bond's queue has at least 200kB".into()
    });
    check_airtime(judge, key, bond);
    if let Some(migrate) = &bond.migrate {
        check_migrate(judge, &format!("{key}.migrate"), bond, migrate);
    }
}

/// Nothing is told that nobody knows, or that no scheduler heeds.
fn check_airtime(judge: &mut Judge, key: &str, bond: &Bond) {
    if !bond.airtime {
        return;
    }
    let key = format!("{key}.airtime");
    let measures = judge.scenario.node.get(&bond.client).is_some_and(|n| n.roam.is_some());
    let given = judge.scenario.medium.model == MediumModel::WeightedFair;
    judge.fail_if(!given && !measures, &key, || {
        format!(
            "on 802.11 the client has to measure packet times; write `node.{}.roam = {{}}`, or set `medium.model = \"weighted-fair\"`",
            bond.client
        )
    });
    let heeds = matches!(bond.scheduler, Scheduler::EarliestArrival | Scheduler::RedundantLowLatency);
    judge.fail_if(!heeds, &key, || {
        format!(
            "the scheduler {} uses all paths whatever air they take; take this out",
            bond.scheduler.name()
        )
    });
}

fn check_migrate(judge: &mut Judge, key: &str, bond: &Bond, migrate: &Migrate) {
    judge.fail_if(migrate.channels.is_empty(), format!("{key}.channels"), || {
        "there is nowhere to go; name channels, such as [44, 149], or leave out `migrate`".into()
    });
    judge.fail_if(bond.paths.iter().filter(|p| !p.shared).count() != 1, key, || {
        "the radio that may leave its channel is the one path that is not shared; say shared = true of the others".into()
    });
    judge.fail_if(migrate.least.bps == 0, format!("{key}.least"), || {
        "no link carries less than nothing; write a rate".into()
    });
    judge.fail_if(migrate.window < Duration::from_millis(100), format!("{key}.window"), || {
        "a window is 100ms or longer".into()
    });
    let test = Duration::from_millis(1)..=Duration::from_secs(1);
    judge.fail_if(!test.contains(&migrate.test), format!("{key}.test"), || {
        "a channel is tried for 1ms to 1s".into()
    });
    judge.fail_if(migrate.beacons == 0, format!("{key}.beacons"), || {
        "one beacon at least announces a switch".into()
    });
}
