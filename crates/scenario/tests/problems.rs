//! What is wrong is said with file, line, key and remedy, all of it together.

use ropewalk_scenario::Document;

const GOOD: &str = include_str!("good.toml");

fn said(text: &str) -> String {
    let scenario = Document::parse("s.toml", text).and_then(|d| d.scenario());
    scenario.map(|_| String::new()).unwrap_or_else(|problems| problems.to_string())
}

/// The good file with some texts replaced.
fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

/// The good file with more at its end.
fn and(more: &str) -> String {
    format!("{GOOD}{more}")
}

#[test]
fn a_good_file_is_read_and_what_is_not_said_is_filled_in() {
    let scenario =
        Document::parse("s.toml", GOOD).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
    let flows: Vec<&str> = scenario.flow.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(flows, ["down-sta1", "down-sta2"]);
    let address =
        |node: &str, interface: &str| scenario.node[node].interface[interface].address.unwrap().to_string();
    assert_eq!(address("server", "eth0"), "10.1.1.1/24");
    assert_eq!(address("ap", "eth0"), "10.1.1.2/24");
    assert_eq!(address("ap", "wlan0"), "10.1.2.1/24");
    assert_eq!(
        (address("sta1", "wlan0"), address("sta2", "wlan0")),
        ("10.1.2.2/24".into(), "10.1.2.3/24".into())
    );
}

#[test]
fn everything_is_found_at_once() {
    let text = with(&[
        ("duration = \"10s\"", "duration = 10"),
        ("channel = 36\nrate", "channel = 37\nrate"),
        ("delay = \"5ms\"", "delya = \"5ms\""),
        ("to = \"sta*\"", "to = \"stan\""),
    ]);
    assert_eq!(
        said(&text),
        "s.toml:1: duration: 10 has no unit; write a time as a text, such as \"20ms\"\n\
         s.toml:26: link.0.delya: there is no such key; did you mean `delay`?"
    );
    // A duration is needed to judge the rest; with it, the rest is judged together.
    let text = text.replace("duration = 10", "duration = \"10s\"");
    assert_eq!(
        said(&text),
        "s.toml:17: node.sta1.radio.r0.channel: 11n has no channel 37; it has 1 to 13 and 36 to 64, 100 to 144 and 149 to 177 \
         in steps of 4; 36 is the nearest\n\
         s.toml:22: node.sta1.interface.wlan0.ssid: the access point of `home` is on channel 36, but this radio on 37; put both on one\n\
         s.toml:26: link.0.delya: there is no such key; did you mean `delay`?\n\
         s.toml:31: flow.down.to: there is no node `stan`; did you mean `sta2`?"
    );
}

#[test]
fn text_that_is_no_toml() {
    assert_eq!(said("duration = \"1s\n"), "s.toml:1: invalid basic string, expected `\"`");
    assert_eq!(said("a = 1\na = 2\n"), "s.toml:2: duplicate key");
    assert_eq!(
        said("duration = 99999999999999999999"),
        "s.toml:1: the number 99999999999999999999 is too large"
    );
    let error = Document::read(std::path::Path::new("/nowhere/s.toml")).unwrap_err().to_string();
    assert_eq!(error, "/nowhere/s.toml: the file cannot be read: No such file or directory (os error 2)");
}

#[test]
fn what_a_terminal_obeys_is_neither_read_nor_shown() {
    let sentence = "a terminal obeys control characters; write this text without them";
    let title = with(&[("duration", "title = \"\\u001b[2J\"\nduration")]);
    assert_eq!(said(&title), format!("s.toml:1: title: {sentence}"));
    let key = said(&and("\"\\u001b[2J\" = 1\n"));
    assert!(key.contains("flow.down-sta1.\\u{1b}[2J: there is no such key"), "{key}");
    for axis in ["cases = { \"\\u009b\" = {} }", "key = \"title\"\nvalues = [\"a\\u0007\"]"] {
        let told = said(&and(&format!("[[sweep.axis]]\nname = \"x\"\n{axis}\n")));
        assert_eq!(told, format!("s.toml:32: sweep.axis.x: {sentence}"));
    }
    // Lines and tabs are no commands.
    assert_eq!(said(&with(&[("duration", "title = \"a\\n\\tb\"\nduration")])), "");
}

#[test]
fn a_machine_for_which_no_address_is_left_is_said() {
    // The access point has the first of 254.
    assert_eq!(said(&with(&[("count = 2", "count = 253")])), "");
    let full = [("count = 2", "count = 254")];
    let told = said(&with(&full));
    assert!(told.contains("node.sta254.interface.wlan0.address: there is no address left for it"), "{told}");
    let larger = ("ssid = \"home\"\n[node.sta]", "ssid = \"home\"\naddress = \"10.2.0.1/16\"\n[node.sta]");
    assert_eq!(said(&with(&[full[0], larger])), "");
}

#[test]
fn unknown_names() {
    for (text, sentence) in [
        (
            with(&[("from = \"server\"", "from = \"sever\"")]),
            "s.toml:30: flow.down-sta1.from: there is no node `sever`; did you mean `server`?",
        ),
        (
            with(&[("kind = \"tcp\"", "kind = \"tpc\"")]),
            "s.toml:29: flow.down-sta1.kind: there is no \"tpc\" here; did you mean `tcp`?",
        ),
        (
            with(&[("\"ap:eth0\"", "\"app:eth0\"")]),
            "s.toml:24: link.0.ends: there is no node `app`; did you mean `ap`?",
        ),
        (
            with(&[("\"ap:eth0\"", "\"ap:wlan0\"")]),
            "s.toml:24: link.0.ends: `ap:wlan0` is on a radio and takes no cable; take another interface",
        ),
        (
            with(&[("\"ap:eth0\"", "\"ap\"")]),
            "s.toml:24: link.0.ends: `ap` is no end of a link; write node:interface, such as \"server:eth0\"",
        ),
        (
            with(&[("radio = \"r0\"\nmode = \"ap\"", "radio = \"r1\"\nmode = \"ap\"")]),
            "s.toml:9: node.ap.interface.wlan0.radio: there is no radio `r1`; did you mean `r0`?",
        ),
        (
            and("[bond.rw0]\nclient = \"sta1\"\ngateway = \"server\"\npaths = [\"wlan1\"]"),
            "s.toml:35: bond.rw0.paths: there is no interface `wlan1`; did you mean `wlan0`?",
        ),
        (
            and("[[event]]\nat = \"1s\"\nwhat = \"link-down\"\nlink = \"wan\""),
            "s.toml:35: event.0.link: there is no link `wan`; known are server:eth0-ap:eth0",
        ),
        (
            and("[[expect]]\nmetric = \"flow.up.goodput_mbps\"\nmin = 1"),
            "s.toml:33: expect.0.metric: there is no flow `up`; known are down-sta1, down-sta2",
        ),
        (
            and("[[expect]]\nmetric = \"flow.down-sta1.goodput\"\nmin = 1"),
            "s.toml:33: expect.0.metric: a flow has no figure `goodput`; did you mean `goodput_mbps`?",
        ),
        (
            and("[[expect]]\nmetric = \"flow.down*.goodput_mbps\"\nmin = 1"),
            "s.toml:33: expect.0.metric: these are 2 figures; say what to make of them, such as sum(flow.down*.goodput_mbps)",
        ),
        (
            and("[[figure]]\nname = \"f\"\nx = \"count\"\ny = [\"flow.a.bytes\"]"),
            "s.toml:34: figure.f.x: there is no axis `count`; known are time",
        ),
    ] {
        assert!(
            said(&text).split('\n').any(|line| line == sentence),
            "expected\n{sentence}\ngot\n{}",
            said(&text)
        );
    }
}

#[test]
fn impossible_settings() {
    for (text, sentence) in [
        (
            with(&[("MCS7", "MCS8")]),
            "s.toml:18: node.sta1.radio.r0.rate-control.fixed: 11n with 20 MHz and 1 stream(s) has no rate \"MCS8\"; it has MCS0 to MCS7",
        ),
        (
            with(&[("channel = 36\nrate", "channel = 36\nwidth = 80\nrate")]),
            "s.toml:18: node.sta1.radio.r0.width: 11n has no width of 80 MHz; it has 20, 40",
        ),
        (
            with(&[("channel = 36\nrate", "channel = 36\nstreams = 5\nrate")]),
            "s.toml:18: node.sta1.radio.r0.streams: 11n has no 5 streams; write 1 to 4",
        ),
        (
            with(&[("delay = \"5ms\"", "delay = \"-5ms\"")]),
            "s.toml:26: link.0.delay: \"-5ms\" is out of range; a time cannot be negative",
        ),
        (
            with(&[("rate = \"100Mbit/s\"", "rate = \"0Mbit/s\"")]),
            "s.toml:25: link.0.rate: a rate of 0 carries nothing; write more, or `up = false`",
        ),
        (
            with(&[("rate = \"100Mbit/s\"", "rate = \"100Mbps\"")]),
            "s.toml:25: link.0.rate: \"100Mbps\" is not a rate; write a number with bit/s, kbit/s, Mbit/s, Gbit/s, such as \"54Mbit/s\"",
        ),
        (
            with(&[("duration = \"10s\"", "duration = \"10s\"\nwarmup = \"10s\"")]),
            "s.toml:2: warmup: the run ends before figures count; make the warm-up shorter than the duration",
        ),
        (
            with(&[
                ("ssid = \"home\"\n[node.sta]", "ssid = \"home\"\naddress = \"10.1.2.2/24\"\n[node.sta]"),
                ("mode = \"station\"", "mode = \"station\"\naddress = \"10.1.2.2/24\""),
            ]),
            "s.toml:23: node.sta1.interface.wlan0.address: node.ap.interface.wlan0 has 10.1.2.2 already; write another",
        ),
        (
            with(&[("channel = 36\nrate", "channel = 36\nedca.best-effort.cw-max = 65535\nrate")]),
            "s.toml:18: node.sta1.radio.r0.edca.best-effort.cw-max: a contention window is one less than a power of two, such as 15 or 1023",
        ),
        (
            with(&[("kind = \"tcp\"", "kind = \"udp\"\nmss = 1000")]),
            "s.toml:30: flow.down-sta1.mss: this means nothing for udp, which takes bytes, rate, spells, packet, deadline",
        ),
        (
            with(&[(
                "kind = \"tcp\"",
                "kind = \"udp\"\nrate = \"1Mbit/s\"\nspells = { on = \"1ns\", off = \"0s\", lengths = \"exponential\" }",
            )]),
            "s.toml:31: flow.down-sta1.spells.on: `on` and `off` together are 1.2µs at least, a 10000th of the time between packets",
        ),
        (
            with(&[("kind = \"tcp\"", "kind = \"udp\"\npacket = \"100B\"\nrate = \"900Gbit/s\"")]),
            "s.toml:31: flow.down-sta1.rate: packets would come closer than a nanosecond; write less, or make them longer",
        ),
        (
            with(&[("kind = \"tcp\"", "kind = \"tcp\"\ncongestion = \"olia\"")]),
            "s.toml:30: flow.down-sta1.congestion: this couples subflows of MPTCP; take cubic, newreno, highspeed or tidal",
        ),
        (
            with(&[("channel = 36\nrate", "channel = 36\nslot = \"long\"\nrate")]),
            "s.toml:18: node.sta1.radio.r0.slot: only 2.4 GHz has long slots; take it out, or choose a channel from 1 to 13",
        ),
        (
            with(&[("delay = \"5ms\"", "corruption = \"120%\"")]),
            "s.toml:26: link.0.corruption: \"120%\" is out of range; a share cannot be so large",
        ),
        (
            and("[node.lost]\nwithin = [[0, 0]]"),
            "s.toml:33: node.lost.within: a rectangle has two corners; write them as [[0, 0], [40, 25]]",
        ),
        (
            and("[node.slow]\ncpu.per-packet = \"0s\""),
            "s.toml:33: node.slow.cpu.per-packet: packets would take no time; write more than \"0s\", or take `cpu` out",
        ),
        (
            and("[node.slow]\ncpu = { per-packet = \"20us\", per-byte = \"20us\", queue = 0 }"),
            "s.toml:33: node.slow.cpu.queue: from 1 to 100000 packets can wait",
        ),
        (
            and("[node.slow]\ncpu = { per-packet = \"20us\", per-byte = \"2ms\" }"),
            "s.toml:33: node.slow.cpu.per-byte: no machine is so slow; write at most \"1ms\"",
        ),
        (
            and("[medium]\ntime-dilation = 8\n[node.slow]\ncpu.per-packet = \"20us\""),
            "s.toml:33: medium.time-dilation: interferers, blockages, walks, processors and clients that roam go by real time; take them out, or this key",
        ),
        (with(&[("count = 2", "count = 0")]), "s.toml:13: node.sta.count: a count is from 1 to 10000"),
        (
            and("[[event]]\nat = \"11s\"\nwhat = \"link-down\"\nlink = \"server:eth0-ap:eth0\""),
            "s.toml:33: event.0.at: this is after the run has ended",
        ),
        (
            and(
                "[[event]]\nat = \"1s\"\nwhat = \"link-set\"\nlink = \"server:eth0-ap:eth0\"\nrate = \"0bit/s\"",
            ),
            "s.toml:36: event.0.rate: a rate of 0 carries nothing; write more, or what = \"link-down\"",
        ),
        (
            and("[[event]]\nat = \"1s\"\nwhat = \"move\"\nlink = \"a\""),
            "s.toml:35: event.0.link: this means nothing for move, which takes node, position",
        ),
        (
            and("[[expect]]\nmetric = \"flow.down-sta1.bytes\"\nmin = 2\nmax = 1"),
            "s.toml:34: expect.0.min: the least is above the most; nothing can be both",
        ),
        (
            and("[[link]]\nends = [\"server:eth0\", \"sta1:eth0\"]"),
            "s.toml:33: link.1.ends: `server:eth0` has a cable already; take another interface",
        ),
    ] {
        assert!(
            said(&text).split('\n').any(|line| line == sentence),
            "expected\n{sentence}\ngot\n{}",
            said(&text)
        );
    }
}

#[test]
fn the_weighted_fair_medium_refuses_what_it_knows_nothing_of() {
    let weighted = [(
        "duration = \"10s\"\n",
        "duration = \"10s\"\nmedium = { model = \"weighted-fair\", shadowing = \"3dB\" }\n",
    )];
    let remedy =
        "the weighted-fair medium knows nothing of this; take it out, or set `medium.model = \"802.11\"`";
    let event = "[[event]]\nat = \"1s\"\nwhat = \"radio-down\"\nradio = \"ap:r0\"\n";
    let said = said(&format!("{}{event}", with(&weighted)));
    for key in ["s.toml:2: medium.shadowing", "s.toml:19: node.sta1.radio.r0.rate-control", "event.0.what"] {
        assert!(said.contains(&format!("{key}: {remedy}")), "{key} in\n{said}");
    }
    assert!(!said.contains("node.ap.") && !said.contains("link."), "{said}");
}

#[test]
fn packet_times_belong_to_the_weighted_fair_medium() {
    let text = with(&[("rate-control = { fixed = \"MCS7\" }", "packet-time = \"1ms\"\nweight = 2")]);
    let (line, remedy) = (
        "node.sta1.radio.r0",
        "802.11 works this out; take it out, or set `medium.model = \"weighted-fair\"`",
    );
    let said = said(&text);
    assert!(said.contains(&format!("s.toml:18: {line}.packet-time: {remedy}")), "{said}");
    assert!(said.contains(&format!("s.toml:19: {line}.weight: {remedy}")), "{said}");
}

#[test]
fn what_is_drawn_before_a_run_has_a_bound() {
    let long = |more: &str| said(&and(more).replace("\"10s\"", "\"20000h\""));
    let pair = "between = [\"ap:r0\", \"sta1:r0\"]\nclear = \"1ms\"\nblocked = \"1ms\"\n";
    let told = long(&format!("[[medium.blockage]]\n{pair}"));
    assert!(
        told.contains("medium.blockage.0.clear: this makes 72000000000 changes; 100000 are the"),
        "{told}"
    );
    let bunch =
        "[bunch.b]\ngateway = \"server\"\nhome = \"ap\"\nneighbours = [\"sta1\"]\nreceiver = \"sta2\"\n";
    let told = long(&format!("{bunch}churn = \"100ms\"\n"));
    assert!(told.contains("bunch.b.churn: this makes 720000000 changes; 100000 are the most"), "{told}");
    assert!(!long("").contains("changes"), "a long run alone draws nothing");
}

#[test]
fn people_in_the_way_are_checked() {
    let said = said(&and(
        "[[medium.blockage]]\nbetween = [\"ap:r0\", \"ap:r0\"]\nclear = \"0s\"\nloss = \"200dB\"\n",
    ));
    for (key, sentence) in [
        ("between", "this takes two different radios, such as [\"ap:r0\", \"sta:r0\"]"),
        ("clear", "nobody comes and goes that fast; write at least \"1ms\""),
        ("loss", "a body takes 0 to 100 dB"),
    ] {
        assert!(said.contains(&format!("medium.blockage.0.{key}: {sentence}")), "{key} in\n{said}");
    }
}

#[test]
fn rates_of_a_log_are_checked() {
    let rates = |table: &str| {
        said(&with(&[("rate-control = { fixed = \"MCS7\" }", &format!("rate-control = {table}"))]))
    };
    let key = "node.sta1.radio.r0.rate-control";
    for (table, sentence) in [
        ("{ usual = \"MCS6\", other = \"MCS8\", share = \"11%\" }", ".other: 11n with 20 MHz"),
        ("{ usual = \"MCS6\", share = \"11%\" }", "`other` is missing"),
        (
            "{ usual = \"MCS6\", other = \"MCS7\", share = \"1%\", step = \"0s\" }",
            ".step: a step of rates has",
        ),
        (
            "{ usual = \"MCS6\", other = \"MCS7\", share = \"1%\", fixed = \"MCS7\" }",
            ".fixed: there is no such key",
        ),
    ] {
        let said = rates(table);
        assert!(said.contains(key) && said.contains(sentence), "{table}: {said}");
    }
    let text = with(&[(
        "rate-control = { fixed = \"MCS7\" }",
        "rate-control = { usual = \"MCS6\", other = \"MCS7\", share = \"11%\" }",
    )]);
    assert_eq!(said(&text), "");
}

#[test]
fn sectors_are_11ads() {
    let antenna = |keys: &str| said(&with(&[("rate-control = { fixed = \"MCS7\" }", keys)]));
    let said = antenna("antenna = { sectors = 8, direction = 400.0 }");
    let key = "s.toml:18: node.sta1.radio.r0.antenna";
    assert!(
        said.contains(&format!(
            "{key}.sectors: 11n has no sectors to choose from; only 11ad has, so take it out"
        )),
        "{said}"
    );
    assert!(said.contains(&format!("{key}.direction: a direction is from -360 to 360 degrees")), "{said}");
    assert!(antenna("antenna = { sectors = 65 }").contains("an antenna has 1 to 64 sectors"));
}

#[test]
fn expectations_over_seeds_that_say_nothing_are_refused() {
    let expect = |keys: &str, sweep: &str| {
        said(&and(&format!("[[expect]]\nmetric = \"flow.down-sta1.bytes\"\nmin = 1\n{keys}\n{sweep}")))
    };
    let five = "[sweep]\nseeds = 5";
    for (keys, sweep, sentence) in [
        (
            "over = \"mean\"",
            "",
            "expect.0.over: this takes at least 2 seeds to hold, and the sweep has 1; raise `sweep.seeds`",
        ),
        (
            "over = \"share\"",
            five,
            "expect.0.over: say which share of the seeds has to be in the band, such as share = \"90%\"",
        ),
        ("over = \"mean\"\nshare = \"90%\"", five, "expect.0.share: this only counts with over = \"share\""),
        (
            "confidence = \"95%\"",
            five,
            "expect.0.confidence: one run has no confidence interval; give over = \"mean\", \"median\" or \"share\"",
        ),
        (
            "over = \"mean\"\nconfidence = \"100%\"",
            five,
            "expect.0.confidence: a confidence is at least 50% and less than 100%; 95% is usual",
        ),
        (
            "over = \"median\"\nconfidence = \"95%\"",
            five,
            "expect.0.over: this takes at least 6 seeds to hold, and the sweep has 5; raise `sweep.seeds`",
        ),
        (
            "over = \"share\"\nshare = \"90%\"\nconfidence = \"95%\"",
            five,
            "expect.0.over: this takes at least 29 seeds to hold, and the sweep has 5; raise `sweep.seeds`",
        ),
        (
            "over = \"share\"\nshare = \"100%\"\nconfidence = \"95%\"",
            five,
            "expect.0.confidence: no number of seeds shows that all would be in the band; expect a smaller share, or leave `confidence` out",
        ),
        ("", "[sweep]\nseeds = [1, 7, 1]", "sweep.seeds: 1 is there twice; its runs would be the same"),
    ] {
        let told = expect(keys, sweep);
        assert!(told.split('\n').any(|line| line.ends_with(sentence)), "expected\n{sentence}\ngot\n{told}");
    }
    assert_eq!(expect("over = \"mean\"\nconfidence = \"95%\"", five), "");
    assert_eq!(expect("over = \"share\"\nshare = \"80%\"", five), "");
}

#[test]
fn settings_of_tcp_and_mptcp_are_checked() {
    let text = with(&[(
        "[node.server]",
        "[node.server]\ntcp = { congestion = \"olia\", receive-buffer = \"1kB\", send-buffer = \"2GB\" }\n\
         mptcp = { endpoints = [\"eth0\", \"eth1\", \"eth0\"], subflows = 9 }",
    )]);
    let all = said(&text);
    let has = |what: &str| assert!(all.contains(what), "{what}: {all}");
    has("node.server.tcp.congestion: this couples subflows of MPTCP");
    has("node.server.tcp.receive-buffer: a receive buffer has from 4096B to 500MB");
    has("node.server.tcp.send-buffer: a send buffer has from 4096B to 500MB");
    has("node.server.mptcp.endpoints: there is no interface `eth1`; did you mean `eth0`?");
    has("node.server.mptcp.endpoints: `eth0` is there twice");
    has("node.server.mptcp.subflows: Linux takes 0 to 8 here");
    let text = and("ecn = true\n").replace("[node.server]", "[node.server]\ntcp = { ecn = \"always\" }");
    assert!(said(&text).contains("node.server.tcp.ecn: there is no \"always\" here"));
}

#[test]
fn spells_and_segments_are_checked() {
    let udp = |more: &str| with(&[("kind = \"tcp\"", &format!("kind = \"udp\"\n{more}"))]);
    let film = |more: &str| with(&[("kind = \"tcp\"", &format!("kind = \"adaptive\"\n{more}"))]);
    for (text, sentence) in [
        (udp("spells = { on = \"1s\", off = \"1s\" }"), "30: flow.down-sta1.spells: spells need a rate"),
        (
            udp("rate = \"1Mbit/s\"\nspells = { on = \"0s\", off = \"1s\" }"),
            "31: flow.down-sta1.spells.on: a spell of sending has a length above 0",
        ),
        (
            udp("rate = \"1Mbit/s\"\nspells = { on = \"1s\" }"),
            "31: flow.down-sta1.spells.off: `off` is missing; give a time",
        ),
        (
            film("spells = { on = \"1s\", off = \"1s\" }"),
            "30: flow.down-sta1.spells: this means nothing for adaptive",
        ),
        (
            film("segments.length = \"0s\""),
            "30: flow.down-sta1.segments.length: a segment has a length above 0",
        ),
        (
            film("segments.qualities = [\"2Mbit/s\", \"1Mbit/s\"]"),
            "30: flow.down-sta1.segments.qualities: write qualities from the lowest up",
        ),
        // As these keys were written before they had tables.
        (
            film("segment = \"4s\""),
            "30: flow.down-sta1.segment: there is no such key; did you mean `segments`?",
        ),
        (film("qualities = [\"1Mbit/s\"]"), "30: flow.down-sta1.qualities: there is no such key"),
        (udp("on = \"1s\""), "30: flow.down-sta1.on: there is no such key"),
        (
            udp("spells = \"fixed\""),
            "30: flow.down-sta1.spells: this is a text, but has to be a table of keys",
        ),
    ] {
        assert!(said(&text).contains(sentence), "expected\n{sentence}\ngot\n{}", said(&text));
    }
}

#[test]
fn a_flow_goes_before_its_machines_and_those_before_linux() {
    use ropewalk_scenario::Transport;
    use ropewalk_scenario::file::TcpControl::{Cubic, HighSpeed, NewReno};
    use ropewalk_scenario::units::Bytes;
    let machines = with(&[
        (
            "[node.server]",
            "[node.server]\ntcp = { congestion = \"newreno\", send-buffer = \"64kB\", ecn = \"ask\" }",
        ),
        ("[node.sta]\n", "[node.sta]\ntcp = { receive-buffer = \"16kB\", congestion = \"highspeed\" }\n"),
    ]);
    let of = |text: &str| {
        let scenario =
            Document::parse("s.toml", text).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
        let flow = &scenario.flow[0];
        (scenario.transport(flow), ["server", "sta1"].map(|opener| scenario.asks_for_ecn(flow, opener)))
    };
    let nothing = Transport { congestion: Cubic, receive_buffer: None, send_buffer: None };
    assert_eq!(of(GOOD), (nothing, [false, false]));
    let own = Transport {
        congestion: NewReno,
        receive_buffer: Some(Bytes(16_000)),
        send_buffer: Some(Bytes(64_000)),
    };
    assert_eq!(of(&machines), (own, [true, false]));
    let flow = format!("{machines}congestion = \"highspeed\"\nreceive-buffer = \"8kB\"\necn = false\n");
    let flows = Transport { congestion: HighSpeed, receive_buffer: Some(Bytes(8_000)), ..own };
    assert_eq!(of(&flow), (flows, [false, false]));
}
