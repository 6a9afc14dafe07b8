//! Echo requests (RFC 792, RFC 4443) from inside a namespace: round-trip times without a `ping` program.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, recvfrom, sendto, socket_with,
};

use crate::{LabError, Namespace, Result};

/// What a run of echo requests is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// Whom to ask.
    pub target: IpAddr,
    /// How many times, up to 65535.
    pub count: u16,
    /// How often.
    pub interval: Duration,
    /// How long to wait for the last answers.
    pub timeout: Duration,
    /// Bytes of data in each request; 56, as ping sends.
    pub payload: usize,
}

impl Ping {
    /// Ten requests, 20 ms apart, with 2 s for the last answer.
    pub fn new(target: IpAddr) -> Ping {
        let (interval, timeout) = (Duration::from_millis(20), Duration::from_secs(2));
        Ping { target, count: 10, interval, timeout, payload: 56 }
    }

    /// The same so many times.
    pub fn count(self, count: u16) -> Ping {
        Ping { count, ..self }
    }

    /// The same so often.
    pub fn interval(self, interval: Duration) -> Ping {
        Ping { interval, ..self }
    }

    /// The same with so many bytes of data.
    pub fn payload(self, payload: usize) -> Ping {
        Ping { payload, ..self }
    }

    /// The same with so long for the last answers.
    pub fn timeout(self, timeout: Duration) -> Ping {
        Ping { timeout, ..self }
    }

    /// Sends the requests from `namespace` and collects the answers.
    pub fn run(&self, namespace: &Namespace) -> Result<PingReport> {
        let socket =
            namespace.run(|| open(self.target))?.map_err(LabError::kernel("open a raw ICMP socket"))?;
        Run::new(*self, socket).work().map_err(LabError::kernel(format!("ping {}", self.target)))
    }

    /// The same in the background; `join` gives the report.
    pub fn start(self, namespace: &Namespace) -> JoinHandle<Result<PingReport>> {
        let namespace = namespace.clone();
        std::thread::spawn(move || self.run(&namespace))
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PingReport {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub received: u64,
    /// Second and further answers.
    pub duplicates: u64,
    /// The round trip of each answered request, shortest first.
    pub round_trips: Vec<Duration>,
}

impl PingReport {
    /// The round trip that a share (0 to 1) of the answers does not exceed; zero without answers.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (share * self.round_trips.len() as f64).ceil() as usize;
        self.round_trips.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The middle round trip.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

fn open(target: IpAddr) -> rustix::io::Result<OwnedFd> {
    let (family, protocol) = match target {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, Some(protocol))
}

/// Requests under way.
struct Run {
    ping: Ping,
    socket: OwnedFd,
    identifier: u16,
    sent_at: Vec<Instant>,
    answered: Vec<bool>,
    report: PingReport,
}

impl Run {
    fn new(ping: Ping, socket: OwnedFd) -> Run {
        // Tells our answers from those of others in the same namespace.
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let identifier = (std::process::id() as u16).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        Run { ping, socket, identifier, sent_at: vec![], answered: vec![], report: PingReport::default() }
    }

    fn work(mut self) -> rustix::io::Result<PingReport> {
        let begin = Instant::now();
        for number in 0..self.ping.count {
            self.listen(begin + self.ping.interval * u32::from(number), false)?;
            self.send(number)?;
        }
        self.listen(Instant::now() + self.ping.timeout, true)?;
        self.report.round_trips.sort_unstable();
        Ok(self.report)
    }

    fn send(&mut self, number: u16) -> rustix::io::Result<()> {
        let [id, seq] = [self.identifier, number].map(u16::to_be_bytes);
        let kind = if self.ping.target.is_ipv4() { 8 } else { 128 };
        let mut packet = vec![kind, 0, 0, 0, id[0], id[1], seq[0], seq[1]];
        packet.resize(8 + self.ping.payload, 0x55);
        if self.ping.target.is_ipv4() {
            let sum = checksum(&packet).to_be_bytes();
            packet[2..4].copy_from_slice(&sum);
        }
        self.sent_at.push(Instant::now());
        self.answered.push(false);
        self.report.sent += 1;
        match sendto(&self.socket, &packet, SendFlags::empty(), &SocketAddr::new(self.ping.target, 0)) {
            // What the network cannot take now is lost, not an error of the run.
            Ok(_)
            | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::NOBUFS | rustix::io::Errno::NETUNREACH) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Collects answers until then, or until all have come if that is `enough`.
    fn listen(&mut self, until: Instant, enough: bool) -> rustix::io::Result<()> {
        let mut buffer = vec![0; 65_536];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || (enough && self.report.received == self.report.sent) {
                return Ok(());
            }
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut waiting = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
            poll(&mut waiting, Some(&timeout))?;
            let now = Instant::now();
            while let Ok((len, _, _)) = recvfrom(&self.socket, &mut buffer, RecvFlags::empty()) {
                self.receive(&buffer[..len], now);
            }
        }
    }

    fn receive(&mut self, packet: &[u8], now: Instant) {
        // An IPv4 raw socket gives the IP header too (raw(7)); an IPv6 one does not.
        let (header, kind) = match self.ping.target {
            IpAddr::V4(_) => (packet.first().map_or(0, |b| usize::from(b & 15) * 4), 0),
            IpAddr::V6(_) => (0, 129),
        };
        let Some(&[answer, _, _, _, id0, id1, seq0, seq1]) = packet.get(header..header + 8) else { return };
        let number = usize::from(u16::from_be_bytes([seq0, seq1]));
        if answer != kind || u16::from_be_bytes([id0, id1]) != self.identifier || number >= self.sent_at.len()
        {
            return;
        }
        if std::mem::replace(&mut self.answered[number], true) {
            self.report.duplicates += 1;
            return;
        }
        self.report.received += 1;
        self.report.round_trips.push(now - self.sent_at[number]);
    }
}

/// The Internet checksum (RFC 1071).
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}
