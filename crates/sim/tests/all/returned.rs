//! One TCP flow over two unlike paths, the better of which is away for a while and comes back.

use crate::common::{each, simulation};
use std::time::Duration;

const BACK_MS: usize = 20_000;
const BIN_MS: usize = 100;
/// Nine tenths of what a flow has over both, 57 of 60 Mb/s.
const BACK_MBPS: f64 = 0.9 * 57.0;

/// Milliseconds from the path's return until the flow is back, in the mean of 300 ms; none: not
/// within eight seconds.
fn back_after(away_ms: usize, seed: u64) -> Option<usize> {
    let down = BACK_MS - away_ms;
    let mut simulation = simulation(&format!(
        "seed = {seed}\nduration = \"28s\"\n[node.client]\n[node.gateway]\n\
         [[link]]\nname = \"a\"\nends = [\"client:a\", \"gateway:a\"]\nrate = \"40Mbit/s\"\ndelay = \"10ms\"\n\
         [[link]]\nname = \"b\"\nends = [\"client:b\", \"gateway:b\"]\nrate = \"20Mbit/s\"\ndelay = \"30ms\"\n\
         [bond.rw0]\nclient = \"client\"\ngateway = \"gateway\"\npaths = [\"a\", \"b\"]\n\
         [[flow]]\nname = \"one\"\nkind = \"tcp\"\nfrom = \"gateway:rw0\"\nto = \"client:rw0\"\n\
         [[event]]\nat = \"{down}ms\"\nwhat = \"link-down\"\nlink = \"a\"\n\
         [[event]]\nat = \"{BACK_MS}ms\"\nwhat = \"link-up\"\nlink = \"a\"\n"
    ));
    let back = BACK_MS / BIN_MS - 1;
    let mut received: Vec<u64> = Vec::new();
    for bin in 0..28_000 / BIN_MS {
        simulation.advance_by(Duration::from_millis(BIN_MS as u64));
        received.push(simulation.built().world.flows[0].counts.received_bytes);
        // What comes later says no more.
        if bin >= back + 3 && mbps(&received[bin - 3..=bin]) >= BACK_MBPS {
            return Some((bin - 3 - back) * BIN_MS);
        }
    }
    None
}

/// The mean between the first and the last of these, a bin apart from each other.
fn mbps(received: &[u64]) -> f64 {
    (received[received.len() - 1] - received[0]) as f64 * 8e-3 / ((received.len() - 1) * BIN_MS) as f64
}

#[test]
fn a_flow_has_its_rate_again_at_once_after_an_outage_of_up_to_eight_seconds() {
    for (away_ms, most_ms) in [(1_000, 300), (4_900, 300), (8_000, 1_000)] {
        let mut back = each(1..=4, |seed| back_after(away_ms, seed).unwrap_or(usize::MAX));
        back.sort_unstable();
        println!("away for {away_ms} ms: back after {back:?} ms");
        // Half of the runs at once; one may meet TCP in the low of its swing.
        assert!(back[1] <= most_ms && back[3] <= 1_000, "{away_ms}: {back:?}");
    }
}

/// The null case: after longer than its queue is kept TCP has to find its window anew, which takes
/// seconds.
#[test]
fn after_an_outage_of_sixteen_seconds_it_climbs() {
    assert!(back_after(16_000, 1).is_none_or(|ms| ms > 1_000));
}
