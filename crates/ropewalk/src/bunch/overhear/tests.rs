//! What is done with frames, without a socket.

use super::*;
use ropewalk_bunch::Mac;
use ropewalk_packet::{Ecn, Flags, Options, Segment, wire};

const BSSID: Mac = [2, 0, 0, 0, 0, 1];
const STATION: Mac = [2, 0, 0, 0, 0, 2];

fn packet(seq: u32) -> Vec<u8> {
    let segment = Segment {
        source: "192.168.1.2:40000".parse().unwrap(),
        destination: "203.0.113.9:443".parse().unwrap(),
        ecn: Ecn::NotEct,
        flags: Flags::ACK,
        seq,
        ack: 1,
        window: 9,
        urgent: 0,
        options: Options::default(),
        payload_bytes: 100,
    };
    let mut out = Vec::new();
    wire::encode(&segment, wire::Payload::Pattern, &mut out);
    out
}

fn frame(bssid: Mac, sequence: u16, packet: &[u8]) -> Vec<u8> {
    let head = [&[0, 0, 8, 0, 0, 0, 0, 0, 0x88, 1, 0, 0][..], &bssid, &STATION, &[9; 6]].concat();
    let numbers = [(sequence << 4).to_le_bytes(), [0, 0]].concat();
    [&head[..], &numbers, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], packet].concat()
}

fn upload(bssid: Mac) -> Audible {
    let inner = inner::parse(&packet(0)).unwrap();
    Audible {
        bssid: Address(bssid),
        station: Address(STATION),
        tid: 0,
        protocol: inner.protocol,
        source: inner.source,
        destination: inner.destination,
    }
}

fn sorter(numbers: bool) -> Sorter {
    Sorter::new("mon0", numbers, [3; 16])
}

#[test]
fn only_what_the_gateway_told_of_is_kept() {
    let mut s = sorter(false);
    let now = Time::from_millis(1);
    s.take(&frame(BSSID, 7, &packet(1)), now);
    assert!(s.heard.is_empty(), "nobody told of it");
    s.told = [Flow::from(&upload(BSSID))].into();
    s.take(&frame(BSSID, 8, &packet(2)), now);
    s.take(&frame([2, 0, 0, 0, 0, 7], 9, &packet(3)), now);
    let expected = Frame { bssid: BSSID, station: STATION, tid: 0, sequence: 8, home: false };
    assert_eq!(s.heard.len(), 1, "the same addresses in another cell are another's");
    assert_eq!((s.heard[0].0, &s.heard[0].1[..]), (expected, &packet(2)[..]));
    assert_eq!((s.counts.frames, s.counts.overheard, s.cells.count()), (3, 1, 2));
    let hash = hash::packet(&s.key, &packet(1));
    assert_eq!(s.labels.take(hash, now), None, "without a home nobody asks for numbers");
}

#[test]
fn a_packet_that_a_router_has_touched_has_its_number() {
    let mut s = sorter(true);
    let now = Time::from_millis(1);
    s.take(&frame(BSSID, 4095, &packet(1)), now);
    let mut passed = packet(1);
    // Hops to live and header checksum.
    passed[8] -= 1;
    passed[10] ^= 1;
    let label = s.labels.take(hash::packet(&s.key, &passed), now).unwrap();
    assert_eq!(label, Label { bssid: BSSID, station: STATION, tid: 0, sequence: 4095 });
    assert_eq!(s.labels.take(hash::packet(&s.key, &packet(2)), now), None);
}

#[test]
fn what_is_left_is_counted_and_what_waits_has_a_bound() {
    let mut s = sorter(true);
    let now = Time::from_millis(1);
    let good = frame(BSSID, 1, &packet(1));
    let with = |at: usize, value: u8| {
        let mut f = good.clone();
        f[at] = value;
        f
    };
    for bytes in [with(9, 0x41), with(9, 5), with(32, 0x80), with(8, 0x80), vec![1, 2, 3]] {
        s.take(&bytes, now);
    }
    // Flags of radiotap: a wrong checksum.
    let bad = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x40][..], &good[8..]].concat();
    s.take(&bad, now);
    let c = &s.counts;
    assert_eq!((c.encrypted, c.fragments, c.aggregates, c.damaged, c.other), (1, 1, 1, 1, 2));
    assert_eq!((c.frames, s.cells.count()), (6, 0));
    s.told = [Flow::from(&upload(BSSID))].into();
    (0..WAITING as u32 + 9).for_each(|n| s.take(&frame(BSSID, (n % 4096) as u16, &packet(n)), now));
    assert_eq!(s.heard.len(), WAITING);
}
