//! Random commands and packets: nothing panics, every packet has one end, and the same seed gives the same run.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::stations::{Run, ap, at, bssid, station};
use super::*;

fn network() -> Run {
    let aggregating = |x: f64| RadioSpec {
        position: [x, 3.0, 0.0],
        rts_threshold: Some(3000),
        ..RadioSpec::new(Standard::N, five_ghz(Width::Mhz40))
    };
    let mut radios: Vec<RadioSpec> = (0..5).map(|n| at(f64::from(n) * 12.0, 36)).collect();
    radios.extend((0..3).map(|n| aggregating(f64::from(n) * 9.0)));
    radios[4].monitor = true;
    radios[5].queue.discipline = Discipline::FqCodel;
    let ifaces = vec![
        (0, ap(0, "air")),
        (1, ap(1, "air")),
        (2, station(1, StationStart::Scan)),
        (2, station(2, StationStart::Associated(bssid(1)))),
        (3, station(3, StationStart::Scan)),
        (5, ap(2, "air")),
        (6, station(4, StationStart::Associated(bssid(2)))),
        (7, station(5, StationStart::Scan)),
        (7, (Mac::local(6), Mode::Mesh { id: String::from("m") })),
        (1, (Mac::local(7), Mode::Mesh { id: String::from("m") })),
    ];
    Run::new(radios, ifaces)
}

const STATIONS: [u16; 5] = [2, 3, 4, 6, 7];

fn command(rng: &mut ChaCha8Rng) -> Command {
    let iface = IfaceId(STATIONS[rng.random_range(0..5)]);
    let radio = RadioId(rng.random_range(0..8));
    let other = RadioId(rng.random_range(0..8));
    let channel = at(0.0, [36, 40, 44][rng.random_range(0..3)]).channel;
    match rng.random_range(0..11) {
        0 => Command::Associate { iface, bssid: rng.random::<bool>().then(|| bssid(rng.random_range(0..3))) },
        1 => Command::Disassociate { iface },
        2 => Command::SwitchChannel {
            iface: IfaceId([0, 1, 5][rng.random_range(0..3)]),
            channel,
            count: rng.random_range(0..4),
        },
        3 => Command::Tune { radio, channel },
        4 => Command::PowerSave {
            iface,
            mode: [PowerSave::Off, PowerSave::Doze, PowerSave::Away][rng.random_range(0..3)],
        },
        5 => Command::Move { radio, position: [rng.random_range(0.0..80.0), 0.0, 0.0] },
        6 => Command::SetTxPower { radio, dbm: rng.random_range(0.0..20.0) },
        7 => Command::SetPathLoss { a: radio, b: other, loss_db: rng.random::<bool>().then_some(75.0) },
        8 => Command::SetBlockage { a: radio, b: other, loss_db: rng.random_range(0.0..20.0) },
        9 => Command::SetRadioUp { radio, up: false },
        _ => Command::SetRadioUp { radio, up: true },
    }
}

/// How many outputs there were, and a digest of them; every packet that was taken has been completed once.
fn operate(seed: u64) -> (usize, String) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut run = network();
    let mut taken: BTreeMap<u64, u32> = BTreeMap::new();
    for step in 0..1500u64 {
        let now = run.air.now();
        if rng.random_range(0..6) == 0 {
            // Some commands make no sense at the moment, and are refused.
            let _ = run.air.command(now, command(&mut rng));
        }
        for n in 0..rng.random_range(0..12u64) {
            let to = match rng.random_range(0..4) {
                0 => Mac::BROADCAST,
                1 => bssid(rng.random_range(0..3)),
                _ => Mac::local(rng.random_range(1..8)),
            };
            let token = step * 100 + n;
            let ac = AccessCategory::ALL[rng.random_range(0..4)];
            let packet = Packet { ac, len_bytes: rng.random_range(40..1500), ..packet(token) };
            if run.air.send(now, IfaceId(rng.random_range(0..10)), to, packet).is_ok() {
                taken.insert(token, 0);
            }
        }
        run.until(now.as_nanos() / 1_000_000 + rng.random_range(1..8));
    }
    for radio in 0..8 {
        run.air.command(run.air.now(), Command::SetRadioUp { radio: RadioId(radio), up: false }).unwrap();
    }
    run.until(run.air.now().as_nanos() / 1_000_000 + 2000);
    for output in &run.seen {
        if let Output::Completion(done) = output {
            *taken.get_mut(&done.token).expect("only what was taken is completed") += 1;
        }
    }
    let wrong: Vec<_> = taken.iter().filter(|(_, times)| **times != 1).take(5).collect();
    assert!(wrong.is_empty(), "seed {seed}: not completed once: {wrong:?}");
    let last = format!("{:?}", &run.seen[run.seen.len() - 50..]);
    (run.seen.len(), last)
}

#[test]
fn every_packet_has_one_end_whatever_happens() {
    for seed in 0..40 {
        operate(seed);
    }
}

#[test]
fn the_same_operations_give_the_same_run() {
    assert_eq!(operate(99), operate(99));
}
