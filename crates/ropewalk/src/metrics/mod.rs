//! Metrics for Prometheus, by HTTP, on a thread of its own. Each scrape asks the loop for one snapshot; without scrapes they cost nothing.

mod names;

pub(crate) use names::{GATEWAY, Kind, Metric, PATH, PEER, PROCESS};

use crate::control::protocol::{Request, Response};
use crate::daemon::Outbox;
use crate::exit::{Code, failure};
use crate::report::Snapshot;
use oxhttp::Server;
use oxhttp::model::{Body, Response as Answer, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// What a scraper may take its time for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Scrapers at a time.
const SCRAPERS: usize = 4;
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Starts to serve `http://address/metrics`.
pub(crate) fn serve(address: SocketAddr, outbox: Outbox) -> anyhow::Result<()> {
    let server = Server::new(move |request| match request.uri().path() {
        "/metrics" => scrape(&outbox),
        _ => answer(StatusCode::NOT_FOUND, "text/plain", "metrics are at /metrics\n".into()),
    });
    let server = server.bind(address).with_global_timeout(PATIENCE).with_max_concurrent_connections(SCRAPERS);
    server.spawn().map_err(|error| {
        let taken = error.kind() == std::io::ErrorKind::AddrInUse;
        let sentence =
            format!("metrics cannot be served at {address}: {error}; choose another address with --metrics");
        failure(if taken { Code::Taken } else { Code::Usage }, sentence)
    })?;
    tracing::info!(%address, "metrics at /metrics");
    Ok(())
}

fn scrape(outbox: &Outbox) -> Answer<Body> {
    match outbox.ask(Request::Status {}).ok().and_then(|r| text(r).ok()) {
        Some(text) => answer(StatusCode::OK, TYPE, text),
        None => answer(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "the daemon is stopping\n".into()),
    }
}

fn answer(status: StatusCode, kind: &str, text: String) -> Answer<Body> {
    let built = Answer::builder().status(status).header("content-type", kind).body(Body::from(text));
    built.unwrap_or_default()
}

fn text(response: Response) -> Result<String, fmt::Error> {
    let Response::Status { status } = response else { return Err(fmt::Error) };
    let mut registry = Registry::with_prefix("ropewalk");
    registry.register_collector(Box::new(Scrape(*status)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// One snapshot as metrics.
#[derive(Debug)]
struct Scrape(Snapshot);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let s = &self.0;
        for metric in PROCESS {
            write(&mut encoder, metric, &[(vec![], s)])?;
        }
        let gateways = s.fleet.iter().flat_map(|f| &f.gateways);
        let gateways: Vec<_> = gateways.map(|g| (vec![("gateway", g.name.clone())], g)).collect();
        for metric in GATEWAY {
            write(&mut encoder, metric, &gateways)?;
        }
        let peers: Vec<_> = s.peers.iter().map(|p| (vec![("peer", p.name.clone())], p)).collect();
        for metric in PEER {
            write(&mut encoder, metric, &peers)?;
        }
        let label = |peer: &str, path: &crate::report::Path| {
            vec![("peer", peer.to_owned()), ("id", path.id.to_string()), ("path", path.name.clone())]
        };
        let paths: Vec<_> = s
            .peers
            .iter()
            .flat_map(|p| p.paths.iter().map(move |path| (label(&p.name, path), path)))
            .collect();
        for metric in PATH {
            write(&mut encoder, metric, &paths)?;
        }
        Ok(())
    }
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
    use crate::report::{Path, Peer, Traffic};
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
    fn names_follow_the_rules_and_are_unique() {
        let process = PROCESS.iter().map(|m| (m.name, m.help));
        let all: Vec<_> = process
            .chain(GATEWAY.iter().map(|m| (m.name, m.help)))
            .chain(PEER.iter().map(|m| (m.name, m.help)))
            .chain(PATH.iter().map(|m| (m.name, m.help)))
            .collect();
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
