//! The link as a whole, under simulated time.

use core::time::Duration;

use rand::SeedableRng;

use super::*;
use crate::wired::{Aqm, Trace};

const MTU: u32 = 1500;

fn link(spec: LinkSpec) -> Link<u64> {
    Link::new(spec, 42).unwrap()
}

/// Everything that comes out until the link is empty: (payload, arrival).
fn drain(link: &mut Link<u64>) -> Vec<(u64, Time)> {
    let mut out = Vec::new();
    while let Some(at) = link.next_timeout() {
        out.extend(std::iter::from_fn(|| link.poll(at)).map(|d| (d.payload, d.at)));
    }
    out
}

/// Sends `packets` of MTU size, `gap` apart, polling as a driver does.
fn send(link: &mut Link<u64>, packets: u64, gap: Duration) -> Vec<(u64, Time)> {
    let (mut out, mut at) = (Vec::new(), Time::ZERO);
    for number in 0..packets {
        while let Some(due) = link.next_timeout().filter(|&due| due <= at) {
            out.extend(std::iter::from_fn(|| link.poll(due)).map(|d| (d.payload, d.at)));
        }
        link.enqueue(at, Packet { flow: number % 4, ..Packet::new(MTU, number) });
        at += gap;
    }
    out.extend(drain(link));
    out
}

#[test]
fn rate_and_delay_are_exact() {
    let spec = LinkSpec {
        queue: QueueSpec::TailDrop { limit: Limit::Packets(10_000) },
        ..LinkSpec::new(12.0, Duration::from_millis(20))
    };
    let mut link = link(spec);
    // 1500 bytes take 1 ms at 12 Mb/s.
    let out = send(&mut link, 5000, Duration::ZERO);
    assert_eq!(out.len(), 5000);
    for (number, at) in out {
        assert_eq!(at, Time::from_millis(21 + number));
    }
}

#[test]
fn overhead_is_counted() {
    let spec = LinkSpec { overhead_bytes: 1500, ..LinkSpec::new(12.0, Duration::ZERO) };
    assert_eq!(send(&mut link(spec), 1, Duration::ZERO)[0].1, Time::from_millis(2));
}

#[test]
fn a_late_driver_changes_nothing() {
    let spec =
        || LinkSpec::new(12.0, Duration::from_millis(20)).jitter(Duration::from_millis(3)).loss_percent(5.0);
    let mut lazy = link(spec());
    for number in 0..50 {
        lazy.enqueue(
            Time::from_micros(number * 900),
            Packet { flow: number % 4, ..Packet::new(MTU, number) },
        );
    }
    let late: Vec<_> =
        std::iter::from_fn(|| lazy.poll(Time::from_secs(9))).map(|d| (d.payload, d.at)).collect();
    assert_eq!(late, send(&mut link(spec()), 50, Duration::from_micros(900)));
}

#[test]
fn order_is_kept_under_jitter() {
    let out = send(
        &mut link(LinkSpec::new(50.0, Duration::from_millis(20)).jitter(Duration::from_millis(20))),
        5000,
        Duration::from_micros(300),
    );
    assert!(out.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
}

#[test]
fn loss_uses_the_wire_and_is_counted() {
    let spec = LinkSpec::new(12.0, Duration::ZERO).loss_percent(2.0);
    let mut link = link(spec);
    let out = send(&mut link, 100_000, Duration::from_millis(1));
    let count = link.counters();
    assert!((1850..2150).contains(&count.dropped_loss), "{count:?}");
    assert_eq!(count.packets_in, count.packets_out + count.dropped_loss);
    assert_eq!(out.len() as u64, count.packets_out);
    assert_eq!((count.bytes_out, count.queued_packets, count.on_wire), (out.len() as u64 * 1500, 0, 0));
}

#[test]
fn home_queue_holds_a_tenth_of_a_second() {
    let mut link = link(LinkSpec::new(12.0, Duration::ZERO));
    let out = send(&mut link, 500, Duration::ZERO);
    // One in the transmitter and 150000 bytes behind it.
    assert_eq!((out.len(), link.counters().dropped_queue), (101, 399));
    assert_eq!(out[100].1, Time::from_millis(101));
}

/// The waits, in ms, behind a source that adapts as TCP does: it halves on a drop and adds a packet per 40 ms otherwise.
fn waits(queue: QueueSpec) -> Vec<f64> {
    let mut link = link(LinkSpec::new(12.0, Duration::from_millis(20)).queue(queue));
    let (mut waits, mut sent, mut in_flight, mut window) = (Vec::new(), Vec::new(), 0u64, 10.0);
    let mut drops = 0;
    for us in (0..30_000_000u64).step_by(500) {
        let now = Time::from_micros(us);
        while let Some(d) = link.poll(now) {
            in_flight -= 1;
            let began: Time = sent[d.payload as usize];
            if us > 10_000_000 {
                waits.push((d.at - began).as_secs_f64() * 1e3 - 21.0);
            }
            window += 1.0 / window;
        }
        let now_dropped = link.counters().dropped_queue;
        if now_dropped > drops {
            in_flight -= now_dropped - drops;
            drops = now_dropped;
            window = (window / 2.0_f64).max(2.0);
        }
        while in_flight < window as u64 {
            link.enqueue(now, Packet::new(MTU, sent.len() as u64));
            sent.push(now);
            in_flight += 1;
        }
    }
    waits.sort_by(f64::total_cmp);
    waits
}

#[test]
fn codel_holds_five_milliseconds_where_a_plain_queue_fills() {
    let median = |w: Vec<f64>| w[w.len() / 2];
    let plain = median(waits(QueueSpec::TailDrop { limit: Limit::Home }));
    let codel = median(waits(QueueSpec::codel()));
    let fq = median(waits(QueueSpec::fq_codel()));
    assert!(plain > 60.0, "{plain}");
    assert!((2.0..9.0).contains(&codel), "{codel}");
    assert!((2.0..9.0).contains(&fq), "{fq}");
}

#[test]
fn a_trace_is_played_and_repeated() {
    let trace = Trace::parse("1\n1\n7\n20\n").unwrap();
    let spec = LinkSpec { rate: Rate::Traced(trace), ..LinkSpec::default() };
    let mut link = link(spec);
    for number in 0..9 {
        link.enqueue(Time::ZERO, Packet::new(1504, number));
    }
    let at: Vec<u64> = drain(&mut link).iter().map(|(_, at)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [1, 1, 7, 20, 21, 21, 27, 40, 41]);
    // Idle through the next opportunities, then one at 60 ms and one in the lap after it.
    link.enqueue(Time::from_millis(48), Packet::new(1504, 9));
    link.enqueue(Time::from_millis(48), Packet::new(1000, 10));
    let at: Vec<u64> = drain(&mut link).iter().map(|(_, at)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [60, 61]);
}

#[test]
fn a_dead_link_swallows_everything_and_comes_back_empty() {
    let mut link = link(LinkSpec::new(12.0, Duration::from_millis(5)));
    for number in 0..10 {
        link.enqueue(Time::ZERO, Packet::new(MTU, number));
    }
    assert_eq!(link.poll(Time::from_millis(6)).map(|d| d.payload), Some(0));
    link.set_up(Time::from_millis(6), false);
    assert_eq!(link.next_timeout(), None);
    link.enqueue(Time::from_millis(7), Packet::new(MTU, 10));
    link.set_up(Time::from_millis(50), true);
    link.enqueue(Time::from_millis(50), Packet::new(MTU, 11));
    assert_eq!(drain(&mut link), [(11, Time::from_millis(56))]);
    let count = link.counters();
    assert_eq!((count.dropped_down, count.packets_out, count.packets_in), (10, 2, 12));
}

#[test]
fn settings_change_while_running() {
    let mut link = link(LinkSpec::new(12.0, Duration::from_millis(5)));
    link.enqueue(Time::ZERO, Packet::new(MTU, 0));
    link.enqueue(Time::ZERO, Packet::new(MTU, 1));
    // Half of packet 0 is out; the other half takes 1 ms at half the rate, packet 1 takes 2 ms.
    link.set_rate(Time::from_micros(500), Rate::mbps(6.0)).unwrap();
    assert_eq!(drain(&mut link), [(0, Time::from_micros(6500)), (1, Time::from_micros(8500))]);
    link.set_delay(Time::from_secs(1), Duration::from_millis(1), Jitter::default());
    link.set_loss(Time::from_secs(1), Loss::percent(100.0)).unwrap();
    link.enqueue(Time::from_secs(1), Packet::new(MTU, 2));
    assert_eq!(drain(&mut link), []);
    link.set_loss(Time::from_secs(2), Loss::None).unwrap();
    link.set_damage(Time::from_secs(2), 1.0, 1.0).unwrap();
    link.set_mtu_blackhole(Time::from_secs(2), Some(1400));
    link.enqueue(Time::from_secs(2), Packet::new(1401, 3));
    link.enqueue(Time::from_secs(2), Packet::new(1400, 4));
    let out = link.poll(Time::from_secs(3)).unwrap();
    assert_eq!((out.payload, out.corrupted, out.copies), (4, true, 2));
    assert_eq!(link.counters().dropped_mtu, 1);
    assert_eq!(link.set_rate(Time::from_secs(4), Rate::mbps(0.0)), Err(SpecError::ZeroRate));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let spec = LinkSpec {
            corruption: 0.01,
            duplication: 0.01,
            loss: Loss::bursts(0.02, 4.0),
            ..LinkSpec::new(20.0, Duration::from_millis(10)).jitter(Duration::from_millis(2))
        };
        let mut link = Link::new(spec.queue(QueueSpec::fq_codel()), seed).unwrap();
        let out = send(&mut link, 20_000, Duration::from_micros(580));
        (out, link.counters())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

/// One of everything that can be done to a link, by chance.
fn disturb(link: &mut Link<u64>, now: Time, rng: &mut ChaCha8Rng) {
    match rng.random_range(0..40) {
        0 => link.set_up(now, rng.random()),
        1 => link.set_rate(now, Rate::mbps(rng.random_range(0.1..200.0))).unwrap(),
        2 => link.set_rate(now, Rate::Traced(Trace::parse("0\n3\n3\n9\n").unwrap())).unwrap(),
        3 => link.set_rate(now, Rate::Unlimited).unwrap(),
        4 => link.set_loss(now, Loss::percent(rng.random_range(0.0..30.0))).unwrap(),
        5 => {
            let std_dev = Duration::from_micros(rng.random_range(0..5000));
            let coherence = Duration::from_micros(rng.random_range(0..2000));
            let delay = Duration::from_micros(rng.random_range(0..20_000));
            link.set_delay(now, delay, Jitter { std_dev, coherence });
        }
        6 => link.set_damage(now, rng.random_range(0.0..1.0), rng.random_range(0.0..1.0)).unwrap(),
        7 => link.set_mtu_blackhole(now, Some(rng.random_range(100..1500))),
        8 => link.set_up(now, true),
        _ => {
            let packet = Packet {
                flow: rng.random_range(0..20),
                class: rng.random_range(0..5),
                ecn_capable: rng.random(),
                ..Packet::new(rng.random_range(20..1500), now.as_nanos())
            };
            link.enqueue(now, packet);
        }
    }
}

#[test]
fn whatever_happens_no_packet_is_made_or_forgotten() {
    let queues = [
        QueueSpec::default(),
        QueueSpec::codel(),
        QueueSpec::fq_codel(),
        QueueSpec::FqCodel { limit: Limit::Packets(30), aqm: Aqm::default(), flows: 8, quantum_bytes: 300 },
        QueueSpec::Strict { limit: Limit::Time(Duration::from_millis(3)), bands: 3, floor_bps: 1_000_000 },
    ];
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut link = link(LinkSpec::new(5.0, Duration::from_millis(2)).queue(queues[seed as usize % 5]));
        let (mut now, mut last) = (Time::ZERO, Time::ZERO);
        for _ in 0..2000 {
            disturb(&mut link, now, &mut rng);
            now += Duration::from_micros(rng.random_range(0..800));
            while let Some(delivery) = link.poll(now) {
                assert!(delivery.at >= last && delivery.at <= now, "order, and no arrival from the future");
                last = delivery.at;
            }
            assert!(link.next_timeout().is_none_or(|at| at > now), "a driver would spin");
            let c = link.counters();
            let gone = c.dropped_queue + c.dropped_loss + c.dropped_down + c.dropped_mtu;
            assert_eq!(c.packets_in, c.packets_out + gone + c.queued_packets + c.on_wire, "{c:?}");
        }
    }
}
