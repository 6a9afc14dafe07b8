//! The screen as text.

use super::live::{on_key, screen};
use super::*;
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
        app.take(snapshot_at(n * 500, n * n * 50_000));
    }
    let screen = screen(&app, 80, 24);
    for words in [
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
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    assert!(screen.lines().all(|l| l.chars().count() <= 80));
}

#[test]
fn odd_sizes_and_empty_gateways_do_not_hurt() {
    let mut app = App::default();
    app.take(Snapshot { role: "gateway".into(), ..Snapshot::default() });
    for (w, h) in [(80, 24), (1, 1), (20, 5), (200, 60)] {
        screen(&app, w, h);
    }
    app.take(snapshot_at(500, 1));
    for (w, h) in [(1, 1), (20, 5), (200, 60)] {
        screen(&app, w, h);
    }
}

#[test]
fn keys() {
    let mut app = App::default();
    app.take(snapshot_at(0, 0));
    let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
    assert!(on_key(&mut app, key(KeyCode::Down)) && app.selected == 0);
    assert!(!on_key(&mut app, key(KeyCode::Char('q'))));
    assert!(!on_key(&mut app, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
}
