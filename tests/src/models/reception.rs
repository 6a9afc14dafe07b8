//! What a receiver makes of what arrives: loss by SNR through the whole MAC, capture, fading.

use std::time::Duration;

use ropewalk_air::wifi::phy::{ErrorModel, Standard, decibel};
use ropewalk_air::wifi::propagation::{Fading, FadingKind, Link};

use super::cell::{Cell, legacy};
use super::theory::{self, ofdm};
use super::{Row, Table};

/// Attempts that a frame takes at an SNR, against 1 over the probability that it and its ACK arrive.
pub(super) fn attempts() -> Table {
    let errors = ErrorModel::new();
    let noise_dbm = decibel::dbm_from_mw(decibel::noise_mw(20.0, 7.0));
    let row = |(snr, mbps): (f64, u64)| {
        let sinr = decibel::ratio_from_db(snr);
        let ack = errors.header_success(legacy(24), sinr) * errors.success(legacy(24), sinr, 14 * 8);
        let data = errors.header_success(legacy(mbps), sinr) * errors.success(legacy(mbps), sinr, 1536 * 8);
        let cell = Cell::new(Standard::A, legacy(mbps), 1).uplink().loss(0, 1, 16.0 - noise_dbm - snr);
        // Tried without end, the mean of a geometric distribution.
        let cell = cell.each_radio(|radio| radio.retry_limit = u8::MAX);
        let got = cell.run(2, Duration::from_secs(1), Duration::from_secs(60))[0].attempts;
        Row::new(format!("{mbps} Mb/s at {snr} dB"), 1.0 / (data * ack), got, 0.015)
    };
    let rows = [(21.8, 54), (22.0, 54), (22.5, 54), (23.0, 54), (16.0, 36), (16.5, 36)].map(row).into();
    Table { name: "attempts", unit: "ours, attempts", source: "1/P(data and ACK arrive)", rows }
}

/// Two saturated senders, one so loud at the receiver that it is understood in every collision: Bianchi's analysis with capture.
fn captured_shares() -> (f64, f64) {
    // The loud one never fails and sends in a slot with 2/(W + 1); the other fails whenever the loud one sends.
    let sends = |p: f64| 2.0 / (1.0 + 16.0 + p * 16.0 * (0..6).map(|i| (2.0 * p).powi(i)).sum::<f64>());
    let (loud, soft) = (sends(0.0), sends(sends(0.0)));
    let busy = ofdm(1536, 6.0) + 16.0 + ofdm(14, 6.0) + 34.0;
    let any = 1.0 - (1.0 - loud) * (1.0 - soft);
    let slot = (1.0 - any) * 9.0 + any * (busy + 9.0);
    (12_000.0 * loud / slot, 12_000.0 * soft * (1.0 - loud) / slot)
}

/// Capture: who wins a collision.
pub(super) fn capture() -> Table {
    let two = || Cell::new(Standard::A, legacy(6), 2).uplink();
    let run = |cell: Cell| cell.run(4, Duration::from_secs(1), Duration::from_secs(300));
    let (loud, soft) = captured_shares();
    let got = run(two().loss(0, 2, 75.0));
    let rows = vec![
        Row::new("25 dB louder: the loud one, Mb/s", loud, got[0].mbps, 0.03),
        Row::new("25 dB louder: the other, Mb/s", soft, got[1].mbps, 0.03),
        Row::new("25 dB louder: attempts of the loud one", 1.0, got[0].attempts, 0.001),
        // 4 dB are not enough for capture, and too little SINR for 6 Mb/s: no collision leaves a frame.
        Row::new(
            "4 dB louder: attempts of the loud one",
            mean_attempts(),
            run(two().loss(0, 2, 54.0))[0].attempts,
            0.02,
        ),
    ];
    Table { name: "capture", unit: "ours", source: "Bianchi with capture", rows }
}

/// Attempts of a delivered frame of two equal stations: 1/(1 − p).
fn mean_attempts() -> f64 {
    1.0 / (1.0 - theory::bianchi(2).1)
}

/// The distribution of fading gains over many blocks, against its formula.
pub(super) fn fading() -> Table {
    let coherence = Duration::from_millis(20);
    let gains = |kind| {
        let fading = Fading { kind, coherence };
        // Blocks far apart are independent.
        (0..400_000).map(|n| fading.gain(1, Link::new(0, 1, 5180), 97 * n)).collect::<Vec<f64>>()
    };
    let share =
        |gains: &[f64], below: f64| gains.iter().filter(|g| **g < below).count() as f64 / gains.len() as f64;
    let mean = |gains: &[f64]| gains.iter().sum::<f64>() / gains.len() as f64;
    let rayleigh = gains(FadingKind::Rayleigh);
    let mut rows = vec![Row::new("Rayleigh: mean gain", 1.0, mean(&rayleigh), 0.005)];
    for below in [0.01, 0.1, 0.5, 1.0, 2.0] {
        let expected = 1.0 - libm::exp(-below);
        rows.push(Row::new(format!("Rayleigh: P(gain < {below})"), expected, share(&rayleigh, below), 0.03));
    }
    for k_db in [0.0, 6.0, 10.0] {
        let k = decibel::ratio_from_db(k_db);
        let rician = gains(FadingKind::Rician { k_db });
        let (mean, expected) = (mean(&rician), (1.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k)));
        let variance = rician.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / rician.len() as f64;
        rows.push(Row::new(format!("Rician, K = {k_db} dB: mean gain"), 1.0, mean, 0.005));
        rows.push(Row::new(format!("Rician, K = {k_db} dB: variance"), expected, variance, 0.02));
    }
    Table { name: "fading", unit: "ours", source: "formula", rows }
}
