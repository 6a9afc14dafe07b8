//! What the controllers must reach on the link model.
use super::by_name;
use super::harness::*;

fn tidal() -> Flow {
    Flow::new(by_name("tidal", MTU).unwrap())
}

struct Row {
    util: f64,
    mean: f64,
    p99: f64,
    peak: f64,
    start_ms: f64,
    drops: usize,
}

fn single(label: &str, net: Net, secs: f64) -> Row {
    let rate = net.rate.last().unwrap().1 / 1e6;
    let rtt = 2e-3 * net.owd_ms[0].1;
    let from = (12.0 * rtt).max(1.0);
    let out = Sim::new(net, vec![tidal()]).run(secs);
    let (mean, p99) = out.delay(from, secs);
    let r = Row {
        util: out.mbps(0, from, secs - 0.1) / rate,
        mean,
        p99,
        peak: out.peak(0.0, from),
        start_ms: out.reached(0, 0.0, 0.9 * rate, 0.05) * 1e3,
        drops: out.drops.len(),
    };
    println!(
        "{label:28} util {:.4} queue mean {:7.2} p99 {:7.2} startup {:5.0} ms peak {:7.1} ms = {:.2} BDP drops {}",
        r.util,
        r.mean,
        r.p99,
        r.start_ms,
        r.peak,
        r.peak / rtt / 1e3,
        r.drops
    );
    r
}

#[test]
fn clean() {
    for (mbps, owd) in [
        (20.0, 10.0),
        (1.0, 10.0),
        (5.0, 30.0),
        (12.0, 20.0),
        (25.0, 45.0),
        (40.0, 35.0),
        (50.0, 20.0),
        (50.0, 70.0),
        (80.0, 30.0),
        (100.0, 8.0),
        (100.0, 50.0),
        (300.0, 10.0),
        (300.0, 40.0),
        (50.0, 320.0),
    ] {
        single(&format!("{mbps} Mb/s {owd} ms"), Net::new(mbps, owd), if owd > 200.0 { 30.0 } else { 10.0 });
    }
}

#[test]
fn lossy() {
    for p in [0.005, 0.02, 0.05, 0.1] {
        for (mbps, owd) in [(50.0, 20.0), (20.0, 60.0)] {
            let net = Net { loss: p, ..Net::new(mbps, owd) };
            single(&format!("loss {p} {mbps} {owd}"), net, 15.0);
        }
    }
}

#[test]
fn jitter() {
    for (mbps, owd, j) in [
        (50.0, 20.0, 5.0),
        (40.0, 30.0, 5.0),
        (25.0, 45.0, 8.0),
        (50.0, 20.0, 20.0),
        (20.0, 50.0, 20.0),
        (15.0, 60.0, 25.0),
        (100.0, 50.0, 25.0),
        (20.0, 320.0, 20.0),
    ] {
        let net = Net { jitter_ms: j, ..Net::new(mbps, owd) };
        single(&format!("jit {j} {mbps} {owd}"), net, if owd > 200.0 { 30.0 } else { 20.0 });
    }
}

#[test]
fn wifi() {
    for (mbps, owd, b) in [(50.0, 20.0, 5.0), (50.0, 20.0, 20.0), (100.0, 5.0, 10.0), (20.0, 2.0, 20.0)] {
        let net = Net { ack_bunch_ms: b, ..Net::new(mbps, owd) };
        single(&format!("bunch {b} {mbps} {owd}"), net, 10.0);
    }
    for d in [1.0, 5.0] {
        let net = Net { queue: 10 * MTU, ack_delay_ms: d, ..Net::new(50.0, 20.0) };
        single(&format!("10 packets {d}"), net, 10.0);
    }
    let net = Net { queue: 1_000_000, policer: Some(40e6), ..Net::new(50.0, 20.0) };
    single("policer 40 of 50", net, 20.0);
    let net = Net { mark_ms: 1.0, ..Net::new(50.0, 20.0) };
    single("mark 1 ms", net, 10.0);
}

#[test]
fn fast() {
    let net = Net { stall_every_ms: 60.0, queue: 10_000_000, ..Net::new(5000.0, 0.02) };
    single("5 Gb/s 40 us stalls", net, 2.0);
    let net = Net { queue: 10_000_000, ..Net::new(5000.0, 0.02) };
    single("5 Gb/s 40 us", net, 2.0);
    let net = Net { stall_every_ms: 60.0, ..Net::new(100.0, 5.0) };
    single("100 Mb/s stalls", net, 4.0);
}

fn series(out: &Outcome, i: usize, to: f64, step: f64) -> String {
    let mut s = String::new();
    let mut t = 0.0;
    while t + step <= to {
        let d = out.delay(t, t + step);
        s += &format!("{:.0}({:.0}) ", out.mbps(i, t, t + step), d.0);
        t += step;
    }
    s
}

#[test]
fn changes() {
    for (label, rate) in [
        ("halve", vec![(0.0, 50e6), (3.0, 25e6)]),
        ("double", vec![(0.0, 25e6), (3.0, 50e6)]),
        ("50-12-50", vec![(0.0, 50e6), (3.0, 12e6), (6.0, 50e6)]),
    ] {
        let out = Sim::new(Net { rate, ..Net::new(50.0, 20.0) }, vec![tidal()]).run(10.0);
        println!("{label}: {} drops {}", series(&out, 0, 10.0, 0.1), out.drops.len());
    }
    for (label, d) in
        [("longer", vec![(0.0, 20.0), (3.0, 50.0)]), ("shorter", vec![(0.0, 50.0), (3.0, 20.0)])]
    {
        let out = Sim::new(Net { owd_ms: d, ..Net::new(50.0, 20.0) }, vec![tidal()]).run(20.0);
        println!("{label}: {} drops {}", series(&out, 0, 20.0, 0.25), out.drops.len());
    }
}

#[test]
fn sharing() {
    for (mbps, owd) in [(50.0, 20.0), (20.0, 10.0), (100.0, 40.0)] {
        let out =
            Sim::new(Net::new(mbps, owd), vec![tidal(), Flow { active: (2.0, 1e9), ..tidal() }]).run(30.0);
        println!(
            "two {mbps} {owd}: share {:.2} early {:.2} q {:?} {}",
            out.mbps(0, 10.0, 30.0) / mbps,
            out.mbps(0, 3.0, 6.0) / mbps,
            out.delay(10.0, 30.0),
            series(&out, 0, 30.0, 1.0)
        );
        let bdp = (mbps * 1e6 / 8.0 * owd * 2e-3) as u64;
        for late in [0, 1] {
            let mut flows = vec![tidal(), Flow { paced: false, ..Flow::new(by_name("cubic", MTU).unwrap()) }];
            flows[late].active.0 = 3.0;
            let out = Sim::new(Net { queue: bdp, ..Net::new(mbps, owd) }, flows).run(40.0);
            println!(
                "cubic {mbps} {owd}: share {:.2} {}",
                out.mbps(0, 5.0, 40.0) / mbps,
                series(&out, 0, 40.0, 1.0)
            );
        }
    }
}

#[test]
fn app() {
    let flow =
        Flow { offered: vec![(0.0, 1e6), (4.0, f64::INFINITY), (7.0, 2e6), (9.0, f64::INFINITY)], ..tidal() };
    let out = Sim::new(Net::new(50.0, 20.0), vec![flow]).run(12.0);
    println!("app: {}", series(&out, 0, 12.0, 0.1));
    let flow = Flow { probe: vec![(0.0, false), (1.0, true), (3.0, false), (6.0, true)], ..tidal() };
    let out =
        Sim::new(Net { rate: vec![(0.0, 25e6), (4.0, 50e6)], ..Net::new(50.0, 20.0) }, vec![flow]).run(10.0);
    println!("held: {}", series(&out, 0, 10.0, 0.1));
}

#[test]
fn cubic_alone() {
    let net = Net { queue: 250_000, ..Net::new(50.0, 20.0) };
    let out = Sim::new(net, vec![Flow::new(by_name("cubic", MTU).unwrap())]).run(20.0);
    println!("cubic: {} drops {}", series(&out, 0, 20.0, 0.5), out.drops.len());
}
