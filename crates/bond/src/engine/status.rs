//! What an engine says of itself, for `status`, `top` and metrics.

use super::Engine;
use crate::airtime::AirStatus;
use crate::backhaul::{BackhaulStatus, LinkStatus};
use crate::order;
use crate::path::{Route, State, Traffic};
pub use crate::peer::Drops;
pub use crate::queue::Counters as QueueCounters;
use core::net::IpAddr;
use ipnet::IpNet;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};

/// One path, now.
#[derive(Clone, Debug)]
pub struct PathStatus {
    /// Identifier.
    pub id: u8,
    /// Where it goes.
    pub route: Route,
    /// Whether it works.
    pub state: State,
    /// Name of its class.
    pub class: &'static str,
    /// Bytes left of a metered path.
    pub allowance: Option<u64>,
    /// Its weight.
    pub weight: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Smallest of the last ten seconds.
    pub min_rtt: Option<Duration>,
    /// Mean deviation.
    pub jitter: Duration,
    /// Estimate of what it carries, bits per second.
    pub bandwidth_bps: u64,
    /// Rate it is paced at.
    pub pacing_bps: Option<u64>,
    /// Congestion window, bytes.
    pub window: u64,
    /// Bytes on the way.
    pub inflight: u64,
    /// Largest IP packet known to pass.
    pub mtu: u16,
    /// Totals.
    pub traffic: Traffic,
    /// How often it died, on the channel that it is on.
    pub deaths: u32,
    /// Backhaul: what its link holds and may hold.
    pub link: Option<LinkStatus>,
    /// The air that its packets take, where that was told.
    pub air: Option<AirStatus>,
}

/// One session, now.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// The peer's key.
    pub key: PublicKey,
    /// Inner addresses of the client.
    pub inside: Vec<IpAddr>,
    /// Keys are in force and used.
    pub up: bool,
    /// Name of the cipher.
    pub cipher: Option<&'static str>,
    /// Age of the keys.
    pub key_age: Option<Duration>,
    /// Since the last authentic datagram.
    pub silent_for: Duration,
    /// Its paths.
    pub paths: Vec<PathStatus>,
    /// Bytes waiting at the entrance.
    pub queue_bytes: u64,
    /// Packets waiting.
    pub queue_packets: u64,
    /// How long the last packet waited.
    pub queue_wait: Duration,
    /// Queue totals.
    pub queue: QueueCounters,
    /// Order totals.
    pub order: order::Counters,
    /// How long whole packets waited for those before them.
    pub waits: order::Waits,
    /// Memory held for order, bytes.
    pub held_bytes: u64,
    /// Flows in which something is missing.
    pub gaps: usize,
    /// Fragments sent again.
    pub resent: u64,
    /// Packets that were not sent again, for it was too late.
    pub given_up: u64,
    /// Networks behind the client.
    pub networks: Vec<IpNet>,
    /// The driver's number of its device; 0 but for the clients of a gateway on layer 2.
    pub device: u32,
    /// Backhaul: the queues towards the repeater's clients; none where nobody reports any.
    pub backhaul: Option<BackhaulStatus>,
}

/// All of it, now.
#[derive(Clone, Debug)]
pub struct Status {
    /// Sessions, in the order in which they came.
    pub peers: Vec<PeerStatus>,
    /// Datagrams dropped on arrival.
    pub drops: Drops,
    /// Packet memory in use, bytes.
    pub memory_used: usize,
    /// Bytes of all buffers that were ever handed out: what may stay resident.
    pub memory_peak: usize,
    /// Packet memory there is.
    pub memory_limit: usize,
}

impl Engine {
    /// A snapshot. Allocates; not for the hot path.
    pub fn status(&self, now: Time) -> Status {
        let peer = |p| {
            let mut status = peer_status(p, now);
            // Only the repeater end has clients of its own.
            if let (Some(b), Some(pacer)) = (status.backhaul.as_mut().filter(|b| b.clients > 0), &self.pacer)
            {
                (b.kept, b.waits) = (self.shared.deliveries.len(), pacer.waits());
            }
            status
        };
        Status {
            peers: self.peers.values().map(peer).collect(),
            drops: self.shared.drops,
            memory_used: self.shared.store.pool.used_bytes(),
            memory_peak: self.shared.store.pool.peak_bytes(),
            memory_limit: self.shared.store.pool.capacity_bytes(),
        }
    }
}

fn peer_status(p: &crate::peer::Peer, now: Time) -> PeerStatus {
    let epoch = p.session.keys().current();
    PeerStatus {
        key: p.key(),
        inside: if p.is_client() { p.inside.own().to_vec() } else { p.inside.client().to_vec() },
        up: p.session.is_up() && p.session.is_confirmed(),
        cipher: epoch.map(|e| e.sealer.cipher().name()),
        key_age: epoch.map(|e| now.since(e.since)),
        silent_for: now.since(p.session.last_heard()),
        paths: p.paths.iter().map(|path| path_status(p, path, now)).collect(),
        queue_bytes: p.send.queue().bytes(),
        queue_packets: p.send.queue().packets(),
        queue_wait: p.send.queue().waited(),
        queue: p.send.queue().counters(),
        order: p.receive.order().counters(),
        waits: p.receive.order().waits().clone(),
        held_bytes: p.receive.order().held_bytes(),
        gaps: p.receive.order().gaps(),
        resent: p.send.retransmitted(),
        given_up: p.send.abandoned(),
        networks: p.inside.networks().to_vec(),
        device: p.device(),
        backhaul: p.backhaul.as_ref().and_then(|b| b.status()),
    }
}

fn path_status(peer: &crate::peer::Peer, p: &crate::path::Path, now: Time) -> PathStatus {
    let weight = peer.paths.weight(p.id);
    let known = p.rtt.is_known();
    PathStatus {
        id: p.id.get(),
        route: p.route,
        state: p.state(),
        class: p.class.name(),
        allowance: match p.class {
            crate::path::Class::Metered { left } => Some(left),
            _ => None,
        },
        weight,
        rtt: known.then(|| p.rtt.smoothed()),
        min_rtt: known.then(|| p.rtt.min()),
        jitter: p.rtt.deviation(),
        bandwidth_bps: p.cc.bandwidth_bps(),
        pacing_bps: p.pacing_bps(),
        window: p.cc.window(),
        inflight: p.sent.inflight(),
        mtu: p.mtu.current(),
        traffic: p.traffic,
        deaths: p.live.deaths(),
        link: peer.backhaul.as_ref().map(|b| b.link_status(now, p)),
        air: peer.airtime.as_ref().and_then(|a| a.status(p.id)),
    }
}
