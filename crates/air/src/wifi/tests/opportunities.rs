//! Transmit opportunities: how long they last, what they announce, how they end (802.11-2020, 10.23.2.8 to 10.23.2.10).

use core::time::Duration;

use super::stations::{Run, bssid, station};
use super::*;

/// Data at MCS 7 with its SIFS and ACK, µs: 36 and 48 symbols, 16, 28.
const EXCHANGE_US: u64 = 228 + 16 + 28;
const SIFS_US: u64 = 16;
/// 20 bytes at 6 Mb/s.
const CF_END_US: u64 = 52;
const VIDEO_US: u64 = 4096;

/// A frame that the monitor has seen: what, from whom, when it ended, its Duration.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    kind: FrameType,
    from: Option<Mac>,
    at_us: u64,
    duration_us: u64,
}

fn radio(video: Duration) -> RadioSpec {
    let mut edca = ht(7, Width::Mhz20, GuardInterval::Long).edca_params();
    edca[AccessCategory::Video as usize].txop = video;
    let aggregation = Aggregation::OFF;
    RadioSpec { edca: Some(edca), aggregation, ..ht(7, Width::Mhz20, GuardInterval::Long) }
}

/// An access point (radio 0), two stations and a monitor (3), all near one another; `radio` is that of all.
fn cell(radio: RadioSpec) -> AirSpec {
    let quiet = Mode::AccessPoint(ApSpec { beacon_interval_tu: 0, ..ApSpec::default() });
    let joined = StationStart::Associated(bssid(0));
    let ifaces = [(bssid(0), quiet), station(1, joined), station(2, joined)];
    let place = |n: u16, (mac, mode)| IfaceSpec { radio: RadioId(n), mac, mode };
    let mut spec = AirSpec {
        radios: vec![radio; 4],
        ifaces: ifaces.into_iter().enumerate().map(|(n, iface)| place(n as u16, iface)).collect(),
        path_loss: PathLoss { exponent: 0.0, reference_db: 50.0, ..PathLoss::default() },
        ..AirSpec::default()
    };
    spec.radios[3].monitor = true;
    spec
}

fn send(run: &mut Run, at_us: u64, iface: u16, ac: AccessCategory, count: u64) {
    for n in 0..count {
        let packet = Packet { ac, ..packet(n) };
        run.air.send(Time::from_micros(at_us), IfaceId(iface), bssid(0), packet).unwrap();
    }
}

fn seen(outputs: &[Output<u64>]) -> Vec<Seen> {
    let one = |o: &Output<u64>| match o {
        Output::Captured(c) => Some(Seen {
            kind: c.frame_type,
            from: c.transmitter,
            at_us: c.at.as_nanos() / 1000,
            duration_us: u64::from(c.duration_us),
        }),
        _ => None,
    };
    outputs.iter().filter_map(one).collect()
}

fn of(frames: &[Seen], kind: FrameType) -> Vec<Seen> {
    frames.iter().copied().filter(|f| f.kind == kind).collect()
}

#[test]
fn each_frame_announces_the_rest_of_the_opportunity_and_a_cf_end_gives_it_back() {
    let mut run = Run::of(cell(radio(Duration::from_micros(VIDEO_US))));
    send(&mut run, 1000, 1, AccessCategory::Video, 3);
    // While the second frame is on the air, another station gets something to send.
    send(&mut run, 1400, 2, AccessCategory::BestEffort, 1);
    let frames = seen(&run.until(20));
    use FrameType::{Ack, CfEnd, QosData};
    let kinds: Vec<FrameType> = frames.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [QosData, Ack, QosData, Ack, QosData, Ack, CfEnd, QosData, Ack]);
    let begin = frames[0].at_us - 228;
    for frame in &frames[..6] {
        assert_eq!(frame.duration_us, begin + VIDEO_US - frame.at_us, "{frame:?}");
    }
    let end = frames[6];
    assert_eq!((end.from, end.duration_us), (Some(Mac::local(1)), 0));
    assert_eq!(end.at_us, begin + 3 * (EXCHANGE_US + SIFS_US) + CF_END_US);
    // The other one waited, and went after AIFS and its backoff, long before the announced end.
    let other = frames[7].at_us - 228;
    let slots = (other - end.at_us - 43) / 9;
    assert!(other == end.at_us + 43 + 9 * slots && slots <= 15, "{slots}");
    assert!(other < begin + VIDEO_US);
}

#[test]
fn an_opportunity_is_never_longer_than_its_limit_and_a_cf_end_must_fit() {
    // 7 exchanges take 2000 µs: what is left is enough for the CF-End, or just not, or for an eighth.
    for (limit_us, frames, ends) in [(2068, 7, 1), (2067, 7, 0), (2287, 7, 1), (2288, 8, 0), (0, 1, 0)] {
        let mut run = Run::of(cell(radio(Duration::from_micros(limit_us))));
        send(&mut run, 1000, 1, AccessCategory::Video, 20);
        let seen = seen(&run.until(5));
        let data = of(&seen, FrameType::QosData);
        // Those of the first opportunity follow one another without a gap.
        let together =
            data.windows(2).take_while(|w| w[1].at_us - w[0].at_us == EXCHANGE_US + SIFS_US).count() + 1;
        let until = data[together - 1].at_us + 16 + 28 + SIFS_US + CF_END_US;
        let cf_ends = of(&seen, FrameType::CfEnd).iter().filter(|f| f.at_us <= until).count();
        assert_eq!((together, cf_ends), (frames, ends), "{limit_us} µs");
    }
}

#[test]
fn an_aggregate_is_cut_to_what_is_left_of_the_opportunity() {
    let limit = Duration::from_micros(VIDEO_US);
    let mut run = Run::of(cell(RadioSpec { aggregation: Aggregation::AMPDU, ..radio(limit) }));
    send(&mut run, 1000, 1, AccessCategory::Video, 40);
    let outputs = run.until(30);
    let frames = seen(&outputs);
    let acks: Vec<Seen> =
        frames.iter().copied().filter(|f| matches!(f.kind, FrameType::BlockAck { .. })).collect();
    // 21 MPDUs take 4028 µs and their Block Ack 48; a 22nd would be too many.
    let first = FrameType::BlockAck { start: 0, bitmap: (1 << 21) - 1 };
    let second = FrameType::BlockAck { start: 21, bitmap: (1 << 19) - 1 };
    assert_eq!(acks.iter().map(|ack| ack.kind).collect::<Vec<_>>(), [first, second]);
    assert!(acks[0].duration_us < SIFS_US + CF_END_US, "{}", acks[0].duration_us);
    assert_eq!(super::stations::received(&outputs, 0).len(), 40);
}

#[test]
fn after_a_loss_within_an_opportunity_its_holder_goes_on_after_pifs() {
    // A seventh of all frames is lost at the access point; the monitor hears all.
    let lossy = |snr_db: f64| {
        let mut spec = cell(radio(Duration::from_micros(VIDEO_US)));
        spec.path_loss_overrides = vec![(RadioId(0), RadioId(1), 16.0 + 93.97 - snr_db)];
        spec
    };
    let mut run = Run::of(lossy(23.8));
    send(&mut run, 1000, 1, AccessCategory::Video, 400);
    let frames = seen(&run.until(200));
    let mut recovered = 0;
    for pair in
        frames.windows(2).filter(|p| p[0].kind == FrameType::QosData && p[1].kind == FrameType::QosData)
    {
        let gap = pair[1].at_us - 228 - pair[0].at_us;
        // SIFS, a slot and a preamble, then PIFS; or, at the beginning of an opportunity, AIFS and a backoff.
        let first = pair[0].duration_us == VIDEO_US - 228;
        assert!(if first { gap >= 45 + 34 } else { gap == 45 + 25 || gap >= 45 + 34 }, "{pair:?}");
        recovered += usize::from(gap == 45 + 25);
    }
    assert!(recovered > 10, "{recovered}");
}

#[test]
fn an_rts_of_the_holder_is_answered_in_spite_of_the_nav_that_he_has_set() {
    // The access point sends to both stations in one opportunity: the second hears the first exchange.
    let protect = RadioSpec { rts_threshold: Some(500), ..radio(Duration::from_micros(VIDEO_US)) };
    let mut run = Run::of(cell(protect));
    for n in 0..4u32 {
        let packet = Packet { ac: AccessCategory::Video, ..packet(u64::from(n)) };
        run.air.send(Time::from_millis(1), IfaceId(0), Mac::local(1 + n % 2), packet).unwrap();
    }
    let frames = seen(&run.until(20));
    let count = |kind| of(&frames, kind).len();
    assert_eq!((count(FrameType::Rts), count(FrameType::Cts), count(FrameType::QosData)), (4, 4, 4));
    assert_eq!(count(FrameType::CfEnd), 1);
}
