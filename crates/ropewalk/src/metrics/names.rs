//! Every metric: its name with its unit, and what it means. `docs/guide/metrics.md` is made from these tables.

use crate::report::fleet::FleetGateway;
use crate::report::workers::WorkerStatus;
use crate::report::{Path, Peer, Snapshot};

/// Whether it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It grows; the encoder adds `_total` to the name.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// One metric of a `T`.
#[derive(Debug)]
pub(crate) struct Metric<T> {
    /// Its name, after `ropewalk_`.
    pub name: &'static str,
    /// Whether it only grows.
    pub kind: Kind,
    /// What it means.
    pub help: &'static str,
    /// Its value now, if it is known.
    pub value: fn(&T) -> Option<f64>,
}

macro_rules! counters_and_gauges {
    ($($kind:ident $name:literal $help:literal $value:expr;)*) => {
        &[$($crate::metrics::Metric {
            name: $name, kind: $crate::metrics::Kind::$kind, help: $help, value: $value
        }),*]
    };
}
pub(super) use counters_and_gauges;

/// Of the daemon.
pub(crate) const PROCESS: &[Metric<Snapshot>] = counters_and_gauges! {
    Gauge "uptime_seconds" "How long the daemon has been running" |s| Some(s.uptime_s);
    Gauge "peers" "Sessions, half-open ones included" |s| Some(s.peers.len() as f64);
    Gauge "memory_used_bytes" "Packet memory in use" |s| Some(s.memory_used as f64);
    Gauge "memory_peak_bytes" "Packet memory that was ever in use at once: once touched, it stays resident" |s| Some(s.memory_peak as f64);
    Gauge "memory_limit_bytes" "Packet memory there is" |s| Some(s.memory_limit as f64);
    Counter "device_read_packets" "Packets from the device; a super-packet counts once" |s| Some(s.io.device_in as f64);
    Counter "device_written_packets" "Packets to the device; a super-packet counts once" |s| Some(s.io.device_out as f64);
    Counter "device_refused_packets" "Packets that the kernel would not take" |s| Some(s.io.device_refused as f64);
    Counter "sent_batches" "System calls that sent datagrams" |s| Some(s.io.batches as f64);
    Counter "send_full_datagrams" "Datagrams not sent because the kernel had no room" |s| Some(s.io.send_full as f64);
    Counter "send_too_big_datagrams" "Datagrams not sent because the interface takes only shorter ones" |s| Some(s.io.send_too_big as f64);
    Counter "send_unreachable_datagrams" "Datagrams not sent because the interface or route was gone" |s| Some(s.io.send_unreachable as f64);
    Counter "receive_overruns" "Datagrams that the kernel dropped because the daemon was late" |s| Some(s.io.overruns as f64);
    Gauge "dedicated_radio_channel_mhz" "Access point: centre of the primary channel of the radio that may leave it" |s| s.channel_switcher.as_ref().and_then(|m| m.channel_mhz).map(f64::from);
    Counter "channel_searches" "Access point: searches for a better channel that ended" |s| s.channel_switcher.as_ref().map(|m| m.searches as f64);
    Counter "channel_switches" "Access point: switches announced in searches" |s| s.channel_switcher.as_ref().map(|m| m.switches as f64);
    Gauge "draining" "1 while a gateway takes no sessions" |s| Some(f64::from(u8::from(s.draining)));
    Gauge "store_reachable" "Fleet: 1 while the store answers" |s| s.fleet.as_ref().map(|f| f64::from(u8::from(f.reachable)));
    Gauge "store_silent_seconds" "Fleet: since the store was last heard" |s| s.fleet.as_ref().map(|f| f.silent_s);
    Gauge "store_copy_age_seconds" "Fleet: how long ago what is known here was what the store has" |s| s.fleet.as_ref().map(|f| f.copy_age_s);
    Gauge "store_warnings" "Fleet: warnings about the store; `ropewalk status` says them" |s| s.fleet.as_ref().map(|f| f.warnings.len() as f64);
    Gauge "store_waiting_devices" "Fleet: devices that wait for the store to be asked whether they may come in" |s| s.fleet.as_ref().map(|f| f.waiting as f64);
    Counter "outages" "Paths that were dead; counted, as the two below, once it is known who noticed" |s| Some(s.outages.paths as f64);
    Counter "outage_connections" "Connections that were delivering when a path died" |s| Some(s.outages.connections as f64);
    Counter "outage_noticed_connections" "Of these, those that noticed" |s| Some(s.outages.noticed as f64);
    Counter "wakeups" "Wake-ups of the data loop" |s| Some(s.io.wakeups as f64);
    Counter "dropped_malformed_datagrams" "Datagrams that are not of the protocol" |s| Some(s.drops.malformed as f64);
    Counter "dropped_unknown_datagrams" "Datagrams of no session here" |s| Some(s.drops.unknown as f64);
    Counter "dropped_forged_datagrams" "Datagrams that are not authentic, damaged ones included" |s| Some(s.drops.forged as f64);
    Counter "dropped_replayed_datagrams" "Datagrams that came before" |s| Some(s.drops.replayed as f64);
    Counter "dropped_handshakes" "Handshakes that got no answer" |s| Some(s.drops.handshakes as f64);
    Counter "dropped_inner_packets" "Packets inside that their sender may not send" |s| Some(s.drops.inner as f64);
    Counter "dropped_too_long_frames" "Layer 2: frames longer than the other end's device takes" |s| Some(s.drops.too_long as f64);
    Counter "dropped_unroutable_packets" "Packets of the device that belong to no session" |s| Some(s.drops.unroutable as f64);
};

/// Of each worker of a gateway that has several, under its number.
pub(crate) const WORKER: &[Metric<WorkerStatus>] = counters_and_gauges! {
    Gauge "worker_sessions" "Sessions that the worker has" |w| Some(w.sessions as f64);
    Counter "worker_processor_seconds" "Processor time that the worker has used" |w| Some(w.processor_s);
    Counter "worker_handed_on_packets" "Packets and datagrams that came to the worker and were another's" |w| Some(w.handed_on as f64);
    Counter "worker_handed_on_lost_packets" "Of these, those that were dropped since too many waited there" |w| Some(w.handed_on_lost as f64);
};

/// Of a gateway of the fleet; label `gateway`.
pub(crate) const GATEWAY: &[Metric<FleetGateway>] = counters_and_gauges! {
    Gauge "fleet_gateway_clients" "Clients that a gateway of the fleet serves" |g| Some(g.clients as f64);
    Gauge "fleet_gateway_draining" "1 while it takes no sessions" |g| Some(f64::from(u8::from(g.draining)));
};

/// Of a session; label `peer`.
pub(crate) const PEER: &[Metric<Peer>] = counters_and_gauges! {
    Gauge "peer_up" "1 while the session works" |p| Some(f64::from(u8::from(p.up)));
    Gauge "peer_silent_seconds" "Since the peer was last heard" |p| Some(p.silent_s);
    Gauge "peer_key_age_seconds" "Age of the keys in force" |p| p.key_age_s;
    Gauge "peer_quota_bytes" "Gateway: what a client with a quota may use in its day or month" |p| p.quota.as_ref().map(|q| q.bytes as f64);
    Gauge "peer_quota_used_bytes" "Gateway: what it has used of that; in a fleet at all gateways" |p| p.quota.as_ref().map(|q| q.used_bytes as f64);
    Gauge "peer_over_quota" "Gateway: 1 while it is stopped or slowed for that" |p| p.quota.as_ref().map(|q| f64::from(u8::from(q.is_over())));
    Gauge "queue_bytes" "Bytes waiting at the entrance" |p| Some(p.queue.queue_bytes as f64);
    Gauge "queue_packets" "Packets waiting at the entrance" |p| Some(p.queue.queue_packets as f64);
    Gauge "queue_wait_seconds" "How long the last packet waited there" |p| Some(p.queue.queue_wait_ms / 1e3);
    Counter "queue_packets_in" "Packets that came in there" |p| Some(p.queue.queue_in as f64);
    Counter "queue_codel_drops" "Packets dropped to keep the queue short" |p| Some(p.queue.codel_drops as f64);
    Counter "queue_codel_marks" "Packets marked instead (ECN)" |p| Some(p.queue.codel_marks as f64);
    Counter "queue_overflow_drops" "Packets dropped because the queue or the memory was full" |p| Some(p.queue.overflow_drops as f64);
    Counter "delivered_packets" "Packets delivered in order" |p| Some(p.order.delivered as f64);
    Gauge "held_bytes" "Bytes held until what is missing before them arrives" |p| Some(p.order.held_bytes as f64);
    Gauge "gaps" "Flows in which something is missing" |p| Some(p.order.gaps as f64);
    Counter "waited_packets" "Packets that were there while others before them were missing" |p| Some(p.order.waited as f64);
    Gauge "wait_median_seconds" "How long those waited, the median since the start" |p| p.order.wait_median_ms.map(|ms| ms / 1e3);
    Gauge "wait_p99_seconds" "The same, the 99th percentile" |p| p.order.wait_p99_ms.map(|ms| ms / 1e3);
    Counter "late_packets" "Packets that came too late for their place" |p| Some(p.order.late as f64);
    Counter "abandoned_packets" "Packets that were waited for in vain" |p| Some(p.order.abandoned as f64);
    Counter "duplicate_pieces" "Pieces of packets that came twice" |p| Some(p.order.duplicates as f64);
    Counter "resent_pieces" "Pieces of packets sent again" |p| Some(p.resent as f64);
    Counter "given_up_packets" "Packets not sent again because it was too late" |p| Some(p.given_up as f64);
    Gauge "backhaul_clients" "Repeater: clients whose queues are read" |p| p.backhaul.as_ref().map(|h| h.clients as f64);
    Gauge "backhaul_longest_queue_packets" "Packets in the longest queue towards a repeater's client" |p| p.backhaul.as_ref().map(|h| f64::from(h.longest_packets));
    Counter "backhaul_reports_sent" "Repeater: reports on its clients' queues" |p| p.backhaul.as_ref().map(|h| h.reports_sent as f64);
    Gauge "backhaul_kept_packets" "Repeater: packets in order that wait until there is room in front of the clients" |p| p.backhaul.as_ref().map(|h| h.kept_packets as f64);
    Counter "backhaul_waits" "Repeater: times that packets had to wait for that" |p| p.backhaul.as_ref().map(|h| h.waits as f64);
    Counter "backhaul_decreases" "Access point: reports that said decrease" |p| p.backhaul.as_ref().map(|h| h.decreases as f64);
    Counter "backhaul_unchanged" "Access point: reports that said same" |p| p.backhaul.as_ref().map(|h| h.unchanged as f64);
    Counter "backhaul_increases" "Access point: reports that said increase" |p| p.backhaul.as_ref().map(|h| h.increases as f64);
    Counter "backhaul_old_reports" "Access point: reports that came twice or too late" |p| p.backhaul.as_ref().map(|h| h.old_reports as f64);
    Counter "backhaul_invalid_reports" "Access point: reports that made no sense, and were ignored" |p| p.backhaul.as_ref().map(|h| h.invalid_reports as f64);
    Counter "backhaul_silences" "Access point: times that no report came for two periods" |p| p.backhaul.as_ref().map(|h| h.silences as f64);
    Gauge "backhaul_blocked" "Access point: 1 while the shared links may carry nothing but control" |p| p.backhaul.as_ref().map(|h| f64::from(u8::from(h.blocked)));
    Gauge "backhaul_held_datagrams" "Access point: datagrams that the shared links may hold (mimd)" |p| p.backhaul.as_ref().and_then(|h| h.held_datagrams);
    Gauge "backhaul_rate_datagrams_per_second" "Access point: what may leave on the shared links (balance)" |p| p.backhaul.as_ref().and_then(|h| h.rate_pps);
};

/// Of a path; labels `peer`, `id` and `path`.
pub(crate) const PATH: &[Metric<Path>] = counters_and_gauges! {
    Gauge "path_usable" "1 while the path is active, 0 while it is not proven, suspect, down or too narrow" |p| Some(f64::from(u8::from(p.state == "active")));
    Gauge "path_rtt_seconds" "Smoothed round-trip time" |p| p.rtt_ms.map(|ms| ms / 1e3);
    Gauge "path_min_rtt_seconds" "Smallest round-trip time of the last ten seconds" |p| p.min_rtt_ms.map(|ms| ms / 1e3);
    Gauge "path_jitter_seconds" "Mean deviation of the round-trip time" |p| Some(p.jitter_ms / 1e3);
    Gauge "path_bandwidth_bits_per_second" "Estimate of what the path carries" |p| Some(p.bandwidth_bps as f64);
    Gauge "path_pacing_bits_per_second" "Rate that the path is paced at" |p| p.pacing_bps.map(|b| b as f64);
    Gauge "path_window_bytes" "Congestion window" |p| Some(p.window as f64);
    Gauge "path_inflight_bytes" "Bytes on the way" |p| Some(p.inflight as f64);
    Gauge "path_mtu_bytes" "Largest IP packet that passes" |p| Some(f64::from(p.mtu));
    Gauge "path_allowance_bytes" "Bytes left of a metered path" |p| p.allowance.map(|b| b as f64);
    Counter "path_sent_bytes" "Bytes sent, IP and UDP headers included" |p| Some(p.traffic.sent_bytes as f64);
    Counter "path_sent_datagrams" "Datagrams sent" |p| Some(p.traffic.sent as f64);
    Counter "path_received_bytes" "Bytes received, IP and UDP headers included" |p| Some(p.traffic.received_bytes as f64);
    Counter "path_received_datagrams" "Datagrams received" |p| Some(p.traffic.received as f64);
    Counter "path_lost_datagrams" "Datagrams lost on the way out, those included that arrived after all" |p| Some(p.traffic.lost as f64);
    Counter "path_spurious_losses" "Datagrams that were held lost and arrived after all" |p| Some(p.traffic.spurious as f64);
    Gauge "path_link_backlog_packets" "Packets waiting in the path's link, whoever sent them" |p| p.link.as_ref().map(|l| f64::from(l.backlog_packets));
    Gauge "path_link_backlog_bytes" "Their bytes" |p| p.link.as_ref().map(|l| l.backlog_bytes as f64);
    Gauge "path_link_rate_bits_per_second" "Physical rate of the link's last transmission" |p| p.link.as_ref().and_then(|l| l.tx_rate_bps).map(|b| b as f64);
    Counter "path_link_delivered_packets" "Packets that the link delivered, whoever sent them" |p| p.link.as_ref().map(|l| l.delivered as f64);
    Counter "path_link_failed_packets" "Packets that the link gave up or dropped" |p| p.link.as_ref().map(|l| l.failed as f64);
    Counter "path_link_retries" "Repetitions on the air" |p| p.link.as_ref().map(|l| l.retries as f64);
    Gauge "path_packet_time_seconds" "Air that a delivered packet of 1500 bytes takes on the path" |p| p.air.as_ref().map(|a| a.packet_time_us as f64 / 1e6);
    Gauge "path_rests" "1 while a better path of its radio channel has use for all the air" |p| p.air.as_ref().map(|a| f64::from(u8::from(a.rests)));
    Gauge "path_outstanding_datagrams" "Datagrams that the path's link has not completed" |p| Some(p.completed.outstanding as f64);
    Gauge "path_threshold_datagrams" "How many it may hold under the scheduler backpressure" |p| Some(f64::from(p.completed.threshold));
    Gauge "path_completed_datagrams_per_second" "Completions while the link was busy, in datagrams of full length" |p| Some(p.completed.completed_pps);
    Gauge "path_shared" "1 if its channel is one that a repeater's clients need" |p| Some(f64::from(u8::from(p.completed.shared)));
    Counter "path_acknowledged_datagrams" "Datagrams acknowledged" |p| Some(p.traffic.acked as f64);
};
