//! iperf3 runs between namespaces, and what they measured.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde::Deserialize;

use crate::{LabError, Namespace, Process, Result};

/// How long a server may take to listen, and a client to end after its time is up.
const PATIENCE: Duration = Duration::from_secs(15);
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
        let port = (20_000 + PORT.fetch_add(1, Ordering::Relaxed) % 10_000).to_string();
        let mut listener = server.start("iperf3", ["-s", "-1", "--forceflush", "-p", &port])?;
        listener.wait_for_line("Server listening", PATIENCE)?;
        let sender = client.start("iperf3", self.words(&port))?;
        Ok(RunningIperf { listener, sender, seconds: self.seconds })
    }

    fn words(&self, port: &str) -> Vec<String> {
        let mut words: Vec<String> = ["-J", "--get-server-output", "-p", port].map(String::from).to_vec();
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
}

impl RunningIperf {
    /// Waits for the end and reads what was measured.
    pub fn finish(mut self) -> Result<IperfReport> {
        let ended = self.sender.wait(Duration::from_secs(self.seconds.into()) + PATIENCE);
        if ended.is_err() {
            self.listener.stop();
        }
        ended?;
        parse(&self.sender.stdout())
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
    /// The longest time in seconds that nothing arrived, to the length of an interval.
    pub fn longest_stall_s(&self) -> f64 {
        let stalls = self.series.chunk_by(|a, b| (a.mbps == 0.0) == (b.mbps == 0.0));
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

#[derive(Deserialize)]
struct Output {
    error: Option<String>,
    #[serde(default)]
    intervals: Vec<Row>,
    end: Option<End>,
    server_output_json: Option<Box<Output>>,
    start: Option<Start>,
}

#[derive(Deserialize)]
struct Start {
    test_start: Option<TestStart>,
}

#[derive(Deserialize)]
struct TestStart {
    #[serde(default)]
    reverse: u8,
}

#[derive(Deserialize)]
struct Row {
    sum: Sum,
}

#[derive(Deserialize, Default)]
struct End {
    #[serde(default)]
    streams: Vec<Stream>,
    sum: Option<Sum>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
}

#[derive(Deserialize)]
struct Stream {
    udp: Option<Sum>,
}

#[derive(Deserialize, Clone, Default)]
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

/// Reads the client's JSON, which holds the server's.
fn parse(text: &str) -> Result<IperfReport> {
    let unreadable = |why: String| LabError::Iperf { why, said: text.chars().take(SHOWN).collect() };
    let output: Output = serde_json::from_str(text).map_err(|e| unreadable(e.to_string()))?;
    if let Some(error) = output.error {
        return Err(unreadable(error));
    }
    let end = output.end.ok_or_else(|| unreadable("it has no \"end\"".to_owned()))?;
    let reverse = output.start.and_then(|s| s.test_start).is_some_and(|t| t.reverse != 0);
    let server = output.server_output_json;
    let rows = if reverse { output.intervals } else { server.map(|s| s.intervals).unwrap_or_default() };
    // A UDP client tells what the server saw in `sum`; newer ones in `sum_received` as well.
    let udp = end.streams.iter().any(|s| s.udp.is_some()).then(|| end.sum.clone().unwrap_or_default());
    let sent = end.sum_sent.clone().or_else(|| udp.clone()).unwrap_or_default();
    let seconds = sent.end - sent.start;
    let received = match &udp {
        Some(sum) if sum.packets > 0 => {
            let arrived = sum.packets.saturating_sub(sum.lost_packets.max(0) as u64);
            sum.bits_per_second * arrived as f64 / sum.packets as f64
        }
        _ => end.sum_received.map_or(0.0, |s| s.bits_per_second),
    };
    let mut series: Vec<Interval> = rows
        .iter()
        .map(|Row { sum }| Interval { start_s: sum.start, end_s: sum.end, mbps: sum.bits_per_second / 1e6 })
        .collect();
    // The server's last row is what came after the client's end: a moment, whose rate means nothing.
    series.retain(|row| row.end_s <= seconds + 0.5 && row.end_s - row.start_s > 0.02);
    Ok(IperfReport {
        received_mbps: received / 1e6,
        sent_mbps: sent.bits_per_second / 1e6,
        series,
        retransmits: sent.retransmits,
        udp: udp.map(|sum| UdpReport {
            packets: sum.packets,
            lost: sum.lost_packets.max(0) as u64,
            out_of_order: end.streams.iter().filter_map(|s| s.udp.as_ref()).map(|u| u.out_of_order).sum(),
            jitter_ms: sum.jitter_ms,
        }),
    })
}
