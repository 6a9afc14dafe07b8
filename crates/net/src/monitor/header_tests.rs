//! Frames as access points send them.

use super::super::radiotap::Modulation;
use super::*;
use proptest::prelude::*;

const AP: Mac = [2, 0, 0, 0, 0, 0];
const STATION: Mac = [2, 0, 0, 0, 1, 0];
const ROUTER: Mac = [2, 0, 0, 0, 9, 9];
/// Flags, channel, rate 65 Mbit/s of HT, the aggregate 7.
const TAP: [u8; 28] = [
    0, 0, 28, 0, 0x0a, 0, 0x18, 0, 0, 0xee, 0x6c, 9, 0xa0, 0, 7, 0, 7, 0xee, 0xee, 0xee, 7, 0, 0, 0, 0, 0, 0,
    0,
];

/// An encrypted QoS data frame, with number and identifier.
fn qos(sequence: u16, tid: u8) -> Vec<u8> {
    let mut f = TAP.to_vec();
    f.extend([0x88, 0x42, 0x3a, 0x01]);
    f.extend([STATION, AP, ROUTER].concat());
    f.extend((sequence << 4).to_le_bytes());
    f.extend([tid, 0]);
    f.extend([0x5a; 40]);
    f
}

#[test]
fn the_header_of_an_encrypted_frame_is_read() {
    let want = Header {
        transmitter: AP,
        receiver: STATION,
        tid: Some(5),
        sequence: 0xabc,
        retry: false,
        rate: Some(Rate { bps: 65_000_000, modulation: Modulation::Ht }),
        aggregate: Some(7),
    };
    assert_eq!(header(&qos(0xabc, 5)), Some(want));
    let mut again = qos(0xabc, 5);
    again[29] |= 8;
    assert_eq!(header(&again), Some(Header { retry: true, ..want }));
    // Several packets in one frame, and no encryption: the header is the same.
    let mut several = qos(0xabc, 0x85);
    several[29] &= !0x40;
    assert_eq!(header(&several), Some(want));
    // Without QoS.
    let mut plain = qos(0xabc, 5);
    plain[28] = 0x08;
    assert_eq!(header(&plain), Some(Header { tid: None, ..want }));
    // Nothing is needed behind the header.
    assert_eq!(header(&qos(0xabc, 5)[..28 + 25]), Some(want));
    assert_eq!(header(&qos(0xabc, 5)[..28 + 24]), None);
}

#[test]
fn what_is_no_data_of_an_access_point_to_a_station_is_left() {
    let with = |at: usize, value: u8| {
        let mut f = qos(1, 0);
        f[at] = value;
        header(&f)
    };
    assert!(with(0, 0).is_some());
    for (at, value, what) in [
        (8, 0x40, "damaged"),
        (28, 0x80, "a beacon"),
        (28, 0xc8, "no payload"),
        (28, 0xb4, "RTS"),
        (29, 0x41, "to an access point"),
        (29, 0x43, "between access points"),
        (32, 3, "to many"),
        (38, 3, "from many"),
        (50, 0x11, "a second part"),
        (0, 1, "another version"),
    ] {
        assert_eq!(with(at, value), None, "{what}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..120),
        at in 0usize..60,
        value in any::<u8>(),
        cut in 0usize..100,
    ) {
        let _ = header(&noise);
        let mut near = qos(9, 1);
        near[at] = value;
        if let Some(heard) = header(&near[..near.len().min(cut)]) {
            prop_assert!(heard.sequence < 4096 && heard.tid.is_none_or(|tid| tid < 16));
            prop_assert!(heard.rate.is_none_or(|r| r.bps > 0 && r.bps < 10_000_000_000));
        }
    }
}
