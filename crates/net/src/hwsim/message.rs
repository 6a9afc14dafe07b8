//! Messages of the family `MAC80211_HWSIM` as bytes.

use crate::genl::{attributes, nla};
use crate::netlink::{self, HEADER};

pub(super) const FAMILY: &str = "MAC80211_HWSIM";
pub(super) const REGISTER: u8 = 1;
const FRAME: u8 = 2;
const TX_INFO_FRAME: u8 = 3;
pub(super) const NEW_RADIO: u8 = 4;

const ADDR_RECEIVER: u16 = 1;
const ADDR_TRANSMITTER: u16 = 2;
const ATTR_FRAME: u16 = 3;
const FLAGS: u16 = 4;
const RX_RATE: u16 = 5;
const SIGNAL: u16 = 6;
const TX_INFO: u16 = 7;
const COOKIE: u16 = 8;
pub(super) const CHANNELS: u16 = 9;
pub(super) const REG_CUSTOM_REG: u16 = 12;
pub(super) const DESTROY_RADIO_ON_CLOSE: u16 = 16;
pub(super) const RADIO_NAME: u16 = 17;
pub(super) const NO_VIF: u16 = 18;
const FREQ: u16 = 19;
const TX_INFO_FLAGS: u16 = 21;
pub(super) const PERM_ADDR: u16 = 22;

/// `HWSIM_TX_CTL_NO_ACK` and `HWSIM_TX_STAT_ACK`.
const CTL_NO_ACK: u32 = 1 << 1;
const STAT_ACK: u32 = 1 << 2;

/// `IEEE80211_TX_MAX_RATES`.
const RATES: usize = 4;
/// A frame that mac80211 makes for a radio without VHT is no longer (802.11-2020, 9.2.4.8.1).
const MAX_FRAME_BYTES: usize = 4091;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;

/// One step of a frame's series of rates (`struct hwsim_tx_rate` and `hwsim_tx_rate_flag`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRate {
    /// Number of a rate of the radio's band, or of an MCS; below 0: the series ends before it.
    pub index: i8,
    /// How often it is tried.
    pub tries: u8,
    /// What else is said of it.
    pub flags: RateFlags,
}

impl TxRate {
    /// The end of a series.
    pub const NONE: TxRate = TxRate { index: -1, tries: 0, flags: RateFlags(0) };
}

/// `MAC80211_HWSIM_TX_RC_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateFlags(pub u16);

impl RateFlags {
    /// RTS and CTS go before each try.
    pub fn rts(self) -> bool {
        self.0 & 1 != 0
    }

    /// The index is an MCS of 802.11n or 802.11ac.
    pub fn is_mcs(self) -> bool {
        self.0 & (1 << 3 | 1 << 8) != 0
    }
}

/// A frame that a radio sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// The radio, by its permanent address.
    pub radio: [u8; 6],
    /// From Frame Control on, without the FCS: 10 to 4091 bytes.
    pub bytes: Vec<u8>,
    /// Nobody is to acknowledge it.
    pub no_ack: bool,
    /// Centre of the channel, MHz.
    pub frequency_mhz: u32,
    /// The series of rates.
    pub rates: [TxRate; RATES],
    /// By what the kernel knows it.
    pub cookie: u64,
}

/// A frame that arrives at a radio.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The radio, by its permanent address.
    pub radio: [u8; 6],
    /// The frame.
    pub bytes: &'a [u8],
    /// Number of the rate in the band.
    pub rate_index: u32,
    /// Received power, dBm.
    pub signal_dbm: i8,
    /// Centre of the channel, MHz.
    pub frequency_mhz: u32,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug)]
pub struct TxStatus {
    /// The radio that sent it, by its permanent address.
    pub radio: [u8; 6],
    /// From [`SentFrame::cookie`].
    pub cookie: u64,
    /// Its receiver has acknowledged it.
    pub acknowledged: bool,
    /// From [`SentFrame::no_ack`].
    pub no_ack: bool,
    /// Its rates, with the tries that were made.
    pub rates: [TxRate; RATES],
    /// Received power of the acknowledgement, dBm.
    pub signal_dbm: i8,
}

/// A message: header of netlink, header of generic netlink, attributes.
pub(super) fn message(
    (family, sequence, flags): (u16, u32, u16),
    command: u8,
    attributes: &[Vec<u8>],
) -> Vec<u8> {
    let length = HEADER + 4 + attributes.iter().map(Vec::len).sum::<usize>();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(family.to_ne_bytes());
    bytes.extend((flags | 1).to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend([command, 1, 0, 0]);
    attributes.iter().for_each(|a| bytes.extend(a));
    bytes
}

pub(super) fn delivery(family: u16, d: &Delivery<'_>) -> Vec<u8> {
    let attributes = [
        nla(ADDR_RECEIVER, &d.radio),
        nla(ATTR_FRAME, d.bytes),
        nla(RX_RATE, &d.rate_index.to_ne_bytes()),
        nla(SIGNAL, &i32::from(d.signal_dbm).to_ne_bytes()),
        nla(FREQ, &d.frequency_mhz.to_ne_bytes()),
    ];
    message((family, 0, 0), FRAME, &attributes)
}

pub(super) fn status(family: u16, s: &TxStatus) -> Vec<u8> {
    let flags = if s.no_ack { CTL_NO_ACK } else { 0 } | if s.acknowledged { STAT_ACK } else { 0 };
    let attributes = [
        nla(ADDR_TRANSMITTER, &s.radio),
        nla(FLAGS, &flags.to_ne_bytes()),
        nla(COOKIE, &s.cookie.to_ne_bytes()),
        nla(SIGNAL, &i32::from(s.signal_dbm).to_ne_bytes()),
        nla(TX_INFO, &s.rates.map(|r| [r.index as u8, r.tries]).concat()),
    ];
    message((family, 0, 0), TX_INFO_FRAME, &attributes)
}

/// The messages of a datagram: type, sequence number, and what is behind the header.
fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    netlink::split(datagram).filter_map(|message| {
        let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
        let sequence = u32::from_ne_bytes(*message.get(8..)?.first_chunk()?);
        Some((kind, sequence, message.get(HEADER..)?))
    })
}

/// The frames of a datagram that are whole.
pub(super) fn frames(datagram: &[u8], family: u16) -> impl Iterator<Item = SentFrame> {
    let of_family = messages(datagram).filter(move |(kind, ..)| *kind == family);
    of_family.filter(|(.., body)| body.first() == Some(&FRAME)).filter_map(|(.., body)| frame(body.get(4..)?))
}

fn frame(bytes: &[u8]) -> Option<SentFrame> {
    let (mut radio, mut frame, mut flags, mut frequency) = (None, None, None, None);
    let (mut rates, mut cookie, mut rate_flags) = (None, None, &[][..]);
    let u32_of = |value: &[u8]| value.first_chunk().map(|b| u32::from_ne_bytes(*b));
    for (kind, value) in attributes(bytes) {
        match kind {
            ADDR_TRANSMITTER => radio = value.first_chunk().copied(),
            ATTR_FRAME => frame = Some(value).filter(|f| (10..=MAX_FRAME_BYTES).contains(&f.len())),
            FLAGS => flags = u32_of(value),
            FREQ => frequency = u32_of(value),
            TX_INFO => rates = value.first_chunk::<{ 2 * RATES }>(),
            TX_INFO_FLAGS => rate_flags = value,
            COOKIE => cookie = value.first_chunk().map(|b| u64::from_ne_bytes(*b)),
            _ => {}
        }
    }
    let rates = rates?;
    let rate = |n: usize| TxRate {
        index: rates[2 * n] as i8,
        tries: rates[2 * n + 1],
        // Index, then flags, packed: three bytes each.
        flags: RateFlags(
            rate_flags.get(3 * n + 1..).and_then(|f| f.first_chunk()).map_or(0, |f| u16::from_ne_bytes(*f)),
        ),
    };
    Some(SentFrame {
        radio: radio?,
        bytes: frame?.to_vec(),
        no_ack: flags? & CTL_NO_ACK != 0,
        frequency_mhz: frequency?,
        rates: std::array::from_fn(rate),
        cookie: cookie?,
    })
}

/// The kernel's answer to the request with this number: below 0 an error.
pub(super) fn answer(datagram: &[u8], sequence: u32) -> Option<i32> {
    let (.., body) = messages(datagram).find(|(kind, number, _)| (*kind, *number) == (ERROR, sequence))?;
    body.first_chunk().map(|b| i32::from_ne_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: u16 = 0x1c;

    /// A null-function frame of Linux 6.1, written by hand from `mac80211_hwsim_tx_frame_nl`.
    fn vector() -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0];
        bytes.extend([10, 0, 2, 0, 0x42, 0, 0, 0, 1, 0, 0, 0]);
        bytes.extend([
            28, 0, 3, 0, 0x48, 1, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0x30, 0,
        ]);
        bytes.extend([8, 0, 4, 0, 3, 0, 0, 0]);
        bytes.extend([8, 0, 19, 0, 0x85, 9, 0, 0]);
        bytes.extend([12, 0, 7, 0, 11, 2, 4, 3, 0xff, 0, 0xff, 0]);
        bytes.extend([16, 0, 21, 0, 11, 0, 0, 4, 1, 0, 0xff, 0, 0, 0xff, 0, 0]);
        bytes.extend([4, 0, 20, 0, 12, 0, 8, 0, 0x15, 0, 0, 0, 0, 0, 0, 0]);
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_frame_of_the_kernels_is_read() {
        let all: Vec<SentFrame> = frames(&vector(), ID).collect();
        let [frame] = &all[..] else { panic!("{all:?}") };
        assert_eq!((frame.radio, frame.bytes.len(), frame.bytes[0]), ([0x42, 0, 0, 0, 1, 0], 24, 0x48));
        assert_eq!((frame.no_ack, frame.frequency_mhz, frame.cookie), (true, 2437, 0x15));
        let rate = |index, tries, flags| TxRate { index, tries, flags: RateFlags(flags) };
        assert_eq!(frame.rates, [rate(11, 2, 0), rate(4, 3, 1), TxRate::NONE, TxRate::NONE]);
        assert!(frame.rates[1].flags.rts() && !frame.rates[0].flags.rts() && !frame.rates[0].flags.is_mcs());
        // Another family's, and another command.
        assert_eq!(frames(&vector(), ID + 1).count(), 0);
        let mut other = vector();
        other[16] = TX_INFO_FRAME;
        assert_eq!(frames(&other, ID).count(), 0);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn what_lacks_something_is_no_frame() {
        let whole = vector();
        // Each attribute but the flags of rates is needed; under another kind it is missing.
        for (kind, is_needed) in
            [(2u8, true), (3, true), (4, true), (19, true), (7, true), (21, false), (8, true)]
        {
            let mut at = 20;
            let mut bytes = whole.clone();
            while at < bytes.len() {
                let length = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
                if bytes[at + 2] == kind {
                    bytes[at + 2] = 99;
                }
                at += length.next_multiple_of(4);
            }
            assert_eq!(frames(&bytes, ID).count(), usize::from(!is_needed), "{kind}");
        }
        assert_eq!((0..whole.len()).find(|n| frames(&whole[..*n], ID).count() > 0), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn what_is_told_has_the_kernels_form() {
        let bytes = delivery(
            ID,
            &Delivery {
                radio: [2, 0, 0, 0, 0, 1],
                bytes: &[8, 0, 7],
                rate_index: 5,
                signal_dbm: -61,
                frequency_mhz: 2437,
            },
        );
        let mut expected = vec![72, 0, 0, 0, 0x1c, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0];
        expected
            .extend([10, 0, 1, 0, 2, 0, 0, 0, 0, 1, 0, 0, 7, 0, 3, 0, 8, 0, 7, 0, 8, 0, 5, 0, 5, 0, 0, 0]);
        expected.extend([8, 0, 6, 0, 0xc3, 0xff, 0xff, 0xff, 8, 0, 19, 0, 0x85, 9, 0, 0]);
        expected[0] = expected.len() as u8;
        assert_eq!(bytes, expected);
        let rates =
            [TxRate { index: 11, tries: 2, flags: RateFlags(0) }, TxRate::NONE, TxRate::NONE, TxRate::NONE];
        let told = TxStatus {
            radio: [2, 0, 0, 0, 0, 1],
            cookie: 0x15,
            acknowledged: true,
            no_ack: false,
            rates,
            signal_dbm: -50,
        };
        let bytes = status(ID, &told);
        assert_eq!(bytes[16], TX_INFO_FRAME);
        let find = |kind| crate::genl::find(&bytes[20..], kind).unwrap();
        assert_eq!((find(FLAGS), find(COOKIE)), (&[4, 0, 0, 0][..], &[0x15, 0, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(find(TX_INFO), [11, 2, 0xff, 0, 0xff, 0, 0xff, 0]);
        assert_eq!(find(SIGNAL), (-50i32).to_le_bytes());
        let unacknowledged = status(ID, &TxStatus { acknowledged: false, no_ack: true, ..told });
        assert_eq!(crate::genl::find(&unacknowledged[20..], FLAGS).unwrap(), [2, 0, 0, 0]);
    }

    #[test]
    fn answers_are_those_to_the_question() {
        let answer_to = |sequence: u32, code: i32| {
            let mut bytes = 36u32.to_ne_bytes().to_vec();
            bytes.extend(ERROR.to_ne_bytes());
            bytes.extend([0; 2]);
            bytes.extend(sequence.to_ne_bytes());
            bytes.extend([0; 4]);
            bytes.extend(code.to_ne_bytes());
            bytes.resize(36, 0);
            bytes
        };
        let both = [answer_to(6, -16), answer_to(7, 3)].concat();
        assert_eq!((answer(&both, 6), answer(&both, 7), answer(&both, 8)), (Some(-16), Some(3), None));
        assert_eq!(answer(&both[..30], 6), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..200) {
            super::super::read_any(&bytes);
            let mut damaged = vector();
            let length = damaged.len();
            for (n, byte) in bytes.iter().take(3).enumerate() {
                damaged[(cut + 31 * n) % length] ^= byte;
            }
            for frame in frames(&damaged, ID) {
                prop_assert!((10..=MAX_FRAME_BYTES).contains(&frame.bytes.len()));
            }
        }
    }
}
