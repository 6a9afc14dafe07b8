//! Tests of whole connections over small networks.

mod order;
mod recovery;
mod steady;

use super::pair::{Fate, Pair};
use super::*;
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_air::wired::{Limit, LinkSpec, Loss, QueueSpec};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A link of `mbps` with half of `rtt_ms` each way and a tail-drop queue of `bdp` bandwidth-delay products.
fn link(mbps: f64, rtt_ms: u64, bdp: f64) -> LinkSpec {
    let bytes = (mbps * 1e6 / 8.0 * rtt_ms as f64 / 1e3 * bdp) as u64;
    LinkSpec::new(mbps, ms(rtt_ms) / 2)
        .queue(QueueSpec::TailDrop { limit: Limit::Bytes(bytes.max(10 * 1500)) })
}

/// Both ends with `config`; what the link loses, it loses on the way there.
fn pair(config: TcpConfig, spec: LinkSpec) -> Pair {
    let backward = LinkSpec { loss: Loss::default(), ..spec.clone() };
    Pair::new(config, spec, backward, 1).unwrap()
}

/// Data rate at the server between two seconds, Mb/s.
fn goodput(pair: &mut Pair, from_s: u64, to_s: u64) -> f64 {
    pair.run_until(Time::from_secs(from_s));
    let before = pair.received();
    pair.run_until(Time::from_secs(to_s));
    (pair.received() - before) as f64 * 8e-6 / (to_s - from_s) as f64
}
