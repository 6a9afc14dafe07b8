//! Rates, round trips and windows.

use super::*;
use ropewalk_air::wired::Aqm;

#[test]
fn a_link_of_one_bandwidth_delay_product_is_full() {
    for algorithm in Algorithm::ALL {
        for (mbps, rtt) in [(10.0, 40), (50.0, 20), (100.0, 40)] {
            let mut p = pair(TcpConfig::default().congestion_control(algorithm), link(mbps, rtt, 1.0));
            p.client.write(u64::MAX);
            let rate = goodput(&mut p, 2, 10);
            // 1448 bytes of 1500 are data.
            let full = mbps * 1448.0 / 1500.0;
            assert!(rate <= 1.001 * full && rate > 0.9 * full, "{algorithm} {mbps} Mb/s {rtt} ms: {rate:.2}");
        }
    }
}

#[test]
fn a_fixed_window_gives_its_size_per_round_trip() {
    // MM-2: rate ≤ RWIN/RTT with RWIN 16 KB; whole segments, so 11 of 1448 bytes fit.
    for (rwin, rtt) in [(16_384u64, 10u64), (16_384, 40), (65_535, 20), (65_535, 100)] {
        let mut p = pair(TcpConfig::default().fixed_window(rwin), link(100.0, rtt, 1.0));
        p.client.write(u64::MAX);
        let rate = goodput(&mut p, 2, 10);
        // Besides the propagation, each segment takes its time on the link.
        let law = rwin as f64 * 8.0 / (rtt as f64 * 1e3);
        assert!(rate <= 1.01 * law && rate > 0.85 * law, "RWIN {rwin}, {rtt} ms: {rate:.3} of {law:.3}");
    }
}

#[test]
fn several_fixed_windows_add_up_and_an_automatic_one_is_enough() {
    let mut auto = pair(TcpConfig::default(), link(50.0, 100, 1.0));
    auto.client.write(u64::MAX);
    assert!(goodput(&mut auto, 5, 15) > 45.0, "it grows to more than 625 KB");
    let unscaled = TcpConfig { window_scaling: false, ..TcpConfig::default() };
    let mut p = pair(unscaled, link(50.0, 100, 1.0));
    p.client.write(u64::MAX);
    let rate = goodput(&mut p, 5, 15);
    assert!((4.5..5.25).contains(&rate), "without scaling, 64 KiB per 100 ms: {rate:.2}");
}

#[test]
fn round_trips_are_the_paths_and_its_queues() {
    let mut p = pair(TcpConfig::default().fixed_window(30_000), link(100.0, 40, 1.0));
    p.client.write(u64::MAX);
    p.run_until(Time::from_secs(5));
    let stats = p.client.stats();
    let (min, mean) =
        (stats.min_rtt.as_secs_f64() * 1e3, stats.send.rtt_sum.as_secs_f64() / stats.send.rtt_samples as f64);
    assert!((40.0..40.2).contains(&min), "{min}");
    assert!((40.0..44.0).contains(&(mean * 1e3)), "no queue where the window limits: {mean}");
    // A standing window of 2.5 round trips' worth: the queue is the rest.
    let deep = LinkSpec::new(10.0, ms(20)).queue(QueueSpec::TailDrop { limit: Limit::Bytes(1 << 20) });
    let mut p = pair(TcpConfig::default().fixed_window(125_000), deep);
    p.client.write(u64::MAX);
    p.run_until(Time::from_secs(5));
    let srtt = p.client.stats().srtt.as_secs_f64() * 1e3;
    // 125 KB of data are 129.5 KB of packets: 103.6 ms at 10 Mb/s.
    assert!((98.0..108.0).contains(&srtt), "{srtt}");
}

#[test]
fn random_loss_gives_the_rate_of_the_square_root_law() {
    // Mathis et al. 1997: MSS/RTT · √(3/2)/√p for NewReno with an acknowledgement per segment counted in bytes.
    for (percent, rtt) in [(0.1, 20), (1.0, 40), (2.0, 40)] {
        let mut total = 0.0;
        for seed in 1..=4 {
            let config = TcpConfig::default().congestion_control(Algorithm::NewReno);
            let spec = link(200.0, rtt, 1.0);
            let mut p = Pair::new(config, spec.clone().loss_percent(percent), spec, seed).unwrap();
            p.client.write(u64::MAX);
            total += goodput(&mut p, 5, 65) / 4.0;
        }
        let law = 1448.0 * 8e-3 / rtt as f64 * (1.5 / (percent / 100.0)).sqrt();
        assert!((0.75..1.15).contains(&(total / law)), "{percent} % at {rtt} ms: {total:.2} of {law:.2}");
    }
}

#[test]
fn marks_reduce_the_window_and_nothing_is_lost() {
    let queue = QueueSpec::Codel { limit: Limit::Packets(1000), aqm: Aqm { ecn: true, ..Aqm::default() } };
    let spec = LinkSpec::new(20.0, ms(20)).queue(queue);
    let mut p = pair(TcpConfig { ecn: true, ..TcpConfig::default() }, spec.clone());
    p.client.write(u64::MAX);
    let rate = goodput(&mut p, 3, 20);
    let stats = p.client.stats();
    assert!(rate > 0.85 * 20.0 * 1448.0 / 1500.0, "{rate:.2}");
    assert!(stats.send.marks > 5 && stats.send.retransmits == 0 && p.drops() == (0, 0), "{stats:?}");
    let mut deaf = pair(TcpConfig::default(), spec);
    deaf.client.write(u64::MAX);
    deaf.run_until(Time::from_secs(20));
    assert!(deaf.client.stats().send.marks == 0 && deaf.drops().0 > 0, "without ECN the same queue drops");
}

#[test]
fn paced_segments_do_not_come_in_bursts() {
    let queue = |pacing| {
        let mut p =
            pair(TcpConfig { pacing, ..TcpConfig::default() }.fixed_window(100_000), link(100.0, 40, 1.0));
        p.client.write(u64::MAX);
        p.run_until(Time::from_secs(5));
        p.mean_queue_bytes()
    };
    assert!(queue(Pacing::Always) < 0.7 * queue(Pacing::Never));
}

#[test]
fn the_same_run_twice_is_the_same_and_another_seed_is_another() {
    let run = |seed| {
        let spec = link(20.0, 30, 1.0).loss_percent(1.0);
        let mut p = Pair::new(TcpConfig::default(), spec.clone(), spec, seed).unwrap();
        p.client.write(u64::MAX);
        p.run_until(Time::from_secs(5));
        p.trace_hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
