//! The abstract medium on real kernels. Needs root; says so and passes otherwise.
//!
//! Shares are asserted within wide margins: a busy machine delays packets, and the medium still
//! gives turns by weight, since it goes by the times at which they are due.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::common::{possible, scenario};
use ropewalk_lab::Ping;
use ropewalk_lab::live::{Lab, Options, Run};
use ropewalk_scenario::report::Report;

/// Two access points of one channel, each with a station and more to send than the channel takes.
/// A packet of the first takes 3 ms, one of the second 0.5 ms.
const TWO: &str = r#"
duration = "2500ms"
warmup = "500ms"
medium.model = "weighted-fair"
[node.ap1]
radio.r0 = { standard = "11g", channel = 1, packet-time = "3ms", weight = 4, queue = { packets = 50 } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "one" }
[node.sta1]
radio.r0 = { standard = "11g", channel = 1 }
interface.wlan0 = { radio = "r0", mode = "station", ssid = "one" }
[node.ap2]
radio.r0 = { standard = "11g", channel = 1, packet-time = "500us", queue = { packets = 50 } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "two" }
[node.sta2]
radio.r0 = { standard = "11g", channel = 1 }
interface.wlan0 = { radio = "r0", mode = "station", ssid = "two" }
[[flow]]
name = "one"
kind = "udp"
from = "ap1"
to = "sta1"
rate = "20Mbit/s"
[[flow]]
name = "two"
kind = "udp"
from = "ap2"
to = "sta2"
rate = "40Mbit/s"
"#;

fn report(text: &str) -> Option<Report> {
    let options = Options::new(Path::new("."));
    let run = possible(Run::prepare(&scenario(text), &options, Path::new("/nonexistent")))?;
    Some(run.finish(&AtomicBool::new(false), |_| {}).unwrap().unwrap())
}

fn goodput(report: &Report, flow: &str) -> f64 {
    report.flow.iter().find(|row| row.name == flow).unwrap().goodput_mbps
}

#[test]
fn access_points_have_turns_by_weight_whatever_their_packets_take() {
    let Some(weighted) = report(TWO) else { return };
    // 320 and 80 packets a second of 1,472 bytes: 3.77 and 0.94 Mbit/s.
    let (one, two) = (goodput(&weighted, "one"), goodput(&weighted, "two"));
    assert!((2.5..7.0).contains(&(one / two)), "{one} and {two} Mbit/s");
    assert!(one < 5.0 && two < 1.5 && one > 1.0, "{one} and {two} Mbit/s");
    let radio = |name: &str| weighted.radio.iter().find(|row| row.name == name).unwrap();
    let (first, second) = (radio("ap1:r0").sending_percent, radio("ap2:r0").sending_percent);
    assert!(first > 10.0 * second && second > 0.0, "{first} and {second} % of the air");
    assert!(radio("sta1:r0").sending_percent < 0.01, "stations send beside it");
    assert!(weighted.station.iter().any(|row| row.name.contains("ap1:wlan0")), "{:?}", weighted.station);

    // Equal weights: as many packets of each, 286 a second.
    let equal = report(&TWO.replace("weight = 4", "weight = 1")).unwrap();
    let (one, two) = (goodput(&equal, "one"), goodput(&equal, "two"));
    assert!((0.6..1.7).contains(&(one / two)), "{one} and {two} Mbit/s");

    // Another channel is another medium: 2,000 packets a second, all that is sent.
    let apart = TWO.replace("channel = 1, packet-time = \"500us\"", "channel = 11, packet-time = \"500us\"");
    let station = apart.rfind("channel = 1 }").unwrap();
    let apart = format!("{}channel = 11 }}{}", &apart[..station], &apart[station + "channel = 1 }".len()..]);
    let apart = report(&apart).unwrap();
    let (one, two) = (goodput(&apart, "one"), goodput(&apart, "two"));
    assert!(two > 3.0 * one && two > 8.0, "{one} and {two} Mbit/s");
}

#[test]
fn stations_answer_beside_the_medium_and_what_802_11_alone_has_is_refused() {
    let Some(lab) = possible(Lab::start(&scenario(TWO), &Options::new(Path::new(".")))) else { return };
    let [_, address] = lab.addresses("ap1", "sta1").unwrap();
    let ping = Ping::new(address.into()).count(3);
    assert_eq!(ping.run(lab.node("ap1").unwrap().namespace()).unwrap().received, 3);
    let said = |result: ropewalk_lab::Result<()>| result.unwrap_err().to_string();
    assert!(said(lab.capture("ap1:wlan0").map(drop)).contains("has no frames to hear"));
    let text = TWO.replace("medium.model = \"weighted-fair\"", "").replace(", weight = 4", "");
    let text = text.replace("packet-time = \"3ms\", ", "").replace("packet-time = \"500us\", ", "");
    let event = "[[event]]\nat = \"0s\"\nwhat = \"radio-down\"\nradio = \"ap1:r0\"\n";
    let down = &scenario(&format!("{text}{event}")).event[0];
    assert!(said(lab.change(down)).contains("knows nothing of this"));
}
