//! Tries the lab: a client and a gateway with one or two cables, a ping and an iperf3 flow over each.
//!
//! `cargo run --release -p ropewalk-lab --example cable -- --rate 50 --delay 20 --loss 2`
//!
//! Options, repeated values after a comma for a second cable (`--rate 300,80 --delay 10,30`):
//! `--rate` Mb/s (0: unlimited), `--delay` ms one way, `--jitter` and its `--coherence` ms, `--loss` percent, `--env NAME` instead of those,
//! `--seconds`, `--udp` Mb/s instead of TCP, `--both` one flow on all cables at once, `--cut` seconds after which the
//! first cable dies for a second, `--spin` and `--rest` µs, `--no-real-time`.

use std::time::Duration;

use ropewalk_air::wired::{LinkSpec, Rate};
use ropewalk_lab::env::Environment;
use ropewalk_lab::{CableSpec, Iperf, Paths, Ping, Timing, Topology};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut links = links(&args)?;
    let coherence = Duration::from_secs_f64(numbers(&args, "--coherence", 0.0)?[0] / 1e3);
    links.iter_mut().for_each(|link| link.jitter.coherence = coherence);
    let timing = Timing {
        real_time: !args.iter().any(|a| a == "--no-real-time"),
        spin: Duration::from_micros(numbers(&args, "--spin", 0.0)?[0] as u64),
        rest: Duration::from_micros(numbers(&args, "--rest", 100.0)?[0] as u64),
        ..Timing::default()
    };
    ropewalk_lab::clean_on_interrupt()?;
    for stale in Topology::cleanup_stale() {
        println!("removed {stale}, left behind by a killed run");
    }
    let lab = Paths::new(links.into_iter().map(CableSpec::symmetric), timing)?;
    for n in 1..=lab.cables.len() as u64 {
        let idle = Ping::new(Paths::gateway_address(n)).run(&lab.client)?;
        let idle6 = Ping::new(Paths::gateway_address6(n)).run(&lab.client)?;
        println!(
            "path {n}: {} of {} pings, median {:?}, IPv6 {:?}",
            idle.received,
            idle.sent,
            idle.median(),
            idle6.median()
        );
    }
    let paths: Vec<u64> = (1..=lab.cables.len() as u64).collect();
    let groups: Vec<&[u64]> =
        if args.iter().any(|a| a == "--both") { vec![&paths] } else { paths.chunks(1).collect() };
    for group in groups {
        lab.topology.reset_lateness()?;
        measure(&lab, group, &args)?;
    }
    Ok(())
}

/// One flow on each path of `group` at the same time.
fn measure(lab: &Paths, group: &[u64], args: &[String]) -> Outcome {
    let seconds = numbers(args, "--seconds", 5.0)?[0] as u32;
    let (udp, cut) = (numbers(args, "--udp", 0.0)?[0], numbers(args, "--cut", 0.0)?[0]);
    let load = |n| {
        let server = Paths::gateway_address(n);
        if udp > 0.0 { Iperf::udp(server, udp, 1400) } else { Iperf::tcp(server) }
    };
    let cpu = cpu_seconds();
    let flows: Vec<_> = group
        .iter()
        .map(|&n| load(n).seconds(seconds).interval(0.1).start(&lab.client, &lab.gateway))
        .collect::<Result<_, _>>()?;
    if cut > 0.0 {
        let cable = &lab.cables[group[0] as usize - 1];
        std::thread::sleep(Duration::from_secs_f64(cut));
        cable.set_up(false)?;
        std::thread::sleep(Duration::from_secs(1));
        cable.set_up(true)?;
    }
    for (n, flow) in group.iter().zip(flows) {
        let report = flow.finish()?;
        let stall = report.longest_stall_s();
        println!(
            "path {n}: {:.1} Mb/s received, {} retransmits, longest stall {stall:.1} s",
            report.received_mbps, report.retransmits
        );
        if let Some(seen) = report.udp {
            println!("        {seen:?}");
        }
        println!("        forward {:?}", lab.cables[*n as usize - 1].counters()?.forward);
    }
    let share = (cpu_seconds() - cpu) / f64::from(seconds);
    let verdict = if lab.topology.kept_time()? { "kept time" } else { "DID NOT KEEP TIME" };
    println!("emulator: {:.0} % of a core, {}: {verdict}", share * 100.0, lab.topology.lateness()?);
    Ok(())
}

fn links(args: &[String]) -> Outcome<Vec<LinkSpec>> {
    if let Some(name) = value(args, "--env") {
        return Ok(Environment::named(name).ok_or(format!("no environment {name}"))?.links.to_vec());
    }
    let [rates, delays, jitters, losses] =
        [("--rate", 50.0), ("--delay", 20.0), ("--jitter", 0.0), ("--loss", 0.0)]
            .map(|(k, d)| numbers(args, k, d));
    let (rates, delays, jitters, losses) = (rates?, delays?, jitters?, losses?);
    let ms = |list: &[f64], i: usize| Duration::from_secs_f64(list[i.min(list.len() - 1)] / 1e3);
    Ok((0..rates.len().max(delays.len()))
        .map(|i| {
            let rate = rates[i.min(rates.len() - 1)];
            let link = LinkSpec::new(rate, ms(&delays, i))
                .jitter(ms(&jitters, i))
                .loss_percent(losses[i.min(losses.len() - 1)]);
            if rate == 0.0 { LinkSpec { rate: Rate::Unlimited, ..link } } else { link }
        })
        .collect())
}

fn value<'a>(args: &'a [String], key: &str) -> Option<&'a str> {
    args.iter().position(|a| a == key).and_then(|i| args.get(i + 1)).map(String::as_str)
}

fn numbers(args: &[String], key: &str, default: f64) -> Outcome<Vec<f64>> {
    let Some(text) = value(args, key) else { return Ok(vec![default]) };
    text.split(',').map(|n| n.parse().map_err(|_| format!("{key} takes numbers, not {n}").into())).collect()
}

/// Processor time of this process, which is the emulator's: the rest of it only waits.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    // utime and stime, in hundredths of a second (proc(5), fields 14 and 15).
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
