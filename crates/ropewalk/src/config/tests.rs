//! Errors say where and what to do.

use super::*;

fn error(text: &str) -> String {
    File::parse(Path::new("rw.toml"), text).unwrap_err().to_string()
}

#[test]
fn an_empty_file_is_the_defaults_and_the_defaults_are_the_engines() {
    let file = File::parse(Path::new("rw.toml"), "").unwrap();
    let (ours, theirs) = (file.engine.to_config(), Config::default());
    assert_eq!(
        (ours.scheduler, ours.congestion, ours.tun_mtu),
        (theirs.scheduler, theirs.congestion, theirs.tun_mtu)
    );
    assert_eq!(
        (ours.keepalive, ours.rekey_after, ours.max_peers),
        (theirs.keepalive, theirs.rekey_after, theirs.max_peers)
    );
}

#[test]
fn everything_can_be_said() {
    let text = r#"
        [serve]
        listen = ["0.0.0.0:4500", "[::]:443"]
        address = ["10.77.0.1/24", "fd77::1/64"]
        global6 = true
        proxy-ndp = "eth0"
        down-rate = "500Mbit"
        endpoints = ["gw.example.org:4500"]
        [up]
        route = ["0.0.0.0/0"]
        [[up.path]]
        interface = "wan0"
        endpoint = "192.0.2.1:4500"
        class = "metered"
        cap = "1.5GB"
        reset-day = 31
        [engine]
        scheduler = "weighted"
        memory = "64MiB"
        [log]
        format = "json"
        [metrics]
        listen = "127.0.0.1:9100"
    "#;
    let file = File::parse(Path::new("rw.toml"), text).unwrap();
    assert_eq!(file.serve.global_network().unwrap().to_string(), "fd77::/64");
    assert_eq!(file.serve.down_rate, Some(BitRate(500_000_000)));
    assert_eq!(file.up.path[0].cap, Some(Amount(1_500_000_000)));
    assert_eq!(file.engine.to_config().scheduler, Kind::Weighted);
    assert_eq!(file.up.path[0].name().to_string(), "wan0@192.0.2.1:4500");
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest() {
    assert_eq!(
        error("[engine]\nsheduler = \"x\"\n"),
        "rw.toml, line 2: there is no key `sheduler` here; did you mean `scheduler`?"
    );
    assert_eq!(
        error("[up]\n\nroutes = []\n"),
        "rw.toml, line 3: there is no key `routes` here; did you mean `route`?"
    );
    assert_eq!(
        error("[engine]\ntun_mtu = 1\n"),
        "rw.toml, line 2: there is no key `tun_mtu` here; did you mean `tun-mtu`?"
    );
    assert_eq!(
        error("[roam]\nmots = 3\n"),
        "rw.toml, line 2: there is no key `mots` here; did you mean `most`?"
    );
    let odd = error("zzz = 1\n");
    assert_eq!(
        odd,
        "rw.toml, line 1: there is no key `zzz` here; known are serve, up, ap, repeater, roam, engine, log, metrics"
    );
}

#[test]
fn a_global_network_needs_what_it_needs() {
    for (text, words) in [
        ("[serve]\nglobal6 = true\n", "line 2: global6 needs an IPv6 network"),
        ("[serve]\naddress = [\"10.77.0.1/24\"]\nglobal6 = true\n", "line 3: global6 needs"),
        ("[serve]\nproxy-ndp = \"eth0\"\n", "line 2: proxy-ndp is for a network that is global"),
        ("[serve]\nproxy-ndp = \"a/b\"\nglobal6 = true\n", "line 2: `a/b` cannot name"),
        (
            "[serve]\naddress = [\"2001:db8::1/64\"]\nglobal6 = true\ndelegate = true\n",
            "line 4: delegate needs a global IPv6 network of /32 to /63",
        ),
        ("[serve]\naddress = [\"2001:db8::1/56\"]\ndelegate = true\n", "line 3: delegate needs a global"),
        (
            "[serve]\naddress = [\"fd77::1/56\"]\nglobal6 = true\ndelegate = true\nproxy-ndp = \"eth0\"\n",
            "line 4: delegate needs a global",
        ),
        (
            "[serve]\naddress = [\"fd77::1/64\"]\nglobal6 = true\nstore = \"etcd://127.0.0.1:1/x\"\n",
            "line 3: global6 is not for a gateway of a fleet",
        ),
    ] {
        let said = error(text);
        assert!(said.contains(words), "{said}");
    }
    let text = "[serve]\naddress = [\"2001:db8:100::1/56\"]\nglobal6 = true\ndelegate = true\n";
    assert!(File::parse(Path::new("rw.toml"), text).unwrap().serve.delegate);
    assert_eq!(File::default().serve.global_network(), None);
}

#[test]
fn a_wrong_value_is_refused_where_it_stands() {
    let e = error("[engine]\n\nscheduler = \"fastest\"\n");
    assert!(e.starts_with("rw.toml, line 3: there is no scheduler \"fastest\"; known are"), "{e}");
    let e = error("[engine]\ntun-mtu = 100\n");
    assert_eq!(e, "rw.toml, line 2: tun-mtu is 100, but has to be from 1280 to 9000");
    let e = error("[roam]\nmost = 9\n");
    assert_eq!(e, "rw.toml, line 2: most is 9, but has to be from 1 to 8");
    let e = error("[roam]\nportal = \"https://a/\"\n");
    assert!(e.starts_with("rw.toml, line 2: portal is"), "{e}");
    let e = error("[roam]\nmonitor = \"no interface\"\n");
    assert!(e.starts_with("rw.toml, line 2: ") && e.contains("no interface"), "{e}");
    let e = error("[roam]\nchannel = 15\n");
    assert_eq!(e, "rw.toml, line 2: there is no channel 15 in the 2.4 and 5 GHz bands");
    let e = error("[engine]\nnice = -21\n");
    assert_eq!(e, "rw.toml, line 2: nice is -21, but has to be from -20 to 19");
    let e = error("[[up.path]]\ninterface = \"a\"\nclass = \"metered\"\n");
    assert_eq!(e, "rw.toml, line 3: a metered path needs a cap, such as cap = \"10GB\"");
    let e = error("[[up.path]]\ninterface = \"a\"\ncap = \"lots\"\n");
    assert!(e.starts_with("rw.toml, line 3: `lots` is no amount of data"), "{e}");
    let e = error("[serve]\nlisten = [\"nowhere\"]\n");
    assert!(e.starts_with("rw.toml, line 2:"), "{e}");
}

#[test]
fn amounts() {
    let ok = [("10GB", 10_000_000_000), ("1.5 MB", 1_500_000), ("7", 7), ("1GiB", 1 << 30), ("2k", 2000)];
    for (text, bytes) in ok {
        assert_eq!(text.parse(), Ok(Amount(bytes)), "{text}");
    }
    for text in ["", "GB", "1 XB", "-1", "1e30GB", "99999999999999TB"] {
        assert!(text.parse::<Amount>().is_err(), "{text}");
    }
}

const LINKS: &str = "[[repeater.link]]\ninterface = \"wlan0\"\n[[repeater.link]]\ninterface = \"wlan1\"\n";

#[test]
fn a_backhaul_has_defaults_of_its_own_and_a_file_may_say_otherwise() {
    let file = |text: &str| File::parse(Path::new("rw.toml"), text).unwrap().engine.to_config();
    let plain = file("");
    assert_eq!(
        (plain.scheduler, plain.queue_packets, plain.order_deadline),
        (Kind::EarliestArrival, None, None)
    );
    let backhaul = file(&format!("[repeater]\nclients = \"wlan2\"\n{LINKS}"));
    assert_eq!(
        (backhaul.scheduler, backhaul.congestion, backhaul.queue_packets),
        (Kind::Backpressure, Algorithm::None, None)
    );
    assert_eq!(
        (backhaul.limiter.kind, backhaul.order_deadline),
        (limiter::Kind::Balance, Some(Duration::from_millis(100)))
    );
    let text = "[engine]\nlimiter = \"mimd\"\nqueue-packets = 50\nreport-period-ms = 100\nlimiter-queue = [8, 64]\n[ap]\n[[ap.link]]\ninterface = \"wlan0\"\n";
    let said = file(text);
    let t = said.limiter;
    assert_eq!(
        (t.kind, t.low, t.high, t.every(), said.queue_packets),
        (limiter::Kind::Mimd, 8, 64, Duration::from_millis(100), Some(50))
    );
}

#[test]
fn long_frames_are_protected_where_the_clients_are_unless_the_file_says_otherwise() {
    for (keys, rts) in [
        ("", false),
        ("shared = false", false),
        ("shared = true", true),
        ("shared = true\nrts = false", false),
        ("rts = true", true),
    ] {
        let text = format!("[ap]\n[[ap.link]]\ninterface = \"wlan0\"\n{keys}\n");
        let file: File = toml::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(file.ap.link[0].protects(), rts, "{keys}");
    }
}

#[test]
fn what_a_hop_cannot_be_is_said() {
    for (text, words) in [
        ("[ap]\nport = 1\n", "the radios are not named"),
        ("[ap]\n[repeater]\n", "leave [ap] or [repeater] out, or make two files"),
        (&format!("[repeater]\nlayer = 4\n{LINKS}"), "there is no layer 4"),
        (
            &format!("[repeater]\nclients = \"wlan0\"\n{LINKS}"),
            "wlan0 cannot lead to the access point and to the clients",
        ),
        (
            &format!("[repeater]\nnetworks = [\"0.0.0.0/0\"]\n{LINKS}"),
            "is everything: name the clients' own networks",
        ),
        (&format!("[repeater]\nbridge = \"br0\"\n{LINKS}"), "set layer = 2, or leave the bridge out"),
        ("[ap]\nlayer = 2\nisolated = true\n[[ap.link]]\ninterface = \"wlan0\"\n", "name it with bridge"),
        ("[ap]\nlayer = 2\ntun = \"twelve-bytes\"\n[[ap.link]]\ninterface = \"wlan0\"\n", "1 to 11 bytes"),
        (&format!("{LINKS}[[repeater.link]]\ninterface = \"wlan0\"\n"), "wlan0 is named twice"),
    ] {
        assert!(error(text).contains(words), "{text}: {}", error(text));
    }
    let clients = |more: &str| {
        let text = format!(
            "[repeater]\n{more}\n[[repeater.link]]\ninterface = \"wlan0\"\nshared = false\n[[repeater.link]]\ninterface = \"wlan1\"\n"
        );
        File::parse(Path::new("rw.toml"), &text).unwrap().repeater.check_clients()
    };
    assert!(clients("").unwrap_err().contains("it is not said where the clients are"));
    assert!(
        clients("clients = \"wlan2\"")
            .unwrap_err()
            .contains("set shared = true for wlan1, or shared = false for all")
    );
    assert_eq!(clients("lan = \"eth0\""), Ok(()));
}
