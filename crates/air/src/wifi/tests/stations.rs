//! Association, power save, channel switches, several interfaces on a radio, monitors, groups.

use core::time::Duration;

use super::interferer::{InterfererSpec, Pattern};
use super::phy::Span;
use super::*;

/// A network of radios and interfaces, made piece by piece, and all that has come out of it.
pub(super) struct Run {
    pub(super) air: Air<u64>,
    pub(super) seen: Vec<Output<u64>>,
}

pub(super) fn bssid(n: u32) -> Mac {
    Mac::local(1000 + n)
}

pub(super) fn ap(n: u32, ssid: &str) -> (Mac, Mode) {
    (bssid(n), Mode::AccessPoint(ApSpec { ssid: ssid.to_owned(), ..ApSpec::default() }))
}

pub(super) fn station(n: u32, start: StationStart) -> (Mac, Mode) {
    (Mac::local(n), Mode::Station(StationSpec { start, ..StationSpec::default() }))
}

/// A radio of 802.11a at 24 Mb/s, `x` metres along a line.
pub(super) fn at(x: f64, channel: u8) -> RadioSpec {
    let channel = Channel::new(Band::Ghz5, channel, Width::Mhz20, None).unwrap();
    let rate = Rate::legacy(24_000_000).unwrap();
    let spec = RadioSpec::new(Standard::A, channel);
    RadioSpec { position: [x, 0.0, 0.0], rate_control: RateControlSpec::Fixed(rate), ..spec }
}

impl Run {
    pub(super) fn new(radios: Vec<RadioSpec>, ifaces: Vec<(u16, (Mac, Mode))>) -> Run {
        let ifaces = ifaces.into_iter().map(|(r, (mac, mode))| IfaceSpec { radio: RadioId(r), mac, mode });
        let spec = AirSpec { radios, ifaces: ifaces.collect(), ..AirSpec::default() };
        Run::of(spec)
    }

    pub(super) fn of(spec: AirSpec) -> Run {
        Run { air: Air::new(spec, 5).unwrap(), seen: Vec::new() }
    }

    /// Lets time pass, and returns what came out in it.
    pub(super) fn until(&mut self, ms: u64) -> Vec<Output<u64>> {
        let end = Time::from_millis(ms);
        let before = self.seen.len();
        while let Some(at) = self.air.next_timeout().filter(|&at| at <= end) {
            while let Some(output) = self.air.poll(at) {
                self.seen.push(output);
            }
        }
        self.seen[before..].to_vec()
    }

    pub(super) fn send(&mut self, ms: u64, iface: u16, to: Mac, tokens: core::ops::Range<u64>) {
        for token in tokens {
            self.air.send(Time::from_millis(ms), IfaceId(iface), to, super::packet(token)).unwrap();
        }
    }

    pub(super) fn command(&mut self, ms: u64, command: Command) {
        self.air.command(Time::from_millis(ms), command).unwrap();
    }
}

/// What an interface received, by payload, in order.
pub(super) fn received(outputs: &[Output<u64>], iface: u16) -> Vec<u64> {
    let mine = |o: &Output<u64>| match o {
        Output::Received(r) if r.iface == IfaceId(iface) => Some(r.payload),
        _ => None,
    };
    outputs.iter().filter_map(mine).collect()
}

fn events(outputs: &[Output<u64>]) -> Vec<Event> {
    let event = |o: &Output<u64>| if let Output::Event(e) = o { Some(*e) } else { None };
    outputs.iter().filter_map(event).collect()
}

fn associated(outputs: &[Output<u64>]) -> Vec<(u16, Mac)> {
    let of =
        |e: Event| if let Event::Associated { iface, peer, .. } = e { Some((iface.0, peer)) } else { None };
    events(outputs).into_iter().filter_map(of).collect()
}

const JOINED: StationStart = StationStart::Associated(bssid_0());

const fn bssid_0() -> Mac {
    Mac::local(1000)
}

#[test]
fn a_station_joins_the_strongest_of_its_network_and_both_can_send() {
    let radios = vec![at(0.0, 36), at(30.0, 36), at(5.0, 36), at(4.0, 36)];
    let ifaces =
        vec![(0, ap(0, "air")), (1, ap(1, "air")), (2, station(1, StationStart::Scan)), (3, ap(2, "other"))];
    let mut run = Run::new(radios, ifaces);
    assert_eq!(
        run.air.send(Time::ZERO, IfaceId(2), bssid(0), super::packet(0)),
        Err(SendError::NoPeer(bssid(0)))
    );
    let outputs = run.until(400);
    assert_eq!(associated(&outputs), [(2, bssid(0)), (0, Mac::local(1))]);
    run.send(400, 2, bssid(0), 0..20);
    run.send(400, 0, Mac::local(1), 20..40);
    let outputs = run.until(600);
    assert_eq!(received(&outputs, 0), (0..20).collect::<Vec<_>>());
    assert_eq!(received(&outputs, 2), (20..40).collect::<Vec<_>>());
    let told = run.air.send(Time::from_millis(600), IfaceId(2), bssid(1), super::packet(0));
    assert_eq!(told, Err(SendError::NoPeer(bssid(1))));
}

#[test]
fn a_lost_access_point_is_noticed_after_seven_beacons_and_joined_again() {
    let mut run = Run::new(vec![at(0.0, 36), at(5.0, 36)], vec![(0, ap(0, "air")), (1, station(1, JOINED))]);
    run.until(1000);
    run.command(1000, Command::SetRadioUp { radio: RadioId(0), up: false });
    run.send(1001, 1, bssid(0), 0..3);
    let outputs = run.until(3000);
    let lost = events(&outputs).into_iter().find_map(|e| match e {
        Event::BeaconLost { at, iface: IfaceId(1), .. } => Some(at),
        _ => None,
    });
    let after = (lost.unwrap() - Time::from_secs(1)).as_millis();
    assert!((614..950).contains(&after), "{after} ms");
    run.command(3000, Command::SetRadioUp { radio: RadioId(0), up: true });
    assert_eq!(associated(&run.until(4000)), [(1, bssid(0)), (0, Mac::local(1))]);
    // Nothing that was taken is without an end.
    let done = run.seen.iter().filter(|o| matches!(o, Output::Completion(_))).count();
    assert_eq!(done, 3);
}

#[test]
fn an_access_point_that_sends_is_not_lost_for_want_of_beacons() {
    // Something near the station alone spoils half of the beacons, which nobody repeats; data is repeated.
    let spec = InterfererSpec {
        power_dbm: -20.0,
        span: Span { centre_mhz: 5180.0, width_mhz: 20.0 },
        pattern: Pattern::Random { mean_on: Duration::from_millis(20), mean_off: Duration::from_millis(20) },
        wifi_like: false,
        start: Time::ZERO,
        stop: Time::NEVER,
    };
    let lost = |frames: bool| {
        let joined = StationSpec { start: JOINED, beacon_loss: 2, ..StationSpec::default() };
        let iface = |radio, (mac, mode)| IfaceSpec { radio: RadioId(radio), mac, mode };
        let mut run = Run::of(AirSpec {
            radios: vec![at(0.0, 36), at(20.0, 36)],
            ifaces: vec![iface(0, ap(0, "air")), iface(1, (Mac::local(1), Mode::Station(joined)))],
            interferers: vec![PlacedInterferer { position: [21.0, 0.0, 0.0], spec }],
            ..AirSpec::default()
        });
        for ms in (0..3000).step_by(5) {
            run.until(ms);
            if frames {
                run.send(ms, 0, Mac::local(1), ms..ms + 1);
            }
        }
        events(&run.seen).iter().any(|e| matches!(e, Event::BeaconLost { .. }))
    };
    assert_eq!([lost(false), lost(true)], [true, false]);
}

#[test]
fn who_leaves_is_forgotten_by_both() {
    let mut run = Run::new(vec![at(0.0, 36), at(5.0, 36)], vec![(0, ap(0, "air")), (1, station(1, JOINED))]);
    run.until(10);
    run.command(10, Command::Disassociate { iface: IfaceId(1) });
    let outputs = run.until(2000);
    let parted = |e: &Event| matches!(e, Event::Disassociated { .. });
    assert_eq!(events(&outputs).iter().filter(|e| parted(e)).count(), 2);
    let told = run.air.send(Time::from_millis(2000), IfaceId(0), Mac::local(1), super::packet(0));
    assert_eq!(told, Err(SendError::NoPeer(Mac::local(1))));
}

#[test]
fn one_radio_is_a_station_of_two_access_points_and_an_access_point_itself() {
    let radios = vec![at(0.0, 36), at(3.0, 36), at(1.0, 36), at(2.0, 36)];
    let with = |n| StationStart::Associated(bssid(n));
    let ifaces = vec![
        (0, ap(0, "air")),
        (1, ap(1, "air")),
        (2, station(1, with(0))),
        (2, station(2, with(1))),
        (2, ap(2, "own")),
        (
            3,
            (
                Mac::local(3),
                Mode::Station(StationSpec {
                    ssid: String::from("own"),
                    start: with(2),
                    ..StationSpec::default()
                }),
            ),
        ),
    ];
    let mut run = Run::new(radios, ifaces);
    run.send(5, 0, Mac::local(1), 0..30);
    run.send(5, 1, Mac::local(2), 30..60);
    run.send(5, 4, Mac::local(3), 60..90);
    let outputs = run.until(200);
    assert_eq!(received(&outputs, 2), (0..30).collect::<Vec<_>>());
    assert_eq!(received(&outputs, 3), (30..60).collect::<Vec<_>>());
    assert_eq!(received(&outputs, 5), (60..90).collect::<Vec<_>>());
}

#[test]
fn what_comes_for_a_station_that_is_away_waits_and_no_more_than_fits() {
    let queue = WifiQueue { station_packets: 50, lifetime: Duration::from_secs(9), ..WifiQueue::default() };
    let radios = vec![RadioSpec { queue, ..at(0.0, 36) }, at(5.0, 36)];
    let mut run = Run::new(radios, vec![(0, ap(0, "air")), (1, station(1, JOINED))]);
    run.command(10, Command::PowerSave { iface: IfaceId(1), mode: PowerSave::Away });
    let told = run.until(100);
    let saving = |e: &Event| matches!(e, Event::PowerSaveChanged { saving: true, .. });
    assert!(events(&told).iter().any(saving));
    run.command(100, Command::Tune { radio: RadioId(1), channel: at(0.0, 44).channel });
    run.send(200, 0, Mac::local(1), 0..80);
    assert_eq!(received(&run.until(2000), 1), []);
    run.command(2000, Command::Tune { radio: RadioId(1), channel: at(0.0, 36).channel });
    run.command(2010, Command::PowerSave { iface: IfaceId(1), mode: PowerSave::Off });
    assert_eq!(received(&run.until(3000), 1), (0..50).collect::<Vec<_>>());
    let lost = |e: &Event| matches!(e, Event::BeaconLost { .. });
    assert!(!events(&run.seen).iter().any(lost), "it was away on purpose");
    let dropped = |o: &Output<u64>| matches!(o, Output::Completion(c) if c.status == Status::Dropped);
    assert_eq!(run.seen.iter().filter(|o| dropped(o)).count(), 30);
}

#[test]
fn a_dozing_station_fetches_what_a_beacon_announces() {
    let mut run = Run::new(vec![at(0.0, 36), at(5.0, 36)], vec![(0, ap(0, "air")), (1, station(1, JOINED))]);
    run.command(10, Command::PowerSave { iface: IfaceId(1), mode: PowerSave::Doze });
    run.until(300);
    run.send(300, 0, Mac::local(1), 0..5);
    let outputs = run.until(500);
    assert_eq!(received(&outputs, 1), [0, 1, 2, 3, 4]);
    let first = outputs.iter().find_map(|o| if let Output::Received(r) = o { Some(r.at) } else { None });
    assert!(first.unwrap() > Time::from_millis(301), "{first:?}: not before a beacon");
}

#[test]
fn stations_follow_an_announced_switch() {
    let radios = vec![at(0.0, 36), at(5.0, 36), at(6.0, 36)];
    let ifaces = vec![(0, ap(0, "air")), (1, station(1, JOINED)), (2, station(2, JOINED))];
    let mut run = Run::new(radios, ifaces);
    run.until(500);
    let channel = at(0.0, 44).channel;
    run.command(500, Command::SwitchChannel { iface: IfaceId(0), channel, count: 2 });
    let outputs = run.until(900);
    let switched = events(&outputs).into_iter().filter_map(|e| match e {
        Event::ChannelSwitched { at, channel: c, .. } if c == channel => Some(at),
        _ => None,
    });
    let times: Vec<Time> = switched.collect();
    assert_eq!(times.len(), 3);
    assert!(times.iter().all(|t| *t == times[0]), "all at once");
    // Two beacons, then the time of a third, and 5 ms of retuning.
    assert!((209..315).contains(&(times[0] - Time::from_millis(500)).as_millis()), "{times:?}");
    run.send(900, 0, Mac::local(2), 0..10);
    assert_eq!(received(&run.until(3000), 2).len(), 10);
    assert!(!events(&run.seen).iter().any(|e| matches!(e, Event::BeaconLost { .. })));
}

#[test]
fn groups_get_one_copy_each_at_the_basic_rate_and_wait_for_the_dtim_while_somebody_dozes() {
    let radios = vec![at(0.0, 36), at(5.0, 36), at(6.0, 36)];
    let ifaces = vec![(0, ap(0, "air")), (1, station(1, JOINED)), (2, station(2, JOINED))];
    let mut run = Run::new(radios, ifaces);
    run.send(10, 0, Mac::BROADCAST, 0..3);
    let outputs = run.until(100);
    assert_eq!((received(&outputs, 1), received(&outputs, 2)), (vec![0, 1, 2], vec![0, 1, 2]));
    let rates =
        outputs.iter().filter_map(|o| if let Output::Received(r) = o { Some(r.rate.mbps()) } else { None });
    assert!(rates.clone().count() == 6 && rates.clone().all(|mbps| mbps == 6.0));
    run.command(100, Command::PowerSave { iface: IfaceId(1), mode: PowerSave::Doze });
    run.until(450);
    run.send(450, 0, Mac::BROADCAST, 10..12);
    let early = received(&run.until(451), 2);
    let later = received(&run.until(700), 2);
    assert_eq!((early, later), (vec![], vec![10, 11]));
}

#[test]
fn a_monitor_sees_every_frame_of_an_exchange() {
    let monitor = RadioSpec { monitor: true, ..at(2.0, 36) };
    let quiet = Mode::AccessPoint(ApSpec { beacon_interval_tu: 0, ..ApSpec::default() });
    let protect = RadioSpec { rts_threshold: Some(500), ..at(5.0, 36) };
    let ifaces = vec![(0, (bssid(0), quiet)), (1, station(1, JOINED))];
    let mut run = Run::new(vec![at(0.0, 36), protect, monitor], ifaces);
    run.send(1, 1, bssid(0), 7..9);
    let outputs = run.until(50);
    let captured: Vec<&CapturedFrame<u64>> =
        outputs.iter().filter_map(|o| if let Output::Captured(c) = o { Some(&**c) } else { None }).collect();
    let kinds: Vec<FrameType> = captured.iter().map(|c| c.frame_type).collect();
    let exchange = [FrameType::Rts, FrameType::Cts, FrameType::Data, FrameType::Ack];
    assert_eq!(kinds, [exchange, exchange].concat());
    let data = captured[2];
    assert_eq!(
        (data.sequence, data.retry, data.len_bytes, &data.payloads[..]),
        (Some(0), false, 1536, &[7][..])
    );
    assert_eq!((data.receiver, data.transmitter, data.to_ds), (bssid(0), Some(Mac::local(1)), true));
    assert_eq!(data.duration_us, 16 + 28);
    assert_eq!((captured[6].sequence, captured[1].transmitter), (Some(1), None));
    // 3 m: 16 − 46.68 − 30·log10(3) dBm.
    assert!((data.signal_dbm + 44.99).abs() < 0.01, "{}", data.signal_dbm);
}

#[test]
fn non_qos_stations_have_one_counter_for_all_receivers() {
    let monitor = RadioSpec { monitor: true, ..at(2.0, 36) };
    let radios = vec![at(0.0, 36), at(5.0, 36), at(6.0, 36), monitor];
    let quiet = Mode::AccessPoint(ApSpec { beacon_interval_tu: 0, ..ApSpec::default() });
    let ifaces = vec![(0, (bssid(0), quiet)), (1, station(1, JOINED)), (2, station(2, JOINED))];
    let mut run = Run::new(radios, ifaces);
    for n in 0..6 {
        run.send(1, 0, Mac::local(1 + (n % 2) as u32), n..n + 1);
    }
    let outputs = run.until(50);
    let sequences = outputs.iter().filter_map(|o| match o {
        Output::Captured(c) if c.frame_type == FrameType::Data => c.sequence,
        _ => None,
    });
    assert_eq!(sequences.collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn commands_that_make_no_sense_say_why() {
    let mut run = Run::new(
        vec![at(0.0, 36), at(5.0, 36)],
        vec![(0, ap(0, "air")), (1, station(1, StationStart::Idle))],
    );
    let mut told = |command| run.air.command(Time::ZERO, command).unwrap_err().to_string();
    assert!(told(Command::Associate { iface: IfaceId(0), bssid: None }).contains("not a station"));
    assert!(told(Command::Tune { radio: RadioId(9), channel: at(0.0, 36).channel }).contains("no radio 9"));
    let doze = Command::PowerSave { iface: IfaceId(1), mode: PowerSave::Doze };
    assert!(told(doze).contains("not associated"));
    let two = Channel::new(Band::Ghz2_4, 6, Width::Mhz20, None).unwrap();
    assert!(told(Command::Tune { radio: RadioId(0), channel: two }).contains("802.11a does not have"));
}

#[test]
fn fq_codel_lets_a_thin_flow_pass_a_queue_and_completes_what_it_drops() {
    let run = |discipline| {
        let queue = WifiQueue {
            discipline,
            station_packets: 300,
            lifetime: Duration::from_secs(9),
            ..WifiQueue::default()
        };
        let radios = vec![RadioSpec { queue, ..at(0.0, 36) }, at(5.0, 36)];
        let mut run = Run::new(radios, vec![(0, ap(0, "air")), (1, station(1, JOINED))]);
        for ms in 0..1000 {
            // Twice what 24 Mb/s carry, and a thin flow beside it.
            for n in 0..3 {
                let bulk = super::packet(ms * 10 + n);
                run.air.send(Time::from_millis(ms), IfaceId(0), Mac::local(1), bulk).unwrap();
            }
            if ms % 100 == 50 {
                let thin = Packet { flow: 7, ..super::packet(1_000_000 + ms) };
                run.air.send(Time::from_millis(ms), IfaceId(0), Mac::local(1), thin).unwrap();
            }
            run.until(ms + 1);
        }
        run.until(3000);
        let mut worst = Duration::ZERO;
        let (mut done, mut dropped) = (0, 0);
        for output in &run.seen {
            match output {
                Output::Received(r) if r.payload >= 1_000_000 => {
                    worst = worst.max(r.at - Time::from_millis(r.payload - 1_000_000));
                }
                Output::Completion(c) => {
                    done += 1;
                    dropped += u32::from(c.status == Status::Dropped);
                }
                _ => {}
            }
        }
        assert_eq!(done, 3010, "one completion for each packet");
        assert!(dropped > 900, "{dropped}");
        worst.as_millis()
    };
    let (fifo, fair) = (run(Discipline::TailDrop), run(Discipline::FqCodel));
    assert!(fifo > 150 && fair < 10, "{fifo} and {fair} ms");
}
