//! What bonds carry, from their daemons and their devices. It is asked for many times a second, so no program is started for it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ropewalk_scenario::report::{BondRow, PathRow};
use serde::Deserialize;

use super::{Bonds, ENDS, Running, backhaul};
use crate::Namespace;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a daemon answers at the socket in its state directory.
#[derive(Deserialize)]
struct Answer {
    status: Status,
}

/// What `ropewalk status --json` says, as much as a report has of it.
#[derive(Clone, Debug, Default, Deserialize)]
struct Status {
    peers: Vec<Peer>,
    /// An access point that may leave its channel.
    channel_switcher: Option<ChannelSwitcher>,
}

/// Its searches.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct ChannelSwitcher {
    searches: u64,
    switches: u64,
    last_probes: Option<u32>,
    last_before_bps: Option<f64>,
    last_after_bps: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Peer {
    paths: Vec<PeerPath>,
    codel_drops: u64,
    overflow_drops: u64,
    resent: u64,
    waited: Option<u64>,
    wait_median_ms: Option<f64>,
    wait_p99_ms: Option<f64>,
    #[serde(skip)]
    channel_switcher: Option<ChannelSwitcher>,
}

#[derive(Clone, Debug, Deserialize)]
struct PeerPath {
    id: u8,
    name: String,
    state: String,
    rtt_ms: Option<f64>,
    sent_bytes: u64,
    lost: u64,
}

/// What came out of the tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Received {
    bytes: u64,
    packets: u64,
}

/// Counters of both ends of all bonds.
#[derive(Clone, Debug, Default)]
pub(in crate::live) struct BondCounts(Vec<[(Peer, Received); 2]>);

/// Asks the daemon with this state directory how it does.
fn status(state: &Path) -> Option<Status> {
    let mut stream = UnixStream::connect(state.join("control.sock")).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(b"{\"ask\":\"status\"}\n").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(serde_json::from_str::<Answer>(&line).ok()?.status)
}

/// What a device of a namespace has received. A thread inside sees it in its own /proc.
fn received(inside: &Namespace, device: &str) -> Option<Received> {
    let text = inside.run(|| std::fs::read_to_string("/proc/thread-self/net/dev")).ok()?.ok()?;
    received_in(&text, device)
}

/// A device's line of /proc/net/dev: `name: bytes packets …`.
fn received_in(text: &str, device: &str) -> Option<Received> {
    let line = text.lines().find_map(|l| l.trim().strip_prefix(device)?.strip_prefix(':'))?;
    let mut numbers = line.split_whitespace().map_while(|n| n.parse().ok());
    Some(Received { bytes: numbers.next()?, packets: numbers.next()? })
}

impl Bonds {
    /// All counters now. An end that does not answer counts as nothing.
    pub(in crate::live) fn counts(&self) -> BondCounts {
        let end = |running: &Running, i: usize| {
            let status = status(&running.states[i]).unwrap_or_default();
            let peer = status
                .peers
                .into_iter()
                .next()
                .map(|p| Peer { channel_switcher: status.channel_switcher, ..p });
            let device = received(running.nodes[i].namespace(), &running.name);
            (peer.unwrap_or_default(), device.unwrap_or_default())
        };
        BondCounts(self.all.iter().map(|r| [end(r, 0), end(r, 1)]).collect())
    }

    /// The tables `bond` and `path` of what happened between two times, so many seconds apart.
    pub(in crate::live) fn tables(
        &self,
        from: &BondCounts,
        to: &BondCounts,
        seconds: f64,
    ) -> (Vec<BondRow>, Vec<PathRow>) {
        let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 };
        let (mut bonds, mut paths) = (Vec::new(), Vec::new());
        for ((running, from), to) in self.all.iter().zip(&from.0).zip(&to.0) {
            for (end, end_name) in ENDS.iter().enumerate() {
                let ((old, _), (new, _)) = (&from[end], &to[end]);
                let ((then, before), (now, after)) = (&from[1 - end], &to[1 - end]);
                let bytes = after.bytes.saturating_sub(before.bytes);
                let drops = |p: &Peer| p.codel_drops + p.overflow_drops;
                bonds.push(BondRow {
                    name: format!("{}:{end_name}", running.name),
                    from: running.nodes[end].name().to_owned(),
                    delivered: after.packets.saturating_sub(before.packets),
                    bytes,
                    carried_mbps: mbps(bytes),
                    dropped: drops(new).saturating_sub(drops(old)),
                    resent_chunks: new.resent.saturating_sub(old.resent),
                    waited: now.waited.map(|n| n.saturating_sub(then.waited.unwrap_or(0))),
                    wait_median_ms: now.wait_median_ms,
                    wait_p99_ms: now.wait_p99_ms,
                    searches: new.channel_switcher.map(|m| m.searches as f64),
                    switches: new.channel_switcher.map(|m| m.switches as f64),
                    probes: new.channel_switcher.and_then(|m| m.last_probes).map(f64::from),
                    before_mbps: new.channel_switcher.and_then(|m| m.last_before_bps).map(|bps| bps / 1e6),
                    after_mbps: new.channel_switcher.and_then(|m| m.last_after_bps).map(|bps| bps / 1e6),
                    ..BondRow::default()
                });
                paths.extend(running.paths(end, [old, new], mbps));
            }
        }
        (bonds, paths)
    }
}

impl Running {
    fn paths(&self, end: usize, [old, new]: [&Peer; 2], mbps: impl Fn(u64) -> f64) -> Vec<PathRow> {
        let since = |p: &PeerPath| {
            let before = old.paths.iter().find(|q| q.id == p.id);
            let of = |f: fn(&PeerPath) -> u64| f(p).saturating_sub(before.map_or(0, f));
            (of(|p| p.sent_bytes), of(|p| p.lost))
        };
        let all: u64 = new.paths.iter().map(|p| since(p).0).sum();
        let row = |p: &PeerPath| {
            let (bytes, lost) = since(p);
            let interface = self.interface(end, p);
            PathRow {
                name: format!("{}:{}:{interface}", self.name, ENDS[end]),
                bond: self.name.clone(),
                from: self.nodes[end].name().to_owned(),
                state: p.state.clone(),
                sent_bytes: bytes,
                sent_mbps: mbps(bytes),
                lost,
                rtt_ms: p.rtt_ms,
                share_percent: if all > 0 { 100.0 * bytes as f64 / all as f64 } else { 0.0 },
                limit: None,
                client_queue: None,
            }
        };
        new.paths.iter().map(row).collect()
    }
}

impl Running {
    /// The client's interface of a path. An access point's numbers are its own: there the path is found by the radio that its socket is on.
    fn interface(&self, end: usize, path: &PeerPath) -> &str {
        let by_number = || self.bond.paths.get(usize::from(path.id));
        let found = match backhaul::is_backhaul(&self.bond) {
            true => self.bond.paths.iter().find(|q| match end {
                0 => q.interface == path.name,
                _ => q.to.as_ref().unwrap_or(&q.interface) == &path.name,
            }),
            false => by_number(),
        };
        found.map_or("?", |q| &q.interface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_whole_name() {
        let text = "Inter-|   Receive\n face |bytes    packets errs\n   rw01: 9 9 0\n    rw0: 1200 3 0 0 0\n";
        assert_eq!(received_in(text, "rw0"), Some(Received { bytes: 1200, packets: 3 }));
        assert_eq!(received_in(text, "rw"), None);
    }
}
