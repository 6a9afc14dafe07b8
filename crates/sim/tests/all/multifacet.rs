//! Two links between an access point and a repeater, one of them on the channel of the repeater's
//! client (Multifacet): what both carry is held against what the dedicated one carries alone.
//! Whoever breaks the striper, the limiter or their feedback finds out here.

use crate::common::flow;
use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;
use std::path::Path;

/// The third bottleneck of the paper's table 2: a competitor silences the dedicated link for half
/// of the time, and the client's channel has air to spare (zone 2).
const ZONE_2: [&str; 5] = [
    "duration=5s",
    "warmup=2s",
    "interferer.rival.channel=36",
    "interferer.rival.position=[14.0,0.0]",
    "interferer.rival.power=\"16dBm\"",
];
const TRADITIONAL: &str = "bond.rw0.route=[\"10.99.0.0/24\"]";
const BACKPRESSURE: [&str; 4] = [
    "bond.rw0.scheduler=\"backpressure\"",
    "bond.rw0.congestion=\"none\"",
    "bond.rw0.queue-packets=200",
    "bond.rw0.order-deadline=\"50ms\"",
];
const ONE: &str = "bond.rw0.paths=[{interface=\"wlan0\",to=\"wlan0\"}]";
const BOTH: &str =
    "bond.rw0.paths=[{interface=\"wlan0\",to=\"wlan0\"},{interface=\"wlan1\",to=\"wlan1\",shared=true}]";
const UDP: [&str; 3] =
    ["flow.down.kind=\"udp\"", "flow.down.rate=\"80Mbit/s\"", "flow.down.packet=\"1400B\""];

/// Goodput, Mb/s, of the scenario with these keys set.
fn goodput(settings: &[&[&str]]) -> f64 {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/000/controlled.toml");
    let mut document = Document::read(&file).unwrap_or_else(|e| panic!("{e}"));
    for setting in ZONE_2.iter().chain(settings.iter().copied().flatten()) {
        document.set_text(setting).unwrap_or_else(|e| panic!("{setting}: {e}"));
    }
    let scenario = document.scenario().unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, &document.directory()).unwrap_or_else(|e| panic!("{e}"));
    simulation.run();
    flow(&simulation.report(), "down").goodput_mbps
}

#[test]
fn two_links_carry_more_than_the_dedicated_one_alone_where_air_is_left() {
    for (traffic, least) in [(&UDP[..], 1.35), (&[][..], 1.2)] {
        let alone = goodput(&[&[TRADITIONAL], traffic]);
        for limiter in ["bond.rw0.limiter=\"mimd\"", "bond.rw0.limiter=\"balance\""] {
            let both = goodput(&[&BACKPRESSURE, &[BOTH, limiter], traffic]);
            assert!(both > alone * least, "{limiter} {traffic:?}: {both:.1} of {alone:.1} Mb/s");
        }
    }
}

/// A competitor that speaks for 20 ms at a time holds up the dedicated link and the answers on it.
/// Whoever takes that for a dead path sends whole windows twice, and two links carry little more
/// than one or, with `balance`, less.
#[test]
fn a_link_that_is_held_up_is_not_taken_for_a_dead_path() {
    let long = ["interferer.rival.on=\"20ms\"", "interferer.rival.off=\"20ms\""];
    let alone = goodput(&[&[TRADITIONAL], &UDP, &long]);
    for limiter in ["bond.rw0.limiter=\"mimd\"", "bond.rw0.limiter=\"balance\""] {
        let both = goodput(&[&BACKPRESSURE, &[BOTH, limiter], &UDP, &long]);
        assert!(both > alone * 1.15, "{limiter}: {both:.1} of {alone:.1} Mb/s");
    }
}

/// What the way through a bond costs is its framing, 3.5 % of the bytes; larger frames and fewer acknowledgements on the air are worth as much where links do not
/// aggregate for long, as here.
#[test]
fn striping_over_one_link_carries_what_the_link_does() {
    // Three seconds of one seed differ by a tenth from those of another.
    let mean = |settings: &[&[&str]]| {
        let of = |seed| goodput(&[settings, &[&[seed]]].concat());
        ["seed=1", "seed=2", "seed=3"].into_iter().map(of).sum::<f64>() / 3.0
    };
    for traffic in [&UDP[..], &[][..]] {
        let alone = mean(&[&[TRADITIONAL], traffic]);
        let striped = mean(&[&BACKPRESSURE, &[ONE], traffic]);
        assert!(striped > alone * 0.9, "{traffic:?}: {striped:.1} of {alone:.1} Mb/s");
    }
}
