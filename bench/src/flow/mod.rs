//! A bulk flow over TCP or MPTCP, from the client to the gateway, seen by the millisecond at its receiver.
//!
//! iperf3 cannot speak MPTCP, and shows a stall only to the length of its intervals. So this crate's program is sender
//! and receiver itself, one process each (`bench flow-send`, `bench flow-receive`).

mod arrivals;
mod receive;
mod send;
pub(crate) mod socket;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use ropewalk_lab::{Namespace, Process};
use serde::{Deserialize, Serialize};

pub use arrivals::{Arrivals, Gap};
pub use receive::receive;
pub use send::send;

/// How long an end may take to start, and to end after its time.
const PATIENCE: Duration = Duration::from_secs(20);
/// What the receiver says when it can be connected to.
const LISTENING: &str = "listening";

/// A flow to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Where to.
    pub server: IpAddr,
    /// How long the receiver listens, from the moment at which it was connected to.
    pub seconds: u32,
    /// MPTCP instead of TCP.
    pub mptcp: bool,
    /// The congestion control of all its subflows.
    pub congestion: String,
}

/// What a sender knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// When it began to connect, on the shared clock, in ns.
    pub began_ns: u64,
    /// Bytes that the kernel took.
    pub bytes: u64,
}

impl Flow {
    /// One TCP flow under CUBIC.
    pub fn tcp(server: IpAddr, seconds: u32) -> Flow {
        Flow { server, seconds, mptcp: false, congestion: "cubic".to_owned() }
    }

    /// The same over MPTCP, or not.
    pub fn mptcp(self, mptcp: bool) -> Flow {
        Flow { mptcp, ..self }
    }

    /// Starts it with `program`, which is this crate's; the client is connecting when this returns.
    pub fn start(&self, program: &Path, client: &Namespace, server: &Namespace) -> Result<RunningFlow> {
        // A port for each flow, so that what is left of one does not meet the next.
        static PORT: AtomicU16 = AtomicU16::new(0);
        let port = 30_000 + PORT.fetch_add(1, Ordering::Relaxed) % 10_000;
        let program = program.to_str().context("the program's path is not UTF-8")?;
        let seconds = self.seconds.to_string();
        let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).to_string();
        let common = ["--seconds", &seconds].into_iter().chain(self.mptcp.then_some("--mptcp"));
        let words = ["flow-receive", "--listen", &everywhere];
        let mut receiver = server.start(program, words.into_iter().chain(common.clone()))?;
        receiver.wait_for_line(LISTENING, PATIENCE)?;
        let to = SocketAddr::new(self.server, port).to_string();
        let words = ["flow-send", "--to", &to, "--congestion", &self.congestion];
        let sender = client.start(program, words.into_iter().chain(common))?;
        Ok(RunningFlow { client: client.clone(), flow: self.clone(), port, receiver, sender })
    }
}

/// A flow under way; dropping it stops both ends.
pub struct RunningFlow {
    client: Namespace,
    flow: Flow,
    port: u16,
    receiver: Process,
    sender: Process,
}

/// What `ss` says of a flow's sockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Subflows {
    /// TCP sockets under the wanted congestion control.
    pub tcp: usize,
    /// Those of them that belong to an MPTCP connection.
    pub mptcp: usize,
}

impl RunningFlow {
    /// Looks at the sender's sockets.
    pub fn subflows(&self) -> Result<Subflows> {
        let said = self.client.shell(&format!("ss -HtinO state established dport = :{}", self.port))?;
        let under = |line: &&str| line.split_whitespace().any(|word| word == self.flow.congestion);
        let lines: Vec<&str> = said.lines().filter(under).collect();
        let mptcp = lines.iter().filter(|line| line.contains("tcp-ulp-mptcp")).count();
        Ok(Subflows { tcp: lines.len(), mptcp })
    }

    /// Waits for its end and reads what arrived.
    pub fn finish(mut self) -> Result<FlowReport> {
        let patience = Duration::from_secs(self.flow.seconds.into()) + PATIENCE;
        let (end, said) = (self.receiver.wait(patience)?, self.receiver.stdout());
        let said = said.lines().last().filter(|_| end.success());
        let complaints = || format!("{}{}", self.receiver.stderr(), self.sender.stderr());
        let arrivals = said.and_then(|line| serde_json::from_str::<Arrivals>(line).ok());
        let arrivals = arrivals.with_context(|| format!("no flow came: {}", complaints().trim()))?;
        self.sender.wait(PATIENCE)?;
        let departure = serde_json::from_str(&self.sender.stdout())
            .with_context(|| format!("the sender failed: {}", self.sender.stderr().trim()))?;
        Ok(FlowReport { arrivals, departure })
    }
}

/// What a flow did.
#[derive(Debug, Clone)]
pub struct FlowReport {
    /// As the receiver saw it.
    pub arrivals: Arrivals,
    /// As the sender saw it.
    pub departure: Departure,
}

impl FlowReport {
    /// Mb/s of the whole transfer as its user sees it: from the first attempt to connect to the receiver's last moment.
    pub fn whole_mbps(&self) -> f64 {
        let span = self.arrivals.ended_ns.saturating_sub(self.departure.began_ns);
        self.arrivals.bytes as f64 * 8e3 / span.max(1) as f64
    }

    /// Mb/s after the first seconds.
    pub fn steady_mbps(&self, omit: Duration) -> f64 {
        self.arrivals.mbps_after(omit)
    }
}
