//! Injected frames against the air's own MAC, which makes the same frames itself.

use super::*;
use crate::wifi::phy::{GuardInterval, Width};
use crate::wifi::rate::Stage;
use crate::wifi::tests::{AP, Cell, Offer, ht, legacy, saturate};
use crate::wifi::{ApSpec, StationSpec};
use core::time::Duration;

fn mbps(rate: u64) -> Rate {
    Rate::legacy(rate * 1_000_000).unwrap()
}

fn stage(rate: Rate, tries: u8) -> Stage {
    Stage { rate, tries, rts: false }
}

/// A data frame with a packet of so many bytes; of a priority, if it has a QoS field.
fn data(to: Mac, from: Mac, priority: Option<u8>, packet: usize) -> Arc<[u8]> {
    let mut bytes = vec![if priority.is_some() { 0x88 } else { 0x08 }, 1, 0, 0];
    for mac in [to, from, to] {
        bytes.extend(mac.0);
    }
    bytes.extend([0, 0]);
    bytes.extend(priority.into_iter().flat_map(|tid| [tid, 0]));
    bytes.resize(bytes.len() + 8 + packet, 0x5a);
    bytes.into()
}

fn frame(token: u64, bytes: &Arc<[u8]>, stages: &[Stage]) -> FrameToSend {
    FrameToSend { token, bytes: Arc::clone(bytes), series: RateChain::of(stages).unwrap(), no_ack: false }
}

/// What came of a saturated run of stations 1, 2, … that send to radio 0.
struct Saturated {
    bps: Vec<f64>,
    /// Frames done, and of these acknowledged, by station.
    done: Vec<[u64; 2]>,
    tries: Vec<u64>,
}

impl Saturated {
    fn mbps(&self) -> f64 {
        self.bps.iter().sum::<f64>() / 1e6
    }
}

/// Each station always has two frames queued, of its priority; none: frames without a QoS field.
fn inject_saturated(
    spec: AirSpec,
    (rate, priorities): (Rate, &[Option<u8>]),
    ms: u64,
    wake_us: u64,
) -> Saturated {
    let stations = priorities.len();
    let mut medium = FrameMedium::new(spec, 1).unwrap();
    let made: Vec<_> = (0..stations).map(|s| data(AP, Mac::local(s as u32), priorities[s], 1500)).collect();
    let mut next = Time::from_micros(137);
    for n in 0..2 {
        for (s, bytes) in made.iter().enumerate() {
            medium.send_frame(next, RadioId(s as u16 + 1), frame(n, bytes, &[stage(rate, 7)])).unwrap();
            next += Duration::from_micros(137);
        }
    }
    let (from, to) = (Time::from_millis(500), Time::from_millis(500 + ms));
    let mut out =
        Saturated { bps: vec![0.0; stations], done: vec![[0; 2]; stations], tries: vec![0; stations] };
    while let Some(at) = medium.next_timeout().filter(|at| *at < to) {
        while let Some(output) = medium.poll(at + Duration::from_micros(wake_us)) {
            let FrameOutput::Done { at, radio, token, acknowledged, tries, .. } = output else { continue };
            let s = usize::from(radio.0) - 1;
            medium.send_frame(at, radio, frame(token, &made[s], &[stage(rate, 7)])).unwrap();
            if at > from && at <= to {
                out.bps[s] += f64::from(u32::from(acknowledged)) * 12_000.0 * 1000.0 / ms as f64;
                out.done[s] = [out.done[s][0] + 1, out.done[s][1] + u64::from(acknowledged)];
                out.tries[s] += tries.iter().map(|t| u64::from(*t)).sum::<u64>();
            }
        }
    }
    out
}

fn cell(radio: RadioSpec, stations: u32) -> AirSpec {
    Cell { radio, stations }.spec()
}

/// Stations that do not hear each other, and hear their access point well.
fn hidden(radio: RadioSpec) -> AirSpec {
    let mut spec = cell(radio, 2);
    let pair = |a, b, db| (RadioId(a), RadioId(b), db);
    spec.path_loss_overrides = vec![pair(0, 1, 50.0), pair(0, 2, 50.0), pair(1, 2, 200.0)];
    spec
}

fn within(got: f64, expected: f64, band: f64) {
    assert!((got / expected - 1.0).abs() < band, "{got} for {expected}");
}

#[test]
fn saturated_frames_carry_what_the_airs_own_mac_carries() {
    let plain = RadioSpec { aggregation: Aggregation::OFF, ..ht(7, Width::Mhz20, GuardInterval::Long) };
    let mcs7 = Rate::ht(7, 1, Width::Mhz20, GuardInterval::Long).unwrap();
    for (radio, rate, priority) in
        [(legacy(54), mbps(54), None), (legacy(6), mbps(6), None), (plain, mcs7, Some(0))]
    {
        for stations in [1u32, 3] {
            let own = saturate(cell(radio.clone(), stations), Offer::Always, (500, 10_000), 1).mbps();
            let priorities = vec![priority; stations as usize];
            let got = inject_saturated(cell(radio.clone(), stations), (rate, &priorities), 10_000, 0);
            within(got.mbps(), own, 0.03);
            let (sum, squares) = got.bps.iter().fold((0.0, 0.0), |(s, q), b| (s + b, q + b * b));
            assert!(sum * sum / (f64::from(stations) * squares) > 0.98, "{:?}", got.bps);
        }
    }
}

#[test]
fn hidden_stations_lose_as_with_the_airs_own_mac_and_those_in_reach_do_not() {
    let own = saturate(hidden(legacy(54)), Offer::Always, (500, 20_000), 1).mbps();
    let got = inject_saturated(hidden(legacy(54)), (mbps(54), &[None; 2]), 20_000, 0);
    within(got.mbps(), own, 0.05);
    let tries =
        |t: &Saturated| t.tries.iter().sum::<u64>() as f64 / t.done.iter().map(|d| d[0]).sum::<u64>() as f64;
    let near = inject_saturated(cell(legacy(54), 2), (mbps(54), &[None; 2]), 5000, 0);
    assert!(tries(&got) > tries(&near) + 0.1 && tries(&near) < 1.2, "{} and {}", tries(&got), tries(&near));
}

/// The null case: two cells out of each other's reach cost each other nothing, and no frame fails.
#[test]
fn cells_far_apart_never_fail() {
    let alone = inject_saturated(cell(legacy(54), 1), (mbps(54), &[None]), 3000, 0);
    assert_eq!(alone.done[0][0], alone.done[0][1]);
    assert_eq!(alone.tries[0], alone.done[0][0]);
    let mut spec = cell(legacy(54), 3);
    // Station 1 sends to the access point, and far away station 2 to station 3.
    for n in 2..4 {
        spec.radios[n].position = [1e5, n as f64, 0.0];
    }
    let mut medium = FrameMedium::new(spec, 1).unwrap();
    let made = [data(AP, Mac::local(0), None, 1500), data(Mac::local(2), Mac::local(1), None, 1500)];
    for s in 0..2 {
        medium
            .send_frame(Time::ZERO, RadioId(s + 1), frame(0, &made[usize::from(s)], &[stage(mbps(54), 7)]))
            .unwrap();
    }
    let mut done = [0u64; 2];
    while let Some(at) = medium.next_timeout().filter(|at| *at < Time::from_secs(3)) {
        while let Some(output) = medium.poll(at) {
            match output {
                FrameOutput::Done { at, radio, acknowledged, tries, .. } => {
                    assert!(acknowledged && tries == [1, 0, 0, 0]);
                    let s = usize::from(radio.0) - 1;
                    done[s] += 1;
                    medium.send_frame(at, radio, frame(0, &made[s], &[stage(mbps(54), 7)])).unwrap();
                }
                FrameOutput::Arrived { radio, from, .. } => {
                    assert!(matches!((from.0, radio.0), (1, 0) | (2, 3)), "{from:?} at {radio:?}");
                }
            }
        }
    }
    for n in done {
        within(n as f64 / 3.0, alone.done[0][0] as f64 / 3.0, 0.01);
    }
}

/// Everything that comes of frames that are sent at once.
fn outcome(spec: AirSpec, frames: &[(u16, FrameToSend)]) -> Vec<FrameOutput> {
    let mut medium = FrameMedium::new(spec, 3).unwrap();
    for (radio, frame) in frames {
        medium.send_frame(Time::ZERO, RadioId(*radio), frame.clone()).unwrap();
    }
    let mut all = Vec::new();
    while let Some(at) = medium.next_timeout().filter(|at| *at < Time::from_secs(10)) {
        all.extend(core::iter::from_fn(|| medium.poll(at)));
    }
    all
}

fn ends(all: &[FrameOutput]) -> Vec<(bool, [u8; 4])> {
    let end = |o: &FrameOutput| match o {
        FrameOutput::Done { acknowledged, tries, .. } => Some((*acknowledged, *tries)),
        FrameOutput::Arrived { .. } => None,
    };
    all.iter().filter_map(end).collect()
}

fn arrivals(all: &[FrameOutput]) -> Vec<(u16, Rate, bool)> {
    let arrival = |o: &FrameOutput| match o {
        FrameOutput::Arrived { radio, rate, bytes, .. } => Some((radio.0, *rate, bytes[1] & 8 != 0)),
        FrameOutput::Done { .. } => None,
    };
    all.iter().filter_map(arrival).collect()
}

#[test]
fn a_series_is_gone_through_until_a_rate_arrives() {
    let at_loss = |db| {
        let mut spec = cell(legacy(54), 1);
        spec.path_loss_overrides = vec![(RadioId(0), RadioId(1), db)];
        spec
    };
    let bytes = data(AP, Mac::local(0), None, 1500);
    let series = [stage(mbps(54), 2), stage(mbps(48), 3), stage(mbps(6), 4)];
    let one = [(1, frame(9, &bytes, &series))];
    // 16 dBm and noise of -94 dBm: 60 dB, 13 dB and nothing.
    let near = outcome(at_loss(50.0), &one);
    assert_eq!((ends(&near), arrivals(&near)), (vec![(true, [1, 0, 0, 0])], vec![(0, mbps(54), false)]));
    let weak = outcome(at_loss(97.0), &one);
    assert_eq!((ends(&weak), arrivals(&weak)), (vec![(true, [2, 3, 1, 0])], vec![(0, mbps(6), true)]));
    let out_of_reach = outcome(at_loss(200.0), &one);
    assert_eq!((ends(&out_of_reach), arrivals(&out_of_reach)), (vec![(false, [2, 3, 4, 0])], vec![]));
}

#[test]
fn frames_to_groups_go_once_and_those_to_unknown_addresses_as_often_as_the_series_says() {
    let series = [stage(mbps(6), 4)];
    let group = frame(1, &data(Mac::BROADCAST, Mac::local(0), None, 100), &series);
    let all = outcome(cell(legacy(54), 2), &[(1, group)]);
    let mut places: Vec<u16> = arrivals(&all).iter().map(|a| a.0).collect();
    places.sort_unstable();
    assert_eq!((ends(&all), places), (vec![(false, [1, 0, 0, 0])], vec![0, 2]));
    let unknown = frame(1, &data(Mac::local(77), Mac::local(0), None, 100), &series);
    let all = outcome(cell(legacy(54), 2), &[(1, unknown.clone())]);
    assert_eq!(
        (ends(&all), arrivals(&all).len()),
        (vec![(false, [4, 0, 0, 0])], 8),
        "two radios overhear four tries"
    );
    let copies: std::collections::BTreeSet<_> = all
        .iter()
        .filter_map(|o| match o {
            FrameOutput::Arrived { bytes, .. } => Some(bytes.as_ptr()),
            FrameOutput::Done { .. } => None,
        })
        .collect();
    assert_eq!(copies.len(), 2, "one of the first try, one of all others");
    let unanswered = FrameToSend { no_ack: true, bytes: data(AP, Mac::local(0), None, 100), ..unknown };
    let all = outcome(cell(legacy(54), 2), &[(1, unanswered)]);
    assert_eq!((ends(&all), arrivals(&all).len()), (vec![(false, [1, 0, 0, 0])], 2));
}

#[test]
fn what_is_repeated_because_its_ack_was_lost_arrives_again_with_the_retry_bit() {
    let mut spec = cell(legacy(54), 1);
    spec.path_loss_overrides = vec![(RadioId(0), RadioId(1), 80.0)];
    spec.radios[0].tx_power_dbm = -50.0;
    let all = outcome(spec, &[(1, frame(1, &data(AP, Mac::local(0), None, 100), &[stage(mbps(6), 3)]))]);
    let retry: Vec<bool> = arrivals(&all).iter().map(|a| a.2).collect();
    assert_eq!((ends(&all), retry), (vec![(false, [3, 0, 0, 0])], vec![false, true, true]));
}

#[test]
fn a_more_urgent_category_has_more_and_equal_ones_the_same() {
    let plain = RadioSpec { aggregation: Aggregation::OFF, ..ht(7, Width::Mhz20, GuardInterval::Long) };
    let mcs7 = Rate::ht(7, 1, Width::Mhz20, GuardInterval::Long).unwrap();
    let share = |priorities: [u8; 2]| {
        let got = inject_saturated(cell(plain.clone(), 2), (mcs7, &priorities.map(Some)), 3000, 0);
        got.bps[0] / got.bps[1]
    };
    assert!(share([6, 1]) > 5.0);
    within(share([1, 1]), 1.0, 0.15);
}

#[test]
fn a_radio_holds_so_many_frames_and_none_that_is_no_frame() {
    let mut medium = FrameMedium::new(cell(legacy(54), 1), 1).unwrap();
    let bytes = data(AP, Mac::local(0), None, 1500);
    let mut send = |bytes: &Arc<[u8]>, radio| {
        medium.send_frame(Time::ZERO, RadioId(radio), frame(0, bytes, &[stage(mbps(6), 1)]))
    };
    for _ in 0..WAITING_FRAMES {
        send(&bytes, 1).unwrap();
    }
    assert_eq!(send(&bytes, 1), Err(FrameError::Full));
    assert_eq!(send(&vec![0; 9].into(), 0), Err(FrameError::Length(9)));
    assert_eq!(send(&vec![0; 4092].into(), 0), Err(FrameError::Length(4092)));
    // The radio that answers nobody is not for others to use.
    assert_eq!(send(&bytes, 2), Err(FrameError::NoRadio(2)));
    let mut done = 0;
    while let Some(at) = medium.next_timeout().filter(|at| *at < Time::from_secs(1)) {
        while let Some(output) = medium.poll(at) {
            done += usize::from(matches!(output, FrameOutput::Done { acknowledged: true, .. }));
        }
    }
    assert_eq!(done, WAITING_FRAMES);
}

#[test]
fn a_radio_that_is_off_gives_all_frames_back_and_goes_on_when_it_is_on() {
    let mut medium = FrameMedium::new(cell(legacy(54), 1), 1).unwrap();
    let bytes = data(AP, Mac::local(0), None, 1500);
    let (radio, at) = (RadioId(1), Time::from_micros(200));
    let five = |medium: &mut FrameMedium, at| {
        (0..5).for_each(|n| medium.send_frame(at, radio, frame(n, &bytes, &[stage(mbps(6), 2)])).unwrap());
    };
    five(&mut medium, Time::ZERO);
    medium.command(at, Command::SetRadioUp { radio, up: false }).unwrap();
    let ended = |medium: &mut FrameMedium, until| {
        let mut all = Vec::new();
        while let Some(at) = medium.next_timeout().filter(|at| *at < until) {
            all.extend(core::iter::from_fn(|| medium.poll(at)));
        }
        ends(&all)
    };
    let all = ended(&mut medium, Time::from_secs(1));
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|(acknowledged, tries)| !acknowledged && tries[1..] == [0, 0, 0]), "{all:?}");
    medium.command(Time::from_secs(1), Command::SetRadioUp { radio, up: true }).unwrap();
    five(&mut medium, Time::from_secs(1));
    assert_eq!(ended(&mut medium, Time::from_secs(2)), vec![(true, [1, 0, 0, 0]); 5]);
}

#[test]
fn a_driver_that_is_late_has_the_same_outcome() {
    let run = |wake_us| inject_saturated(cell(legacy(54), 3), (mbps(54), &[None; 3]), 1000, wake_us).done;
    assert_eq!(run(0), run(130));
}

#[test]
fn a_radio_needs_one_address() {
    let mut spec = cell(legacy(54), 1);
    spec.ifaces.pop();
    assert!(FrameMedium::new(spec.clone(), 1).is_err());
    let mode = Mode::AccessPoint(ApSpec::default());
    spec.ifaces.push(IfaceSpec { radio: RadioId(0), mac: Mac::local(5), mode });
    let mode = Mode::Station(StationSpec::default());
    spec.ifaces.push(IfaceSpec { radio: RadioId(1), mac: Mac::local(6), mode });
    assert!(FrameMedium::new(spec, 1).is_err());
}
