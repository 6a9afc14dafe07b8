//! How fast two engines are with nothing between them: super-packets in at one end, out at the other.
//!
//! `engine_speed [CONNECTIONS [ROUNDS]]`: how many connections are counted (4096; 0: none), and a
//! fixed number of super-packets, for whoever counts instructions; else three seconds.
use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::api::{Input, Output};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Engine;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, client_addr, gateway_addr, udp};
use ropewalk_time::{Duration, Time};

struct Wire {
    batches: Vec<(usize, Vec<u8>)>,
    used: usize,
}

fn pump(e: &mut Engine, now: Time, out: &mut Wire) -> (usize, Time) {
    let mut delivered = 0;
    loop {
        match e.poll_output(now) {
            Output::Transmit(t) => {
                if out.used == out.batches.len() {
                    out.batches.push((0, Vec::with_capacity(65536)));
                }
                let b = &mut out.batches[out.used];
                b.0 = t.segment;
                b.1.clear();
                b.1.extend_from_slice(t.bytes);
                out.used += 1;
            }
            Output::Deliver { packet, .. } => delivered += packet.len(),
            Output::Event(_) => {}
            Output::Timeout(at, _) => return (delivered, at),
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let flows = arguments.next().map_or(Config::default().flows, |n| n as usize);
    let most = arguments.next().unwrap_or(u64::MAX);
    let config = Config { flows, ..Config::default() };
    let mut p = Pair::new(&[LinkSpec::new(1000.0, Duration::from_micros(50))], config, 1);
    p.run_for(Duration::from_millis(1500));
    let mut now = p.now;
    let (mut c, mut g) = (p.client, p.gateway);
    let packet = udp(End::Client, 7, 1, 65_000);
    let vnet = Vnet { flags: 1, gso_type: 5, hdr_len: 28, gso_size: 1372, csum_start: 20, csum_offset: 6 };
    let mut up = Wire { batches: Vec::new(), used: 0 };
    let mut down = Wire { batches: Vec::new(), used: 0 };
    let start = std::time::Instant::now();
    let (mut bytes, mut rounds) = (0usize, 0u64);
    while rounds < most && (most < u64::MAX || start.elapsed().as_secs_f64() < 3.0) {
        rounds += 1;
        now += Duration::from_micros(55);
        c.handle(Input::Device { device: 0, vnet, packet: &packet }, now);
        pump(&mut c, now, &mut up);
        for (segment, b) in &mut up.batches[..up.used] {
            g.handle(
                Input::Datagrams {
                    link: 0,
                    remote: client_addr(0),
                    local: None,
                    segment: *segment,
                    bytes: b,
                    ecn: 0,
                },
                now,
            );
        }
        up.used = 0;
        g.handle(Input::Timeout, now);
        bytes += pump(&mut g, now, &mut down).0;
        for (segment, b) in &mut down.batches[..down.used] {
            c.handle(
                Input::Datagrams {
                    link: 0,
                    remote: gateway_addr(),
                    local: None,
                    segment: *segment,
                    bytes: b,
                    ecn: 0,
                },
                now,
            );
        }
        down.used = 0;
        c.handle(Input::Timeout, now);
    }
    let s = start.elapsed().as_secs_f64();
    println!(
        "{:.2} Gb/s through both engines, {:.1} µs per super-packet, {} rounds",
        bytes as f64 * 8.0 / s / 1e9,
        s * 1e6 / rounds as f64,
        rounds
    );
    let st = c.status(now);
    println!("{:?} queue {:?}", st.peers[0].paths[0], st.peers[0].queue);
}
