//! Tests of the loss-based controllers against their formulas.

use super::coupled::{BaliaLaw, LiaLaw, OliaLaw};
use super::window::{Law, LossBased};
use super::{Ack, Controller, Loss, Sibling, by_name};
use ropewalk_time::{Duration, Time};

const MTU: u64 = 1500;
const RTT: Duration = Duration::from_millis(40);

/// A path on which every packet takes 40 ms, driven by hand.
struct Bench {
    cc: Box<dyn Controller>,
    now: Time,
    rtt: Duration,
}

impl Bench {
    fn new(name: &str) -> Self {
        Bench { cc: by_name(name, MTU).unwrap(), now: Time::from_millis(1_000), rtt: RTT }
    }

    fn ack(&self, bytes: u64, round_start: bool, siblings: &[Sibling]) -> (Ack, Vec<Sibling>) {
        let ack = Ack {
            now: self.now,
            bytes,
            lost_bytes: 0,
            newest_sent: self.now - self.rtt,
            rtt: self.rtt,
            min_rtt: RTT,
            queue_delay: None,
            delivery_rate_bps: 0,
            app_limited: false,
            round_start,
            ce_packets: 0,
            inflight: self.cc.window(),
        };
        (ack, siblings.to_vec())
    }

    /// A round trip in which a full window is acknowledged, packet by packet.
    fn round(&mut self) {
        let packets = self.cc.window() / MTU;
        for i in 0..packets {
            self.now += self.rtt / packets as u32;
            let (ack, siblings) = self.ack(MTU, i == 0, &[]);
            self.cc.on_ack(&ack, &siblings);
        }
    }

    fn lose(&mut self, sent: Time) {
        let loss = Loss { now: self.now, bytes: MTU, newest_sent: sent, inflight: 0 };
        self.cc.on_loss(&loss, &[]);
    }

    fn lose_newest(&mut self) {
        self.lose(self.now);
    }
}

#[test]
fn slow_start_doubles_and_a_loss_ends_it() {
    for name in ["cubic", "newreno", "highspeed", "lia", "olia", "balia"] {
        let mut b = Bench::new(name);
        let first = b.cc.window();
        b.round();
        b.round();
        assert_eq!(b.cc.window(), 4 * first, "{name}");
        b.lose_newest();
        let reduced = b.cc.window();
        assert!(reduced < 3 * first, "{name}");
        b.now += RTT * 2;
        b.round();
        assert!(b.cc.window() <= reduced + 3 * MTU, "{name}: no slow start after a loss");
    }
}

#[test]
fn one_reduction_per_round_trip() {
    let mut b = Bench::new("newreno");
    b.round();
    let before = b.cc.window();
    let sent = b.now;
    b.lose(sent);
    assert_eq!(b.cc.window(), before / 2);
    b.now += RTT / 2;
    b.lose(sent - RTT / 4);
    assert_eq!(b.cc.window(), before / 2, "sent before the reduction");
    b.now += RTT;
    b.lose_newest();
    assert_eq!(b.cc.window(), before / 4);
}

#[test]
fn a_loss_that_was_none_is_undone() {
    let mut b = Bench::new("cubic");
    b.round();
    let before = b.cc.window();
    b.lose_newest();
    b.lose(b.now - RTT / 4);
    b.cc.on_spurious_loss(b.now, MTU);
    assert!(b.cc.window() < before, "one of the two may still be true");
    b.cc.on_spurious_loss(b.now, MTU);
    assert_eq!(b.cc.window(), before);
    b.cc.on_spurious_loss(b.now, MTU);
    assert_eq!(b.cc.window(), before, "nothing is left to undo");
}

#[test]
fn a_mark_counts_as_a_loss_once_per_round_trip() {
    let mut b = Bench::new("newreno");
    b.round();
    let before = b.cc.window();
    for _ in 0..3 {
        let (mut ack, _) = b.ack(MTU, false, &[]);
        ack.ce_packets = 1;
        b.cc.on_ack(&ack, &[]);
    }
    assert_eq!(b.cc.window(), before / 2);
}

#[test]
fn newreno_adds_one_datagram_per_round_trip() {
    let mut b = Bench::new("newreno");
    for _ in 0..4 {
        b.round();
    }
    b.lose_newest();
    b.now += RTT * 2;
    let before = b.cc.window();
    for _ in 0..10 {
        b.round();
    }
    let grown = (b.cc.window() - before) as f64 / MTU as f64;
    assert!((9.0..=10.5).contains(&grown), "{grown}");
}

#[test]
fn highspeed_is_steeper_where_the_window_is_large() {
    let mut b = Bench::new("highspeed");
    while b.cc.window() < 790 * MTU {
        b.round();
    }
    let before = b.cc.window() as f64;
    b.lose_newest();
    // RFC 3649, Appendix B, near a window of 1280: a third is given up.
    let kept = b.cc.window() as f64 / before;
    assert!((0.66..0.70).contains(&kept), "{kept}");
    b.now += RTT * 2;
    let start = b.cc.window();
    for _ in 0..4 {
        b.round();
    }
    // a(851) = 7 a round trip; NewReno adds 1.
    let grown = (b.cc.window() - start) as f64 / MTU as f64 / 4.0;
    assert!((6.5..8.5).contains(&grown), "{grown}");
}

#[test]
fn highspeed_and_newreno_are_one_below_38_datagrams() {
    let run = |name| {
        let mut b = Bench::new(name);
        b.round();
        b.lose_newest();
        b.now += RTT * 2;
        for _ in 0..5 {
            b.round();
        }
        b.cc.window()
    };
    assert_eq!(run("highspeed"), run("newreno"));
}

#[test]
fn cubic_is_back_at_its_peak_after_k_seconds() {
    let mut b = Bench::new("cubic");
    for _ in 0..6 {
        b.round();
    }
    let peak = b.cc.window() as f64 / MTU as f64;
    b.lose_newest();
    assert!((b.cc.window() as f64 / MTU as f64 - 0.7 * peak).abs() < 1.0);
    b.now += RTT * 2;
    let start = b.now;
    while (b.cc.window() as f64) < 0.995 * peak * MTU as f64 {
        b.round();
    }
    // RFC 9438 §4.2: K = ∛(W_max · (1 − β) / C); the window is steered a round trip ahead, and nears its peak slowly.
    let k = (peak * 0.3 / 0.4).cbrt();
    let took = b.now.since(start).as_secs_f64();
    assert!(took > 0.6 * k && took < 1.1 * k, "{took} against {k}");
}

#[test]
fn cubic_does_not_grow_while_the_window_is_not_used() {
    let mut b = Bench::new("cubic");
    b.round();
    b.lose_newest();
    b.now += RTT * 2;
    let before = b.cc.window();
    for _ in 0..1_000 {
        b.now += Duration::from_millis(10);
        let (mut ack, _) = b.ack(MTU, false, &[]);
        (ack.app_limited, ack.inflight) = (true, 0);
        b.cc.on_ack(&ack, &[]);
    }
    assert_eq!(b.cc.window(), before);
    b.round();
    assert!(b.cc.window() < before + 2 * MTU, "ten idle seconds do not count as growth");
}

#[test]
fn hystart_leaves_slow_start_when_round_trips_lengthen() {
    let mut b = Bench::new("cubic");
    b.round();
    b.round();
    for _ in 0..8 {
        b.rtt += Duration::from_millis(8);
        b.round();
    }
    assert!(!b.cc.is_probing(), "congestion avoidance without a loss");
    let window = b.cc.window();
    assert!(window < 10 * MTU * 64, "{window}");
}

fn path(packets: u64, rtt_ms: u64, since_loss: u64, is_self: bool) -> Sibling {
    let srtt = Duration::from_millis(rtt_ms);
    Sibling { window: packets * MTU, srtt, bytes_since_loss: since_loss, is_self }
}

/// Growth in congestion avoidance, in packets, per window acknowledged, of a path among `paths`.
fn growth<L: Law>(law: L, paths: &[Sibling]) -> f64 {
    let own = paths.iter().find(|p| p.is_self).unwrap();
    let mut bench = Bench::new("newreno");
    bench.rtt = own.srtt;
    let mut cc = LossBased::new(law, MTU);
    cc.start_at(own.window, own.srtt);
    for _ in 0..own.window / MTU {
        let (ack, siblings) = bench.ack(MTU, false, paths);
        cc.on_ack(&ack, &siblings);
    }
    (cc.window() as f64 - own.window as f64) / MTU as f64
}

#[test]
fn lia_of_two_equal_paths_is_one_flow() {
    let paths = [path(100, 40, 0, true), path(100, 40, 0, false)];
    // RFC 6356 §3: alpha/total per byte, with alpha = 200·(100/r²)/(200/r)² = 0.5, so 100 ACKs add 0.25 of a packet.
    let g = growth(LiaLaw, &paths);
    assert!((g - 0.25).abs() < 0.02, "{g}");
    let alone = growth(LiaLaw, &paths[..1]);
    assert!((alone - 1.0).abs() < 0.02, "{alone}");
}

#[test]
fn lia_never_beats_a_single_flow_on_its_path() {
    let g = growth(LiaLaw, &[path(10, 10, 0, true), path(1000, 200, 0, false)]);
    assert!(g <= 1.05, "{g}");
}

#[test]
fn olia_moves_growth_to_the_best_path_with_the_smaller_window() {
    let best_small = [path(50, 40, 9_000_000, true), path(100, 40, 1_000_000, false)];
    let large = [path(50, 40, 9_000_000, false), path(100, 40, 1_000_000, true)];
    // Without α: (w/r²)/(Σw/r)² per ACK, times w ACKs: 50·50/150² = 0.111 and 100·100/150² = 0.444. α adds 1/n of a
    // packet per window to the one, and takes it from the other (draft-khalili §3).
    let (a, b) = (growth(OliaLaw, &best_small), growth(OliaLaw, &large));
    assert!((a - (0.111 + 0.5)).abs() < 0.03, "{a}");
    assert!((b - (0.444 - 0.5)).abs() < 0.03, "{b}");
}

#[test]
fn balia_of_equal_paths_and_its_decrease() {
    let paths = [path(100, 40, 0, true), path(100, 40, 0, false)];
    // α = 1: x/(r·(2x)²)·1·1 = 1/(4·w) per ACK, so 100 ACKs add a quarter.
    let g = growth(BaliaLaw, &paths);
    assert!((g - 0.25).abs() < 0.02, "{g}");
    // The slower of two paths gives up 1.5 halves at most (draft-walid §3).
    let paths = [path(40, 40, 0, true), path(400, 40, 0, false)];
    let mut cc = LossBased::new(BaliaLaw, MTU);
    cc.start_at(40 * MTU, RTT);
    let now = Time::from_millis(500);
    cc.on_loss(&Loss { now, bytes: MTU, newest_sent: now, inflight: 0 }, &paths);
    assert_eq!(cc.window(), 10 * MTU);
}

/// As draft-khalili §3 has it, l counts from the last answer to congestion on; a mark is one (RFC
/// 3168 §5).
#[test]
fn bytes_since_a_loss_begin_anew_with_a_mark() {
    let mut b = Bench::new("olia");
    for packets in [100, 10] {
        for _ in 0..packets {
            b.now += b.rtt;
            let (ack, siblings) = b.ack(MTU, false, &[]);
            b.cc.on_ack(&ack, &siblings);
        }
        b.now += b.rtt;
        let (ack, siblings) = b.ack(MTU, false, &[]);
        b.cc.on_ack(&Ack { ce_packets: 1, ..ack }, &siblings);
        assert_eq!(b.cc.bytes_since_loss(), (packets + 1) * MTU);
    }
}
