//! Bytes against the formats. `cargo run -p ropewalk-air --example captured_frames | text2pcap -l 127 - f.pcap && tshark -r f.pcap`
//! lets a second program decode them.

use super::*;
use crate::Time;
use crate::wifi::phy::{Band, Channel, GuardInterval, Rate, Width};
use crate::wifi::{FrameType, Mac, RadioId};

const AP: Mac = Mac([2, 0, 0, 0, 0, 1]);
const STATION: Mac = Mac([2, 0, 0, 0, 0, 2]);

fn frame(frame_type: FrameType, rate: Rate) -> CapturedFrame<Vec<u8>> {
    CapturedFrame {
        at: Time::from_micros(0x0102_0304),
        radio: RadioId(0),
        channel: Channel::new(Band::Ghz5, 36, Width::Mhz20, None).unwrap(),
        rate,
        signal_dbm: -60.4,
        noise_dbm: -93.97,
        frame_type,
        receiver: AP,
        transmitter: Some(STATION),
        bssid: Some(AP),
        to_ds: false,
        from_ds: false,
        retry: false,
        power_management: false,
        more_data: false,
        sequence: None,
        tid: None,
        duration_us: 44,
        len_bytes: 14,
        ampdu: None,
        payloads: Vec::new(),
    }
}

fn encoded(frame: &CapturedFrame<Vec<u8>>) -> Captured {
    encode(frame, |packet, out| out.extend(packet))
}

fn mbps(rate: u64) -> Rate {
    Rate::legacy(rate * 1_000_000).unwrap()
}

#[test]
fn an_acknowledgement_to_the_byte() {
    let ack = CapturedFrame { transmitter: None, bssid: None, ..frame(FrameType::Ack, mbps(24)) };
    let captured = encoded(&ack);
    let radiotap = [
        0,
        0,
        24,
        0, // version, length
        0b0110_1111,
        0,
        0,
        0, // TSFT, flags, rate, channel, signal, noise
        4,
        3,
        2,
        1,
        0,
        0,
        0,
        0, // µs
        0,
        48, // flags, 24 Mb/s
        0x3c,
        0x14,
        0x40,
        0x01, // 5180 MHz, OFDM in 5 GHz
        0xc4,
        0xa2, // −60 and −94 dBm
    ];
    let mut expected = radiotap.to_vec();
    expected.extend([0xd4, 0, 44, 0, 2, 0, 0, 0, 0, 1]);
    assert_eq!(captured.bytes, expected);
    assert_eq!(captured.air_bytes, 24 + 10);
}

#[test]
fn a_subframe_of_an_aggregate() {
    let data = CapturedFrame {
        to_ds: true,
        retry: true,
        sequence: Some(0xabc),
        tid: Some(5),
        len_bytes: 70,
        ampdu: Some((7, true)),
        payloads: vec![vec![0x45, 0, 0, 28]],
        ..frame(FrameType::QosData, Rate::ht(7, 2, Width::Mhz40, GuardInterval::Short).unwrap())
    };
    let captured = encoded(&data);
    let (header, body) = captured.bytes.split_at(36);
    assert_eq!(header[..8], [0, 0, 36, 0, 0b0110_1011, 0, 0b0001_1000, 0]);
    assert_eq!(header[16..24], [0, 0, 0x3c, 0x14, 0x40, 0x01, 0xc4, 0xa2]);
    // MCS 15, 40 MHz, short guard interval; one byte of padding; subframe of aggregate 7, the last one.
    assert_eq!(header[24..], [0x7f, 0b101, 15, 0, 7, 0, 0, 0, 0x0c, 0, 0, 0]);
    assert_eq!(body[..4], [0x88, 0x09, 44, 0]);
    assert_eq!((&body[4..10], &body[10..16], &body[16..22]), (&AP.0[..], &STATION.0[..], &AP.0[..]));
    assert_eq!(body[22..26], [0xc0, 0xab, 5, 0]);
    assert_eq!(body[26..], [0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0, 28]);
    assert_eq!(captured.air_bytes, 36 + 66);
}

#[test]
fn vht_and_its_place_behind_the_aggregate() {
    let data = CapturedFrame {
        ampdu: Some((1, false)),
        ..frame(FrameType::QosData, Rate::vht(9, 2, Width::Mhz80, GuardInterval::Short).unwrap())
    };
    let header = &encoded(&data).bytes[..44];
    assert_eq!(header[4..8], [0b0110_1011, 0, 0b0011_0000, 0]);
    assert_eq!(header[24..32], [1, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(header[32..], [0x45, 0, 4, 4, 0x92, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn an_a_msdu_has_subframes_padded_but_the_last() {
    let data = CapturedFrame {
        from_ds: true,
        tid: Some(0),
        len_bytes: 90,
        payloads: vec![vec![0x60, 1, 2], vec![0x45, 3]],
        ..frame(FrameType::QosData, mbps(54))
    };
    let bytes = encoded(&data).bytes;
    let body = &bytes[24 + 24..];
    assert_eq!(body[..2], [0x80, 0]);
    let first = &body[2..];
    assert_eq!(first[12..14], [0, 11]);
    assert_eq!(first[20..25], [0x86, 0xdd, 0x60, 1, 2]);
    // 14 + 11 bytes are padded to 28; the last subframe is not.
    assert_eq!(first[25..28], [0, 0, 0]);
    assert_eq!(first[28 + 12..], [0, 10, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 3]);
}

#[test]
fn control_and_management_frames_have_their_lengths() {
    let rate = mbps(6);
    let body = |frame_type| encoded(&frame(frame_type, rate)).bytes[24..].to_vec();
    assert_eq!(body(FrameType::Cts).len(), 10);
    assert_eq!(body(FrameType::Rts).len(), 16);
    assert_eq!((body(FrameType::CfEnd).len(), body(FrameType::CfEnd)[0]), (16, 0xe4));
    assert_eq!(body(FrameType::BlockAckRequest { start: 1 }).len(), 20);
    let answer = body(FrameType::BlockAck { start: 0x123, bitmap: 0x8000_0000_0000_0001 });
    assert_eq!(answer[16..], [4, 0, 0x30, 0x12, 1, 0, 0, 0, 0, 0, 0, 0x80]);
    let beacon = body(FrameType::Beacon { interval_tu: 100 });
    assert_eq!(beacon[..2], [0x80, 0]);
    assert_eq!(beacon[32..], [100, 0, 0x01, 0x04, 0, 0, 1, 3, 0x8c, 0x98, 0xb0]);
}
