//! The TCP model beside the kernel's TCP, over the same link: the wired link of `ropewalk-air` with its queue, delay and
//! loss, in real time between two namespaces and in virtual time between two endpoints.
//!
//! ```text
//! cargo run --release -p ropewalk-tests --example tcp_models -- kernel FILE [SECONDS]   (root) adds a row per case to FILE
//! cargo run --release -p ropewalk-tests --example tcp_models -- table FILE [FILE…]      runs the model for the rows, and compares
//! cargo run --release -p ropewalk-tests --example tcp_models -- page PAGE FILE          the same, into a page
//! ```
//! Cases already in FILE are not run again. What is compared, and how close it should be, is said in docs/models/tcp.md.

use ropewalk_air::Time;
use ropewalk_air::wired::{Limit, LinkSpec, QueueSpec};
use ropewalk_lab::{CableSpec, Paths, Timing, Topology};
use ropewalk_sim::tcp::pair::Pair;
use ropewalk_sim::tcp::{Algorithm, ReceiveBuffer, TcpConfig};
use ropewalk_tests::models::page::put_kernel;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

type R<T> = Result<T, Box<dyn std::error::Error>>;

/// Where the start of a flow ends and its steady part begins, seconds.
const START_S: u64 = 5;
/// Link rates, Mb/s, with as many cases of each at once as the machine can emulate well.
const RATES: [(u64, usize); 3] = [(10, 6), (50, 3), (100, 2)];
const RTTS_MS: [u64; 3] = [10, 40, 100];
/// Random loss, per mille.
const LOSSES: [u64; 3] = [0, 1, 10];
/// Queue, per cent of the bandwidth-delay product.
const BUFFERS: [u64; 3] = [50, 100, 200];
/// Runs of the model for a case with random loss.
const SEEDS: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Case {
    reno: bool,
    mbps: u64,
    rtt_ms: u64,
    loss_permille: u64,
    buffer_percent: u64,
}

impl Case {
    fn forward(&self) -> LinkSpec {
        let bdp = self.mbps * 1_000_000 / 8 * self.rtt_ms / 1000;
        let bytes = (bdp * self.buffer_percent / 100).max(3000);
        LinkSpec::new(self.mbps as f64, Duration::from_millis(self.rtt_ms) / 2)
            .queue(QueueSpec::TailDrop { limit: Limit::Bytes(bytes) })
            .loss_percent(self.loss_permille as f64 / 10.0)
    }

    fn backward(&self) -> LinkSpec {
        LinkSpec::new(self.mbps as f64, Duration::from_millis(self.rtt_ms) / 2)
    }

    fn key(&self) -> String {
        let name = if self.reno { "reno" } else { "cubic" };
        format!("{name},{},{},{},{}", self.mbps, self.rtt_ms, self.loss_permille, self.buffer_percent)
    }
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// Data rate in the first seconds, Mb/s.
    start_mbps: f64,
    /// Data rate after them, Mb/s.
    mbps: f64,
    /// Mean of the smoothed round-trip time after them, ms.
    rtt_ms: f64,
    /// Segments sent again after them, per second.
    retransmits: f64,
    /// The same in the start, all in all.
    start_retransmits: f64,
}

impl Figures {
    fn row(&self) -> String {
        let Figures { start_mbps, mbps, rtt_ms, retransmits, start_retransmits } = self;
        format!("{start_mbps:.3},{mbps:.3},{rtt_ms:.3},{retransmits:.3},{start_retransmits:.0}")
    }

    fn mean(all: &[Figures]) -> Figures {
        let mean = |f: fn(&Figures) -> f64| all.iter().map(f).sum::<f64>() / all.len() as f64;
        Figures {
            start_mbps: mean(|f| f.start_mbps),
            mbps: mean(|f| f.mbps),
            rtt_ms: mean(|f| f.rtt_ms),
            retransmits: mean(|f| f.retransmits),
            start_retransmits: mean(|f| f.start_retransmits),
        }
    }
}

/// Samples of a tenth of a second: bytes received and in how many seconds, segments repeated, smoothed round-trip time
/// in ms.
fn figures(bytes: &[f64], spans: &[f64], repeated: &[f64], rtts: &[f64]) -> Figures {
    let start = START_S as usize * 10;
    let sum = |all: &[f64]| all.iter().sum::<f64>();
    let split = |all: &[f64]| (sum(&all[..start.min(all.len())]), sum(&all[start.min(all.len())..]));
    let (early, late) = split(bytes);
    let (early_seconds, seconds) = split(spans);
    let (early_repeated, late_repeated) = split(repeated);
    let steady = &rtts[start.min(rtts.len())..];
    Figures {
        start_mbps: early * 8e-6 / early_seconds,
        mbps: late * 8e-6 / seconds,
        rtt_ms: sum(steady) / steady.len().max(1) as f64,
        retransmits: late_repeated / seconds,
        start_retransmits: early_repeated,
    }
}

fn model(case: &Case, seconds: u64, seed: u64) -> R<Figures> {
    let config = TcpConfig {
        receive_buffer: ReceiveBuffer::Auto { initial: 65_535, max: 16 << 20 },
        ..TcpConfig::default().congestion_control(if case.reno {
            Algorithm::NewReno
        } else {
            Algorithm::Cubic
        })
    };
    let mut pair = Pair::new(config, case.forward(), case.backward(), seed)?;
    pair.client.write(u64::MAX);
    let (mut bytes, mut repeated, mut rtts) = (vec![], vec![], vec![]);
    let (mut last_bytes, mut last_repeated) = (0, 0);
    for tenth in 1..=seconds * 10 {
        pair.run_until(Time::from_millis(tenth * 100));
        let stats = pair.client.stats();
        bytes.push((pair.received() - last_bytes) as f64);
        repeated.push((stats.send.retransmits - last_repeated) as f64);
        rtts.push(stats.srtt.as_secs_f64() * 1e3);
        (last_bytes, last_repeated) = (pair.received(), stats.send.retransmits);
    }
    Ok(figures(&bytes, &vec![0.1; bytes.len()], &repeated, &rtts))
}

/// Runs the cases at once, a cable each, with the kernel's TCP at both ends.
fn kernel(cases: &[Case], seconds: u64) -> R<Vec<Figures>> {
    let cables = cases.iter().map(|case| CableSpec {
        forward: case.forward(),
        backward: case.backward(),
        ..CableSpec::symmetric(LinkSpec::default())
    });
    let lab = Paths::new(cables, Timing::default())?;
    for namespace in [&lab.client, &lab.gateway] {
        namespace.sysctl("net.ipv4.tcp_ecn", "0")?;
        namespace.sysctl("net.ipv4.tcp_rmem", "4096 131072 33554432")?;
        namespace.sysctl("net.ipv4.tcp_wmem", "4096 16384 33554432")?;
        namespace.sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
    }
    let results = std::thread::scope(|scope| {
        let runs: Vec<_> = (1..)
            .zip(cases)
            .map(|(n, case)| {
                let lab = &lab;
                scope.spawn(move || one_kernel_run(lab, n, case, seconds).map_err(|e| e.to_string()))
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("a run does not panic")).collect::<Result<Vec<_>, _>>()
    })?;
    if !lab.topology.kept_time()? {
        eprintln!("  the emulator was late: {:?}", lab.topology.lateness()?);
    }
    Ok(results)
}

fn one_kernel_run(lab: &Paths, n: u64, case: &Case, seconds: u64) -> R<Figures> {
    let port = (5200 + n).to_string();
    let _server = lab.gateway.start("iperf3", ["-s", "-1", "-p", &port, "-J", "-i", "0.1"])?;
    std::thread::sleep(Duration::from_millis(400));
    let (to, from) = (Paths::gateway_address(n).to_string(), Paths::client_address(n).to_string());
    let (seconds, name) = (seconds.to_string(), if case.reno { "reno" } else { "cubic" });
    let args = [
        "-c",
        &to,
        "-B",
        &from,
        "-p",
        &port,
        "-C",
        name,
        "-t",
        &seconds,
        "-i",
        "0.1",
        "-J",
        "--get-server-output",
    ];
    let said: serde_json::Value = serde_json::from_slice(&lab.client.exec("iperf3", args)?.stdout)?;
    let column = |side: &serde_json::Value, key: &str| -> Vec<f64> {
        let intervals = side["intervals"].as_array().cloned().unwrap_or_default();
        intervals.iter().map(|i| i["streams"][0][key].as_f64().unwrap_or(0.0)).collect()
    };
    let server = &said["server_output_json"];
    let (mut bytes, mut spans) = (column(server, "bytes"), column(server, "seconds"));
    for all in [&mut bytes, &mut spans] {
        all.truncate(said["intervals"].as_array().map_or(0, Vec::len));
    }
    let rtts: Vec<f64> = column(&said, "rtt").iter().map(|us| us / 1e3).collect();
    Ok(figures(&bytes, &spans, &column(&said, "retransmits"), &rtts))
}

fn cases() -> Vec<Case> {
    let mut all = vec![];
    for reno in [false, true] {
        for rtt_ms in RTTS_MS {
            for (mbps, _) in RATES {
                for loss_permille in LOSSES {
                    for buffer_percent in BUFFERS {
                        all.push(Case { reno, mbps, rtt_ms, loss_permille, buffer_percent });
                    }
                }
            }
        }
    }
    all
}

fn run_kernel(path: &str, seconds: u64) -> R<()> {
    ropewalk_lab::clean_on_interrupt()?;
    Topology::cleanup_stale();
    let done = std::fs::read_to_string(path).unwrap_or_default();
    let is_open = |case: &Case| !done.lines().any(|line| line.starts_with(&format!("{},", case.key())));
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    for reno in [false, true] {
        for (mbps, at_once) in RATES {
            let open: Vec<_> =
                cases().into_iter().filter(|c| c.reno == reno && c.mbps == mbps && is_open(c)).collect();
            for batch in open.chunks(at_once) {
                for (case, figures) in batch.iter().zip(kernel(batch, seconds)?) {
                    writeln!(file, "{},{seconds},{}", case.key(), figures.row())?;
                    println!("{} {}", case.key(), figures.row());
                }
            }
        }
    }
    Ok(())
}

/// Rows of kernel runs: the case, its seconds, and the figures; several rows of a case are averaged.
fn read(paths: &[String]) -> R<BTreeMap<Case, (u64, Vec<Figures>)>> {
    let mut rows: BTreeMap<Case, (u64, Vec<Figures>)> = BTreeMap::new();
    for path in paths {
        for line in std::fs::read_to_string(path)?.lines() {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |i: usize| -> R<f64> { Ok(cells.get(i).ok_or("a cell is missing")?.parse()?) };
            let whole = |i: usize| -> R<u64> { Ok(number(i)? as u64) };
            let case = Case {
                reno: cells[0] == "reno",
                mbps: whole(1)?,
                rtt_ms: whole(2)?,
                loss_permille: whole(3)?,
                buffer_percent: whole(4)?,
            };
            let figures = Figures {
                start_mbps: number(6)?,
                mbps: number(7)?,
                rtt_ms: number(8)?,
                retransmits: number(9)?,
                start_retransmits: number(10)?,
            };
            let row = rows.entry(case).or_insert((whole(5)?, vec![]));
            row.1.push(figures);
        }
    }
    Ok(rows)
}

/// How far the model may be off: rate and round trip, as parts of the kernel's. A queue of few packets makes much of how a
/// window is rounded, and a single run with random losses is one draw: at 0.1 % of a handful.
fn bands(case: &Case) -> (f64, f64) {
    let queue_bytes = case.mbps * 125 * case.rtt_ms * case.buffer_percent / 100;
    match case.loss_permille {
        0 if queue_bytes < 60_000 => (0.15, 0.12),
        0 => (0.06, 0.12),
        1 => (0.40, 0.15),
        _ => (0.25, 0.15),
    }
}

/// Means over the cases of one controller and loss: how far the model is off, rates and round trips.
fn means(off: &BTreeMap<(bool, u64), Vec<(f64, f64)>>) -> String {
    let mut out =
        String::from("\n| cc | loss % | cases | goodput, mean | RTT, mean |\n|---|---|---|---|---|\n");
    for ((reno, loss_permille), all) in off {
        let mean = |of: fn(&(f64, f64)) -> f64| 100.0 * all.iter().map(of).sum::<f64>() / all.len() as f64;
        let (name, loss) = (if *reno { "reno" } else { "cubic" }, *loss_permille as f64 / 10.0);
        let (rate, rtt) = (mean(|o| o.0), mean(|o| o.1));
        out += &format!("| {name} | {loss} | {} | {rate:+.1} % | {rtt:+.1} % |\n", all.len());
    }
    out
}

fn table(paths: &[String]) -> R<String> {
    let mut out = String::from(
        "| cc | Mb/s | RTT ms | loss % | queue BDP | goodput kernel | model | | RTT kernel | model | | again/s kernel | model | start kernel | model | |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let (mut inside, mut all) = (0, 0);
    let mut off: BTreeMap<(bool, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for (case, (seconds, runs)) in read(paths)? {
        let kernel = Figures::mean(&runs);
        let seeds = if case.loss_permille > 0 { SEEDS } else { 1 };
        let of_model: Vec<Figures> = (1..=seeds).map(|seed| model(&case, seconds, seed)).collect::<R<_>>()?;
        let model = Figures::mean(&of_model);
        let (rate_band, rtt_band) = bands(&case);
        let (rate, rtt) = (model.mbps / kernel.mbps - 1.0, model.rtt_ms / kernel.rtt_ms - 1.0);
        let mut line = format!(
            "| {} | {} | {} | {} | {} ",
            if case.reno { "reno" } else { "cubic" },
            case.mbps,
            case.rtt_ms,
            case.loss_permille as f64 / 10.0,
            case.buffer_percent as f64 / 100.0
        );
        write!(line, "| {:.2} | {:.2} | {} ", kernel.mbps, model.mbps, verdict(rate, rate_band))?;
        write!(line, "| {:.1} | {:.1} | {} ", kernel.rtt_ms, model.rtt_ms, verdict(rtt, rtt_band))?;
        write!(line, "| {:.1} | {:.1} ", kernel.retransmits, model.retransmits)?;
        let start = model.start_mbps / kernel.start_mbps - 1.0;
        write!(line, "| {:.2} | {:.2} | {:+.0} % |", kernel.start_mbps, model.start_mbps, 100.0 * start)?;
        out += &(line + "\n");
        off.entry((case.reno, case.loss_permille)).or_default().push((rate, rtt));
        inside += usize::from(rate.abs() <= rate_band) + usize::from(rtt.abs() <= rtt_band);
        all += 2;
    }
    out += &means(&off);
    writeln!(out, "\n{inside} of {all} comparisons are within their bands.")?;
    Ok(out)
}

fn verdict(off: f64, band: f64) -> String {
    let mark = if off.abs() <= band { "" } else { " **out**" };
    format!("{:+.1} %{mark}", 100.0 * off)
}

fn main() -> R<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["kernel", file] => run_kernel(file, 20),
        ["kernel", file, seconds] => run_kernel(file, seconds.parse()?),
        ["table", _, ..] => {
            print!("{}", table(&args[1..])?);
            Ok(())
        }
        ["page", page, _] => {
            let old = std::fs::read_to_string(page)?;
            let new = put_kernel(&old, "tcp", &table(&args[2..])?).ok_or("the page has no place for it")?;
            Ok(std::fs::write(page, new)?)
        }
        _ => Err("say `kernel FILE [SECONDS]`, `table FILE…` or `page PAGE FILE`".into()),
    }
}
