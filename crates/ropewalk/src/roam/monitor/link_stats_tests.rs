//! Access points that are never idle, as bytes of a monitor interface: each frame that arrives is
//! heard, and what the packets took on the air is known.

use super::*;

const AP: [u8; 6] = [2, 0, 0, 0, 7, 1];
const STATION: [u8; 6] = [2, 0, 0, 0, 8, 1];
const LINK: Link = (AP, STATION);
/// Mean backoff before the first try, µs.
const BACKOFF: f64 = 67.5;
const RETRIES: u32 = 7;

/// Flags, rate 54 Mbit/s, channel.
fn ofdm() -> Vec<u8> {
    vec![0, 0, 14, 0, 0x0e, 0, 0, 0, 0, 108, 0x85, 9, 0xa0, 0]
}

/// Flags, channel, 65 Mbit/s of HT, aggregate.
fn ht(aggregate: u32) -> Vec<u8> {
    let head: [u8; 20] = [0, 0, 28, 0, 0x0a, 0, 0x18, 0, 0, 0, 0x6c, 9, 0xa0, 0, 7, 0, 7, 0, 0, 0];
    [&head[..], &aggregate.to_le_bytes(), &[0; 4]].concat()
}

/// An encrypted QoS data frame from the access point to the station.
fn frame(mut tap: Vec<u8>, sequence: u32, retry: bool, length: usize) -> Vec<u8> {
    tap.extend([0x88, 0x42 | (u8::from(retry) << 3), 0, 0]);
    tap.extend([STATION, AP, AP].concat());
    tap.extend(((sequence % 4096) << 4).to_le_bytes()[..2].iter());
    tap.extend(vec![0; 2 + length]);
    tap
}

fn us(us: f64) -> Duration {
    Duration::from_secs_f64(us / 1e6)
}

/// Whether a try is lost: xorshift, so that a run is the same each time.
struct Dice(u64);

impl Dice {
    fn loses(&mut self, loss: f64) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 / (1_u64 << 53) as f64) < loss
    }
}

/// A replay: what it heard, and what it estimated five times a second.
struct Replay {
    stats: LinkStats,
    now_us: f64,
    next_us: f64,
    estimates: Vec<f64>,
    delivered: u64,
}

impl Replay {
    fn new() -> Replay {
        let mut stats = LinkStats::default();
        assert!(stats.watch(&[LINK]));
        Replay { stats, now_us: 0.0, next_us: 1e6, estimates: Vec::new(), delivered: 0 }
    }

    fn hear(&mut self, frame: &[u8]) {
        self.stats.take(frame, us(self.now_us));
        self.delivered += 1;
    }

    fn estimate(&mut self) {
        if self.now_us >= self.next_us {
            self.next_us += 2e5;
            self.estimates.extend(self.stats.packet_time_s(LINK, us(self.now_us)));
        }
    }

    /// What a delivered packet took, and what was estimated in the mean; µs.
    fn both(self) -> (f64, f64) {
        assert!(self.estimates.len() > 100, "{}", self.estimates.len());
        let mean = self.estimates.iter().sum::<f64>() / self.estimates.len() as f64;
        (self.now_us / self.delivered as f64, mean * 1e6)
    }
}

/// Packets one by one at 54 Mbit/s for a minute, in frames of this length.
fn one_by_one(loss: f64, length: usize) -> (f64, f64) {
    let (mut replay, mut dice) = (Replay::new(), Dice(0x9e37_79b9_7f4a_7c15));
    // 1554 bytes; preamble, SIFS, acknowledgement with its preamble, AIFS.
    let air = 1554.0 * 8.0 / 54.0 + 20.0 + 16.0 + 28.0 + 43.0;
    for sequence in 0.. {
        for attempt in 0..=RETRIES {
            replay.now_us += air + BACKOFF * f64::from(1 << attempt.min(6));
            if !dice.loses(loss) {
                replay.hear(&frame(ofdm(), sequence, attempt > 0, length));
                break;
            }
        }
        replay.estimate();
        if replay.now_us > 60e6 {
            break;
        }
    }
    replay.both()
}

/// Aggregates of sixteen packets at 65 Mbit/s for half a minute, within the window of a Block Ack.
fn aggregates(loss: f64, says_which: bool) -> (f64, f64) {
    let (mut replay, mut dice) = (Replay::new(), Dice(0x2545_f491_4f6c_dd1d));
    let air = 16.0 * 1554.0 * 8.0 / 65.0 + 36.0 + 16.0 + 32.0 + 43.0 + BACKOFF;
    // Those that were lost, with their tries so far.
    let mut waiting: Vec<(u32, u32)> = Vec::new();
    let mut next = 0_u32;
    for number in 0.. {
        while waiting.len() < 16 && waiting.first().is_none_or(|(oldest, _)| next - oldest < 64) {
            waiting.push((next, 0));
            next += 1;
        }
        let sent: Vec<(u32, u32)> = waiting.drain(..waiting.len().min(16)).collect();
        replay.now_us += air - (16 - sent.len()) as f64 * 1554.0 * 8.0 / 65.0;
        for (sequence, attempt) in sent {
            if !dice.loses(loss) {
                let mut tap = ht(number);
                if !says_which {
                    tap[6] = 0x08;
                }
                replay.hear(&frame(tap, sequence, attempt > 0, 1540));
            } else if attempt < RETRIES {
                waiting.push((sequence, attempt + 1));
            }
        }
        replay.estimate();
        if replay.now_us > 30e6 {
            break;
        }
    }
    replay.both()
}

#[track_caller]
fn within(percent: f64, (truth, estimated): (f64, f64)) {
    let error = (estimated / truth - 1.0) * 100.0;
    assert!(error.abs() <= percent, "{estimated} for {truth} µs: {error} %");
}

#[test]
fn the_packet_time_that_was_put_in_comes_out() {
    for loss in [0.05, 0.2, 0.35, 0.45] {
        within(3.0, one_by_one(loss, 1540));
    }
    for loss in [0.05, 0.2, 0.35] {
        within(3.0, aggregates(loss, true));
    }
    // More losses do take more, by what equation 1 says: nothing here is a constant.
    let (none, half) = (one_by_one(0.0, 1540).1, one_by_one(0.5, 1540).1);
    assert!(half > 2.5 * none, "{half} {none}");
}

#[test]
fn without_losses_it_is_the_air_of_a_try() {
    within(0.1, one_by_one(0.0, 1540));
    within(0.1, aggregates(0.0, true));
    assert!((one_by_one(0.0, 1540).1 - 404.7).abs() < 0.2);
    // The length of a frame does not count, only its rate and its fate.
    assert_eq!(one_by_one(0.2, 1540).1, one_by_one(0.2, 60).1);
}

#[test]
fn a_driver_that_names_no_aggregates_makes_packets_look_dear() {
    let (truth, estimated) = aggregates(0.0, false);
    assert!(estimated > 1.7 * truth, "{estimated} {truth}");
}

#[test]
fn what_is_not_watched_takes_no_memory() {
    let mut stats = LinkStats::default();
    let heard = |stats: &mut LinkStats| {
        (0..100).for_each(|n| stats.take(&frame(ofdm(), n, false, 60), us(f64::from(n) * 1e3)));
        (stats.all(), stats.estimator.record_bytes(), stats.packet_time_s(LINK, us(1e5)).is_some())
    };
    assert_eq!(heard(&mut stats), (0, 0, false));
    assert!(stats.watch(&[LINK]) && !stats.watch(&[LINK]));
    assert_eq!(heard(&mut stats), (100, 800, true));
    // The station has another access point now.
    assert!(stats.watch(&[(STATION, AP)]));
    assert_eq!(heard(&mut stats), (100, 0, false));
    let many: Vec<Link> = (0..100).map(|n| ([2, 0, 0, 0, 1, n], STATION)).collect();
    stats.watch(&many);
    assert_eq!(stats.links().len(), MOST_LINKS);
}

/// A station that receives `rate` packets and ten beacons a second for `seconds`, beside a
/// monitor that hears some of the packets.
struct Beside {
    stats: LinkStats,
    watched: Watched,
    packets: u32,
    ms: u64,
    counts_beacons: bool,
}

impl Beside {
    fn new() -> Beside {
        let mut stats = LinkStats::default();
        stats.watch(&[LINK]);
        // The counter wraps on the way.
        let watched = Watched::new(LINK, "roam0");
        Beside { stats, watched, packets: u32::MAX - 500, ms: 0, counts_beacons: true }
    }

    fn run(&mut self, seconds: u64, rate: u64, hears: fn(u32) -> bool) -> (Measured, Option<String>) {
        let mut measured = Measured::default();
        for _ in 0..seconds * 1000 {
            self.ms += 1;
            let now = Duration::from_millis(self.ms);
            if self.ms.is_multiple_of(1000 / rate) {
                self.packets = self.packets.wrapping_add(1);
                if hears(self.packets) {
                    self.stats.take(&frame(ofdm(), self.packets, false, 1540), now);
                }
            }
            if self.ms.is_multiple_of(200) {
                let beacons = self.ms / 100;
                // As mac80211, or as a driver that does not say how many they were.
                let times = if self.counts_beacons { 2 } else { 1 };
                let counts = StationCounts {
                    packets: self.packets.wrapping_add(times * beacons as u32),
                    beacons: self.counts_beacons.then_some(beacons),
                };
                measured = self.watched.update(&mut self.stats, Some(counts), now);
            }
        }
        (measured, self.watched.note())
    }
}

#[test]
fn a_monitor_that_hears_what_the_station_counts_is_believed() {
    for counts_beacons in [true, false] {
        let mut beside = Beside { counts_beacons, ..Beside::new() };
        let (at_first, _) = beside.run(1, 1000, |_| true);
        assert_eq!(at_first.time, None, "before both were held beside each other");
        let (measured, note) = beside.run(4, 1000, |_| true);
        let time = measured.time.unwrap();
        assert!((400..=410).contains(&time.as_micros()), "{time:?}");
        assert_eq!((measured.frames, measured.last, note), (Some(5000), Some(time), None));
    }
}

#[test]
fn one_that_misses_what_the_station_receives_is_not() {
    let (measured, note) = Beside::new().run(5, 1000, |_| false);
    assert_eq!((measured.time, measured.frames), (None, Some(0)));
    assert!(note.unwrap().starts_with("monitor hears nothing of what roam0 receives"));
    // Every second frame of an aggregate: what is missing would be losses.
    let mut half = Beside::new();
    let (measured, note) = half.run(5, 1000, |n| n.is_multiple_of(2));
    assert_eq!(measured.time, None);
    assert!(half.stats.packet_time_s(LINK, Duration::from_secs(5)).unwrap() > 700e-6);
    let note = note.unwrap();
    assert!(note.starts_with("monitor hears 1") && note.contains("that roam0 received"), "{note}");
    // It hears no more from now on, and what it heard last stays known.
    let mut beside = Beside::new();
    assert!(beside.run(5, 1000, |_| true).0.time.is_some());
    let (measured, note) = beside.run(5, 1000, |_| false);
    assert!(measured.time.is_none() && measured.last.is_some() && note.is_some());
    // And hears again.
    let (measured, note) = beside.run(6, 1000, |_| true);
    assert!(measured.time.is_some() && note.is_none());
}

#[test]
fn beacons_are_no_data() {
    let counts = |packets, beacons| StationCounts { packets, beacons }.data();
    assert_eq!([counts(179, Some(77)), counts(179, None), counts(60, Some(60))], [25, 179, 0]);
}

#[test]
fn an_idle_link_says_nothing_of_the_monitor() {
    for hears in [(|_| false) as fn(u32) -> bool, |_| true] {
        let (measured, note) = Beside::new().run(30, 10, hears);
        assert_eq!((measured.time, note), (None, None));
    }
    // So few packets that beacons, counted twice, would be a quarter of them.
    let (_, note) = Beside::new().run(30, 25, |_| true);
    assert_eq!(note, None);
    // Ten seconds after the last packets nobody knows what the next would take.
    let mut beside = Beside::new();
    assert!(beside.run(5, 1000, |_| true).0.time.is_some());
    let (measured, note) = beside.run(12, 10, |_| true);
    assert!(measured.time.is_none() && measured.last.is_some() && note.is_none());
}
