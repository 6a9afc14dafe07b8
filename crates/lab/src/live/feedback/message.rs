//! The messages, byte by byte: docs/guide/link.md has the tables.

use ropewalk_air::wifi::phy::Channel;
use ropewalk_air::wifi::{Mac, PeerStats, RadioStats};

use super::neighbour::Neighbours;

/// What every message begins with.
pub(super) const MAGIC: [u8; 4] = *b"RWLF";
/// The version that is spoken.
pub(super) const VERSION: u16 = 1;
/// A reader asks for states.
pub(super) const SUBSCRIBE: u16 = 1;
const STATE: u16 = 2;
const REFUSAL: u16 = 3;
/// A program that runs an access point wants it to announce another channel.
const SWITCH: u16 = 4;
const DONE: u16 = 5;

const HEADER: usize = 128;
const STATION: usize = 128;
/// Stations in a state; an interface with more tells how many it has, and all their sums.
const STATIONS: usize = 64;
/// The longest message, bytes.
pub(super) const LONGEST: usize = HEADER + STATIONS * STATION;

/// What a reader is told.
pub(super) struct State<'r> {
    pub(super) sequence: u64,
    pub(super) now_ns: u64,
    pub(super) radio: RadioStats,
    pub(super) channel: Channel,
    pub(super) neighbours: &'r Neighbours,
    pub(super) peers: Vec<(Mac, PeerStats)>,
}

impl State<'_> {
    /// Writes it over what is in `out`.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let stations = self.peers.len().min(STATIONS);
        out.clear();
        out.extend(MAGIC);
        for number in
            [VERSION, STATE, HEADER as u16, STATION as u16, stations as u16, self.peers.len() as u16]
        {
            out.extend(number.to_le_bytes());
        }
        let (packets, bytes) = self.neighbours.waiting();
        out.extend(packets.to_le_bytes());
        out.extend([0; 4]);
        let sum = |of: fn(&PeerStats) -> u64| self.peers.iter().map(|(_, p)| of(p)).sum::<u64>();
        for number in [
            self.sequence,
            bytes,
            sum(|p| p.delivered_packets),
            sum(|p| p.failed_packets),
            sum(|p| p.expired_packets),
            sum(|p| p.dropped_packets),
            sum(|p| p.retries),
            self.neighbours.tx_rate_bps,
            sum(|p| p.airtime_tx_ns),
            self.radio.busy_ns,
            self.now_ns,
        ] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.channel.primary_mhz().to_le_bytes());
        out.extend(self.channel.width().mhz().to_le_bytes());
        out.extend(sum(|p| p.delivered_bytes).to_le_bytes());
        self.peers.iter().take(stations).for_each(|(mac, peer)| self.station(*mac, peer, out));
    }

    fn station(&self, mac: Mac, peer: &PeerStats, out: &mut Vec<u8>) {
        let known = self.neighbours.get(mac);
        let heard = known.and_then(|n| n.heard);
        out.extend(mac.0);
        out.extend(u16::from(heard.is_some()).to_le_bytes());
        out.extend(known.map_or(0, |n| n.signal_mdbm).to_le_bytes());
        out.extend([0; 4]);
        for number in [
            known.map_or(0, |n| n.tx_rate_bps),
            known.map_or(0, |n| n.rx_rate_bps),
            heard.map_or(0, |at| self.now_ns.saturating_sub(at.as_nanos())),
            peer.delivered_packets,
            peer.delivered_bytes,
            peer.failed_packets + peer.expired_packets + peer.dropped_packets,
            peer.retries,
            peer.received_packets,
            peer.received_bytes,
            peer.airtime_tx_ns,
            peer.airtime_rx_ns,
            known.map_or(0, |n| n.waiting_bytes),
        ] {
            out.extend(number.to_le_bytes());
        }
        known.map_or([0; 4], |n| n.waiting).iter().for_each(|packets| out.extend(packets.to_le_bytes()));
    }
}

/// Tells a reader why it gets nothing.
pub(super) fn refusal(sentence: &str) -> Vec<u8> {
    let mut message = MAGIC.to_vec();
    message.extend(VERSION.to_le_bytes());
    message.extend(REFUSAL.to_le_bytes());
    message.extend(sentence.as_bytes());
    message
}

/// Tells a program that its access point announces the channel that it wanted.
pub(super) fn done() -> Vec<u8> {
    let mut message = MAGIC.to_vec();
    message.extend(VERSION.to_le_bytes());
    message.extend(DONE.to_le_bytes());
    message
}

/// What somebody may want of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// States, with so many µs between two at least.
    States { interval_us: u32 },
    /// That it announces another channel in so many beacons and goes there.
    Switch { primary_mhz: u32, beacons: u8 },
}

/// What is asked for, or why it is refused.
pub(super) fn request(message: &[u8]) -> Result<Request, String> {
    let u16_at = |at: usize| u16::from_le_bytes([message[at], message[at + 1]]);
    let u32_at =
        |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| message.get(at + k).copied().unwrap_or(0)));
    let kind = if message.len() < 12 || message[..4] != MAGIC { 0 } else { u16_at(6) };
    if kind != SUBSCRIBE && kind != SWITCH {
        return Err(
            "this is no request for the states of a radio or for another channel; docs/guide/link.md has the protocol"
                .to_owned(),
        );
    }
    match (u16_at(4), kind) {
        (VERSION, SUBSCRIBE) => Ok(Request::States { interval_us: u32_at(8) }),
        (VERSION, _) => {
            let beacons = u8::try_from(u32_at(12)).unwrap_or(u8::MAX).max(1);
            Ok(Request::Switch { primary_mhz: u32_at(8), beacons })
        }
        (other, _) => Err(format!(
            "this lab speaks version {VERSION} of the protocol and not {other}; use the ropewalk that started it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_air::wifi::phy::{Band, Width};

    #[test]
    fn a_state_has_its_figures_where_the_table_says() {
        let peer = |n: u64| PeerStats {
            retries: 9 * n,
            delivered_packets: 2 * n,
            delivered_bytes: 3 * n,
            failed_packets: 4 * n,
            expired_packets: 5 * n,
            dropped_packets: 6 * n,
            received_packets: 7 * n,
            received_bytes: 8 * n,
            airtime_tx_ns: 10 * n,
            airtime_rx_ns: 11 * n,
            ..PeerStats::default()
        };
        let mut neighbours = Neighbours::default();
        neighbours.on_taken(Mac::local(1), super::super::neighbour::token(2, 700));
        let state = State {
            sequence: 77,
            now_ns: 1_000,
            radio: RadioStats { busy_ns: 400, ..RadioStats::default() },
            channel: Channel::new(Band::Ghz5, 36, Width::Mhz40, None).unwrap(),
            neighbours: &neighbours,
            peers: vec![(Mac::local(1), peer(1)), (Mac::local(2), peer(100))],
        };
        let mut bytes = Vec::new();
        state.encode(&mut bytes);
        assert_eq!(bytes.len(), 128 + 2 * 128);
        assert_eq!(bytes[..16], *b"RWLF\x01\x00\x02\x00\x80\x00\x80\x00\x02\x00\x02\x00");
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((u32_at(16), u64_at(24), u64_at(32)), (1, 77, 700));
        assert_eq!([40, 48, 56, 64, 72].map(u64_at), [202, 404, 505, 606, 909]);
        assert_eq!([88, 96, 104, 120].map(u64_at), [1010, 400, 1000, 303]);
        assert_eq!((u32_at(112), u32_at(116)), (5180, 40));
        assert_eq!(bytes[128..134], Mac::local(1).0);
        assert_eq!([168, 176, 184, 192, 200, 208, 216, 224].map(u64_at), [2, 3, 15, 9, 7, 8, 10, 11]);
        assert_eq!((u64_at(232), [240, 244, 248, 252].map(u32_at)), (700, [0, 0, 1, 0]));
        assert_eq!(u64_at(256 + 40), 200, "the second station");
    }

    #[test]
    fn an_interface_with_many_stations_tells_the_first_and_the_sums() {
        let neighbours = Neighbours::default();
        let one = PeerStats { delivered_packets: 1, ..PeerStats::default() };
        let state = State {
            sequence: 1,
            now_ns: 0,
            radio: RadioStats::default(),
            channel: Channel::new(Band::Ghz5, 36, Width::Mhz20, None).unwrap(),
            neighbours: &neighbours,
            peers: (0..100).map(|n| (Mac::local(n), one)).collect(),
        };
        let mut bytes = Vec::new();
        state.encode(&mut bytes);
        assert_eq!(bytes.len(), LONGEST);
        assert_eq!((bytes[12], bytes[14], bytes[40]), (64, 100, 100));
    }

    #[test]
    fn only_whole_requests_of_this_version_are_taken() {
        let mut good = b"RWLF\x01\x00\x01\x00\xf4\x01\x00\x00\x00\x00\x00\x00".to_vec();
        assert_eq!(request(&good), Ok(Request::States { interval_us: 500 }));
        for bad in [&b""[..], b"RWLF", b"GET / HTTP/1.1\r\n", &good[..11], &[0; 16]] {
            assert!(request(bad).unwrap_err().contains("no request"), "{bad:?}");
        }
        let switch = b"RWLF\x01\x00\x04\x00\x64\x14\x00\x00\x02\x00\x00\x00";
        assert_eq!(request(switch), Ok(Request::Switch { primary_mhz: 5220, beacons: 2 }));
        assert_eq!(request(&switch[..12]), Ok(Request::Switch { primary_mhz: 5220, beacons: 1 }));
        good[4] = 2;
        assert!(request(&good).unwrap_err().contains("version 1 of the protocol and not 2"));
        good[6] = 2;
        assert!(request(&good).is_err());
    }
}
