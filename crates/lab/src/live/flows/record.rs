//! What a flow has got so far, shared between the thread that carries it and whoever asks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ropewalk_air::Time;
use ropewalk_sim::measure::{FlowCounts, FlowRecord};

use ropewalk_net::tcp_info::{SubflowInfo, TcpInfo};

/// Sums of a subflow at the end that sends data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubflowCounts {
    /// As the kernel told it last.
    pub info: SubflowInfo,
    /// Round trips in sum, µs, and how many were looked at.
    pub rtt: (u64, u64),
}

/// A flow's figures.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// What the simulator keeps of a flow, too.
    pub record: FlowRecord,
    /// What the kernel counts of connections: segments, repetitions, timeouts.
    pub kernel: FlowCounts,
    /// MPTCP: its subflows.
    pub subflows: Vec<SubflowCounts>,
    /// The largest receive window that the sender saw lately, bytes, if the scenario gives it one.
    pub window: Option<u32>,
    /// What makes its figures worth nothing, a sentence each.
    pub faults: Vec<String>,
}

impl Figures {
    /// All counters.
    pub(super) fn counts(&self) -> FlowCounts {
        let FlowCounts { sent, retransmissions, timeouts, .. } = self.kernel;
        let own = self.record.counts;
        FlowCounts {
            sent: own.sent + sent,
            retransmissions: own.retransmissions + retransmissions,
            timeouts: own.timeouts + timeouts,
            ..own
        }
    }

    /// Notes a fault, once.
    pub(super) fn fault(&mut self, sentence: String) {
        if !self.faults.contains(&sentence) {
            self.faults.push(sentence);
        }
    }

    /// A look at a TCP connection's round trip and window.
    pub(super) fn on_tcp(&mut self, info: &TcpInfo) {
        if !info.rtt.is_zero() {
            self.record.on_rtt(info.rtt);
        }
        self.record.on_window(u64::from(info.cwnd) * u64::from(info.mss));
    }

    /// A look at an MPTCP connection's subflows.
    pub(super) fn on_subflows(&mut self, now: Vec<SubflowInfo>) {
        for info in now {
            self.on_tcp(&info.tcp);
            let same = |s: &&mut SubflowCounts| (s.info.local, s.info.remote) == (info.local, info.remote);
            let rtt = (info.tcp.rtt.as_micros() as u64, 1);
            match self.subflows.iter_mut().find(same) {
                Some(known) => {
                    *known = SubflowCounts { info, rtt: (known.rtt.0 + rtt.0, known.rtt.1 + rtt.1) };
                }
                None => self.subflows.push(SubflowCounts { info, rtt }),
            }
        }
    }
}

/// Figures that several threads see.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<Figures>);

impl Shared {
    /// Looks or writes; never for long.
    pub(super) fn lock(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The flow has begun.
    pub(super) fn started(&self, now: Time) {
        self.lock().record.started.get_or_insert(now);
    }
}
