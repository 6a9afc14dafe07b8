//! What happens on air during a run, seen from the network above it.

use crate::common::{flow, near, run, simulation};
use ropewalk_scenario::report::Report;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Values of a column of the time series.
fn series(report: &Report, name: &str) -> Vec<f64> {
    let column = report.series.columns.iter().position(|c| c == name).unwrap_or_else(|| panic!("no {name}"));
    report.series.rows.iter().map(|row| row[column].unwrap_or(0.0)).collect()
}

/// Two access points, wired to a switch, and a station that begins at the first.
fn two_cells(rest: &str) -> String {
    let ap = |n: u32, x: u32| {
        format!(
            "[node.ap{n}]\nposition = [{x}, 0]\n[node.ap{n}.radio.r]\nstandard = \"11n\"\nchannel = 36\nrate-control = \"ideal\"\n\
             [node.ap{n}.interface.wlan0]\nradio = \"r\"\nmode = \"ap\"\nssid = \"lab\"\n[node.ap{n}.interface.eth0]\n\
             [node.ap{n}.bridge.br0]\nports = [\"eth0\", \"wlan0\"]\n"
        )
    };
    format!(
        r#"
duration = "10s"
[measure]
interval = "1s"
{}{}
[node.sta]
position = [2, 0]
[node.sta.radio.r]
standard = "11n"
channel = 36
rate-control = "ideal"
[node.sta.interface.wlan0]
radio = "r"
mode = "station"
ssid = "lab"
[node.server]
[node.switch]
[node.switch.interface.p1]
[node.switch.interface.p2]
[node.switch.interface.p3]
[node.switch.bridge.br0]
ports = ["p1", "p2", "p3"]
[[link]]
ends = ["ap1:eth0", "switch:p1"]
[[link]]
ends = ["ap2:eth0", "switch:p2"]
[[link]]
ends = ["server:eth0", "switch:p3"]
{rest}"#,
        ap(1, 0),
        ap(2, 40)
    )
}

#[test]
fn a_station_that_changes_its_access_point_is_found_again() {
    let rest = r#"
[[flow]]
name = "ping"
kind = "ping"
from = "server"
to = "sta"
interval = "50ms"
[[event]]
at = "3s"
what = "move"
node = "sta"
position = [38, 0]
[[event]]
at = "4s"
what = "disassociate"
interface = "sta:wlan0"
[[event]]
at = "5s"
what = "associate"
interface = "sta:wlan0"
"#;
    let report = run(&two_cells(rest));
    let got = series(&report, "flow.ping.goodput_mbps");
    assert!(got[1] > 0.0 && got[4] == 0.0 && got[7] > 0.0 && got[9] > 0.0, "{got:?}");
    let by = |name: &str| report.station.iter().find(|s| s.name == name).map_or(0, |s| s.delivered);
    assert!(by("ap1:wlan0>sta:wlan0") > 30 && by("ap2:wlan0>sta:wlan0") > 30, "{:?}", report.station);
}

#[test]
fn who_walks_away_is_served_more_slowly() {
    let rest = r#"
[[flow]]
name = "down"
kind = "udp"
from = "server"
to = "sta"
rate = "80Mbit/s"
"#;
    let still = two_cells(rest);
    let walking = still
        .replace("[node.sta.radio.r]", "walk = [{ at = \"10s\", position = [30, 25] }]\n[node.sta.radio.r]");
    let got = series(&run(&walking), "flow.down.goodput_mbps");
    assert!(got[0] > 1.5 * got[9] && got[9] > 1.0, "{got:?}");
    assert!(got.windows(2).all(|w| w[1] < w[0] * 1.05), "{got:?}");
    let got = series(&run(&still), "flow.down.goodput_mbps");
    assert!(got[9] > 0.95 * got[0], "{got:?}");
}

#[test]
fn an_access_point_takes_its_station_to_another_channel() {
    let rest = r#"
[[flow]]
name = "ping"
kind = "ping"
from = "server"
to = "sta"
interval = "50ms"
[[event]]
at = "3s"
what = "switch-channel"
interface = "ap1:wlan0"
channel = 44
"#;
    let report = run(&two_cells(rest));
    let channel = |name: &str| &report.radio.iter().find(|r| r.name == name).unwrap().channel;
    assert_eq!(
        [channel("ap1:r"), channel("sta:r"), channel("ap2:r")],
        ["44 (20 MHz)", "44 (20 MHz)", "36 (20 MHz)"]
    );
    let got = series(&report, "flow.ping.goodput_mbps");
    assert!(got[9] >= got[1], "{got:?}");
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn captures_hold_what_passed() {
    let rest =
        "[[flow]]\nname = \"up\"\nkind = \"udp\"\nfrom = \"sta\"\nto = \"server\"\nrate = \"1Mbit/s\"\n";
    let text = two_cells(rest).replace(
        "rate-control = \"ideal\"\n[node.ap2",
        "rate-control = \"ideal\"\nmonitor = true\n[node.ap2",
    );
    let text = text.replace("duration = \"10s\"", "duration = \"1s\"");
    let mut simulation = simulation(&text);
    let (ip, air) = (Shared::default(), Shared::default());
    simulation.capture("server:eth0", Box::new(ip.clone())).unwrap();
    simulation.capture("ap2:r", Box::new(air.clone())).unwrap();
    assert!(simulation.capture("ap1:r", Box::new(Shared::default())).is_err(), "it does not monitor");
    assert!(simulation.capture("nobody:eth0", Box::new(Shared::default())).is_err());
    simulation.run();
    simulation.end_captures().unwrap();
    let packets = |file: &Shared| {
        let bytes = file.0.borrow().clone();
        let mut reader = pcap_file::pcap::PcapReader::new(&bytes[..]).unwrap();
        let mut lengths = Vec::new();
        while let Some(packet) = reader.next_packet() {
            lengths.push(packet.unwrap().orig_len);
        }
        (reader.header().datalink, lengths)
    };
    let (link, lengths) = packets(&ip);
    let received = simulation.report().flow[0].bytes / 1472;
    assert_eq!((link, lengths.len() as u64), (pcap_file::DataLink::RAW, received));
    assert!(lengths.iter().all(|l| *l == 1500));
    let (link, lengths) = packets(&air);
    assert_eq!(link, pcap_file::DataLink::IEEE802_11_RADIOTAP);
    // Its neighbour, 40 m away, hears beacons at the least.
    assert!(lengths.len() > 5, "{}", lengths.len());
}

/// ns-3 has 25.82 Mb/s of IP with the long slot (`g-long-slot-n5` in `bench/ns3/results/ns3.csv`).
#[test]
fn long_slots_cost_what_they_cost_in_ns3() {
    let text = include_str!("../../../../scenarios/validation/g-long-slot-n5.toml").replace("24s", "8s");
    let ip_mbps = |text: &str| run(text).flow.iter().map(|f| f.goodput_mbps).sum::<f64>() * 1500.0 / 1472.0;
    let (long, short) = (ip_mbps(&text), ip_mbps(&text.replace("slot = \"long\"", "slot = \"short\"")));
    assert!((long / 25.82 - 1.0).abs() < 0.02 && short > 1.05 * long, "long {long}, short {short}");
}

/// Two access points of one channel, with a client each and one that both keep busy; the first's packets take six times as long.
fn weighted(weight: u32, channel: u32, flows: &str) -> String {
    let cell = |n: u32, keys: &str, channel: u32| {
        let radio = |keys: &str| format!("standard = \"11g\"\nchannel = {channel}\n{keys}");
        format!(
            "[node.ap{n}.radio.r]\n{}[node.ap{n}.interface.w]\nradio = \"r\"\nmode = \"ap\"\nssid = \"{n}\"\n\
             [node.c{n}.radio.r]\n{}[node.c{n}.interface.w]\nradio = \"r\"\nmode = \"station\"\nssid = \"{n}\"\n",
            radio(keys),
            radio("")
        )
    };
    let slow = format!("packet-time = \"3ms\"\nweight = {weight}\n");
    format!(
        "duration = \"21s\"\nwarmup = \"1s\"\n[medium]\nmodel = \"weighted-fair\"\n{}{}{flows}",
        cell(1, &slow, 1),
        cell(2, "", channel)
    )
}

#[test]
fn access_points_win_the_abstract_medium_by_weight_and_take_their_packet_times() {
    let udp = |n: u32| format!("[[flow]]\nname = \"{n}\"\nkind = \"udp\"\nfrom = \"ap{n}\"\nto = \"c{n}\"\n");
    let flows = format!("{}{}", udp(1), udp(2));
    for weight in [1, 4, 16] {
        let report = run(&weighted(weight, 1, &flows));
        // In each round the first sends `weight` packets of 3 ms, the second one of 0.5 ms.
        let round_s = 3e-3 * f64::from(weight) + 0.5e-3;
        let delivered =
            |n: u32| report.station.iter().find(|s| s.from == format!("ap{n}:w")).unwrap().delivered as f64;
        assert!(
            near(delivered(1), 20.0 * f64::from(weight) / round_s, 0.01),
            "weight {weight}: {}",
            delivered(1)
        );
        assert!(near(delivered(2), 20.0 / round_s, 0.02), "weight {weight}: {}", delivered(2));
        for radio in &report.radio {
            assert!((99.0..100.1).contains(&radio.busy_percent), "{radio:?}");
        }
    }
    // On channels of their own each has all of it.
    let report = run(&weighted(4, 6, &flows));
    let delivered: Vec<u64> = report.station.iter().map(|s| s.delivered).collect();
    assert!(
        near(delivered[0] as f64, 20.0 / 3e-3, 0.001) && near(delivered[1] as f64, 20.0 / 0.5e-3, 0.001),
        "{delivered:?}"
    );
}

#[test]
fn stations_without_a_packet_time_answer_beside_the_abstract_medium() {
    let tcp = "[[flow]]\nname = \"t\"\nkind = \"tcp\"\nfrom = \"ap2\"\nto = \"c2\"\n";
    let report = run(&weighted(1, 1, tcp));
    // 2000 packets a second of 1448 bytes, and acknowledgements take nothing away.
    assert!(
        near(flow(&report, "t").goodput_mbps, 2000.0 * 1448.0 * 8.0 / 1e6, 0.01),
        "{:?}",
        flow(&report, "t")
    );
}

#[test]
fn a_managed_queue_of_the_abstract_medium_marks_a_flow_that_can_be_marked() {
    let flow_of = |ecn: bool| {
        let tcp =
            format!("[[flow]]\nname = \"t\"\nkind = \"tcp\"\nfrom = \"ap1\"\nto = \"c1\"\necn = {ecn}\n");
        let text =
            weighted(1, 1, &tcp).replace("weight = 1\n", "weight = 1\nqueue = { kind = \"fq-codel\" }\n");
        let report = run(&text);
        let flow = flow(&report, "t");
        assert!(near(flow.goodput_mbps, 1448.0 * 8.0 / 3e3, 0.03), "{flow:?}");
        (flow.retransmissions.unwrap(), report.station.iter().map(|s| s.dropped).sum::<u64>())
    };
    assert_eq!(flow_of(true), (0, 0));
    let (again, dropped) = flow_of(false);
    assert!(again > 0 && dropped > 0, "{again} {dropped}");
}

/// A station 2 m from its access point at 60 GHz.
fn sixty(medium: &str, antenna: &str) -> String {
    let radio = format!("standard = \"11ad\"\nchannel = 2\nrate-control = \"ideal\"\n{antenna}");
    format!(
        "duration = \"30s\"\n[medium]\npath-loss = {{ exponent = 2.0, reference-loss = \"68dB\" }}\n{medium}\
         [node.ap.radio.r]\n{radio}[node.ap.interface.w]\nradio = \"r\"\nmode = \"ap\"\nssid = \"s\"\nbeacon-interval = \"0s\"\n\
         [node.sta]\nposition = [2, 0]\n[node.sta.radio.r]\n{radio}[node.sta.interface.w]\nradio = \"r\"\nmode = \"station\"\nssid = \"s\"\n\
         [[flow]]\nname = \"f\"\nkind = \"udp\"\nfrom = \"ap\"\nto = \"sta\"\nrate = \"1Mbit/s\"\n"
    )
}

#[test]
fn sectors_that_look_at_each_other_add_their_gains() {
    let signal = |antenna: &str| run(&sixty("", antenna)).station[0].signal_dbm.expect("packets arrived");
    // 12 sectors have 15.91 dBi on their axes; half a beam beside them it is 3.01 dB less.
    let (plain, on_axis) = (signal(""), signal("antenna = { sectors = 12 }\n"));
    let beside = signal("antenna = { sectors = 12, direction = 15.0 }\n");
    assert!((on_axis - plain - 2.0 * 15.91).abs() < 0.05, "{plain} {on_axis}");
    assert!((on_axis - beside - 2.0 * 3.01).abs() < 0.05, "{beside} {on_axis}");
}

#[test]
fn people_in_the_way_cut_their_share_of_the_time() {
    let lost = |medium: &str| flow(&run(&sixty(medium, "")), "f").loss_percent.unwrap_or(0.0);
    // The last packet may still be under way.
    let without = lost("");
    assert!(without < 0.1, "{without}");
    let people = "blockage = [{ between = [\"ap:r\", \"sta:r\"], clear = \"200ms\", blocked = \"100ms\", loss = \"60dB\" }]\n";
    let third = lost(people);
    assert!((25.0..42.0).contains(&third), "{third}");
}

/// A cell of 11a at 54 Mb/s whose stations offer these rates in packets of 1500 B.
fn offered(rates: &[&str]) -> Report {
    let radio = "standard = \"11a\", channel = 36, rate-control = { fixed = \"54Mbit/s\" }";
    let mut text = format!(
        "duration = \"10s\"\nmedium.path-loss = {{ exponent = 0.0, reference-loss = \"50dB\" }}\n[node.ap]\nradio.r0 = {{ {radio} }}\n\
         interface.w0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"x\" }}\n"
    );
    for (n, rate) in rates.iter().enumerate() {
        text += &format!(
            "[node.s{n}]\nradio.r0 = {{ {radio} }}\ninterface.w0 = {{ radio = \"r0\", mode = \"station\", ssid = \"x\" }}\n\
             [[flow]]\nname = \"f{n}\"\nkind = \"udp\"\nfrom = \"s{n}\"\nto = \"ap\"\nrate = \"{rate}\"\n"
        );
    }
    run(&text)
}

#[test]
fn a_source_with_a_rate_keeps_it_whatever_becomes_of_its_datagrams() {
    // 100 Mb/s in packets of 1500 B are 83,333 in 10 s; 11a carries 30.5 Mb/s of IP (docs/models/validation.md).
    let report = offered(&["100Mbit/s"]);
    let row = flow(&report, "f0");
    assert!(near(row.sent_packets as f64, 83_333.0, 0.001), "{row:?}");
    assert!(near(row.loss_percent.unwrap(), 69.5, 0.02), "{row:?}");
    // The null case: what fits loses nothing.
    let report = offered(&["20Mbit/s"]);
    let row = flow(&report, "f0");
    assert!(near(row.sent_packets as f64, 16_667.0, 0.001) && row.loss_percent < Some(0.1), "{row:?}");
}

#[test]
fn unequal_senders_get_the_shares_that_the_medium_gives() {
    // Both are above half of the air: equal chances, equal shares, unequal losses.
    let report = offered(&["20Mbit/s", "80Mbit/s"]);
    let (slow, fast) = (flow(&report, "f0"), flow(&report, "f1"));
    assert!(near(slow.goodput_mbps, 15.1, 0.03) && near(fast.goodput_mbps, 15.1, 0.03), "{slow:?} {fast:?}");
    assert!(near(fast.loss_percent.unwrap(), 80.7, 0.02), "{fast:?}");
    assert!(near(slow.loss_percent.unwrap(), 23.0, 0.15), "{slow:?}");
    // One below half keeps all of it, and the other has the rest.
    let report = offered(&["5Mbit/s", "80Mbit/s"]);
    let (slow, fast) = (flow(&report, "f0"), flow(&report, "f1"));
    assert!(
        near(slow.goodput_mbps, 5.0 * 1472.0 / 1500.0, 0.01) && slow.loss_percent < Some(0.1),
        "{slow:?}"
    );
    assert!(near(fast.goodput_mbps, 25.3, 0.03), "{fast:?}");
}

/// A download of UDP in short aggregates to a near and to a far station, under a kind of queue: Mb/s, and per cent of airtime of each.
fn near_and_far(kind: &str) -> [(f64, f64); 2] {
    let mut text = format!(
        "duration = \"6s\"\nwarmup = \"1s\"\n[node.ap]\n\
         radio.r0 = {{ standard = \"11n\", channel = 36, rate-control = \"ideal\", queue.kind = \"{kind}\", aggregation.frames = 4 }}\n\
         interface.w0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"x\" }}\n"
    );
    for (name, metres) in [("near", 2.0), ("far", 48.0)] {
        text += &format!(
            "[node.{name}]\nposition = [{metres:.1}, 0.0]\nradio.r0 = {{ standard = \"11n\", channel = 36, rate-control = \"ideal\" }}\n\
             interface.w0 = {{ radio = \"r0\", mode = \"station\", ssid = \"x\" }}\n\
             [[flow]]\nname = \"{name}\"\nkind = \"udp\"\nfrom = \"ap\"\nto = \"{name}\"\nrate = \"100Mbit/s\"\n"
        );
    }
    let report = run(&text);
    ["near", "far"].map(|name| {
        let row = report.station.iter().find(|s| s.name == format!("ap:w0>{name}:w0")).unwrap();
        (flow(&report, name).goodput_mbps, row.airtime_percent)
    })
}

#[test]
fn airtime_is_shared_by_time_and_a_line_for_all_by_packets() {
    let [near_fair, far_fair] = near_and_far("airtime-fair");
    assert!(near(near_fair.1, far_fair.1, 0.1), "equal airtime: {near_fair:?} {far_fair:?}");
    assert!(near_fair.0 > 2.0 * far_fair.0, "and so unequal rates: {near_fair:?} {far_fair:?}");
    // The null case: turns by the aggregate, and one line for all, give the slow one more time.
    for kind in ["fq-codel", "fifo"] {
        let [fast, slow] = near_and_far(kind);
        assert!(slow.1 > 1.3 * fast.1, "{kind}: {fast:?} {slow:?}");
    }
    let [fast, slow] = near_and_far("fifo");
    assert!(near(fast.0, slow.0, 0.25), "one line, and a full one takes from both alike: {fast:?} {slow:?}");
}

#[test]
fn control_frames_go_at_the_rate_that_is_told() {
    let goodput = |control: &str| {
        let radio = format!(
            "standard = \"11a\", channel = 36, rts-threshold = \"0B\", rate-control = {{ fixed = \"54Mbit/s\"{control} }}"
        );
        let report = run(&format!(
            "duration = \"3s\"\n[node.ap]\nradio.r0 = {{ {radio} }}\ninterface.w0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"x\" }}\n\
             [node.s]\nradio.r0 = {{ {radio} }}\ninterface.w0 = {{ radio = \"r0\", mode = \"station\", ssid = \"x\" }}\n\
             [[flow]]\nname = \"up\"\nkind = \"udp\"\nfrom = \"s\"\nto = \"ap\"\n"
        ));
        flow(&report, "up").goodput_mbps
    };
    // The rule's rate at 54 Mb/s is 24; an RTS of 20 B and a CTS of 14 B take 52 and 44 µs at 6 Mb/s, 28 and 28 at 24.
    let (rule, told, slow) =
        (goodput(""), goodput(", control = \"24Mbit/s\""), goodput(", control = \"6Mbit/s\""));
    assert_eq!(rule, told);
    let exchange_us = |mbps: f64| 1472.0 * 8.0 / mbps;
    assert!(near(exchange_us(slow) - exchange_us(rule), 40.0, 0.05), "{rule} {slow}");
}

#[test]
fn a_priority_that_a_standard_does_not_have_is_refused() {
    let text = |standard: &str| {
        let radio = format!("radio.r0 = {{ standard = \"{standard}\", channel = 36 }}\n");
        format!(
            "duration = \"1s\"\n[node.ap]\n{radio}interface.w0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"x\" }}\n\
             [node.s]\n{radio}interface.w0 = {{ radio = \"r0\", mode = \"station\", ssid = \"x\" }}\n\
             [[flow]]\nname = \"up\"\nkind = \"udp\"\nfrom = \"s\"\nto = \"ap\"\ncategory = \"voice\"\n"
        )
    };
    let scenario = |standard: &str| {
        ropewalk_scenario::Document::parse("t.toml", &text(standard)).and_then(|d| d.scenario())
    };
    let refused = scenario("11a").unwrap_err().to_string();
    assert!(refused.contains("flow.up.category: 11a has one priority for everything"), "{refused}");
    assert!(scenario("11n").is_ok());
}
