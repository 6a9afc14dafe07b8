//! How fast the medium runs: simulated seconds per second, for saturated cells and for a dense network.
//!
//! `cargo run --release -p ropewalk-air --example air_speed [SIMULATED SECONDS]`

use std::time::Instant;

use ropewalk_air::Time;
use ropewalk_air::wifi::phy::{Band, Channel, GuardInterval, Rate, Standard, Width};
use ropewalk_air::wifi::{
    AccessCategory, Air, AirSpec, ApSpec, IfaceId, IfaceSpec, Mac, Mode, Output, Packet, RadioId, RadioSpec,
    RateControlSpec, StationSpec, StationStart,
};

fn channel(number: u8) -> Channel {
    Channel::new(Band::Ghz5, number, Width::Mhz20, None).expect("a channel of 5 GHz")
}

fn radio(standard: Standard, number: u8, position: [f64; 3]) -> RadioSpec {
    let rate = match standard {
        Standard::N => Rate::ht(7, 1, Width::Mhz20, GuardInterval::Long),
        _ => Rate::legacy(54_000_000),
    };
    let rate_control = RateControlSpec::Fixed(rate.expect("a rate of the standard"));
    RadioSpec { position, rate_control, ..RadioSpec::new(standard, channel(number)) }
}

/// `aps` access points on a grid of 15 m, on three channels in turn, with `stations` stations each within some metres.
fn network(standard: Standard, aps: u32, stations: u32) -> AirSpec {
    let mut spec = AirSpec::default();
    for ap in 0..aps {
        let (x, y) = (f64::from(ap % 8) * 15.0, f64::from(ap / 8) * 15.0);
        let number = [36, 40, 44][(ap % 3) as usize];
        let mut add = |radio: RadioSpec, mac, mode| {
            spec.radios.push(radio);
            spec.ifaces.push(IfaceSpec { radio: RadioId(spec.radios.len() as u16 - 1), mac, mode });
        };
        let bssid = Mac::local(10_000 + ap);
        add(radio(standard, number, [x, y, 0.0]), bssid, Mode::AccessPoint(ApSpec::default()));
        for n in 0..stations {
            let position = [x + 1.0 + f64::from(n % 3), y + f64::from(n / 3), 0.0];
            let start = StationStart::Associated(bssid);
            let mode = Mode::Station(StationSpec { start, ..StationSpec::default() });
            add(radio(standard, number, position), Mac::local(ap * 100 + n), mode);
        }
    }
    spec
}

/// Every station always has packets for its access point.
fn run(name: &str, spec: AirSpec, seconds: u64) {
    let mut air: Air<u64> = Air::new(spec.clone(), 1).expect("a possible network");
    let packet = |token| Packet {
        len_bytes: 1500,
        ac: AccessCategory::BestEffort,
        token,
        ecn_capable: false,
        flow: 0,
        payload: token,
    };
    let mut bssid = Mac::BROADCAST;
    let mut to = Vec::new();
    for (index, iface) in spec.ifaces.iter().enumerate() {
        if let Mode::AccessPoint(_) = iface.mode {
            bssid = iface.mac;
        } else {
            let at = Time::from_micros(index as u64 * 97);
            (0..100)
                .for_each(|n| air.send(at, IfaceId(index as u16), bssid, packet(n)).expect("a neighbour"));
        }
        to.push(bssid);
    }
    let begin = Instant::now();
    let (mut outputs, mut bits) = (0u64, 0u64);
    while let Some(at) = air.next_timeout().filter(|&at| at < Time::from_secs(seconds)) {
        while let Some(output) = air.poll(at) {
            outputs += 1;
            match output {
                Output::Received(r) => bits += u64::from(r.len_bytes) * 8,
                Output::Completion(done) => {
                    let bssid = to[usize::from(done.iface.0)];
                    // A station that has lost its access point has nobody to send to.
                    let _ = air.send(done.at, done.iface, bssid, packet(done.token));
                }
                _ => {}
            }
        }
    }
    let took = begin.elapsed().as_secs_f64();
    let ppdus: u64 =
        (0..spec.radios.len()).filter_map(|r| air.radio_stats(RadioId(r as u16))).map(|s| s.ppdus_sent).sum();
    println!(
        "{name:24} {:8.1} simulated s/s   {:9.0} PPDUs/s {:9.0} outputs/s   {:7.2} Mb/s",
        seconds as f64 / took,
        ppdus as f64 / took,
        outputs as f64 / took,
        bits as f64 / seconds as f64 / 1e6
    );
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(100);
    run("11a-54, n = 10", network(Standard::A, 1, 10), seconds);
    run("11n A-MPDU, n = 10", network(Standard::N, 1, 10), seconds);
    run("11n, 50 APs, 200 stations", network(Standard::N, 50, 4), seconds.div_ceil(10));
}
