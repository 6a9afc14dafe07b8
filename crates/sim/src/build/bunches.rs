//! Bunches of uplinks.

use super::{Action, BuildError, Built};
use crate::bunch::{ApHost, Bunch, GatewayHost, Spec, link};
use crate::measure::BunchCounts;
use crate::net::NodeId;
use crate::packet::FlowId;
use crate::seed;
use crate::world::EndpointId;
use ropewalk_air::Time;
use ropewalk_bunch::{ap, gateway};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{self, BunchRelease, BunchScheduling, BunchVariant};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;

pub(super) fn add(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    for (i, (name, spec)) in scenario.bunch.iter().enumerate() {
        let seed = seed::of(scenario.seed, "bunch", i as u64);
        let made = one(built, name, spec, seed)?;
        for (n, (_, endpoint, _)) in made.points.iter().enumerate() {
            built.agenda.add(Time::ZERO, Action::Start(*endpoint, FlowId::NONE));
            if let Some(every) = spec.churn.filter(|_| n > 0) {
                come_and_go(built, *endpoint, every, n, scenario.duration);
            }
        }
        built.bunches.push(made);
    }
    Ok(())
}

/// Neighbours with an odd number are switched off first, those with an even one a spell later.
fn come_and_go(
    built: &mut Built,
    e: EndpointId,
    every: std::time::Duration,
    n: usize,
    end: std::time::Duration,
) {
    let (mut at, mut down) = (if n % 2 == 1 { every } else { every * 2 }, true);
    while at < end {
        let action = if down { Action::Stop(e) } else { Action::Start(e, FlowId::NONE) };
        built.agenda.add(Time::ZERO + at, action);
        (at, down) = (at + every, !down);
    }
}

fn addresses(built: &Built, node: NodeId) -> Vec<Ipv4Addr> {
    let net = &built.world.net;
    let all = net.nodes[node.index()].interfaces.iter();
    all.filter_map(|i| net.interfaces[i.index()].address).map(|a| a.0).collect()
}

fn one(built: &mut Built, name: &str, spec: &file::Bunch, seed: u64) -> Result<Bunch, BuildError> {
    let key = format!("bunch.{name}");
    let receiver = built.node(&format!("{key}.receiver"), &spec.receiver)?;
    let gateway = built.node(&format!("{key}.gateway"), &spec.gateway)?;
    let serve: Vec<(Ipv4Addr, Option<u16>)> =
        addresses(built, receiver).into_iter().map(|a| (a, None)).collect();
    let names = || [&spec.home].into_iter().chain(&spec.neighbours);
    let nodes: Vec<NodeId> =
        names().map(|n| built.node(&format!("{key}.neighbours"), n)).collect::<Result<_, _>>()?;
    let pipes = link::Shared::default();
    let counts: Vec<_> = (0..=nodes.len()).map(|_| Rc::new(RefCell::new(BunchCounts::default()))).collect();
    let who = nodes.iter().enumerate().flat_map(|(i, n)| {
        addresses(built, *n).into_iter().map(|a| (a, (i as u64, counts[i + 1].clone()))).collect::<Vec<_>>()
    });
    let who: BTreeMap<_, _> = who.collect();
    let config = gateway_config(spec, &serve, seed);
    let host = GatewayHost::new(
        config,
        pipes.clone(),
        counts[0].clone(),
        who,
        spec.send_buffer.0,
        seed::of(seed, "gateway", 0),
    );
    let port = built.world.next_endpoint().port();
    let endpoint = built.world.add_endpoint(gateway, FlowId::NONE, Box::new(host))?;
    built.world.net.nodes[gateway.index()].transit = Some(endpoint.0 as usize);
    let first = built.world.next_endpoint().0 as usize;
    let mut points = Vec::new();
    for (i, (node, name)) in nodes.iter().zip(names()).enumerate() {
        let there =
            addresses(built, gateway).into_iter().find(|a| built.world.net.route(*node, *a, None).is_some());
        let there = there.ok_or_else(|| {
            BuildError::new(
                format!("{key}.gateway"),
                format!("`{name}` has no way to `{}`; wire or route it", spec.gateway),
            )
        })?;
        let point = Spec {
            config: ap_config(spec, &serve),
            gateway: SocketAddrV4::new(there, port),
            is_home: i == 0,
            send_buffer: spec.send_buffer.0,
            neighbours: if i == 0 { (first + 1..first + nodes.len()).collect() } else { Vec::new() },
            monitor_loss: spec.monitor_loss.0,
            seed: seed::of(seed, "ap", i as u64),
        };
        let host = ApHost::new(point, pipes.clone(), counts[i + 1].clone());
        let endpoint = built.world.add_endpoint(*node, FlowId::NONE, Box::new(host))?;
        if i == 0 {
            built.world.net.nodes[node.index()].transit = Some(endpoint.0 as usize);
        }
        points.push((name.clone(), endpoint, counts[i + 1].clone()));
    }
    Ok(Bunch { name: name.to_owned(), gateway: (spec.gateway.clone(), counts[0].clone()), points })
}

fn gateway_config(spec: &file::Bunch, serve: &[(Ipv4Addr, Option<u16>)], seed: u64) -> gateway::Config {
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&seed::of(seed, "secret", 0).to_be_bytes());
    gateway::Config {
        variant: match spec.variant {
            BunchVariant::Plain => gateway::Variant::Plain,
            BunchVariant::SimpleBuffer => gateway::Variant::SimpleBuffer,
            BunchVariant::ProactiveAck => gateway::Variant::ProactiveAck { custody: spec.custody },
        },
        scheduling: match spec.scheduling {
            BunchScheduling::FirstCome => gateway::Scheduling::FirstCome,
            BunchScheduling::ExpectedDelivery => gateway::Scheduling::ExpectedDelivery,
        },
        broadcast: spec.release == BunchRelease::Scheduled,
        grace: spec.grace,
        ..gateway::Config::new(serve.to_vec(), secret)
    }
}

fn ap_config(spec: &file::Bunch, serve: &[(Ipv4Addr, Option<u16>)]) -> ap::Config {
    ap::Config {
        memory_bytes: spec.memory.0 as usize,
        report_every: spec.report_interval,
        custody: match spec.release {
            BunchRelease::Acknowledged => ap::Custody::UntilAcknowledged,
            BunchRelease::Scheduled => ap::Custody::UntilScheduled,
        },
        share: spec.share,
        ..ap::Config::new(0, serve.to_vec())
    }
}
