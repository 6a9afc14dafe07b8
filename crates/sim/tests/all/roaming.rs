//! A client of several access points: what it measures, when it joins and leaves, and what becomes
//! of its connection.

use crate::common::{flow, run};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::{Report, RoamRow};

/// Two access points, 25 m apart; the client walks from the first to the second in 20 s.
fn walk(roam: &str, more: &str) -> String {
    let radio =
        "radio.r0 = { standard = \"11n\", channel = 6, tx-power = \"8dBm\", rate-control = \"minstrel-ht\" }";
    let ap = |n: u32| {
        format!(
            "[node.ap{n}]\nposition = [{}.0, 0.0]\nforward = true\n{radio}\n\
             interface.wlan0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"{n}\" }}\n\
             [[link]]\nends = [\"router:eth{n}\", \"ap{n}:eth0\"]\nrate = \"1Gbit/s\"\n",
            25 * (n - 1)
        )
    };
    let station = |n: u32| {
        format!(
            "interface.wlan{n} = {{ radio = \"r0\", mode = \"station\", ssid = \"{n}\", join = \"idle\" }}\n"
        )
    };
    format!(
        "duration = \"25s\"\nmedium.path-loss = {{ exponent = 4.0, reference-loss = \"40.05dB\" }}\n\
         [node.server]\n[node.router]\nforward = true\n\
         [[link]]\nends = [\"server:eth0\", \"router:eth0\"]\nrate = \"1Gbit/s\"\ndelay = \"10ms\"\n{}{}\
         [node.client]\nposition = [0.0, 3.0]\nwalk = [{{ at = \"20s\", position = [25.0, 3.0] }}]\n\
         roam = {{ {roam} }}\n{radio}\n{}{}\
         [[flow]]\nname = \"f\"\nkind = \"mptcp\"\nfrom = \"server\"\nto = \"client\"\n\
         congestion = \"olia\"\necn = true\n{more}",
        ap(1),
        ap(2),
        station(1),
        station(2),
    )
}

fn station<'a>(report: &'a Report, name: &str) -> &'a RoamRow {
    report.roam.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("no station {name}"))
}

#[test]
fn a_walking_client_joins_the_next_access_point_before_it_loses_the_last() {
    let report = run(&walk("", "steering = { marks = \"corrected\", priority = true }\n"));
    let (first, second) = (station(&report, "client:wlan1"), station(&report, "client:wlan2"));
    assert!(first.joins == 1 && second.joins >= 1, "{first:?} {second:?}");
    // For a while it is with both.
    assert!(first.joined_percent + second.joined_percent > 100.0, "{first:?} {second:?}");
    let by = |name: &str| report.subflow.iter().find(|s| s.name == name).map_or(0, |s| s.bytes);
    assert!(by("f:client:wlan1") > 10_000_000 && by("f:client:wlan2") > 10_000_000, "{:?}", report.subflow);
}

#[test]
fn a_handover_client_has_nothing_while_it_scans_and_asks_for_an_address() {
    let report = run(&walk("policy = \"handover\", scan = \"1500ms\", lease = \"1s\"", ""));
    let (first, second) = (station(&report, "client:wlan1"), station(&report, "client:wlan2"));
    assert_eq!((first.joins, second.joins), (1, 1));
    assert!(flow(&report, "f").gap_ms.unwrap() >= 2500.0, "{:?}", flow(&report, "f"));
}

#[test]
fn a_client_that_stands_joins_once_and_a_single_place_is_the_best_ones() {
    let stands = |roam: &str| {
        let text = walk(roam, "").replace("[25.0, 3.0]", "[0.0, 3.1]").replace("[25.0, 0.0]", "[15.0, 0.0]");
        run(&text)
    };
    let both = stands("");
    assert_eq!((station(&both, "client:wlan1").joins, station(&both, "client:wlan2").joins), (1, 1));
    let one = stands("most = 1");
    assert_eq!((station(&one, "client:wlan1").joins, station(&one, "client:wlan2").joins), (1, 0));
    assert!(flow(&one, "f").goodput_mbps > 30.0, "{:?}", flow(&one, "f"));
}

#[test]
fn an_access_point_whose_beacons_are_rare_is_not_missed_between_them() {
    let text = walk("", "").replace("[25.0, 3.0]", "[0.0, 3.1]").replace("[25.0, 0.0]", "[15.0, 0.0]");
    let rare = text.replace("mode = \"ap\"", "mode = \"ap\", beacon-interval = \"1024ms\"");
    assert_ne!(rare, text);
    let report = run(&rare);
    assert_eq!((station(&report, "client:wlan1").joins, station(&report, "client:wlan2").joins), (1, 1));
}

#[test]
fn a_connection_outlives_its_only_access_point_and_comes_back_by_the_same_address() {
    // The second is never heard; the first is off from 8 to 12 s.
    let events = "[[event]]\nat = \"8s\"\nwhat = \"radio-down\"\nradio = \"ap1:r0\"\n\
                  [[event]]\nat = \"12s\"\nwhat = \"radio-up\"\nradio = \"ap1:r0\"\n";
    let text = walk("", events).replace("[25.0, 3.0]", "[0.0, 3.1]").replace("[25.0, 0.0]", "[4000.0, 0.0]");
    let report = run(&text);
    assert_eq!(station(&report, "client:wlan1").joins, 2);
    let flow = flow(&report, "f");
    assert!((4_000.0..9_000.0).contains(&flow.gap_ms.unwrap()), "{flow:?}");
    assert!(flow.goodput_mbps > 20.0, "{flow:?}");
}

#[test]
fn the_estimate_agrees_with_what_the_radio_counted_while_losses_are_independent() {
    let text = |loss: u32| {
        format!(
            "duration = \"6s\"\n[medium]\npath-loss = {{ model = \"matrix\" }}\n\
             loss = [{{ between = [\"ap:r0\", \"client:r0\"], loss = \"{loss}dB\" }}]\n\
             [node.ap]\nradio.r0 = {{ standard = \"11a\", channel = 36, rate-control = {{ fixed = \"54Mbit/s\" }} }}\n\
             interface.wlan0 = {{ radio = \"r0\", mode = \"ap\", ssid = \"1\" }}\n\
             [node.client]\nroam = {{ policy = \"fixed\" }}\nradio.r0 = {{ standard = \"11a\", channel = 36 }}\n\
             interface.wlan0 = {{ radio = \"r0\", mode = \"station\", ssid = \"1\" }}\n\
             [[flow]]\nname = \"f\"\nkind = \"udp\"\nfrom = \"ap\"\nto = \"client\"\n"
        )
    };
    for (loss, least, most) in [(80, 99.0, 100.0), (88, 40.0, 55.0)] {
        let report = run(&text(loss));
        let row = station(&report, "client:wlan0");
        let delivered = row.delivered_percent.unwrap();
        assert!((least..=most).contains(&delivered), "{loss} dB: {row:?}");
        assert!(row.error_points.unwrap() < 3.0, "{loss} dB: {row:?}");
        // Backlogged and alone, a packet takes what its rate says: 1472 of 1500 bytes are payload.
        let truth_ms = 1472.0 * 8.0 / flow(&report, "f").goodput_mbps / 1e3;
        let estimate = row.packet_ms.unwrap();
        assert!((estimate / truth_ms - 1.0).abs() < 0.12, "{loss} dB: {estimate} of {truth_ms} ms");
    }
}

#[test]
fn settings_that_would_do_nothing_are_refused() {
    let refused = |text: String| {
        let document = Document::parse("test.toml", &text).and_then(|d| d.scenario());
        document.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused(walk("scan = \"1s\"", "")).contains("means nothing for the policy best"));
    assert!(refused(walk("policy = \"handover\", most = 2", "")).contains("means nothing"));
    assert!(refused(walk("policy = \"fixed\", lease = \"1s\"", "")).contains("means nothing"));
    assert!(refused(walk("", "").replace("join = \"idle\"", "join = \"scan\"")).contains("join = \"idle\""));
    assert!(
        refused(walk("", "").replace("\"mptcp\"", "\"tcp\"").replace("\"olia\"", "\"cubic\""))
            .contains("only mptcp")
    );
    assert!(refused(walk("", "paths = [\"client:wlan1\"]\n")).contains("decides which access points"));
}

#[test]
fn a_subflow_rests_while_its_access_point_fades_and_only_then() {
    let with = |fade: &str, text: &dyn Fn(String) -> String| {
        run(&text(walk("", &format!("steering = {{ marks = \"corrected\"{fade} }}\n"))))
    };
    let bytes = |report: &Report| {
        let first = report.subflow.iter().find(|s| s.name == "f:client:wlan1");
        first.map_or(0, |s| s.bytes)
    };
    // It stands from 20 s on, 16 m from the first and 9 m from the second: 9 dB more. It has joined
    // both some ten seconds later.
    let stays = |text: String| {
        let there = text.replace("position = [25.0, 3.0]", "position = [16.0, 3.0]");
        there.replace("duration = \"25s\"", "duration = \"40s\"\nwarmup = \"36s\"")
    };
    let (without, heeds) = (with("", &stays), with(", fade = true", &stays));
    assert!(bytes(&without) > 0, "{:?}", without.subflow);
    assert_eq!(bytes(&heeds), 0, "{:?}", heeds.subflow);
    assert!(flow(&heeds, "f").goodput_mbps > 0.95 * flow(&without, "f").goodput_mbps);
    // Where nothing fades little changes: on a full channel beacons are missed now and then.
    let near = |text: String| text.replace("[25.0, 3.0]", "[0.0, 3.1]").replace("[25.0, 0.0]", "[6.0, 0.0]");
    let (without, heeds) = (with("", &near), with(", fade = true", &near));
    let ratio = flow(&heeds, "f").goodput_mbps / flow(&without, "f").goodput_mbps;
    assert!((ratio - 1.0).abs() < 0.03 && bytes(&heeds) > 0, "{ratio}: {:?}", heeds.subflow);
}

#[test]
fn fading_is_heeded_only_where_beacons_are_heard() {
    let text = "duration = \"1s\"\nmedium.model = \"weighted-fair\"\n\
                [node.a]\n[node.b]\n[[link]]\nends = [\"a:eth0\", \"b:eth0\"]\n\
                [[flow]]\nname = \"f\"\nkind = \"mptcp\"\nfrom = \"a\"\nto = \"b\"\nsteering = { fade = true }\n";
    let refused = Document::parse("test.toml", text).and_then(|d| d.scenario());
    let sentence = refused.map(|_| ()).unwrap_err().to_string();
    assert!(sentence.contains("nobody hears beacons"), "{sentence}");
}
