//! What the page is told of the daemon, each second and at once when a path changes its state.

use super::members::BunchView;
use crate::bunch::report::BunchStatus;
use crate::report::quota::QuotaStatus;
use crate::report::workers::WorkerStatus;
use crate::report::{Path, Peer, Snapshot, Uplink};
use crate::roam::report::RoamStatus;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

/// Sessions that a page is told of; of a gateway with more, those that are up and were heard last.
const PEERS: usize = 256;
/// Rates are over this long, nanoseconds.
const WINDOW: u64 = 1_000_000_000;
/// Looks that are remembered for that.
const LOOKS: usize = 8;

/// Everything, now.
#[derive(Debug, Serialize)]
pub(super) struct View {
    /// Seconds since 1970.
    pub at: f64,
    role: String,
    device: String,
    uptime_s: f64,
    pub peers: Vec<PeerView>,
    /// Sessions that are left out.
    left_out: usize,
    /// Of a gateway that has several.
    workers: Vec<WorkerView>,
    uplinks: Vec<Uplink>,
    /// Where a client's gateway is, in a line, if that is worth one.
    gateway: Option<String>,
    /// The radio of an access point that may leave its channel.
    radio: Option<String>,
    notes: Vec<String>,
    pub roam: Option<RoamStatus>,
    pub bunch: Option<BunchView>,
}

/// A session.
#[derive(Debug, Serialize)]
pub(super) struct PeerView {
    pub name: String,
    up: bool,
    inside: Vec<String>,
    cipher: Option<String>,
    silent_s: f64,
    queue_bytes: u64,
    queue_packets: u64,
    queue_wait_ms: f64,
    dropped: u64,
    marked: u64,
    resent: u64,
    late: u64,
    held_bytes: u64,
    /// The clients behind a repeater, in a sentence.
    backhaul: Option<String>,
    /// What the client may use, if it has a quota.
    quota: Option<QuotaStatus>,
    pub paths: Vec<PathView>,
}

/// A worker of a gateway.
#[derive(Debug, Serialize)]
struct WorkerView {
    sessions: u64,
    /// Share of a processor that it used within the last second, per cent.
    busy: Option<f64>,
    handed_on: u64,
    handed_on_lost: u64,
}

/// A path.
#[derive(Debug, Serialize)]
pub(super) struct PathView {
    id: u8,
    /// What its past is kept under.
    pub series: String,
    name: String,
    /// `udp` or `tls`.
    carrier: String,
    remote: Option<SocketAddr>,
    pub state: String,
    class: String,
    allowance: Option<u64>,
    pub rtt_ms: Option<f64>,
    /// What the round trip is above its least of ten seconds.
    queue_ms: Option<f64>,
    inflight: u64,
    pub up_bps: Option<f64>,
    pub down_bps: Option<f64>,
    /// Datagrams lost since the start, per cent.
    loss: Option<f64>,
    /// The same, within the last second.
    pub loss_now: Option<f64>,
    sent_bytes: u64,
    received_bytes: u64,
    deaths: u32,
    mtu: u16,
    link: Option<String>,
    /// The air that its packets take, in a line.
    air: Option<String>,
}

/// Of each session whether it is up, and of its paths their names, states and classes; what stands
/// for those where the daemon is no bond.
pub(super) type States = Vec<(bool, Vec<[String; 3]>)>;

/// What counted up to a look.
#[derive(Clone, Copy, Debug)]
struct Counts {
    sent: u64,
    received: u64,
    lost: u64,
    acked: u64,
}

type Key = (String, u8, Option<SocketAddr>);

/// What was seen at once.
#[derive(Debug)]
struct Look {
    clock_ns: u64,
    paths: HashMap<Key, Counts>,
    workers: Vec<WorkerStatus>,
}

/// The looks of the last second.
#[derive(Debug, Default)]
pub(super) struct Looks(VecDeque<Look>);

impl Looks {
    /// A view of a snapshot, with rates since the look a second ago. `at` is seconds since 1970.
    pub(super) fn view(&mut self, now: &Snapshot, at: f64) -> View {
        if self.0.back().is_some_and(|look| look.clock_ns >= now.clock_ns) {
            self.0.clear();
        }
        // Of those that are a second old, the last.
        while self.0.get(1).is_some_and(|look| look.clock_ns + WINDOW <= now.clock_ns) {
            self.0.pop_front();
        }
        let before = self.0.front();
        let mut peers: Vec<&Peer> = now.peers.iter().collect();
        if peers.len() > PEERS {
            peers.sort_by(|a, b| b.up.cmp(&a.up).then(a.silent_s.total_cmp(&b.silent_s)));
        }
        let left_out = peers.len().saturating_sub(PEERS);
        peers.truncate(PEERS);
        let many = now.role == "gateway" || now.role == "ap";
        let view = |p: &&Peer| peer(p, many, now.clock_ns, before);
        let view = View {
            at,
            role: now.role.clone(),
            device: now.device.clone(),
            uptime_s: now.uptime_s,
            peers: peers.iter().map(view).collect(),
            left_out,
            workers: workers(now, before),
            uplinks: now.uplinks.clone(),
            gateway: now.gateways.as_ref().and_then(|g| g.line(now.peers.iter().any(|p| p.up))),
            radio: now.channel_switcher.as_ref().map(|c| c.line()),
            notes: now.notes.clone(),
            roam: None,
            bunch: None,
        };
        if self.0.len() >= LOOKS {
            self.0.pop_front();
        }
        let all = peers.iter().flat_map(|p| p.paths.iter().map(|path| (key(p, path), counts(path))));
        let (clock_ns, workers) = (now.clock_ns, now.workers.clone());
        self.0.push_back(Look { clock_ns, paths: all.collect(), workers });
        view
    }
}

impl View {
    /// A daemon that is no bond.
    pub(super) fn of_roam(status: RoamStatus, at: f64) -> View {
        View {
            role: "roam".into(),
            device: status.radio.clone(),
            uptime_s: status.uptime_s,
            notes: status.notes.clone(),
            roam: Some(status),
            ..View::of_no_bond(at)
        }
    }

    /// A part of a bunch.
    pub(super) fn of_bunch(bunch: BunchView, at: f64) -> View {
        let (role, device, uptime_s) = match &bunch.status {
            BunchStatus::Gateway(g) => ("bunch gateway", g.device.clone(), g.uptime_s),
            BunchStatus::Ap(ap) => ("bunch access point", ap.device.clone(), ap.uptime_s),
        };
        View { role: role.into(), device, uptime_s, bunch: Some(bunch), ..View::of_no_bond(at) }
    }

    fn of_no_bond(at: f64) -> View {
        View {
            at,
            role: String::new(),
            device: String::new(),
            uptime_s: 0.0,
            peers: Vec::new(),
            left_out: 0,
            workers: Vec::new(),
            uplinks: Vec::new(),
            gateway: None,
            radio: None,
            notes: Vec::new(),
            roam: None,
            bunch: None,
        }
    }

    /// What is shown at once when it changes: who is there, and what is the matter with each path.
    pub(super) fn states(&self) -> States {
        let path = |p: &PathView| [p.series.clone(), p.state.clone(), p.class.clone()];
        let mut states: States =
            self.peers.iter().map(|p| (p.up, p.paths.iter().map(path).collect())).collect();
        if let Some(roam) = &self.roam {
            let all = roam.access_points.iter();
            let all = all.map(|a| [a.interface.clone(), a.bssid.clone(), a.state.clone()]);
            states.push((true, all.collect()));
        }
        if let Some(bunch) = &self.bunch {
            states.push((true, bunch.states()));
        }
        states
    }
}

fn key(peer: &Peer, path: &Path) -> Key {
    (peer.key.clone(), path.id, path.remote)
}

fn counts(path: &Path) -> Counts {
    let t = &path.traffic;
    let lost = t.lost.saturating_sub(t.spurious);
    Counts { sent: t.sent_bytes, received: t.received_bytes, lost, acked: t.acked }
}

fn workers(now: &Snapshot, before: Option<&Look>) -> Vec<WorkerView> {
    let view = |(number, worker): (usize, &WorkerStatus)| {
        let old = before.and_then(|look| Some((now.clock_ns - look.clock_ns, look.workers.get(number)?)));
        WorkerView {
            sessions: worker.sessions,
            busy: old.map(|(span, old)| worker.busy_percent(old, span as f64 / 1e9)),
            handed_on: worker.handed_on,
            handed_on_lost: worker.handed_on_lost,
        }
    };
    now.workers.iter().enumerate().map(view).collect()
}

fn peer(p: &Peer, many: bool, clock: u64, before: Option<&Look>) -> PeerView {
    let path = |path: &Path| {
        let old = before.and_then(|look| Some((clock - look.clock_ns, *look.paths.get(&key(p, path))?)));
        PathView { air: p.air_of(path), ..path_view(path, many, old) }
    };
    PeerView {
        name: p.name.clone(),
        up: p.up,
        inside: p.inside.iter().map(ToString::to_string).collect(),
        cipher: p.cipher.clone(),
        silent_s: p.silent_s,
        queue_bytes: p.queue.queue_bytes,
        queue_packets: p.queue.queue_packets,
        queue_wait_ms: p.queue.queue_wait_ms,
        dropped: p.queue.codel_drops + p.queue.overflow_drops,
        marked: p.queue.codel_marks,
        resent: p.resent,
        late: p.order.late,
        held_bytes: p.order.held_bytes,
        backhaul: p.backhaul.as_ref().map(|b| b.line()),
        quota: p.quota.clone(),
        paths: p.paths.iter().map(path).collect(),
    }
}

fn path_view(p: &Path, many: bool, old: Option<(u64, Counts)>) -> PathView {
    let now = counts(p);
    let rate = |now: u64, then: fn(&Counts) -> u64| {
        let (span, old) = old.filter(|(span, old)| *span > 0 && now >= then(old))?;
        Some((now - then(&old)) as f64 * 8e9 / span as f64)
    };
    let share =
        |lost: u64, acked: u64| (lost + acked > 0).then(|| lost as f64 * 100.0 / (lost + acked) as f64);
    let loss_now = old
        .and_then(|(_, old)| share(now.lost.saturating_sub(old.lost), now.acked.saturating_sub(old.acked)));
    PathView {
        id: p.id,
        // A gateway's client may come from another address each time, a client's path may get
        // another number.
        series: if many { p.id.to_string() } else { p.name.clone() },
        name: p.name.clone(),
        carrier: p.carrier.clone(),
        remote: p.remote,
        state: p.state.clone(),
        class: p.class.clone(),
        allowance: p.allowance,
        rtt_ms: p.rtt_ms,
        queue_ms: p.rtt_ms.zip(p.min_rtt_ms).map(|(rtt, least)| (rtt - least).max(0.0)),
        inflight: p.inflight,
        up_bps: rate(now.sent, |c| c.sent),
        down_bps: rate(now.received, |c| c.received),
        loss: share(now.lost, now.acked),
        loss_now,
        sent_bytes: p.traffic.sent_bytes,
        received_bytes: p.traffic.received_bytes,
        deaths: p.deaths,
        mtu: p.mtu,
        link: p.link.as_ref().map(|l| format!("{}: {}", l.source, l.line())),
        air: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Traffic;

    fn snapshot(role: &str, ms: u64, sent: u64, peers: usize) -> Snapshot {
        let traffic = Traffic {
            sent_bytes: sent,
            received_bytes: 2 * sent,
            acked: sent / 100,
            lost: sent / 300,
            ..Traffic::default()
        };
        let path = Path {
            id: 3,
            name: "wan1".into(),
            state: "active".into(),
            rtt_ms: Some(21.0),
            min_rtt_ms: Some(20.0),
            traffic,
            ..Path::default()
        };
        let peer = |n: usize| Peer {
            key: n.to_string(),
            name: format!("c{n}"),
            up: n % 2 == 1,
            paths: vec![path.clone()],
            ..Peer::default()
        };
        Snapshot {
            role: role.into(),
            clock_ns: ms * 1_000_000,
            peers: (0..peers).map(peer).collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_over_the_last_second() {
        let mut looks = Looks::default();
        let rates = |v: &View| (v.peers[0].paths[0].up_bps, v.peers[0].paths[0].down_bps);
        assert_eq!(rates(&looks.view(&snapshot("client", 0, 0, 1), 0.0)), (None, None));
        for quarter in 1..=8 {
            // Ten times as much in the first second.
            let sent = if quarter <= 4 { quarter * 300_000 } else { 1_200_000 + (quarter - 4) * 30_000 };
            let view = looks.view(&snapshot("client", quarter * 250, sent, 1), 0.0);
            if quarter == 8 {
                assert_eq!(rates(&view), (Some(960_000.0), Some(1_920_000.0)));
                let path = &view.peers[0].paths[0];
                assert_eq!((path.series.as_str(), path.queue_ms), ("wan1", Some(1.0)));
                assert!((path.loss_now.unwrap() - 25.0).abs() < 0.1, "{path:?}");
            }
        }
        let anew = looks.view(&snapshot("client", 10, 5, 1), 0.0);
        assert_eq!(rates(&anew), (None, None), "a daemon that began anew has no rate yet");
    }

    #[test]
    fn a_page_is_told_what_carries_a_path_of_its_air_and_of_the_gateway() {
        let mut now = snapshot("client", 0, 1, 1);
        let here = vec!["10.2.2.2:4500".parse().unwrap()];
        let others = vec!["10.2.1.2:4500".into()];
        now.gateways = Some(crate::report::gateways::Gateways { here, others, moved: None });
        now.peers[0].paths[0].carrier = "tls".into();
        now.peers.push(crate::report::air::tests::peer(&[("roam0", 206, 6, false)]));
        let view = serde_json::to_value(Looks::default().view(&now, 0.0)).unwrap();
        let [wan, roam] = [0, 1].map(|n| &view["peers"][n]["paths"][0]);
        assert_eq!((&wan["carrier"], &wan["air"]), (&serde_json::json!("tls"), &serde_json::Value::Null));
        assert_eq!(roam["air"], "206 us a packet");
        assert_eq!(view["gateway"], "was at 10.2.2.2:4500; other endpoints: 10.2.1.2:4500");
    }

    #[test]
    fn a_page_is_told_how_busy_each_worker_was_in_the_last_second() {
        let mut looks = Looks::default();
        let mut busy = |ms: u64, processor_s: f64| {
            let worker = |processor_s| WorkerStatus { sessions: 1, processor_s, ..WorkerStatus::default() };
            let workers = vec![worker(processor_s), worker(9.0)];
            let view = looks.view(&Snapshot { workers, ..snapshot("gateway", ms, 0, 2) }, 0.0);
            [0, 1].map(|n: usize| (view.workers[n].sessions, view.workers[n].busy))
        };
        assert_eq!(busy(0, 1.0), [(1, None), (1, None)]);
        assert_eq!(busy(1000, 1.5), [(1, Some(50.0)), (1, Some(0.0))]);
        assert_eq!(busy(2000, 2.5), [(1, Some(100.0)), (1, Some(0.0))]);
        let alone = looks.view(&snapshot("gateway", 3000, 0, 2), 0.0);
        assert!(alone.workers.is_empty());
    }

    #[test]
    fn a_page_is_told_of_so_many_sessions_only() {
        let view = Looks::default().view(&snapshot("gateway", 0, 1, 2000), 0.0);
        assert_eq!((view.peers.len(), view.left_out), (PEERS, 2000 - PEERS));
        assert!(view.peers.iter().all(|p| p.up), "those that are up go first");
        assert_eq!(view.peers[0].paths[0].series, "3");
        assert!(serde_json::to_vec(&view).unwrap().len() < 256 * 1024);
    }
}
