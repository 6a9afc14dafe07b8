//! Which connections a bond carries, and whose they are.

use super::{ms, table};
use crate::control::protocol::Response;
use crate::daemon::Core;
use ropewalk_bond::flows::{FlowStatus, FlowsStatus, Way};
use ropewalk_session::PublicKey;
use ropewalk_time::Time;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};

/// Connections that are told of at most: more is no table for people, and takes the loop's time.
pub(crate) const MOST: u16 = 1000;

/// Connections of late, those with the highest rates first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flows {
    /// They are counted; not with `flows = false`.
    pub counted: bool,
    /// How many there are.
    pub total: u64,
    /// Those that were asked for.
    pub flows: Vec<Flow>,
}

/// One connection. Rates are in bits per second, amounts in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flow {
    /// Gateway: the client whose it is.
    pub peer: String,
    /// `tcp`, `udp`, `icmp`, or the number of another protocol of IP.
    pub protocol: String,
    /// Address and port at this end of the bond.
    pub here: String,
    /// The same at the other end.
    pub there: String,
    /// `bulk`, or `low-latency` where most of its bytes are of that class.
    pub class: String,
    /// Sent from this end.
    pub sent_bytes: u64,
    /// Packets of the device; a super-packet counts once.
    pub sent: u64,
    /// Rate of late.
    pub sent_bps: u64,
    /// Handed to the device at this end.
    pub received_bytes: u64,
    /// Packets for the device.
    pub received: u64,
    /// Rate of late.
    pub received_bps: u64,
    /// Since its first packet.
    pub age_s: f64,
    /// Since its last packet.
    pub idle_s: f64,
    /// The longest time between two packets for the device.
    pub longest_gap_ms: f64,
}

/// The connections of `core`; `name` tells what peers are called.
pub(crate) fn take(core: &Core, most: u16, now: Time, name: impl Fn(&PublicKey) -> String) -> Response {
    let status = core.engine.flows(most.min(MOST).into(), now);
    Response::Flows { flows: Box::new(Flows::new(&status, now, name)) }
}

impl Flows {
    fn new(status: &FlowsStatus, now: Time, name: impl Fn(&PublicKey) -> String) -> Flows {
        let flows = status.flows.iter().map(|f| Flow::new(f, name(&f.peer), now)).collect();
        Flows { counted: status.counted, total: status.total as u64, flows }
    }

    /// Those of another loop, too.
    pub(crate) fn absorb(&mut self, other: Flows) {
        self.counted |= other.counted;
        self.total += other.total;
        self.flows.extend(other.flows);
        self.flows.sort_by_key(|f| Reverse((f.sent_bps + f.received_bps, f.sent_bytes + f.received_bytes)));
    }

    /// As `ropewalk flows` prints them.
    pub(crate) fn render(&self) -> String {
        if !self.counted {
            return "connections are not counted: flows = false in [engine]\n".into();
        }
        if self.flows.is_empty() {
            return "no connections of late\n".into();
        }
        let titles = ["whose", "protocol", "here", "there", "class", "up", "down", "carried", "age", "idle"];
        let rows = self.flows.iter().map(|f| {
            [
                f.peer.clone(),
                f.protocol.clone(),
                f.here.clone(),
                f.there.clone(),
                f.class.clone(),
                table::bits(f.sent_bps as f64),
                table::bits(f.received_bps as f64),
                format!("{} out, {} in", table::bytes(f.sent_bytes), table::bytes(f.received_bytes)),
                table::time(f.age_s),
                table::time(f.idle_s),
            ]
        });
        let mut out = String::new();
        table::columns(&mut out, "", &[titles.map(String::from)].into_iter().chain(rows).collect::<Vec<_>>());
        let shown = self.flows.len() as u64;
        if shown < self.total {
            out.push_str(&format!("{} more\n", self.total - shown));
        }
        out
    }
}

impl Flow {
    fn new(f: &FlowStatus, peer: String, now: Time) -> Flow {
        let [sent, received]: [Way; 2] = [f.sent, f.received];
        Flow {
            peer,
            protocol: protocol(f.protocol),
            here: end(f.protocol, f.here),
            there: end(f.protocol, f.there),
            class: if f.low_latency { "low-latency" } else { "bulk" }.into(),
            sent_bytes: sent.bytes,
            sent: sent.packets,
            sent_bps: sent.bps,
            received_bytes: received.bytes,
            received: received.packets,
            received_bps: received.bps,
            age_s: now.since(f.first).as_secs_f64(),
            idle_s: now.since(f.last).as_secs_f64(),
            longest_gap_ms: ms(f.longest_gap),
        }
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The name of an IP protocol (IANA's Assigned Internet Protocol Numbers), where people know one.
fn protocol(number: u8) -> String {
    match number {
        TCP => "tcp".into(),
        UDP => "udp".into(),
        1 | 58 => "icmp".into(),
        47 => "gre".into(),
        50 => "esp".into(),
        132 => "sctp".into(),
        other => other.to_string(),
    }
}

/// An end of a connection; only TCP and UDP have ports here.
fn end(protocol: u8, (address, port): (IpAddr, u16)) -> String {
    match protocol {
        TCP | UDP => SocketAddr::from((address, port)).to_string(),
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_time::Duration;

    fn flow(protocol: u8, bps: u64) -> FlowStatus {
        FlowStatus {
            peer: PublicKey([1; 32]),
            protocol,
            here: ([192, 0, 2, 7].into(), 443),
            there: ("fd77::2".parse().unwrap(), 50_000),
            sent: Way { bytes: 1_500_000, packets: 30, bps },
            received: Way { bytes: 999, packets: 9, bps: 500 },
            low_latency: protocol == 1,
            first: Time::from_secs(100),
            last: Time::from_secs(160),
            longest_gap: Duration::from_millis(40),
        }
    }

    fn flows(counted: bool, total: usize, flows: Vec<FlowStatus>) -> Flows {
        let status = FlowsStatus { counted, total, flows };
        Flows::new(&status, Time::from_secs(165), |_| "alice".into())
    }

    #[test]
    fn a_table_reads_like_this() {
        let want = "\
whose  protocol  here           there            class        up         down     carried             age         idle
alice  tcp       192.0.2.7:443  [fd77::2]:50000  bulk         20.0 Mb/s  500 b/s  1.5 MB out, 999 B in  1 min 5 s  5 s
alice  icmp      192.0.2.7      fd77::2          low-latency  8 b/s      500 b/s  1.5 MB out, 999 B in  1 min 5 s  5 s
1 more
";
        let text = flows(true, 3, vec![flow(6, 20_000_000), flow(1, 8)]).render();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text), words(want), "\n{text}");
        assert!(flows(false, 0, Vec::new()).render().contains("flows = false"));
        assert!(flows(true, 0, Vec::new()).render().contains("no connections"));
    }

    #[test]
    fn json_has_stable_names() {
        let all = flows(true, 1, vec![flow(6, 9)]);
        let text = serde_json::to_string(&all).unwrap();
        for name in ["\"counted\":true", "\"total\":1", "\"peer\":\"alice\"", "\"longest_gap_ms\":40.0"] {
            assert!(text.contains(name), "{text}");
        }
        assert_eq!(serde_json::from_str::<Flows>(&text).unwrap(), all);
    }
}
