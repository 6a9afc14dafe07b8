//! What the daemons of a bunch say of themselves.

use crate::report::fleet::FleetStatus;
use crate::report::table::bytes;
use crate::report::{count, reasons};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// How a daemon of a bunch does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub(crate) enum BunchStatus {
    /// A gateway.
    Gateway(GatewayStatus),
    /// An access point.
    Ap(ApStatus),
}

/// A gateway.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GatewayStatus {
    /// Its device.
    pub device: String,
    /// Seconds since its start.
    pub uptime_s: f64,
    /// Connections that it knows.
    pub sessions: usize,
    /// Connections of which both ends were told that they are lost.
    pub resets: u64,
    /// Bytes of payload that it keeps for receivers.
    pub kept_bytes: u64,
    /// TCP connections that were left alone since its start, by reason.
    pub bypassed: BTreeMap<String, u64>,
    /// Packets of connections beyond its bounds: they went on without help.
    pub unhelped_packets: u64,
    /// Times that a home which overhears named a cell that another home had named before it.
    #[serde(default)]
    pub cells_of_others: u64,
    /// Times that a router behind it took only shorter packets, and packets that were cut since.
    pub too_long: u64,
    pub cut_packets: u64,
    /// Packets and bytes that it sent to receivers.
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// Packets that an access point may not send: of another's address, or to somebody who is not
    /// helped.
    pub refused_packets: u64,
    /// Connections at its port that led to no tunnel.
    pub turned_away: u64,
    /// Access points that came since its start.
    pub contributors: Vec<Contributor>,
    /// Connections that it knows now.
    pub uploads: Vec<Upload>,
    /// Records of what was carried that were signed since the start, and claims that were refused.
    #[serde(default)]
    pub accounts_agreed: u64,
    #[serde(default)]
    pub accounts_refused: u64,
    /// How it stands in its fleet, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Box<FleetStatus>>,
}

/// A connection at a gateway.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Upload {
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The sender, as it is called at the gateway.
    pub sender: String,
    pub receiver: String,
    /// `helped`, `by its home alone`, or `left alone` and why.
    pub state: String,
    /// Access points that take part.
    pub access_points: usize,
    /// Bytes that went to the receiver, headers included.
    pub sent_bytes: u64,
    /// Bytes that are kept for it.
    pub kept_bytes: u64,
}

/// An access point, as the gateway sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contributor {
    pub name: String,
    /// Where its tunnel comes from; none: it has none.
    pub remote: Option<String>,
    /// What its senders are called here.
    pub address: Option<Ipv4Addr>,
    /// Neighbours with which it shares a network.
    pub neighbours: usize,
    /// Cells that it overhears; none: it does not overhear.
    pub hears_cells: Option<usize>,
    /// Packets and bytes that it brought first.
    pub packets: u64,
    pub bytes: u64,
    /// Packets that it did not bring in time, brought too late, brought wrong.
    pub failed: u64,
    pub late: u64,
    pub damaged: u64,
    /// Bytes of its messages with packets, and of its reports and other messages.
    pub data_bytes: u64,
    pub report_bytes: u64,
    /// 1/8 to 1: how much of its window it is trusted with.
    pub score: f64,
    /// Packets and bytes of others' senders that came by its tunnels, useful or not; without
    /// headers that were left out.
    #[serde(default)]
    pub carried_packets: u64,
    #[serde(default)]
    pub carried_bytes: u64,
    /// Of these, what was right and came first.
    #[serde(default)]
    pub delivered_packets: u64,
    #[serde(default)]
    pub delivered_bytes: u64,
    /// Number of the last record that it and the gateway have signed; 0: none since the start.
    #[serde(default)]
    pub records: u64,
    /// Carried bytes by that record, of all starts.
    #[serde(default)]
    pub signed_bytes: u64,
}

/// An access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApStatus {
    /// Its device.
    pub device: String,
    /// Seconds since its start.
    pub uptime_s: f64,
    /// The gateway's address; none: there is no tunnel.
    pub gateway: Option<String>,
    /// What its senders are called there.
    pub address: Option<Ipv4Addr>,
    /// Connections of the home go through it.
    pub captures: bool,
    /// Connections of which it holds packets, its own home's and its neighbours'.
    pub sessions: usize,
    /// Connections that it knows, and those that are handed to the bunch.
    pub flows: usize,
    pub helped: usize,
    /// Neighbours on the shared network.
    pub neighbours: usize,
    /// Packets that it held for the gateway so far; bytes that it holds now.
    pub captured: u64,
    pub held_bytes: u64,
    /// Packets that it heard again.
    pub repeated: u64,
    /// Packets for which it had no memory.
    pub refused: u64,
    /// Packets that it forwarded when it was asked to, and their bytes in the tunnel.
    pub forwarded: u64,
    pub data_bytes: u64,
    /// Payload in them.
    pub payload_bytes: u64,
    /// Bytes of its reports.
    pub report_bytes: u64,
    /// Packets of the home that went their ordinary way, and those that were dropped because the
    /// uplink was full or the tunnel gone.
    pub native_packets: u64,
    pub dropped_packets: u64,
    /// What it and its neighbours hand each other.
    #[serde(flatten)]
    pub shares: ShareStatus,
    /// How it stands with the gateway about what it carried.
    #[serde(default)]
    pub account: AccountStatus,
    /// Its uplink is metered; none: it carries for neighbours what they bring.
    #[serde(default)]
    pub cap: Option<Box<CapStatus>>,
    /// Neighbours are handed packets by this interface, and hand theirs.
    pub handed: Option<String>,
    /// What it overhears.
    pub air: Option<AirStatus>,
}

/// Packets handed to neighbours, had from them, and refused from whoever it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShareStatus {
    #[serde(rename = "shares_sent")]
    pub sent: u64,
    #[serde(rename = "shares_received")]
    pub received: u64,
    #[serde(rename = "shares_refused")]
    pub refused: u64,
}

/// What a metered uplink may carry for neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CapStatus {
    /// In a month, and what is left of that.
    pub bytes: u64,
    pub left_bytes: u64,
    /// The day of the month on which a new allowance begins.
    pub reset_day: u8,
    /// Neighbours are not helped until then.
    pub is_used_up: bool,
    /// Packets of neighbours for which nothing was left, since the start.
    pub refused_packets: u64,
}

/// Records of what an access point carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AccountStatus {
    /// Number of the last one that it and the gateway have signed.
    pub records: u64,
    /// Bytes carried for others, by that record.
    #[serde(default)]
    pub signed_bytes: u64,
    /// Claims and offers that were refused since the start.
    pub refused: u64,
    /// Claims that were not answered.
    pub unanswered: u64,
}

/// The last record that an access point and a gateway of the fleet have signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FleetRecord {
    /// The access point's name; none: nobody there knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub gateway: String,
    /// As files have it.
    pub record: String,
}

/// What an access point overhears.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AirStatus {
    /// The monitor interface, and whether it is there.
    pub interface: String,
    pub is_up: bool,
    /// Cells whose stations were heard within a minute.
    pub cells: usize,
    /// Uploads of others that it listens for.
    pub uploads: usize,
    /// Frames of stations to their access points.
    pub frames: u64,
    /// Of these, packets of uploads that it listens for.
    pub overheard: u64,
    /// Packets of helped connections of its home of which the frame was heard, and was missed.
    pub numbered: u64,
    pub unnumbered: u64,
    /// Frames that were left: damaged on the air, encrypted, parts of packets, several packets in
    /// one, and what is no IPv4.
    pub damaged: u64,
    pub encrypted: u64,
    pub fragments: u64,
    pub aggregates: u64,
    pub other: u64,
    /// Frames that the kernel dropped because this daemon was slow.
    pub dropped: u64,
}

/// For people.
pub(crate) fn render(status: &BunchStatus) -> String {
    match status {
        BunchStatus::Gateway(g) => gateway(g),
        BunchStatus::Ap(a) => ap(a),
    }
}

fn gateway(g: &GatewayStatus) -> String {
    let mut out = format!(
        "gateway {}, up {:.0} s: {}, {} to receivers, {}\n",
        g.device,
        g.uptime_s,
        count(g.sessions, "connection"),
        bytes(g.delivered_bytes),
        count(g.resets as usize, "reset")
    );
    let _ = writeln!(out, "keeps {}; left alone{}", bytes(g.kept_bytes), reasons::words(&g.bypassed));
    if g.unhelped_packets > 0 {
        let _ = writeln!(out, "beyond its bounds, without help: {} packets", g.unhelped_packets);
    }
    if g.cells_of_others > 0 {
        let _ = writeln!(
            out,
            "a cell that another home had named before: {} times, its uploads went without help",
            g.cells_of_others
        );
    }
    if g.too_long > 0 {
        let _ =
            writeln!(out, "a shorter way to receivers: {} times, {} packets cut", g.too_long, g.cut_packets);
    }
    if g.turned_away + g.refused_packets > 0 {
        let _ = writeln!(out, "turned away: {} connections, {} packets", g.turned_away, g.refused_packets);
    }
    if g.accounts_agreed + g.accounts_refused > 0 {
        let (agreed, refused) = (g.accounts_agreed, g.accounts_refused);
        let _ = writeln!(out, "records of what was carried: {agreed} signed, {refused} refused");
    }
    if g.contributors.is_empty() {
        out.push_str("no access point has come yet\n");
    }
    for c in &g.contributors {
        let from = c.remote.as_deref().map_or("not connected".into(), |r| format!("from {r}"));
        let _ = writeln!(
            out,
            "{}: {from}, {}, brought {} in {} packets, reports {}; failed {}, late {}, damaged {}, trusted {:.0} %",
            c.name,
            c.hears_cells.map_or_else(
                || count(c.neighbours, "neighbour"),
                |cells| format!("overhears {}", count(cells, "cell"))
            ),
            bytes(c.bytes),
            c.packets,
            share(c.report_bytes, c.data_bytes),
            c.failed,
            c.late,
            c.damaged,
            c.score * 100.0
        );
    }
    out.push_str(&g.fleet.as_deref().map(FleetStatus::lines).unwrap_or_default());
    out
}

fn ap(a: &ApStatus) -> String {
    let gateway = a.gateway.as_deref().map_or("not connected".into(), |g| format!("connected to {g}"));
    let home = if a.captures { ", helps its home" } else { "" };
    let mut out = format!("access point {}, up {:.0} s: {gateway}{home}\n", a.device, a.uptime_s);
    let _ = writeln!(
        out,
        "home: {}, {} helped; {} packets their ordinary way, {} dropped",
        count(a.flows, "connection"),
        a.helped,
        a.native_packets,
        a.dropped_packets
    );
    let _ = writeln!(
        out,
        "held {} packets, now {} of {}; forwarded {} in {} packets, reports {}; no memory for {}",
        a.captured,
        bytes(a.held_bytes),
        count(a.sessions, "connection"),
        bytes(a.data_bytes),
        a.forwarded,
        share(a.report_bytes, a.data_bytes),
        a.refused
    );
    let _ = writeln!(out, "{}", neighbours(a));
    if let Some(cap) = &a.cap {
        let _ = writeln!(out, "{}", allowance(cap));
    }
    let AccountStatus { records, refused, unanswered, .. } = a.account;
    if records + refused + unanswered > 0 {
        let _ = writeln!(
            out,
            "signed records of what it carried: {records}; {refused} refused, {unanswered} not answered"
        );
    }
    out
}

/// What is left for neighbours.
pub(super) fn allowance(cap: &CapStatus) -> String {
    let left = if cap.is_used_up {
        format!("used up; helped again from day {} of the month", cap.reset_day)
    } else {
        format!("{} left until day {} of the month", bytes(cap.left_bytes), cap.reset_day)
    };
    format!(
        "for neighbours {} a month: {left}, no bytes for {} packets",
        bytes(cap.bytes),
        cap.refused_packets
    )
}

/// How it and its neighbours get each other's packets.
fn neighbours(a: &ApStatus) -> String {
    if let Some(air) = &a.air {
        let is_up = if air.is_up { "" } else { " (not there)" };
        let left = air.damaged + air.encrypted + air.fragments + air.aggregates + air.other;
        return format!(
            "overhears on {}{is_up}: {}, {} to listen for; {} frames, {} overheard, {} of its home with a number, {} without; left {left}: {} encrypted, {} aggregates, {} fragments, {} damaged; {} dropped",
            air.interface,
            count(air.cells, "cell"),
            count(air.uploads, "upload"),
            air.frames,
            air.overheard,
            air.numbered,
            air.unnumbered,
            air.encrypted,
            air.aggregates,
            air.fragments,
            air.damaged,
            air.dropped
        );
    }
    match &a.handed {
        Some(interface) => format!(
            "is handed packets on {interface}: {}, {} packets handed on, {} had, {} refused",
            count(a.neighbours, "neighbour"),
            a.shares.sent,
            a.shares.received,
            a.shares.refused
        ),
        None => "neither overhears nor is handed packets: nobody helps it, and it helps nobody".to_owned(),
    }
}

/// The reports' part of what goes over a tunnel.
pub(super) fn share(reports: u64, data: u64) -> String {
    match reports + data {
        0 => "-".to_owned(),
        all => format!("{:.1} %", reports as f64 / all as f64 * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_say_what_counts() {
        let c = Contributor { name: "anna".into(), bytes: 5_000_000, score: 0.5, ..Contributor::default() };
        let c = Contributor { report_bytes: 100, data_bytes: 9_900, ..c };
        let bypassed = [("mptcp".to_owned(), 2)].into();
        let g = GatewayStatus { contributors: vec![c], resets: 3, bypassed, ..GatewayStatus::default() };
        let text = render(&BunchStatus::Gateway(g.clone()));
        assert!(text.contains("left alone mptcp 2") && text.contains("reports 1.0 %"), "{text}");
        assert!(text.contains("anna: not connected") && text.contains("trusted 50 %"), "{text}");
        let (name, store) = ("g1".to_owned(), "etcd://10.0.0.1:2379/street".to_owned());
        let fleet = FleetStatus { name, store, reachable: true, ..FleetStatus::default() };
        let of_fleet = GatewayStatus { fleet: Some(Box::new(fleet)), ..g.clone() };
        let text = render(&BunchStatus::Gateway(of_fleet));
        assert!(text.ends_with("\nfleet: g1 in etcd://10.0.0.1:2379/street\n"), "{text}");
        let text = render(&BunchStatus::Ap(ApStatus { captures: true, ..ApStatus::default() }));
        assert!(text.contains("not connected, helps its home"), "{text}");
        assert!(text.contains("neither overhears nor is handed"), "{text}");
        let handed = ApStatus { handed: Some("mesh0".into()), neighbours: 2, ..ApStatus::default() };
        let text = render(&BunchStatus::Ap(handed));
        assert!(text.contains("is handed packets on mesh0: 2 neighbours"), "{text}");
        let air = AirStatus { interface: "mon0".into(), encrypted: 4, other: 3, ..AirStatus::default() };
        let air = AirStatus { cells: 1, uploads: 0, ..air };
        let text = render(&BunchStatus::Ap(ApStatus { air: Some(air), ..ApStatus::default() }));
        assert!(text.contains(": 1 cell, 0 uploads to listen for"), "{text}");
        assert!(text.contains("overhears on mon0 (not there)") && text.contains("left 7: 4 enc"), "{text}");
        let cap = CapStatus { bytes: 10_000_000_000, left_bytes: 2_000_000, ..CapStatus::default() };
        let shares = ShareStatus { sent: 3, ..ShareStatus::default() };
        let of = |cap: Option<CapStatus>| {
            let cap = cap.map(Box::new);
            BunchStatus::Ap(ApStatus { cap, shares, ..ApStatus::default() })
        };
        assert!(!render(&of(None)).contains("a month"), "null case");
        let cap = CapStatus { reset_day: 5, ..cap };
        let text = render(&of(Some(cap)));
        assert!(text.contains("neighbours 10.0 GB a month: 2.0 MB left until day 5"), "{text}");
        let text = render(&of(Some(CapStatus { is_used_up: true, refused_packets: 7, ..cap })));
        assert!(text.contains("used up; helped again from day 5 of the month, no bytes for 7"), "{text}");
        let json = serde_json::to_string(&of(Some(cap))).unwrap();
        assert!(json.contains(r#""shares_sent":3"#), "{json}");
        assert_eq!(serde_json::from_str::<BunchStatus>(&json).unwrap(), of(Some(cap)));
        let json = serde_json::to_string(&BunchStatus::Gateway(g)).unwrap();
        assert!(json.starts_with(r#"{"role":"gateway""#), "{json}");
    }
}
