//! Station statistics of any Wi-Fi driver, over generic netlink (`linux/nl80211.h`).
//!
//! Read are the stations of an interface (`GET_STATION`: counters, rates, signal, and per traffic identifier what waits in mac80211's own queues), the channel
//! that is in use (`GET_SURVEY`: how long it was on and busy) and the interface (`GET_INTERFACE`: frequency and width). The kernel counts a packet as sent when
//! the driver takes it, so `delivered` is what was sent less what is known to have failed, and what is in the hardware counts as delivered.

pub(crate) mod message;

use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NetlinkPayload};
use netlink_packet_generic::GenlMessage;

use super::counter::Wide;
use super::{Channel, Events, FeedbackError, LinkFeedback, LinkReport, Source, Station, index_of};
use crate::genl::Family;
use crate::netlink::Netlink;
use message::{Command, StationInfo};

/// Between two readings at least: the kernel's answer costs tens of microseconds.
const FASTEST: Duration = Duration::from_millis(2);
/// For how long a channel is told as it was: people look at it and no engine does, and it costs two
/// answers more.
const CHANNEL_HOLDS: Duration = Duration::from_millis(100);

/// A station's counters, made wide.
#[derive(Debug, Default)]
struct Counted {
    mac: [u8; 6],
    /// When it joined, as the kernel tells: another time, other counters.
    joined: u64,
    sent: Wide,
    failed: Wide,
    retries: Wide,
    received: Wide,
    /// The most that was told as delivered.
    delivered: u64,
}

/// A Wi-Fi interface.
pub(crate) struct Nl80211 {
    netlink: Netlink<GenlMessage<Command>>,
    family: u16,
    index: u32,
    every: Duration,
    /// The stations that are there; the kernel forgets who leaves, and so do we.
    stations: Vec<Counted>,
    totals: Totals,
    /// The channel, and when it was asked for.
    channel: Option<(Channel, Instant)>,
}

impl Nl80211 {
    pub(crate) fn open(interface: &str, every: Duration) -> Result<Nl80211, FeedbackError> {
        let index = index_of(interface)?;
        let family = family()?;
        let mut source = Nl80211 {
            netlink: Netlink::open_generic()?,
            family,
            index,
            every: every.max(FASTEST),
            stations: Vec::new(),
            totals: Totals::default(),
            channel: None,
        };
        if source.ask(message::GET_INTERFACE, NLM_F_ACK).is_err() {
            let sentence = format!("{interface} is not a Wi-Fi interface");
            return Err(FeedbackError::unsupported(Source::Nl80211, sentence));
        }
        Ok(source)
    }

    fn ask(&mut self, command: u8, flags: u16) -> std::io::Result<Vec<Command>> {
        let request = Command::about(command, self.index);
        let mut request = GenlMessage::from_payload(request);
        request.set_resolved_family_id(self.family);
        let answers = self.netlink.ask(request, flags)?;
        Ok(answers.into_iter().map(|answer| answer.payload).collect())
    }

    /// What its radio is and can do, in parts.
    fn radio(&mut self) -> std::io::Result<Vec<Command>> {
        let mut request = GenlMessage::from_payload(Command::about_radio(self.index));
        request.set_resolved_family_id(self.family);
        let parts = self.netlink.ask(request, NLM_F_DUMP)?;
        Ok(parts.into_iter().map(|part| part.payload).collect())
    }

    /// Centre of the primary channel that the radio is on now, MHz.
    pub(crate) fn centre_mhz(&mut self) -> Option<u32> {
        let interface = self.ask(message::GET_INTERFACE, NLM_F_ACK).ok()?;
        interface.first().map(|i| i.channel().frequency_mhz).filter(|mhz| *mhz > 0)
    }

    /// The channel; each part as far as the driver tells it.
    fn channel(&mut self) -> Channel {
        if let Some((channel, asked)) = self.channel
            && asked.elapsed() < CHANNEL_HOLDS
        {
            return channel;
        }
        let interface = self.ask(message::GET_INTERFACE, NLM_F_ACK).unwrap_or_default();
        let mut channel = interface.first().map(Command::channel).unwrap_or_default();
        let surveys = self.ask(message::GET_SURVEY, NLM_F_DUMP).unwrap_or_default();
        if let Some((frequency_mhz, load)) = surveys.iter().find_map(Command::survey_in_use) {
            channel.frequency_mhz = frequency_mhz;
            channel.load = load;
        }
        self.channel = Some((channel, Instant::now()));
        channel
    }
}

impl LinkFeedback for Nl80211 {
    fn source(&self) -> Source {
        Source::Nl80211
    }

    fn read(&mut self) -> Result<LinkReport, FeedbackError> {
        let answers = match self.ask(message::GET_STATION, NLM_F_DUMP) {
            // A driver that tells of no stations.
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Vec::new(),
            answers => answers.map_err(|_| FeedbackError::Gone(Source::Nl80211))?,
        };
        let infos: Vec<StationInfo> = answers.iter().filter_map(Command::station).collect();
        self.stations.retain(|c| infos.iter().any(|info| info.mac == c.mac));
        let Nl80211 { stations, totals, .. } = self;
        let stations = infos.iter().map(|info| count(stations, totals, info)).collect();
        let report = sum(totals, stations);
        Ok(LinkReport { channel: Some(self.channel()), ..report })
    }

    fn events(&self) -> Events<'_> {
        Events::Every(self.every)
    }
}

/// What a radio is, as far as it matters who shares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radio {
    /// The kernel's number: interfaces with the same one are on the same radio.
    pub number: u32,
    /// It can be station and access point at once, which few can on two channels and many on one.
    pub is_station_beside_ap: bool,
}

impl Radio {
    /// The radio of an interface; `None` if it has none, or is not there.
    pub fn of(interface: &str) -> Option<Radio> {
        let parts = Nl80211::open(interface, FASTEST).ok()?.radio().ok()?;
        let is_station_beside_ap = parts.iter().any(Command::has_station_beside_ap);
        let number = parts.iter().find_map(Command::radio)?;
        Some(Radio { number, is_station_beside_ap })
    }
}

/// The RTS threshold of an interface's radio, bytes; `u32::MAX`: none. `None` if it has no radio.
pub(crate) fn rts_threshold(interface: &str) -> Option<u32> {
    let mut source = Nl80211::open(interface, FASTEST).ok()?;
    source.radio().ok()?.iter().find_map(Command::rts_threshold)
}

/// Whether an interface is on a channel without 802.11n, and so sends no aggregates.
pub(crate) fn is_without_ht(interface: &str) -> bool {
    let asked =
        Nl80211::open(interface, FASTEST).map(|mut source| source.ask(message::GET_INTERFACE, NLM_F_ACK));
    asked.is_ok_and(|answers| answers.is_ok_and(|all| all.iter().any(Command::is_without_ht)))
}

/// Sets the RTS threshold of an interface's radio, bytes.
pub(crate) fn set_rts_threshold(interface: &str, bytes: u32) -> std::io::Result<()> {
    order(interface, |index| Command::rts_threshold_of(index, bytes))
}

/// How often an interface's radio tries a short frame, an RTS among them, and a long one. `None` if it has no radio.
pub(crate) fn tries(interface: &str) -> Option<(u8, u8)> {
    let mut source = Nl80211::open(interface, FASTEST).ok()?;
    source.radio().ok()?.iter().find_map(Command::tries)
}

/// Sets how often an interface's radio tries a short frame and a long one.
pub(crate) fn set_tries(interface: &str, tries: (u8, u8)) -> std::io::Result<()> {
    order(interface, |index| Command::tries_of(index, tries))
}

fn order(interface: &str, of: impl FnOnce(u32) -> Command) -> std::io::Result<()> {
    let mut source = Nl80211::open(interface, FASTEST).map_err(std::io::Error::other)?;
    let mut request = GenlMessage::from_payload(of(source.index));
    request.set_resolved_family_id(source.family);
    source.netlink.ask(request, NLM_F_ACK).map(drop)
}

/// The number that this kernel gave to nl80211.
fn family() -> Result<u16, FeedbackError> {
    let none = || FeedbackError::unsupported(Source::Nl80211, "this kernel has no Wi-Fi");
    Family::find("nl80211")?.map(|family| family.id).ok_or_else(none)
}

/// What all stations add up to, those that have left included.
#[derive(Debug, Default)]
struct Totals {
    delivered: u64,
    failed: u64,
    retries: u64,
}

/// Adds what a station says to what was known of it, and to the totals.
fn count(all: &mut Vec<Counted>, totals: &mut Totals, info: &StationInfo) -> Station {
    let place = all.iter().position(|c| c.mac == info.mac).unwrap_or_else(|| {
        all.push(Counted { mac: info.mac, ..Counted::default() });
        all.len() - 1
    });
    let c = &mut all[place];
    let anew = c.joined != info.joined;
    c.joined = info.joined;
    c.sent.update(info.tx_packets, anew);
    c.received.update(info.rx_packets, anew);
    totals.failed += c.failed.update(info.tx_failed, anew);
    totals.retries += c.retries.update(info.tx_retries, anew);
    // A failure is told after the packet was counted as sent: what was told as delivered stays so.
    let delivered = c.delivered.max(c.sent.total().saturating_sub(c.failed.total()));
    totals.delivered += delivered - c.delivered;
    c.delivered = delivered;
    Station {
        mac: info.mac,
        signal_dbm: info.signal_dbm.map(f64::from),
        tx_rate_bps: info.tx_rate_bps,
        rx_rate_bps: info.rx_rate_bps,
        expected_bps: info.expected_bps,
        inactive: info.inactive,
        delivered,
        delivered_bytes: info.tx_bytes,
        failed: c.failed.total(),
        retries: c.retries.total(),
        received: c.received.total(),
        received_bytes: info.rx_bytes,
        backlog_packets: info.backlog_packets,
        backlog_bytes: info.backlog_bytes,
        airtime_tx: info.airtime_tx,
        airtime_rx: info.airtime_rx,
    }
}

/// The interface's figures out of those of its stations now.
fn sum(totals: &Totals, stations: Vec<Station>) -> LinkReport {
    LinkReport {
        epoch: 0,
        delivered: totals.delivered,
        failed: totals.failed,
        retries: totals.retries,
        backlog_packets: stations.iter().flat_map(|s| s.backlog_packets).sum(),
        backlog_bytes: stations.iter().map(|s| s.backlog_bytes).sum(),
        tx_rate_bps: stations.iter().map(|s| s.tx_rate_bps).max().unwrap_or(0),
        channel: None,
        stations,
    }
}

/// Reads a message in every way; for the fuzzer.
pub(crate) fn read_any(bytes: &[u8]) {
    for message in crate::netlink::messages::<GenlMessage<Command>>(bytes) {
        if let NetlinkPayload::InnerMessage(GenlMessage { payload: c, .. }) = message.payload {
            let _ = (c.is_without_ht(), c.rts_threshold(), c.tries(), c.radio(), c.has_station_beside_ap());
            let _ = (c.station(), c.channel(), c.survey_in_use(), c.stations_at_once());
            crate::wifi::read_any(&c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(mac: u8, joined: u64, sent: u32, failed: u32) -> StationInfo {
        StationInfo {
            mac: [2, 0, 0, 0, 0, mac],
            joined,
            tx_packets: sent,
            tx_failed: failed,
            ..StationInfo::default()
        }
    }

    #[test]
    fn totals_never_fall_whoever_comes_goes_and_fails() {
        let (mut all, mut totals) = (Vec::new(), Totals::default());
        let mut read = |infos: &[StationInfo]| {
            all.retain(|c: &Counted| infos.iter().any(|i| i.mac == c.mac));
            let stations = infos.iter().map(|i| count(&mut all, &mut totals, i)).collect();
            let report = sum(&totals, stations);
            (report.delivered, report.failed)
        };
        assert_eq!(read(&[info(1, 5, 10, 0)]), (10, 0));
        assert_eq!(
            read(&[info(1, 5, 12, 4)]),
            (10, 4),
            "of twelve sent eight are delivered, ten were said to be"
        );
        assert_eq!(read(&[info(1, 5, 20, 4), info(2, 6, 7, 0)]), (23, 4));
        assert_eq!(read(&[info(2, 6, 8, 0)]), (24, 4), "the first has left");
        assert_eq!(read(&[info(2, 9, 3, 1)]), (26, 5), "the second has joined anew: three sent, one failed");
        assert_eq!(read(&[info(2, 9, 30, 1)]), (26 + 27, 5));
    }
}
