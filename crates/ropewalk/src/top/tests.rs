//! The screen as text.

use super::live::{assert_shows, on_key, screen, wrapped};
use super::*;
use crate::report::workers::WorkerStatus;
use crate::report::{Queue, Traffic};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn snapshot_at(ms: u64, sent: u64) -> Snapshot {
    let path = |id: u8, state: &str| Path {
        id,
        name: format!("wan{id}"),
        state: state.into(),
        class: "active".into(),
        rtt_ms: Some(20.5),
        traffic: Traffic {
            sent_bytes: sent,
            received_bytes: sent / 10,
            acked: 99,
            lost: 1,
            ..Traffic::default()
        },
        ..Path::default()
    };
    let peer = Peer {
        name: "gateway".into(),
        key: "k".into(),
        inside: vec![[10, 77, 0, 2].into()],
        up: true,
        cipher: Some("AES-128-GCM".into()),
        queue: Queue { queue_bytes: 12_345, ..Queue::default() },
        resent: 7,
        paths: vec![path(1, "active"), path(2, "down")],
        ..Peer::default()
    };
    Snapshot {
        role: "client".into(),
        device: "rw0".into(),
        clock_ns: ms * 1_000_000,
        uptime_s: 61.0,
        peers: vec![peer],
        ..Snapshot::default()
    }
}

#[test]
fn everything_is_seen_on_a_small_terminal() {
    let mut app = App::default();
    for n in 0..20 {
        app.take((snapshot_at(n * 500, n * n * 50_000), Flows::default()));
    }
    let screen = screen(&app, 80, 24);
    let words = [
        "ropewalk client rw0 · running 1 min 1 s",
        "10.77.0.2",
        "wan1 active",
        "wan2 down",
        "20.5 ms",
        "29.6 Mb/s",
        "1.00 %",
        "12.3 kB",
        "7 sent again",
        "█",
        "q quits",
    ];
    assert_shows(&screen, &words);
    assert!(screen.lines().all(|l| l.chars().count() <= 80));
    assert!(!screen.contains("connection"), "there is none\n{screen}");
}

#[test]
fn what_carries_a_path_is_said_where_it_is_not_udp() {
    let mut app = App::default();
    let mut now = snapshot_at(500, 1);
    now.peers[0].paths[0].carrier = "udp".into();
    now.peers[0].paths[1].carrier = "tls".into();
    app.take((now, Flows::default()));
    let screen = screen(&app, 80, 24);
    assert!(screen.contains("\nwan1        active") && screen.contains("\nwan2 by TLS down"), "{screen}");
}

#[test]
fn the_air_of_paths_is_seen() {
    let mut app = App::default();
    let mut now = snapshot_at(500, 1);
    now.peers = vec![crate::report::air::tests::peer(&[("roam0", 206, 6, false), ("roam1", 640, 6, true)])];
    app.take((now, Flows::default()));
    let screen = screen(&app, 110, 24);
    let words = [
        "air roam0  206 us a packet, shares its channel with roam1",
        "air roam1  640 us a packet, shares its channel with roam0, rests: a better path fills the channel",
    ];
    assert_shows(&screen, &words);
}

#[test]
fn a_client_of_several_gateways_says_at_which_it_is() {
    let mut app = App::default();
    let mut now = snapshot_at(500, 1);
    let here = vec!["10.2.2.2:4500".parse().unwrap()];
    let others = vec!["10.2.1.2:4500".into()];
    now.gateways = Some(crate::report::gateways::Gateways { here, others, moved: None });
    app.take((now, Flows::default()));
    let screen = screen(&app, 80, 24);
    assert!(screen.contains("\ngateway at 10.2.2.2:4500; other endpoints: 10.2.1.2:4500\n"), "{screen}");
}

#[test]
fn what_a_client_is_granted_is_seen_on_a_small_terminal() {
    let mut app = App::default();
    let mut now = snapshot_at(500, 1);
    now.peers[0].granted = Some(crate::report::grants::tests::granted());
    app.take((now, Flows::default()));
    let screen = screen(&app, 80, 24);
    let words = "granted port tcp 8080 to 80, tcp 22; group home; cap 20Mbit down; exit wan2";
    assert!(screen.contains(words) && screen.contains("overruns") && screen.contains("q quits"), "{screen}");
}

#[test]
fn sixty_columns_are_enough() {
    let mut app = App::default();
    for n in 0..20 {
        let mut now = snapshot_at(n * 500, n * n * 50_000);
        now.peers[0].paths[1].carrier = "tls".into();
        app.take((now, Flows::default()));
    }
    let screen = screen(&app, 60, 24);
    let words = [
        "wan1        active",
        "wan2 by TLS down",
        " 20.5 ms   29.6 Mb/s ",
        "1.00 %",
        "marked 0",
        "memory 0 B of 0 B",
        "q quits",
    ];
    assert_shows(&screen, &words);
}

#[test]
fn long_names_and_wide_letters_leave_room_for_what_matters() {
    let mut app = App::default();
    let mut now = snapshot_at(500, 1);
    (now.role, now.peers[0].name, now.peers[0].up) = ("gateway".into(), "a-name-".repeat(9), false);
    now.peers[0].paths[0].name = "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535".into();
    app.take((now.clone(), Flows::default()));
    let cut = "[2001:db8:1234:5678:9abc:def0:1 active";
    for (columns, name) in [(60, "[2001:db8:1 active"), (80, cut), (100, ":5678]:65535 active")] {
        let screen = screen(&app, columns, 24);
        assert_shows(&screen, &[" · not connected", name, "1.00 %", "q quits"]);
    }
    now.peers[0].paths[0].name = "有線一".into();
    app.take((now, Flows::default()));
    let screen = screen(&app, 60, 24);
    assert!(screen.contains('一'), "{screen}");
}

#[test]
fn who_was_chosen_is_shown_again_after_a_restart() {
    let peers = |names: &[&str]| {
        let peer = |name: &&str| Peer { key: (*name).into(), name: (*name).into(), ..Peer::default() };
        Snapshot { role: "gateway".into(), peers: names.iter().map(peer).collect(), ..Snapshot::default() }
    };
    let mut app = App::default();
    let mut shown = |names: &[&str], forward: Option<bool>| {
        app.take((peers(names), Flows::default()));
        forward.into_iter().for_each(|forward| app.turn(forward));
        app.peer().map(|p| p.name.clone()).unwrap_or_default()
    };
    assert_eq!(shown(&["a", "b", "c"], None), "a");
    assert_eq!(shown(&["a", "b", "c"], Some(true)), "b");
    assert_eq!(shown(&["a", "b", "c"], Some(true)), "c");
    assert_eq!(shown(&["a", "b", "c"], Some(true)), "c", "it is the last");
    assert_eq!(shown(&[], None), "");
    assert_eq!(shown(&["b"], None), "b");
    assert_eq!(shown(&["c", "b", "a"], None), "c");
    assert_eq!(shown(&["a", "c", "b"], Some(false)), "a");
}

#[test]
fn what_is_too_long_goes_on_in_the_next_line() {
    let lines = |parts: &[&str], columns| {
        let lines = wrapped(parts.iter().copied(), "  ", columns);
        lines.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let parts = ["queue  12 kB", "waits 3 ms", "marked 0"];
    assert_eq!(lines(&parts, 34), ["queue  12 kB  waits 3 ms  marked 0"]);
    assert_eq!(lines(&parts, 33), ["queue  12 kB  waits 3 ms", "marked 0"]);
    assert_eq!(lines(&parts, 15), parts);
    assert_eq!(lines(&parts, 3), parts, "a part is one");
    assert_eq!(lines(&[], 15), [""]);
    assert_eq!(lines(&["有線", "一"], 7), ["有線", "一"]);
    assert_eq!(lines(&["有線", "一"], 8), ["有線  一"]);
}

/// Connections of these peers.
fn flows_of(peers: &[&str]) -> Flows {
    let flow = |(n, peer): (usize, &&str)| Flow {
        peer: (*peer).into(),
        protocol: "tcp".into(),
        here: "10.77.0.2:50000".into(),
        there: format!("192.0.2.7:{}", 440 + n),
        class: "bulk".into(),
        sent_bytes: 1,
        sent: 1,
        sent_bps: 400_000,
        received_bytes: 1,
        received: 1,
        received_bps: 7_500_000,
        age_s: 3.0,
        idle_s: 0.5,
        longest_gap_ms: 20.0,
    };
    let flows = peers.iter().enumerate().map(flow).collect();
    Flows { counted: true, total: peers.len() as u64, flows }
}

#[test]
fn the_fastest_connections_of_the_peer_are_seen_where_there_is_room() {
    let mut app = App::default();
    let mut peers = ["gateway"; 9];
    peers[1] = "somebody else";
    app.take((snapshot_at(500, 1), flows_of(&peers)));
    let tall = screen(&app, 80, 24);
    let shown: Vec<&str> = tall.lines().filter(|l| l.starts_with("192.0.2.7:")).collect();
    assert_eq!(shown.len(), 6, "{tall}");
    assert!(shown[0].starts_with("192.0.2.7:440") && shown[1].starts_with("192.0.2.7:442"), "{tall}");
    assert!(shown[0].contains("7.5 Mb/s") && shown[0].contains("tcp, bulk"), "{tall}");
    assert!(tall.contains("7 sent again") && tall.contains("q quits"), "{tall}");
    let low = screen(&app, 80, 12);
    assert!(!low.contains("connection") && low.contains("wan2") && low.contains("memory"), "{low}");
}

#[test]
fn the_workers_of_a_gateway_are_seen_where_it_has_several() {
    let mut app = App::default();
    let look = |ms: u64, processor_s: f64, count: usize| {
        let worker = WorkerStatus { sessions: 4, processor_s, handed_on: 70, handed_on_lost: 3 };
        let workers = vec![worker; count];
        let now = Snapshot { role: "gateway".into(), workers, ..snapshot_at(ms, 1) };
        (now, flows_of(&["gateway"; 9]))
    };
    let table = |app: &App, height: u16| {
        let screen = screen(app, 80, height);
        assert!(screen.contains("overruns") && screen.contains("q quits"), "{screen}");
        let lines = screen.lines().skip_while(|l| !l.starts_with("worker")).take_while(|l| !l.is_empty());
        lines.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    app.take(look(500, 1.0, 2));
    let titles = "worker sessions busy handed on dropped";
    assert_eq!(table(&app, 24), [titles, "0 4 - 70 3", "1 4 - 70 3"]);
    app.take(look(1000, 1.2, 2));
    for _ in 0..2 {
        assert_eq!(table(&app, 24), [titles, "0 4 40 % 70 3", "1 4 40 % 70 3"]);
        // The daemon has not looked since.
        app.take(look(1000, 1.2, 2));
    }
    app.take(look(1500, 1.2, 64));
    assert!(table(&app, 12).is_empty(), "there is no room");
    let many = table(&app, 24);
    assert_eq!((many.len(), many[0].starts_with("worker (8 of 64) ")), (9, true), "{many:?}");
    app.take(look(2000, 1.2, 0));
    assert!(table(&app, 24).is_empty(), "one loop needs no table");
}

#[test]
fn odd_sizes_and_empty_gateways_do_not_hurt() {
    let mut app = App::default();
    app.take((Snapshot { role: "gateway".into(), ..Snapshot::default() }, Flows::default()));
    for (w, h) in [(80, 24), (1, 1), (20, 5), (200, 60)] {
        screen(&app, w, h);
    }
    app.take((snapshot_at(500, 1), flows_of(&["gateway"; 50])));
    for (w, h) in [(1, 1), (20, 5), (200, 60)] {
        screen(&app, w, h);
    }
}

#[test]
fn keys() {
    let mut app = App::default();
    app.take((snapshot_at(0, 0), Flows::default()));
    let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
    assert!(on_key(&mut app, key(KeyCode::Down)) && app.place() == 0);
    assert!(!on_key(&mut app, key(KeyCode::Char('q'))));
    assert!(!on_key(&mut app, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
}
