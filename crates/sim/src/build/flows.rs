//! Traffic.

use super::{Action, BuildError, Built, steering};
use crate::app::{
    BulkReceiver, BulkSender, Caller, Orders, Pace, PacedSender, Ping, Player, Requester, Roaming, Server,
    Spells, Steering, StreamApp, StreamConfig, SubflowCounts, TcpHost, UNCALLED, UdpSink, UdpSource,
    VideoSink, VideoSource,
};
use crate::mptcp::{MptcpConfig, SchedulerKind};
use crate::net::{Attach, NodeId, Room};
use crate::packet::{FlowId, UDP_HEADERS};
use crate::seed;
use crate::tcp::{AckHold, AckPolicy, Algorithm, ReceiveBuffer, SlowStart, TcpConfig};
use crate::world::EndpointId;
use ropewalk_air::Time;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{
    AccessCategory, Ecn, Flow, FlowKind, FlowSpells, MptcpScheduler, SpellLengths, TcpControl, TcpSlowStart,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// Datagrams that a saturating source keeps at its interface: three times what an A-MPDU takes.
const SATURATED: u32 = 192;
/// IP length of packets, bytes, where the scenario says none.
pub const FULL_PACKET: u32 = 1500;
/// The same of echo requests.
pub const PING_PACKET: u32 = 84;
/// A TCP segment's options in steady state, bytes: timestamps.
const TCP_OPTIONS: u16 = 12;
/// Seconds of video in a segment, and the qualities on offer, bits per second, where a scenario says none (MF-32).
const SEGMENT: Duration = Duration::from_secs(30);
/// See [`SEGMENT`].
const QUALITIES: [u64; 4] = [5_000_000, 10_000_000, 15_000_000, 20_000_000];

/// A flow in a world.
#[derive(Clone, Debug)]
pub struct BuiltFlow {
    /// Its record.
    pub id: FlowId,
    /// Endpoints that send data or ask for it, to be started.
    pub starts: Vec<EndpointId>,
    /// MPTCP: the end that sends the data.
    pub sender: Option<EndpointId>,
    /// MPTCP: the machine whose interfaces tell subflows apart.
    pub homed: Option<NodeId>,
}

impl BuiltFlow {
    /// The interface, `node:interface`, by which a subflow is told from its siblings.
    pub fn interface_of(&self, built: &Built, subflow: &SubflowCounts) -> String {
        let of = |address: Ipv4Addr| {
            let all = built.world.net.interfaces.iter().enumerate();
            let mut mine =
                all.filter(|(_, i)| Some(i.node) == self.homed && i.address.is_some_and(|a| a.0 == address));
            mine.next().and_then(|(k, _)| built.names.get(k).cloned())
        };
        let (local, remote) = (*subflow.local.ip(), *subflow.remote.ip());
        // Behind an address translation the far end knows another address: that is told then.
        of(local).or_else(|| of(remote)).unwrap_or_else(|| remote.to_string())
    }
}

/// Both ends of a flow.
#[derive(Clone, Copy, Debug)]
struct Ends {
    flow: FlowId,
    from: NodeId,
    to: NodeId,
    from_address: Ipv4Addr,
    to_address: Ipv4Addr,
    dscp: u8,
    seed: u64,
}

pub(super) fn add(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    for (i, flow) in scenario.flow.iter().enumerate() {
        let ends = ends(built, flow, seed::of(scenario.seed, "flow", i as u64))?;
        let plain = |starts| BuiltFlow { id: ends.flow, starts, sender: None, homed: None };
        let made = match flow.kind {
            FlowKind::Tcp => plain(tcp(built, scenario, flow, ends)?),
            FlowKind::Mptcp => mptcp(built, scenario, flow, ends)?,
            FlowKind::Udp => plain(udp(built, flow, ends)?),
            FlowKind::Ping => plain(ping(built, flow, ends)?),
            FlowKind::Request => plain(request(built, scenario, flow, ends)?),
            FlowKind::Video => plain(video(built, flow, ends)?),
            FlowKind::Adaptive => adaptive(built, scenario, flow, ends)?,
        };
        built.flows.push(made);
        start(built, flow, i);
    }
    Ok(())
}

/// Puts the start and the stop of a flow on the agenda.
fn start(built: &mut Built, flow: &Flow, index: usize) {
    let BuiltFlow { id, starts, .. } = built.flows[index].clone();
    for e in starts {
        built.agenda.add(Time::ZERO + flow.start, Action::Start(e, id));
        if let Some(stop) = flow.stop {
            built.agenda.add(Time::ZERO + stop, Action::Stop(e));
        }
    }
}

/// The code point that asks for a category (RFC 8325 §4.3): CS1, default, AF41, EF's neighbour VA.
pub fn dscp(category: AccessCategory) -> u8 {
    match category {
        AccessCategory::Background => 8,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 34,
        AccessCategory::Voice => 46,
    }
}

fn ends(built: &mut Built, flow: &Flow, seed: u64) -> Result<Ends, BuildError> {
    let [(from, from_address), (to, to_address)] =
        addresses(built, &format!("flow.{}", flow.name), &flow.from, &flow.to)?;
    let dscp = dscp(flow.category);
    let flow = built.world.add_flow();
    Ok(Ends { flow, from, to, from_address, to_address, dscp, seed })
}

/// Both ends of a flow, each with its address.
pub(super) fn addresses(
    built: &Built,
    key: &str,
    from: &str,
    to: &str,
) -> Result<[(NodeId, Ipv4Addr); 2], BuildError> {
    let end = |below: &str, text: &str| {
        let key = format!("{key}.{below}");
        let (node, interface) = text.split_once(':').map_or((text, None), |(n, _)| (n, Some(text)));
        let named = interface.map(|i| built.interface(&key, i)).transpose()?;
        let address = named.and_then(|i| built.world.net.interfaces[i.index()].address).map(|a| a.0);
        Ok::<_, BuildError>((built.node(&key, node)?, address))
    };
    let (from, from_named) = end("from", from)?;
    let (to, to_named) = end("to", to)?;
    let net = &built.world.net;
    let first = |node: NodeId| {
        let all = net.nodes[node.index()].interfaces.iter();
        all.filter_map(|i| net.interfaces[i.index()].address).map(|a| a.0).next()
    };
    // Each is called by the address of the interface that leads to the other.
    let by_way = |node: NodeId, other: Option<Ipv4Addr>| {
        let way = other.map(|o| net.source_towards(node, o)).filter(|a| *a != Ipv4Addr::UNSPECIFIED);
        way.or_else(|| first(node)).unwrap_or(Ipv4Addr::UNSPECIFIED)
    };
    let to_address = to_named.unwrap_or_else(|| by_way(to, from_named.or_else(|| first(from))));
    let from_address = from_named.unwrap_or_else(|| by_way(from, Some(to_address)));
    Ok([(from, from_address), (to, to_address)])
}

/// Whether something leads from a flow's sender to its receiver; if not, because addresses are translated on the way, the receiver has to call.
fn reaches(built: &Built, ends: Ends) -> bool {
    built.world.net.route(ends.from, ends.to_address, None).is_some()
}

fn udp(built: &mut Built, flow: &Flow, ends: Ends) -> Result<Vec<EndpointId>, BuildError> {
    let len = flow.packet.map_or(FULL_PACKET, |p| p.0 as u32);
    let pace = match flow.rate {
        Some(rate) => Pace::Constant(Duration::from_nanos(u64::from(len) * 8_000_000_000 / rate.bps.max(1))),
        None => saturating(built, flow, ends)?,
    };
    let called = !reaches(built, ends);
    let port = EndpointId(built.world.next_endpoint().0 + 1).port();
    let caller = if called { Caller::of((ends.from_address, port)) } else { Caller::default() };
    let sink = UdpSink::new(ends.flow).calls(caller);
    let sink = built.world.add_endpoint(ends.to, ends.flow, Box::new(sink))?;
    let to = if called { UNCALLED } else { (ends.to_address, sink.port()) };
    let limit = flow.bytes.map(|b| b.0.div_ceil(u64::from(len - UDP_HEADERS)));
    let source = UdpSource::new(ends.flow, to, len, pace, ends.dscp, ends.seed)
        .from(ends.from_address)
        .limit(limit)
        .spells(spells(flow, ends.seed));
    let source = built.world.add_endpoint(ends.from, ends.flow, Box::new(source))?;
    built.world.net.tell_when_left(source.0 as usize);
    Ok(if called { vec![source, sink] } else { vec![source] })
}

/// When a source sends and when it is silent.
fn spells(flow: &Flow, seed: u64) -> Option<Spells> {
    let &FlowSpells { on, off, lengths } = flow.spells.as_ref()?;
    Some(match lengths {
        SpellLengths::Exponential => Spells::exponential(on, off, seed::of(seed, "spells", 0)),
        SpellLengths::Fixed => Spells::fixed(on, off),
    })
}

fn saturating(built: &Built, flow: &Flow, ends: Ends) -> Result<Pace, BuildError> {
    let net = &built.world.net;
    let out = net.route(ends.from, ends.to_address, None).map(|r| r.0);
    match out.map(|o| net.room_at(o)) {
        Some(Room::None) => {
            let key = format!("flow.{}.rate", flow.name);
            Err(BuildError::new(key, "what it leaves by has no queue that could be kept full; give a rate"))
        }
        Some(Room::Radio { packets }) => Ok(Pace::Saturating(SATURATED.min(packets))),
        _ => Ok(Pace::Saturating(SATURATED)),
    }
}

fn ping(built: &mut Built, flow: &Flow, ends: Ends) -> Result<Vec<EndpointId>, BuildError> {
    let len = flow.packet.map_or(PING_PACKET, |p| p.0 as u32);
    let every = flow.interval.unwrap_or(Duration::from_secs(1));
    let ping = Ping::new(ends.flow, ends.to_address, len, every, ends.dscp);
    let ping = if flow.from.contains(':') { ping.from(ends.from_address) } else { ping };
    Ok(vec![built.world.add_endpoint(ends.from, ends.flow, Box::new(ping))?])
}

fn video(built: &mut Built, flow: &Flow, ends: Ends) -> Result<Vec<EndpointId>, BuildError> {
    let len = flow.packet.map_or(FULL_PACKET, |p| p.0 as u32);
    let rate = flow.rate.map_or(1, |r| r.bps);
    let called = !reaches(built, ends);
    let port = EndpointId(built.world.next_endpoint().0 + 1).port();
    let to = if called { UNCALLED } else { (ends.to_address, port) };
    let source = VideoSource::new(ends.flow, to, rate, len, ends.dscp, ends.seed);
    let begun = source.frame_count();
    let source = built.world.add_endpoint(ends.from, ends.flow, Box::new(source))?;
    let caller = if called { Caller::of((ends.from_address, source.port())) } else { Caller::default() };
    let sink = VideoSink::new(ends.flow, begun).calls(caller);
    let sink = built.world.add_endpoint(ends.to, ends.flow, Box::new(sink))?;
    Ok(if called { vec![source, sink] } else { vec![source] })
}

fn algorithm(control: TcpControl) -> Algorithm {
    match control {
        TcpControl::Cubic => Algorithm::Cubic,
        TcpControl::NewReno => Algorithm::NewReno,
        TcpControl::HighSpeed => Algorithm::HighSpeed,
        TcpControl::Lia => Algorithm::Lia,
        TcpControl::Olia => Algorithm::Olia,
        TcpControl::Balia => Algorithm::Balia,
        TcpControl::Tidal => Algorithm::Tidal,
    }
}

fn tcp_only(scenario: &Scenario, flow: &Flow, from_opens: bool) -> How {
    How::of(StreamConfig::Tcp(tcp_config(scenario, flow, from_opens)))
}

/// The machine of a flow's end.
fn machine(end: &str) -> &str {
    end.split(':').next().unwrap_or(end)
}

/// The machines that open a flow's connections and wait for them.
fn opener_and_waiter(flow: &Flow, from_opens: bool) -> (&str, &str) {
    let (from, to) = (machine(&flow.from), machine(&flow.to));
    if from_opens { (from, to) } else { (to, from) }
}

/// Of both ends: what one end sends the other does not, so one's congestion control and send buffer and the other's receive buffer do for both.
fn tcp_config(scenario: &Scenario, flow: &Flow, from_opens: bool) -> TcpConfig {
    let default = TcpConfig::default();
    let own = scenario.transport(flow);
    let (opener, waiter) = opener_and_waiter(flow, from_opens);
    TcpConfig {
        mss: flow.mss.map_or(default.mss, |m| m.saturating_add(TCP_OPTIONS)),
        congestion_control: algorithm(own.congestion),
        receive_buffer: own.receive_buffer.map_or(default.receive_buffer, |b| ReceiveBuffer::Fixed(b.0)),
        send_buffer_bytes: own.send_buffer.map_or(default.send_buffer_bytes, |b| b.0),
        ecn: scenario.asks_for_ecn(flow, opener) && scenario.ecn_of(waiter) != Ecn::Off,
        slow_start: flow.slow_start.map(|rule| match rule {
            TcpSlowStart::HyStart => SlowStart::HyStart,
            TcpSlowStart::Standard => SlowStart::Standard,
        }),
        ack: AckPolicy { hold: ack_hold(scenario, flow), ..default.ack },
        ..default
    }
}

/// Each connection of a flow has the same spells: there is one receiver.
fn ack_hold(scenario: &Scenario, flow: &Flow) -> Option<AckHold> {
    let place = scenario.flow.iter().position(|f| f.name == flow.name).unwrap_or_default();
    flow.ack_hold.as_ref().map(|hold| AckHold {
        clear: hold.clear,
        held: hold.held,
        segments: hold.segments,
        seed: seed::of(scenario.seed, "ack-hold", place as u64),
    })
}

/// The subflows that an MPTCP connection opens: one for each pair of addresses (the opener's, the other's) that reach each other. And the end that
/// has more addresses.
fn subflows(
    built: &Built,
    scenario: &Scenario,
    flow: &Flow,
    ends: Ends,
    from_opens: bool,
) -> Result<(Vec<(Ipv4Addr, Ipv4Addr)>, NodeId), BuildError> {
    let named = |node: NodeId| -> Result<Vec<Ipv4Addr>, BuildError> {
        let key = format!("flow.{}.paths", flow.name);
        let all = flow.paths.iter().map(|p| built.interface(&key, p));
        let all: Vec<_> = all.collect::<Result<_, _>>()?;
        let mine = all.into_iter().map(|i| &built.world.net.interfaces[i.index()]).filter(|i| i.node == node);
        Ok(mine.filter_map(|i| i.address).map(|a| a.0).collect())
    };
    let addresses = |node: NodeId| -> Vec<Ipv4Addr> {
        let net = &built.world.net;
        let all = net.nodes[node.index()].interfaces.iter().map(|i| &net.interfaces[i.index()]);
        let endpoints =
            scenario.node.get(&net.nodes[node.index()].name).map_or(&[][..], |n| &n.mptcp.endpoints);
        let real = all.filter(|i| !matches!(i.attach, Attach::Tunnel(_)));
        let real = real.filter(|i| endpoints.is_empty() || endpoints.contains(&i.name));
        real.filter_map(|i| i.address).map(|a| a.0).collect()
    };
    let (mut at_from, mut at_to) = (named(ends.from)?, named(ends.to)?);
    if flow.paths.is_empty() {
        (at_from, at_to) = (addresses(ends.from), addresses(ends.to));
        // The machine with fewer interfaces is known by one address.
        if at_from.len() > at_to.len() { at_to.clear() } else { at_from.clear() }
    }
    let homed = if at_from.len() > at_to.len() { ends.from } else { ends.to };
    at_from = if at_from.is_empty() { vec![ends.from_address] } else { at_from };
    at_to = if at_to.is_empty() { vec![ends.to_address] } else { at_to };
    let (opener, opening, waiting) =
        if from_opens { (ends.from, at_from, at_to) } else { (ends.to, at_to, at_from) };
    let net = &built.world.net;
    let reaches = |(local, remote): &(Ipv4Addr, Ipv4Addr)| net.leads_by(opener, *local, *remote);
    let all = opening.iter().flat_map(|l| waiting.iter().map(move |r| (*l, *r)));
    let pairs: Vec<(Ipv4Addr, Ipv4Addr)> = all.filter(reaches).collect();
    if pairs.is_empty() {
        let sentence = "none of the interfaces of one machine leads to the other";
        return Err(BuildError::new(format!("flow.{}.paths", flow.name), sentence));
    }
    Ok((pairs, homed))
}

/// All but `linux` are rules for the MPTCP of the papers, with what it does about a full window.
fn mptcp_config(tcp: TcpConfig, scheduler: Option<MptcpScheduler>) -> MptcpConfig {
    let papers = |scheduler, tcp| MptcpConfig { tcp, scheduler, ..MptcpConfig::default() };
    match scheduler {
        Some(MptcpScheduler::Linux) => MptcpConfig::linux(tcp),
        Some(MptcpScheduler::RoundRobin) => papers(SchedulerKind::RoundRobin, tcp),
        Some(MptcpScheduler::Blest) => papers(SchedulerKind::Blest, tcp),
        Some(MptcpScheduler::Ecf) => papers(SchedulerKind::Ecf, tcp),
        Some(MptcpScheduler::MinRtt) | None => papers(SchedulerKind::MinRtt, tcp),
    }
}

/// An MPTCP connection between two applications.
fn multipath(
    built: &mut Built,
    scenario: &Scenario,
    flow: &Flow,
    ends: Ends,
    from_opens: bool,
    apps: [Box<dyn StreamApp>; 2],
) -> Result<BuiltFlow, BuildError> {
    if let Some(client) = built.follows(flow) {
        return follows(built, scenario, flow, ends, client, apps);
    }
    let (mut pairs, homed) = subflows(built, scenario, flow, ends, from_opens)?;
    let opener = if from_opens { ends.from } else { ends.to };
    let first = pairs.remove(0);
    let (opening, waiting) = opener_and_waiter(flow, from_opens);
    pairs.truncate(scenario.further_subflows(opening, waiting, homed != opener));
    let tcp = tcp_config(scenario, flow, from_opens);
    let config = StreamConfig::Mptcp(mptcp_config(tcp, flow.scheduler));
    let steering = steering::of(built, scenario, flow, ends.seed)?;
    let ends = match from_opens {
        true => Ends { from_address: first.0, to_address: first.1, ..ends },
        false => Ends { to_address: first.0, from_address: first.1, ..ends },
    };
    let how = How { more: pairs, steering, ..How::of(config) };
    let opens = connection(built, how, ends, from_opens, apps, ends.seed)?;
    // The end that waits was made just before the one that opens.
    let sender = if from_opens { opens } else { EndpointId(opens.0 - 1) };
    Ok(BuiltFlow { id: ends.flow, starts: vec![opens], sender: Some(sender), homed: Some(homed) })
}

fn mptcp(built: &mut Built, scenario: &Scenario, flow: &Flow, ends: Ends) -> Result<BuiltFlow, BuildError> {
    let bytes = flow.bytes.map(|b| b.0);
    let apps: [Box<dyn StreamApp>; 2] =
        [Box::new(BulkSender::new(bytes)), Box::new(BulkReceiver::new(bytes))];
    let from_opens = reaches(built, ends);
    multipath(built, scenario, flow, ends, from_opens, apps)
}

/// An MPTCP connection that a client of several access points opens, with a subflow by each of its
/// stations that has an address.
fn follows(
    built: &mut Built,
    scenario: &Scenario,
    flow: &Flow,
    ends: Ends,
    client: crate::roam::Shared,
    apps: [Box<dyn StreamApp>; 2],
) -> Result<BuiltFlow, BuildError> {
    for station in client.borrow().stations() {
        let leads = built.world.net.leads_by(ends.to, station.address, ends.from_address);
        if !leads {
            let sentence = format!("nothing leads from {} to the sender", station.address);
            return Err(BuildError::new(format!("flow.{}.from", flow.name), sentence));
        }
    }
    let config = StreamConfig::Mptcp(mptcp_config(tcp_config(scenario, flow, false), flow.scheduler));
    let steering = steering::of(built, scenario, flow, ends.seed)?;
    let how = How { roaming: Some(Roaming::new(client.clone())), steering, ..How::of(config) };
    let opens = connection(built, how, ends, false, apps, ends.seed)?;
    client.borrow_mut().follow(opens.0 as usize);
    let sender = Some(EndpointId(opens.0 - 1));
    Ok(BuiltFlow { id: ends.flow, starts: vec![opens], sender, homed: Some(ends.to) })
}

/// What a connection is to be like.
struct How {
    config: StreamConfig,
    /// Further subflows.
    more: Vec<(Ipv4Addr, Ipv4Addr)>,
    roaming: Option<Roaming>,
    /// How its receiver steers.
    steering: Option<Steering>,
}

impl How {
    fn of(config: StreamConfig) -> How {
        How { config, more: Vec::new(), roaming: None, steering: None }
    }
}

/// Two ends of a connection; `from` opens it, or, if nothing leads from it to the other (which address translation hides), `to`.
fn connection(
    built: &mut Built,
    How { config, more, roaming, steering }: How,
    ends: Ends,
    from_opens: bool,
    apps: [Box<dyn StreamApp>; 2],
    seed: u64,
) -> Result<EndpointId, BuildError> {
    let [at_from, at_to] = apps;
    let (opener, opening, waiter, waiting, local, address) = match from_opens {
        true => (ends.from, at_from, ends.to, at_to, ends.from_address, ends.to_address),
        false => (ends.to, at_to, ends.from, at_from, ends.to_address, ends.from_address),
    };
    // Whoever receives steers.
    let (at_opener, at_waiter) = if from_opens { (None, steering) } else { (steering, None) };
    let waits = TcpHost::waits(ends.flow, config.clone(), waiting, ends.dscp, seed::of(seed, "waits", 0))
        .steers(at_waiter);
    let waits = built.world.add_endpoint(waiter, ends.flow, Box::new(waits))?;
    let to = SocketAddrV4::new(address, waits.port());
    let opens = TcpHost::opens(ends.flow, to, config, opening, ends.dscp, seed::of(seed, "opens", 0))
        .from(local)
        .subflows(more)
        .roams(roaming)
        .steers(at_opener);
    Ok(built.world.add_endpoint(opener, ends.flow, Box::new(opens))?)
}

fn tcp(
    built: &mut Built,
    scenario: &Scenario,
    flow: &Flow,
    ends: Ends,
) -> Result<Vec<EndpointId>, BuildError> {
    let streams = u64::from(flow.streams.unwrap_or(1));
    let total = flow.bytes.map(|b| b.0);
    // Whoever cannot be reached calls.
    let from_opens = reaches(built, ends);
    let mut starts = Vec::new();
    for i in 0..streams {
        let share = total.map(|t| t / streams + u64::from(i < t % streams));
        let sender: Box<dyn StreamApp> = match flow.rate {
            Some(rate) => Box::new(PacedSender::new(rate.bps / streams, share)),
            None => Box::new(BulkSender::new(share)),
        };
        let apps: [Box<dyn StreamApp>; 2] = [sender, Box::new(BulkReceiver::new(total))];
        starts.push(connection(
            built,
            tcp_only(scenario, flow, from_opens),
            ends,
            from_opens,
            apps,
            seed::of(ends.seed, "stream", i),
        )?);
    }
    Ok(starts)
}

fn request(
    built: &mut Built,
    scenario: &Scenario,
    flow: &Flow,
    ends: Ends,
) -> Result<Vec<EndpointId>, BuildError> {
    let orders = Orders::default();
    let bytes = flow.bytes.map_or(1, |b| b.0);
    let client = Requester::new(orders.clone(), bytes, flow.interval.unwrap_or(Duration::ZERO));
    let apps: [Box<dyn StreamApp>; 2] = [Box::new(Server::new(orders)), Box::new(client)];
    Ok(vec![connection(built, tcp_only(scenario, flow, false), ends, false, apps, ends.seed)?])
}

/// How long the segments of an adaptive flow are, and the qualities on offer, bits per second.
pub fn segments(flow: &Flow) -> (Duration, Vec<u64>) {
    let said = flow.segments.as_ref();
    let qualities: Vec<u64> = said.iter().flat_map(|s| &s.qualities).map(|q| q.bps).collect();
    let qualities = if qualities.is_empty() { QUALITIES.to_vec() } else { qualities };
    (said.and_then(|s| s.length).unwrap_or(SEGMENT), qualities)
}

/// The player opens the connection: MPTCP if the flow names paths, TCP if not.
fn adaptive(
    built: &mut Built,
    scenario: &Scenario,
    flow: &Flow,
    ends: Ends,
) -> Result<BuiltFlow, BuildError> {
    let orders = Orders::default();
    let (segment, qualities) = segments(flow);
    let player = Player::new(orders.clone(), qualities, segment);
    let apps: [Box<dyn StreamApp>; 2] = [Box::new(Server::new(orders)), Box::new(player)];
    if !flow.paths.is_empty() {
        return multipath(built, scenario, flow, ends, false, apps);
    }
    let starts = vec![connection(built, tcp_only(scenario, flow, false), ends, false, apps, ends.seed)?];
    Ok(BuiltFlow { id: ends.flow, starts, sender: None, homed: None })
}
