//! A receiver that steers, live: kernel MPTCP by two access points of the abstract medium, the BPF
//! program that marks, and MP_PRIO. Needs root and Linux 6.6; says so and passes otherwise.
//!
//! What is asserted holds on a busy machine too: who is marked, and by which access point it comes.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::common::{possible, scenario};
use ropewalk_kern::KernError;
use ropewalk_lab::LabError;
use ropewalk_lab::live::{Options, Run};
use ropewalk_scenario::report::Report;

/// Packets by the first access point take six times as long, and win twice as often.
const FIVE: &str = r#"
duration = "6s"
warmup = "3s"
medium.model = "weighted-fair"
[node.server]
tcp.congestion = "cubic"
[node.core]
forward = true
[node.ap1]
forward = true
radio.r0 = { standard = "11g", channel = 1, packet-time = "3ms", weight = 2, queue = { packets = 60 } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "one" }
[node.ap2]
forward = true
radio.r0 = { standard = "11g", channel = 1, packet-time = "500us", queue = { packets = 60 } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "two" }
[node.client]
tcp.ecn = "ask"
radio.r0 = { standard = "11g", channel = 1 }
interface.wlan1 = { radio = "r0", mode = "station", ssid = "one" }
interface.wlan2 = { radio = "r0", mode = "station", ssid = "two" }
[[link]]
name = "lan"
ends = ["server:eth0", "core:lan"]
rate = "1Gbit/s"
[[link]]
name = "isp1"
ends = ["core:eth1", "ap1:eth0"]
rate = "1Gbit/s"
delay = "5ms"
[[link]]
name = "isp2"
ends = ["core:eth2", "ap2:eth0"]
rate = "1Gbit/s"
delay = "5ms"
[[flow]]
name = "multi"
kind = "mptcp"
from = "server"
to = "client"
paths = ["client:wlan1", "client:wlan2"]
ecn = true
"#;

fn report(steering: &str) -> Option<Report> {
    let options = Options::new(Path::new("."));
    let scenario = scenario(&format!("{FIVE}{steering}\n"));
    let run = match Run::prepare(&scenario, &options, Path::new("/nonexistent")) {
        Err(LabError::Marks(error @ (KernError::NotRoot | KernError::Refused(_) | KernError::NoTcx(_)))) => {
            ropewalk_skip::skip(error);
            return None;
        }
        Err(LabError::Build(error)) if error.sentence.contains("no MPTCP") => {
            ropewalk_skip::skip(error);
            return None;
        }
        made => possible(made)?,
    };
    let report = run.finish(&AtomicBool::new(false), |_| {}).unwrap().unwrap();
    let faults = &report.provenance.lab.as_ref().unwrap().invalid;
    assert!(!faults.iter().any(|fault| fault.starts_with("flow.")), "{faults:?}");
    Some(report)
}

/// Bytes by the first access point, and by the second.
fn bytes(report: &Report) -> [u64; 2] {
    let of = |interface: &str| {
        let mine = report.subflow.iter().filter(|row| row.interface == interface);
        mine.map(|row| row.bytes).sum()
    };
    ["client:wlan1", "client:wlan2"].map(of)
}

/// Mean round trip by the first access point.
fn first_trip_ms(report: &Report) -> f64 {
    report.subflow.iter().find(|row| row.interface == "client:wlan1").and_then(|row| row.rtt_ms).unwrap()
}

#[test]
fn a_costly_access_point_rests_and_the_null_case_uses_it() {
    let Some(null) = report("") else { return };
    let [slow, fast] = bytes(&null);
    assert!(slow > 100_000 && fast > 20_000, "both carry: {slow} and {fast} bytes");
    let steered = report("steering = { priority = true }").unwrap();
    let [slow, fast] = bytes(&steered);
    assert!(fast > 10 * slow, "{slow} and {fast} bytes");
    assert!(fast > bytes(&null)[1], "{fast} and {} bytes", bytes(&null)[1]);
}

#[test]
fn the_programs_marks_reach_the_sender_and_it_answers() {
    let Some(null) = report("") else { return };
    // Marks hold the window of the first to some packets: its queue is gone, and leaves air to the
    // second: 180 ms, then 20, and its share is some four times as large.
    let Some(marked) = report("steering = { marks = \"corrected\" }") else { return };
    let ([before, second], [after, fast]) = (bytes(&null), bytes(&marked));
    let trips = [&null, &marked].map(first_trip_ms);
    println!("{before} and {second}, then {after} and {fast} bytes; {trips:?} ms");
    assert!(trips[1] < trips[0] / 2.0, "{trips:?} ms");
    assert!(after < before && fast > second, "{before} and {second}, then {after} and {fast} bytes");
    assert!(2 * fast * before > 3 * second * after, "{before} and {second}, then {after} and {fast} bytes");
}
