//! Whole connections over several links.

use super::*;
use crate::tcp::{Algorithm, Segment, TcpConfig};
use core::time::Duration;
use ropewalk_air::Time;
use ropewalk_air::wired::{Limit, Link, LinkSpec, Packet, QueueSpec};
use std::net::{Ipv4Addr, SocketAddrV4};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Client, server, and a path for each pair of addresses, forward and back.
struct Net {
    client: MptcpConnection,
    server: Option<MptcpConnection>,
    config: MptcpConfig,
    paths: Vec<[Link<Segment>; 2]>,
    now: Time,
    server_reads: bool,
    hash: u64,
}

fn client_address(path: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 1, path as u8, 1), 40_000)
}

fn server_address(path: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 1, path as u8, 2), 80)
}

impl Net {
    fn new(config: MptcpConfig, specs: &[LinkSpec]) -> Net {
        let paths = (0..)
            .zip(specs)
            .map(|(i, spec)| {
                [Link::new(spec.clone(), 2 * i).unwrap(), Link::new(spec.clone(), 2 * i + 1).unwrap()]
            })
            .collect();
        Net {
            client: MptcpConnection::connect(config.clone(), client_address(0), server_address(0), 7),
            server: None,
            config,
            paths,
            now: Time::ZERO,
            server_reads: true,
            hash: 0,
        }
    }

    /// Joined over all paths, and with all the data that there is.
    fn bulk(config: MptcpConfig, specs: &[LinkSpec]) -> Net {
        let mut net = Net::new(config, specs);
        net.run_until(Time::from_secs(1));
        for path in 1..specs.len() {
            net.client.add_subflow(client_address(path), server_address(path), path as u8, false).unwrap();
        }
        net.client.write(u64::MAX);
        net
    }

    fn run_until(&mut self, end: Time) {
        self.flush();
        loop {
            let links = self.paths.iter().flatten().filter_map(Link::next_timeout);
            let ends = [self.client.next_timeout(), self.server.as_ref().and_then(|s| s.next_timeout())];
            let next = links.chain(ends.into_iter().flatten()).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.step();
        }
        self.now = end;
    }

    fn step(&mut self) {
        for path in 0..self.paths.len() {
            for direction in 0..2 {
                while let Some(delivery) = self.paths[path][direction].poll(self.now) {
                    self.deliver(direction == 0, &delivery.payload);
                }
            }
        }
        self.client.on_timer(self.now);
        if let Some(server) = &mut self.server {
            server.on_timer(self.now);
        }
        self.flush();
    }

    fn deliver(&mut self, forward: bool, segment: &Segment) {
        match (forward, &mut self.server) {
            (false, _) => {
                self.client.on_segment(self.now, segment);
            }
            (true, Some(server)) => {
                server.on_segment(self.now, segment);
                if self.server_reads {
                    server.read(u64::MAX);
                }
            }
            (true, None) => self.server = MptcpConnection::accept(self.config.clone(), 9, self.now, segment),
        }
        self.flush();
    }

    fn flush(&mut self) {
        while let Some(segment) = self.client.poll_transmit(self.now) {
            self.offer(true, segment);
        }
        while let Some(segment) = self.server.as_mut().and_then(|s| s.poll_transmit(self.now)) {
            self.offer(false, segment);
        }
    }

    fn offer(&mut self, forward: bool, segment: Segment) {
        let path = segment.source.ip().octets()[2];
        let word = u64::from(segment.seq) << 32 ^ self.now.as_nanos() ^ u64::from(segment.ack);
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x100_0000_01B3);
        let packet = Packet { flow: 1, ..Packet::new(segment.ip_bytes(), segment) };
        self.paths[usize::from(path)][usize::from(!forward)].enqueue(self.now, packet);
    }

    fn received(&self) -> u64 {
        self.server.as_ref().map_or(0, |s| s.stats().received_bytes)
    }

    /// Mb/s of data between two seconds.
    fn goodput(&mut self, from_s: u64, to_s: u64) -> f64 {
        self.run_until(Time::from_secs(from_s));
        let before = self.received();
        self.run_until(Time::from_secs(to_s));
        (self.received() - before) as f64 * 8e-6 / (to_s - from_s) as f64
    }

    /// Mb/s of data that each subflow's acknowledgements confirmed.
    fn shares(&mut self, from_s: u64, to_s: u64) -> Vec<f64> {
        let now = |net: &Net| net.client.subflows().map(|(_, _, s)| s.acknowledged_bytes).collect::<Vec<_>>();
        self.run_until(Time::from_secs(from_s));
        let before = now(self);
        self.run_until(Time::from_secs(to_s));
        let rate = |(a, b): (&u64, &u64)| (a - b) as f64 * 8e-6 / (to_s - from_s) as f64;
        now(self).iter().zip(&before).map(rate).collect()
    }
}

fn config(algorithm: Algorithm) -> MptcpConfig {
    MptcpConfig {
        tcp: TcpConfig::default().congestion_control(algorithm).fixed_window(4 << 20),
        ..MptcpConfig::default()
    }
}

/// 1420 bytes of 1500 are data.
fn full(mbps: f64) -> f64 {
    mbps * 1420.0 / 1500.0
}

#[test]
fn two_paths_carry_the_sum_of_both() {
    for algorithm in [Algorithm::Cubic, Algorithm::NewReno, Algorithm::Lia, Algorithm::Olia, Algorithm::Balia]
    {
        for scheduler in [SchedulerKind::MinRtt, SchedulerKind::RoundRobin] {
            let links = [LinkSpec::new(20.0, ms(10)), LinkSpec::new(10.0, ms(25))];
            let mut net = Net::bulk(MptcpConfig { scheduler, ..config(algorithm) }, &links);
            let rate = net.goodput(5, 20);
            // What waited for its order at the start of the fifteen seconds counts in them.
            assert!(rate > 0.9 * full(30.0) && rate <= full(30.1), "{algorithm} {scheduler:?}: {rate:.2}");
        }
    }
}

#[test]
fn a_small_shared_buffer_lets_a_slow_path_hold_up_a_fast_one() {
    // The fast path's queue is short, so its window is often full and the slow path gets a share.
    let queue = QueueSpec::TailDrop { limit: Limit::Bytes(30_000) };
    let links = [LinkSpec::new(50.0, ms(5)).queue(queue), LinkSpec::new(5.0, ms(100))];
    let run = |bytes: u64, fixes: bool| {
        let tcp = TcpConfig::default().fixed_window(bytes);
        let fix = MptcpConfig {
            tcp,
            opportunistic_retransmission: fixes,
            penalise: fixes,
            ..MptcpConfig::default()
        };
        let mut net = Net::bulk(fix, &links);
        (net.goodput(5, 25), net.client.stats())
    };
    let (large, stats) = run(8 << 20, true);
    assert!(large > 0.9 * full(55.0) && stats.penalties == 0, "{large:.2} {stats:?}");
    let (small, stats) = run(150_000, false);
    assert!(small < 0.6 * full(55.0) && stats.window_blocked > 0, "{small:.2} {stats:?}");
    let (helped, stats) = run(150_000, true);
    assert!(
        helped > 1.2 * small && stats.penalties > 0 && stats.opportunistic_bytes > 0,
        "{helped:.2} {stats:?}"
    );
}

#[test]
fn what_a_dead_path_had_on_the_way_goes_over_the_other() {
    let links = [LinkSpec::new(10.0, ms(10)), LinkSpec::new(10.0, ms(30))];
    let mut net = Net::bulk(config(Algorithm::Cubic), &links);
    net.run_until(Time::from_secs(5));
    net.paths[0].iter_mut().for_each(|link| link.set_up(net.now, false));
    net.run_until(Time::from_secs(6));
    let rate = net.goodput(7, 17);
    assert!(rate > 0.9 * full(10.0), "{rate:.2}");
    assert!(net.client.stats().reinjected_bytes > 0);
    net.paths[0].iter_mut().for_each(|link| link.set_up(net.now, true));
    let rate = net.goodput(40, 50);
    assert!(rate > 0.9 * full(20.0), "the first path is used again: {rate:.2}");
}

/// The difference that `scenarios/dual-band.toml` shows: Linux waits out most of a second of silence, and not more (its own timer does not back off).
#[test]
fn linux_leaves_a_silent_subflow_what_it_has_for_most_of_a_second() {
    let links = [LinkSpec::new(10.0, ms(10)), LinkSpec::new(10.0, ms(30))];
    let silence = |config: MptcpConfig, millis: u64| {
        let mut net = Net::bulk(config, &links);
        net.run_until(Time::from_secs(5));
        net.paths[0].iter_mut().for_each(|link| link.set_up(net.now, false));
        net.run_until(Time::from_millis(5_000 + millis));
        net.client.stats().reinjected_bytes
    };
    let linux = || MptcpConfig::linux(config(Algorithm::Cubic).tcp);
    assert!(silence(config(Algorithm::Cubic), 600) > 0);
    assert_eq!(silence(linux(), 750), 0);
    assert!(silence(linux(), 1_300) > 0);
    let both = Net::bulk(linux(), &links).goodput(5, 20);
    assert!(both > 0.9 * full(20.0), "{both:.2}");
}

#[test]
fn a_removed_subflow_loses_no_data() {
    let links = [LinkSpec::new(10.0, ms(10)), LinkSpec::new(10.0, ms(30))];
    let mut net = Net::bulk(config(Algorithm::Cubic), &links);
    net.run_until(Time::from_secs(4));
    net.client.remove_subflow(SubflowId(0));
    let rate = net.goodput(5, 10);
    assert!(rate > 0.9 * full(10.0), "{rate:.2}");
    let states = |c: &MptcpConnection| c.subflows().map(|(_, state, _)| state).collect::<Vec<_>>();
    assert_eq!(states(&net.client), [SubflowState::Gone, SubflowState::Active]);
    assert_eq!(states(net.server.as_ref().unwrap()), [SubflowState::Gone, SubflowState::Active]);
}

#[test]
fn a_backup_rests_until_the_others_are_down_and_either_side_may_say_so() {
    let links = [LinkSpec::new(10.0, ms(10)), LinkSpec::new(10.0, ms(30))];
    let mut net = Net::bulk(config(Algorithm::Cubic), &links);
    net.run_until(Time::from_secs(3));
    net.client.set_backup(SubflowId(1), true);
    let shares = net.shares(4, 8);
    assert!(shares[0] > 0.9 * full(10.0) && shares[1] < 0.05, "{shares:?}");
    let server = net.server.as_ref().unwrap().subflows().map(|(_, state, _)| state).collect::<Vec<_>>();
    assert_eq!(server, [SubflowState::Active, SubflowState::Backup], "the peer has heard of it");
    net.paths[0].iter_mut().for_each(|link| link.set_up(net.now, false));
    let shares = net.shares(10, 14);
    assert!(shares[1] > 0.9 * full(10.0), "{shares:?}");
}

#[test]
fn coupled_subflows_leave_a_shared_bottleneck_to_others() {
    // Two subflows over one link, and the sum is one flow's: with LIA they keep about half of what NewReno takes beside
    // one plain flow, which is here a third connection's subflow.
    let share = |algorithm| {
        let links = [LinkSpec::new(20.0, ms(20)), LinkSpec::new(20.0, ms(20))];
        let mut net = Net::bulk(config(algorithm), &links.map(|l| l.loss_percent(0.5)));
        net.goodput(5, 65)
    };
    let (apart, lia, balia) = (share(Algorithm::NewReno), share(Algorithm::Lia), share(Algorithm::Balia));
    // Equal loss and round trip on both: together LIA's are one flow, uncoupled are two.
    assert!((0.4..0.75).contains(&(lia / apart)), "{lia:.2} {apart:.2}");
    assert!((0.4..0.75).contains(&(balia / apart)), "{balia:.2} {apart:.2}");
}

#[test]
fn a_reader_that_stops_shuts_the_window_and_opens_it_again() {
    let links = [LinkSpec::new(10.0, ms(10)), LinkSpec::new(10.0, ms(30))];
    let mut net = Net::bulk(config(Algorithm::Cubic), &links);
    net.config.tcp = net.config.tcp.clone().fixed_window(300_000);
    net.server_reads = false;
    net.run_until(Time::from_secs(20));
    let held = net.received();
    assert!(held > 1_000_000 && held <= 4 << 20, "{held}");
    net.run_until(Time::from_secs(25));
    assert_eq!(net.received(), held, "no byte beyond the buffer");
    net.server.as_mut().unwrap().read(u64::MAX);
    net.server_reads = true;
    net.flush();
    let rate = net.goodput(27, 32);
    assert!(rate > 0.9 * full(20.0), "{rate:.2}");
}

#[test]
fn a_transfer_ends_with_every_byte_and_both_sides_closed() {
    let links = [LinkSpec::new(10.0, ms(10)), LinkSpec::new(5.0, ms(30))].map(|l| l.loss_percent(2.0));
    let mut net = Net::new(config(Algorithm::Lia), &links);
    net.run_until(Time::from_secs(1));
    net.client.add_subflow(client_address(1), server_address(1), 1, false).unwrap();
    net.client.write(3_000_000);
    net.client.close();
    net.run_until(Time::from_secs(60));
    assert_eq!(net.received(), 3_000_000);
    let events: Vec<_> = core::iter::from_fn(|| net.server.as_mut().unwrap().poll_event()).collect();
    assert_eq!(events, [crate::tcp::Event::Connected, crate::tcp::Event::PeerClosed]);
}

#[test]
fn the_same_run_twice_is_the_same() {
    let run = || {
        let links = [LinkSpec::new(20.0, ms(10)), LinkSpec::new(10.0, ms(25))].map(|l| l.loss_percent(1.0));
        let mut net = Net::bulk(config(Algorithm::Olia), &links);
        net.run_until(Time::from_secs(8));
        (net.hash, net.received())
    };
    assert_eq!(run(), run());
}
