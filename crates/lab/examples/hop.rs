//! How much passes a radio hop of the live lab, and how late: iperf3 from one node of a scenario to another.
//!
//! `cargo run --release -p ropewalk-lab --example hop -- crates/lab/examples/hop.toml sta ap --seconds 5`
//!
//! Options: `--seconds`, `--udp` Mb/s instead of TCP, `--streams`, `--reverse`, `--ping` only pings, `--rest` µs, `--spin` µs.

use std::path::Path;
use std::time::Duration;

use ropewalk_lab::live::{Lab, Options};
use ropewalk_lab::{Iperf, Ping, Topology};
use ropewalk_scenario::Document;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn number(args: &[String], name: &str) -> Outcome<Option<f64>> {
    let at = args.iter().position(|a| a == name);
    Ok(at.and_then(|at| args.get(at + 1)).map(|n| n.parse()).transpose()?)
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, from, to, ..] = &args[..] else { return Err("hop FILE FROM TO [options]".into()) };
    ropewalk_lab::clean_on_interrupt()?;
    for stale in Topology::cleanup_stale() {
        println!("removed {stale}, left behind by a killed run");
    }
    let document = Document::read(Path::new(file))?;
    let mut options = Options::new(&document.directory());
    if let Some(rest) = number(&args, "--rest")? {
        options.timing.rest = Duration::from_micros(rest as u64);
    }
    if let Some(spin) = number(&args, "--spin")? {
        options.timing.spin = Duration::from_micros(spin as u64);
    }
    println!("alarms alone: {}", ropewalk_lab::bare_alarms(Duration::from_secs(1))?);
    let lab = Lab::start(&document.scenario()?, &options)?;
    let [_, address] = lab.addresses(from, to)?;
    let (client, server) = (lab.node(from)?.namespace(), lab.node(to)?.namespace());
    let ping = Ping::new(address.into()).run(client)?;
    println!("ping {from} > {to}: {} of {}, median {:?}", ping.received, ping.sent, ping.median());
    if args.iter().any(|a| a == "--ping") {
        return Ok(());
    }
    lab.begin()?;
    let before = lab.start_measuring()?;
    let mut flow = match number(&args, "--udp")? {
        Some(mbps) => Iperf::udp(address.into(), mbps, 1472),
        None => Iperf::tcp(address.into()),
    };
    flow = flow.seconds(number(&args, "--seconds")?.unwrap_or(5.0) as u32);
    if args.iter().any(|a| a == "--reverse") {
        flow = flow.reverse();
    }
    if let Some(streams) = number(&args, "--streams")? {
        flow = flow.parallel(streams as u32);
    }
    let report = flow.run(client, server)?;
    let after = lab.counters()?;
    println!("iperf3 {from} > {to}: {:.0} Mb/s", report.received_mbps);
    for row in lab.report(&before, &after).station {
        println!(
            "{}: {:.0} Mb/s, {:.0} % airtime, {} delivered, {} dropped, {} failed",
            row.name, row.goodput_mbps, row.airtime_percent, row.delivered, row.dropped, row.failed
        );
    }
    let summary = lab.stop()?;
    println!("{}", summary.lateness);
    print!("{}", summary.rounds);
    println!("{}", summary.invalid().unwrap_or_else(|| "kept time".to_owned()));
    Ok(())
}
