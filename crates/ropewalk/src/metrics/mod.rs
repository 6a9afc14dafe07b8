//! Metrics for Prometheus: what a daemon says of itself, as OpenMetrics.
//!
//! | file | what |
//! |---|---|
//! | `names`, `daemons` | which metrics there are |
//! | `port` | where they are read |
//! | `server` | HTTP within bounds, for the page of `ropewalk web` too |

mod daemons;
mod names;
mod port;
pub(crate) mod server;

pub(crate) use daemons::{
    ACCESS_POINT, BUNCH_AP, BUNCH_BYPASSED, BUNCH_GATEWAY, CONTRIBUTOR, PEP, PEP_BYPASSED, PEP_RESET, ROAM,
};
pub(crate) use names::{GATEWAY, Kind, Metric, PATH, PEER, PROCESS, WORKER};
pub(crate) use port::serve;

use crate::bunch::report::{BunchStatus, GatewayStatus};
use crate::control::protocol::Response;
use crate::report::pep::PepStatus;
use crate::report::{Peer, Snapshot};
use crate::roam::report::RoamStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;

fn text(response: Response) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("ropewalk");
    registry.register_collector(match response {
        Response::Status { status } => Box::new(Scrape(*status)),
        Response::Bunch { status } => Box::new(Scrape(*status)),
        Response::Pep { status } => Box::new(Scrape(*status)),
        Response::Roam { status } => Box::new(Scrape(*status)),
        _ => return Err(fmt::Error),
    });
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// What a daemon said, as metrics.
#[derive(Debug)]
struct Scrape<T>(T);

impl Collector for Scrape<Snapshot> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let s = &self.0;
        for metric in PROCESS {
            write(&mut encoder, metric, &[(vec![], s)])?;
        }
        let worker = |(number, worker)| (vec![("worker", format!("{number}"))], worker);
        let workers: Vec<_> = s.workers.iter().enumerate().map(worker).collect();
        for metric in WORKER {
            write(&mut encoder, metric, &workers)?;
        }
        let gateways = s.fleet.iter().flat_map(|f| &f.gateways);
        let gateways: Vec<_> = gateways.map(|g| (vec![pair("gateway", &g.name)], g)).collect();
        for metric in GATEWAY {
            write(&mut encoder, metric, &gateways)?;
        }
        let sessions = sessions(&s.peers);
        let peers: Vec<_> = sessions.iter().map(|p| (vec![pair("peer", &p.name)], *p)).collect();
        for metric in PEER {
            write(&mut encoder, metric, &peers)?;
        }
        let label = |peer: &str, path: &crate::report::Path| {
            vec![pair("peer", peer), ("id", path.id.to_string()), pair("path", &path.name)]
        };
        let paths: Vec<_> = sessions
            .iter()
            .flat_map(|p| p.paths.iter().map(move |path| (label(&p.name, path), path)))
            .collect();
        for metric in PATH {
            write(&mut encoder, metric, &paths)?;
        }
        Ok(())
    }
}

/// One session of each name, as a series may be there once. A client that comes anew has two for a
/// moment: the one that is heard counts.
fn sessions(peers: &[Peer]) -> Vec<&Peer> {
    let mut all: BTreeMap<&str, &Peer> = BTreeMap::new();
    for peer in peers {
        let one = all.entry(&peer.name).or_insert(peer);
        if (peer.up, -peer.silent_s) > (one.up, -one.silent_s) {
            *one = peer;
        }
    }
    all.into_values().collect()
}

impl Collector for Scrape<BunchStatus> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        match &self.0 {
            BunchStatus::Gateway(gateway) => write_gateway(&mut encoder, gateway),
            BunchStatus::Ap(ap) => {
                BUNCH_AP.iter().try_for_each(|metric| write(&mut encoder, metric, &[(vec![], ap)]))
            }
        }
    }
}

fn write_gateway(encoder: &mut DescriptorEncoder<'_>, gateway: &GatewayStatus) -> Result<(), fmt::Error> {
    for metric in BUNCH_GATEWAY {
        write(encoder, metric, &[(vec![], gateway)])?;
    }
    by_reason(encoder, BUNCH_BYPASSED, &gateway.bypassed)?;
    let label = |name: &str| vec![pair("contributor", name)];
    let all: Vec<_> = gateway.contributors.iter().map(|c| (label(&c.name), c)).collect();
    CONTRIBUTOR.iter().try_for_each(|metric| write(encoder, metric, &all))
}

impl Collector for Scrape<PepStatus> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for metric in PEP {
            write(&mut encoder, metric, &[(vec![], &self.0)])?;
        }
        by_reason(&mut encoder, PEP_BYPASSED, &self.0.bypassed)?;
        by_reason(&mut encoder, PEP_RESET, &self.0.resets)
    }
}

impl Collector for Scrape<RoamStatus> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for metric in ROAM {
            write(&mut encoder, metric, &[(vec![], &self.0)])?;
        }
        let all = self.0.access_points.iter().filter(|a| a.state != "left");
        let label = |interface: &str, bssid: &str| vec![pair("interface", interface), pair("bssid", bssid)];
        let all: Vec<_> = all.map(|a| (label(&a.interface, &a.bssid), a)).collect();
        ACCESS_POINT.iter().try_for_each(|metric| write(&mut encoder, metric, &all))
    }
}

/// Counters that have a reason as their label.
fn by_reason(
    encoder: &mut DescriptorEncoder<'_>,
    metrics: &[Metric<u64>],
    counts: &BTreeMap<String, u64>,
) -> Result<(), fmt::Error> {
    let all: Vec<_> = counts.iter().map(|(why, n)| (vec![pair("reason", why)], n)).collect();
    metrics.iter().try_for_each(|metric| write(encoder, metric, &all))
}

/// A label. The library writes values as they are, and an interface may be called `a"b`.
fn pair(label: &'static str, value: &str) -> (&'static str, String) {
    (label, value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn write<T>(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric<T>,
    of: &[(Vec<(&str, String)>, &T)],
) -> Result<(), fmt::Error> {
    let kind = match metric.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    let mut family = encoder.encode_descriptor(metric.name, metric.help, None, kind)?;
    for (labels, object) in of {
        let Some(value) = (metric.value)(object) else { continue };
        let mut one = family.encode_family(labels)?;
        match metric.kind {
            Kind::Counter => {
                one.encode_counter::<prometheus_client::encoding::NoLabelSet, _, u64>(&value, None)?
            }
            Kind::Gauge => one.encode_gauge(&value)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bunch::report::{AirStatus, ApStatus, CapStatus, Contributor};
    use crate::report::workers::WorkerStatus;
    use crate::report::{Path, Traffic};
    use crate::roam::report::{AccessPoint, MonitorStatus, PacketBy};
    use std::collections::BTreeSet;

    #[test]
    fn a_scrape_names_peers_and_paths() {
        let traffic = Traffic { sent_bytes: 7, ..Traffic::default() };
        let path = Path { id: 1, name: "wan0".into(), traffic, state: "active".into(), ..Path::default() };
        let peer = Peer { name: "alice".into(), up: true, paths: vec![path], ..Peer::default() };
        let status = Box::new(Snapshot { peers: vec![peer], ..Snapshot::default() });
        let text = text(Response::Status { status }).unwrap();
        let path = "ropewalk_path_sent_bytes_total{peer=\"alice\",id=\"1\",path=\"wan0\"} 7";
        for line in
            [path, "ropewalk_peer_up{peer=\"alice\"} 1", "# TYPE ropewalk_path_sent_bytes counter", "# EOF"]
        {
            assert!(text.lines().any(|l| l.starts_with(line)), "{line}\n{text}");
        }
        assert!(!text.contains("ropewalk_path_rtt_seconds{"), "what is not known is not said");
    }

    #[test]
    fn a_client_with_two_sessions_is_one_peer() {
        let session = |up, silent_s, sent_bytes| {
            let traffic = Traffic { sent_bytes, ..Traffic::default() };
            let path = Path { name: "wan0".into(), traffic, ..Path::default() };
            Peer { name: "alice".into(), up, silent_s, paths: vec![path], ..Peer::default() }
        };
        let (new, old, begins) = (session(true, 0.1, 7), session(true, 3.0, 8), session(false, 0.0, 9));
        for peers in [[old.clone(), new.clone(), begins.clone()], [new, begins, old]] {
            let status = Box::new(Snapshot { peers: peers.into(), ..Snapshot::default() });
            let text = text(Response::Status { status }).unwrap();
            for (series, value) in [
                ("ropewalk_peer_up{peer=\"alice\"} ", "1"),
                ("ropewalk_path_sent_bytes_total{peer=\"alice\",id=\"0\",path=\"wan0\"} ", "7"),
            ] {
                let of = text.lines().filter_map(|line| line.strip_prefix(series));
                let of: Vec<&str> = of.map(|v| v.trim_end_matches(".0")).collect();
                assert_eq!(of, [value], "{series}\n{text}");
            }
        }
    }

    #[test]
    fn an_interface_with_an_odd_name_is_one_label() {
        let path = Path { name: r#"wan"0\"#.into(), ..Path::default() };
        let peer = Peer { name: "alice".into(), paths: vec![path], ..Peer::default() };
        let status = Box::new(Snapshot { peers: vec![peer], ..Snapshot::default() });
        let text = text(Response::Status { status }).unwrap();
        let line = r#"ropewalk_path_sent_bytes_total{peer="alice",id="0",path="wan\"0\\"} "#;
        assert!(text.lines().any(|l| l.starts_with(line)), "{text}");
    }

    /// Series that a scrape of this program can have.
    fn exported() -> BTreeSet<String> {
        let text = text(Response::Status { status: Box::default() }).unwrap();
        let of = |line: &str| {
            let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
            Some(if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
        };
        text.lines().filter_map(of).collect()
    }

    /// Metrics that a dashboard names, and the panels that name none.
    fn named(dashboard: &str) -> (BTreeSet<String>, Vec<String>) {
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let (mut names, mut idle) = (BTreeSet::new(), Vec::new());
        for panel in dashboard["panels"].as_array().unwrap().iter().filter(|p| p["type"] != "row") {
            let targets = panel["targets"].as_array().map_or(&[][..], Vec::as_slice);
            let text: Vec<&str> = targets.iter().map(|t| t["expr"].as_str().unwrap()).collect();
            let text = text.join(" ");
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')));
            let own: Vec<String> = words.filter(|w| w.starts_with("ropewalk_")).map(str::to_owned).collect();
            if own.is_empty() {
                idle.push(panel["title"].to_string());
            }
            names.extend(own);
        }
        (names, idle)
    }

    #[test]
    fn the_dashboard_names_metrics_that_there_are() {
        let (names, idle) = named(include_str!("../../../../packaging/grafana/ropewalk.json"));
        let exported = exported();
        let unknown: Vec<_> = names.difference(&exported).collect();
        assert!(unknown.is_empty() && idle.is_empty(), "no such metric: {unknown:?}; no metric: {idle:?}");
        assert!(names.len() > 20, "{names:?}");
        let wrong = r#"{"panels":[{"type":"stat","targets":[{"expr":"rate(ropewalk_peers_total[1m])"}]}]}"#;
        assert!(!named(wrong).0.is_subset(&exported), "the null case: a gauge has no total");
    }

    #[test]
    fn a_bunch_a_proxy_and_a_roaming_client_are_scraped_too() {
        let lines = |response, wanted: &[&str]| {
            let text = text(response).unwrap();
            for line in wanted {
                assert!(text.lines().any(|l| l == *line), "{line}\n{text}");
            }
            text
        };
        let anna = Contributor { name: "anna".into(), data_bytes: 7, score: 0.5, ..Contributor::default() };
        let anna = Contributor { carried_bytes: 90, records: 2, signed_bytes: 80, ..anna };
        let bert = Contributor { name: "bert".into(), ..Contributor::default() };
        let bypassed: BTreeMap<String, u64> = [("mptcp".to_owned(), 3)].into();
        let gateway = GatewayStatus {
            contributors: vec![anna, bert],
            bypassed: bypassed.clone(),
            kept_bytes: 9,
            accounts_agreed: 2,
            ..GatewayStatus::default()
        };
        let status = Box::new(BunchStatus::Gateway(gateway));
        let wanted = [
            "ropewalk_bunch_kept_bytes{} 9.0",
            "ropewalk_bunch_bypassed_connections_total{reason=\"mptcp\"} 3.0",
            "ropewalk_bunch_contributor_data_bytes_total{contributor=\"anna\"} 7.0",
            "ropewalk_bunch_contributor_connected{contributor=\"anna\"} 0.0",
            "ropewalk_bunch_signed_records_total{} 2.0",
            "ropewalk_bunch_contributor_carried_bytes_total{contributor=\"anna\"} 90.0",
            "ropewalk_bunch_contributor_signed_bytes{contributor=\"anna\"} 80.0",
        ];
        let text = lines(Response::Bunch { status }, &wanted);
        assert!(!text.contains("signed_bytes{contributor=\"bert\"}"), "nothing is signed\n{text}");
        let ap = ApStatus { held_bytes: 5, refused: 2, ..ApStatus::default() };
        let cap = CapStatus { bytes: 9, left_bytes: 4, refused_packets: 3, ..CapStatus::default() };
        let status = Box::new(BunchStatus::Ap(ApStatus { cap: Some(Box::new(cap)), ..ap.clone() }));
        let wanted = [
            "ropewalk_bunch_ap_held_bytes{} 5.0",
            "ropewalk_bunch_ap_refused_packets_total{} 2.0",
            "ropewalk_bunch_ap_allowance_bytes{} 4.0",
            "ropewalk_bunch_ap_beyond_allowance_packets_total{} 3.0",
            "ropewalk_bunch_ap_unanswered_claims_total{} 0.0",
        ];
        lines(Response::Bunch { status }, &wanted);
        let without = lines(Response::Bunch { status: Box::new(BunchStatus::Ap(ap)) }, &[]);
        assert!(!without.contains("allowance_bytes{") && !without.contains("ap_signed_bytes{"), "{without}");
        let pep =
            PepStatus { bypassed: bypassed.clone(), resets: bypassed, taken: 4, ..PepStatus::default() };
        let status = Box::new(pep);
        let wanted = [
            "ropewalk_pep_taken_connections_total{} 4.0",
            "ropewalk_pep_bypassed_total{reason=\"mptcp\"} 3.0",
            "ropewalk_pep_reset_connections_total{reason=\"mptcp\"} 3.0",
        ];
        lines(Response::Pep { status }, &wanted);
        let ap = |state: &str| AccessPoint {
            interface: state.into(),
            bssid: "b".into(),
            state: state.into(),
            signal_dbm: Some(-52.0),
            packet_time_us: Some(206),
            packet_by: if state == "active" { PacketBy::Monitor } else { PacketBy::Driver },
            monitor_frames: (state == "active").then_some(7),
            ..AccessPoint::default()
        };
        let access_points = vec![ap("active"), ap("backup"), ap("left")];
        let monitor = Some(MonitorStatus { interface: "m".into(), frames: 9, dropped_frames: 2 });
        let status = Box::new(RoamStatus { access_points, monitor, ..RoamStatus::default() });
        let wanted = [
            "ropewalk_roam_access_points{} 2.0",
            "ropewalk_roam_access_point_active{interface=\"backup\",bssid=\"b\"} 0.0",
            "ropewalk_roam_access_point_signal_dbm{interface=\"active\",bssid=\"b\"} -52.0",
            "ropewalk_roam_access_point_packet_time_seconds{interface=\"active\",bssid=\"b\"} 0.000206",
            "ropewalk_roam_access_point_packet_time_by_monitor{interface=\"active\",bssid=\"b\"} 1.0",
            "ropewalk_roam_access_point_packet_time_by_monitor{interface=\"backup\",bssid=\"b\"} 0.0",
            "ropewalk_roam_access_point_monitor_frames_total{interface=\"active\",bssid=\"b\"} 7.0",
            "ropewalk_roam_monitor_frames_total{} 9.0",
            "ropewalk_roam_monitor_dropped_frames_total{} 2.0",
        ];
        let text = lines(Response::Roam { status }, &wanted);
        assert!(!text.contains("\"left\"") && !text.contains("rate_bits_per_second{"), "{text}");
        // Without a monitor there are no counts of it.
        let without = lines(Response::Roam { status: Box::new(RoamStatus::default()) }, &[]);
        assert!(!without.contains("monitor_frames_total{"), "{without}");
    }

    #[test]
    fn workers_are_scraped_under_their_numbers() {
        let one = |sessions| WorkerStatus { sessions, processor_s: 1.5, ..WorkerStatus::default() };
        let status = Snapshot { workers: vec![one(4), one(3)], ..Snapshot::default() };
        let scraped = text(Response::Status { status: Box::new(status) }).unwrap();
        for line in [
            "ropewalk_worker_sessions{worker=\"0\"} 4.0",
            "ropewalk_worker_sessions{worker=\"1\"} 3.0",
            "ropewalk_worker_processor_seconds_total{worker=\"1\"} 1.5",
            "ropewalk_worker_handed_on_packets_total{worker=\"0\"} 0.0",
        ] {
            assert!(scraped.lines().any(|l| l == line), "{line}\n{scraped}");
        }
        let alone = text(Response::Status { status: Box::default() }).unwrap();
        assert!(!alone.contains("worker=\""), "{alone}");
    }

    #[test]
    fn what_is_overheard_is_scraped_where_somebody_overhears() {
        let of = |air| {
            let status = ApStatus { air, ..ApStatus::default() };
            text(Response::Bunch { status: Box::new(BunchStatus::Ap(status)) }).unwrap()
        };
        let air = AirStatus { overheard: 6, cells: 3, ..AirStatus::default() };
        let heard = of(Some(air));
        for line in ["bunch_ap_overheard_packets_total{} 6.0", "bunch_ap_heard_cells{} 3.0"] {
            assert!(heard.contains(line), "{line}\n{heard}");
            let name = line.split(' ').next().unwrap_or_default();
            assert!(!of(None).contains(name), "{name}");
        }
    }

    #[test]
    fn names_follow_the_rules_and_are_unique() {
        fn of<T>(metrics: &[Metric<T>]) -> Vec<(&'static str, &'static str)> {
            metrics.iter().map(|m| (m.name, m.help)).collect()
        }
        let daemons = [
            [of(PROCESS), of(WORKER), of(GATEWAY), of(PEER), of(PATH)].concat(),
            [of(BUNCH_GATEWAY), of(BUNCH_BYPASSED), of(CONTRIBUTOR)].concat(),
            of(BUNCH_AP),
            [of(PEP), of(PEP_BYPASSED), of(PEP_RESET)].concat(),
            [of(ROAM), of(ACCESS_POINT)].concat(),
        ];
        for all in daemons {
            let mut names: Vec<&str> = all.iter().map(|m| m.0).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all.len());
            for (name, help) in all {
                assert!(
                    name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit()),
                    "{name}"
                );
                assert!(!help.ends_with('.') && !name.ends_with("_total"), "{name}: the encoder adds these");
            }
        }
    }
}
