//! All counters of a world at one time, so that figures of any span are differences.

use super::{BunchCounts, CpuCounts, FlowCounts};
use crate::app::SubflowCounts;
use crate::build::Built;
use crate::net::{Heard, IfCounters, Radios, interface_of};
use crate::packet::IfIndex;
use crate::{roam, tunnel};
use ropewalk_air::Time;
use ropewalk_air::wifi::{IfaceId, Mac, PeerStats, RadioId, RadioStats};
use ropewalk_air::wired;
use ropewalk_bond::backhaul::BackhaulStatus;
use ropewalk_bond::backhaul::limiter::Allowance;

/// Counters of a direction of a cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// The model's.
    pub link: wired::Counters,
    /// Waits in its queue, ns in sum.
    pub wait_ns: u64,
}

/// Counters of one interface of the air towards a neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationCounts {
    /// The neighbour; a group's address stands for everybody.
    pub to: Mac,
    /// The model's.
    pub peer: PeerStats,
    /// Rates and powers.
    pub heard: Heard,
}

/// Counters of one end of a path of a bond.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathCounts {
    /// Its number.
    pub id: u8,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Datagrams lost.
    pub lost: u64,
    /// Smoothed round trip now, ns; none before the first.
    pub rtt_ns: Option<u64>,
    /// State now.
    pub state: &'static str,
    /// Wireless backhaul: what the limiter of shared links allows it now; 200000 where it is not
    /// limited.
    pub limit: Option<f64>,
    /// Packets in the longest queue towards a client, as reported last.
    pub client_queue: Option<u32>,
}

/// More datagrams a second than any link carries.
const UNLIMITED: f64 = 200_000.0;

/// Counters of one end of a bond.
#[derive(Clone, Debug, Default)]
pub struct BondCounts {
    /// Packets that its queue dropped.
    pub dropped: u64,
    /// Chunks sent again.
    pub resent: u64,
    /// What waited here for order.
    pub waits: ropewalk_bond::order::Waits,
    /// Its paths.
    pub paths: Vec<PathCounts>,
}

/// Everything that counts.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When.
    pub at: Time,
    /// Flows.
    pub flows: Vec<FlowCounts>,
    /// Subflows of each flow, at the end that sends.
    pub subflows: Vec<Vec<SubflowCounts>>,
    /// Interfaces.
    pub interfaces: Vec<IfCounters>,
    /// Processors, in the order of their nodes.
    pub cpus: Vec<CpuCounts>,
    /// Directions of cables.
    pub links: Vec<LinkCounts>,
    /// Radios.
    pub radios: Vec<RadioStats>,
    /// Interfaces of the air, each towards its neighbours.
    pub stations: Vec<Vec<StationCounts>>,
    /// Stations of each client of several access points, by their interfaces.
    pub roaming: Vec<Vec<(IfIndex, roam::Figures)>>,
    /// The gateway of each bunch, then its access points.
    pub bunches: Vec<Vec<BunchCounts>>,
    /// Client and gateway of each bond.
    pub bonds: Vec<[BondCounts; 2]>,
}

impl Snapshot {
    /// As things stand now.
    pub fn take(built: &Built) -> Snapshot {
        let (world, net) = (&built.world, &built.world.net);
        let bond = |engine: &tunnel::Shared| bond_counts(&tunnel::status(engine, net.now));
        Snapshot {
            at: net.now,
            flows: world.flow_counts(),
            subflows: built
                .flows
                .iter()
                .map(|f| f.sender.map(|s| world.subflows(s)).unwrap_or_default())
                .collect(),
            interfaces: net.interfaces.iter().map(|i| i.counters).collect(),
            cpus: net.nodes.iter().filter_map(|n| Some(n.cpu.as_ref()?.counts(net.now))).collect(),
            links: net
                .directions
                .iter()
                .map(|d| LinkCounts { link: d.link.counters(), wait_ns: d.wait_ns })
                .collect(),
            radios: radio_counts(built),
            stations: net.radios.as_ref().map(station_counts).unwrap_or_default(),
            roaming: net.roaming.iter().map(|client| roaming(&client.borrow(), net.now)).collect(),
            bunches: built.bunches.iter().map(bunch_counts).collect(),
            bonds: built.bonds.iter().map(|(_, b)| [bond(&b.engines[0]), bond(&b.engines[1])]).collect(),
        }
    }
}

fn roaming(client: &roam::Client, now: Time) -> Vec<(IfIndex, roam::Figures)> {
    client.stations().iter().map(|s| (s.interface, s.figures_at(now))).collect()
}

fn bunch_counts(bunch: &crate::bunch::Bunch) -> Vec<BunchCounts> {
    let all = [&bunch.gateway.1].into_iter().chain(bunch.points.iter().map(|p| &p.2));
    all.map(|c| *c.borrow()).collect()
}

fn radio_counts(built: &Built) -> Vec<RadioStats> {
    let Some(radios) = &built.world.net.radios else { return Vec::new() };
    let stats = |i: usize| radios.radio_stats(RadioId(i as u16));
    (0..built.radios.len()).map(stats).collect()
}

fn station_counts(radios: &Radios) -> Vec<Vec<StationCounts>> {
    let of = |iface: IfaceId| {
        let counts = |(to, peer): (Mac, PeerStats)| {
            let heard = radios.heard(iface, interface_of(to));
            StationCounts { to, peer, heard }
        };
        radios.peer_stats(iface).into_iter().map(counts).collect()
    };
    (0..radios.interfaces.len()).map(|i| of(IfaceId(i as u16))).collect()
}

/// What a limiter allows a shared link.
fn limit(backhaul: &BackhaulStatus, is_shared: bool) -> f64 {
    match backhaul.limiter.filter(|_| is_shared) {
        None => UNLIMITED,
        Some((_, Allowance::Blocked)) => 0.0,
        Some((_, Allowance::Held(held))) => held,
        Some((_, Allowance::Rate(pps))) => pps,
    }
}

fn bond_counts(status: &ropewalk_bond::engine::Status) -> BondCounts {
    let Some(peer) = status.peers.first() else { return BondCounts::default() };
    let paths = peer.paths.iter().map(|p| PathCounts {
        id: p.id,
        sent_bytes: p.traffic.sent_bytes,
        lost: p.traffic.lost,
        rtt_ns: p.rtt.map(|r| r.as_nanos() as u64),
        state: p.state.name(),
        limit: peer.backhaul.as_ref().map(|b| limit(b, p.link.is_some_and(|l| l.is_shared))),
        client_queue: peer.backhaul.as_ref().map(|b| b.longest),
    });
    let queue = peer.queue;
    BondCounts {
        dropped: queue.codel_drops + queue.overflow_drops,
        resent: peer.resent,
        waits: peer.waits.clone(),
        paths: paths.collect(),
    }
}
