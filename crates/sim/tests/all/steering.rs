//! A receiver on two access points of one channel that steers the sender: what it brings, and what
//! it leaves alone.

use crate::common::{flow, run};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::Report;

/// Packets of the first access point take `packet_ms` of the air and win four times as often, those
/// of the second take 0.5 ms.
fn text(packet_ms: u32, more: &str) -> String {
    let ap = |n: u32, radio: &str| {
        format!(
            "[node.ap{n}]\nforward = true\nradio.r0 = {{ standard = \"11g\", channel = 1, queue = {{ packets = 200 }}, {radio} }}\n\
             interface.wlan0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"{n}\" }}\n\
             [[link]]\nends = [\"server:eth{n}\", \"ap{n}:eth0\"]\nrate = \"1Gbit/s\"\ndelay = \"12ms\"\n"
        )
    };
    let station =
        |n: u32| format!("interface.wlan{n} = {{ radio = \"r0\", mode = \"station\", ssid = \"{n}\" }}\n");
    format!(
        "duration = \"40s\"\nwarmup = \"20s\"\nmedium.model = \"weighted-fair\"\n[node.server]\n{}{}\
         [node.client]\nradio.r0 = {{ standard = \"11g\", channel = 1 }}\n{}{}\
         [[flow]]\nname = \"f\"\nkind = \"mptcp\"\nfrom = \"server\"\nto = \"client\"\ncongestion = \"olia\"\n\
         paths = [\"server:eth1\", \"server:eth2\", \"client:wlan1\", \"client:wlan2\"]\n{more}",
        ap(1, &format!("packet-time = \"{packet_ms}ms\", weight = 4")),
        ap(2, "packet-time = \"500us\""),
        station(1),
        station(2),
    )
}

fn report(packet_ms: u32, more: &str) -> Report {
    run(&text(packet_ms, more))
}

fn goodput(packet_ms: u32, more: &str) -> f64 {
    flow(&report(packet_ms, more), "f").goodput_mbps
}

const MARKS: &str = "ecn = true\nsteering = { marks = \"corrected\" }\n";
const PRINTED: &str = "ecn = true\nsteering = { marks = \"printed\" }\n";
const PRIORITY: &str = "steering = { priority = true }\n";

#[test]
fn marks_give_the_better_access_point_its_air_back_and_the_printed_rate_does_not() {
    // Backlogged, five packets take 4 · 3 + 0.5 ms: 4.5 Mbit/s of 22.7.
    let (none, printed, marks) = (goodput(3, "ecn = true\n"), goodput(3, PRINTED), goodput(3, MARKS));
    assert!((4.0..5.5).contains(&none) && (4.0..5.5).contains(&printed), "{none} {printed}");
    assert!(marks > 14.0, "{marks}");
}

#[test]
fn a_backup_leaves_the_air_to_the_better_access_point() {
    let rested = goodput(3, PRIORITY);
    assert!(rested > 22.0, "{rested}");
}

#[test]
fn steering_without_marks_marks_nothing_and_equal_access_points_are_left_alone() {
    // Both packet times are equal, so nothing is worse: the run is the same, packet by packet.
    let equal = |more: &str| {
        let text = text(3, more).replace("\"500us\"", "\"3ms\"");
        let counts = flow(&run(&text), "f").clone();
        (counts.bytes, counts.sent_packets)
    };
    let none = equal("ecn = true\n");
    assert_eq!(none, equal(MARKS));
    assert_eq!(none, equal("ecn = true\nsteering = { marks = \"corrected\", priority = true }\n"));
}

#[test]
fn settings_that_would_do_nothing_are_refused() {
    let refused = |more: &str, medium: &str| {
        let text = text(3, more).replace("weighted-fair", medium);
        Document::parse("test.toml", &text).and_then(|d| d.scenario()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused("steering = {}\n", "weighted-fair").contains("steers by nothing"));
    assert!(refused("steering = { marks = \"printed\" }\n", "weighted-fair").contains("ecn = true"));
    assert!(refused(PRIORITY, "802.11").contains("weighted-fair"));
}
