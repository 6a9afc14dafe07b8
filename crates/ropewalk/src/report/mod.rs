//! What a daemon says of itself: one snapshot, for `status`, `top` and metrics. Its JSON is stable: fields are added, never changed.

pub(crate) mod air;
pub(crate) mod backhaul;
pub(crate) mod fleet;
pub(crate) mod flows;
pub(crate) mod gateways;
pub(crate) mod grants;
pub(crate) mod history;
pub(crate) mod link;
pub(crate) mod pep;
pub(crate) mod quota;
pub(crate) mod reasons;
pub(crate) mod table;
pub(crate) mod workers;

use crate::daemon::Core;
use ipnet::IpNet;
use ropewalk_bond::engine::{PathStatus, PeerStatus};
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Everything, now. Counters count since the daemon started; times are in milliseconds, rates in bits per second, amounts in bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Snapshot {
    /// Version of this layout.
    pub version: u32,
    /// `client` or `gateway`; of a backhaul `repeater` or `ap`.
    pub role: String,
    /// The bond's device; of an access point on layer 2, what the names of its repeaters' devices begin with, and a star.
    pub device: String,
    /// The daemon's clock, nanoseconds: differences of counters over differences of this are rates.
    pub clock_ns: u64,
    /// How long the daemon has been running, seconds.
    pub uptime_s: f64,
    /// Client: the one gateway. Gateway: the clients. Repeater: the access point, and the other way round.
    pub peers: Vec<Peer>,
    /// Datagrams dropped on arrival, by reason.
    pub drops: Drops,
    /// What happened outside the engine.
    pub io: Io,
    /// Packet memory in use, bytes.
    pub memory_used: u64,
    /// Packet memory that was ever in use at once, by sizes of buffers, bytes. Once touched, it stays resident.
    pub memory_peak: u64,
    /// Packet memory there is, bytes.
    pub memory_limit: u64,
    /// Gateway with several workers: each of them.
    #[serde(default)]
    pub workers: Vec<workers::WorkerStatus>,
    /// What runs slower than it could, and why; and what does not work.
    pub notes: Vec<String>,
    /// Access point: the radio that may leave its channel, if one may.
    #[serde(default)]
    pub channel_switcher: Option<backhaul::ChannelSwitcher>,
    /// What TLS does, where it is offered or used.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Gateway: it takes no sessions.
    #[serde(default)]
    pub draining: bool,
    /// Gateway of a fleet: the others, and the store.
    #[serde(default)]
    pub fleet: Option<fleet::FleetStatus>,
    /// Client: where its gateway is, and where else it may be.
    #[serde(default)]
    pub gateways: Option<gateways::Gateways>,
    /// Client: what is to carry paths, as `ropewalk path` names it.
    #[serde(default)]
    pub uplinks: Vec<Uplink>,
    /// Client: the network behind it, if there is to be one.
    #[serde(default)]
    pub lan: Option<LanStatus>,
    /// Paths that were dead, and connections that noticed.
    #[serde(default)]
    pub outages: Outages,
}

/// Paths that were dead. Counted once it is known who noticed, some seconds after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Outages {
    /// How often a path was dead; with `flows = false` nothing is counted.
    pub paths: u64,
    /// Connections that were delivering when a path died, added up.
    pub connections: u64,
    /// Of these, those that noticed.
    pub noticed: u64,
}

/// What TLS does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tls {
    /// Connections that carry datagrams now.
    pub streams: u64,
    /// Connections that were refused, or made room for others, because there were too many.
    pub refused: u64,
}

/// What is to carry a path, whether or not it can just now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Uplink {
    /// `IFACE` or `IFACE@HOST:PORT`.
    pub name: String,
    /// `active`, `backup` or `metered`.
    pub class: String,
    /// What a metered one may carry in a month, bytes.
    pub cap: Option<u64>,
    /// What of it is left, bytes.
    pub left: Option<u64>,
    /// The day of the month on which a new allowance begins.
    pub reset_day: u8,
    /// Its share under the weighted scheduler.
    pub weight: u32,
    /// The paths that it carries, by `id`.
    pub paths: Vec<u8>,
    /// Why it carries none, if that is known.
    pub obstacle: Option<String>,
}

/// The network behind a client, which its gateway gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LanStatus {
    /// The interface that it is at.
    pub interface: String,
    /// The network, once hosts are told of it.
    #[schemars(with = "Option<String>")]
    pub network: Option<IpNet>,
    /// Why hosts have no network.
    pub why: Option<String>,
}

impl LanStatus {
    /// For people.
    pub(crate) fn line(&self) -> String {
        match (&self.network, &self.why) {
            (Some(network), _) => format!("network {network} at {}", self.interface),
            (None, Some(why)) => format!("no network at {}: {why}", self.interface),
            (None, None) => format!("no network at {} yet", self.interface),
        }
    }
}

/// One session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Peer {
    /// Gateway: the client's name. Client: `gateway`. Repeater: `ap`.
    pub name: String,
    /// Its public key.
    pub key: String,
    /// The client's addresses inside.
    #[schemars(with = "Vec<String>")]
    pub inside: Vec<IpAddr>,
    /// The session works.
    pub up: bool,
    /// Cipher of the session.
    pub cipher: Option<String>,
    /// Age of its keys, seconds.
    pub key_age_s: Option<f64>,
    /// Since it was last heard, seconds.
    pub silent_s: f64,
    /// Its paths.
    pub paths: Vec<Path>,
    /// What waits at the entrance.
    #[serde(flatten)]
    pub queue: Queue,
    /// The order of what arrives.
    #[serde(flatten)]
    pub order: Order,
    /// Pieces sent again.
    pub resent: u64,
    /// Packets not sent again because it was too late.
    pub given_up: u64,
    /// Networks behind it.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub networks: Vec<IpNet>,
    /// The device that its packets go to.
    #[serde(default)]
    pub device: Option<String>,
    /// The queue towards a repeater's clients, where somebody speaks of it.
    #[serde(default)]
    pub backhaul: Option<backhaul::Backhaul>,
    /// Gateway: the client's quota, if it has one.
    #[serde(default)]
    pub quota: Option<quota::QuotaStatus>,
    /// Gateway: what the client is granted, if something is.
    #[serde(default)]
    pub granted: Option<grants::Granted>,
}

impl Peer {
    /// Whether a path is too narrow for UDP, and TLS carries its uplink.
    pub(crate) fn is_beside_tls(&self, path: &Path) -> bool {
        let carries = |p: &Path| p.name == path.name && p.carrier == "tls" && p.state == "active";
        path.state == "too narrow" && self.paths.iter().any(carries)
    }
}

/// One path.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Path {
    /// Its number in the session.
    pub id: u8,
    /// Client: the interface. Gateway: the client's address.
    pub name: String,
    /// Where it leads.
    #[schemars(with = "Option<String>")]
    pub remote: Option<SocketAddr>,
    /// What carries its datagrams: `udp`, or `tls` over TCP where UDP does not pass.
    #[serde(default)]
    pub carrier: String,
    /// `validating`, `active`, `suspect`, `down` or `too narrow`.
    pub state: String,
    /// `active`, `backup` or `metered`.
    pub class: String,
    /// Bytes left of a metered path.
    pub allowance: Option<u64>,
    /// Its weight for the weighted scheduler.
    pub weight: u32,
    /// Smoothed round-trip time.
    pub rtt_ms: Option<f64>,
    /// The smallest of the last ten seconds.
    pub min_rtt_ms: Option<f64>,
    /// Its mean deviation.
    pub jitter_ms: f64,
    /// Estimate of what it carries.
    pub bandwidth_bps: u64,
    /// The rate that it is paced at.
    pub pacing_bps: Option<u64>,
    /// Congestion window.
    pub window: u64,
    /// Bytes on the way.
    pub inflight: u64,
    /// The largest IP packet that passes.
    pub mtu: u16,
    /// What went and came.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// How often it died, on the channel that it is on.
    pub deaths: u32,
    /// What the link completes.
    #[serde(flatten)]
    pub completed: Completions,
    /// What the link under it says of itself, where it has something to say.
    pub link: Option<link::Link>,
    /// The air that its packets take, where a `ropewalk roam` of the client measures it.
    #[serde(default)]
    pub air: Option<air::Air>,
}

impl Path {
    /// Its name for people: with what carries it, where that is not UDP.
    pub(crate) fn shown(&self) -> String {
        if self.carrier == "tls" { format!("{} by TLS", self.name) } else { self.name.clone() }
    }
}

/// The queue of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Queue {
    /// Bytes waiting at the entrance.
    pub queue_bytes: u64,
    /// Packets waiting at the entrance.
    pub queue_packets: u64,
    /// How long the last packet waited there.
    pub queue_wait_ms: f64,
    /// Packets that came in there.
    pub queue_in: u64,
    /// Packets dropped there to keep the queue short.
    pub codel_drops: u64,
    /// Packets marked there instead (ECN).
    pub codel_marks: u64,
    /// Packets dropped there because it was full.
    pub overflow_drops: u64,
}

/// The order of what a session receives.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    /// Packets delivered in order.
    pub delivered: u64,
    /// Bytes held until what is missing before them arrives.
    pub held_bytes: u64,
    /// Flows in which something is missing.
    pub gaps: u64,
    /// Packets that were there while others before them were missing.
    #[serde(default)]
    pub waited: u64,
    /// Half of those waited no longer than this, milliseconds.
    #[serde(default)]
    pub wait_median_ms: Option<f64>,
    /// All but a hundredth of them waited no longer than this.
    #[serde(default)]
    pub wait_p99_ms: Option<f64>,
    /// Packets that came too late for their place.
    pub late: u64,
    /// Packets that were waited for in vain.
    pub abandoned: u64,
    /// Pieces that came twice.
    pub duplicates: u64,
}

/// Totals of a path.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Traffic {
    /// Sent, IP and UDP headers included.
    pub sent_bytes: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Received, IP and UDP headers included.
    pub received_bytes: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams lost on the way out.
    pub lost: u64,
    /// Of these, datagrams that arrived after all.
    pub spurious: u64,
    /// Datagrams acknowledged.
    pub acked: u64,
}

/// What the link under a path completes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Completions {
    /// Datagrams that the link has not completed.
    #[serde(default)]
    pub outstanding: u64,
    /// How many it may hold under the scheduler `backpressure`.
    #[serde(default)]
    pub threshold: u32,
    /// Completions per second while it was busy, in datagrams of full length.
    #[serde(default)]
    pub completed_pps: f64,
    /// Whose completions count: `link`, or `acknowledgements` of the peer.
    #[serde(default)]
    pub completions: String,
    /// Its channel is one that a repeater's clients need.
    #[serde(default)]
    pub shared: bool,
}

/// Datagrams dropped on arrival.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Drops {
    /// Not of the protocol.
    pub malformed: u64,
    /// Of no session here.
    pub unknown: u64,
    /// Not authentic.
    pub forged: u64,
    /// Seen before.
    pub replayed: u64,
    /// Handshakes.
    pub handshakes: u64,
    /// Inner packets that the peer may not send.
    pub inner: u64,
    /// Device packets without a peer to go to.
    pub unroutable: u64,
    /// Layer 2: frames of the device that are longer than the other end's device takes.
    #[serde(default)]
    pub too_long: u64,
}

/// What happened outside the engine.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Io {
    /// Packets from the device; a super-packet counts once.
    pub device_in: u64,
    /// Packets to the device.
    pub device_out: u64,
    /// Packets that the kernel would not take.
    pub device_refused: u64,
    /// Batches of datagrams sent.
    pub batches: u64,
    /// Datagrams not sent because the kernel had no room.
    pub send_full: u64,
    /// Datagrams not sent because they were too long.
    pub send_too_big: u64,
    /// Datagrams not sent because there was no way.
    pub send_unreachable: u64,
    /// Datagrams that the kernel dropped because the loop was late.
    pub overruns: u64,
    /// Wake-ups of the loop.
    pub wakeups: u64,
}

/// A snapshot of `core`; `name` tells what peers are called.
pub(crate) fn take(
    role: &str,
    core: &Core,
    started: Time,
    now: Time,
    name: impl Fn(&PublicKey) -> String,
) -> Snapshot {
    let status = core.engine.status(now);
    let (d, c) = (status.drops, core.counters);
    Snapshot {
        channel_switcher: None,
        draining: false,
        fleet: None,
        gateways: None,
        uplinks: Vec::new(),
        lan: None,
        outages: Outages::default(),
        workers: core.workers.iter().map(|_| workers::WorkerStatus::of(status.peers.len(), core)).collect(),
        tls: core.streams.counts().map(|(streams, refused)| Tls { streams, refused }),
        version: 1,
        role: role.into(),
        device: core.devices.name().into(),
        clock_ns: now.as_nanos(),
        uptime_s: now.since(started).as_secs_f64(),
        peers: status.peers.into_iter().map(|p| peer(name(&p.key), p, core)).collect(),
        drops: Drops {
            malformed: d.malformed,
            unknown: d.unknown,
            forged: d.forged,
            replayed: d.replayed,
            handshakes: d.handshakes,
            inner: d.inner,
            unroutable: d.unroutable + c.between_clients,
            too_long: d.too_long,
        },
        io: Io {
            device_in: c.device_in,
            device_out: c.device_out,
            device_refused: c.device_refused,
            batches: c.batches,
            send_full: c.send_full,
            send_too_big: c.send_too_big,
            send_unreachable: c.send_unreachable,
            overruns: core.sockets.iter().map(|l| u64::from(l.overruns)).sum(),
            wakeups: c.wakeups,
        },
        memory_used: status.memory_used as u64,
        memory_peak: status.memory_peak as u64,
        memory_limit: status.memory_limit as u64,
        notes: notes(core),
    }
}

fn peer(name: String, p: PeerStatus, core: &Core) -> Peer {
    Peer {
        name,
        key: p.key.to_string(),
        inside: p.inside.into_iter().filter(|a| !a.is_unspecified()).collect(),
        up: p.up,
        cipher: p.cipher.map(str::to_owned),
        key_age_s: p.key_age.map(|d| d.as_secs_f64()),
        silent_s: p.silent_for.as_secs_f64(),
        paths: p.paths.into_iter().map(|path| self::path(path, core)).collect(),
        queue: Queue {
            queue_bytes: p.queue_bytes,
            queue_packets: p.queue_packets,
            queue_wait_ms: ms(p.queue_wait),
            queue_in: p.queue.packets,
            codel_drops: p.queue.codel_drops,
            codel_marks: p.queue.marks,
            overflow_drops: p.queue.overflow_drops,
        },
        order: Order {
            delivered: p.order.delivered,
            held_bytes: p.held_bytes,
            gaps: p.gaps as u64,
            waited: p.waits.count(),
            wait_median_ms: p.waits.quantile(0.5).map(ms),
            wait_p99_ms: p.waits.quantile(0.99).map(ms),
            late: p.order.late,
            abandoned: p.order.given_up,
            duplicates: p.order.duplicates,
        },
        resent: p.resent,
        given_up: p.given_up,
        networks: p.networks,
        device: core.devices.get(p.device).map(|d| d.tun.name().to_owned()),
        backhaul: p.backhaul.as_ref().map(backhaul::Backhaul::new),
        quota: None,
        granted: None,
    }
}

fn path(p: PathStatus, core: &Core) -> Path {
    let link = p.link.unwrap_or_default();
    let socket = core.sockets.get(p.route.link).filter(|l| l.socket.device().is_some());
    let own = socket.map(|l| l.name.clone());
    let own = own.or_else(|| core.streams.name(p.route.link).map(str::to_owned));
    Path {
        id: p.id,
        name: own.unwrap_or_else(|| p.route.remote.to_string()),
        remote: Some(p.route.remote),
        carrier: if p.route.is_stream() { "tls" } else { "udp" }.into(),
        state: p.state.name().into(),
        class: p.class.into(),
        allowance: p.allowance,
        weight: p.weight,
        rtt_ms: p.rtt.map(ms),
        min_rtt_ms: p.min_rtt.map(ms),
        jitter_ms: ms(p.jitter),
        bandwidth_bps: p.bandwidth_bps,
        pacing_bps: p.pacing_bps,
        window: p.window,
        inflight: p.inflight,
        mtu: p.mtu,
        deaths: p.deaths,
        traffic: Traffic {
            sent_bytes: p.traffic.sent_bytes,
            sent: p.traffic.sent,
            received_bytes: p.traffic.received_bytes,
            received: p.traffic.received,
            lost: p.traffic.lost,
            spurious: p.traffic.spurious,
            acked: p.traffic.acked,
        },
        completed: Completions {
            outstanding: link.outstanding,
            threshold: link.threshold,
            completed_pps: link.completed_pps,
            completions: link.source.name().into(),
            shared: link.is_shared,
        },
        link: core.links.of(&p.route),
        air: p.air.map(air::Air::new),
    }
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// Where this machine makes the bond slower than it could be.
fn notes(core: &Core) -> Vec<String> {
    let mut notes = Vec::new();
    // All devices have the same.
    let offloads = core.devices.iter().next().map(|(_, d)| d.tun.offloads());
    if offloads.is_some_and(|o| !o.tso) {
        notes.push("the kernel's TUN driver has no TCP segmentation offload: throughput is lower".into());
    } else if offloads.is_some_and(|o| !o.uso) {
        notes.push("the kernel's TUN driver has no UDP segmentation offload (Linux 6.2): UDP costs more processor time".into());
    }
    for link in core.sockets.iter() {
        if !link.socket.has_gso() {
            notes.push(format!(
                "{} sends datagrams one by one (no UDP segmentation offload): throughput is lower",
                link.name
            ));
        }
        if !link.socket.has_gro() {
            notes.push(format!(
                "{} receives datagrams one by one (no UDP receive offload): throughput is lower",
                link.name
            ));
        }
    }
    notes
}

/// A number of things, as people say it.
pub(crate) fn count(n: usize, what: &str) -> String {
    let end = match n {
        1 => "",
        _ if what.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{n} {what}{end}")
}
