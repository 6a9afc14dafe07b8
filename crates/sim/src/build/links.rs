//! Cables.

use super::{BuildError, Built};
use crate::seed;
use ropewalk_air::wired::{Aqm, Jitter, Limit, LinkSpec, Loss, QueueSpec, Rate, Trace};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{self, Discipline, Link, LinkQueue, OneWay, QueueLimit};
use std::path::Path;

/// Packets that CoDel and FQ-CoDel hold unless told otherwise: RFC 8289 §5.1 and RFC 8290 §5.2.
const CODEL_PACKETS: usize = 1000;
const FQ_CODEL_PACKETS: usize = 10_240;

pub(super) fn add(built: &mut Built, scenario: &Scenario, directory: &Path) -> Result<(), BuildError> {
    for (i, link) in scenario.link.iter().enumerate() {
        let key = key_of(i, link);
        let ends_key = format!("{key}.ends");
        let [a, b] = &link.ends[..] else { return Err(BuildError::new(ends_key, "a link has two ends")) };
        let ends = [built.interface(&ends_key, a)?, built.interface(&ends_key, b)?];
        let specs = both_ways(&key, link, directory)?;
        let cable = built
            .world
            .net
            .add_cable(ends, specs, seed_of(scenario.seed, i))
            .map_err(|e| BuildError::new(&key, e))?;
        built.world.net.set_cable_up(cable, link.up);
        built.links.push(link.label());
    }
    Ok(())
}

/// The links of a scenario in its order, each from its first end and from its second. Trace files are looked for in `directory`.
///
/// # Errors
/// A trace file that cannot be read.
pub fn link_specs(scenario: &Scenario, directory: &Path) -> Result<Vec<[LinkSpec; 2]>, BuildError> {
    let all = scenario.link.iter().enumerate();
    all.map(|(i, link)| both_ways(&key_of(i, link), link, directory)).collect()
}

fn key_of(index: usize, link: &Link) -> String {
    format!("link.{}", link.name.clone().unwrap_or_else(|| index.to_string()))
}

fn both_ways(key: &str, link: &Link, directory: &Path) -> Result<[LinkSpec; 2], BuildError> {
    Ok([
        direction(key, "forward", link, &link.forward, directory)?,
        direction(key, "back", link, &link.back, directory)?,
    ])
}

/// The seed of a cable.
pub(super) fn seed_of(seed: u64, cable: usize) -> u64 {
    seed::of(seed, "link", cable as u64)
}

fn direction(
    key: &str,
    way: &str,
    link: &Link,
    own: &OneWay,
    directory: &Path,
) -> Result<LinkSpec, BuildError> {
    let spec = LinkSpec {
        rate: rate(key, way, link, own, directory)?,
        overhead_bytes: link.overhead.0 as u32,
        delay: own.delay.unwrap_or(link.delay),
        jitter: Jitter { std_dev: own.jitter.unwrap_or(link.jitter), coherence: link.jitter_coherence },
        loss: own.loss.as_ref().or(link.loss.as_ref()).map_or(Loss::default(), loss),
        corruption: link.corruption.0,
        duplication: link.duplication.0,
        mtu_blackhole: link.mtu_blackhole.map(|b| b.0 as u32),
        queue: queue(own.queue.as_ref().unwrap_or(&link.queue)),
    };
    Ok(spec)
}

fn rate(key: &str, way: &str, link: &Link, own: &OneWay, directory: &Path) -> Result<Rate, BuildError> {
    let (key, rate, trace) = match (&own.rate, &own.trace) {
        (None, None) => (format!("{key}.trace"), link.rate, &link.trace),
        _ => (format!("{key}.{way}.trace"), own.rate, &own.trace),
    };
    if let Some(rate) = rate {
        return Ok(Rate::Constant { bps: rate.bps });
    }
    let Some(file) = trace else { return Ok(Rate::Unlimited) };
    let path = directory.join(file);
    // A device has no end, and a pipe keeps who reads it waiting.
    if std::fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
        return Err(BuildError::new(&key, format!("the trace {} is no ordinary file", path.display())));
    }
    let unreadable = |e| format!("the trace {} cannot be read: {e}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| BuildError::new(&key, unreadable(e)))?;
    Ok(Rate::Traced(Trace::parse(&text).map_err(|e| BuildError::new(&key, e))?))
}

pub(super) fn loss(loss: &file::Loss) -> Loss {
    match *loss {
        file::Loss::Random(share) => Loss::percent(share.0 * 100.0),
        file::Loss::Bursts { share, length } => Loss::bursts(share.0, length),
    }
}

/// What the background of a queue with classes has at least: as `bunch ap --uplink-rate` has it.
const FLOOR_BPS: u64 = 500_000;

fn queue(queue: &LinkQueue) -> QueueSpec {
    let limit = |default| match queue.limit {
        None => default,
        Some(QueueLimit::Time(time)) => Limit::Time(time),
        Some(QueueLimit::Bytes(bytes)) => Limit::Bytes(bytes.0),
        Some(QueueLimit::Packets(packets)) => Limit::Packets(packets as usize),
    };
    let aqm = Aqm { target: queue.target, interval: queue.interval, ecn: queue.ecn };
    match queue.kind {
        Discipline::TailDrop => QueueSpec::TailDrop { limit: limit(Limit::Home) },
        Discipline::Codel => QueueSpec::Codel { limit: limit(Limit::Packets(CODEL_PACKETS)), aqm },
        Discipline::Classes => {
            QueueSpec::Strict { limit: limit(Limit::Home), bands: 4, floor_bps: FLOOR_BPS }
        }
        Discipline::FqCodel => {
            let limit = limit(Limit::Packets(FQ_CODEL_PACKETS));
            QueueSpec::FqCodel { limit, aqm, flows: 1024, quantum_bytes: 1514 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;

    #[test]
    fn a_trace_is_an_ordinary_file() {
        let text = "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\n";
        let refused = |trace: &str| {
            let text = format!("{text}trace = \"{trace}\"\n");
            let scenario = Document::parse("s.toml", &text).unwrap().scenario().unwrap();
            link_specs(&scenario, Path::new("")).unwrap_err().to_string()
        };
        assert_eq!(refused("/dev/zero"), "link.0.trace: the trace /dev/zero is no ordinary file");
        assert!(refused("/nowhere").starts_with("link.0.trace: the trace /nowhere cannot be read"));
    }
}
