//! The state of radios and interfaces.

use std::collections::VecDeque;

use super::frame::{Kind, Ppdu};
use super::queue::Bounds;
use super::station::Station;
use super::switch::Switch;
use crate::Time;
use crate::wifi::api::Mac;
use crate::wifi::medium::TuningId;
use crate::wifi::phy::{Band, Rate, Timing, Width, duration};
use crate::wifi::spec::{ApSpec, RadioSpec, StationSpec};

/// Counters of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RadioStats {
    /// PPDUs sent, answers included.
    pub ppdus_sent: u64,
    /// Time that they took, ns.
    pub airtime_tx_ns: u64,
    /// Time that the medium was busy here, own transmissions included, ns: channel load is this over the time passed.
    pub busy_ns: u64,
    /// Frames heard in order, whoever they were for.
    pub frames_heard: u64,
    /// Frames heard broken: header in order, then not an MPDU.
    pub frames_broken: u64,
    /// Frames whose preamble was noticed and whose header was not decoded.
    pub headers_broken: u64,
    /// Awaited answers (CTS, ACK, Block Ack) that did not come.
    pub answers_missing: u64,
    /// RTS sent.
    pub rts_sent: u64,
}

/// Where an exchange stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    None,
    Rts,
    AwaitCts,
    /// The CTS has come: the data follow.
    GotCts,
    Data,
    AwaitAck,
    AwaitBlockAck,
    Bar,
    AwaitBarAnswer,
    /// Something that nobody answers.
    Unanswered,
    Beacon,
    /// One exchange is over; another may follow in the same transmit opportunity.
    Continue,
    /// An exchange within a transmit opportunity has failed; after PIFS of silence the next may follow (10.23.2.8).
    Recover {
        since: Time,
    },
    /// The rest of a transmit opportunity is given back.
    CfEnd,
}

/// The exchange that a radio has going.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) step: Step,
    pub(crate) category: usize,
    pub(crate) peer: u32,
    /// End of the transmit opportunity; the grant's time if it has no limit.
    pub(crate) txop_end: Time,
    /// Something of this transmit opportunity has been answered already.
    pub(crate) continued: bool,
    /// Place in the rate chain.
    pub(crate) stage: usize,
    /// Interface of the beacon.
    pub(crate) iface: u16,
}

/// What a radio is to send a SIFS after a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) kind: Kind,
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) rate: Rate,
    /// The end that it announces.
    pub(crate) nav_until: Time,
    pub(crate) width: Width,
}

/// Something that is not in a hurry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chore {
    /// An access point's beacon is due.
    Beacon(u16),
    /// MPDUs have waited long for one that does not come.
    FlushReorder { peer: u32, category: u8 },
    /// An RTS set the NAV: did anything follow?
    NavAfterRts { since: Time },
    /// A station has listened, or tried to join, long enough.
    Join { iface: u16, attempt: u32 },
    /// A station asks itself whether its access point is still there.
    Watch { iface: u16, attempt: u32 },
    /// An announced channel switch happens.
    Switch,
    /// The radio has settled on its new channel.
    Tuned,
    /// A sweep of sectors has ended.
    Trained,
}

/// A radio's MAC.
#[derive(Debug)]
pub(crate) struct Radio {
    pub(crate) spec: RadioSpec,
    pub(crate) band: Band,
    pub(crate) sifs_ns: u64,
    pub(crate) slot_ns: u64,
    pub(crate) basic: Vec<Rate>,
    pub(crate) lowest: Rate,
    pub(crate) up: bool,
    /// Limits of transmit opportunities by category, ns; 0: one exchange.
    pub(crate) txop_ns: [u64; 4],
    /// Tunings of frames of 20, 40 and 80 MHz (one for others).
    pub(crate) tunings: [TuningId; 3],
    /// Peers with something to send, by category, in turn.
    pub(crate) ready: [VecDeque<u32>; 4],
    /// Beacons that wait for access.
    pub(crate) beacons: VecDeque<u16>,
    pub(crate) exchange: Exchange,
    pub(crate) reply: Option<Reply>,
    /// The interface whose exchange or transmit opportunity set the NAV last.
    pub(crate) nav_holder: u16,
    /// What is on the air is an answer, not a step of the exchange.
    pub(crate) replying: bool,
    /// On the air, or last there.
    pub(crate) ppdu: Ppdu,
    /// What follows the CTS.
    pub(crate) planned: Ppdu,
    /// Most bytes of a PPDU by rate, 0 until asked for.
    pub(crate) most_bytes: Vec<u32>,
    pub(crate) ifaces: Vec<u16>,
    pub(crate) chores: Vec<(Time, Chore)>,
    /// A switch that its beacons announce, or that it follows.
    pub(crate) switch: Option<Switch>,
    pub(crate) stats: RadioStats,
}

impl Radio {
    pub(crate) fn new(spec: RadioSpec, timing: &Timing, tunings: [TuningId; 3]) -> Radio {
        let band = spec.channel.band();
        let lowest = Rate::lowest(spec.standard, band);
        let ns = |d: core::time::Duration| d.as_nanos() as u64;
        let exchange = Exchange {
            step: Step::None,
            category: 0,
            peer: 0,
            txop_end: Time::ZERO,
            continued: false,
            stage: 0,
            iface: 0,
        };
        Radio {
            band,
            sifs_ns: ns(timing.sifs),
            slot_ns: ns(timing.slot),
            basic: duration::default_basic_rates(spec.standard, band),
            lowest,
            up: true,
            txop_ns: spec.edca_params().map(|p| ns(p.txop)),
            tunings,
            ready: Default::default(),
            beacons: VecDeque::new(),
            exchange,
            reply: None,
            nav_holder: super::frame::GROUP,
            replying: false,
            ppdu: Ppdu::none(lowest),
            planned: Ppdu::none(lowest),
            most_bytes: vec![0; Rate::COUNT],
            ifaces: Vec::new(),
            chores: Vec::new(),
            switch: None,
            stats: RadioStats::default(),
            spec,
        }
    }

    /// The tuning of a frame of this width in the radio's channel.
    pub(crate) fn tuning(&self, width: Width) -> TuningId {
        match width {
            Width::Mhz20 => self.tunings[0],
            Width::Mhz40 => self.tunings[1],
            Width::Mhz80 | Width::Mhz2160 => self.tunings[2],
        }
    }

    /// The radio works on another channel.
    pub(crate) fn set_tunings(&mut self, tunings: [TuningId; 3]) {
        self.tunings = tunings;
        self.most_bytes.fill(0);
    }

    /// How long a PPDU takes, ns.
    pub(crate) fn ppdu_ns(&self, rate: Rate, bytes: u32) -> u64 {
        duration::ppdu(rate, bytes, self.band).as_nanos() as u64
    }

    /// The rate of the answer to a frame at `rate`.
    /// The rate of a control frame that begins an exchange, before data at this rate: RTS and Block Ack requests.
    pub(crate) fn control_rate(&self, rate: Rate) -> Rate {
        self.spec.control_rate.unwrap_or_else(|| self.answer_rate(rate))
    }

    pub(crate) fn answer_rate(&self, rate: Rate) -> Rate {
        duration::response_rate(rate, &self.basic)
    }

    /// The most bytes that a PPDU at this rate may carry, by format, time and the radio's own limits.
    pub(crate) fn most_bytes(&mut self, rate: Rate) -> u32 {
        let known = &mut self.most_bytes[rate.index()];
        if *known == 0 {
            let within = duration::psdu_bytes_within(rate, self.spec.aggregation.ppdu, self.band);
            *known = within.min(self.spec.aggregation.ampdu_bytes).max(1);
        }
        *known
    }

    /// What bounds this radio's MPDUs.
    pub(crate) fn bounds(&self, qos: bool) -> Bounds {
        let ht = self.spec.standard == crate::wifi::phy::Standard::N;
        Bounds {
            qos,
            amsdu_bytes: self.spec.aggregation.amsdu_bytes,
            mpdu_bytes: if ht { duration::MAX_HT_AMPDU_MPDU_BYTES } else { 11_454 },
        }
    }
}

/// An interface.
#[derive(Debug)]
pub(crate) struct Iface {
    pub(crate) radio: u16,
    pub(crate) mac: Mac,
    pub(crate) role: Role,
    /// Who it knows: (interface there, index of the peer), sorted.
    pub(crate) peers: Vec<(u16, u32)>,
    /// Sequence numbers of frames without a counter of their own: non-QoS, group and management (10.3.2.14.2). One for all
    /// receivers, so gaps seen by one of them are not losses.
    pub(crate) next_seq: u16,
    /// Packets in its queues.
    pub(crate) queued: usize,
    /// Packets taken and not completed.
    pub(crate) outstanding: usize,
}

/// What an interface is, with its state.
#[derive(Debug)]
pub(crate) enum Role {
    /// With the number of its beacons so far.
    AccessPoint(ApSpec, u32),
    Station(StationSpec, Station),
    Mesh(String),
}

impl Iface {
    /// The peer that is interface `other`.
    #[inline]
    pub(crate) fn peer(&self, other: u16) -> Option<usize> {
        let place = self.peers.binary_search_by_key(&other, |&(id, _)| id).ok()?;
        Some(self.peers[place].1 as usize)
    }
}
