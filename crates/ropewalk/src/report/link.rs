//! What a link says of itself, in the form in which `status --json` and `link --json` have it.

use super::table::{bits, bytes};
use ropewalk_net::feedback::{Channel, LinkReport, Load, Source, Station};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

/// What the link under a path says of itself. It counts all packets of the interface, except where `source` is `wifi-status`: there `delivered` and `failed` are
/// the path's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Link {
    /// Who says so: `lab`, `wifi-status`, `nl80211` or `qdisc`.
    pub source: String,
    /// Another number than before: the counters have begun anew.
    pub epoch: u32,
    /// Packets acknowledged by the receiver; of a queueing discipline, packets that left it.
    pub delivered: u64,
    /// Packets given up, too old, or dropped by a queue.
    pub failed: u64,
    /// Repetitions on the air.
    pub retries: u64,
    /// Packets that wait.
    pub backlog_packets: u32,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Physical rate of the last transmission, bit/s.
    pub tx_rate_bps: Option<u64>,
    /// Centre of the primary 20 MHz, MHz.
    pub frequency_mhz: Option<u32>,
    /// Width of the channel, MHz.
    pub width_mhz: Option<u32>,
    /// Time on the channel, seconds, since some time in the past.
    pub channel_s: Option<f64>,
    /// Of this, time in which it was busy: the load of a span is the quotient of differences.
    pub channel_busy_s: Option<f64>,
    /// Neighbours.
    pub stations: Vec<LinkStation>,
}

/// A neighbour on a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LinkStation {
    /// Its address; `ff:ff:ff:ff:ff:ff` stands for packets to groups.
    pub mac: String,
    /// Received power of its last frame, dBm.
    pub signal_dbm: Option<f64>,
    /// Rate of what was last sent to it, bit/s.
    pub tx_rate_bps: Option<u64>,
    /// Rate of what last came from it, bit/s.
    pub rx_rate_bps: Option<u64>,
    /// What the driver believes that it could carry, bit/s.
    pub expected_bps: Option<u64>,
    /// Since it was last heard, ms.
    pub inactive_ms: Option<f64>,
    /// Packets to it that were acknowledged.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets to it that were given up, too old or dropped.
    pub failed: u64,
    /// Repetitions to it.
    pub retries: u64,
    /// Packets from it.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets that wait for it: background, best effort, video, voice.
    pub backlog_packets: [u32; 4],
    /// Bytes that wait for it.
    pub backlog_bytes: u64,
    /// Time on the air of what was sent to it, seconds.
    pub airtime_tx_s: Option<f64>,
    /// Time on the air of what came from it, seconds.
    pub airtime_rx_s: Option<f64>,
}

fn known<N: PartialEq + Default>(n: N) -> Option<N> {
    (n != N::default()).then_some(n)
}

impl Link {
    /// A source's report.
    pub(crate) fn new(source: Source, r: &LinkReport) -> Link {
        let Channel { frequency_mhz, width_mhz, load } = r.channel.unwrap_or_default();
        Link {
            source: source.name().to_owned(),
            epoch: r.epoch,
            delivered: r.delivered,
            failed: r.failed,
            retries: r.retries,
            backlog_packets: r.backlog_packets,
            backlog_bytes: r.backlog_bytes,
            tx_rate_bps: known(r.tx_rate_bps),
            frequency_mhz: known(frequency_mhz),
            width_mhz: known(width_mhz),
            channel_s: load.map(|l| l.observed.as_secs_f64()),
            channel_busy_s: load.map(|l| l.busy.as_secs_f64()),
            stations: r.stations.iter().map(LinkStation::new).collect(),
        }
    }

    /// Share of time in which the channel was busy since `earlier`, per cent.
    pub(crate) fn busy_percent(&self, earlier: &Link) -> Option<f64> {
        let load = |l: &Link| {
            let of = |s: f64| Duration::try_from_secs_f64(s).ok();
            Some(Load { observed: of(l.channel_s?)?, busy: of(l.channel_busy_s?)? })
        };
        Some(load(self)?.since(&load(earlier)?)? * 100.0)
    }

    /// `12 packets (18.0 kB) wait; 1200 delivered, 3 failed, 40 retries; 130 Mb/s`.
    pub(crate) fn line(&self) -> String {
        let mut out = format!(
            "{} packets ({}) wait; {} delivered, {} failed, {} retries",
            self.backlog_packets,
            bytes(self.backlog_bytes),
            self.delivered,
            self.failed,
            self.retries
        );
        if let Some(rate) = self.tx_rate_bps {
            let _ = write!(out, "; {}", bits(rate as f64));
        }
        out
    }
}

impl LinkStation {
    fn new(s: &Station) -> LinkStation {
        let mac: Vec<String> = s.mac.iter().map(|octet| format!("{octet:02x}")).collect();
        LinkStation {
            mac: mac.join(":"),
            signal_dbm: s.signal_dbm,
            tx_rate_bps: known(s.tx_rate_bps),
            rx_rate_bps: known(s.rx_rate_bps),
            expected_bps: known(s.expected_bps),
            inactive_ms: s.inactive.map(|d| d.as_secs_f64() * 1e3),
            delivered: s.delivered,
            delivered_bytes: s.delivered_bytes,
            failed: s.failed,
            retries: s.retries,
            received: s.received,
            received_bytes: s.received_bytes,
            backlog_packets: s.backlog_packets,
            backlog_bytes: s.backlog_bytes,
            airtime_tx_s: s.airtime_tx.map(|d| d.as_secs_f64()),
            airtime_rx_s: s.airtime_rx.map(|d| d.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(busy_ms: u64, observed_ms: u64) -> LinkReport {
        let load =
            Load { observed: Duration::from_millis(observed_ms), busy: Duration::from_millis(busy_ms) };
        let channel = Channel { frequency_mhz: 5180, width_mhz: 40, load: Some(load) };
        let station = Station { mac: [2, 0, 0, 0, 0, 0x1f], signal_dbm: Some(-48.5), ..Station::default() };
        LinkReport {
            delivered: 1200,
            backlog_packets: 12,
            backlog_bytes: 18_000,
            channel: Some(channel),
            stations: vec![station],
            ..LinkReport::default()
        }
    }

    #[test]
    fn what_is_unknown_is_null() {
        let link = Link::new(Source::Lab, &report(100, 200));
        assert_eq!((link.tx_rate_bps, link.frequency_mhz), (None, Some(5180)));
        assert_eq!(link.stations[0].mac, "02:00:00:00:00:1f");
        assert_eq!(link.line(), "12 packets (18.0 kB) wait; 1200 delivered, 0 failed, 0 retries");
        let bare = Link::new(Source::Qdisc, &LinkReport::default());
        assert_eq!((bare.width_mhz, bare.channel_s), (None, None));
    }

    #[test]
    fn load_is_that_between_two_looks() {
        let link = |busy, observed| Link::new(Source::Lab, &report(busy, observed));
        assert_eq!(link(150, 400).busy_percent(&link(100, 200)), Some(25.0));
        assert_eq!(link(150, 400).busy_percent(&Link::default()), None);
    }
}
