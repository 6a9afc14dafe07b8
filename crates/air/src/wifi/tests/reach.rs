//! Who hears whom: hidden and exposed stations, capture, overlapping and wide channels, interferers, fading.

use core::time::Duration;

use super::interferer::{InterfererSpec, Pattern};
use super::phy::Span;
use super::propagation::{Fading, FadingKind};
use super::*;

/// A cell whose radios all receive each other 50 dB weaker, as in the cases held against ns-3; nothing expires.
fn near(radio: RadioSpec, stations: u32) -> AirSpec {
    let queue = WifiQueue { lifetime: Duration::from_secs(1000), ..WifiQueue::default() };
    let mut spec = Cell { radio: RadioSpec { queue, ..radio }, stations }.spec();
    let n = spec.radios.len() as u16;
    spec.path_loss_overrides =
        (0..n).flat_map(|a| (a + 1..n).map(move |b| (RadioId(a), RadioId(b), 50.0))).collect();
    spec
}

fn loss(mut spec: AirSpec, a: u16, b: u16, db: f64) -> AirSpec {
    spec.path_loss_overrides.retain(|o| (o.0, o.1) != (RadioId(a), RadioId(b)));
    spec.path_loss_overrides.push((RadioId(a), RadioId(b), db));
    spec
}

fn rts(radio: RadioSpec) -> RadioSpec {
    RadioSpec { rts_threshold: Some(0), ..radio }
}

fn mbps(spec: AirSpec, seconds: u64) -> f64 {
    saturate(spec, Offer::Always, (1000, seconds * 1000), 1).mbps()
}

/// Two stations that do not hear each other; figures from bench/ns3, ns-3 3.44, three seeds.
#[test]
fn hidden_stations_lose_what_they_lose_in_ns3_and_rts_saves_it() {
    let ampdu = ht(7, Width::Mhz20, GuardInterval::Long);
    let cases = [
        (legacy(54), 40, 23.961, 0.02),
        (rts(legacy(54)), 40, 23.842, 0.02),
        (legacy(6), 200, 1.1347, 0.03),
        (rts(legacy(6)), 100, 4.9578, 0.02),
        (ampdu.clone(), 60, 49.66, 0.03),
        (rts(ampdu), 30, 59.6426, 0.02),
    ];
    for (radio, seconds, expected, band) in cases {
        let got = mbps(loss(near(radio, 2), 1, 2, 200.0), seconds);
        assert!((got / expected - 1.0).abs() < band, "{got} for {expected}");
    }
}

/// Two pairs whose senders hear each other but whose receivers do not hear the other sender: each sender waits for the other
/// though both could send.
#[test]
fn exposed_senders_wait_for_nothing() {
    let one = |near_each_other: bool| {
        let mut spec = AirSpec::default();
        for n in 0..4u32 {
            spec.radios.push(legacy(54));
            let mode = Mode::Mesh { id: String::from(if n < 2 { "a" } else { "b" }) };
            spec.ifaces.push(IfaceSpec { radio: RadioId(n as u16), mac: Mac::local(n), mode });
        }
        let between = if near_each_other { 70.0 } else { 200.0 };
        spec.path_loss.told_only = true;
        spec.path_loss_overrides = vec![
            (RadioId(0), RadioId(1), 60.0),
            (RadioId(2), RadioId(3), 60.0),
            (RadioId(0), RadioId(2), between),
        ];
        let mut air: Air<u64> = Air::new(spec, 2).unwrap();
        for n in 0..400 {
            air.send(Time::ZERO, IfaceId(0), Mac::local(1), packet(n)).unwrap();
            air.send(Time::ZERO, IfaceId(2), Mac::local(3), packet(n)).unwrap();
        }
        let mut delivered = 0;
        while let Some(at) = air.next_timeout().filter(|&at| at < Time::from_millis(100)) {
            while let Some(output) = air.poll(at) {
                delivered += u64::from(matches!(output, Output::Received(_)));
            }
        }
        delivered
    };
    let (apart, exposed) = (one(false), one(true));
    assert!((480..530).contains(&apart), "{apart}");
    // Frames that begin in the same slot do each other no harm, so it is a little more than one half.
    let share = exposed as f64 / apart as f64;
    assert!((0.5..0.62).contains(&share), "{exposed} of {apart}");
}

/// A frame that comes after a weaker one has begun is heard if capture says so, and only then; the weaker one is lost.
#[test]
fn capture_by_margin_and_time() {
    let heard = |capture: Capture, later_us: u64, stronger_db: f64| {
        let radio = RadioSpec { retry_limit: 1, ..legacy(6) };
        let mut spec = loss(loss(near(radio, 2), 0, 1, 50.0 + stronger_db), 1, 2, 200.0);
        spec.capture = capture;
        let mut air: Air<u64> = Air::new(spec, 2).unwrap();
        air.send(Time::from_millis(1), IfaceId(1), AP, packet(1)).unwrap();
        air.send(Time::from_micros(1000 + later_us), IfaceId(2), AP, packet(2)).unwrap();
        let mut heard = Vec::new();
        while let Some(at) = air.next_timeout() {
            while let Some(output) = air.poll(at) {
                heard.extend(if let Output::Received(r) = output { Some(r.payload) } else { None });
            }
        }
        heard
    };
    let none = Capture { margin_db: None, ..Capture::default() };
    let late = Capture { late_margin_db: Some(10.0), ..Capture::default() };
    for (capture, later_us, stronger_db, expected) in [
        (none, 10, 10.0, vec![]),
        (Capture::default(), 10, 10.0, vec![2]),
        (Capture::default(), 10, 4.5, vec![]),
        (Capture::default(), 16, 5.5, vec![2]),
        (Capture::default(), 17, 30.0, vec![]),
        (late, 100, 11.0, vec![2]),
        (late, 100, 9.0, vec![]),
        // In the first 4 µs the preambles are weighed against each other, capture or not.
        (none, 2, 10.0, vec![2]),
        // A weaker one that comes later by 10 dB does no harm.
        (none, 100, -10.0, vec![1]),
    ] {
        assert_eq!(heard(capture, later_us, stronger_db), expected, "{capture:?} {later_us} {stronger_db}");
    }
}

#[test]
fn far_enough_apart_channels_do_not_meet_and_overlapping_ones_do() {
    let two = |n| Channel::new(Band::Ghz2_4, n, Width::Mhz20, None).unwrap();
    let both = |other: u8| {
        let mut spec = AirSpec::default();
        for (cell, number) in [1, other].into_iter().enumerate() {
            for n in 0..2u32 {
                let rate = RateControlSpec::Fixed(Rate::legacy(54_000_000).unwrap());
                let position = [cell as f64 * 5.0, f64::from(n) * 3.0, 0.0];
                let new = RadioSpec::new(Standard::G, two(number));
                spec.radios.push(RadioSpec { position, rate_control: rate, ..new });
                let id = format!("{cell}");
                let radio = RadioId(spec.radios.len() as u16 - 1);
                spec.ifaces.push(IfaceSpec {
                    radio,
                    mac: Mac::local(u32::from(radio.0)),
                    mode: Mode::Mesh { id },
                });
            }
        }
        let mut air: Air<u64> = Air::new(spec, 2).unwrap();
        let mut delivered = 0u32;
        for n in 0..450 {
            air.send(Time::ZERO, IfaceId(0), Mac::local(1), packet(n)).unwrap();
            air.send(Time::ZERO, IfaceId(2), Mac::local(3), packet(n)).unwrap();
        }
        while let Some(at) = air.next_timeout().filter(|&at| at < Time::from_millis(150)) {
            while let Some(output) = air.poll(at) {
                delivered += u32::from(matches!(output, Output::Received(_)));
            }
        }
        delivered
    };
    let (apart, overlapping, same) = (both(6), both(3), both(1));
    assert!(apart > 740, "{apart}");
    assert!((350..420).contains(&same), "{same}");
    assert!(overlapping < apart * 3 / 5, "half of the power falls into the other channel: {overlapping}");
}

#[test]
fn a_wide_sender_shares_its_secondary_channel_or_shrinks() {
    // A cell of 40 MHz on 36 + 40, and a saturated pair of 20 MHz on 40.
    let wide = ht(7, Width::Mhz40, GuardInterval::Long);
    let cell = |neighbour: bool| {
        let mut spec = near(wide.clone(), 1);
        if neighbour {
            for n in 0..2u32 {
                let channel = Channel::new(Band::Ghz5, 40, Width::Mhz20, None).unwrap();
                let position = [f64::from(n), 3.0, 0.0];
                spec.radios.push(RadioSpec { channel, position, ..legacy(54) });
                let mode = Mode::Mesh { id: String::from("b") };
                spec.ifaces.push(IfaceSpec { radio: RadioId(2 + n as u16), mac: Mac::local(50 + n), mode });
            }
        }
        let mut air: Air<u64> = Air::new(spec, 3).unwrap();
        let mut bits = [0.0; 2];
        let refill = |air: &mut Air<u64>, at, iface, to| air.send(at, IfaceId(iface), to, packet(0)).unwrap();
        for _ in 0..200 {
            refill(&mut air, Time::ZERO, 1, AP);
            if neighbour {
                refill(&mut air, Time::ZERO, 2, Mac::local(51));
            }
        }
        while let Some(at) = air.next_timeout().filter(|&at| at < Time::from_secs(2)) {
            while let Some(output) = air.poll(at) {
                match output {
                    Output::Received(r) => bits[usize::from(r.iface.0 > 0)] += 12_000.0 / 2e6,
                    Output::Completion(c) => {
                        let to = if c.iface.0 == 1 { AP } else { Mac::local(51) };
                        refill(&mut air, c.at, c.iface.0, to);
                    }
                    _ => {}
                }
            }
        }
        bits
    };
    let (alone, beside) = (cell(false), cell(true));
    assert!(alone[0] > 115.0, "{alone:?}");
    assert!(beside[0] > 15.0 && beside[0] < 80.0 && beside[1] > 3.0, "{beside:?}");
}

#[test]
fn an_interferer_takes_its_share_of_time() {
    let with = |pattern: Option<Pattern>| {
        let mut spec = near(legacy(54), 1);
        let span = Span { centre_mhz: 5180.0, width_mhz: 20.0 };
        spec.interferers = pattern
            .map(|pattern| PlacedInterferer {
                position: [2.0, 2.0, 0.0],
                spec: InterfererSpec {
                    power_dbm: 16.0,
                    span,
                    pattern,
                    wifi_like: false,
                    start: Time::ZERO,
                    stop: Time::NEVER,
                },
            })
            .into_iter()
            .collect();
        mbps(spec, 5)
    };
    let free = with(None);
    let half =
        with(Some(Pattern::Periodic { on: Duration::from_millis(10), off: Duration::from_millis(10) }));
    assert!((free - 30.5).abs() < 0.1 && (half / free - 0.5).abs() < 0.03, "{half} of {free}");
    assert_eq!(with(Some(Pattern::Always)), 0.0);
}

#[test]
fn out_of_reach_is_out_of_mind_and_fading_takes_frames() {
    let cell = |db: f64, fading: FadingKind| {
        let mut spec = loss(near(legacy(54), 1), 0, 1, db);
        spec.fading = Fading { kind: fading, coherence: Duration::from_millis(5) };
        mbps(spec, 10)
    };
    assert_eq!(cell(140.0, FadingKind::None), 0.0);
    // 16 − 82 + 94 = 28 dB of SNR: no losses; with Rayleigh fading 54 Mb/s need 22 dB, which exp(−10^(−0.6)) = 78 % have.
    let (clear, faded) = (cell(82.0, FadingKind::None), cell(82.0, FadingKind::Rayleigh));
    assert!(clear > 30.3, "{clear}");
    assert!((0.55..0.9).contains(&(faded / clear)), "{faded} of {clear}");
}
