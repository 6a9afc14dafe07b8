//! The snapshot as a user wants to read it.

use super::workers::WorkerStatus;
use super::{Path, Peer, Snapshot};
use ratatui::text::Span;
use std::fmt::Write;

/// What `ropewalk status` prints. With an earlier snapshot there are rates.
pub(crate) fn render(earlier: Option<&Snapshot>, now: &Snapshot) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} {}, up {}", now.role, now.device, time(now.uptime_s));
    workers(&mut out, earlier, now);
    if now.peers.is_empty() {
        out.push_str("nobody is connected\n");
    }
    for peer in &now.peers {
        let before = earlier.and_then(|e| e.peers.iter().find(|p| p.key == peer.key));
        let seconds = earlier.map_or(0.0, |e| now.clock_ns.saturating_sub(e.clock_ns) as f64 / 1e9);
        out.push('\n');
        session(&mut out, now, peer);
        paths(&mut out, before, peer, seconds);
        air(&mut out, peer);
        if now.role == "ap" || now.role == "repeater" {
            backhaul(&mut out, peer);
        }
        if now.role != "client" {
            networks(&mut out, peer);
        }
        queues(&mut out, peer);
    }
    if let Some(lan) = &now.lan {
        let _ = writeln!(out, "\n{}", lan.line());
    }
    if let Some(channel_switcher) = &now.channel_switcher {
        let _ = writeln!(out, "\ndedicated radio: {}", channel_switcher.line());
    }
    for (name, why) in now.uplinks.iter().filter_map(|u| Some((&u.name, u.obstacle.as_ref()?))) {
        let _ = writeln!(out, "\n{name}: {why}");
    }
    if now.draining {
        out.push_str("\ndraining: no sessions are taken; `ropewalk drain --off` ends that\n");
    }
    if let Some(fleet) = &now.fleet {
        let _ = write!(out, "\n{}", fleet.lines());
    }
    for note in &now.notes {
        let _ = writeln!(out, "\nnote: {note}");
    }
    out
}

/// How busy each of a gateway's workers is.
fn workers(out: &mut String, earlier: Option<&Snapshot>, now: &Snapshot) {
    if now.workers.is_empty() {
        return;
    }
    let line = |(number, worker): (usize, &WorkerStatus)| {
        let before = earlier.and_then(|e| Some((e.clock_ns, e.workers.get(number)?)));
        let busy = before.map_or_else(String::new, |(since, before)| {
            let seconds = now.clock_ns.saturating_sub(since) as f64 / 1e9;
            format!(" ({:.0} % busy)", worker.busy_percent(before, seconds))
        });
        format!("{}{busy}", worker.sessions)
    };
    let all: Vec<String> = now.workers.iter().enumerate().map(line).collect();
    let _ = writeln!(out, "workers: {}, with sessions: {}", all.len(), all.join(", "));
}

fn session(out: &mut String, now: &Snapshot, p: &Peer) {
    let state = if p.up { "connected" } else { "not connected" };
    let inside: Vec<String> = p.inside.iter().map(ToString::to_string).collect();
    let _ = write!(out, "{}: {state}", p.name);
    if !inside.is_empty() {
        let _ = write!(out, ", {}", inside.join(" and "));
    }
    if let Some(device) = p.device.as_ref().filter(|d| **d != now.device) {
        let _ = write!(out, ", device {device}");
    }
    if let Some(cipher) = &p.cipher {
        let _ = write!(out, ", {cipher}");
    }
    if p.silent_s >= 1.0 && p.up {
        let _ = write!(out, ", last heard {} ago", time(p.silent_s));
    }
    out.push('\n');
    if let Some(line) = now.gateways.as_ref().and_then(|g| g.line(p.up)) {
        let _ = writeln!(out, "  {line}");
    }
    if let Some(quota) = &p.quota {
        let _ = writeln!(out, "  quota {}", quota.line());
    }
    if let Some(granted) = &p.granted {
        let _ = writeln!(out, "  granted {}", granted.line());
    }
}

fn paths(out: &mut String, before: Option<&Peer>, peer: &Peer, seconds: f64) {
    if peer.paths.is_empty() {
        out.push_str("  no path\n");
        return;
    }
    let titles = ["path", "state", "class", "rtt", "up", "down", "loss", "carried"].map(String::from);
    let rows = peer.paths.iter().map(|p| row(before, p, seconds));
    columns(out, "  ", &[titles].into_iter().chain(rows).collect::<Vec<_>>());
    for path in peer.paths.iter().filter(|p| peer.is_beside_tls(p)) {
        let _ = writeln!(out, "  {} goes by TLS: packets of 1280 bytes do not pass by UDP", path.name);
    }
    for (name, link) in peer.paths.iter().filter_map(|p| Some((&p.name, p.link.as_ref()?))) {
        let _ = writeln!(out, "  link of {name} ({}): {}", link.source, link.line());
    }
}

/// What is known of the air under paths.
fn air(out: &mut String, peer: &Peer) {
    for (name, air) in peer.paths.iter().filter_map(|p| Some((&p.name, peer.air_of(p)?))) {
        let _ = writeln!(out, "  air of {name}: {air}");
    }
}

/// Columns of a terminal that a text takes: letters of some scripts take two.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Rows of cells as columns, the first row the titles.
pub(crate) fn columns<const N: usize>(out: &mut String, indent: &str, rows: &[[String; N]]) {
    let widths: [usize; N] =
        std::array::from_fn(|i| rows.iter().map(|row| width(&row[i])).max().unwrap_or(0));
    for row in rows {
        let padded = |(cell, most): (&String, &usize)| format!("{cell}{}", " ".repeat(most - width(cell)));
        let cells: Vec<String> = row.iter().zip(&widths).map(padded).collect();
        let _ = writeln!(out, "{indent}{}", cells.join("  ").trim_end());
    }
}

/// What the links of a backhaul hold, and the queue behind it.
fn backhaul(out: &mut String, p: &Peer) {
    for path in &p.paths {
        let _ = writeln!(
            out,
            "  {}{} holds {} of {} datagrams, completes {:.0}/s by {}",
            path.name,
            if path.completed.shared { " (shared)" } else { "" },
            path.completed.outstanding,
            path.completed.threshold,
            path.completed.completed_pps,
            path.completed.completions
        );
    }
    if let Some(backhaul) = &p.backhaul {
        let _ = writeln!(out, "  clients: {}", backhaul.line());
    }
}

/// What lies behind the other end.
fn networks(out: &mut String, p: &Peer) {
    if !p.networks.is_empty() {
        let networks: Vec<String> = p.networks.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  networks behind it: {}", networks.join(" "));
    }
}

fn row(before: Option<&Peer>, p: &Path, seconds: f64) -> [String; 8] {
    let old = before.and_then(|b| b.paths.iter().find(|o| o.id == p.id && o.remote == p.remote));
    let rate = |now: u64, then: Option<u64>| match then {
        Some(then) if seconds > 0.0 && now >= then => bits((now - then) as f64 * 8.0 / seconds),
        _ => "-".into(),
    };
    let class = match p.allowance {
        Some(left) => format!("{}, {} left", p.class, bytes(left)),
        None => p.class.clone(),
    };
    [
        p.shown(),
        p.state.clone(),
        class,
        p.rtt_ms.map_or("-".into(), |ms| format!("{ms:.1} ms")),
        rate(p.traffic.sent_bytes, old.map(|o| o.traffic.sent_bytes)),
        rate(p.traffic.received_bytes, old.map(|o| o.traffic.received_bytes)),
        loss(p),
        format!("{} out, {} in", bytes(p.traffic.sent_bytes), bytes(p.traffic.received_bytes)),
    ]
}

/// Share of the datagrams whose fate is known.
pub(crate) fn loss(p: &Path) -> String {
    let lost = p.traffic.lost.saturating_sub(p.traffic.spurious);
    match lost + p.traffic.acked {
        0 => "-".into(),
        known => format!("{:.2} %", lost as f64 * 100.0 / known as f64),
    }
}

fn queues(out: &mut String, p: &Peer) {
    let _ = writeln!(
        out,
        "  queue {} in {} packets, waits {:.1} ms; {} dropped, {} marked",
        bytes(p.queue.queue_bytes),
        p.queue.queue_packets,
        p.queue.queue_wait_ms,
        p.queue.codel_drops + p.queue.overflow_drops,
        p.queue.codel_marks
    );
    let _ = writeln!(
        out,
        "  order {} held, {} flows with gaps, waits {:.1} ms; {} sent again, {} given up, {} late",
        bytes(p.order.held_bytes),
        p.order.gaps,
        p.order.wait_median_ms.unwrap_or(0.0),
        p.resent,
        p.given_up + p.order.abandoned,
        p.order.late
    );
}

/// `1.5 MB`.
pub(crate) fn bytes(n: u64) -> String {
    scaled(n as f64, ["B", "kB", "MB", "GB", "TB"])
}

/// `20.1 Mb/s`.
pub(crate) fn bits(n: f64) -> String {
    scaled(n, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"])
}

fn scaled(mut n: f64, units: [&str; 5]) -> String {
    let mut at = 0;
    while n >= 999.5 && at + 1 < units.len() {
        n /= 1000.0;
        at += 1;
    }
    if at == 0 || n >= 99.95 { format!("{n:.0} {}", units[at]) } else { format!("{n:.1} {}", units[at]) }
}

/// `3 d 4 h`, `2 min 10 s`, `5 s`.
pub(crate) fn time(seconds: f64) -> String {
    let s = seconds as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        3600..86_400 => format!("{} h {} min", s / 3600, s % 3600 / 60),
        _ => format!("{} d {} h", s / 86_400, s % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::air::Air;
    use crate::report::link::Link;
    use crate::report::{Queue, Traffic};

    #[test]
    fn a_status_reads_like_this() {
        let path = |id: u8, sent: u64| Path {
            id,
            name: format!("wan{id}"),
            state: "active".into(),
            class: if id == 1 { "active".into() } else { "metered".into() },
            allowance: (id == 2).then_some(1_500_000_000),
            rtt_ms: Some(20.25),
            traffic: Traffic {
                sent_bytes: sent,
                received_bytes: sent / 2,
                acked: 300,
                lost: 3,
                spurious: 1,
                ..Traffic::default()
            },
            carrier: if id == 1 { "udp".into() } else { "tls".into() },
            link: (id == 2).then(|| Link { source: "qdisc".into(), delivered: 9, ..Link::default() }),
            air: (id == 2).then_some(Air { packet_time_us: 640, channel: 6, rests: true }),
            ..Path::default()
        };
        let at = |ms: u64, sent: u64| Snapshot {
            role: "client".into(),
            device: "rw0".into(),
            uptime_s: 3725.0,
            clock_ns: ms * 1_000_000,
            peers: vec![Peer {
                name: "gateway".into(),
                up: true,
                inside: vec![[10, 77, 0, 2].into()],
                cipher: Some("AES-128-GCM".into()),
                paths: vec![path(1, sent), path(2, 0)],
                queue: Queue {
                    queue_bytes: 64_000,
                    queue_packets: 3,
                    queue_wait_ms: 4.2,
                    ..Queue::default()
                },
                ..Peer::default()
            }],
            notes: vec!["something is slow".into()],
            ..Snapshot::default()
        };
        let text = render(Some(&at(0, 1_000_000)), &at(250, 1_625_000));
        let want = "\
client rw0, up 1 h 2 min

gateway: connected, 10.77.0.2, AES-128-GCM
  path         state   class                 rtt      up         down       loss    carried
  wan1         active  active                20.2 ms  20.0 Mb/s  10.0 Mb/s  0.66 %  1.6 MB out, 812 kB in
  wan2 by TLS  active  metered, 1.5 GB left  20.2 ms  0 b/s      0 b/s      0.66 %  0 B out, 0 B in
  link of wan2 (qdisc): 0 packets (0 B) wait; 9 delivered, 0 failed, 0 retries
  air of wan2: 640 us a packet, rests: a better path fills the channel
  queue 64.0 kB in 3 packets, waits 4.2 ms; 0 dropped, 0 marked
  order 0 B held, 0 flows with gaps, waits 0.0 ms; 0 sent again, 0 given up, 0 late

note: something is slow
";
        assert_eq!(text, want, "\n{text}");
    }

    #[test]
    fn a_client_of_several_gateways_says_at_which_it_is() {
        use crate::report::gateways::Gateways;
        let here = vec!["10.2.2.2:4500".parse().unwrap()];
        let gateways = Some(Gateways { here, others: vec!["10.2.1.2:4500".into()], moved: None });
        let peers = vec![Peer { name: "gateway".into(), up: true, ..Peer::default() }];
        let text = render(None, &Snapshot { role: "client".into(), gateways, peers, ..Snapshot::default() });
        let lines = "gateway: connected\n  at 10.2.2.2:4500; other endpoints: 10.2.1.2:4500\n  no path\n";
        assert!(text.contains(lines), "{text}");
    }

    #[test]
    fn networks_behind_clients_are_said_at_both_ends() {
        use crate::report::LanStatus;
        let network: ipnet::IpNet = "2001:db8:100:5::/64".parse().unwrap();
        let peers = vec![Peer { name: "alice".into(), networks: vec![network], ..Peer::default() }];
        let text = render(None, &Snapshot { role: "gateway".into(), peers, ..Snapshot::default() });
        assert!(text.contains("\n  networks behind it: 2001:db8:100:5::/64\n"), "{text}");
        let lan = |network, why| Some(LanStatus { interface: "br-lan".into(), network, why });
        for (lan, line) in [
            (lan(Some(network), None), "\nnetwork 2001:db8:100:5::/64 at br-lan\n"),
            (lan(None, Some("it is off".into())), "\nno network at br-lan: it is off\n"),
            (lan(None, None), "\nno network at br-lan yet\n"),
        ] {
            let text = render(None, &Snapshot { role: "client".into(), lan, ..Snapshot::default() });
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_client_over_its_quota_and_what_it_is_granted_are_said() {
        use crate::report::quota::tests::quota;
        let quota = Some(quota(100_000_000, ropewalk_fleet::Period::Month, Some(64_000)));
        let granted = Some(crate::report::grants::tests::granted());
        let peers = vec![Peer { name: "alice".into(), up: true, quota, granted, ..Peer::default() }];
        let text = render(None, &Snapshot { role: "gateway".into(), peers, ..Snapshot::default() });
        let line = "alice: connected\n  quota 100 MB of 100 MB this month, slowed to 64kbit until 2026-12-01\n  granted port tcp 8080 to 80, tcp 22; group home; cap 20Mbit down; exit wan2\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn columns_stand_below_each_other_whatever_the_script() {
        let mut out = String::new();
        let rows = [["path", "state"], ["有線一", "up"], ["wan1", "down"]].map(|row| row.map(String::from));
        columns(&mut out, "", &rows);
        assert_eq!(out, "path    state\n有線一  up\nwan1    down\n");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1000), bytes(99_960), bytes(1 << 50)],
            ["0 B", "999 B", "1.0 kB", "100 kB", "1126 TB"]
        );
        assert_eq!([time(5.9), time(61.0), time(90_000.0)], ["5 s", "1 min 1 s", "1 d 1 h"]);
    }
}
