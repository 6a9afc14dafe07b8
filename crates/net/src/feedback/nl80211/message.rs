//! Messages of nl80211, as much of them as is read here. Attributes are those of `linux/nl80211.h`; what a driver does not tell is 0 or none, and what is
//! not known here is passed over.

use std::time::Duration;

use super::super::{Channel, Load};
pub(crate) use crate::genl::Raw as Command;
use crate::genl::{attributes, find, nla, u32_of};

pub(crate) const GET_WIPHY: u8 = 1;
const SET_WIPHY: u8 = 2;
pub(crate) const GET_INTERFACE: u8 = 5;
pub(crate) const GET_STATION: u8 = 17;
pub(super) const GET_SURVEY: u8 = 50;

const ATTR_WIPHY: u16 = 1;
const ATTR_IFINDEX: u16 = 3;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_WIPHY_FREQ: u16 = 38;
const ATTR_WIPHY_RETRY_SHORT: u16 = 61;
const ATTR_WIPHY_RETRY_LONG: u16 = 62;
const ATTR_WIPHY_RTS_THRESHOLD: u16 = 64;
const ATTR_SURVEY_INFO: u16 = 84;
const ATTR_INTERFACE_COMBINATIONS: u16 = 120;
const ATTR_CHANNEL_WIDTH: u16 = 159;
const ATTR_SPLIT_WIPHY_DUMP: u16 = 174;

/// `enum nl80211_sta_info`.
mod sta {
    pub(super) const INACTIVE_TIME: u16 = 1;
    pub(super) const SIGNAL: u16 = 7;
    pub(super) const TX_BITRATE: u16 = 8;
    pub(super) const RX_PACKETS: u16 = 9;
    pub(super) const TX_PACKETS: u16 = 10;
    pub(super) const TX_RETRIES: u16 = 11;
    pub(super) const TX_FAILED: u16 = 12;
    pub(super) const RX_BITRATE: u16 = 14;
    pub(super) const RX_BYTES64: u16 = 23;
    pub(super) const TX_BYTES64: u16 = 24;
    pub(super) const EXPECTED_THROUGHPUT: u16 = 27;
    pub(super) const BEACON_RX: u16 = 29;
    pub(super) const TID_STATS: u16 = 31;
    pub(super) const RX_DURATION: u16 = 32;
    pub(super) const TX_DURATION: u16 = 39;
    pub(super) const ASSOC_AT_BOOTTIME: u16 = 42;
}

const RATE_BITRATE: u16 = 1;
const RATE_BITRATE32: u16 = 5;
const TID_TXQ_STATS: u16 = 6;
const TXQ_BACKLOG_BYTES: u16 = 1;
const TXQ_BACKLOG_PACKETS: u16 = 2;
const SURVEY_FREQUENCY: u16 = 1;
const SURVEY_IN_USE: u16 = 3;
const SURVEY_TIME: u16 = 4;
const SURVEY_TIME_BUSY: u16 = 5;

/// `enum nl80211_if_combination_attrs` and `enum nl80211_iface_limit_attrs`.
const COMBINATION_LIMITS: u16 = 1;
const COMBINATION_MAXNUM: u16 = 2;
const COMBINATION_CHANNELS: u16 = 4;
const LIMIT_MAX: u16 = 1;
const LIMIT_TYPES: u16 = 2;
/// `enum nl80211_iftype`, which flags of types are named by.
const TYPE_STATION: u16 = 2;
const TYPE_AP: u16 = 3;

/// Widths by `enum nl80211_chan_width`, MHz.
const WIDTHS_MHZ: [u32; 14] = [20, 20, 40, 80, 160, 160, 5, 10, 1, 2, 4, 8, 16, 320];

/// Access categories by user priority, which is the traffic identifier (802.11-2020, table 10-1): background, best effort, video, voice.
const CATEGORY: [usize; 8] = [1, 0, 0, 1, 2, 2, 3, 3];

/// What the kernel says of a station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StationInfo {
    pub(crate) mac: [u8; 6],
    /// When it joined, ns since the machine started; 0 if unknown.
    pub(crate) joined: u64,
    pub(crate) tx_packets: u32,
    pub(crate) tx_failed: u32,
    pub(crate) tx_retries: u32,
    pub(crate) rx_packets: u32,
    pub(crate) tx_bytes: u64,
    pub(crate) rx_bytes: u64,
    pub(crate) signal_dbm: Option<i8>,
    pub(crate) inactive: Option<Duration>,
    pub(crate) tx_rate_bps: u64,
    pub(crate) rx_rate_bps: u64,
    pub(crate) expected_bps: u64,
    pub(crate) airtime_tx: Option<Duration>,
    pub(crate) airtime_rx: Option<Duration>,
    /// By access category.
    pub(crate) backlog_packets: [u32; 4],
    pub(crate) backlog_bytes: u64,
    /// Beacons that were heard of it, if it is an access point and the driver counts them.
    pub(crate) beacons: Option<u64>,
}

impl Command {
    /// A question about an interface.
    pub(crate) fn about(command: u8, index: u32) -> Command {
        Command::new(command, &[nla(ATTR_IFINDEX, &index.to_ne_bytes())])
    }

    /// A question about the radio of an interface, to be answered in parts: what a radio can do is more than one message holds.
    pub(crate) fn about_radio(index: u32) -> Command {
        let mut question = Command::about(GET_WIPHY, index);
        question.attributes.extend(nla(ATTR_SPLIT_WIPHY_DUMP, &[]));
        question
    }

    /// Of the answer to `GET_INTERFACE`: it is on a channel, and older than 802.11n (`NL80211_CHAN_WIDTH_20_NOHT`).
    pub(crate) fn is_without_ht(&self) -> bool {
        attributes(&self.attributes).any(|(kind, value)| kind == ATTR_CHANNEL_WIDTH && u32_of(value) == 0)
    }

    /// An order: the RTS threshold of the interface's radio, bytes.
    pub(crate) fn rts_threshold_of(index: u32, bytes: u32) -> Command {
        let mut order = Command::about(SET_WIPHY, index);
        order.attributes.extend(nla(ATTR_WIPHY_RTS_THRESHOLD, &bytes.to_ne_bytes()));
        order
    }

    /// Of a part of the answer to `GET_WIPHY`: the RTS threshold, bytes.
    pub(crate) fn rts_threshold(&self) -> Option<u32> {
        self.get(ATTR_WIPHY_RTS_THRESHOLD).map(u32_of)
    }

    /// An order: how often the interface's radio tries a short frame, an RTS among them, and a long one.
    pub(crate) fn tries_of(index: u32, (short, long): (u8, u8)) -> Command {
        let mut order = Command::about(SET_WIPHY, index);
        for (kind, tries) in [(ATTR_WIPHY_RETRY_SHORT, short), (ATTR_WIPHY_RETRY_LONG, long)] {
            order.attributes.extend(nla(kind, &[tries]));
        }
        order
    }

    /// Of a part of the answer to `GET_WIPHY`: how often a short frame is tried, and a long one.
    pub(crate) fn tries(&self) -> Option<(u8, u8)> {
        let of = |wanted| self.get(wanted).and_then(|value| value.first().copied());
        Some((of(ATTR_WIPHY_RETRY_SHORT)?, of(ATTR_WIPHY_RETRY_LONG)?))
    }

    /// Of any answer: the number of its radio.
    pub(crate) fn radio(&self) -> Option<u32> {
        self.get(ATTR_WIPHY).map(u32_of)
    }

    /// Of a part of the answer to `GET_WIPHY`: whether it has a combination of interfaces that holds a station and an access point.
    pub(crate) fn has_station_beside_ap(&self) -> bool {
        let all = attributes(&self.attributes).filter(|(kind, _)| *kind == ATTR_INTERFACE_COMBINATIONS);
        all.flat_map(|(_, combinations)| attributes(combinations)).any(|(_, one)| allows_both(one))
    }

    /// Of a part of the answer to `GET_WIPHY`: the most stations of a combination of interfaces, and on how many channels these may be.
    pub(crate) fn stations_at_once(&self) -> Option<(u32, u32)> {
        let combinations = self.get(ATTR_INTERFACE_COMBINATIONS)?;
        attributes(combinations).map(|(_, one)| stations_of(one)).max()
    }

    /// The answer to `GET_STATION`.
    pub(crate) fn station(&self) -> Option<StationInfo> {
        let (mac, info) = (self.get(ATTR_MAC)?, self.get(ATTR_STA_INFO)?);
        let mut station = StationInfo { mac: *mac.first_chunk()?, ..StationInfo::default() };
        attributes(info).for_each(|(kind, value)| station.take(kind, value));
        Some(station)
    }

    /// The answer to `GET_INTERFACE`.
    pub(crate) fn channel(&self) -> Channel {
        let mut channel = Channel::default();
        for (kind, value) in attributes(&self.attributes) {
            match kind {
                ATTR_WIPHY_FREQ => channel.frequency_mhz = u32_of(value),
                ATTR_CHANNEL_WIDTH => {
                    channel.width_mhz = WIDTHS_MHZ.get(u32_of(value) as usize).copied().unwrap_or(0);
                }
                _ => {}
            }
        }
        channel
    }

    /// Frequency and load of the answer to `GET_SURVEY` that is about the channel in use.
    pub(crate) fn survey_in_use(&self) -> Option<(u32, Option<Load>)> {
        let survey = self.get(ATTR_SURVEY_INFO)?;
        let (mut frequency, mut in_use, mut on, mut busy) = (0, false, None, None);
        for (kind, value) in attributes(survey) {
            match kind {
                SURVEY_FREQUENCY => frequency = u32_of(value),
                SURVEY_IN_USE => in_use = true,
                SURVEY_TIME => on = Some(Duration::from_millis(u64_of(value))),
                SURVEY_TIME_BUSY => busy = Some(Duration::from_millis(u64_of(value))),
                _ => {}
            }
        }
        let load = on.zip(busy).map(|(observed, busy)| Load { observed, busy });
        in_use.then_some((frequency, load))
    }
}

impl StationInfo {
    fn take(&mut self, kind: u16, value: &[u8]) {
        match kind {
            sta::INACTIVE_TIME => self.inactive = Some(Duration::from_millis(u32_of(value).into())),
            // A signed byte in an unsigned one.
            sta::SIGNAL => self.signal_dbm = value.first().map(|dbm| *dbm as i8),
            sta::TX_BITRATE => self.tx_rate_bps = rate_bps(value),
            sta::RX_BITRATE => self.rx_rate_bps = rate_bps(value),
            sta::RX_PACKETS => self.rx_packets = u32_of(value),
            sta::TX_PACKETS => self.tx_packets = u32_of(value),
            sta::TX_RETRIES => self.tx_retries = u32_of(value),
            sta::TX_FAILED => self.tx_failed = u32_of(value),
            sta::RX_BYTES64 => self.rx_bytes = u64_of(value),
            sta::TX_BYTES64 => self.tx_bytes = u64_of(value),
            sta::EXPECTED_THROUGHPUT => self.expected_bps = u64::from(u32_of(value)) * 1000,
            sta::RX_DURATION => self.airtime_rx = Some(Duration::from_micros(u64_of(value))),
            sta::TX_DURATION => self.airtime_tx = Some(Duration::from_micros(u64_of(value))),
            sta::ASSOC_AT_BOOTTIME => self.joined = u64_of(value),
            sta::BEACON_RX => self.beacons = Some(u64_of(value)),
            sta::TID_STATS => self.take_backlog(value),
            _ => {}
        }
    }

    /// Nested by traffic identifier plus one; 17 is what has none.
    fn take_backlog(&mut self, tids: &[u8]) {
        for (number, tid) in attributes(tids) {
            let Some(queue) = find(tid, TID_TXQ_STATS) else { continue };
            let category = CATEGORY.get(usize::from(number.saturating_sub(1))).copied().unwrap_or(1);
            for (kind, value) in attributes(queue) {
                match kind {
                    TXQ_BACKLOG_PACKETS => {
                        let packets = &mut self.backlog_packets[category];
                        *packets = packets.saturating_add(u32_of(value));
                    }
                    TXQ_BACKLOG_BYTES => self.backlog_bytes += u64::from(u32_of(value)),
                    _ => {}
                }
            }
        }
    }
}

/// How many stations a combination holds, and on how many channels its interfaces may be.
fn stations_of(combination: &[u8]) -> (u32, u32) {
    let of = |wanted| find(combination, wanted);
    let holds_stations = |limit: &&[u8]| {
        find(limit, LIMIT_TYPES).is_some_and(|types| attributes(types).any(|(kind, _)| kind == TYPE_STATION))
    };
    let limits = attributes(of(COMBINATION_LIMITS).unwrap_or_default()).map(|(_, limit)| limit);
    let most = limits.filter(holds_stations).map(|limit| find(limit, LIMIT_MAX).map_or(0, u32_of));
    let most = most.fold(0, u32::saturating_add).min(of(COMBINATION_MAXNUM).map_or(0, u32_of));
    (most, of(COMBINATION_CHANNELS).map_or(1, u32_of))
}

/// Whether one limit of a combination is for a station and another for an access point, or one for two of either kind.
fn allows_both(combination: &[u8]) -> bool {
    let of = |wanted| find(combination, wanted);
    let limits: Vec<(u32, bool, bool)> = attributes(of(COMBINATION_LIMITS).unwrap_or_default())
        .map(|(_, limit)| {
            let of = |wanted| find(limit, wanted);
            let types = of(LIMIT_TYPES).unwrap_or_default();
            let has = |wanted| attributes(types).any(|(kind, _)| kind == wanted);
            (of(LIMIT_MAX).map_or(0, u32_of), has(TYPE_STATION), has(TYPE_AP))
        })
        .collect();
    let apart = |(i, a): (usize, &(u32, bool, bool))| {
        let other = |(j, b): (usize, &(u32, bool, bool))| (i != j && b.0 > 0 || a.0 > 1) && b.2;
        a.0 > 0 && a.1 && limits.iter().enumerate().any(other)
    };
    of(COMBINATION_MAXNUM).is_some_and(|most| u32_of(most) > 1) && limits.iter().enumerate().any(apart)
}

fn u64_of(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |b| u64::from_ne_bytes(*b))
}

/// `struct rate_info`: units of 100 kbit/s; the narrower field is 0 where only the wider can hold the rate.
fn rate_bps(info: &[u8]) -> u64 {
    let of = |wanted| find(info, wanted);
    let narrow = || of(RATE_BITRATE).and_then(|v| v.first_chunk()).map(|b| u32::from(u16::from_ne_bytes(*b)));
    let units = of(RATE_BITRATE32).map(u32_of).or_else(narrow).unwrap_or(0);
    u64::from(units) * 100_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(attributes: &[Vec<u8>]) -> Command {
        Command { command: 19, attributes: attributes.concat() }
    }

    /// The flag that says of an attribute that it holds others (`NLA_F_NESTED`).
    const NESTED: u16 = 1 << 15;

    #[test]
    fn a_station_is_read_from_the_kernels_bytes() {
        let queue =
            [nla(1, &30_000u32.to_ne_bytes()), nla(2, &20u32.to_ne_bytes()), nla(4, &7u32.to_ne_bytes())];
        let tid = |priority: u16| nla(priority + 1, &nla(6 | NESTED, &queue.concat()));
        let info = [
            nla(1, &40u32.to_ne_bytes()),
            nla(7, &[(-61i8) as u8]),
            // 866.7 Mbit/s, MCS 9, 80 MHz, two streams.
            nla(
                8 | NESTED,
                &[
                    nla(1, &8667u16.to_ne_bytes()),
                    nla(5, &8667u32.to_ne_bytes()),
                    nla(6, &[9]),
                    nla(8, &[]),
                    nla(7, &[2]),
                ]
                .concat(),
            ),
            nla(14, &nla(1, &540u16.to_ne_bytes())),
            nla(9, &11u32.to_ne_bytes()),
            nla(10, &1000u32.to_ne_bytes()),
            nla(11, &33u32.to_ne_bytes()),
            nla(12, &5u32.to_ne_bytes()),
            nla(23, &1_100u64.to_ne_bytes()),
            nla(24, &5_000_000_000u64.to_ne_bytes()),
            nla(27, &400_000u32.to_ne_bytes()),
            nla(29, &77u64.to_ne_bytes()),
            nla(
                31 | NESTED,
                &[tid(0), tid(1), tid(6), tid(16), nla(4, &nla(2, &9u64.to_ne_bytes()))].concat(),
            ),
            nla(39, &2_000_000u64.to_ne_bytes()),
            nla(42, &123_456_789_012u64.to_ne_bytes()),
            // Something of a later kernel.
            nla(200, &[1, 2, 3]),
        ];
        let message = answer(&[
            nla(3, &4u32.to_ne_bytes()),
            nla(6, &[2, 0, 0, 0, 1, 0]),
            nla(46, &9u32.to_ne_bytes()),
            nla(21 | NESTED, &info.concat()),
        ]);
        let expected = StationInfo {
            mac: [2, 0, 0, 0, 1, 0],
            joined: 123_456_789_012,
            tx_packets: 1000,
            tx_failed: 5,
            tx_retries: 33,
            rx_packets: 11,
            tx_bytes: 5_000_000_000,
            rx_bytes: 1_100,
            signal_dbm: Some(-61),
            inactive: Some(Duration::from_millis(40)),
            tx_rate_bps: 866_700_000,
            rx_rate_bps: 54_000_000,
            expected_bps: 400_000_000,
            airtime_tx: Some(Duration::from_secs(2)),
            airtime_rx: None,
            backlog_packets: [20, 40, 0, 20],
            backlog_bytes: 120_000,
            beacons: Some(77),
        };
        assert_eq!(message.station(), Some(expected));
    }

    #[test]
    fn the_channel_in_use_is_found_among_surveys() {
        let survey = |more: &[Vec<u8>]| {
            let all = [&[nla(1, &2437u32.to_ne_bytes()), nla(2, &[161])][..], more].concat();
            answer(&[nla(3, &4u32.to_ne_bytes()), nla(84, &all.concat())])
        };
        let times = [nla(4, &1000u64.to_ne_bytes()), nla(5, &250u64.to_ne_bytes())];
        assert_eq!(survey(&times).survey_in_use(), None, "another channel");
        let used = survey(&[&[nla(3, &[])][..], &times].concat());
        let load = Load { observed: Duration::from_secs(1), busy: Duration::from_millis(250) };
        assert_eq!(used.survey_in_use(), Some((2437, Some(load))));
        assert_eq!(survey(&[nla(3, &[])]).survey_in_use(), Some((2437, None)), "a driver without times");
    }

    #[test]
    fn a_radio_tells_whether_it_can_be_station_and_access_point() {
        let flags = |types: &[u16]| types.iter().flat_map(|t| nla(*t, &[])).collect::<Vec<u8>>();
        let limit = |most: u32, types: &[u16]| {
            nla(1, &[nla(1, &most.to_ne_bytes()), nla(2 | NESTED, &flags(types))].concat())
        };
        let radio = |limits: &[Vec<u8>], most: u32| {
            let combination = [nla(1 | NESTED, &limits.concat()), nla(2, &most.to_ne_bytes())].concat();
            let alone = [nla(1 | NESTED, &limit(1, &[TYPE_STATION])), nla(2, &1u32.to_ne_bytes())].concat();
            let all = [nla(1 | NESTED, &alone), nla(2 | NESTED, &combination)].concat();
            answer(&[nla(1, &3u32.to_ne_bytes()), nla(120 | NESTED, &all)])
        };
        let both = [TYPE_STATION, TYPE_AP];
        let (station, ap) = ([TYPE_STATION], [TYPE_AP, 7]);
        for (limits, most, can) in [
            (vec![limit(1, &station), limit(8, &ap)], 9, true),
            (vec![limit(2, &both)], 2, true),
            (vec![limit(1, &both)], 1, false),
            (vec![limit(1, &both)], 2, false),
            (vec![limit(1, &station), limit(8, &ap)], 1, false),
            (vec![limit(4, &station)], 4, false),
            (vec![limit(1, &station), limit(1, &[8])], 2, false),
            (vec![limit(1, &station), limit(0, &ap)], 2, false),
            (vec![], 2, false),
        ] {
            let message = radio(&limits, most);
            assert_eq!(
                (message.radio(), message.has_station_beside_ap()),
                (Some(3), can),
                "{limits:?} {most}"
            );
        }
        let at_once = |limits: &[Vec<u8>], most| radio(limits, most).stations_at_once();
        assert_eq!(at_once(&[limit(4, &station), limit(1, &ap)], 4), Some((4, 1)));
        assert_eq!(at_once(&[limit(2048, &both)], 3), Some((3, 1)), "as many as there may be of all kinds");
        assert_eq!(at_once(&[limit(1, &station), limit(1, &both)], 8), Some((2, 1)));
        assert_eq!(at_once(&[limit(8, &ap)], 8), Some((1, 1)), "the combination of a station alone");
        assert_eq!(answer(&[]).stations_at_once(), None);
        assert_eq!(answer(&[nla(120, &[9; 11])]).stations_at_once(), None);
        assert!(!answer(&[nla(1, &3u32.to_ne_bytes())]).has_station_beside_ap());
        assert!(!answer(&[nla(120, &[9; 11])]).has_station_beside_ap());
    }

    #[test]
    fn a_threshold_for_rts_is_told_and_ordered() {
        let tells = answer(&[nla(1, &0u32.to_ne_bytes()), nla(64, &u32::MAX.to_ne_bytes())]);
        assert_eq!((tells.rts_threshold(), answer(&[]).rts_threshold()), (Some(u32::MAX), None));
        let on = |width: u32| answer(&[nla(159, &width.to_ne_bytes())]).is_without_ht();
        assert_eq!((on(0), on(1), answer(&[]).is_without_ht()), (true, false, false));
        let order = Command::rts_threshold_of(7, 500);
        let wanted = [nla(3, &7u32.to_ne_bytes()), nla(64, &500u32.to_ne_bytes())].concat();
        assert_eq!((order.command, order.attributes), (2, wanted));
    }

    #[test]
    fn how_often_frames_are_tried_is_told_and_ordered() {
        let tells = answer(&[nla(61, &[7]), nla(62, &[4])]);
        assert_eq!((tells.tries(), answer(&[nla(61, &[7])]).tries()), (Some((7, 4)), None));
        assert_eq!(answer(&[nla(61, &[]), nla(62, &[4])]).tries(), None);
        let order = Command::tries_of(7, (14, 13));
        let wanted = [nla(3, &7u32.to_ne_bytes()), nla(61, &[14]), nla(62, &[13])].concat();
        assert_eq!((order.command, order.attributes), (2, wanted));
    }

    #[test]
    fn an_interface_tells_its_width() {
        let channel = answer(&[nla(38, &5180u32.to_ne_bytes()), nla(159, &3u32.to_ne_bytes())]).channel();
        assert_eq!((channel.frequency_mhz, channel.width_mhz), (5180, 80));
        let unknown = answer(&[nla(159, &99u32.to_ne_bytes())]).channel();
        assert_eq!(unknown, Channel::default());
    }

    #[test]
    fn bytes_that_are_no_attributes_are_passed_over() {
        for bytes in [&[][..], &[1], &[0; 7], &[255; 40], &[3, 0, 6, 0], &[12, 0, 6, 0, 1, 2, 3, 4]] {
            let message = Command { command: 19, attributes: bytes.to_vec() };
            assert_eq!(message.station(), None, "{bytes:?}");
            assert_eq!(message.survey_in_use(), None);
            assert_eq!(message.channel(), Channel::default());
        }
        let short = answer(&[
            nla(6, &[2, 0, 0, 0, 1, 0]),
            nla(21, &[nla(10, &[1]), nla(24, &[1, 2]), nla(8, &[9, 9])].concat()),
        ]);
        let station = short.station().unwrap();
        assert_eq!((station.tx_packets, station.tx_bytes, station.tx_rate_bps), (0, 0, 0));
    }

    #[test]
    fn a_question_names_the_interface() {
        let mut expected = vec![];
        expected.extend(8u16.to_ne_bytes());
        expected.extend(3u16.to_ne_bytes());
        expected.extend(7u32.to_ne_bytes());
        assert_eq!(Command::about(GET_STATION, 7), Command { command: 17, attributes: expected.clone() });
        expected.extend(nla(174, &[]));
        assert_eq!(Command::about_radio(7), Command { command: 1, attributes: expected });
    }
}
