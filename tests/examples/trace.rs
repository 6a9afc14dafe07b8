//! Prints how two engines fare over time. For people who tune.
use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::config::Config;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, udp};
use ropewalk_time::Duration;

fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let (mbps, secs) = (a[0], a[1]);
    let links: Vec<LinkSpec> = a[2..]
        .chunks(3)
        .map(|c| LinkSpec::new(c[0], Duration::from_secs_f64(c[1] / 1e3)).loss_percent(c[2]))
        .collect();
    let mut p = Pair::new(&links, Config::default(), 1);
    p.run_for(Duration::from_millis(1500));
    let gap = Duration::from_secs_f64(1400.0 * 8.0 / (mbps * 1e6));
    let mut next = p.now;
    let end = p.now + Duration::from_secs_f64(secs);
    let (mut n, mut last) = (0, 0);
    while p.now < end {
        p.device(End::Client, &udp(End::Client, 7, n, 1400), Vnet::default());
        n += 1;
        p.run_for(gap);
        if p.now >= next {
            next = p.now + Duration::from_millis(50);
            let s = p.client.status(p.now);
            let q = &s.peers[0];
            print!(
                "{:7.3} q {:7} wait {:6.1?} drops {:3} | ",
                p.now.as_nanos() as f64 / 1e9,
                q.queue_bytes,
                q.queue_wait,
                q.queue.codel_drops
            );
            for x in &q.paths {
                print!(
                    "bw {:6.2} pace {:6.2} win {:7} fl {:6} rtt {:5.1?} lost {:3}| ",
                    x.bandwidth_bps as f64 / 1e6,
                    x.pacing_bps.unwrap_or(0) as f64 / 1e6,
                    x.window,
                    x.inflight,
                    x.rtt.unwrap_or_default(),
                    x.traffic.lost
                );
            }
            println!(
                "got {} held {} late {}",
                p.at_gateway.len() - last,
                p.gateway.status(p.now).peers[0].held_bytes,
                p.gateway.status(p.now).peers[0].order.given_up
            );
            last = p.at_gateway.len();
        }
    }
}
