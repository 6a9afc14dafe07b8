//! The real client and gateway over emulated links, for people who tune.
//!
//! `cargo run --release -p ropewalk-tests --example live -- [env NAME | links RATE,DELAY_MS,LOSS%,JITTER_MS ...] [-- seconds]`
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Iperf, Namespace, Paths, Ping, Process, Topology, env::Environment};
use std::time::Duration;

type R<T> = Result<T, Box<dyn std::error::Error>>;

fn start(ns: &Namespace, bin: &str, args: &[String]) -> R<Process> {
    Ok(ns.start(bin, args)?)
}

fn main() -> R<()> {
    ropewalk_lab::clean_on_interrupt()?;
    Topology::cleanup_stale();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let secs: u32 = std::env::var("SECS").ok().and_then(|s| s.parse().ok()).unwrap_or(10);
    let links: Vec<LinkSpec> = match args[0].as_str() {
        "env" => Environment::named(&args[1]).expect("no such environment").links.to_vec(),
        _ => args
            .iter()
            .map(|a| {
                let v: Vec<f64> = a.split(',').map(|x| x.parse().unwrap()).collect();
                let mut l = LinkSpec::new(v[0], Duration::from_secs_f64(v[1] / 1e3));
                if let Some(p) = v.get(2) {
                    l = l.loss_percent(*p);
                }
                if let Some(j) = v.get(3) {
                    l = l.jitter(Duration::from_secs_f64(j / 1e3));
                }
                l
            })
            .collect(),
    };
    let n = links.len() as u64;
    let lab = Paths::symmetric(links)?;
    let bin = std::env::var("ROPEWALK").unwrap_or("target/release/ropewalk".into());
    let dir = std::env::temp_dir().join(format!("rw-live-{}", std::process::id()));
    let (gd, cd) = (dir.join("g"), dir.join("c"));
    std::fs::create_dir_all(&dir)?;
    let s = |x: &std::path::Path| x.to_string_lossy().into_owned();
    let to = |v: &[&str]| v.iter().map(|x| x.to_string()).collect::<Vec<_>>();
    let mut gw = start(
        &lab.gateway,
        &bin,
        &to(&[
            "serve",
            "--state",
            &s(&gd),
            "--listen",
            "0.0.0.0:4500",
            "--tun",
            "rw0",
            "--address",
            "10.77.0.1/24",
        ]),
    )?;
    std::thread::sleep(Duration::from_millis(700));
    let out =
        lab.gateway.exec(&bin, ["invite", "alice", "--state", &s(&gd), "--endpoint", "10.1.1.2:4500"])?;
    let token = String::from_utf8(out.stdout)?.trim().to_owned();
    let mut up = to(&["up", &token, "--state", &s(&cd)]);
    for i in 1..=n {
        up.push("--path".into());
        up.push(format!("{}@{}:4500", Paths::interface(i), Paths::gateway_address(i)));
    }
    let mut cl = start(&lab.client, &bin, &up)?;
    std::thread::sleep(Duration::from_millis(2500));
    if std::env::var("SINGLE").is_ok() {
        for i in 1..=n {
            let r = Iperf::tcp(Paths::gateway_address(i)).seconds(secs).run(&lab.client, &lab.gateway)?;
            println!("bare {i}: {:.2} Mb/s", r.received_mbps);
        }
    }
    let inner: std::net::IpAddr = "10.77.0.1".parse()?;
    let idle = Ping::new(inner).count(20).interval(Duration::from_millis(50)).run(&lab.client)?;
    println!("idle ping median {:?}", idle.median());
    let udp: Option<f64> = std::env::var("UDP").ok().and_then(|s| s.parse().ok());
    let mut iperf = match udp {
        Some(m) => Iperf::udp(inner, m, 1300),
        None => Iperf::tcp(inner),
    }
    .seconds(secs)
    .interval(0.5);
    if std::env::var("REVERSE").is_ok() {
        iperf = iperf.reverse();
    }
    if let Ok(target) = std::env::var("RAW") {
        let _server = lab.gateway.start("iperf3", ["-s", "-1"])?;
        std::thread::sleep(Duration::from_millis(200));
        let t = if target == "bond" {
            "10.77.0.1".to_owned()
        } else {
            Paths::gateway_address(target.parse()?).to_string()
        };
        let out =
            lab.client.exec("iperf3", ["-c", &t, "-C", "cubic", "-i", "0.25", "-t", &secs.to_string()])?;
        println!("{}", String::from_utf8_lossy(&out.stdout));
        return Ok(());
    }
    let flow = iperf.start(&lab.client, &lab.gateway)?;
    let ping =
        Ping::new(inner).count((secs * 40) as u16).interval(Duration::from_millis(20)).start(&lab.client);
    if let Some(k) = std::env::var("STATUS").ok().and_then(|s| s.parse::<u64>().ok()) {
        for _ in 0..k {
            std::thread::sleep(Duration::from_millis(u64::from(secs) * 1000 / (k + 1)));
            let out = lab.client.exec(&bin, ["status", "--state", &s(&cd)])?;
            println!("{}", String::from_utf8_lossy(&out.stdout));
        }
    }
    if std::env::var("CUT").is_ok() {
        std::thread::sleep(Duration::from_millis(u64::from(secs) * 500));
        lab.cables[0].set_up(false)?;
    }
    let r = flow.finish()?;
    let series: Vec<String> = r.series.iter().map(|i| format!("{:.0}", i.mbps)).collect();
    println!(
        "bond: {:.2} Mb/s retransmits {:?} udp {:?}\n  {}",
        r.received_mbps,
        r.retransmits,
        r.udp,
        series.join(" ")
    );
    if let Ok(Ok(p)) = ping.join() {
        println!("loaded ping median {:?} p99 {:?}", p.median(), p.quantile(0.99));
    }
    for (ns, d) in [(&lab.client, &cd), (&lab.gateway, &gd)] {
        let out = ns.exec(&bin, ["status", "--json", "--state", &s(d)])?;
        if std::env::var("JSON").is_ok() {
            println!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        }
    }
    println!("kept time: {}", lab.topology.kept_time()?);
    cl.stop();
    gw.stop();
    if std::env::var("LOGS").is_ok() {
        println!("--- client\n{}\n--- gateway\n{}", cl.stderr(), gw.stderr());
    }
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
