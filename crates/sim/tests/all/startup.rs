//! A connection that never waits at the bond's entrance: TCP inside sends in bursts of a round trip, by the paths' own pace.

use crate::common::{each, flow, run};

const MBPS: [f64; 2] = [20.0, 10.0];

/// Mbit/s of one TCP flow, and what the slower path's queue dropped.
fn carried(seed: u64) -> (f64, u64) {
    let report = run(&format!(
        "seed = {seed}\nduration = \"8s\"\nwarmup = \"3s\"\n[node.client]\n[node.gateway]\n\
         [[link]]\nname = \"a\"\nends = [\"client:a\", \"gateway:a\"]\nrate = \"{}Mbit/s\"\ndelay = \"10ms\"\n\
         [[link]]\nname = \"b\"\nends = [\"client:b\", \"gateway:b\"]\nrate = \"{}Mbit/s\"\ndelay = \"30ms\"\n\
         [bond.rw0]\nclient = \"client\"\ngateway = \"gateway\"\npaths = [\"a\", \"b\"]\n\
         [[flow]]\nname = \"down\"\nkind = \"tcp\"\nfrom = \"gateway\"\nto = \"client:rw0\"\n",
        MBPS[0], MBPS[1]
    ));
    let dropped = report.link.iter().find(|l| l.name == "b:back").unwrap().dropped_full;
    (flow(&report, "down").goodput_mbps, dropped)
}

/// A path that is always sent more than it serves was in startup for as long as the flow was short of data: 26.1 and
/// 25.2 Mbit/s with seeds 4 and 8, a queue of 100 ms, and 18 and 44 packets dropped.
#[test]
fn a_path_that_a_burst_fills_each_round_trip_is_found_full() {
    for (goodput, dropped) in each([4, 8], carried) {
        println!("{goodput:.2} Mb/s, {dropped} dropped");
        assert!(goodput > 0.905 * MBPS.iter().sum::<f64>() && dropped == 0, "{goodput} {dropped}");
    }
}
