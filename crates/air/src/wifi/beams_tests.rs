//! Two 60 GHz radios with sectors: gain, and silence while they look for each other.

use core::time::Duration;

use crate::Time;
use crate::wifi::phy::{Band, Channel, Rate, Standard, Width};
use crate::wifi::propagation::SectorAntenna;
use crate::wifi::propagation::sixty::sweep_time;
use crate::wifi::*;

const ANTENNA: SectorAntenna = SectorAntenna { sectors: 16, boresight_deg: 0.0 };
const AP: Mac = Mac::local(1000);
const METRES: f64 = 20.0;

fn pair(antenna: Option<SectorAntenna>) -> AirSpec {
    let channel = Channel::new(Band::Ghz60, 1, Width::Mhz2160, None).unwrap();
    let rate_control = RateControlSpec::Fixed(Rate::dmg(4).unwrap());
    let radio = RadioSpec { antenna, rate_control, ..RadioSpec::new(Standard::Ad, channel) };
    let there = RadioSpec { position: [METRES, 0.0, 0.0], ..radio.clone() };
    let quiet = ApSpec { beacon_interval_tu: 0, ..ApSpec::default() };
    let start = StationStart::Associated(AP);
    let station = Mode::Station(StationSpec { start, ..StationSpec::default() });
    AirSpec {
        radios: vec![radio, there],
        ifaces: vec![
            IfaceSpec { radio: RadioId(0), mac: AP, mode: Mode::AccessPoint(quiet) },
            IfaceSpec { radio: RadioId(1), mac: Mac::local(0), mode: station },
        ],
        path_loss: PathLoss { exponent: 2.0, reference_db: 68.0, ..PathLoss::default() },
        ..AirSpec::default()
    }
}

/// Sends a packet each 100 µs until 20 ms, with a command at 10 ms; gives times and powers of arrivals.
fn arrivals(spec: AirSpec, command: Option<Command>) -> Vec<(Time, f64)> {
    let mut air: Air<u64> = Air::new(spec, 1).unwrap();
    let mut got = Vec::new();
    for n in 0..200u64 {
        let now = Time::from_micros(100 * n);
        if n == 100 {
            command.iter().for_each(|c| air.command(now, c.clone()).unwrap());
        }
        let ac = AccessCategory::BestEffort;
        let packet = Packet { len_bytes: 1500, ac, token: n, ecn_capable: false, flow: 0, payload: n };
        air.send(now, IfaceId(1), AP, packet).unwrap();
        while let Some(at) = air.next_timeout().filter(|at| *at < now + Duration::from_micros(100)) {
            while let Some(output) = air.poll(at) {
                if let Output::Received(r) = output {
                    got.push((r.at, r.signal_dbm));
                }
            }
        }
    }
    got
}

/// The longest time without an arrival.
fn longest_gap(arrivals: &[(Time, f64)]) -> Duration {
    arrivals.windows(2).map(|w| w[1].0 - w[0].0).max().unwrap()
}

#[test]
fn sectors_add_their_gain_at_both_ends() {
    let bare = arrivals(pair(None), None);
    let with = arrivals(pair(Some(ANTENNA)), None);
    let gain = 2.0 * ANTENNA.gain_dbi(0, 0.0);
    assert!(gain > 30.0, "{gain}");
    // 68 dB and 20·log₁₀(20) away from 16 dBm, where MCS 4 fails and with its antennas does not.
    let mean = with.iter().map(|a| a.1).sum::<f64>() / with.len() as f64;
    let expected = 16.0 - 68.0 - 20.0 * libm::log10(METRES) + gain;
    assert!((mean - expected).abs() < 1e-9, "{mean} for {expected}");
    assert!(bare.is_empty() && with.len() > 190, "{} and {}", bare.len(), with.len());
}

#[test]
fn somebody_in_the_way_costs_a_sweep() {
    let command = Command::SetBlockage { a: RadioId(0), b: RadioId(1), loss_db: 15.0 };
    let got = arrivals(pair(Some(ANTENNA)), Some(command));
    let sweep = sweep_time(16, 16);
    let gap = longest_gap(&got);
    assert!(gap >= sweep && gap < sweep + Duration::from_millis(2), "{gap:?} for {sweep:?}");
    let power = |at: usize| got[at].1;
    assert!((power(5) - power(got.len() - 1) - 15.0).abs() < 1e-9);
}

#[test]
fn a_move_within_the_sector_costs_nothing() {
    let to = |y| Command::Move { radio: RadioId(1), position: [METRES, y, 0.0] };
    assert!(longest_gap(&arrivals(pair(Some(ANTENNA)), Some(to(1.0)))) < Duration::from_micros(400));
    assert!(longest_gap(&arrivals(pair(Some(ANTENNA)), Some(to(18.0)))) >= sweep_time(16, 16));
}
