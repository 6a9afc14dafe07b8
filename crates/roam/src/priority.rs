//! Which subflows rest as MPTCP backups (MP_PRIO, RFC 8684 §3.3.8): stronger than marks, for a
//! sender that does not answer them enough.
//!
//! A sender keeps two segments on the way whatever the marks say (RFC 5681 §3.1). Where packets
//! take long and the path is short, those two take much of the channel's air. Such a subflow rests,
//! and so does a worse one whose sender does not answer marks, while better ones of its channel use
//! the air. When they carry less than it could alone, since their bottleneck is elsewhere, it is
//! tried, and stays while the connection as a whole is faster with it.

use core::time::Duration;

/// What a sender keeps on the way at least, segments.
const FLOOR_SEGMENTS: f64 = 2.0;
/// More of the air than this is too much for a floor.
const BUDGET: f64 = 0.03;
/// A subflow is worse from this many times the best packet time on, as for marks.
const WORSE: f64 = 1.2;
/// One that rests, or was tried, is as any other only below this: packet times vary by some per
/// cent, and each change of roles costs windows.
const STILL_WORSE: f64 = 1.1;
/// A worse subflow that uses more of the air although it is marked has a sender that does not
/// answer, or not yet.
const UNANSWERED: f64 = 0.15;
/// What the others carried at most is remembered, less by this factor with each measurement.
const FADES: f64 = 0.95;
/// What is compared is measured for this long.
const MEASURE: Duration = Duration::from_secs(2);
/// Windows take this long to settle after a change of roles.
const SETTLE: Duration = Duration::from_secs(1);
/// A trial has to bring this much.
const GAIN: f64 = 1.05;
/// A trial that paid is looked at again after this time, since then only a rest shows what the
/// others could do.
const TERM: Duration = Duration::from_secs(60);
/// After a trial in vain the next one waits this long, twice as long after each, and at most so
/// long.
const WAITS: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(64));

/// A subflow as its receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Air of a packet by its access point.
    pub packet_time: Duration,
    /// Its round trip without a queue, once known.
    pub least_rtt: Option<Duration>,
    /// Packets that have arrived by it, since it began.
    pub packets: u64,
    /// What marks do to its sender.
    pub marks: Marks,
}

/// What is known of marks on a subflow, where they are a lever before MP_PRIO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// There are none, or the sender answers them: priorities go by the air alone.
    #[default]
    None,
    /// They are being tried: whether it uses too much of the air is judged after that.
    Tried,
    /// Its sender does not answer them.
    Unanswered,
}

/// Share of the air that a sender's least window takes: 2·T/(RTT + T). None: its round trip is not
/// known.
pub fn floor_cost(path: &Path) -> Option<f64> {
    let (t, rtt) = (path.packet_time.as_secs_f64(), path.least_rtt?.as_secs_f64());
    Some(FLOOR_SEGMENTS * t / (rtt + t).max(f64::MIN_POSITIVE))
}

/// Whether the best access point needs so much less air that this one is to be spared.
fn is_worse(path: &Path, state: State, paths: &[Path]) -> bool {
    let best = paths.iter().map(|p| p.packet_time).min().unwrap_or_default();
    let times = if state == State::Normal { WORSE } else { STILL_WORSE };
    path.packet_time.as_secs_f64() >= times * best.as_secs_f64()
}

/// What a subflow does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// As any other.
    Normal,
    /// It rests.
    Resting,
    /// It is tried, against this many packets a second without it.
    Trial(f64),
    /// It paid, against this many packets a second without it.
    Kept(f64),
}

#[derive(Clone, Copy, Debug)]
struct Role {
    state: State,
    since: Duration,
    /// How long a rest lasts at least.
    wait: Duration,
}

/// Decides for the subflows of one connection on one channel.
#[derive(Clone, Debug, Default)]
pub struct Priorities {
    roles: Vec<Role>,
    /// Counters when the measurement began, and when that was.
    base: Vec<u64>,
    began: Duration,
    /// Windows have settled.
    settled: Duration,
    /// Packets a second in the last measurement, and the most of any, since roles changed.
    last: f64,
    most: f64,
}

impl Priorities {
    /// One that has decided nothing.
    pub fn new() -> Priorities {
        Priorities::default()
    }

    /// Whether each subflow is to be a backup. To be called every 100 ms or so, with the same
    /// subflows in the same order; another number of subflows begins anew.
    pub fn decide(&mut self, paths: &[Path], now: Duration) -> Vec<bool> {
        if self.roles.len() != paths.len() {
            let role = Role { state: State::Normal, since: now, wait: WAITS.0 };
            self.roles = vec![role; paths.len()];
            self.measure(paths, now);
        }
        for (index, path) in paths.iter().enumerate() {
            let costly = floor_cost(path).is_some_and(|cost| cost > BUDGET);
            let unresponsive = path.marks == Marks::Unanswered;
            let state = self.roles[index].state;
            match (is_worse(path, state, paths), state) {
                (true, State::Normal) if costly || unresponsive => {
                    self.turn(index, State::Resting, paths, now)
                }
                (false, state) if state != State::Normal => self.turn(index, State::Normal, paths, now),
                _ => {}
            }
        }
        // Only what has settled since the last change is measured.
        if now <= self.settled {
            self.begin(paths, now);
        } else if now >= self.began + MEASURE {
            self.compare(paths, now);
        }
        self.roles.iter().map(|r| r.state == State::Resting).collect()
    }

    fn turn(&mut self, index: usize, state: State, paths: &[Path], now: Duration) {
        self.roles[index].state = state;
        self.roles[index].since = now;
        self.measure(paths, now);
    }

    /// Measures from the time on when windows have settled.
    fn measure(&mut self, paths: &[Path], now: Duration) {
        (self.last, self.most) = (0.0, 0.0);
        self.begin(paths, now);
        self.settled = now + SETTLE;
    }

    fn begin(&mut self, paths: &[Path], now: Duration) {
        self.base = paths.iter().map(|p| p.packets).collect();
        self.began = now;
    }

    /// Packets a second of each since the measurement began.
    fn measured(&self, paths: &[Path], now: Duration) -> Vec<f64> {
        let over_s = (now - self.began).as_secs_f64();
        let came = |(path, base): (&Path, &u64)| path.packets.saturating_sub(*base) as f64;
        paths.iter().zip(&self.base).map(|pair| came(pair) / over_s).collect()
    }

    fn compare(&mut self, paths: &[Path], now: Duration) {
        let rates = self.measured(paths, now);
        let air: Vec<f64> = paths.iter().zip(&rates).map(|(p, r)| p.packet_time.as_secs_f64() * r).collect();
        let packets_s = rates.iter().sum::<f64>();
        self.begin(paths, now);
        let is_used = |role: &Role| matches!(role.state, State::Trial(_) | State::Kept(_));
        // A trial against a rate that still grows would seem to pay.
        let still_grows = packets_s > GAIN * self.last;
        (self.last, self.most) = (packets_s, packets_s.max(FADES * self.most));
        if let Some(index) = self.roles.iter().position(is_used) {
            return self.judge(index, packets_s, paths, now);
        }
        let unanswered = |index: &usize| {
            let state = self.roles[*index].state;
            state == State::Normal
                && paths[*index].marks != Marks::Tried
                && air[*index] > UNANSWERED
                && is_worse(&paths[*index], state, paths)
        };
        if let Some(index) = (0..paths.len()).find(unanswered) {
            return self.turn(index, State::Resting, paths, now);
        }
        let is_due =
            |role: &Role| role.state == State::Resting && now.saturating_sub(role.since) >= role.wait;
        let due = (0..paths.len()).filter(|index| is_due(&self.roles[*index]));
        let next = due.min_by_key(|index| (paths[*index].packet_time, *index));
        // One that could not carry as much alone would cost the others more than it brings.
        let alone = |index: &usize| 1.0 / paths[*index].packet_time.as_secs_f64().max(f64::MIN_POSITIVE);
        if let Some(index) = next.filter(|index| alone(index) >= GAIN * self.most && !still_grows) {
            self.turn(index, State::Trial(self.most), paths, now);
        }
    }

    /// A subflow on trial stays or goes; one that stayed goes when it pays no more, or after its
    /// term.
    fn judge(&mut self, index: usize, packets_s: f64, paths: &[Path], now: Duration) {
        let role = &mut self.roles[index];
        let rests = match role.state {
            State::Trial(without) | State::Kept(without) if packets_s < GAIN * without => {
                role.wait = (role.wait * 2).clamp(WAITS.0, WAITS.1);
                true
            }
            State::Trial(without) => {
                role.state = State::Kept(without);
                false
            }
            _ => {
                let over = now.saturating_sub(role.since) >= TERM;
                role.wait = if over { Duration::ZERO } else { role.wait };
                over
            }
        };
        if rests {
            self.turn(index, State::Resting, paths, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn path(packet_us: u64, rtt_ms: u64) -> Path {
        Path {
            packet_time: Duration::from_micros(packet_us),
            least_rtt: Some(ms(rtt_ms)),
            packets: 0,
            marks: Marks::None,
        }
    }

    /// Runs for so many seconds; `rates` says packets a second of both from who rests. Gives the
    /// share of time that the first rested.
    fn rested(
        rule: &mut Priorities,
        paths: &mut [Path; 2],
        seconds: std::ops::Range<u64>,
        rates: impl Fn(bool) -> [u64; 2],
    ) -> f64 {
        let mut resting = 0;
        let steps = seconds.start * 10..seconds.end * 10;
        let all = steps.end - steps.start;
        for step in steps {
            let rests = rule.decide(paths, ms(step * 100))[0];
            resting += u64::from(rests);
            let per_s = rates(rests);
            paths.iter_mut().zip(per_s).for_each(|(p, r)| p.packets += r / 10);
        }
        resting as f64 / all as f64
    }

    #[test]
    fn the_cost_of_two_segments() {
        assert!((floor_cost(&path(1_000, 25)).unwrap() - 2.0 / 26.0).abs() < 1e-12);
        assert!((floor_cost(&path(1_000, 100)).unwrap() - 2.0 / 101.0).abs() < 1e-12);
        assert_eq!(floor_cost(&Path { least_rtt: None, ..path(1_000, 25) }), None);
    }

    #[test]
    fn a_costly_subflow_rests_at_once_and_stays_while_the_other_fills_the_air() {
        let mut rule = Priorities::new();
        let mut paths = [path(3_000, 25), path(500, 25)];
        assert_eq!(rested(&mut rule, &mut paths, 0..120, |_| [0, 1_900]), 1.0);
    }

    #[test]
    fn a_cheap_one_an_equal_one_and_one_whose_round_trip_is_not_known_never_rest() {
        for first in [path(1_000, 100), path(550, 10), Path { least_rtt: None, ..path(6_000, 10) }] {
            let mut paths = [first, path(500, 10)];
            assert_eq!(rested(&mut Priorities::new(), &mut paths, 0..30, |_| [20, 100]), 0.0);
        }
    }

    #[test]
    fn one_about_as_good_as_may_be_does_not_change_its_role_with_each_measurement() {
        let mut rule = Priorities::new();
        let mut rests = Vec::new();
        for step in 0..100 {
            let packet_us = if step % 2 == 0 { 605 } else { 595 };
            // The other one fills the air, so nothing is tried.
            let best = Path { packets: 190 * step, ..path(500, 25) };
            rests.push(rule.decide(&[path(packet_us, 25), best], ms(step * 100)));
        }
        rests.dedup();
        assert_eq!(rests, [[true, false]]);
        assert_eq!(rule.decide(&[path(545, 25), path(500, 25)], ms(10_000)), [false, false]);
    }

    #[test]
    fn one_whose_sender_does_not_answer_marks_rests_however_cheap_its_floor() {
        let mut paths = [path(1_000, 100), path(500, 100)];
        let unresponsive = |rests: bool| if rests { [0, 1_900] } else { [800, 400] };
        let mut rule = Priorities::new();
        rested(&mut rule, &mut paths, 0..4, unresponsive);
        assert_eq!(rested(&mut rule, &mut paths, 4..60, unresponsive), 1.0);
    }

    #[test]
    fn marks_are_tried_first_and_who_does_not_answer_them_rests_at_once() {
        let unresponsive = |rests: bool| if rests { [0, 1_900] } else { [800, 400] };
        let slow = Path { marks: Marks::Tried, ..path(1_000, 100) };
        let mut paths = [slow, path(500, 100)];
        let mut rule = Priorities::new();
        assert_eq!(rested(&mut rule, &mut paths, 0..20, unresponsive), 0.0);
        paths[0].marks = Marks::Unanswered;
        assert_eq!(rested(&mut rule, &mut paths, 20..30, unresponsive), 1.0);
        // One that is as good is left alone, and a costly floor does not wait for marks.
        let equal = Path { marks: Marks::Unanswered, ..path(550, 100) };
        assert_eq!(Priorities::new().decide(&[equal, path(500, 100)], ms(0)), [false, false]);
        let costly = Path { marks: Marks::Tried, ..path(3_000, 25) };
        assert_eq!(Priorities::new().decide(&[costly, path(500, 25)], ms(0)), [true, false]);
    }

    #[test]
    fn it_is_used_while_the_other_has_its_bottleneck_elsewhere() {
        // Scenario 2: the better access point gets 200 packets a second from its uplink, the worse
        // one could have 300.
        let mut rule = Priorities::new();
        let mut paths = [path(3_000, 25), path(500, 25)];
        let busy = |rests: bool| if rests { [0, 200] } else { [300, 190] };
        rested(&mut rule, &mut paths, 0..20, busy);
        assert!(rested(&mut rule, &mut paths, 20..220, busy) < 0.15);
        // The uplink is free again: it rests after its term at the latest.
        let free = |rests: bool| if rests { [0, 1_900] } else { [150, 950] };
        rested(&mut rule, &mut paths, 220..290, free);
        assert_eq!(rested(&mut rule, &mut paths, 290..340, free), 1.0);
    }

    #[test]
    fn one_that_could_not_carry_as_much_alone_is_not_tried() {
        // Packets of the first take 6 ms: 167 a second at best, and the second carries 400 of 2000.
        let mut rule = Priorities::new();
        let mut paths = [path(6_000, 25), path(500, 25)];
        let busy = |rests: bool| if rests { [0, 400] } else { [150, 80] };
        assert_eq!(rested(&mut rule, &mut paths, 0..300, busy), 1.0);
    }

    #[test]
    fn nothing_is_tried_against_a_rate_that_still_grows() {
        // The second climbs by 50 packets a second in each second.
        let mut rule = Priorities::new();
        let mut paths = [path(1_000, 25), path(500, 25)];
        for step in 0..180_u64 {
            assert!(rule.decide(&paths, ms(step * 100))[0], "at step {step}");
            paths[1].packets += (50 * (step / 10)) / 10;
        }
    }

    #[test]
    fn one_that_stayed_goes_when_it_pays_no_more() {
        let mut rule = Priorities::new();
        let mut paths = [path(3_000, 25), path(500, 25)];
        let pays = |rests: bool| if rests { [0, 200] } else { [300, 190] };
        rested(&mut rule, &mut paths, 0..20, pays);
        assert_eq!(rested(&mut rule, &mut paths, 20..30, pays), 0.0);
        // It crowds the second out.
        let crowds = |rests: bool| if rests { [0, 200] } else { [150, 20] };
        rested(&mut rule, &mut paths, 30..34, crowds);
        assert!(rule.decide(&paths, ms(34_100))[0]);
    }

    #[test]
    fn a_trial_that_brings_nothing_is_repeated_ever_more_seldom() {
        // The application has no more to send.
        let mut rule = Priorities::new();
        let mut paths = [path(3_000, 25), path(500, 25)];
        let idle = |rests: bool| if rests { [0, 200] } else { [100, 100] };
        rested(&mut rule, &mut paths, 0..130, idle);
        let share = rested(&mut rule, &mut paths, 130..530, idle);
        assert!(share > 0.93, "{share}");
    }

    #[test]
    fn other_subflows_begin_anew() {
        let mut rule = Priorities::new();
        assert_eq!(rule.decide(&[path(3_000, 25), path(500, 25)], ms(0)), [true, false]);
        assert_eq!(rule.decide(&[path(3_000, 25)], ms(100)), [false]);
        assert_eq!(rule.decide(&[], ms(200)), []);
    }
}
