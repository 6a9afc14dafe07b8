//! The tables of a report, from the difference of two snapshots.

use super::snapshot::{LinkCounts, PathCounts, Snapshot, StationCounts};
use super::{CpuCounts, FlowCounts, FlowRecord};
use crate::app::{SubflowCounts, psnr_db};
use crate::build::Built;
use crate::net::{IfCounters, Node, interface_of};
use crate::packet::IfIndex;
use crate::roam::Figures;
use ropewalk_air::wifi::RadioStats;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Flow, FlowKind};
use ropewalk_scenario::report::{
    BondRow, BunchRow, CpuRow, FlowRow, InterfaceRow, LinkRow, PathRow, RadioRow, Report, RoamRow, Row,
    Series, StationRow, SubflowRow, TableVisitor,
};

/// Figures that go into the time series: a series of what only a whole run can tell would be of no use.
const SERIES: [(&str, &str); 20] = [
    ("flow", "goodput_mbps"),
    ("flow", "rtt_ms"),
    ("flow", "delay_ms"),
    ("flow", "retransmissions"),
    ("flow", "cwnd_bytes"),
    ("flow", "quality_mbps"),
    ("subflow", "goodput_mbps"),
    ("subflow", "rtt_ms"),
    ("subflow", "cwnd_bytes"),
    ("station", "goodput_mbps"),
    ("station", "airtime_percent"),
    ("roam", "joined_percent"),
    ("roam", "packet_ms"),
    ("radio", "busy_percent"),
    ("cpu", "busy_percent"),
    ("link", "carried_mbps"),
    ("link", "wait_ms"),
    ("path", "sent_mbps"),
    ("path", "limit"),
    ("path", "client_queue"),
];

/// What happened between two snapshots.
struct Span<'a> {
    built: &'a Built,
    from: &'a Snapshot,
    to: &'a Snapshot,
    seconds: f64,
}

impl Span<'_> {
    fn mbps(&self, bytes: u64) -> f64 {
        mbps(bytes, self.seconds)
    }
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 }
}

/// Nanoseconds as per cent of a time.
fn share(ns: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { ns as f64 / seconds / 1e7 } else { 0.0 }
}

/// All tables.
pub fn tables(built: &Built, scenario: &Scenario, from: &Snapshot, to: &Snapshot) -> Report {
    let span = Span { built, from, to, seconds: (to.at - from.at).as_secs_f64() };
    Report {
        flow: scenario.flow.iter().enumerate().map(|(i, f)| flow(&span, i, f)).collect(),
        subflow: subflows(&span, scenario),
        station: stations(&span),
        roam: roaming(&span),
        radio: radios(&span),
        cpu: processors(&span),
        interface: interfaces(&span),
        link: links(&span),
        bond: bonds(&span, scenario),
        path: paths(&span, scenario),
        bunch: bunches(&span),
        ..Report::default()
    }
}

fn flow(span: &Span<'_>, index: usize, flow: &Flow) -> FlowRow {
    let record = &span.built.world.flows[span.built.flows[index].id.index()];
    flow_row(flow, record, &span.to.flows[index].since(&span.from.flows[index]), span.seconds)
}

/// A flow's row, from its record and from what it counted in so many seconds. Whoever makes the packets, the simulator or the lab, tells
/// them in this form.
pub fn flow_row(flow: &Flow, record: &FlowRecord, counts: &FlowCounts, seconds: f64) -> FlowRow {
    let c = counts;
    let only = |kinds: &[FlowKind]| kinds.contains(&flow.kind);
    let stream = only(&[FlowKind::Tcp, FlowKind::Mptcp, FlowKind::Request, FlowKind::Adaptive]);
    let numbered = only(&[FlowKind::Udp, FlowKind::Video, FlowKind::Ping]);
    let lost = c.sent.saturating_sub(c.received);
    let responses = only(&[FlowKind::Request]);
    let completion = record.finished.zip(record.started).map(|(end, start)| (end - start).as_secs_f64());
    let video = only(&[FlowKind::Video]) && c.frames > 0;
    FlowRow {
        name: flow.name.clone(),
        kind: flow.kind.name().to_owned(),
        from: flow.from.clone(),
        to: flow.to.clone(),
        bytes: c.received_bytes,
        goodput_mbps: mbps(c.received_bytes, seconds),
        completion_s: completion,
        sent_packets: c.sent,
        loss_percent: (numbered && c.sent > 0).then(|| 100.0 * lost as f64 / c.sent as f64),
        late_percent: flow.deadline.filter(|_| c.sent > 0).map(|deadline| {
            let late = c.sent.saturating_sub(record.delay.within(deadline));
            100.0 * late as f64 / c.sent as f64
        }),
        retransmissions: stream.then_some(c.retransmissions),
        timeouts: stream.then_some(c.timeouts),
        cwnd_bytes: only(&[FlowKind::Tcp]).then(|| c.cwnd_bytes()).flatten(),
        rtt_ms: c.rtt_ms(),
        rtt_min_ms: record.rtt.least_ms(),
        rtt_p99_ms: record.rtt.percentile_ms(99.0),
        delay_ms: c.delay_ms(),
        delay_p99_ms: record.delay.percentile_ms(99.0),
        gap_ms: (!record.longest_gap.is_zero()).then_some(record.longest_gap.as_secs_f64() * 1e3),
        reordered: c.reordered,
        responses: responses.then_some(c.responses),
        response_ms: responses.then(|| record.completion.percentile_ms(50.0)).flatten(),
        response_p99_ms: responses.then(|| record.completion.percentile_ms(99.0)).flatten(),
        psnr_db: video.then(|| psnr_db(1.0 - c.frames_good as f64 / c.frames as f64)),
        quality_mbps: (c.segments > 0).then(|| c.bitrate_sum as f64 / c.segments as f64 / 1e6),
        stalls: only(&[FlowKind::Adaptive]).then_some(c.freezes),
        stall_s: only(&[FlowKind::Adaptive]).then(|| c.frozen_ns as f64 / 1e9),
    }
}

fn subflows(span: &Span<'_>, scenario: &Scenario) -> Vec<SubflowRow> {
    let mut rows = Vec::new();
    for (i, flow) in scenario.flow.iter().enumerate() {
        for now in &span.to.subflows[i] {
            let same = |s: &&SubflowCounts| (s.local, s.remote) == (now.local, now.remote);
            let before = span.from.subflows[i].iter().find(same).copied();
            let zero =
                SubflowCounts { bytes: 0, retransmissions: 0, timeouts: 0, rtt_ns: 0, rtts: 0, ..*now };
            let before = before.unwrap_or(zero);
            let interface = span.built.flows[i].interface_of(span.built, now);
            let (bytes, rtts) = (now.bytes - before.bytes, now.rtts - before.rtts);
            rows.push(SubflowRow {
                name: format!("{}:{interface}", flow.name),
                flow: flow.name.clone(),
                interface,
                bytes,
                goodput_mbps: span.mbps(bytes),
                retransmissions: now.retransmissions - before.retransmissions,
                timeouts: now.timeouts - before.timeouts,
                rtt_ms: (rtts > 0).then(|| (now.rtt_ns - before.rtt_ns) as f64 / rtts as f64 / 1e6),
                cwnd_bytes: now.window,
            });
        }
    }
    rows
}

fn interfaces(span: &Span<'_>) -> Vec<InterfaceRow> {
    let all = span.built.names.iter().zip(span.from.interfaces.iter().zip(&span.to.interfaces));
    all.map(|(name, (from, to))| interface_row(name, &to.since(from))).collect()
}

/// The row of an interface (`node:interface`), from what has been added to its counters.
pub fn interface_row(name: &str, c: &IfCounters) -> InterfaceRow {
    InterfaceRow {
        name: name.to_owned(),
        sent: c.sent,
        sent_bytes: c.sent_bytes,
        received: c.received,
        received_bytes: c.received_bytes,
        dropped: c.dropped,
    }
}

fn stations(span: &Span<'_>) -> Vec<StationRow> {
    let Some(radios) = &span.built.world.net.radios else { return Vec::new() };
    let mut rows = Vec::new();
    for (i, now) in span.to.stations.iter().enumerate() {
        let before = span.from.stations.get(i).map_or(&[][..], |b| b);
        let from = &span.built.names[radios.interfaces[i].index()];
        for n in now {
            let b = before.iter().find(|b| b.to == n.to).copied();
            let to = match n.to.is_group() {
                true => Some("*"),
                false => span.built.names.get(interface_of(n.to).index()).map(String::as_str),
            };
            rows.extend(to.and_then(|to| station_row([from, to], n, b, span.seconds)));
        }
    }
    rows
}

/// The row of packets from one interface on air to another (`*`: everybody), from two counts of so many seconds apart. None if nothing
/// was ever sent.
pub fn station_row(
    [from, to]: [&str; 2],
    now: &StationCounts,
    before: Option<StationCounts>,
    seconds: f64,
) -> Option<StationRow> {
    let (p, h) = (&now.peer, &now.heard);
    let (q, g) = before.map(|b| (b.peer, b.heard)).unwrap_or_default();
    if p.mpdus_sent == 0 && p.dropped_packets == 0 && p.expired_packets == 0 {
        return None;
    }
    let (delivered, failed) =
        (p.delivered_packets - q.delivered_packets, p.failed_packets - q.failed_packets);
    let (sent, retries) = (p.mpdus_sent - q.mpdus_sent, p.retries - q.retries);
    let (acknowledged, received) = (h.acknowledged - g.acknowledged, h.received - g.received);
    let mean = |sum: u64, n: u64| (n > 0).then(|| sum as f64 / n as f64);
    Some(StationRow {
        name: format!("{from}>{to}"),
        from: from.to_owned(),
        to: to.to_owned(),
        delivered,
        bytes: p.delivered_bytes - q.delivered_bytes,
        goodput_mbps: mbps(p.delivered_bytes - q.delivered_bytes, seconds),
        failed,
        dropped: p.dropped_packets - q.dropped_packets,
        expired: p.expired_packets - q.expired_packets,
        attempts: mean(sent, sent - retries).unwrap_or(0.0),
        airtime_percent: share(p.airtime_tx_ns - q.airtime_tx_ns, seconds),
        rate_mbps: mean(h.rate_bps - g.rate_bps, acknowledged).map(|bps| bps / 1e6),
        signal_dbm: mean(h.minus_mdbm - g.minus_mdbm, received).map(|mdb| -mdb / 1e3),
    })
}

fn roaming(span: &Span<'_>) -> Vec<RoamRow> {
    let all = span.from.roaming.iter().flatten().zip(span.to.roaming.iter().flatten());
    let row = |((interface, a), (_, b)): (&(IfIndex, Figures), &(IfIndex, Figures))| {
        let windows = b.windows - a.windows;
        let mean = |sum: f64, scale: f64| (windows > 0).then(|| scale * sum / windows as f64);
        RoamRow {
            name: span.built.names[interface.index()].clone(),
            joins: b.joins - a.joins,
            joined_percent: share(b.joined_ns - a.joined_ns, span.seconds),
            windows,
            delivery_percent: mean(b.delivery - a.delivery, 100.0),
            delivered_percent: mean(b.truth - a.truth, 100.0),
            error_points: mean(b.error - a.error, 100.0),
            packet_ms: mean(b.packet_s - a.packet_s, 1e3),
            printed_ms: mean(b.printed_s - a.printed_s, 1e3),
        }
    };
    all.map(row).collect()
}

fn radios(span: &Span<'_>) -> Vec<RadioRow> {
    let Some(radios) = &span.built.world.net.radios else { return Vec::new() };
    let names = span.built.radios.iter().enumerate();
    let row = |(i, name): (usize, &String)| {
        radio_row(name, radios.channel(i), [&span.from.radios[i], &span.to.radios[i]], span.seconds)
    };
    names.map(row).collect()
}

/// The row of a radio (`node:radio`) on this channel, from two counts of so many seconds apart.
pub fn radio_row(name: &str, channel: String, [a, b]: [&RadioStats; 2], seconds: f64) -> RadioRow {
    let broken = |r: &RadioStats| r.frames_broken;
    RadioRow {
        name: name.to_owned(),
        channel,
        sending_percent: share(b.airtime_tx_ns - a.airtime_tx_ns, seconds),
        busy_percent: share(b.busy_ns - a.busy_ns, seconds),
        frames: b.ppdus_sent - a.ppdus_sent,
        unanswered: b.answers_missing - a.answers_missing,
        heard: (b.frames_heard + broken(b)) - (a.frames_heard + broken(a)),
        garbled: broken(b) - broken(a),
    }
}

fn processors(span: &Span<'_>) -> Vec<CpuRow> {
    let nodes = span.built.world.net.nodes.iter().filter(|n| n.cpu.is_some());
    let counts = span.from.cpus.iter().zip(&span.to.cpus).map(|(from, to)| to.since(from));
    let row = |(node, c): (&Node, CpuCounts)| CpuRow {
        name: node.name.clone(),
        packets: c.packets,
        busy_percent: share(c.busy_ns, span.seconds),
        interrupts: c.interrupts,
        dropped: c.dropped,
        wait_ms: (c.packets > 0).then(|| c.wait_ns as f64 / c.packets as f64 / 1e6),
    };
    nodes.zip(counts).map(row).collect()
}

fn links(span: &Span<'_>) -> Vec<LinkRow> {
    let mut rows = Vec::new();
    for (name, cable) in span.built.links.iter().zip(&span.built.world.net.cables) {
        for (way, end) in WAYS.into_iter().zip(cable.ends) {
            let direction = cable.first + usize::from(way == WAYS[1]);
            let counts = [&span.from.links[direction], &span.to.links[direction]];
            let wait = span.built.world.net.directions[direction].wait.percentile_ms(99.0);
            let end = &span.built.names[end.index()];
            rows.push(link_row(format!("{name}:{way}"), end, counts, wait, span.seconds));
        }
    }
    rows
}

/// Names of a link's directions.
pub const WAYS: [&str; 2] = ["forward", "back"];

/// The row of a direction of a link (`LINK:forward`) that `sender` feeds, from two counts of so many seconds apart.
pub fn link_row(
    name: String,
    sender: &str,
    [from, to]: [&LinkCounts; 2],
    wait_p99_ms: Option<f64>,
    seconds: f64,
) -> LinkRow {
    let (a, b) = (&from.link, &to.link);
    let (delivered, aqm) = (b.packets_out - a.packets_out, b.dropped_aqm - a.dropped_aqm);
    LinkRow {
        name,
        from: sender.to_owned(),
        delivered,
        bytes: b.bytes_out - a.bytes_out,
        carried_mbps: mbps(b.bytes_out - a.bytes_out, seconds),
        dropped_full: b.dropped_queue - a.dropped_queue - aqm,
        dropped_aqm: aqm,
        marked: b.marked - a.marked,
        lost: b.dropped_loss - a.dropped_loss,
        wait_ms: (delivered > 0).then(|| (to.wait_ns - from.wait_ns) as f64 / delivered as f64 / 1e6),
        wait_p99_ms,
    }
}

/// Names of the two ends of a bond.
const ENDS: [&str; 2] = ["client", "gateway"];

fn bonds(span: &Span<'_>, scenario: &Scenario) -> Vec<BondRow> {
    let mut rows = Vec::new();
    for (i, (name, bond)) in span.built.bonds.iter().enumerate() {
        let spec = &scenario.bond[i];
        for end in 0..2 {
            let other = bond.devices[1 - end].index();
            let c = span.to.interfaces[other].since(&span.from.interfaces[other]);
            let (from, to) = (&span.from.bonds[i][end], &span.to.bonds[i][end]);
            let waits = span.to.bonds[i][1 - end].waits.since(&span.from.bonds[i][1 - end].waits);
            let channel_switcher =
                bond.channel_switcher.as_ref().filter(|_| ENDS[end] == "gateway").map(|m| m.borrow());
            let last = channel_switcher.as_ref().and_then(|m| m.last());
            rows.push(BondRow {
                name: format!("{name}:{}", ENDS[end]),
                from: [&spec.client, &spec.gateway][end].clone(),
                delivered: c.received,
                bytes: c.received_bytes,
                carried_mbps: span.mbps(c.received_bytes),
                dropped: to.dropped.saturating_sub(from.dropped),
                resent_chunks: to.resent.saturating_sub(from.resent),
                waited: Some(waits.count()),
                wait_median_ms: waits.quantile(0.5).map(|d| d.as_secs_f64() * 1e3),
                wait_p99_ms: waits.quantile(0.99).map(|d| d.as_secs_f64() * 1e3),
                searches: channel_switcher.as_ref().map(|m| m.searches() as f64),
                switches: channel_switcher.as_ref().map(|m| m.moves() as f64),
                probes: last.map(|l| f64::from(l.0.probes)),
                search_ms: last.map(|l| l.1.as_secs_f64() * 1e3),
                before_mbps: last.map(|l| l.0.before_bps / 1e6),
                after_mbps: last.map(|l| l.0.after_bps / 1e6),
            });
        }
    }
    rows
}

fn paths(span: &Span<'_>, scenario: &Scenario) -> Vec<PathRow> {
    let mut rows = Vec::new();
    for (i, (name, _)) in span.built.bonds.iter().enumerate() {
        let spec = &scenario.bond[i];
        for end in 0..2 {
            let (from, to) = (&span.from.bonds[i][end], &span.to.bonds[i][end]);
            let sent = |p: &PathCounts| {
                let before = from.paths.iter().find(|q| q.id == p.id).copied().unwrap_or_default();
                (p.sent_bytes.saturating_sub(before.sent_bytes), p.lost.saturating_sub(before.lost))
            };
            let all: u64 = to.paths.iter().map(|p| sent(p).0).sum();
            for p in &to.paths {
                let (bytes, lost) = sent(p);
                let interface = spec.paths.get(usize::from(p.id)).map_or("?", |q| &q.interface);
                rows.push(PathRow {
                    name: format!("{name}:{}:{interface}", ENDS[end]),
                    bond: name.clone(),
                    from: [&spec.client, &spec.gateway][end].clone(),
                    state: p.state.to_owned(),
                    sent_bytes: bytes,
                    sent_mbps: span.mbps(bytes),
                    lost,
                    rtt_ms: p.rtt_ns.map(|ns| ns as f64 / 1e6),
                    share_percent: if all > 0 { 100.0 * bytes as f64 / all as f64 } else { 0.0 },
                    limit: p.limit,
                    client_queue: p.client_queue.map(f64::from),
                });
            }
        }
    }
    rows
}

fn bunches(span: &Span<'_>) -> Vec<BunchRow> {
    let mut rows = Vec::new();
    for (i, bunch) in span.built.bunches.iter().enumerate() {
        let points = bunch.points.iter().map(|p| (format!("{}:{}", bunch.name, p.0), &p.0));
        let all = core::iter::once((bunch.name.clone(), &bunch.gateway.0)).chain(points);
        for (k, (name, node)) in all.enumerate() {
            let now = &span.to.bunches[i][k];
            let c = now.since(&span.from.bunches[i][k]);
            rows.push(BunchRow {
                name,
                bunch: bunch.name.clone(),
                node: node.clone(),
                packets: c.packets,
                bytes: c.bytes,
                carried_mbps: span.mbps(c.bytes),
                report_mbps: span.mbps(c.report_bytes),
                failed: c.failed,
                late: c.late,
                damaged: c.damaged,
                captured: c.captured,
                repeated: c.repeated,
                refused: c.refused,
                held_bytes: now.held_bytes,
                resets: c.resets,
            });
        }
    }
    rows
}

struct Names(Vec<String>);

impl TableVisitor for Names {
    fn table<R: Row>(&mut self, rows: &[R]) {
        for (_, column) in SERIES.iter().filter(|s| s.0 == R::TABLE) {
            self.0.extend(rows.iter().map(|r| format!("{}.{}.{column}", R::TABLE, r.name())));
        }
    }
}

/// Names of the figures that a time series of this report has.
pub fn series_columns(report: &Report) -> Vec<String> {
    let mut names = Names(Vec::new());
    report.visit(&mut names);
    names.0
}

struct Values(Vec<Option<f64>>);

impl TableVisitor for Values {
    fn table<R: Row>(&mut self, rows: &[R]) {
        for (_, column) in SERIES.iter().filter(|s| s.0 == R::TABLE) {
            let place = R::NUMBERS.iter().position(|c| c.name == *column);
            self.0.extend(rows.iter().map(|r| place.and_then(|p| r.numbers()[p])));
        }
    }
}

/// The values of [`series_columns`], in their order.
pub fn series_row(report: &Report) -> Vec<Option<f64>> {
    let mut values = Values(Vec::new());
    report.visit(&mut values);
    values.0
}

/// Adds what a time series has of this report as a row. Stations, subflows and paths come as they are heard of: their columns are put at the end.
pub fn add_row(series: &mut Series, report: &Report) {
    let (names, values) = (series_columns(report), series_row(report));
    let new: Vec<String> = names.iter().filter(|n| !series.columns.contains(n)).cloned().collect();
    series.columns.extend(new);
    let value = |column: &String| names.iter().position(|n| n == column).and_then(|i| values[i]);
    series.rows.push(series.columns.iter().map(value).collect());
}
