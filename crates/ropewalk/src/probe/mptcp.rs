//! A connection that was opened by MPTCP: whether it is MPTCP, by which subflows, and why not.

use super::stream::Sender;
use crate::exit::{Code, failure};
use anyhow::{Context, Result};
use ropewalk_net::mptcp::{self, Support};
use ropewalk_net::tcp_info::{SubflowInfo, subflows_of_any};
use rustix::net::sockopt;
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Between two looks at a connection: it may fall back in its first round trips, and its subflows go
/// when it ends.
const EVERY: Duration = Duration::from_millis(100);

/// What one end says of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Sample {
    /// It is MPTCP, or it is TCP; none: a kernel before Linux 5.16 does not say.
    pub is_mptcp: Option<bool>,
    /// The server: why it gives MPTCP to nobody.
    pub lacks: Option<Lack>,
    /// SYNs with MPTCP's option were sent (client) or came (server); none: the kernel does not count them.
    pub asked: Option<bool>,
    /// Its congestion controller; of MPTCP, that of the first subflow.
    pub controller: Option<String>,
    /// The scheduler that this end's network namespace gives to new connections; a connection does not
    /// say its own.
    pub scheduler: Option<String>,
    /// Its subflows; of TCP none.
    pub subflows: Vec<Subflow>,
}

/// A subflow, as one end sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Subflow {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// What it carried, in the direction of the test.
    pub bytes: u64,
}

/// Why a server gives MPTCP to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Lack {
    /// Its kernel has none.
    Kernel,
    /// It is switched off in its network namespace.
    SwitchedOff,
    /// It could not listen by MPTCP when it was started.
    Listener,
}

/// Samples of a connection for as long as it lasts.
pub(super) struct Watch {
    sample: Option<Sample>,
    looked: Instant,
}

impl Watch {
    /// Looks for the first time; not at all if nobody wants to know.
    pub(super) fn begin(stream: &TcpStream, is_wanted: bool) -> Watch {
        Watch { sample: is_wanted.then(|| Sample::of(stream)), looked: Instant::now() }
    }

    /// Looks again, now and then.
    pub(super) fn look(&mut self, stream: &TcpStream) {
        if let Some(sample) = &mut self.sample
            && self.looked.elapsed() >= EVERY
        {
            sample.update(Sample::of(stream));
            self.looked = Instant::now();
        }
    }

    /// What was seen.
    pub(super) fn end(self) -> Option<Sample> {
        self.sample
    }
}

impl Sample {
    fn of(stream: &TcpStream) -> Sample {
        let all = subflows_of_any(stream).unwrap_or_default();
        Sample {
            is_mptcp: mptcp::is_mptcp(stream),
            controller: sockopt::tcp_congestion(stream).ok(),
            scheduler: mptcp::scheduler(),
            subflows: all.iter().filter(|s| is_open(s)).map(Subflow::from).collect(),
            ..Sample::default()
        }
    }

    /// A connection of MPTCP that is being closed has lost subflows: the last look at all of them counts.
    fn update(&mut self, later: Sample) {
        if later.is_mptcp != Some(true) || later.subflows.len() >= self.subflows.len() {
            *self = later;
        }
    }
}

/// The kernel lists a subflow also while nobody has answered its SYN.
fn is_open(info: &SubflowInfo<SocketAddr>) -> bool {
    !info.tcp.rtt.is_zero() || info.tcp.bytes_received > 0
}

impl From<&SubflowInfo<SocketAddr>> for Subflow {
    fn from(info: &SubflowInfo<SocketAddr>) -> Subflow {
        // Against the direction of the test go a few bytes at most.
        let bytes = info.tcp.bytes_acked.max(info.tcp.bytes_received);
        Subflow { local: info.local, remote: info.remote, bytes }
    }
}

/// The kernel's count of SYNs with MPTCP's option, while a connection is opened. Others of this network
/// namespace count, too: that there were none is certain, that there were some is not.
pub(super) struct Syns {
    name: &'static str,
    before: Option<u64>,
}

impl Syns {
    /// Counts from now on: those that a client sends, or those that come to a server.
    pub(super) fn watch(end: Sender) -> Syns {
        let name = match end {
            Sender::Client => "MPCapableSYNTX",
            Sender::Server => "MPCapableSYNRX",
        };
        Syns { name, before: mptcp::counter(name) }
    }

    /// Whether there were some.
    pub(super) fn seen(&self) -> Option<bool> {
        Some(mptcp::counter(self.name)? > self.before?)
    }
}

/// Says what is missing here.
pub(super) fn check() -> Result<()> {
    let why = match mptcp::support().context("no socket of MPTCP can be opened")? {
        Support::On => return Ok(()),
        Support::Off => {
            "MPTCP is switched off here; switch it on as root (`sysctl -w net.mptcp.enabled=1`), or leave \
             --mptcp out"
        }
        Support::Missing => {
            "this kernel has no MPTCP; run one with CONFIG_MPTCP and CONFIG_MPTCP_IPV6, or leave --mptcp out"
        }
    };
    Err(failure(Code::Rights, why))
}

/// Why nobody gets MPTCP from a listener; none: it gives it.
pub(super) fn lack(listener: &TcpListener) -> Option<Lack> {
    match mptcp::support() {
        Ok(Support::Missing) => Some(Lack::Kernel),
        Ok(Support::Off) => Some(Lack::SwitchedOff),
        Ok(Support::On) | Err(_) => (!mptcp::listens(listener)).then_some(Lack::Listener),
    }
}

/// Both directions.
#[derive(Debug, Serialize)]
pub(super) struct Both {
    /// To the host.
    pub up: Run,
    /// From the host.
    pub down: Run,
}

/// One connection.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    /// What it carried, Mbit/s.
    pub mbps: f64,
    /// What it is.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What the client says.
    pub client: Sample,
    /// What the server says.
    pub server: Option<Sample>,
}

/// What became of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Verdict {
    /// In a word.
    pub state: State,
    /// Why, a sentence.
    pub because: String,
    /// What to set, a sentence; none: nothing.
    pub set: Option<&'static str>,
}

/// What a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// MPTCP at both ends.
    Mptcp,
    /// The kernel fell back to TCP.
    Fallback,
    /// Neither kernel says.
    Unknown,
}

impl Verdict {
    fn new(state: State, because: impl Into<String>, set: Option<&'static str>) -> Verdict {
        Verdict { state, because: because.into(), set }
    }
}

impl Run {
    /// From what both ends say.
    pub(super) fn new(mbps: f64, client: Sample, server: Option<Sample>) -> Run {
        let verdict = match &server {
            Some(server) => Verdict::of(&client, server),
            None => Verdict::new(
                State::Unknown,
                "the other end does not say what its kernel did",
                Some("use this version of ropewalk there, too"),
            ),
        };
        Run { mbps, verdict, client, server }
    }
}

impl Verdict {
    fn of(client: &Sample, server: &Sample) -> Verdict {
        match (client.is_mptcp, server.is_mptcp) {
            (Some(true), Some(false)) | (Some(false), Some(true)) => Verdict::new(
                State::Fallback,
                "one end has MPTCP and the other has TCP, so something between them takes connections itself",
                Some("let connections go round that proxy or load balancer"),
            ),
            (Some(false), _) | (_, Some(false)) => fallback(client, server),
            (None, None) => Verdict::new(
                State::Unknown,
                "the kernels of both ends do not say",
                Some("use Linux 5.16 or later at one of them"),
            ),
            (Some(true), _) | (_, Some(true)) => used(client.subflows.len().max(server.subflows.len())),
        }
    }
}

/// Of a connection that is MPTCP.
fn used(subflows: usize) -> Verdict {
    if subflows > 1 {
        return Verdict::new(State::Mptcp, format!("the connection had {subflows} subflows"), None);
    }
    let set = "tell the client's kernel its other address, as root (`ip mptcp endpoint add ADDRESS dev IFACE \
               subflow`, `ip mptcp limits set subflows 2`), and give that address a route to the server";
    let because = "the connection had one subflow, so one path carried everything";
    Verdict::new(State::Mptcp, because, Some(set))
}

/// Why a connection is TCP, as far as that can be known.
fn fallback(client: &Sample, server: &Sample) -> Verdict {
    let around = "let the middlebox pass TCP's option 30, or go round it by a tunnel (`ropewalk up`)";
    let (because, set) = match (server.lacks, client.asked, server.asked) {
        (Some(Lack::Kernel), ..) => {
            ("the kernel of the other end has no MPTCP", "run a kernel with CONFIG_MPTCP there")
        }
        (Some(Lack::SwitchedOff), ..) => (
            "MPTCP is switched off at the other end (the sysctl net.mptcp.enabled is 0)",
            "as root there, `sysctl -w net.mptcp.enabled=1`; then start `ropewalk probe --serve` again",
        ),
        (Some(Lack::Listener), ..) => (
            "the server of the other end listens by TCP, since it got no MPTCP when it was started",
            "start `ropewalk probe --serve` there again; IPv6 needs a kernel with CONFIG_MPTCP_IPV6",
        ),
        (None, Some(false), _) => (
            "this machine did not ask for MPTCP: its kernel stops asking for a while after SYNs with MPTCP's \
             option were lost",
            "find out who drops such SYNs; as root here, `sysctl -w net.mptcp.blackhole_timeout=0` makes the \
             kernel ask always",
        ),
        (None, _, Some(false)) => (
            "the SYN came to the other end without MPTCP's option: a middlebox took it out, or drops SYNs that have it",
            around,
        ),
        (None, ..) => ("both ends have MPTCP; probably a middlebox took MPTCP's options out", around),
    };
    Verdict::new(State::Fallback, because, Some(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(is_mptcp: Option<bool>, subflows: u16) -> Sample {
        let at = |port: u16| SocketAddr::from(([192, 0, 2, 1], port));
        let subflows = (1..=subflows).map(|n| Subflow { local: at(n), remote: at(0), bytes: 9 }).collect();
        Sample { is_mptcp, subflows, ..Sample::default() }
    }

    fn verdict(client: Sample, server: Sample) -> Verdict {
        Run::new(1.0, client, Some(server)).verdict
    }

    #[test]
    fn subflows_make_the_difference() {
        let two = verdict(sample(Some(true), 2), sample(Some(true), 1));
        assert_eq!((two.state, two.because.as_str()), (State::Mptcp, "the connection had 2 subflows"));
        assert_eq!(two.set, None);
        // One end's word is enough where the other's kernel is old.
        for (client, server) in [(Some(true), Some(true)), (Some(true), None), (None, Some(true))] {
            let one = verdict(sample(client, 0), sample(server, 0));
            assert_eq!(one.state, State::Mptcp);
            assert!(one.set.unwrap().contains("ip mptcp endpoint add"), "{one:?}");
        }
        assert_eq!(verdict(sample(None, 0), sample(None, 0)).state, State::Unknown);
        let silent = Run::new(1.0, sample(Some(false), 0), None).verdict;
        assert!(silent.state == State::Unknown && silent.because.contains("does not say"), "{silent:?}");
    }

    #[test]
    fn the_cause_of_a_fallback_is_named() {
        let tcp = |lacks, asked| Sample { lacks, asked, ..sample(Some(false), 0) };
        for (client, server, words) in [
            (tcp(None, Some(true)), tcp(Some(Lack::Kernel), None), "the other end has no MPTCP"),
            (tcp(None, Some(true)), tcp(Some(Lack::SwitchedOff), Some(false)), "switched off at the other"),
            (tcp(None, Some(true)), tcp(Some(Lack::Listener), Some(false)), "listens by TCP"),
            (tcp(None, Some(false)), tcp(None, Some(false)), "this machine did not ask"),
            (tcp(None, Some(true)), tcp(None, Some(false)), "the SYN came to the other end without"),
            (tcp(None, Some(true)), tcp(None, Some(true)), "probably a middlebox"),
            (sample(Some(true), 1), tcp(None, Some(true)), "one end has MPTCP and the other has TCP"),
        ] {
            let found = verdict(client, server);
            assert_eq!(found.state, State::Fallback, "{found:?}");
            assert!(found.because.contains(words), "{found:?}");
        }
    }

    #[test]
    fn a_closing_connection_keeps_its_subflows_and_a_fallback_counts() {
        let mut seen = sample(Some(true), 1);
        seen.update(sample(Some(true), 2));
        seen.update(sample(Some(true), 0));
        assert_eq!(seen.subflows.len(), 2);
        seen.update(sample(Some(false), 0));
        assert_eq!((seen.is_mptcp, seen.subflows.len()), (Some(false), 0));
    }

    #[test]
    fn what_an_end_says_has_a_place_in_a_line() {
        let at: SocketAddr = "[2001:db8:1111:2222:3333:4444:5555:6666]:65535".parse().unwrap();
        let subflow = Subflow { local: at, remote: at, bytes: u64::MAX };
        let most = Sample { subflows: vec![subflow; 16], ..sample(Some(true), 0) };
        let line = serde_json::to_string(&most).unwrap();
        assert!(line.len() < super::super::wire::MAX_LINE as usize - 1024, "{}", line.len());
        assert_eq!(serde_json::from_str::<Sample>(&line).unwrap(), most);
    }
}
