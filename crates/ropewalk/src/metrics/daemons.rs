//! The metrics of the daemons that are no bond.

use super::Metric;
use super::names::counters_and_gauges;
use crate::bunch::report::{ApStatus, Contributor, GatewayStatus};
use crate::report::pep::PepStatus;
use crate::roam::report::{AccessPoint, PacketBy, RoamStatus};

/// Of `ropewalk bunch gateway`.
pub(crate) const BUNCH_GATEWAY: &[Metric<GatewayStatus>] = counters_and_gauges! {
    Gauge "uptime_seconds" "How long the daemon has been running" |g| Some(g.uptime_s);
    Gauge "bunch_sessions" "Connections that it knows" |g| Some(g.sessions as f64);
    Gauge "bunch_contributors" "Access points that are connected" |g| Some(g.contributors.iter().filter(|c| c.remote.is_some()).count() as f64);
    Gauge "bunch_kept_bytes" "Payload that it keeps for receivers" |g| Some(g.kept_bytes as f64);
    Counter "bunch_delivered_packets" "Packets to receivers" |g| Some(g.delivered_packets as f64);
    Counter "bunch_delivered_bytes" "Their bytes, headers included" |g| Some(g.delivered_bytes as f64);
    Counter "bunch_reset_connections" "Connections of which both ends were told that they are lost" |g| Some(g.resets as f64);
    Counter "bunch_unhelped_packets" "Packets of connections beyond its bounds: they went on without help" |g| Some(g.unhelped_packets as f64);
    Counter "bunch_refused_packets" "Packets that an access point may not send" |g| Some(g.refused_packets as f64);
    Counter "bunch_turned_away_tunnels" "Connections at its port that led to no tunnel" |g| Some(g.turned_away as f64);
    Counter "bunch_too_long_messages" "Messages of routers that a packet to a receiver was too long" |g| Some(g.too_long as f64);
    Counter "bunch_cut_packets" "Packets that were cut for such a router" |g| Some(g.cut_packets as f64);
    Counter "bunch_signed_records" "Records of what contributors carried that both ends signed" |g| Some(g.accounts_agreed as f64);
    Counter "bunch_refused_claims" "Claims of contributors that were refused, and signatures that did not hold" |g| Some(g.accounts_refused as f64);
};

/// Of the same; label `reason`.
pub(crate) const BUNCH_BYPASSED: &[Metric<u64>] = counters_and_gauges! {
    Counter "bunch_bypassed_connections" "TCP connections that were left alone" |n| Some(*n as f64);
};

/// Of an access point at its gateway; label `contributor`.
pub(crate) const CONTRIBUTOR: &[Metric<Contributor>] = counters_and_gauges! {
    Gauge "bunch_contributor_connected" "1 while it has a tunnel" |c| Some(f64::from(u8::from(c.remote.is_some())));
    Gauge "bunch_contributor_neighbours" "Neighbours with which it shares a network" |c| Some(c.neighbours as f64);
    Gauge "bunch_contributor_heard_cells" "Cells that it overhears, if it does" |c| c.hears_cells.map(|n| n as f64);
    Counter "bunch_contributor_packets" "Packets that it brought first" |c| Some(c.packets as f64);
    Counter "bunch_contributor_bytes" "Their bytes, headers included" |c| Some(c.bytes as f64);
    Counter "bunch_contributor_data_bytes" "Bytes of its messages with packets" |c| Some(c.data_bytes as f64);
    Counter "bunch_contributor_report_bytes" "Bytes of its reports and other messages" |c| Some(c.report_bytes as f64);
    Counter "bunch_contributor_failed_packets" "Packets that it was asked for and did not bring in time" |c| Some(c.failed as f64);
    Counter "bunch_contributor_late_packets" "Packets that came when they were no longer needed" |c| Some(c.late as f64);
    Counter "bunch_contributor_damaged_packets" "Packets that were not what the home access point captured" |c| Some(c.damaged as f64);
    Gauge "bunch_contributor_score" "1/8 to 1: how much of its window it is trusted with" |c| Some(c.score);
    Counter "bunch_contributor_carried_packets" "Packets of other homes that came by its tunnels" |c| Some(c.carried_packets as f64);
    Counter "bunch_contributor_carried_bytes" "Their bytes, without headers that were left out" |c| Some(c.carried_bytes as f64);
    Counter "bunch_contributor_delivered_packets" "Of these, packets that were right and came first" |c| Some(c.delivered_packets as f64);
    Counter "bunch_contributor_delivered_bytes" "Their bytes, without headers that were left out" |c| Some(c.delivered_bytes as f64);
    Gauge "bunch_contributor_record" "Number of the last record that both ends signed since the start" |c| (c.records > 0).then_some(c.records as f64);
    Gauge "bunch_contributor_signed_bytes" "Carried bytes by that record, of all starts" |c| (c.records > 0).then_some(c.signed_bytes as f64);
};

/// Of `ropewalk bunch ap`.
pub(crate) const BUNCH_AP: &[Metric<ApStatus>] = counters_and_gauges! {
    Gauge "uptime_seconds" "How long the daemon has been running" |a| Some(a.uptime_s);
    Gauge "bunch_ap_connected" "1 while it has a tunnel to its gateway" |a| Some(f64::from(u8::from(a.gateway.is_some())));
    Gauge "bunch_ap_helps_home" "1 while connections of its home go through it" |a| Some(f64::from(u8::from(a.captures)));
    Gauge "bunch_ap_connections" "Connections of its home that it knows" |a| Some(a.flows as f64);
    Gauge "bunch_ap_helped_connections" "Of these, those that are handed to the bunch" |a| Some(a.helped as f64);
    Gauge "bunch_ap_sessions" "Connections of which it holds packets, its neighbours' included" |a| Some(a.sessions as f64);
    Gauge "bunch_ap_neighbours" "Neighbours on the shared network" |a| Some(a.neighbours as f64);
    Gauge "bunch_ap_held_bytes" "Copies of packets that it holds for the gateway" |a| Some(a.held_bytes as f64);
    Counter "bunch_ap_captured_packets" "Packets that it held" |a| Some(a.captured as f64);
    Counter "bunch_ap_repeated_packets" "Packets that it heard again" |a| Some(a.repeated as f64);
    Counter "bunch_ap_refused_packets" "Packets for which it had no memory" |a| Some(a.refused as f64);
    Counter "bunch_ap_forwarded_packets" "Packets that it forwarded when it was asked to" |a| Some(a.forwarded as f64);
    Counter "bunch_ap_data_bytes" "Bytes of its messages with packets" |a| Some(a.data_bytes as f64);
    Counter "bunch_ap_payload_bytes" "Payload in them" |a| Some(a.payload_bytes as f64);
    Counter "bunch_ap_report_bytes" "Bytes of its reports" |a| Some(a.report_bytes as f64);
    Counter "bunch_ap_native_packets" "Packets of its home that went their ordinary way" |a| Some(a.native_packets as f64);
    Counter "bunch_ap_dropped_packets" "Packets of its home that were dropped: the uplink was full, or the tunnel gone" |a| Some(a.dropped_packets as f64);
    Counter "bunch_ap_shared_packets" "Packets handed to neighbours" |a| Some(a.shares.sent as f64);
    Counter "bunch_ap_had_packets" "Packets had from neighbours" |a| Some(a.shares.received as f64);
    Counter "bunch_ap_refused_shares" "Datagrams on the shared network that are no neighbour's, or came before" |a| Some(a.shares.refused as f64);
    Gauge "bunch_ap_cap_bytes" "What a metered uplink may carry for neighbours in a month" |a| a.cap.as_ref().map(|c| c.bytes as f64);
    Gauge "bunch_ap_allowance_bytes" "What is left of that" |a| a.cap.as_ref().map(|c| c.left_bytes as f64);
    Gauge "bunch_ap_allowance_used_up" "1 while neighbours are not helped for that" |a| a.cap.as_ref().map(|c| f64::from(u8::from(c.is_used_up)));
    Counter "bunch_ap_beyond_allowance_packets" "Packets of neighbours for which it had no bytes" |a| a.cap.as_ref().map(|c| c.refused_packets as f64);
    Gauge "bunch_ap_record" "Number of the last record that it and the gateway signed" |a| (a.account.records > 0).then_some(a.account.records as f64);
    Gauge "bunch_ap_signed_bytes" "Bytes carried for others, by that record" |a| (a.account.records > 0).then_some(a.account.signed_bytes as f64);
    Counter "bunch_ap_refused_claims" "Claims that the gateway refused, and offers that said less than was carried" |a| Some(a.account.refused as f64);
    Counter "bunch_ap_unanswered_claims" "Claims that the gateway did not answer" |a| Some(a.account.unanswered as f64);
    Gauge "bunch_ap_heard_cells" "Cells whose stations were heard within a minute" |a| a.air.as_ref().map(|air| air.cells as f64);
    Gauge "bunch_ap_audible_uploads" "Uploads of others that it listens for" |a| a.air.as_ref().map(|air| air.uploads as f64);
    Counter "bunch_ap_heard_frames" "Frames of stations to their access points that it heard" |a| a.air.as_ref().map(|air| air.frames as f64);
    Counter "bunch_ap_overheard_packets" "Packets of uploads that it listens for" |a| a.air.as_ref().map(|air| air.overheard as f64);
    Counter "bunch_ap_unnumbered_packets" "Packets of its home whose frame it missed: they went their ordinary way" |a| a.air.as_ref().map(|air| air.unnumbered as f64);
    Counter "bunch_ap_encrypted_frames" "Frames that it could not read" |a| a.air.as_ref().map(|air| air.encrypted as f64);
    Counter "bunch_ap_aggregate_frames" "Frames of several packets, which it left" |a| a.air.as_ref().map(|air| air.aggregates as f64);
    Counter "bunch_ap_dropped_frames" "Frames that the kernel dropped because the daemon was slow" |a| a.air.as_ref().map(|air| air.dropped as f64);
};

/// Of `ropewalk pep`.
pub(crate) const PEP: &[Metric<PepStatus>] = counters_and_gauges! {
    Gauge "uptime_seconds" "How long the daemon has been running" |p| Some(p.uptime_s);
    Gauge "pep_connections" "Connections now" |p| Some(p.connections as f64);
    Gauge "pep_held_bytes" "Bytes that it holds of them" |p| Some(p.held_bytes as f64);
    Counter "pep_taken_connections" "Connections that were taken" |p| Some(p.taken as f64);
    Counter "pep_full_connections" "Connections that passed as they came because there were too many" |p| Some(p.full as f64);
    Counter "pep_early_bytes" "Bytes acknowledged before their receiver had done so" |p| Some(p.early_bytes as f64);
    Counter "pep_repaired_bytes" "Bytes sent again from here" |p| Some(p.repaired_bytes as f64);
    Counter "pep_absorbed_segments" "Segments that ended here: their meaning went on in others" |p| Some(p.absorbed as f64);
};

/// Of the same; label `reason`.
pub(crate) const PEP_BYPASSED: &[Metric<u64>] = counters_and_gauges! {
    Counter "pep_bypassed" "Connections that were left alone; with the reason no-handshake their packets" |n| Some(*n as f64);
};

/// Of the same; label `reason`.
pub(crate) const PEP_RESET: &[Metric<u64>] = counters_and_gauges! {
    Counter "pep_reset_connections" "Connections that were reset" |n| Some(*n as f64);
};

/// Of `ropewalk roam`.
pub(crate) const ROAM: &[Metric<RoamStatus>] = counters_and_gauges! {
    Gauge "uptime_seconds" "How long the daemon has been running" |r| Some(r.uptime_s);
    Gauge "roam_stations" "Stations that the radio can be at once" |r| Some(f64::from(r.stations));
    Gauge "roam_access_points" "Access points that are joined or being joined" |r| Some(r.access_points.iter().filter(|a| a.state != "left").count() as f64);
    Counter "roam_monitor_frames" "Data frames of joined access points that the monitor interface heard" |r| r.monitor.as_ref().map(|m| m.frames as f64);
    Counter "roam_monitor_dropped_frames" "Frames that the kernel dropped because the daemon was slow" |r| r.monitor.as_ref().map(|m| m.dropped_frames as f64);
};

/// Of an access point that is joined or being joined; labels `interface` and `bssid`.
pub(crate) const ACCESS_POINT: &[Metric<AccessPoint>] = counters_and_gauges! {
    Gauge "roam_access_point_active" "1 while it is in use, 0 while it is joined, a backup or silent" |a| Some(f64::from(u8::from(a.state == "active")));
    Gauge "roam_access_point_backup" "1 while it is used only if no other carries" |a| Some(f64::from(u8::from(a.state == "backup")));
    Gauge "roam_access_point_signal_dbm" "Signal of its last frame" |a| a.signal_dbm;
    Gauge "roam_access_point_rate_bits_per_second" "Rate of the last frame from it" |a| a.rate_bps.map(|r| r as f64);
    Gauge "roam_access_point_packet_time_seconds" "Air of a delivered packet of 1500 bytes" |a| a.packet_time_us.map(|us| us as f64 / 1e6);
    Gauge "roam_access_point_packet_time_measured" "1 if that is measured, 0 if it is by the signal" |a| Some(f64::from(u8::from(a.measured)));
    Gauge "roam_access_point_packet_time_by_monitor" "1 if it was measured by a monitor interface, 0 if by the driver or the signal" |a| Some(f64::from(u8::from(a.packet_by == PacketBy::Monitor)));
    Counter "roam_access_point_monitor_frames" "Data frames from it that the monitor interface heard" |a| a.monitor_frames.map(|n| n as f64);
    Gauge "roam_access_point_least_rtt_seconds" "Least round trip of MPTCP's subflows by it" |a| a.least_rtt_ms.map(|ms| ms / 1e3);
    Counter "roam_access_point_ect_segments" "TCP segments from it whose sender understands marks; 0 while nothing is marked" |a| Some(a.ect_segments as f64);
    Counter "roam_access_point_marked_segments" "Of these, marked here" |a| Some(a.marked_segments as f64);
    Counter "roam_access_point_received_bytes" "Bytes from it" |a| Some(a.received_bytes as f64);
    Counter "roam_access_point_sent_bytes" "Bytes to it" |a| Some(a.sent_bytes as f64);
};
