//! Whole media: throughput against closed forms, Bianchi's model and ns-3; stations that do not hear each other; what
//! stays the same.

mod dilated;
mod operations;
mod opportunities;
mod reach;
mod saturation;
mod stations;

use super::phy::{Band, Channel, GuardInterval, Rate, Standard, Width};
use super::*;
use crate::Time;
use core::time::Duration;

/// A cell: an access point and stations on a circle of a metre around it, as in the oracle's script.
pub(super) struct Cell {
    pub(super) radio: RadioSpec,
    pub(super) stations: u32,
}

pub(super) fn five_ghz(width: Width) -> Channel {
    Channel::new(Band::Ghz5, 36, width, None).unwrap()
}

pub(super) fn legacy(mbps: u64) -> RadioSpec {
    let rate = Rate::legacy(mbps * 1_000_000).unwrap();
    let spec = RadioSpec::new(Standard::A, five_ghz(Width::Mhz20));
    RadioSpec { rate_control: RateControlSpec::Fixed(rate), ..spec }
}

pub(super) fn ht(mcs: u8, width: Width, gi: GuardInterval) -> RadioSpec {
    let rate = Rate::ht(mcs, 1, width, gi).unwrap();
    let spec = RadioSpec::new(Standard::N, five_ghz(width));
    RadioSpec { rate_control: RateControlSpec::Fixed(rate), ..spec }
}

pub(super) fn vht(mcs: u8, width: Width) -> RadioSpec {
    let rate = Rate::vht(mcs, 1, width, GuardInterval::Long).unwrap();
    let spec = RadioSpec::new(Standard::Ac, five_ghz(width));
    RadioSpec { rate_control: RateControlSpec::Fixed(rate), ..spec }
}

/// The oracle's receivers: no preamble detection model, no capture.
pub(super) fn as_oracle(radio: RadioSpec) -> RadioSpec {
    RadioSpec { preamble_min_dbm: -101.0, preamble_min_snr_db: -100.0, ..radio }
}

pub(super) const AP: Mac = Mac::local(1000);

impl Cell {
    pub(super) fn spec(&self) -> AirSpec {
        let quiet = ApSpec { beacon_interval_tu: 0, ..ApSpec::default() };
        let mut spec = AirSpec {
            radios: vec![self.radio.clone()],
            ifaces: vec![IfaceSpec { radio: RadioId(0), mac: AP, mode: Mode::AccessPoint(quiet) }],
            path_loss: PathLoss { exponent: 2.0, ..PathLoss::default() },
            capture: Capture { margin_db: None, ..Capture::default() },
            ..AirSpec::default()
        };
        for n in 0..self.stations {
            let angle = 2.0 * core::f64::consts::PI * f64::from(n) / f64::from(self.stations);
            let position = [libm::cos(angle), libm::sin(angle), 0.0];
            spec.radios.push(RadioSpec { position, ..self.radio.clone() });
            let start = StationStart::Associated(AP);
            let mode = Mode::Station(StationSpec { start, ..StationSpec::default() });
            spec.ifaces.push(IfaceSpec { radio: RadioId(n as u16 + 1), mac: Mac::local(n), mode });
        }
        spec
    }
}

/// What came of a saturated run.
pub(super) struct Outcome {
    /// IP bits per second that each station delivered.
    pub(super) bps: Vec<f64>,
    pub(super) air: Air<u64>,
    pub(super) outputs: u64,
}

impl Outcome {
    pub(super) fn mbps(&self) -> f64 {
        self.bps.iter().sum::<f64>() / 1e6
    }
}

/// How stations get their packets.
#[derive(Clone, Copy)]
pub(super) enum Offer {
    /// Each has 200 packets under way all the time.
    Always,
    /// One each so many ns, as from a constant-rate source; queues overflow and packets grow old.
    Every(u64),
}

pub(super) fn packet(n: u64) -> Packet<u64> {
    Packet {
        len_bytes: 1500,
        ac: AccessCategory::BestEffort,
        token: n,
        ecn_capable: false,
        flow: 0,
        payload: n,
    }
}

/// Stations send packets of 1500 bytes to the access point; bits are counted between `warm` and the end.
pub(super) fn saturate(spec: AirSpec, offer: Offer, (warm_ms, run_ms): (u64, u64), seed: u64) -> Outcome {
    let stations = spec.ifaces.len() - 1;
    let mut air: Air<u64> = Air::new(spec, seed).unwrap();
    // Stations begin one after the other, so that the first frames do not all collide.
    let mut next: Vec<Time> = (1..=stations).map(|s| Time::from_micros(s as u64 * 137)).collect();
    if let Offer::Always = offer {
        for (station, at) in next.iter_mut().enumerate() {
            for n in 0..200 {
                air.send(*at, IfaceId(station as u16 + 1), AP, packet(n)).unwrap();
            }
            *at = Time::NEVER;
        }
    }
    let (from, to) = (Time::from_millis(warm_ms), Time::from_millis(warm_ms + run_ms));
    let mut bits = vec![0u64; stations];
    let mut outputs = 0;
    loop {
        let (due, station) = next.iter().zip(0..).min().map(|(at, s)| (*at, s)).unwrap();
        let at = air.next_timeout().unwrap_or(Time::NEVER).min(due);
        if at > to {
            break;
        }
        while let Some(output) = air.poll(at) {
            outputs += 1;
            match output {
                Output::Received(r) if r.at > from => {
                    let station = (0..stations).find(|&s| Mac::local(s as u32) == r.from).unwrap();
                    bits[station] += u64::from(r.len_bytes) * 8;
                }
                Output::Completion(done) if matches!(offer, Offer::Always) => {
                    air.send(done.at, done.iface, AP, packet(done.token + 200)).unwrap();
                }
                _ => {}
            }
        }
        if let (true, Offer::Every(ns)) = (due == at, offer) {
            air.send(at, IfaceId(station + 1), AP, packet(0)).unwrap();
            next[usize::from(station)] = due + core::time::Duration::from_nanos(ns);
        }
    }
    let bps = bits.into_iter().map(|b| b as f64 * 1000.0 / run_ms as f64).collect();
    Outcome { bps, air, outputs }
}
