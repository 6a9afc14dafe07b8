//! Prints what each rate control brings on one link, by mean SNR, beside the best single rate:
//! `cargo run --release -p ropewalk-air --example rate_control`

use core::time::Duration;

use ropewalk_air::Time;
use ropewalk_air::wifi::phy::decibel::{NOISE_FIGURE_DB, dbm_from_mw, noise_mw};
use ropewalk_air::wifi::phy::{Band, Channel, Rate, Standard, Width, legacy_rates, mcs_rates};
use ropewalk_air::wifi::propagation::{Fading, FadingKind};
use ropewalk_air::wifi::{
    AccessCategory, Air, AirSpec, ApSpec, IfaceId, IfaceSpec, Mac, Mode, Output, Packet, RadioId, RadioSpec,
    RateControlSpec, StationSpec, StationStart,
};

type Failure = Box<dyn std::error::Error>;

const AP: Mac = Mac::local(1000);
const WARM: Time = Time::from_secs(1);
const END: Time = Time::from_secs(11);
const SNRS_DB: [f64; 7] = [6.0, 10.0, 14.0, 18.0, 22.0, 26.0, 32.0];

/// A station and its access point, 20 MHz, one stream, long guard interval, preambles always noticed.
fn link(
    standard: Standard,
    control: RateControlSpec,
    snr_db: f64,
    kind: FadingKind,
) -> Result<AirSpec, Failure> {
    let channel = Channel::new(Band::Ghz5, 36, Width::Mhz20, None)?;
    let radio = RadioSpec {
        rate_control: control,
        preamble_min_dbm: -101.0,
        preamble_min_snr_db: -100.0,
        ..RadioSpec::new(standard, channel)
    };
    let loss_db = radio.tx_power_dbm - dbm_from_mw(noise_mw(20.0, NOISE_FIGURE_DB)) - snr_db;
    let ap = ApSpec { beacon_interval_tu: 0, ..ApSpec::default() };
    let station = StationSpec { start: StationStart::Associated(AP), ..StationSpec::default() };
    Ok(AirSpec {
        radios: vec![radio.clone(), radio],
        ifaces: vec![
            IfaceSpec { radio: RadioId(0), mac: AP, mode: Mode::AccessPoint(ap) },
            IfaceSpec { radio: RadioId(1), mac: Mac::local(0), mode: Mode::Station(station) },
        ],
        path_loss_overrides: vec![(RadioId(0), RadioId(1), loss_db)],
        fading: Fading { kind, coherence: Duration::from_millis(50) },
        ..AirSpec::default()
    })
}

fn packet(n: u64) -> Packet<()> {
    Packet {
        len_bytes: 1500,
        ac: AccessCategory::BestEffort,
        token: n,
        ecn_capable: false,
        flow: 0,
        payload: (),
    }
}

/// Mb/s of IP packets from a station that always has some.
fn mbps(spec: AirSpec) -> Result<f64, Failure> {
    let mut air: Air<()> = Air::new(spec, 1)?;
    let station = IfaceId(1);
    for n in 0..200 {
        air.send(Time::ZERO, station, AP, packet(n))?;
    }
    let mut bits = 0u64;
    while let Some(at) = air.next_timeout().filter(|at| *at <= END) {
        while let Some(output) = air.poll(at) {
            match output {
                Output::Received(r) if r.at > WARM => bits += 8 * u64::from(r.len_bytes),
                Output::Completion(done) => air.send(done.at, station, AP, packet(done.token))?,
                _ => {}
            }
        }
    }
    Ok(bits as f64 / (END - WARM).as_secs_f64() / 1e6)
}

fn table(standard: Standard, rates: &[Rate], kind: FadingKind) -> Result<(), Failure> {
    println!("802.11{standard:?}, fading: {kind:?}");
    println!("SNR dB   best single rate   ideal   minstrel(_ht)   packet_fair   (Mb/s)");
    let minstrel =
        if standard == Standard::A { RateControlSpec::Minstrel } else { RateControlSpec::MinstrelHt };
    for snr_db in SNRS_DB {
        let run = |control| mbps(link(standard, control, snr_db, kind)?);
        let mut best = (0.0, rates[0]);
        for &rate in rates {
            let got = run(RateControlSpec::Fixed(rate))?;
            if got > best.0 {
                best = (got, rate);
            }
        }
        let best_text = format!("{:.2} ({})", best.0, best.1);
        let (ideal, linux) = (run(RateControlSpec::Ideal)?, run(minstrel)?);
        let fair = run(RateControlSpec::PacketFair)?;
        println!("{snr_db:6}   {best_text:>16}   {ideal:5.2}   {linux:13.2}   {fair:11.2}");
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    for kind in [FadingKind::None, FadingKind::Rayleigh] {
        table(Standard::A, &legacy_rates(Standard::A, Band::Ghz5), kind)?;
        table(Standard::N, &mcs_rates(Standard::N, Width::Mhz20, 1, false), kind)?;
    }
    Ok(())
}
