//! iperf3 runs between namespaces, and what they measured.

use std::fs;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::{LabError, Namespace, Process, Result};

/// How long a server may take to listen, and a client to end after its time is up.
const PATIENCE: Duration = Duration::from_secs(15);
/// The receive buffer asked for with UDP, in bytes: Linux's usual limit, net.core.rmem_max, is at least near it.
const UDP_BUFFER: u32 = 4 << 20;
/// Shorter rows of a series are not rates, in seconds.
const LEAST_INTERVAL: f64 = 0.05;
/// How much unreadable output an error shows, in characters.
const SHOWN: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Load {
    Tcp,
    Udp { mbps: f64, payload: u32 },
}

/// An iperf3 run to be: one client, one server that ends with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Iperf {
    server: IpAddr,
    load: Load,
    seconds: u32,
    interval: f64,
    congestion: String,
    parallel: u32,
    reverse: bool,
    device: Option<String>,
    extra: Vec<String>,
}

impl Iperf {
    /// One TCP flow under CUBIC to the server at this address, for 10 s.
    pub fn tcp(server: IpAddr) -> Iperf {
        Iperf {
            server,
            load: Load::Tcp,
            seconds: 10,
            interval: 1.0,
            congestion: "cubic".to_owned(),
            parallel: 1,
            reverse: false,
            device: None,
            extra: Vec::new(),
        }
    }

    /// UDP at `mbps` Mb/s of payload in datagrams of `payload` bytes, for 10 s.
    pub fn udp(server: IpAddr, mbps: f64, payload: u32) -> Iperf {
        Iperf { load: Load::Udp { mbps, payload }, ..Iperf::tcp(server) }
    }

    /// For so long.
    pub fn seconds(self, seconds: u32) -> Iperf {
        Iperf { seconds, ..self }
    }

    /// With a figure for each so many seconds, 0.1 at least.
    pub fn interval(self, seconds: f64) -> Iperf {
        Iperf { interval: seconds.max(0.1), ..self }
    }

    /// With another congestion control.
    pub fn congestion(self, name: &str) -> Iperf {
        Iperf { congestion: name.to_owned(), ..self }
    }

    /// With so many flows.
    pub fn parallel(self, flows: u32) -> Iperf {
        Iperf { parallel: flows, ..self }
    }

    /// From the server to the client.
    pub fn reverse(self) -> Iperf {
        Iperf { reverse: true, ..self }
    }

    /// With the client bound to an interface.
    pub fn device(self, interface: &str) -> Iperf {
        Iperf { device: Some(interface.to_owned()), ..self }
    }

    /// With further words for the client's command line.
    pub fn args<I: IntoIterator<Item: Into<String>>>(mut self, args: I) -> Iperf {
        self.extra.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs it from `client` to `server`, to its end.
    pub fn run(&self, client: &Namespace, server: &Namespace) -> Result<IperfReport> {
        self.start(client, server)?.finish()
    }

    /// Starts it; the client is sending, or about to, when this returns.
    pub fn start(&self, client: &Namespace, server: &Namespace) -> Result<RunningIperf> {
        // A port for each run, so that runs side by side do not meet.
        static PORT: AtomicU16 = AtomicU16::new(0);
        let port = 20_000 + PORT.fetch_add(1, Ordering::Relaxed) % 10_000;
        let (words, interval) = (self.words(&port.to_string()), self.interval.to_string());
        let mut listener =
            server.start("iperf3", ["-s", "-1", "-J", "-i", &interval, "-p", &port.to_string()])?;
        wait_until_listening(server, port, &mut listener)?;
        let sender = client.start("iperf3", words)?;
        Ok(RunningIperf { listener, sender, seconds: self.seconds, reverse: self.reverse })
    }

    fn words(&self, port: &str) -> Vec<String> {
        let mut words: Vec<String> = ["-J", "-p", port].map(String::from).to_vec();
        let mut pair = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        pair("-c", self.server.to_string());
        pair("-t", self.seconds.to_string());
        pair("-i", self.interval.to_string());
        pair("-P", self.parallel.to_string());
        match self.load {
            Load::Tcp => pair("-C", self.congestion.clone()),
            Load::Udp { mbps, payload } => {
                pair("-b", format!("{}", (mbps * 1e6 / f64::from(self.parallel)).round()));
                pair("-l", payload.to_string());
                // Or a receiver that has to wait for a processor would lose what the network did not.
                pair("-w", UDP_BUFFER.to_string());
                words.push("-u".to_owned());
            }
        }
        if let Some(device) = &self.device {
            words.extend(["--bind-dev".to_owned(), device.clone()]);
        }
        if self.reverse {
            words.push("-R".to_owned());
        }
        words.extend(self.extra.iter().cloned());
        words
    }
}

/// An iperf3 run under way; dropping it stops both ends.
#[derive(Debug)]
pub struct RunningIperf {
    listener: Process,
    sender: Process,
    seconds: u32,
    reverse: bool,
}

impl RunningIperf {
    /// Waits for the end and reads what was measured.
    pub fn finish(mut self) -> Result<IperfReport> {
        self.sender.wait(Duration::from_secs(self.seconds.into()) + PATIENCE)?;
        let client = parse(&self.sender.stdout(), &self.sender.stderr())?;
        self.listener.wait(PATIENCE)?;
        let server = parse(&self.listener.stdout(), &self.listener.stderr())?;
        Ok(report(client, server, self.reverse))
    }
}

/// Waits until a TCP socket of the namespace listens on `port`: a server that prints JSON does not say so itself.
fn wait_until_listening(server: &Namespace, port: u16, listener: &mut Process) -> Result<()> {
    // proc(5), /proc/net/tcp: the second word is the local address, its port in hexadecimal, the fourth is 0A.
    let ours = format!(":{port:04X}");
    let listens = |table: String| {
        table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .any(|words| words.get(1).is_some_and(|a| a.ends_with(&ours)) && words.get(3) == Some(&"0A"))
    };
    let until = Instant::now() + PATIENCE;
    loop {
        let tables = server
            .run(|| ["tcp", "tcp6"].map(|t| fs::read_to_string(format!("/proc/thread-self/net/{t}"))))?;
        if tables.into_iter().flatten().any(listens) {
            return Ok(());
        }
        if listener.exit_status()?.is_some() || Instant::now() >= until {
            let said = listener.stdout() + &listener.stderr();
            return Err(LabError::Iperf { why: format!("the server does not listen on port {port}"), said });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What one interval of a run moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its beginning, in seconds since the flow began.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Mb/s (10⁶ bit/s) that arrived at the receiver's application.
    pub mbps: f64,
}

/// What a UDP run's receiver saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UdpReport {
    /// Datagrams that were sent, as far as their numbers show.
    pub packets: u64,
    /// Those that did not come.
    pub lost: u64,
    /// Those that came after a later one.
    pub out_of_order: u64,
    /// Variation of the transit time (RFC 3550, section 6.4.1), in ms.
    pub jitter_ms: f64,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq)]
pub struct IperfReport {
    /// Mb/s (10⁶ bit/s) that arrived at the receiver's application.
    pub received_mbps: f64,
    /// Mb/s that the sender's application handed over.
    pub sent_mbps: f64,
    /// The receiver's figures over time.
    pub series: Vec<Interval>,
    /// Segments that TCP sent again.
    pub retransmits: u64,
    /// For UDP runs.
    pub udp: Option<UdpReport>,
}

impl IperfReport {
    /// The longest time in seconds that nothing arrived, to the length of an interval. Time before the first arrival is
    /// no stall.
    pub fn longest_stall_s(&self) -> f64 {
        let first = self.series.iter().position(|i| i.mbps > 0.0).unwrap_or(0);
        let stalls = self.series[first..].chunk_by(|a, b| (a.mbps == 0.0) == (b.mbps == 0.0));
        let spans = stalls.filter(|s| s[0].mbps == 0.0).map(|s| s[s.len() - 1].end_s - s[0].start_s);
        spans.fold(0.0, f64::max)
    }

    /// The mean of the intervals that lie between these seconds.
    pub fn mean_between(&self, from_s: f64, to_s: f64) -> f64 {
        let inside = self.series.iter().filter(|i| i.start_s >= from_s - 1e-3 && i.end_s <= to_s + 1e-3);
        let (bits, seconds) = inside
            .fold((0.0, 0.0), |(b, s), i| (b + i.mbps * (i.end_s - i.start_s), s + i.end_s - i.start_s));
        if seconds > 0.0 { bits / seconds } else { 0.0 }
    }
}

/// The part of iperf3's JSON that is read.
#[derive(Deserialize)]
struct Output {
    error: Option<String>,
    #[serde(default)]
    intervals: Vec<Row>,
    #[serde(default)]
    end: End,
}

#[derive(Deserialize)]
struct Row {
    sum: Sum,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct End {
    streams: Vec<Stream>,
    sum_sent: Sum,
    sum_received: Sum,
}

#[derive(Deserialize)]
struct Stream {
    udp: Option<Sum>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    retransmits: u64,
    lost_packets: i64,
    packets: u64,
    out_of_order: u64,
    jitter_ms: f64,
}

/// Reads what one side said.
fn parse(text: &str, errors: &str) -> Result<Output> {
    let said = || format!("{text}{errors}").chars().take(SHOWN).collect();
    let output: Output =
        serde_json::from_str(text).map_err(|e| LabError::Iperf { why: e.to_string(), said: said() })?;
    match output.error {
        Some(why) => Err(LabError::Iperf { why, said: said() }),
        None => Ok(output),
    }
}

/// Puts together what both sides said: what was sent is the sender's to say, what arrived the receiver's.
fn report(client: Output, server: Output, reverse: bool) -> IperfReport {
    let (sender, receiver) = if reverse { (server, client) } else { (client, server) };
    let received = &receiver.end.sum_received;
    let seen = || receiver.end.streams.iter().filter_map(|s| s.udp.as_ref());
    let udp = seen().next().is_some().then(|| UdpReport {
        packets: seen().map(|u| u.packets).sum(),
        lost: seen().map(|u| u.lost_packets.max(0) as u64).sum(),
        out_of_order: seen().map(|u| u.out_of_order).sum(),
        jitter_ms: received.jitter_ms,
    });
    let rows = receiver.intervals.iter().map(|row| &row.sum);
    IperfReport {
        received_mbps: received.bits_per_second / 1e6,
        sent_mbps: sender.end.sum_sent.bits_per_second / 1e6,
        // The last row is what came after the sender's end: a moment, whose rate means nothing.
        series: rows
            .filter(|sum| sum.end - sum.start > LEAST_INTERVAL)
            .map(|sum| Interval { start_s: sum.start, end_s: sum.end, mbps: sum.bits_per_second / 1e6 })
            .collect(),
        retransmits: sender.end.sum_sent.retransmits,
        udp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(mbps: &[f64]) -> IperfReport {
        let row = |(i, &mbps): (usize, &f64)| Interval {
            start_s: i as f64 * 0.5,
            end_s: (i + 1) as f64 * 0.5,
            mbps,
        };
        let series = mbps.iter().enumerate().map(row).collect();
        IperfReport { received_mbps: 0.0, sent_mbps: 0.0, series, retransmits: 0, udp: None }
    }

    #[test]
    fn stalls_and_means() {
        let report = series(&[0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 8.0, 0.0]);
        assert_eq!(report.longest_stall_s(), 1.0);
        assert_eq!(report.mean_between(1.5, 3.5), 3.0);
        assert_eq!((series(&[]).longest_stall_s(), series(&[]).mean_between(0.0, 9.0)), (0.0, 0.0));
        assert_eq!(series(&[0.0, 0.0]).longest_stall_s(), 1.0);
    }

    #[test]
    fn errors_and_nonsense_are_told() {
        let told = |text| parse(text, " and this").err().expect("an error").to_string();
        assert!(told(r#"{"error": "unable to connect"}"#).contains("unable to connect"));
        assert!(told("nonsense").contains("nonsense and this"));
    }
}
