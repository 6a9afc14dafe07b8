//! Whether a path works and what it may be used for.

use ropewalk_time::{Duration, Time};

/// Whether a path works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The peer's address is not proven yet: no data goes there (RFC 9000 §8).
    #[default]
    Validating,
    /// Works.
    Active,
    /// Silent for longer than an answer takes: nothing new goes there, what is on the way also goes elsewhere.
    Suspect,
    /// Dead; probed.
    Down,
    /// Works, but IP packets of 1280 bytes do not pass: no data goes there (RFC 8899 §5.2, ERROR).
    TooNarrow,
}

impl State {
    /// Its name in status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            State::Validating => "validating",
            State::Active => "active",
            State::Suspect => "suspect",
            State::Down => "down",
            State::TooNarrow => "too narrow",
        }
    }
}

/// What a path may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Always.
    #[default]
    Active,
    /// While no other path works.
    Backup,
    /// Always, until the bytes are used up. Both directions count.
    Metered {
        /// Bytes left.
        left: u64,
    },
}

impl Class {
    /// Its name in config and status.
    pub fn name(self) -> &'static str {
        match self {
            Class::Active => "active",
            Class::Backup => "backup",
            Class::Metered { .. } => "metered",
        }
    }

    /// Its code in a status frame.
    pub fn code(self) -> u8 {
        match self {
            Class::Active => 0,
            Class::Backup => 1,
            Class::Metered { left: 0 } => 3,
            Class::Metered { .. } => 2,
        }
    }

    /// What a peer's status frame asks for; `None` if the code is not known. The peer keeps the account of a metered path.
    pub fn from_code(code: u8) -> Option<Class> {
        Some(match code {
            0 => Class::Active,
            1 => Class::Backup,
            2 => Class::Metered { left: u64::MAX },
            3 => Class::Metered { left: 0 },
            _ => return None,
        })
    }

    /// There is something left to use.
    pub fn has_allowance(self) -> bool {
        !matches!(self, Class::Metered { left: 0 })
    }

    /// Takes `bytes` off the allowance.
    pub fn spend(&mut self, bytes: u64) {
        if let Class::Metered { left } = self {
            *left = left.saturating_sub(bytes);
        }
    }
}

/// A path that is away for no longer than this may be back at once: somebody stands in the way
/// (DB-13 has 5 s), or a train is in a tunnel. So long a flow's own queue keeps its window.
const BLOCKAGE: Duration = Duration::from_secs(10);
/// Silence under this means nothing: schedulers and timers of both ends may be that late.
const MIN_SUSPECT: Duration = Duration::from_millis(15);
/// The bound for a dead path, together with three round trips.
const MIN_DOWN: Duration = Duration::from_millis(50);
/// A path that answered late once is given that time again for so long: in Wi-Fi, an
/// acknowledgement that collided waits for several bursts of the other side.
const LATE_MEMORY: Duration = Duration::from_secs(10);
/// Probes of a dead path come no closer together than this and a round trip, and no further apart than a second.
const PROBE_GAP: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];
/// Between the two, a probe follows after this share of the time that the path has been dead: an outage seems longer than it is by no more than that.
const PROBE_SHARE: u32 = 16;
/// A path that flaps is damped for so long when it comes back (as routes are, RFC 2439), twice as
/// long after each further death.
const DAMPED: [Duration; 2] = [Duration::from_millis(40), Duration::from_millis(1280)];
/// It flaps if it lives for less than this, and carries for less than so many times the silence
/// that its death costs: what it brings is worth less than what it holds up.
const FLAP: Duration = Duration::from_secs(2);
const FLAP_PAYS: u32 = 2;

/// A path's state and what changes it.
#[derive(Debug, Default)]
pub struct Liveness {
    /// Where it stands.
    pub state: State,
    /// Last time that the peer acknowledged something new.
    pub last_progress: Time,
    next_probe: Time,
    deaths: u32,
    /// Lives in a row that were short.
    flaps: u32,
    up_since: Time,
    last_death: Option<Time>,
    damped_until: Time,
    /// Since when it had been silent when it became suspect.
    silent_since: Time,
    /// The longest silence that meant nothing, and until when that is remembered.
    late: (Duration, Time),
}

impl Liveness {
    /// The address is proven.
    pub fn on_validated(&mut self, now: Time) {
        if self.state == State::Validating {
            self.state = State::Active;
            (self.last_progress, self.up_since) = (now, now);
        }
    }

    /// The peer acknowledged something new. `true` if the path may be used again.
    pub fn on_progress(&mut self, now: Time) -> bool {
        self.last_progress = now;
        if self.state == State::Down {
            (self.damped_until, self.up_since) = (now + self.damping(), now);
        }
        let is_back = matches!(self.state, State::Suspect | State::Down);
        if is_back {
            self.state = State::Active;
        }
        is_back
    }

    /// The peer acknowledged what a silence had made count as lost: it was alive, and is given more
    /// time from now on (RFC 4015 §3.2).
    pub(crate) fn on_late_answer(&mut self, now: Time) {
        if self.state == State::Suspect {
            let silence = now.since(self.silent_since) * 5 / 4;
            self.late = (silence.clamp(self.lateness(now), MIN_DOWN), now + LATE_MEMORY);
        }
    }

    /// The silence that meant nothing of late.
    fn lateness(&self, now: Time) -> Duration {
        if now < self.late.1 { self.late.0 } else { Duration::ZERO }
    }

    fn suspect_after(&self, since: Time, timeout: Duration) -> Duration {
        timeout.max(MIN_SUSPECT).max(self.lateness(since))
    }

    fn down_after(&self, since: Time, timeout: Duration, srtt: Duration) -> Duration {
        (srtt * 3).max(MIN_DOWN).max(self.suspect_after(since, timeout))
    }

    fn damping(&self) -> Duration {
        match self.flaps {
            0 => Duration::ZERO,
            n => (DAMPED[0] * (1 << (n - 1).min(5))).min(DAMPED[1]),
        }
    }

    /// It works, but flaps: it is used where no other path works, and not preferred to any.
    pub fn is_damped(&self, now: Time) -> bool {
        now < self.damped_until
    }

    /// How long the peer has owed an answer to something on the way since `oldest`.
    pub fn silence(&self, now: Time, oldest: Option<Time>) -> Duration {
        oldest.map_or(Duration::ZERO, |o| now.since(o.max(self.last_progress)))
    }

    /// When the silence will mean something, if it lasts.
    pub fn next_change(&self, oldest: Option<Time>, timeout: Duration, srtt: Duration) -> Option<Time> {
        let since = oldest?.max(self.last_progress);
        match self.state {
            State::Active => Some(since + self.suspect_after(since, timeout)),
            State::Suspect => Some(since + self.down_after(since, timeout, srtt)),
            _ => None,
        }
    }

    /// Looks at the silence; returns the state if it changed.
    pub fn on_timer(
        &mut self,
        now: Time,
        oldest: Option<Time>,
        timeout: Duration,
        srtt: Duration,
    ) -> Option<State> {
        let silence = self.silence(now, oldest);
        let since = now - silence;
        if self.state == State::Active && silence >= self.suspect_after(since, timeout) {
            (self.state, self.silent_since) = (State::Suspect, since);
            return Some(State::Suspect);
        }
        if self.state == State::Suspect && silence >= self.down_after(since, timeout, srtt) {
            self.die(now);
            return Some(State::Down);
        }
        None
    }

    /// It died a moment ago, and may be back in the next: a blockage is over in seconds.
    pub(crate) fn may_return(&self, now: Time) -> bool {
        match self.state {
            State::Suspect => true,
            State::Down => self.last_death.is_some_and(|t| now.since(t) < BLOCKAGE),
            _ => self.is_damped(now),
        }
    }

    /// It is known to be dead (no interface, no route).
    pub fn die(&mut self, now: Time) {
        // One that died while it was damped was probed for so long, and would have carried.
        let began = if now < self.damped_until { Time::ZERO } else { self.damped_until };
        let carried = self.last_progress.since(self.up_since.max(began));
        let is_flap = self.last_death.is_some()
            && now.since(self.up_since) < FLAP
            && carried < now.since(self.last_progress) * FLAP_PAYS;
        self.deaths = self.deaths.saturating_add(1);
        self.flaps = if is_flap { self.flaps + 1 } else { 0 };
        (self.state, self.last_death) = (State::Down, Some(now));
        self.next_probe = now;
    }

    /// The link under it is on another channel now, of which nothing is known: one that was deaf on the last one is no reason to wait. `true` if the path may be
    /// used again.
    pub fn begin_anew(&mut self, now: Time) -> bool {
        if !matches!(self.state, State::Suspect | State::Down) {
            return false;
        }
        *self = Liveness { state: State::Active, last_progress: now, ..Liveness::default() };
        true
    }

    /// Whether a path that is dead, or damped, is to be probed now. `rtt`: what an answer takes.
    pub fn poll_probe(&mut self, now: Time, rtt: Duration) -> bool {
        if self.next_probe(now).is_none_or(|at| at > now) {
            return false;
        }
        let dead =
            self.last_death.filter(|_| self.state == State::Down).map_or(Duration::ZERO, |t| now.since(t));
        let gap = (dead / PROBE_SHARE).max(rtt);
        self.next_probe = now + gap.clamp(PROBE_GAP[0], PROBE_GAP[1]);
        true
    }

    /// When [`Liveness::poll_probe`] wants to be asked.
    pub fn next_probe(&self, now: Time) -> Option<Time> {
        (self.state == State::Down || self.is_damped(now)).then_some(self.next_probe)
    }

    /// How often it died, on the channel that it is on.
    pub fn deaths(&self) -> u32 {
        self.deaths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);
    const PTO: Duration = Duration::from_millis(28);

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    fn alive() -> Liveness {
        let mut l = Liveness::default();
        l.on_validated(ms(0));
        l
    }

    #[test]
    fn silence_kills_within_three_round_trips_and_only_while_something_is_owed() {
        let mut l = alive();
        assert_eq!(l.on_timer(ms(5000), None, PTO, RTT), None);
        l.on_progress(ms(5000));
        assert_eq!(l.on_timer(ms(5027), Some(ms(4990)), PTO, RTT), None);
        assert_eq!(l.on_timer(ms(5028), Some(ms(4990)), PTO, RTT), Some(State::Suspect));
        assert_eq!(l.next_change(Some(ms(4990)), PTO, RTT), Some(ms(5060)));
        assert_eq!(l.on_timer(ms(5060), Some(ms(4990)), PTO, RTT), Some(State::Down));
        assert!(l.poll_probe(ms(5060), RTT) && !l.poll_probe(ms(5079), RTT));
        assert!(l.on_progress(ms(5200)) && l.state == State::Active);
    }

    #[test]
    fn one_that_answered_late_is_given_that_time_again_and_never_more_than_a_dead_one() {
        let mut l = alive();
        let suspects = |l: &mut Liveness, sent: u64| {
            let at = (0..100).find(|k| l.on_timer(ms(sent + k), Some(ms(sent)), PTO, RTT).is_some()).unwrap();
            assert_eq!(l.state, State::Suspect);
            at
        };
        assert_eq!(suspects(&mut l, 1000), 28);
        // Answered, but not to what had counted as lost: nothing was learned of the silence.
        l.on_progress(ms(1032));
        assert_eq!(suspects(&mut l, 1100), 28);
        l.on_late_answer(ms(1132));
        l.on_progress(ms(1132));
        assert_eq!(suspects(&mut l, 1200), 40);
        l.on_late_answer(ms(1255));
        l.on_progress(ms(1255));
        assert_eq!(suspects(&mut l, 1300), 50, "and dead no later than before");
        assert_eq!(l.on_timer(ms(1360), Some(ms(1300)), PTO, RTT), Some(State::Down));
        l.on_progress(ms(1400));
        assert_eq!(suspects(&mut l, 11_300), 28, "forgotten");
    }

    #[test]
    fn one_that_flaps_is_used_at_once_and_preferred_ever_later() {
        let mut l = alive();
        let mut damped = Vec::new();
        for round in 0..7u64 {
            let mut now = ms(round * 1500);
            l.die(now);
            assert!(l.on_progress(now) && l.state == State::Active);
            while l.is_damped(now) {
                now += Duration::from_millis(5);
            }
            damped.push(now.since(ms(round * 1500)).as_millis());
        }
        assert_eq!(damped, [0, 40, 80, 160, 320, 640, 1280]);
        l.die(ms(60_000));
        assert!(l.on_progress(ms(60_001)) && !l.is_damped(ms(60_001)));
    }

    #[test]
    fn one_that_carries_more_than_its_deaths_cost_is_not_damped() {
        // It is silent for 60 ms before it counts as dead, and away for 200.
        let damped = |carries_ms: u64| {
            let mut l = alive();
            for round in 1..10u64 {
                let back = ms(1000 * round);
                l.on_progress(back);
                l.on_progress(back + Duration::from_millis(carries_ms));
                l.die(back + Duration::from_millis(carries_ms + 60));
            }
            l.on_progress(ms(10_000));
            l.is_damped(ms(10_000))
        };
        assert!(!damped(200) && !damped(120));
        assert!(damped(119) && damped(0));
    }

    /// It works for 200 of each 400 ms, and is silent for 60 ms before it counts as dead. Once it was
    /// damped for longer than it works, it carried nothing any more.
    #[test]
    fn one_that_works_for_long_is_used_again_however_long_it_was_damped() {
        let mut l = alive();
        (l.flaps, l.last_death) = (6, Some(ms(0)));
        l.die(ms(60));
        let mut used = Vec::new();
        for round in 1..6u64 {
            let back = ms(400 * round);
            for now in (0..200).step_by(10) {
                l.on_progress(back + Duration::from_millis(now));
            }
            used.push(!l.is_damped(back + Duration::from_millis(190)));
            l.die(back + Duration::from_millis(250));
        }
        assert_eq!(used, [false, true, true, true, true]);
    }

    /// It answers probes, the last of them shortly before it is used, and dies as soon as data go
    /// there.
    #[test]
    fn one_that_dies_at_each_use_is_damped_ever_longer() {
        let (mut l, mut now) = (alive(), ms(1000));
        let mut damped = Vec::new();
        for _ in 0..8 {
            let back = now;
            l.on_progress(back);
            let used = l.damped_until.max(back);
            while now + Duration::from_millis(7) < used {
                now += Duration::from_millis(7);
                l.on_progress(now);
            }
            damped.push(used.since(back).as_millis());
            now = used + Duration::from_millis(60);
            l.die(now);
        }
        assert_eq!(damped, [0, 0, 40, 80, 160, 320, 640, 1280]);
    }

    #[test]
    fn a_dead_path_is_probed_every_round_trip_at_first_and_never_much_later_than_it_has_been_dead() {
        let mut l = alive();
        l.die(ms(1000));
        let mut probes = Vec::new();
        for now in 1000..41_000 {
            if l.poll_probe(ms(now), RTT) {
                probes.push(now - 1000);
            }
        }
        assert_eq!(probes[..4], [0, 20, 40, 60]);
        assert!(probes.windows(2).all(|w| w[1] - w[0] <= (w[1] / 16 + 1).max(20)), "{probes:?}");
        assert!(probes.len() < 110, "{}", probes.len());
        // One that is damped has nothing else to show whether it still works.
        l.die(ms(41_100));
        assert!(l.on_progress(ms(41_100)) && l.next_probe(ms(41_100)).is_none());
        l.die(ms(41_200));
        assert!(l.on_progress(ms(41_200)) && l.poll_probe(ms(41_200), RTT));
        assert_eq!(l.next_probe(ms(41_201)), Some(ms(41_220)));
        assert_eq!(l.next_probe(ms(41_240)), None);
    }

    #[test]
    fn one_that_lives_between_its_deaths_does_not_flap() {
        let mut l = Liveness::default();
        l.on_validated(ms(0));
        for round in 1..10 {
            let dies = ms(10_000 * round);
            l.die(dies);
            assert!(l.may_return(dies + BLOCKAGE / 2) && !l.may_return(dies + BLOCKAGE));
            let back = dies + Duration::from_secs(1);
            assert!(l.on_progress(back) && !l.is_damped(back), "round {round}");
        }
    }

    #[test]
    fn on_another_channel_a_dead_path_is_used_at_once_and_its_deaths_are_forgotten() {
        let mut l = alive();
        assert!(!l.begin_anew(ms(1)), "it works");
        (0..5).for_each(|k| l.die(ms(k * 100)));
        assert!(l.begin_anew(ms(500)) && l.state == State::Active);
        l.die(ms(600));
        assert!(l.on_progress(ms(601)) && !l.is_damped(ms(601)));
    }

    #[test]
    fn a_used_up_allowance_ends_the_use() {
        let mut c = Class::Metered { left: 100 };
        c.spend(60);
        assert!(c.has_allowance());
        c.spend(60);
        assert!(!c.has_allowance());
    }
}
