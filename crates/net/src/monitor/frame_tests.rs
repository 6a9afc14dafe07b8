//! Frames as mac80211 and others write them.

use super::super::radiotap::{BAD_FCS, FCS_AT_END};
use super::*;
use proptest::prelude::*;

const BSSID: [u8; 6] = [2, 0, 0, 0, 0, 0];
const STATION: [u8; 6] = [2, 0, 0, 0, 1, 0];
const ROUTER: [u8; 6] = [2, 0, 0, 0, 9, 9];

/// Flags, rate and channel, as mac80211 writes them for a rate of 802.11g.
fn header(flags: u8) -> Vec<u8> {
    vec![0, 0, 14, 0, 0x0e, 0, 0, 0, flags, 0x30, 0x85, 0x09, 0xa0, 0]
}

fn packet(bytes: u16) -> Vec<u8> {
    let mut p = vec![7; usize::from(bytes)];
    p[0] = 0x45;
    p[2..4].copy_from_slice(&bytes.to_be_bytes());
    p
}

/// A QoS data frame from the station to its access point.
fn qos(sequence: u16, tid: u8, packet: &[u8]) -> Vec<u8> {
    let mut f = vec![0x88, 0x01, 0x3a, 0x01];
    f.extend([BSSID, STATION, ROUTER].concat());
    f.extend((sequence << 4).to_le_bytes());
    f.extend([tid, 0]);
    f.extend(IPV4);
    f.extend(packet);
    f
}

fn whole(flags: u8, frame: &[u8]) -> Vec<u8> {
    [header(flags), frame.to_vec()].concat()
}

#[test]
fn a_frame_of_a_station_is_read() {
    let inner = packet(100);
    let bytes = whole(0, &qos(0xabc, 5, &inner));
    let heard = read(&bytes).unwrap();
    let expected = Overheard {
        bssid: BSSID,
        station: STATION,
        destination: ROUTER,
        tid: 5,
        sequence: 0xabc,
        retry: false,
        packet: &inner,
    };
    assert_eq!(heard, expected);
    let mut again = qos(0xabc, 5, &inner);
    again[1] |= 8;
    assert!(read(&whole(0, &again)).unwrap().retry);
}

#[test]
fn a_frame_without_qos_has_the_identifier_0_and_a_shorter_header() {
    let inner = packet(60);
    let mut frame = qos(4095, 0, &inner);
    frame[0] = 0x08;
    frame.drain(24..26);
    let bytes = whole(0, &frame);
    let heard = read(&bytes).unwrap();
    assert_eq!((heard.tid, heard.sequence, heard.packet), (0, 4095, &inner[..]));
}

#[test]
fn what_a_driver_adds_is_taken_off() {
    let inner = packet(60);
    // Checksum behind it.
    let bytes = whole(FCS_AT_END, &[qos(1, 0, &inner), vec![1, 2, 3, 4]].concat());
    assert_eq!(read(&bytes).unwrap().packet, inner);
    // Two bytes between header and payload.
    let mut padded = qos(1, 0, &inner);
    padded.splice(26..26, [0, 0]);
    assert_eq!(read(&whole(PADDED, &padded)).unwrap().packet, inner);
    // HT control.
    let mut ht = qos(1, 0, &inner);
    ht[1] |= 0x80;
    ht.splice(26..26, [9, 9, 9, 9]);
    assert_eq!(read(&whole(0, &ht)).unwrap().packet, inner);
    // Bytes behind the packet are none of it.
    assert_eq!(read(&whole(0, &[qos(1, 0, &inner), vec![0; 9]].concat())).unwrap().packet, inner);
}

#[test]
fn flags_are_found_behind_a_time_and_behind_more_words() {
    let inner = packet(60);
    // TSFT and flags, with a second word of antennas. The time is aligned to 8 bytes.
    let mut header = vec![0, 0, 28, 0];
    header.extend((1u32 | 1 << 1 | 1 << 29 | 1 << 31).to_le_bytes());
    header.extend((1u32 << 11).to_le_bytes());
    header.extend([0; 4]);
    header.extend([0xff; 8]);
    header.extend([BAD_FCS, 0, 0, 0]);
    assert_eq!(header.len(), 28);
    let bytes = [header.clone(), qos(1, 0, &inner)].concat();
    assert_eq!(read(&bytes), Err(Left::BadChecksum));
    header[24] = 0;
    assert_eq!(read(&[header, qos(1, 0, &inner)].concat()).unwrap().packet, inner);
    // No field at all.
    let bare = [vec![0, 0, 8, 0, 0, 0, 0, 0], qos(1, 0, &inner)].concat();
    assert_eq!(read(&bare).unwrap().packet, inner);
}

#[test]
fn what_cannot_be_taken_is_left_for_the_right_reason() {
    let good = qos(1, 0, &packet(60));
    let with = |at: usize, value: u8| {
        let mut f = good.clone();
        f[at] = value;
        read(&whole(0, &f)).map(|_| ())
    };
    assert_eq!(with(0, 0x88), Ok(()));
    assert_eq!(with(1, 0x41), Err(Left::Encrypted));
    assert_eq!(with(1, 0x05), Err(Left::Fragment));
    assert_eq!(with(22, 0x11), Err(Left::Fragment), "the second part");
    assert_eq!(with(24, 0x80), Err(Left::Aggregate));
    for (at, value) in [(1, 0x02), (1, 0x03), (1, 0x00), (0, 0x80), (0, 0xc8), (0, 0x48), (0, 0xb4)] {
        assert_eq!(with(at, value), Err(Left::NotToAccessPoint), "{at} {value:x}");
    }
    assert_eq!(with(33, 0x06), Err(Left::NotIpv4), "ARP");
    assert_eq!(with(34, 0x60), Err(Left::NotIpv4), "a version that is none");
    for (at, value) in [(4, 3), (10, 3), (24, 8), (36, 1), (37, 19)] {
        assert_eq!(with(at, value), Err(Left::Malformed), "{at} {value}");
    }
    assert_eq!(read(&whole(BAD_FCS, &good)), Err(Left::BadChecksum));
    // Of an encrypted frame the kernel hands on little more than its header.
    let mut sealed = good.clone();
    sealed[1] |= 0x40;
    assert_eq!(read(&whole(0, &sealed[..24])), Err(Left::Encrypted));
}

#[test]
fn a_frame_that_ends_early_is_malformed() {
    let bytes = whole(0, &qos(1, 0, &packet(60)));
    for length in 0..bytes.len() {
        assert_eq!(read(&bytes[..length]), Err(Left::Malformed), "{length}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..120),
        at in 0usize..70,
        value in any::<u8>(),
        cut in 0usize..130,
    ) {
        let _ = read(&noise);
        let _ = read(&whole(noise.first().copied().unwrap_or(0), &noise));
        let mut near = whole(value & 0x30, &qos(1, 0, &packet(60)));
        near[at] = value;
        if let Ok(heard) = read(&near[..near.len().min(cut)]) {
            prop_assert!(heard.packet.len() >= 20 && heard.tid < 8 && heard.sequence < 4096);
        }
    }
}
