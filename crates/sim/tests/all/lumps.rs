//! A bond over a path that delivers in lumps and has a queue shorter than a few of them.

use crate::common::run;

/// 60 GHz beside 5 GHz at 10 ft (`scenarios/004/bond.toml`), 1.5 s of a flow.
fn dropped_share(queue_packets: u32) -> f64 {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/004/bond.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.replace("duration = \"11s\"", "duration = \"2500ms\"");
    let text = text.replace("queue.packets = 2000", &format!("queue.packets = {queue_packets}"));
    let report = run(&text);
    let air = report.station.iter().find(|s| s.name == "ap:wlan0>client:wlan0").unwrap();
    let share = air.dropped as f64 / (air.delivered + air.dropped) as f64;
    println!("{queue_packets} packets: {:.2} % dropped of {}", 100.0 * share, air.delivered);
    share
}

#[test]
fn a_queue_that_ends_before_its_lumps_do_is_not_flooded() {
    // It overflowed for as long as the flow lasted: what it dropped was made up for as random loss.
    assert!(dropped_share(2000) < 0.03);
    // The null case: with room for all that is to wait.
    assert!(dropped_share(8000) < 0.01);
}
