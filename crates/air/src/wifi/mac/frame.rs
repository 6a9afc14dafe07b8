//! Frames as the model knows them: what kind, from whom to whom, how long. Bytes are written only by a monitor's file.

use super::progress::Progress;
use crate::Time;
use crate::wifi::phy::{Rate, Standard, duration};

/// To nobody in particular: a group address.
pub(crate) const GROUP: u16 = u16::MAX;

/// FCS (9.2.4.8).
const FCS_BYTES: u32 = 4;
/// Header of a data frame with three addresses (9.3.2.1), without and with QoS control.
const DATA_HEADER_BYTES: u32 = 24;
const QOS_HEADER_BYTES: u32 = 26;
/// LLC and SNAP in front of an IP packet (802.2, RFC 1042).
pub(crate) const LLC_BYTES: u32 = 8;
/// Destination, source and length in front of each packet of an A-MSDU (9.3.2.2.2).
pub(crate) const AMSDU_HEADER_BYTES: u32 = 14;
/// A PS-Poll (9.3.1.5).
pub(crate) const PS_POLL_BYTES: u32 = 20;
/// A CF-End (9.3.1.6).
const CF_END_BYTES: u32 = 20;
/// Bodies of management frames, with the information elements that access points of today send.
const AUTHENTICATION_BYTES: u32 = 6;
const DEAUTHENTICATION_BYTES: u32 = 2;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data, to one receiver or to a group.
    Data,
    /// Announces the power management bit, and carries nothing.
    Null,
    Ack,
    BlockAck {
        start: u16,
        bitmap: u64,
    },
    BlockAckRequest {
        start: u16,
    },
    Rts,
    Cts,
    CfEnd,
    PsPoll,
    Beacon,
    Authentication,
    AssociationRequest,
    AssociationResponse,
    Deauthentication,
}

impl Kind {
    /// Whether it is addressed, acknowledged and retried like data.
    pub(crate) fn is_management(self) -> bool {
        matches!(
            self,
            Kind::Authentication
                | Kind::AssociationRequest
                | Kind::AssociationResponse
                | Kind::Deauthentication
        )
    }
}

/// One MPDU of a PPDU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) seq: u16,
    /// Where it begins in the PSDU, and how long it is.
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) retry: bool,
}

/// What a radio has on the air, or had last.
#[derive(Debug, Clone)]
pub(crate) struct Ppdu {
    pub(crate) kind: Kind,
    /// Interfaces; the receiver may be [`GROUP`].
    pub(crate) from: u16,
    pub(crate) to: u16,
    /// The sender's peer, for frames that have one.
    pub(crate) peer: u32,
    pub(crate) category: u8,
    pub(crate) rate: Rate,
    /// What its Duration field promises: until when the medium is taken.
    pub(crate) nav_until: Time,
    pub(crate) psdu_bytes: u32,
    /// MPDUs that can be lost one by one. One for everything but A-MPDUs.
    pub(crate) parts: Vec<Part>,
    /// An A-MPDU that asks for a Block Ack.
    pub(crate) aggregate: bool,
    /// What has come of it so far.
    pub(crate) progress: Progress,
    /// The power management bit, and More Data.
    pub(crate) power_management: bool,
    pub(crate) more_data: bool,
    /// Counts the PPDUs of the run, so that subframes of one know each other.
    pub(crate) number: u32,
}

impl Ppdu {
    pub(crate) fn none(rate: Rate) -> Ppdu {
        Ppdu {
            kind: Kind::Cts,
            from: GROUP,
            to: GROUP,
            peer: 0,
            category: 0,
            rate,
            nav_until: Time::ZERO,
            psdu_bytes: 0,
            parts: Vec::new(),
            aggregate: false,
            progress: Progress::default(),
            power_management: false,
            more_data: false,
            number: 0,
        }
    }

    /// Makes it a frame of one part.
    pub(crate) fn set_single(&mut self, seq: u16, bytes: u32, retry: bool) {
        self.psdu_bytes = bytes;
        self.parts.clear();
        self.parts.push(Part { seq, offset: 0, bytes, retry });
        self.aggregate = false;
    }
}

/// An MPDU around a frame body, header and FCS included.
pub(crate) fn data_mpdu_bytes(body_bytes: u32, qos: bool) -> u32 {
    body_bytes + FCS_BYTES + if qos { QOS_HEADER_BYTES } else { DATA_HEADER_BYTES }
}

/// A control or management frame's length, bytes. Data and beacons have their own.
pub(crate) fn frame_bytes(kind: Kind, standard: Standard) -> u32 {
    let management = |body| DATA_HEADER_BYTES + body + FCS_BYTES;
    match kind {
        Kind::Ack | Kind::Cts => duration::ACK_BYTES,
        Kind::Rts => duration::RTS_BYTES,
        Kind::BlockAck { .. } => duration::BLOCK_ACK_BYTES,
        Kind::BlockAckRequest { .. } => duration::BLOCK_ACK_REQUEST_BYTES,
        Kind::PsPoll => PS_POLL_BYTES,
        Kind::CfEnd => CF_END_BYTES,
        Kind::Null | Kind::Data => data_mpdu_bytes(0, standard.has_aggregation()),
        Kind::Authentication => management(AUTHENTICATION_BYTES),
        Kind::Deauthentication => management(DEAUTHENTICATION_BYTES),
        Kind::AssociationRequest => management(4 + elements_bytes(standard)),
        Kind::AssociationResponse => management(6 + elements_bytes(standard)),
        Kind::Beacon => management(12 + 5 + 6 + 3 + elements_bytes(standard)),
    }
}

/// SSID of 8 letters, supported rates, RSN, WMM, and HT or VHT elements (9.4.2).
fn elements_bytes(standard: Standard) -> u32 {
    const COMMON: u32 = 10 + 10 + 22 + 26;
    const HT: u32 = 28 + 24 + 10;
    const VHT: u32 = 14 + 7;
    match standard {
        Standard::A | Standard::B | Standard::G => COMMON,
        Standard::N => COMMON + HT,
        Standard::Ac => COMMON + HT + VHT,
        // Beacons of 60 GHz carry capability, operation and scheduling elements of about this size.
        Standard::Ad => COMMON + 19 + 10,
    }
}

/// `a` − `b` in 12-bit sequence numbers, −2048 to 2047.
pub(crate) fn seq_diff(a: u16, b: u16) -> i32 {
    let d = i32::from(a.wrapping_sub(b) & 0xfff);
    if d >= 2048 { d - 4096 } else { d }
}

/// The sequence number `n` after `seq`.
pub(crate) fn seq_add(seq: u16, n: u16) -> u16 {
    seq.wrapping_add(n) & 0xfff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap_at_4096() {
        assert_eq!((seq_add(4095, 1), seq_diff(0, 4095), seq_diff(4095, 0), seq_diff(7, 7)), (0, 1, -1, 0));
        assert_eq!((seq_diff(2047, 0), seq_diff(2048, 0)), (2047, -2048));
    }

    #[test]
    fn a_packet_of_1500_bytes_is_1536_or_1538_long() {
        let body = 1500 + LLC_BYTES;
        assert_eq!((data_mpdu_bytes(body, false), data_mpdu_bytes(body, true)), (1536, 1538));
    }
}
