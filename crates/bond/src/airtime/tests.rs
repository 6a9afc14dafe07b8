use super::*;
use crate::path::{Route, path_id};
use crate::wire::AirEntry;
use ropewalk_cc::Algorithm;

const MS: Duration = Duration::from_millis(1);

fn air(us: u64, channel: u8) -> Option<Air> {
    Some(Air { packet_time: Duration::from_micros(us), channel })
}

/// A gateway's or client's paths of which this is known, and what the links under them deliver.
struct Rig {
    airtime: Airtime,
    paths: Vec<Path>,
    now: Time,
    rooms: Vec<bool>,
}

impl Rig {
    fn new(told: &[Option<Air>]) -> Rig {
        let route = Route { link: 0, remote: "192.0.2.1:4500".parse().unwrap(), local: None };
        let path = |i| Path::new(path_id(i as u8), route, 1500, Algorithm::None.controller(1280), 1024);
        let mut rig = Rig {
            airtime: Airtime::default(),
            paths: (0..told.len()).map(path).collect(),
            now: Time::from_secs(5),
            rooms: vec![false; told.len()],
        };
        rig.tell(told);
        rig
    }

    fn tell(&mut self, told: &[Option<Air>]) {
        let told = told.iter().enumerate();
        told.for_each(|(i, air)| self.airtime.set(self.now, path_id(i as u8), *air));
    }

    fn infos(&self) -> Vec<PathInfo> {
        let info = |(p, room): (&Path, &bool)| PathInfo {
            id: p.id,
            has_room: *room,
            srtt: MS * 20,
            rate_bps: 100_000_000,
            ..PathInfo::default()
        };
        self.paths.iter().zip(&self.rooms).map(info).collect()
    }

    /// What the scheduler sees, by path.
    fn shown(&mut self) -> Vec<u8> {
        let mut infos = self.infos();
        self.airtime.apply(self.now, &self.paths, false, &mut infos);
        infos.iter().map(|v| v.id.get()).collect()
    }

    /// Steps by a millisecond: `deliver` gets what was shown and gives each path's bytes.
    fn go(&mut self, time: Duration, mut deliver: impl FnMut(&[u8]) -> Vec<u64>) -> u32 {
        let (mut shown_worse, end) = (0, self.now + time);
        while self.now < end {
            self.now += MS;
            let shown = self.shown();
            shown_worse += u32::from(shown.contains(&1));
            for (i, bytes) in deliver(&shown).into_iter().enumerate().filter(|d| d.1 > 0) {
                let path = &mut self.paths[i];
                let snapshot = path.sampler.on_send(self.now, 0);
                path.sampler.on_acked(self.now, self.now, bytes, self.now, &snapshot);
                self.airtime.on_sent(path.id, bytes as u32);
            }
            let told: Vec<_> = (0..self.paths.len()).map(|i| self.airtime.air(path_id(i as u8))).collect();
            self.tell(&told);
        }
        shown_worse
    }
}

#[test]
fn of_what_nothing_is_known_nothing_is_taken_out() {
    for told in [[None, None], [air(500, 6), None], [air(500, 6), air(3000, 1)]] {
        let mut rig = Rig::new(&told);
        let mut infos = rig.infos();
        rig.airtime.apply(rig.now, &rig.paths, false, &mut infos);
        assert_eq!(infos, rig.infos(), "{told:?}");
    }
    // Two that cost about the same air are both as good as it gets.
    assert_eq!(Rig::new(&[air(500, 6), air(550, 6)]).shown(), [0, 1]);
}

#[test]
fn the_worse_path_rests_while_the_better_one_fills_the_channel() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6)]);
    // 3000 bytes a millisecond would be all the air.
    assert_eq!(rig.go(MS * 20_000, |_| vec![2900, 0]), 0);
    assert!(rig.airtime.status(path_id(1)).unwrap().rests && !rig.airtime.status(path_id(0)).unwrap().rests);
}

#[test]
fn the_worse_path_has_what_the_better_one_leaves_and_no_more() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6)]);
    let (mut worse, mut from) = (0u64, 0);
    let mut step = 0;
    rig.go(MS * 30_000, |shown| {
        step += 1;
        let may = shown.contains(&1);
        if step > 10_000 {
            (worse, from) = (worse + if may { 1500 } else { 0 }, step);
        }
        // Half of the air, whatever the other does: its bottleneck is behind it.
        vec![1500, if may { 1500 } else { 0 }]
    });
    // 0.48 of 20 s are 3200 packets; the rest is for measuring.
    let packets = worse / 1500;
    assert!((2700..3250).contains(&packets), "{packets} until {from}");
}

#[test]
fn nobody_rests_under_another_scheduler() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6)]);
    rig.go(MS * 1000, |_| vec![2900, 0]);
    assert!(rig.airtime.rests(path_id(1)) && rig.airtime.datagrams(path_id(1)) == 1);
    rig.airtime.on_other_scheduler();
    assert!(!rig.airtime.rests(path_id(1)) && rig.airtime.datagrams(path_id(1)) == usize::MAX);
}

#[test]
fn it_has_nothing_while_the_better_one_has_room() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6)]);
    rig.rooms[0] = true;
    assert_eq!(rig.go(MS * 5000, |_| vec![1500, 0]), 0);
}

#[test]
fn air_that_is_somebody_else_s_is_left_after_a_try() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6)]);
    // Others have half of the air, and what the worse path takes the better one loses.
    let mut lost = 0u64;
    let mut harm = |shown: &[u8]| match shown.contains(&1) {
        true => {
            lost = 6 * 1500;
            vec![0, 1500]
        }
        false => {
            let pays = lost.min(1500);
            lost -= pays;
            vec![1500 - pays, 0]
        }
    };
    rig.go(MS * 30_000, &mut harm);
    let later = rig.go(MS * 60_000, &mut harm);
    // Open for a second or two of 33, and then for one packet in some milliseconds.
    assert!(later < 1500, "{later} of 60000");
}

#[test]
fn a_dead_better_path_holds_nobody() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6), air(4000, 6)]);
    assert_eq!(rig.shown(), [0]);
    let mut infos = rig.infos();
    infos.remove(0);
    rig.airtime.apply(rig.now, &rig.paths, false, &mut infos);
    assert_eq!(infos.iter().map(|v| v.id.get()).collect::<Vec<_>>(), [1]);
    infos.truncate(0);
    rig.airtime.apply(rig.now, &rig.paths, false, &mut infos);
    let mut alone = rig.infos().split_off(2);
    rig.airtime.apply(rig.now, &rig.paths, false, &mut alone);
    assert_eq!(alone.len(), 1, "the last one is never taken out");
}

#[test]
fn there_is_always_somebody_left() {
    for bits in 0u32..64 {
        let told: Vec<_> =
            (0..6).map(|i| air(100 + 900 * u64::from(bits >> i & 1) * i, (i % 2) as u8)).collect();
        let mut rig = Rig::new(&told);
        rig.go(MS * 50, |_| vec![1500; 6]);
        assert!(!rig.shown().is_empty(), "{bits:b}");
    }
}

#[test]
fn what_was_told_is_forgotten_after_ten_seconds() {
    let mut rig = Rig::new(&[air(500, 6), air(3000, 6)]);
    assert_eq!(rig.shown(), [0]);
    rig.now += FORGET - MS;
    assert_eq!(rig.shown(), [0]);
    rig.now += MS;
    assert_eq!(rig.shown(), [0, 1]);
    assert_eq!(rig.airtime.status(path_id(0)), None);
}

#[test]
fn hostile_frames_are_held_to_sense() {
    let mut airtime = Airtime::default();
    let now = Time::from_secs(1);
    let entry = |path, packet_time| AirEntry { path, channel: 9, packet_time };
    let frame = |seq, paths: &[AirEntry]| AirFrame { seq, paths: paths.iter().copied().collect() };
    airtime
        .on_frame(now, &frame(5, &[entry(0, 1), entry(1, 65_535), entry(2, 0), entry(200, 9), entry(3, 8)]));
    let told = |a: &Airtime, path| a.air(path_id(path)).map(|a| a.packet_time.as_micros());
    assert_eq!([0, 1, 2, 3].map(|i| told(&airtime, i)), [Some(20), Some(200_000), None, Some(32)]);
    // An older frame, and the same again, count for nothing; half the numbers on is older.
    for seq in [5, 4, 0, 5u16.wrapping_add(0x8000)] {
        airtime.on_frame(now, &frame(seq, &[]));
        assert_eq!(told(&airtime, 3), Some(32), "{seq}");
    }
    airtime.on_frame(now, &frame(6, &[entry(3, 10), entry(3, 20)]));
    assert_eq!([0, 3].map(|i| told(&airtime, i)), [None, Some(80)]);
    airtime.on_frame(now, &frame(7, &[entry(3, 10), entry(3, 0)]));
    assert_eq!(told(&airtime, 3), None, "the second counts, and says that it is not known");
}

#[test]
fn frames_are_few_and_the_end_is_told() {
    let mut airtime = Airtime::default();
    let start = Time::from_secs(1);
    assert_eq!(airtime.next_frame(true), None);
    let mut said = 0;
    let mut tell = |airtime: &mut Airtime, air: Option<Air>, ms: u64| {
        let now = start + MS * ms as u32;
        airtime.set(now, path_id(0), air);
        if airtime.rides(now) {
            assert_eq!(airtime.frame(now).paths.len(), usize::from(air.is_some()));
            airtime.on_said(now);
            said += 1;
        }
        said
    };
    // Another value each millisecond, for two seconds.
    let said = (0..2000).map(|ms| tell(&mut airtime, air(500 + 4 * ms, 6), ms)).last();
    assert_eq!(said, Some(10));
    // The same value.
    let said = (2000..4000).map(|ms| tell(&mut airtime, air(9000, 6), ms)).last();
    assert_eq!(said, Some(12));
    // Nothing, for long.
    let said = (4000..9000).map(|ms| tell(&mut airtime, None, ms)).last();
    assert_eq!(said, Some(15));
    assert_eq!(airtime.next_frame(true), None);
}
