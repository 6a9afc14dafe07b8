//! TCP and MPTCP as one: a stream that an application reads and writes.

use crate::mptcp::{MptcpConfig, MptcpConnection, SubflowId, SubflowState};
use crate::tcp::{Event, Segment, TcpConfig, TcpEndpoint};
use ropewalk_air::Time;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// What a connection is to be like.
#[derive(Clone, Debug)]
pub enum StreamConfig {
    /// TCP.
    Tcp(TcpConfig),
    /// MPTCP.
    Mptcp(MptcpConfig),
}

impl StreamConfig {
    /// The same with an MSS of at most this.
    pub(super) fn mss_at_most(mut self, most: u16) -> StreamConfig {
        let tcp = match &mut self {
            StreamConfig::Tcp(tcp) => tcp,
            StreamConfig::Mptcp(mptcp) => &mut mptcp.tcp,
        };
        tcp.mss = tcp.mss.min(most);
        self
    }
}

/// Counters of a stream, all subflows together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFigures {
    /// Segments sent, repeated ones included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Round trips in sum.
    pub rtt_sum: Duration,
    /// How many.
    pub rtt_samples: u64,
}

/// Counters of a subflow, at the end that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowCounts {
    /// The end that sends.
    pub local: SocketAddrV4,
    /// The end that receives.
    pub remote: SocketAddrV4,
    /// Bytes that were acknowledged.
    pub bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Round trips in sum, ns.
    pub rtt_ns: u64,
    /// How many.
    pub rtts: u64,
    /// Congestion window now, bytes.
    pub window: u64,
}

impl SubflowCounts {
    /// Adds those of a later subflow.
    fn go_on(&mut self, later: &SubflowCounts) {
        self.bytes += later.bytes;
        self.retransmissions += later.retransmissions;
        self.timeouts += later.timeouts;
        self.rtt_ns += later.rtt_ns;
        self.rtts += later.rtts;
        self.window = later.window;
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(Box<TcpEndpoint>),
    Mptcp(Box<MptcpConnection>),
}

impl Stream {
    pub(super) fn connect(
        config: StreamConfig,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        seed: u64,
    ) -> Stream {
        match config {
            StreamConfig::Tcp(c) => {
                Stream::Tcp(Box::new(TcpEndpoint::connect(c, local, remote, seed as u32)))
            }
            StreamConfig::Mptcp(c) => {
                Stream::Mptcp(Box::new(MptcpConnection::connect(c, local, remote, seed)))
            }
        }
    }

    pub(super) fn accept(config: StreamConfig, seed: u64, now: Time, syn: &Segment) -> Option<Stream> {
        match config {
            StreamConfig::Tcp(c) => {
                TcpEndpoint::accept(c, seed as u32, now, syn).map(|t| Stream::Tcp(Box::new(t)))
            }
            StreamConfig::Mptcp(c) => {
                MptcpConnection::accept(c, seed, now, syn).map(|m| Stream::Mptcp(Box::new(m)))
            }
        }
    }

    pub(super) fn add_subflow(&mut self, local: SocketAddrV4, remote: SocketAddrV4, address_id: u8) {
        if let Stream::Mptcp(m) = self {
            m.add_subflow(local, remote, address_id, false);
        }
    }

    /// Ends the subflow of an own address.
    pub(super) fn remove_subflow(&mut self, address: Ipv4Addr) {
        let Some((id, _)) = self.subflow_at(address) else { return };
        if let Stream::Mptcp(m) = self {
            m.remove_subflow(id);
        }
    }

    /// The subflow of an own address.
    fn subflow_at(&self, address: Ipv4Addr) -> Option<(SubflowId, crate::tcp::ReceiveStats)> {
        let Stream::Mptcp(m) = self else { return None };
        let at = |id| m.addresses(id).is_some_and(|(local, _)| *local.ip() == address);
        m.subflows().find(|s| s.1 != SubflowState::Gone && at(s.0)).map(|s| (s.0, s.2.receive))
    }

    /// The newest round trip that the subflow of an own address measured as a receiver, and how
    /// many it has.
    pub(super) fn rtt_at_receiver(&self, address: Ipv4Addr) -> Option<(Duration, u64)> {
        self.subflow_at(address).map(|(_, stats)| (stats.rtt, stats.rtt_samples))
    }

    /// Makes the subflow of an own address a backup, or no backup; false if there is none.
    pub(super) fn set_backup(&mut self, address: Ipv4Addr, backup: bool) -> bool {
        let Some((id, _)) = self.subflow_at(address) else { return false };
        if let Stream::Mptcp(m) = self {
            m.set_backup(id, backup);
        }
        true
    }

    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment) {
        match self {
            Stream::Tcp(t) => t.on_segment(now, segment),
            // A segment of no subflow is dropped, as a host without such a socket would.
            Stream::Mptcp(m) => {
                m.on_segment(now, segment);
            }
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        match self {
            Stream::Tcp(t) => t.on_timer(now),
            Stream::Mptcp(m) => m.on_timer(now),
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        match self {
            Stream::Tcp(t) => t.next_timeout(),
            Stream::Mptcp(m) => m.next_timeout(),
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        match self {
            Stream::Tcp(t) => t.poll_transmit(now),
            Stream::Mptcp(m) => m.poll_transmit(now),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self {
            Stream::Tcp(t) => t.poll_event(),
            Stream::Mptcp(m) => m.poll_event(),
        }
    }

    /// Takes everything that can be read.
    pub(super) fn read(&mut self, now: Time) -> u64 {
        match self {
            Stream::Tcp(t) if t.readable() > 0 => t.read(now, u64::MAX),
            Stream::Mptcp(m) if m.readable() > 0 => m.read(u64::MAX),
            _ => 0,
        }
    }

    /// Offers bytes; gives how many were taken: those that the send buffer has room for.
    pub(super) fn write(&mut self, bytes: u64) -> u64 {
        match self {
            Stream::Tcp(t) => t.write(bytes),
            Stream::Mptcp(m) => m.write(bytes),
        }
    }

    pub(super) fn close(&mut self) {
        match self {
            Stream::Tcp(t) => t.close(),
            Stream::Mptcp(m) => m.close(),
        }
    }

    /// Ends at once.
    pub(super) fn abort(&mut self) {
        match self {
            Stream::Tcp(t) => t.abort(),
            Stream::Mptcp(m) => {
                let all: Vec<_> = m.subflows().filter(|s| s.1 != SubflowState::Gone).map(|s| s.0).collect();
                all.into_iter().for_each(|s| m.remove_subflow(s));
            }
        }
    }

    pub(super) fn figures(&self) -> StreamFigures {
        let add = |f: StreamFigures, s: crate::tcp::SendStats| StreamFigures {
            segments: f.segments + s.segments,
            retransmissions: f.retransmissions + s.retransmits,
            timeouts: f.timeouts + s.timeouts,
            rtt_sum: f.rtt_sum + s.rtt_sum,
            rtt_samples: f.rtt_samples + s.rtt_samples,
        };
        match self {
            Stream::Tcp(t) => add(StreamFigures::default(), t.stats().send),
            Stream::Mptcp(m) => m.subflows().fold(StreamFigures::default(), |f, s| add(f, s.2.send)),
        }
    }

    /// Congestion window, bytes, of an end of TCP whose data are acknowledged.
    pub(super) fn window_bytes(&self) -> Option<u64> {
        let Stream::Tcp(t) = self else { return None };
        let stats = t.stats();
        (stats.acknowledged_bytes > 0).then_some(stats.window_bytes)
    }

    /// Longest payload that Linux hands to a device at once: what the flow sends in 1/1024 s at 1.2 times its window in a round trip, and two segments at least
    /// (`tcp_tso_autosize`; longer ones in slow start and over round trips of microseconds are left out). A subflow of MPTCP has no bound here.
    pub(super) fn super_packet_bytes(&self) -> u32 {
        let Stream::Tcp(t) = self else { return u32::MAX };
        let stats = t.stats();
        let srtt = stats.srtt.as_secs_f64();
        if srtt <= 0.0 {
            return u32::MAX;
        }
        (stats.window_bytes as f64 * 1.2 / srtt / 1024.0) as u32
    }

    pub(super) fn subflows(&self) -> Vec<SubflowCounts> {
        let Stream::Mptcp(m) = self else { return Vec::new() };
        let counts = |(id, _, s): (SubflowId, SubflowState, crate::tcp::TcpStats)| {
            let (local, remote) = m.addresses(id)?;
            Some(SubflowCounts {
                local,
                remote,
                bytes: s.acknowledged_bytes,
                retransmissions: s.send.retransmits,
                timeouts: s.send.timeouts,
                rtt_ns: s.send.rtt_sum.as_nanos() as u64,
                rtts: s.send.rtt_samples,
                window: s.window_bytes,
            })
        };
        // One that came again between the same addresses goes on with the counts of the last.
        let mut all: Vec<SubflowCounts> = Vec::new();
        for counts in m.subflows().filter_map(counts) {
            match all.iter_mut().find(|c| (c.local, c.remote) == (counts.local, counts.remote)) {
                Some(former) => former.go_on(&counts),
                None => all.push(counts),
            }
        }
        all
    }
}
