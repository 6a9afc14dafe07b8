//! Headers as mac80211 writes them (`net/mac80211/rx.c`), and rates of the standard's tables.

use super::*;

/// Fields in their order, each with its bit, aligned as they have to be.
fn tap(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let present = fields.iter().fold(0_u32, |all, (bit, _)| all | (1_u32 << *bit));
    let mut header = [&[0; 4][..], &present.to_le_bytes()].concat();
    for (bit, value) in fields {
        let (align, length) = FIELDS[*bit as usize];
        assert_eq!(value.len(), length, "{bit}");
        header.resize(header.len().next_multiple_of(align), 0xee);
        header.extend(*value);
    }
    header[2] = header.len() as u8;
    header
}

fn rate_of(fields: &[(u32, &[u8])]) -> Option<(f64, Modulation)> {
    let frame = [tap(fields), vec![0x88]].concat();
    let (radiotap, rest) = Radiotap::split(&frame).unwrap();
    assert_eq!(rest, [0x88]);
    radiotap.rate().map(|r| (r.bps as f64 / 1e6, r.modulation))
}

fn close(got: Option<(f64, Modulation)>, mbps: f64, modulation: Modulation) {
    let (rate, as_what) = got.unwrap();
    assert!((rate - mbps).abs() < 0.06 && as_what == modulation, "{rate} {as_what:?}, not {mbps}");
}

#[test]
fn rates_are_those_of_the_standard() {
    for (half, mbps, m) in [
        (2, 1.0, Modulation::Dsss),
        (11, 5.5, Modulation::Dsss),
        (22, 11.0, Modulation::Dsss),
        (12, 6.0, Modulation::Ofdm),
        (108, 54.0, Modulation::Ofdm),
    ] {
        close(rate_of(&[(RATE, &[half])]), mbps, m);
    }
    // Known fields, flags, number: 20 MHz, short guard interval, 40 MHz, both, upper half of 40.
    for (flags, mcs, mbps) in
        [(0, 0, 6.5), (0, 7, 65.0), (4, 7, 72.2), (1, 7, 135.0), (5, 15, 300.0), (3, 7, 65.0), (5, 31, 600.0)]
    {
        close(rate_of(&[(MCS, &[7, flags, mcs])]), mbps, Modulation::Ht);
    }
    for (flags, bandwidth, user, mbps) in [
        (0, 0, 0x81, 78.0),
        (0, 1, 0x91, 180.0),
        (0, 4, 0x91, 390.0),
        (4, 4, 0x92, 866.7),
        (4, 11, 0x98, 6933.3),
        (0, 6, 0x91, 180.0),
    ] {
        let field = [0x44, 0, flags, bandwidth, user, 0, 0, 0, 0, 0, 0, 0];
        close(rate_of(&[(VHT, &field)]), mbps, Modulation::Vht);
    }
    // Width and guard interval in one byte.
    for (mcs, wide, streams, mbps) in
        [(11, 0, 1, 143.4), (11, 2, 2, 1201.0), (0, 0x20, 1, 7.3), (9, 0x13, 8, 7259.3), (0, 4, 1, 0.9)]
    {
        let field = [0x20, 0x40, 0, 0, 0, mcs, 0, 0, wide, 0, streams, 0];
        close(rate_of(&[(HE, &field)]), mbps, Modulation::He);
    }
}

#[test]
fn a_rate_that_is_not_said_is_none() {
    assert_eq!(rate_of(&[]), None);
    assert_eq!(rate_of(&[(RATE, &[0])]), None);
    assert_eq!(rate_of(&[(MCS, &[5, 0, 7])]), None, "the number is not known");
    assert_eq!(rate_of(&[(MCS, &[7, 0, 32])]), None);
    let mut field = [0; 12];
    assert_eq!(rate_of(&[(VHT, &field)]), None, "no stream");
    field[4] = 0xa1;
    assert_eq!(rate_of(&[(VHT, &field)]), None, "no such number");
    (field[4], field[3]) = (0x91, 26);
    assert_eq!(rate_of(&[(VHT, &field)]), None, "no such width");
    assert_eq!(rate_of(&[(HE, &[0; 12])]), None);
    assert_eq!(rate_of(&[(HE, &[0x20, 0x40, 0, 0, 0, 0, 0, 0, 0x30, 0, 1, 0])]), None, "no such interval");
}

#[test]
fn fields_are_found_behind_others_and_behind_more_words() {
    let all: &[(u32, &[u8])] = &[
        (0, &[9; 8]),
        (FLAGS, &[0]),
        (3, &[0x6c, 9, 0xa0, 0]),
        (5, &[0xc8]),
        (14, &[0, 0]),
        (MCS, &[7, 0, 7]),
        (AMPDU, &[0x39, 5, 0, 0, 4, 0, 0, 0]),
        (22, &[0; 12]),
    ];
    let frame = tap(all);
    let (radiotap, _) = Radiotap::split(&frame).unwrap();
    assert_eq!(radiotap.aggregate(), Some(0x539));
    close(radiotap.rate().map(|r| (r.bps as f64 / 1e6, r.modulation)), 65.0, Modulation::Ht);
    // Two words of antennas, as mac80211 has them: the fields move by eight bytes.
    let mut longer = frame.clone();
    longer[7] |= 0xa0;
    longer.splice(8..8, [0x20, 8, 0, 0xa0, 0x20, 8, 0, 0]);
    longer[2] += 8;
    let (radiotap, _) = Radiotap::split(&longer).unwrap();
    assert_eq!(radiotap.aggregate(), Some(0x539));
    // A header that ends within the field.
    for length in 8..frame.len() {
        let mut short = frame[..length].to_vec();
        short[2] = length as u8;
        if let Ok((radiotap, _)) = Radiotap::split(&short) {
            let (rate, aggregate) = (radiotap.rate(), radiotap.aggregate());
            assert!(rate.is_none_or(|r| r.bps == 65_000_000) && aggregate.is_none_or(|a| a == 0x539));
        }
    }
    // Nobody was in an aggregate.
    let alone = tap(&[(MCS, &[7, 0, 7])]);
    assert_eq!(Radiotap::split(&alone).unwrap().0.aggregate(), None);
}
