//! Scenarios on real kernels. Needs root; says so and passes otherwise.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::common::{possible, scenario};
use ropewalk_lab::live::{Lab, Options};
use ropewalk_lab::{LabError, Ping};

/// A cell behind a bridge and an address translation.
///
/// ```text
///  sta1 ))  (( wlan0 ap (bridge br0) eth0 ──lan── lan router wan ──uplink── eth0 server
///  sta2 ))
/// ```
const HOME: &str = r#"
duration = "10s"
[node.sta1]
[node.sta1.radio.r0]
standard = "11n"
channel = 36
[node.sta1.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "home"
[node.sta2]
[node.sta2.radio.r0]
standard = "11n"
channel = 36
[node.sta2.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "home"
[node.ap]
position = [3.0, 0.0]
[node.ap.radio.r0]
standard = "11n"
channel = 36
[node.ap.interface.wlan0]
radio = "r0"
mode = "ap"
ssid = "home"
[node.ap.interface.eth0]
[node.ap.bridge.br0]
ports = ["wlan0", "eth0"]
[node.router]
forward = true
nat = ["wan"]
[node.router.interface.lan]
[node.router.interface.wan]
[node.server]
[[link]]
name = "lan"
ends = ["ap:eth0", "router:lan"]
rate = "1Gbit/s"
[[link]]
name = "uplink"
ends = ["router:wan", "server:eth0"]
rate = "50Mbit/s"
delay = "5ms"
"#;

/// None, with the reason on standard error, where the lab cannot work.
fn lab(text: &str) -> Option<Lab> {
    possible(Lab::start(&scenario(text), &Options::new(Path::new("."))))
}

fn pings(lab: &Lab, from: &str, to: &str) -> u32 {
    let [_, address] = lab.addresses(from, to).unwrap();
    let ping = Ping::new(address.into())
        .count(5)
        .interval(Duration::from_millis(20))
        .timeout(Duration::from_millis(500));
    ping.run(lab.node(from).unwrap().namespace()).unwrap().received as u32
}

/// Sends `megabytes` of numbers by TCP and checks that they arrive as they were; gives the client's address as the server saw it.
fn transfer(lab: &Lab, from: &str, to: &str, megabytes: u32) -> std::net::IpAddr {
    let [_, address] = lab.addresses(from, to).unwrap();
    let listener = lab.node(to).unwrap().enter(move || TcpListener::bind((address, 0)).unwrap()).unwrap();
    let server = listener.local_addr().unwrap();
    let total = megabytes * 262_144;
    let receiver = std::thread::spawn(move || {
        let (mut stream, peer) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), total as usize * 4);
        let right = all.chunks_exact(4).zip(0u32..).all(|(word, n)| word == n.to_le_bytes());
        assert!(right, "bytes that arrived are not those that were sent");
        peer.ip()
    });
    let mut client = lab.node(from).unwrap().enter(move || TcpStream::connect(server).unwrap()).unwrap();
    let all: Vec<u8> = (0..total).flat_map(u32::to_le_bytes).collect();
    client.write_all(&all).unwrap();
    drop(client);
    receiver.join().unwrap()
}

#[test]
fn a_home_has_the_simulators_addresses_and_its_translation() {
    let Some(lab) = lab(HOME) else { return };
    for (from, to) in [("sta1", "server"), ("sta1", "sta2"), ("sta2", "router"), ("router", "server")] {
        assert_eq!(pings(&lab, from, to), 5, "{from} > {to}");
    }
    let [_, server] = lab.addresses("sta1", "server").unwrap();
    let [_, station] = lab.addresses("server", "sta1").unwrap();
    assert!(lab.reaches("sta1", server) && !lab.reaches("server", station));
    let seen = transfer(&lab, "sta1", "server", 2);
    assert_eq!(seen, lab.address_of("router:wan").unwrap(), "the server sees the router's address");
    let counters = lab.counters().unwrap();
    assert!(counters.at.is_zero(), "the scenario's time has not begun");
}

#[test]
fn super_packets_cross_the_air_whole_and_lossy_links_in_order() {
    let lossy = HOME.replace("delay = \"5ms\"", "delay = \"1ms\"\nloss = \"1%\"");
    let Some(lab) = lab(&lossy) else { return };
    lab.begin().unwrap();
    let before = lab.start_measuring().unwrap();
    transfer(&lab, "sta1", "server", 4);
    let report = lab.report(&before, &lab.counters().unwrap());
    let station = report.station.iter().find(|s| s.name == "sta1:wlan0>ap:wlan0").unwrap();
    // Every packet is a frame of its own on the air: 4 MiB are 2900 of at most 1500 bytes.
    assert!(station.delivered >= 2900 && station.bytes >= 4 << 20, "{station:?}");
    let uplink = report.link.iter().find(|l| l.name == "uplink:forward").unwrap();
    assert!(uplink.lost > 0, "{uplink:?}");
    let idle = report.station.iter().find(|s| s.name == "sta2:wlan0>ap:wlan0");
    assert!(idle.is_none_or(|s| s.bytes < 10_000), "{idle:?}");
}

#[test]
fn events_happen_when_told() {
    let Some(lab) = lab(HOME) else { return };
    let event = |keys: &str| {
        let text = format!("{HOME}\n[[event]]\nat = \"0s\"\n{keys}\n");
        scenario(&text).event.remove(0)
    };
    lab.change(&event("what = \"link-down\"\nlink = \"uplink\"")).unwrap();
    assert_eq!(pings(&lab, "router", "server"), 0);
    lab.change(&event("what = \"link-up\"\nlink = \"uplink\"")).unwrap();
    assert_eq!(pings(&lab, "router", "server"), 5);
    lab.change(&event("what = \"move\"\nnode = \"sta2\"\nposition = [5000.0, 0.0]")).unwrap();
    assert_eq!((pings(&lab, "sta2", "router"), pings(&lab, "sta1", "router")), (0, 5));
}

/// Waits until a shell line inside a node succeeds, at most so many tenths of a second.
fn comes_true(lab: &Lab, node: &str, line: &str, tenths: u32) -> bool {
    (0..tenths).any(|_| {
        let done = lab.node(node).unwrap().namespace().shell(line).is_ok();
        if !done {
            std::thread::sleep(Duration::from_millis(100));
        }
        done
    })
}

#[test]
fn a_station_without_an_access_point_has_no_carrier() {
    let Some(lab) = lab(HOME) else { return };
    let change = |keys: &str| {
        let text = format!("{HOME}\n[[event]]\nat = \"0s\"\n{keys}\n");
        lab.change(&scenario(&text).event[0]).unwrap();
    };
    let (has, lacks) = ("ip -o link show wlan0 | grep LOWER_UP", "ip -o link show wlan0 | grep NO-CARRIER");
    assert!(comes_true(&lab, "sta1", has, 1) && comes_true(&lab, "ap", has, 1));
    change("what = \"disassociate\"\ninterface = \"sta1:wlan0\"");
    assert!(comes_true(&lab, "sta1", lacks, 50));
    assert!(comes_true(&lab, "sta2", has, 1), "another's link is as it was");
    change("what = \"associate\"\ninterface = \"sta1:wlan0\"");
    assert!(comes_true(&lab, "sta1", has, 50));
    change("what = \"radio-down\"\nradio = \"ap:r0\"");
    assert!(comes_true(&lab, "ap", lacks, 50));
    change("what = \"radio-up\"\nradio = \"ap:r0\"");
    assert!(comes_true(&lab, "ap", has, 50));
}

#[test]
fn an_obstacle_stays_as_long_as_it_is_told_to() {
    let Some(lab) = lab(HOME) else { return };
    lab.begin().unwrap();
    let change = |keys: &str| {
        let pair = "what = \"blockage\"\nbetween = [\"sta1:r0\", \"ap:r0\"]";
        let text = format!("{HOME}\n[[event]]\nat = \"0s\"\n{pair}\n{keys}\n");
        lab.change(&scenario(&text).event[0]).unwrap();
    };
    let passes = || (0..100).any(|_| pings(&lab, "sta1", "router") == 5);
    change("loss = \"120dB\"");
    assert_eq!((pings(&lab, "sta1", "router"), pings(&lab, "sta2", "router")), (0, 5));
    change("loss = \"0dB\"");
    assert!(passes(), "it is gone");
    change("loss = \"120dB\"\nduration = \"1500ms\"");
    assert_eq!(pings(&lab, "sta1", "router"), 0);
    assert!(passes(), "it goes by itself");
}

#[test]
fn a_monitor_interface_is_one_of_802_11_and_ends_with_its_handle() {
    let Some(lab) = lab(HOME) else { return };
    let (capture, monitor) = (lab.capture("ap:wlan0").unwrap(), lab.monitor("ap", "mon0").unwrap());
    assert!(lab.monitor("ap", "mon0").is_err(), "there is one of this name");
    let feeding = std::thread::spawn(move || capture.feed(&monitor, |frames| frames < 200));
    assert!(comes_true(&lab, "ap", "ip -o link show mon0 | grep -w link/ieee802.11/radiotap", 1));
    let tcpdump = std::process::Command::new("tcpdump").arg("--version").output().is_ok();
    let dump = "timeout 10 tcpdump --immediate-mode -c 3 -e -n -i mon0 2>&1 >/tmp/$$.said; cat /tmp/$$.said; rm /tmp/$$.said";
    let heard = std::thread::scope(|scope| {
        let dumping = scope.spawn(|| lab.node("ap").unwrap().namespace().shell(dump));
        std::thread::sleep(Duration::from_millis(500));
        while !feeding.is_finished() {
            pings(&lab, "sta1", "sta2");
        }
        dumping.join().unwrap()
    });
    if tcpdump {
        let heard = heard.unwrap();
        assert!(heard.contains("BSSID:") && heard.contains("IEEE802_11_RADIO"), "{heard}");
    } else {
        ropewalk_skip::skip("in part: there is no tcpdump to decode what the monitor interface carries");
    }
    assert!(feeding.join().unwrap() >= 200);
    assert!(comes_true(&lab, "ap", "! ip link show mon0 2>/dev/null", 20), "it is gone");
}

#[test]
fn a_monitor_hears_frames_whose_packets_are_whole() {
    let Some(lab) = lab(HOME) else { return };
    let capture = lab.capture("ap:wlan0").unwrap();
    assert!(matches!(lab.capture("router:wan"), Err(LabError::NotOnAir(_))));
    assert_eq!(pings(&lab, "sta1", "sta2"), 5);
    let mut file = Vec::new();
    let frames = capture.write(&mut file, |frames| frames < 20).unwrap();
    // Section header block, and radiotap behind it.
    assert!(frames >= 20 && file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let echo = [8u8, 0];
    assert!(file.windows(2).any(|w| w == echo), "an echo request is among them");
}

#[test]
fn two_labs_do_not_meet_and_nothing_is_left() {
    let (Some(one), Some(two)) = (lab(HOME), lab(HOME)) else { return };
    let names = |lab: &Lab| lab.nodes().iter().map(|n| n.namespace().name().to_owned()).collect::<Vec<_>>();
    let (mine, other) = (names(&one), names(&two));
    assert!(mine.iter().all(|n| !other.contains(n)));
    assert_eq!((pings(&one, "sta1", "server"), pings(&two, "sta1", "server")), (5, 5));
    let there = |names: &[String]| names.iter().filter(|n| Path::new("/run/netns").join(n).exists()).count();
    let logs = one.logs().to_owned();
    one.stop().unwrap();
    assert_eq!((there(&mine), there(&other), logs.exists()), (0, 5, false));
    drop(two);
    assert_eq!(there(&other), 0);
}

#[test]
fn what_is_not_there_is_said_in_a_sentence() {
    let Some(lab) = lab(HOME) else { return };
    let said = |result: ropewalk_lab::Result<()>| result.unwrap_err().to_string();
    assert!(said(lab.node("moon").map(drop)).contains("there are sta1, sta2, ap, router, server"));
    assert!(said(lab.set_interferer("oven", true)).contains("there is no interferer `oven`"));
    assert!(said(lab.address_of("ap:eth0").map(drop)).contains("no interface `ap:eth0` with an address"));
}
