//! Bonding tunnels.

use super::{Action, BuildError, Built, air};
use crate::net::{Attach, NodeId, Prefix, Route, same_prefix};
use crate::packet::{FlowId, IfIndex};
use crate::seed;
use crate::tunnel::{self, BondSpec, MoverSpec, Outer};
use ropewalk_air::Time;
use ropewalk_air::wifi::phy::Channel;
use ropewalk_bond::backhaul::channel_search::{Search, Settings};
use ropewalk_bond::backhaul::limiter::{self, UnknownLimiter};
use ropewalk_bond::config::Config;
use ropewalk_bond::path::Class;
use ropewalk_bond::schedule::Kind;
use ropewalk_cc::Algorithm;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{self, Bond, BondPath, Migrate, Mode, PathClass};
use std::net::Ipv4Addr;
use std::time::Duration;

pub(super) fn add(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    for (i, (name, bond)) in scenario.bond.iter().enumerate() {
        let key = format!("bond.{name}");
        let spec = spec(built, scenario, name, bond, i as u64)?;
        let made = tunnel::add(&mut built.world, &spec).map_err(|e| BuildError::new(key, e))?;
        for (node, device) in [&bond.client, &bond.gateway].into_iter().zip(made.devices) {
            built.name_interface(node, name, device);
            let nat = scenario.node.get(node).is_some_and(|n| n.nat.contains(name));
            built.world.net.interfaces[device.index()].masquerade = nat;
        }
        for end in made.ends.iter().rev() {
            built.agenda.add(Time::ZERO, Action::Start(*end, FlowId::NONE));
        }
        built.bonds.push((name.clone(), made));
    }
    Ok(())
}

fn spec(
    built: &Built,
    scenario: &Scenario,
    name: &str,
    bond: &Bond,
    number: u64,
) -> Result<BondSpec, BuildError> {
    let key = format!("bond.{name}");
    let client = built.node(&format!("{key}.client"), &bond.client)?;
    let gateway = built.node(&format!("{key}.gateway"), &bond.gateway)?;
    let inside =
        bond.address.ok_or_else(|| BuildError::new(format!("{key}.address"), "it has no address"))?;
    let first = inside.hosts().next().unwrap_or(inside.addr());
    if first == inside.addr() {
        let sentence = format!("{first} is the gateway's, the first of the network; take another");
        return Err(BuildError::new(format!("{key}.address"), sentence));
    }
    let paths = bond.paths.iter().map(|p| path(built, &key, (bond, p), (client, gateway)));
    let paths: Vec<Outer> = paths.collect::<Result<_, _>>()?;
    let channel_switcher =
        bond.migrate.as_ref().map(|m| channel_switcher(built, scenario, &key, m, (gateway, &paths)));
    Ok(BondSpec {
        name: name.to_owned(),
        client,
        gateway,
        client_address: inside.addr(),
        gateway_address: first,
        prefix: inside.prefix_len(),
        paths,
        channel_switcher: channel_switcher.transpose()?,
        config: config(&key, bond)?,
        seed: seed::of(scenario.seed, "bonds", number),
    })
}

fn path(
    built: &Built,
    key: &str,
    (bond, path): (&Bond, &BondPath),
    (client, gateway): (NodeId, NodeId),
) -> Result<Outer, BuildError> {
    let key = format!("{key}.paths");
    let interface = built.interface(&key, &format!("{}:{}", bond.client, path.interface))?;
    let to = match &path.to {
        Some(name) => address(built, built.interface(&key, &format!("{}:{name}", bond.gateway))?),
        None => nearest(built, client, interface, gateway),
    };
    let lost = || {
        format!("no address of `{}` can be reached by `{}`; wire or route it", bond.gateway, path.interface)
    };
    let to = to.ok_or_else(|| BuildError::new(key, lost()))?;
    let class = match path.class {
        PathClass::Active => Class::Active,
        PathClass::Backup => Class::Backup,
    };
    Ok(Outer { interface, to, class, weight: path.weight, shared: path.shared })
}

fn address(built: &Built, interface: IfIndex) -> Option<Ipv4Addr> {
    built.world.net.interfaces[interface.index()].address.map(|a| a.0)
}

/// The gateway's address to which an interface of the client leads by the fewest routers.
fn nearest(built: &Built, client: NodeId, by: IfIndex, gateway: NodeId) -> Option<Ipv4Addr> {
    let net = &built.world.net;
    let all = net.nodes[gateway.index()].interfaces.iter().filter_map(|i| address(built, *i));
    let cost = |to: Ipv4Addr| {
        let routes = net.nodes[client.index()].routes.to(to);
        routes.filter(|r| r.out == by).map(|r| r.metric).min()
    };
    all.filter_map(|to| Some((cost(to)?, to))).min_by_key(|c| c.0).map(|c| c.1)
}

/// The gateway's radio under the path that is not shared.
fn channel_switcher(
    built: &Built,
    scenario: &Scenario,
    key: &str,
    migrate: &Migrate,
    (gateway, paths): (NodeId, &[Outer]),
) -> Result<MoverSpec, BuildError> {
    let key = format!("{key}.migrate");
    let net = &built.world.net;
    let dedicated = paths.iter().find(|p| !p.shared);
    let interface = dedicated.and_then(|p| net.interface_with(gateway, p.to));
    let attach = interface.map(|i| (i, net.interfaces[i.index()].attach));
    let Some((interface, Attach::Radio(iface))) = attach else {
        let sentence =
            "the path that is not shared ends at no radio of the gateway; only a radio has channels to leave";
        return Err(BuildError::new(key, sentence));
    };
    let name = &built.names[interface.index()];
    if air::mode(scenario, name) != Some(Mode::Ap) {
        let sentence = format!("`{name}` is no access point; only an access point announces another channel");
        return Err(BuildError::new(key, sentence));
    }
    let channel = |n: &u16| air::channel_under(scenario, &format!("{key}.channels"), name, *n);
    let channels: Vec<Channel> = migrate.channels.iter().map(channel).collect::<Result<_, _>>()?;
    let usual = Settings::default();
    let settings = Settings {
        candidates_mhz: channels.iter().map(Channel::primary_mhz).collect(),
        search: match migrate.search {
            file::Search::Adequate => Search::Adequate,
            file::Search::Best => Search::Best,
        },
        least_bps: migrate.least.bps as f64,
        window: migrate.window,
        test: migrate.test,
        rest: migrate.rest,
        // Beacons come every 102.4 ms; the rest of the usual patience is the station's way.
        patience: usual.patience + Duration::from_millis(103) * u32::from(migrate.beacons.saturating_sub(2)),
    };
    Ok(MoverSpec { interface, iface, channels, settings, beacons: migrate.beacons })
}

fn config(key: &str, bond: &Bond) -> Result<Config, BuildError> {
    let name = |e: &dyn std::fmt::Display| BuildError::new(key, e);
    Ok(Config {
        scheduler: bond.scheduler.name().parse::<Kind>().map_err(|e| name(&e))?,
        congestion: bond.congestion.name().parse::<Algorithm>().map_err(|e| name(&e))?,
        recovery: bond.recovery,
        ordered: bond.ordered,
        max_spread: bond.max_spread,
        tun_mtu: bond.tun_mtu,
        queue_bytes: bond.queue.0,
        queue_packets: bond.queue_packets,
        order_deadline: bond.order_deadline,
        limiter: limiter::Config {
            kind: bond.limiter.name().parse().map_err(|e: UnknownLimiter| name(&e))?,
            ..limiter::Config::default()
        },
        ..Config::default()
    })
}

/// What clients send into their tunnels: what the scenario says, or everything that is for the gateway or beyond it.
pub(super) fn route(built: &mut Built, scenario: &Scenario) {
    for (i, (_, bond)) in scenario.bond.iter().enumerate() {
        let (Some(client), Some(gateway)) = (built.nodes.get(&bond.client), built.nodes.get(&bond.gateway))
        else {
            continue;
        };
        let (client, gateway) = (*client, *gateway);
        let Some((_, made)) = built.bonds.get(i) else { continue };
        let out = made.devices[0];
        let prefixes: Vec<Prefix> = match &bond.route[..] {
            [] => beyond(built, client, gateway, made.devices),
            given => given.iter().map(|n| (n.addr(), n.prefix_len())).collect(),
        };
        for (prefix, len) in prefixes {
            let route = Route { prefix, len, out, via: None, metric: 0 };
            built.world.net.nodes[client.index()].routes.add(route);
        }
    }
}

/// Addresses of the gateway, and networks that are reached through it alone.
fn beyond(built: &Built, client: NodeId, gateway: NodeId, devices: [IfIndex; 2]) -> Vec<Prefix> {
    let net = &built.world.net;
    let without = net.reachable(client, gateway);
    let same = |a: Prefix, b: Prefix| a.1 == b.1 && same_prefix(a.0, b.0, a.1);
    let own: Vec<IfIndex> =
        net.nodes[gateway.index()].interfaces.iter().copied().filter(|i| !devices.contains(i)).collect();
    let mut all: Vec<Prefix> = own.iter().filter_map(|i| address(built, *i)).map(|a| (a, 32)).collect();
    let nobody = NodeId(u32::MAX);
    let behind = net.reachable(gateway, client).into_iter().chain(net.reachable(client, nobody));
    for prefix in behind {
        let known = |list: &[Prefix]| list.iter().any(|p| same(*p, prefix));
        if !known(&without) && !known(&all) {
            all.push(prefix);
        }
    }
    all
}
