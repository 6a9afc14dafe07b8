//! A flow with its sockets, before it begins.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ropewalk_air::Time;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Ecn, Flow, FlowKind};
use ropewalk_sim::app::{
    BulkReceiver, BulkSender, Orders, PacedSender, Player, Requester, Server, StreamApp, VideoFrames,
};
use ropewalk_sim::build::{FULL_PACKET, PING_PACKET, dscp, segments};
use ropewalk_sim::seed;

use super::clock::Clock;
use super::datagram::{self, DatagramPlan, Pace, Window};
use super::echo::{self, EchoPlan};
use super::hosts::Hosts;
use super::paths::{self, Home, Offer};
use super::record::Shared;
use super::socket::{self, StreamOptions};
use super::steering::Steering;
use super::stream::{self, Connection, ConnectionPlan, Span};
use crate::live::kernel::kernel_name;
use crate::live::transport::ecn;
use crate::{Namespace, Result};

/// A TCP segment's options in steady state, bytes: timestamps. Linux counts them into the MSS that is set.
const TCP_OPTIONS: u16 = 12;

/// What a flow's thread will do.
pub(crate) enum Plan {
    Streams(Vec<ConnectionPlan>, Vec<Apps>),
    Datagrams(Box<DatagramPlan>),
    Echo(EchoPlan),
}

/// The applications of a connection. They are made on the flow's thread, which both share.
#[derive(Clone, Debug)]
pub(crate) enum Apps {
    /// So many bytes; none: without end. And how fast the application writes, bits a second; none: as
    /// fast as the connection takes them.
    Bulk(Option<u64>, Option<u64>),
    /// Answers of so many bytes, with a pause between.
    Request(u64, Duration),
    /// Bit rates on offer, and the length of a segment.
    Adaptive(Vec<u64>, Duration),
}

impl Apps {
    /// The application at the end that sends data, and the other.
    fn make(self) -> [Box<dyn StreamApp>; 2] {
        let orders = Orders::default();
        let server = Box::new(Server::new(orders.clone()));
        match self {
            Apps::Bulk(bytes, bps) => {
                let sender: Box<dyn StreamApp> = match bps {
                    Some(bps) => Box::new(PacedSender::new(bps, bytes)),
                    None => Box::new(BulkSender::new(bytes)),
                };
                [sender, Box::new(BulkReceiver::new(bytes))]
            }
            Apps::Request(bytes, pause) => [server, Box::new(Requester::new(orders, bytes, pause))],
            Apps::Adaptive(qualities, segment) => [server, Box::new(Player::new(orders, qualities, segment))],
        }
    }
}

impl Plan {
    /// Carries the flow until `quit`.
    pub(super) fn run(self, clock: Clock, span: Span, quit: &AtomicBool, shared: &Shared) {
        match self {
            Plan::Streams(plans, apps) => {
                let connect = |(plan, apps): (ConnectionPlan, Apps)| {
                    let [data, other] = apps.make();
                    let ends = if plan.data_opens { [data, other] } else { [other, data] };
                    Connection::new(plan, ends)
                };
                let mut all: Vec<Connection> = plans.into_iter().zip(apps).map(connect).collect();
                stream::run(&mut all, clock, span, quit, shared);
            }
            Plan::Datagrams(plan) => datagram::run(*plan, clock, span, quit, shared),
            Plan::Echo(plan) => echo::run(&plan, clock, span, quit, shared),
        }
    }
}

/// Both ends of a flow: namespaces and addresses.
struct Ends {
    from: Namespace,
    to: Namespace,
    from_address: Ipv4Addr,
    to_address: Ipv4Addr,
    /// The routes of `from` lead to `to`.
    reaches: bool,
}

/// The address of a bond's device, if that is what an end names: the client has the bond's own, the gateway the first of its network.
fn tunnel_address(scenario: &Scenario, end: &str) -> Option<Ipv4Addr> {
    let (node, device) = end.split_once(':')?;
    let bond = scenario.bond.get(device)?;
    let net = bond.address?;
    match (node == bond.client, node == bond.gateway) {
        (true, _) => Some(net.addr()),
        (_, true) => net.hosts().next(),
        _ => None,
    }
}

fn ends(scenario: &Scenario, flow: &Flow, hosts: &impl Hosts) -> Result<Ends> {
    let node = |end: &str| end.split(':').next().unwrap_or(end).to_owned();
    let [from_node, to_node] = [node(&flow.from), node(&flow.to)];
    let (from, to) = (hosts.namespace(&from_node)?, hosts.namespace(&to_node)?);
    let tunnels = [&flow.from, &flow.to].map(|end| tunnel_address(scenario, end));
    let plain =
        |end: &str, tunnel: Option<Ipv4Addr>| if tunnel.is_some() { node(end) } else { end.to_owned() };
    let called = hosts.addresses(&plain(&flow.from, tunnels[0]), &plain(&flow.to, tunnels[1]))?;
    let to_address = tunnels[1].unwrap_or(called[1]);
    let mut from_address = tunnels[0].unwrap_or(called[0]);
    // A bond brings routes of its own, of which the kernel knows.
    if !scenario.bond.is_empty() && tunnels[0].is_none() && !flow.from.contains(':') {
        from_address = socket::source_towards(&from, to_address)?.unwrap_or(from_address);
    }
    let reaches = tunnels[1].is_some() || hosts.reaches(&from_node, to_address);
    Ok(Ends { from, to, from_address, to_address, reaches })
}

/// A flow's plan, and for MPTCP what tells its subflows apart.
pub(crate) struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Interfaces with subflows.
    pub homes: Vec<Home>,
}

impl Planned {
    fn plain(plan: Plan) -> Planned {
        Planned { plan, homes: Vec::new() }
    }
}

/// Opens the sockets of a flow.
pub(crate) fn plan(scenario: &Scenario, index: usize, hosts: &impl Hosts) -> Result<Planned> {
    let flow = &scenario.flow[index];
    let ends = ends(scenario, flow, hosts)?;
    let seed = seed::of(scenario.seed, "flow", index as u64);
    let streams = |apps: Vec<Apps>| Ok(Planned::plain(streams((scenario, flow), &ends, apps)?));
    match flow.kind {
        FlowKind::Tcp => {
            let streams_wanted = u64::from(flow.streams.unwrap_or(1));
            let share = |i: u64| {
                let total = flow.bytes?.0;
                Some(total / streams_wanted + u64::from(i < total % streams_wanted))
            };
            let bps = flow.rate.map(|r| r.bps / streams_wanted);
            streams((0..streams_wanted).map(|i| Apps::Bulk(share(i), bps)).collect())
        }
        FlowKind::Request => streams(vec![Apps::Request(
            flow.bytes.map_or(1, |b| b.0),
            flow.interval.unwrap_or(Duration::ZERO),
        )]),
        FlowKind::Adaptive => {
            let (segment, qualities) = segments(flow);
            streams(vec![Apps::Adaptive(qualities, segment)])
        }
        FlowKind::Mptcp => mptcp(scenario, flow, hosts),
        FlowKind::Udp | FlowKind::Video => {
            Ok(Planned::plain(Plan::Datagrams(Box::new(datagrams(flow, &ends, seed)?))))
        }
        FlowKind::Ping => {
            let len = flow.packet.map_or(PING_PACKET, |p| p.0 as u32);
            let every = flow.interval.unwrap_or(Duration::from_secs(1));
            let socket = socket::echo(
                &ends.from,
                flow.from.contains(':').then_some(ends.from_address),
                dscp(flow.category),
            )?;
            Ok(Planned::plain(Plan::Echo(EchoPlan { socket, to: ends.to_address, len, every })))
        }
    }
}

/// How the sockets of a connection are set that `from` opens, or `to`.
fn options(scenario: &Scenario, flow: &Flow, from_opens: bool) -> StreamOptions {
    let own = scenario.transport(flow);
    let opener = if from_opens { &flow.from } else { &flow.to };
    let opener = opener.split(':').next().unwrap_or(opener);
    let by_itself = scenario.ecn_of(opener);
    let during = match (scenario.asks_for_ecn(flow, opener), by_itself) {
        (true, _) => Ecn::Ask,
        (false, Ecn::Ask) => Ecn::Answer,
        (false, other) => other,
    };
    StreamOptions {
        mptcp: flow.kind == FlowKind::Mptcp,
        // What has no name in the kernel was refused before.
        congestion: kernel_name(own.congestion).unwrap_or("cubic"),
        window: own.receive_buffer.map(|b| b.0 as usize),
        send_buffer: own.send_buffer.map(|b| b.0 as usize),
        mss: flow.mss.map(|m| m.saturating_add(TCP_OPTIONS)),
        ecn: (during != by_itself).then(|| [during, by_itself].map(ecn)),
        dscp: dscp(flow.category),
    }
}

/// One connection for each pair of applications.
fn streams((scenario, flow): (&Scenario, &Flow), ends: &Ends, apps: Vec<Apps>) -> Result<Plan> {
    let bulk = flow.kind == FlowKind::Tcp;
    // Who asks opens; of a bulk flow the end that sends, unless it cannot reach the other: who cannot be reached calls.
    let from_opens = bulk && ends.reaches;
    let plans = apps.iter().map(|_| connection((scenario, flow), ends, from_opens)).collect::<Result<_>>()?;
    Ok(Plan::Streams(plans, apps))
}

fn connection((scenario, flow): (&Scenario, &Flow), ends: &Ends, from_opens: bool) -> Result<ConnectionPlan> {
    let options = options(scenario, flow, from_opens);
    let Ends { from, to, from_address, to_address, .. } = ends;
    let (opens, at, waits, there) = match from_opens {
        true => (from, *from_address, to, *to_address),
        false => (to, *to_address, from, *from_address),
    };
    let (listener, port) = socket::listen(waits, there, &options, from_opens)?;
    let opener = socket::opener(opens, at, &options, !from_opens)?;
    Ok(ConnectionPlan {
        namespace: opens.clone(),
        opener,
        listener,
        to: SocketAddrV4::new(there, port),
        data_opens: from_opens,
        options,
        steering: None,
    })
}

/// An MPTCP flow's ends and what tells its subflows apart. The machine with several interfaces opens the connection if it can, and its path
/// manager the further subflows; if not, it tells the other end of its addresses.
struct Multi {
    ends: Ends,
    /// That machine is `from`.
    at_from: bool,
    homes: Vec<Home>,
    home_opens: bool,
}

impl Multi {
    fn of(scenario: &Scenario, flow: &Flow, hosts: &impl Hosts) -> Result<Multi> {
        let mut ends = ends(scenario, flow, hosts)?;
        let (at_from, homes) = paths::homes(scenario, flow);
        let to_node = flow.to.split(':').next().unwrap_or(&flow.to);
        let home_opens = if at_from { ends.reaches } else { hosts.reaches(to_node, ends.from_address) };
        let first = homes.first().map(|h| h.1);
        match at_from {
            true => ends.from_address = first.unwrap_or(ends.from_address),
            false => ends.to_address = first.unwrap_or(ends.to_address),
        }
        Ok(Multi { ends, at_from, homes, home_opens })
    }
}

/// What path managers are to be told of a flow: before its sockets are there, because the kernel looks once, when it makes one, whether there are
/// subflows to open.
pub(crate) fn offer(scenario: &Scenario, flow: &Flow, hosts: &impl Hosts) -> Result<Option<Offer>> {
    if flow.kind != FlowKind::Mptcp {
        return Ok(None);
    }
    let Multi { ends, at_from, homes, home_opens } = Multi::of(scenario, flow, hosts)?;
    let node = |end: &str| end.split(':').next().unwrap_or(end).to_owned();
    let (from, to) = ((node(&flow.from), ends.from), (node(&flow.to), ends.to));
    let (home, other) = if at_from { (from, to) } else { (to, from) };
    let endpoints = homes.iter().map(|(name, address)| (*address, hosts.device(name))).collect();
    Ok(Some(Offer { home, other, endpoints, home_opens }))
}

/// One connection, of which path managers make several subflows.
fn mptcp(scenario: &Scenario, flow: &Flow, hosts: &impl Hosts) -> Result<Planned> {
    let Multi { ends, at_from, homes, home_opens } = Multi::of(scenario, flow, hosts)?;
    let connection = ConnectionPlan {
        steering: Steering::of(scenario, flow, &homes, hosts)?,
        ..connection((scenario, flow), &ends, at_from == home_opens)?
    };
    let plan = Plan::Streams(vec![connection], vec![Apps::Bulk(flow.bytes.map(|b| b.0), None)]);
    Ok(Planned { plan, homes })
}

fn datagrams(flow: &Flow, ends: &Ends, seed: u64) -> Result<DatagramPlan> {
    let len =
        flow.packet.map_or(FULL_PACKET, |p| p.0 as u32).max(datagram::HEADERS + super::content::MARK as u32);
    let dscp = dscp(flow.category);
    let (sink, port) = socket::datagram(&ends.to, ends.to_address, dscp)?;
    let (source, called) = socket::datagram(&ends.from, ends.from_address, dscp)?;
    let video = flow.kind == FlowKind::Video;
    let (len, pace) = match flow.rate.map(|r| r.bps.max(1)) {
        _ if video => {
            let frames = VideoFrames::new(flow.rate.map_or(1, |r| r.bps), len, seed, Time::ZERO + flow.start);
            (frames.packet_len(), Pace::Video(Box::new(frames)))
        }
        Some(bps) => (len, Pace::Constant(Duration::from_nanos(u64::from(len) * 8_000_000_000 / bps))),
        None => (len, Pace::Saturating(Window::default())),
    };
    let limit = flow.bytes.map(|b| b.0.div_ceil(u64::from(len - datagram::HEADERS)));
    let to = ends.reaches.then(|| SocketAddrV4::new(ends.to_address, port));
    let calls = SocketAddrV4::new(ends.from_address, called);
    Ok(DatagramPlan { source, sink, to, calls, len, pace, limit })
}
