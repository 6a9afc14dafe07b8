//! Scenarios from text to report.

use crate::common::{flow, near, run};
use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;
use std::path::Path;

/// `client — home (NAT) — server`, 20 Mbit/s down and 5 up.
const HOME: &str = r#"
duration = "20s"
warmup = "2s"
[node.client]
[node.home]
forward = true
nat = ["wan"]
[node.server]
[[link]]
ends = ["client:eth0", "home:lan"]
[[link]]
name = "access"
ends = ["home:wan", "server:eth0"]
delay = "10ms"
forward = { rate = "5Mbit/s" }
back = { rate = "20Mbit/s" }
"#;

#[test]
fn tcp_fills_a_home_link_through_address_translation_in_both_directions() {
    let flows = r#"
[[flow]]
name = "down"
kind = "tcp"
from = "server"
to = "client"
[[flow]]
name = "up"
kind = "tcp"
from = "client"
to = "server"
start = "8s"
stop = "14s"
"#;
    let report = run(&format!("{HOME}{flows}"));
    let down = flow(&report, "down");
    // 1448 of 1500 bytes are payload; while the upload fills its queue, acknowledgements wait, and CUBIC does not mind.
    assert!(near(down.goodput_mbps, 20.0 * 1448.0 / 1500.0, 0.05), "{down:?}");
    assert!(down.rtt_min_ms.is_some_and(|ms| (20.0..25.0).contains(&ms)), "{down:?}");
    let up = flow(&report, "up");
    // Six of the 18 seconds that count. Of the 5 Mb/s the download's acknowledgements take 0.35: 833 of 52 bytes a second.
    assert!(near(up.goodput_mbps, (5.0 - 0.35) * 1448.0 / 1500.0 * 6.0 / 18.0, 0.08), "{up:?}");
    let link = report.link.iter().find(|l| l.name == "access:back").unwrap();
    assert!(near(link.carried_mbps, 20.0, 0.04) && link.wait_ms > Some(10.0), "{link:?}");
}

#[test]
fn datagrams_and_video_find_a_receiver_that_address_translation_hides() {
    let flows = r#"
[[flow]]
name = "udp"
kind = "udp"
from = "server"
to = "client"
rate = "5Mbit/s"
[[flow]]
name = "video"
kind = "video"
from = "server"
to = "client"
rate = "5Mbit/s"
start = "3s"
"#;
    let report = run(&format!("{HOME}{flows}"));
    // 1472 of 1500 bytes are payload; video begins a second after figures do, when it is called.
    let udp = flow(&report, "udp");
    assert!(near(udp.goodput_mbps, 5.0 * 1472.0 / 1500.0, 0.01) && udp.loss_percent < Some(0.5), "{udp:?}");
    let video = flow(&report, "video");
    assert!(near(video.goodput_mbps, 5.0 * 17.0 / 18.0, 0.05) && video.psnr_db == Some(40.0), "{video:?}");
    // Nobody translates: nobody has to call.
    let open = run(&format!("{}{flows}", HOME.replace("nat = [\"wan\"]\n", "")));
    let call = open.interface.iter().find(|i| i.name == "client:eth0").unwrap();
    assert_eq!(call.sent, 0, "{call:?}");
}

#[test]
fn requests_video_and_adaptive_streaming_say_what_people_got() {
    let flows = r#"
[[flow]]
name = "page"
kind = "request"
from = "server"
to = "client"
bytes = "100kB"
interval = "1s"
[[flow]]
name = "call"
kind = "video"
from = "client"
to = "server"
rate = "1Mbit/s"
[[flow]]
name = "film"
kind = "adaptive"
from = "server"
to = "client"
segments.length = "2s"
"#;
    let report = run(&format!("{HOME}{flows}"));
    let page = flow(&report, "page");
    assert!(page.responses.is_some_and(|n| (14..=18).contains(&n)), "{page:?}");
    assert!(page.response_ms.is_some_and(|ms| (60.0..400.0).contains(&ms)), "{page:?}");
    let call = flow(&report, "call");
    assert!(call.psnr_db == Some(40.0) && near(call.goodput_mbps, 1.0, 0.1), "{call:?}");
    let film = flow(&report, "film");
    assert!(film.quality_mbps.is_some_and(|q| q > 5.0) && film.stalls == Some(0), "{film:?}");
}

#[test]
fn adaptive_streaming_over_two_paths_shows_what_neither_carries() {
    let network = |paths: &str| {
        format!(
            r#"
duration = "40s"
[node.client]
[node.server]
[[link]]
ends = ["server:a", "client:a"]
rate = "8Mbit/s"
delay = "5ms"
[[link]]
ends = ["server:b", "client:b"]
rate = "8Mbit/s"
delay = "5ms"
[[flow]]
name = "film"
kind = "adaptive"
from = "server"
to = "client"
segments.length = "2s"
{paths}
"#
        )
    };
    let quality = |paths: &str| flow(&run(&network(paths)), "film").quality_mbps.unwrap();
    let (one, two) = (
        quality(""),
        quality("paths = [\"client:a\", \"client:b\", \"server:a\", \"server:b\"]\ncongestion = \"lia\""),
    );
    // 0.8 of the rate decides: 5 of 8 Mbit/s, 10 of 16.
    assert!(one < 5.5 && two > 9.0, "{one} {two}");
}

#[test]
fn video_over_a_link_that_loses_much_is_bad() {
    let flows = "[[flow]]\nname = \"call\"\nkind = \"video\"\nfrom = \"client\"\nto = \"server\"\nrate = \"20Mbit/s\"\n";
    let report = run(&format!("{HOME}{flows}"));
    let call = flow(&report, "call");
    // Three quarters of the packets find the queue full: no frame is whole.
    assert!(call.psnr_db.is_some_and(|db| db < 12.0), "{call:?}");
}

#[test]
fn a_time_series_keeps_its_columns_when_somebody_is_heard_of_later() {
    let text = r#"
duration = "2s"
measure.interval = "500ms"
[node.ap]
radio.r0 = { standard = "11a", channel = 36, rate-control = { fixed = "54Mbit/s" } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "cell" }
[node.sta]
radio.r0 = { standard = "11a", channel = 36, rate-control = { fixed = "54Mbit/s" } }
interface.wlan0 = { radio = "r0", mode = "station", ssid = "cell" }
[[flow]]
name = "down"
kind = "udp"
from = "ap"
to = "sta"
rate = "6Mbit/s"
start = "1s"
"#;
    let series = run(text).series;
    let values = |name: &str| -> Vec<Option<f64>> {
        let column = series.columns.iter().position(|c| c == name).unwrap_or_else(|| panic!("no {name}"));
        series.rows.iter().map(|row| row.get(column).copied().flatten()).collect()
    };
    let sent = values("station.ap:wlan0>sta:wlan0.goodput_mbps");
    assert!(sent[..2].iter().all(|v| v.is_none_or(|v| v == 0.0)), "{sent:?}");
    assert!(sent[2..].iter().all(|v| v.is_some_and(|v| near(v, 6.0, 0.02))), "{sent:?}");
    let busy = values("radio.ap:r0.busy_percent");
    assert!(busy[1] < Some(5.0) && busy[3] > Some(10.0), "{busy:?}");
}

#[test]
fn links_change_and_break_when_events_say_so() {
    let events = r#"
[[flow]]
name = "probe"
kind = "udp"
from = "client"
to = "server"
rate = "1Mbit/s"
packet = "250B"
[[event]]
at = "5s"
what = "link-down"
link = "access"
[[event]]
at = "7s"
what = "link-up"
link = "access"
[[event]]
at = "10s"
what = "link-set"
link = "access"
rate = "500kbit/s"
[measure]
interval = "1s"
"#;
    let report = run(&format!("{HOME}{events}"));
    let series = &report.series;
    let column = series.columns.iter().position(|c| c == "flow.probe.goodput_mbps").unwrap();
    let at = |second: usize| series.rows[second][column].unwrap();
    assert_eq!(series.rows.len(), 20);
    // 222 of 250 bytes are payload.
    for (second, mbps) in [(3, 0.888), (5, 0.0), (6, 0.0), (8, 0.888), (15, 0.444)] {
        assert!((at(second) - mbps).abs() < 0.02, "second {second}: {}", at(second));
    }
}

const TWO_WAYS: &str = r#"
duration = "12s"
warmup = "4s"
[node.client]
[node.dsl]
forward = true
nat = ["wan"]
[node.lte]
forward = true
nat = ["wan"]
[node.gate]
forward = true
[node.server]
[[link]]
ends = ["client:eth0", "dsl:lan"]
[[link]]
ends = ["client:eth1", "lte:lan"]
[[link]]
name = "a"
ends = ["dsl:wan", "gate:dsl"]
rate = "30Mbit/s"
delay = "8ms"
[[link]]
name = "b"
ends = ["lte:wan", "gate:lte"]
rate = "20Mbit/s"
delay = "20ms"
[[link]]
ends = ["gate:lan", "server:eth0"]
"#;

#[test]
fn a_bond_carries_tcp_over_both_ways_in_both_directions() {
    let rest = r#"
[bond.rope]
client = "client"
gateway = "gate"
paths = ["eth0", "eth1"]
[[flow]]
name = "up"
kind = "tcp"
from = "client"
to = "server"
[[flow]]
name = "down"
kind = "tcp"
from = "server"
to = "client"
"#;
    let report = run(&format!("{TWO_WAYS}{rest}"));
    for name in ["up", "down"] {
        let row = flow(&report, name);
        assert!(row.goodput_mbps > 36.0, "{row:?}");
    }
    assert_eq!(report.path.len(), 4);
    for path in &report.path {
        assert!(path.state == "active" && path.share_percent > 20.0, "{path:?}");
    }
}

#[test]
fn mptcp_carries_more_than_one_way_does() {
    let rest = r#"
[[flow]]
name = "up"
kind = "mptcp"
from = "client"
to = "server"
congestion = "olia"
"#;
    let report = run(&format!("{TWO_WAYS}{rest}"));
    let row = flow(&report, "up");
    assert!(row.goodput_mbps > 36.0, "{row:?}");
    let names: Vec<&str> = report.subflow.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["up:client:eth0", "up:client:eth1"]);
    assert!(report.subflow.iter().all(|s| s.goodput_mbps > 10.0), "{:?}", report.subflow);
}

/// An access point bridged to a wire, with stations on the same radio channel.
fn cell(standard: &str, rate: &str, stations: u32, flows: &str) -> String {
    format!(
        r#"
duration = "3s"
warmup = "1s"
[node.server]
[node.ap]
[node.ap.radio.r]
standard = "{standard}"
channel = 36
rate-control = {{ fixed = "{rate}" }}
[node.ap.interface.wlan0]
radio = "r"
mode = "ap"
ssid = "lab"
beacon-interval = "0s"
[node.ap.interface.eth0]
[node.ap.bridge.br0]
ports = ["eth0", "wlan0"]
[node.sta]
count = {stations}
ring = 2.0
[node.sta.radio.r]
standard = "{standard}"
channel = 36
rate-control = {{ fixed = "{rate}" }}
[node.sta.interface.wlan0]
radio = "r"
mode = "station"
ssid = "lab"
[[link]]
ends = ["server:eth0", "ap:eth0"]
rate = "1Gbit/s"
{flows}"#
    )
}

#[test]
fn one_saturated_sender_gets_what_the_standard_leaves_it() {
    let up = "[[flow]]\nname = \"up\"\nkind = \"udp\"\nfrom = \"sta1\"\nto = \"server\"\n";
    // The closed form of wifi-model.md, which counts IP bytes; a flow counts 1472 of 1500.
    for (standard, rate, mbps) in [("11a", "54Mbit/s", 30.496), ("11n", "MCS7", 60.886)] {
        let report = run(&cell(standard, rate, 1, up));
        let row = flow(&report, "up");
        assert!(near(row.goodput_mbps, mbps * 1472.0 / 1500.0, 0.005), "{standard}: {row:?}");
        let station = report.station.iter().find(|s| s.name == "sta1:wlan0>ap:wlan0").unwrap();
        assert!(near(station.goodput_mbps, mbps, 0.005) && station.failed == 0, "{station:?}");
        assert!(near(station.attempts, 1.0, 1e-9), "{station:?}");
    }
}

#[test]
fn stations_reach_each_other_and_the_wire_through_their_access_point() {
    let flows = r#"
[[flow]]
name = "ping"
kind = "ping"
from = "server"
to = "sta1"
interval = "100ms"
[[flow]]
name = "across"
kind = "udp"
from = "sta1"
to = "sta2"
rate = "1Mbit/s"
[[flow]]
name = "down"
kind = "tcp"
from = "server"
to = "sta3"
"#;
    let report = run(&cell("11n", "MCS7", 3, flows));
    assert_eq!(flow(&report, "ping").loss_percent, Some(0.0));
    assert!(near(flow(&report, "across").goodput_mbps, 1472.0 / 1500.0, 0.02));
    assert!(flow(&report, "down").goodput_mbps > 35.0, "{:?}", flow(&report, "down"));
    let fair: f64 = report.radio.iter().map(|r| r.sending_percent).sum();
    assert!((50.0..101.0).contains(&fair), "a channel has only so much time: {fair}");
}

#[test]
fn what_the_models_lack_is_refused_with_its_key() {
    let bond = "[bond.rope]\nclient = \"client\"\ngateway = \"gate\"\npaths = [\"eth0\"]\n";
    let saturating = "[[flow]]\nname = \"up\"\nkind = \"udp\"\nfrom = \"client\"\nto = \"server\"\n";
    let document = Document::parse("test.toml", &format!("{TWO_WAYS}{bond}{saturating}")).unwrap();
    let error = Simulation::new(&document.scenario().unwrap(), Path::new(".")).err();
    assert_eq!(error.map(|e| e.key).as_deref(), Some("flow.up.rate"));
}

#[test]
fn damaged_packets_use_the_link_and_reach_nobody() {
    let cable = |corruption: &str, flow: &str| {
        format!(
            "duration = \"20s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\nends = [\"a:eth0\", \"b:eth0\"]\n\
             rate = \"20Mbit/s\"\ndelay = \"10ms\"\ncorruption = \"{corruption}\"\n[[flow]]\nname = \"f\"\n{flow}from = \"a\"\nto = \"b\"\n"
        )
    };
    let udp = run(&cable("10%", "kind = \"udp\"\nrate = \"10Mbit/s\"\n"));
    let lost = flow(&udp, "f").loss_percent.unwrap_or_default();
    // 16 600 packets: 0.23 % is one standard deviation.
    assert!((9.0..11.0).contains(&lost), "{lost} %");
    let link = udp.link.iter().find(|l| l.name == "wan:forward").unwrap();
    assert!(near(link.carried_mbps, 10.0, 0.01), "damaged packets are carried like others: {link:?}");
    let tcp = |corruption: &str| flow(&run(&cable(corruption, "kind = \"tcp\"\n")), "f").clone();
    let (clean, damaged) = (tcp("0%"), tcp("2%"));
    assert!(damaged.retransmissions > Some(20), "what is damaged is sent again: {damaged:?}");
    assert!(
        damaged.goodput_mbps < 0.5 * clean.goodput_mbps,
        "and is a loss to congestion control: {damaged:?}"
    );
}

#[test]
fn a_tcp_flow_tells_its_congestion_window() {
    let report = |queue: &str| {
        run(&format!(
            "duration = \"20s\"\nwarmup = \"5s\"\nmeasure.interval = \"1s\"\n[node.a]\n[node.b]\n\
             [[link]]\nname = \"wan\"\nends = [\"a:eth0\", \"b:eth0\"]\nrate = \"10Mbit/s\"\ndelay = \"10ms\"\n\
             queue = {{ limit = \"{queue}\" }}\n\
             [[flow]]\nname = \"f\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\n\
             [[flow]]\nname = \"g\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10kbit/s\"\npacket = \"100B\"\n"
        ))
    };
    // The cable holds 25 kB and the queue the rest; a loss takes 0.3 of both.
    for (queue, least, most) in [("25kB", 25_000, 55_000), ("100kB", 70_000, 130_000)] {
        let report = report(queue);
        let mean = flow(&report, "f").cwnd_bytes.unwrap_or_default();
        assert!((least..most).contains(&mean), "{queue}: {mean}");
        assert_eq!(flow(&report, "g").cwnd_bytes, None);
        let series = &report.series;
        let column = series.columns.iter().position(|c| c == "flow.f.cwnd_bytes").unwrap();
        let last = series.rows.last().and_then(|row| row[column]).unwrap_or_default();
        assert!((least as f64 / 2.0..most as f64 * 2.0).contains(&last), "{queue}, the last second: {last}");
    }
}

#[test]
fn a_tcp_flow_with_a_rate_is_as_fast_as_its_application_writes() {
    let cable = |flow: &str| {
        run(&format!(
            "duration = \"12s\"\nwarmup = \"2s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\n\
             ends = [\"a:eth0\", \"b:eth0\"]\nrate = \"10Mbit/s\"\ndelay = \"10ms\"\n\
             [[flow]]\nname = \"f\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\n{flow}"
        ))
    };
    let goodput = |flow_keys: &str| flow(&cable(flow_keys), "f").goodput_mbps;
    assert!(near(goodput("rate = \"3Mbit/s\"\n"), 3.0, 0.01));
    assert!(near(goodput("rate = \"3Mbit/s\"\nstreams = 3\n"), 3.0, 0.01));
    // More than the cable carries: what a flow without a rate gets.
    assert!(near(goodput("rate = \"30Mbit/s\"\n"), goodput(""), 0.02));
    // 1.5 MB at 3 Mbit/s are four seconds, and the bytes are all.
    let ended = cable("rate = \"3Mbit/s\"\nbytes = \"1500kB\"\nstart = \"3s\"\n");
    let row = flow(&ended, "f");
    assert_eq!(row.bytes, 1_500_000);
    assert!(row.completion_s.is_some_and(|s| (3.95..4.2).contains(&s)), "{row:?}");
    let stopped = cable("rate = \"3Mbit/s\"\nstop = \"7s\"\n");
    assert!(near(flow(&stopped, "f").goodput_mbps, 1.5, 0.02), "five of ten seconds");
}
