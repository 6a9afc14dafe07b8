//! A wireless backhaul between an access point and a repeater loses one of its two links: what is
//! left carries the traffic, whatever the ends can know of it.

use crate::common::flow;
use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;
use std::path::Path;

/// Goodput of `traffic`, Mb/s, from two seconds after the event on.
fn after(event: &str, traffic: &[&str]) -> f64 {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/multifacet.toml");
    let mut document = Document::read(&file).unwrap_or_else(|e| panic!("{e}"));
    let event = format!("event=[{{at=\"1s\",{event}}}]");
    let settings = ["duration=6s", "warmup=3s", &event];
    for setting in settings.iter().chain(traffic) {
        document.set_text(setting).unwrap_or_else(|e| panic!("{setting}: {e}"));
    }
    let scenario = document.scenario().unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, &document.directory()).unwrap_or_else(|e| panic!("{e}"));
    simulation.run();
    flow(&simulation.report(), "down").goodput_mbps
}

/// Datagrams downwards alone: all that the repeater says is acknowledgements, which nobody answers, so it learns nothing by what it sends. Its own channel is
/// where it would say them.
const DOWNWARDS: [&str; 3] =
    ["flow.down.kind=\"udp\"", "flow.down.rate=\"6Mbit/s\"", "flow.down.packet=\"1400B\""];

const FAULTS: [&str; 4] = [
    "what=\"radio-down\",radio=\"ap:own\"",
    "what=\"radio-down\",radio=\"repeater:own\"",
    "what=\"disassociate\",interface=\"repeater:wlan0\"",
    // Nobody goes there with it.
    "what=\"tune\",radio=\"ap:own\",channel=44",
];

#[test]
fn without_the_dedicated_link_the_shared_one_carries_on() {
    for fault in FAULTS {
        let udp = after(fault, &DOWNWARDS);
        assert!(udp > 5.8, "{fault}: {udp:.2} of 6 Mb/s");
        let tcp = after(fault, &[]);
        assert!(tcp > 8.0, "{fault}: TCP at {tcp:.2} Mb/s");
    }
}

#[test]
fn without_the_shared_link_the_dedicated_one_carries_on() {
    // The radio of the repeater is also the client's, so its end stays up.
    for fault in
        ["what=\"radio-down\",radio=\"ap:shared\"", "what=\"disassociate\",interface=\"repeater:wlan1\""]
    {
        let udp = after(fault, &DOWNWARDS);
        assert!(udp > 5.8, "{fault}: {udp:.2} of 6 Mb/s");
        let tcp = after(fault, &[]);
        assert!(tcp > 8.0, "{fault}: TCP at {tcp:.2} Mb/s");
    }
}
