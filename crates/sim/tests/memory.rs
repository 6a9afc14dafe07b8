//! Memory does not grow with simulated time.

use ropewalk_air::Time;
use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that are held at the times given, and allocations until each, since the first.
fn watch(text: &str, seconds: [u64; 3]) -> [(i64, usize); 2] {
    let document = Document::parse("memory.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.scenario().unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let mut until = |second| while simulation.now() < Time::from_secs(second) && !simulation.advance() {};
    until(seconds[0]);
    let region = Region::new(ALLOCATOR);
    [1, 2].map(|i| {
        until(seconds[i]);
        let change = region.change();
        let held =
            change.bytes_allocated as i64 - change.bytes_deallocated as i64 + change.bytes_reallocated as i64;
        (held, change.allocations + change.reallocations)
    })
}

/// One test, for other threads would be counted too.
#[test]
fn memory_is_flat_in_simulated_time() {
    let cell = r#"
duration = "100s"
[node.ap]
[node.ap.radio.r]
standard = "11n"
channel = 36
rate-control = { fixed = "MCS7" }
[node.ap.interface.wlan0]
radio = "r"
mode = "ap"
ssid = "a"
[node.sta]
count = 3
ring = 2.0
[node.sta.radio.r]
standard = "11n"
channel = 36
rate-control = { fixed = "MCS7" }
[node.sta.interface.wlan0]
radio = "r"
mode = "station"
ssid = "a"
[[flow]]
name = "up"
kind = "udp"
from = "sta*"
to = "ap"
[[flow]]
name = "tcp"
kind = "tcp"
from = "ap"
to = "sta1"
"#;
    let wire = r#"
duration = "100s"
[node.a]
[node.r]
forward = true
nat = ["wan"]
[node.b]
[[link]]
ends = ["a:eth0", "r:lan"]
[[link]]
ends = ["r:wan", "b:eth0"]
rate = "20Mbit/s"
delay = "20ms"
loss = "0.1%"
[[flow]]
name = "tcp"
kind = "tcp"
from = "a"
to = "b"
[[flow]]
name = "udp"
kind = "udp"
from = "a"
to = "b"
rate = "8Mbit/s"
"#;
    for text in [cell, wire] {
        let [(first, _), (second, _)] = watch(text, [5, 15, 45]);
        // Queues and the pool of packets are as large as the longest burst so far needed; what leaked would grow with time: one packet
        // in a hundred would be a megabyte by the end.
        assert!(first.abs() < 1_000_000 && (second - first).abs() < 100_000, "{first} bytes, then {second}");
    }
}
