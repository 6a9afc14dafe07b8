//! What a link is like.

use core::time::Duration;

use super::{Loss, Trace};

/// How fast packets leave.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Rate {
    /// At once: no packet ever waits.
    #[default]
    Unlimited,
    /// So many bits per second, at least 1.
    Constant {
        /// Bits per second, counted on packet lengths plus [`LinkSpec::overhead_bytes`].
        bps: u64,
    },
    /// As recorded.
    Traced(Trace),
}

impl Rate {
    /// A constant rate in Mb/s (10⁶ bits per second).
    pub fn mbps(mbps: f64) -> Rate {
        Rate::Constant { bps: (mbps * 1e6).round() as u64 }
    }

    /// Bits per second in the mean; none if unlimited.
    pub fn mean_bps(&self) -> Option<u64> {
        match self {
            Rate::Unlimited => None,
            Rate::Constant { bps } => Some(*bps),
            Rate::Traced(trace) => Some(trace.mean_rate_bps()),
        }
    }
}

/// Normally distributed variation of the delay.
///
/// A wire keeps order: a packet never arrives before the one ahead of it. With independent draws (`coherence` zero) a
/// *dense* flow therefore sees the upper envelope of the draws, later than the mean by two or three deviations, and
/// arrives in clumps, as it does on every emulator that draws per packet and keeps order. Sparse packets, further
/// apart than the deviation, see the normal distribution itself. With a coherence of a few deviations the delay wanders
/// instead, and dense flows see mean and deviation as told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jitter {
    /// Standard deviation; the delay never goes below zero.
    pub std_dev: Duration,
    /// Zero: a new draw for each packet. Otherwise a draw each so often, and straight lines between.
    pub coherence: Duration,
}

/// The most that may wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// 100 ms at the link's rate, yet at least 64 KiB. Home routers and modems hold between 50 and 250 ms at the rate
    /// they were built for (DOCSIS 3.1 buffer control aims at 50 ms to 100 ms; Linux's 1000 packets are 240 ms at 50 Mb/s).
    #[default]
    Home,
    /// So many bytes.
    Bytes(u64),
    /// So many packets.
    Packets(usize),
    /// What the link's mean rate carries in this time, yet at least one packet. It follows changes of the rate.
    Time(Duration),
}

/// Active queue management: the parameters of CoDel (RFC 8289, sections 4.2 to 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aqm {
    /// The standing wait that is acceptable; 5 ms is right from 1 Mb/s upwards.
    pub target: Duration,
    /// How long the wait may exceed the target: the longest round trip expected, 100 ms.
    pub interval: Duration,
    /// Mark packets that can be marked instead of dropping them (RFC 3168).
    pub ecn: bool,
}

impl Default for Aqm {
    fn default() -> Aqm {
        Aqm { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

/// How packets wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueSpec {
    /// First in, first out; what does not fit is dropped.
    TailDrop {
        /// The most that waits.
        limit: Limit,
    },
    /// One line under CoDel (RFC 8289).
    Codel {
        /// The most that waits.
        limit: Limit,
        /// Its parameters.
        aqm: Aqm,
    },
    /// Flows take turns, each under CoDel (RFC 8290).
    FqCodel {
        /// The most that waits, in all flows together.
        limit: Limit,
        /// Its parameters.
        aqm: Aqm,
        /// Lines that flows are hashed to, 1 to 65535.
        flows: u16,
        /// Bytes of a turn.
        quantum_bytes: u32,
    },
    /// Classes in strict order, by [`super::Packet::class`]; 0 goes first.
    Strict {
        /// The most that waits in each class.
        limit: Limit,
        /// How many classes, 1 to 255; packets of higher classes join the last.
        bands: u8,
        /// What the last class has at least where others have more to send, bits a second.
        floor_bps: u64,
    },
}

impl QueueSpec {
    /// CoDel with the RFC's parameters and room for 1000 packets.
    pub fn codel() -> QueueSpec {
        QueueSpec::Codel { limit: Limit::Packets(1000), aqm: Aqm::default() }
    }

    /// FQ-CoDel with the parameters of RFC 8290, section 5: 1024 flows, turns of 1514 bytes, 10240 packets.
    pub fn fq_codel() -> QueueSpec {
        let aqm = Aqm { ecn: true, ..Aqm::default() };
        QueueSpec::FqCodel { limit: Limit::Packets(10_240), aqm, flows: 1024, quantum_bytes: 1514 }
    }

    pub(super) fn limit(&self) -> Limit {
        match *self {
            QueueSpec::TailDrop { limit }
            | QueueSpec::Codel { limit, .. }
            | QueueSpec::FqCodel { limit, .. }
            | QueueSpec::Strict { limit, .. } => limit,
        }
    }
}

impl Default for QueueSpec {
    fn default() -> QueueSpec {
        QueueSpec::TailDrop { limit: Limit::Home }
    }
}

/// One direction of a cable. The default is a perfect wire: unlimited, without delay or loss.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkSpec {
    /// How fast packets leave the queue.
    pub rate: Rate,
    /// Bytes that the rate counts for each packet on top of its own length: what the technology below adds.
    /// 0 by default, so that a rate is a rate of IP packets; 38 is Ethernet with preamble and gap.
    pub overhead_bytes: u32,
    /// From the last bit sent to arrival.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Loss on the wire: a lost packet has used the rate.
    pub loss: Loss,
    /// Probability, 0 to 1, that a packet arrives damaged. The model only says so; its driver does the damage.
    pub corruption: f64,
    /// Probability, 0 to 1, that a packet arrives twice.
    pub duplication: f64,
    /// Packets longer than this vanish without a word, as where ICMP is filtered; none: any length passes.
    pub mtu_blackhole: Option<u32>,
    /// What waits for the rate.
    pub queue: QueueSpec,
}

/// Why a link cannot be as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// A constant rate of zero.
    #[error("the rate is 0 bit/s; give a rate above 0, or switch the link down")]
    ZeroRate,
    /// Something that should be a probability.
    #[error("{what} is {value}; give a probability between 0 and 1")]
    NotAProbability {
        /// Of what.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

impl LinkSpec {
    /// A link of `mbps` Mb/s (10⁶ bit/s of IP packets) and `delay` one way; all else as a home router has it.
    pub fn new(mbps: f64, delay: Duration) -> LinkSpec {
        LinkSpec { rate: Rate::mbps(mbps), delay, ..LinkSpec::default() }
    }

    /// The same with random loss of `percent` in a hundred packets.
    pub fn loss_percent(self, percent: f64) -> LinkSpec {
        LinkSpec { loss: Loss::percent(percent), ..self }
    }

    /// The same with normally distributed jitter of this deviation, drawn for each packet.
    pub fn jitter(self, std_dev: Duration) -> LinkSpec {
        LinkSpec { jitter: Jitter { std_dev, coherence: Duration::ZERO }, ..self }
    }

    /// The same with this queue.
    pub fn queue(self, queue: QueueSpec) -> LinkSpec {
        LinkSpec { queue, ..self }
    }

    /// Refuses what no link can be.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.rate.mean_bps() == Some(0) {
            return Err(SpecError::ZeroRate);
        }
        let of_loss = self.loss.probabilities().map(|p| ("loss", p));
        let others = [("corruption", self.corruption), ("duplication", self.duplication)];
        match of_loss.into_iter().chain(others).find(|(_, p)| !(0.0..=1.0).contains(p)) {
            Some((what, value)) => Err(SpecError::NotAProbability { what, value }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_the_impossible() {
        assert_eq!(LinkSpec::new(0.0, Duration::ZERO).check(), Err(SpecError::ZeroRate));
        let spec = LinkSpec::default().loss_percent(120.0);
        assert_eq!(spec.check(), Err(SpecError::NotAProbability { what: "loss", value: 1.2 }));
        let spec = LinkSpec { corruption: f64::NAN, ..LinkSpec::default() };
        assert!(spec.check().is_err());
        assert_eq!(LinkSpec::new(1.0, Duration::ZERO).loss_percent(100.0).check(), Ok(()));
    }
}
