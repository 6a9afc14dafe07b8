//! The real client and gateway over an unshaped veth pair, for people who tune speed.
//!
//! `SECS=5 PERF=1 CONFIG=file.toml cargo run --release -p ropewalk-tests --example veth`
use ropewalk_lab::{End, Iperf, Ping, Topology};
use std::time::Duration;

/// Processor time that a process has had, seconds.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or("").split(' ').filter_map(|f| f.parse().ok()).collect();
    // Without pid, name and state: utime and stime, in ticks of 10 ms.
    fields.get(10..12).map_or(0.0, |t| (t[0] + t[1]) / 100.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ropewalk_lab::clean_on_interrupt()?;
    Topology::cleanup_stale();
    let secs: u32 = std::env::var("SECS").ok().and_then(|s| s.parse().ok()).unwrap_or(5);
    let bin = std::env::var("ROPEWALK").unwrap_or("target/release/ropewalk".into());
    let t = Topology::new()?;
    let (c, g) = (t.namespace("client")?, t.namespace("gateway")?);
    t.veth((&c, End::new("wan1", ["10.1.1.1/24"])), (&g, End::new("wan1", ["10.1.1.2/24"])))?;
    let dir = std::env::temp_dir().join(format!("rw-veth-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let (gd, cd) = (dir.join("g").display().to_string(), dir.join("c").display().to_string());
    let config: Vec<String> =
        std::env::var("CONFIG").map(|file| vec!["--config".to_owned(), file]).unwrap_or_default();
    let serve =
        ["serve", "--state", &gd, "--listen", "0.0.0.0:4500", "--tun", "rw0", "--address", "10.77.0.1/24"];
    let mut gw = g.start(&bin, serve.map(String::from).into_iter().chain(config.clone()))?;
    std::thread::sleep(Duration::from_millis(700));
    let out = g.exec(&bin, ["invite", "alice", "--state", &gd, "--endpoint", "10.1.1.2:4500"])?;
    let token = String::from_utf8(out.stdout)?.trim().to_owned();
    let up = ["up", &token, "--state", &cd, "--path", "wan1"];
    let mut cl = c.start(&bin, up.map(String::from).into_iter().chain(config))?;
    std::thread::sleep(Duration::from_millis(1500));
    let bare = Ping::new("10.1.1.2".parse()?).count(200).interval(Duration::from_millis(5)).run(&c)?;
    let idle = Ping::new("10.77.0.1".parse()?).count(200).interval(Duration::from_millis(5)).run(&c)?;
    println!("ping: bare {:?}, bond {:?}", bare.median(), idle.median());
    let before = [cl.id(), gw.id()].map(processor_seconds);
    let flow = Iperf::tcp("10.77.0.1".parse()?).seconds(secs).interval(0.5).start(&c, &g)?;
    std::thread::sleep(Duration::from_millis(1500));
    if std::env::var("PERF").is_ok() {
        for (name, id) in [("client", cl.id()), ("gateway", gw.id())] {
            let file = format!("/tmp/perf.{name}");
            std::process::Command::new("perf")
                .args(["record", "-q", "-g", "-o", &file, "-p", &id.to_string(), "--", "sleep", "1"])
                .status()?;
        }
    }
    let out = c.exec(&bin, ["status", "--state", &cd])?;
    println!("{}", String::from_utf8_lossy(&out.stdout));
    let r = flow.finish()?;
    let series: Vec<String> = r.series.iter().map(|i| format!("{:.0}", i.mbps)).collect();
    let gigabytes = r.received_mbps * f64::from(secs) / 8e3;
    let used = [(cl.id(), before[0]), (gw.id(), before[1])].map(|(id, was)| processor_seconds(id) - was);
    println!(
        "processor: client {:.0} ms, gateway {:.0} ms per GB",
        used[0] * 1e3 / gigabytes,
        used[1] * 1e3 / gigabytes
    );
    println!("bond: {:.0} Mb/s retransmits {:?}\n  {}", r.received_mbps, r.retransmits, series.join(" "));
    cl.stop();
    gw.stop();
    if std::env::var("LOGS").is_ok() {
        println!("--- client\n{}\n--- gateway\n{}", cl.stderr(), gw.stderr());
    }
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
