//! A radio that carries at the rate of its channel, and a driver that does as it is told.

use super::*;
use proptest::prelude::*;

const STEP: Duration = Duration::from_millis(1);
const BEACONS: Duration = Duration::from_millis(205);

struct Radio {
    now: Time,
    /// Channel and Mb/s.
    rates: Vec<(u32, f64)>,
    at: u32,
    /// Where it is announced to go, and when.
    going: Option<(u32, Time)>,
    /// How long it takes to go.
    beacons: Duration,
    /// While it is on its way it goes nowhere else, and may say so.
    busy: bool,
    refuses: bool,
    /// Channels that it never reaches.
    barred: Vec<u32>,
    /// Channels on which the station is not heard.
    deaf: Vec<u32>,
    carries: bool,
    carried: f64,
    wanted: bool,
    migration: Migration,
    /// Where it was sent, and when it came to rest.
    moves: Vec<u32>,
    outcomes: Vec<(Time, Outcome)>,
}

impl Radio {
    fn new(rates: &[(u32, f64)], settings: Settings) -> Radio {
        Radio {
            now: Time::from_millis(1),
            rates: rates.to_vec(),
            at: rates[0].0,
            going: None,
            beacons: BEACONS,
            busy: false,
            refuses: false,
            barred: vec![],
            deaf: vec![],
            carries: true,
            carried: 0.0,
            wanted: true,
            migration: Migration::new(settings),
            moves: vec![],
            outcomes: vec![],
        }
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += STEP;
            if let Some((to, _)) = self.going.filter(|g| g.1 <= self.now) {
                self.going = None;
                self.at = to;
            }
            let mbps = self.rates.iter().find(|r| r.0 == self.at).map_or(0.0, |r| r.1);
            if self.carries && self.wanted && !self.deaf.contains(&self.at) {
                self.carried += mbps * 1e3 / 8.0;
            }
            let reading = Reading {
                carried_bytes: self.carried as u64,
                wanted: self.wanted,
                channel_mhz: Some(self.at),
            };
            while let Some(order) = self.migration.poll(self.now, reading) {
                self.obey(order);
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Move { to_mhz } => {
                self.carries = false;
                self.moves.push(to_mhz);
                let is_on_its_way = self.busy && self.going.is_some();
                if is_on_its_way && self.refuses {
                    self.migration.refused(self.now);
                }
                if !is_on_its_way && !self.barred.contains(&to_mhz) {
                    self.going = Some((to_mhz, self.now + self.beacons));
                }
            }
            Order::Resume => self.carries = true,
            Order::Settled(outcome) => {
                self.carries = true;
                self.outcomes.push((self.now, outcome));
            }
        }
    }
}

fn settings(search: Search, candidates_mhz: &[u32]) -> Settings {
    Settings { search, candidates_mhz: candidates_mhz.to_vec(), ..Settings::default() }
}

/// The link's own channel, and four others.
const RATES: [(u32, f64); 5] = [(5180, 2.0), (5220, 1.0), (5260, 20.0), (5300, 60.0), (5500, 30.0)];
const OTHERS: [u32; 4] = [5220, 5260, 5300, 5500];

#[test]
fn adequate_takes_the_first_that_is_better() {
    let mut radio = Radio::new(&RATES, settings(Search::Adequate, &OTHERS));
    radio.run(5000);
    assert_eq!(radio.moves, [5220, 5260]);
    let (at, outcome) = radio.outcomes[0];
    assert_eq!((outcome.from_mhz, outcome.at_mhz, outcome.probes), (5180, Some(5260), 2));
    assert!((outcome.before_bps - 2e6).abs() < 5e4 && (outcome.after_bps - 20e6).abs() < 1e6);
    // The window, then 0.22 s and a little for each probe (§5.4).
    let took = at.since(Time::from_millis(1001)).as_millis();
    assert!((440..480).contains(&took), "{took} ms");
    assert!(radio.carries && radio.outcomes.len() == 1, "and it stays");
}

#[test]
fn best_tries_all_and_goes_back_to_the_best() {
    let mut radio = Radio::new(&RATES, settings(Search::Best, &OTHERS));
    radio.run(5000);
    assert_eq!(radio.moves, [5220, 5260, 5300, 5500, 5300]);
    assert_eq!(radio.outcomes[0].1.at_mhz, Some(5300));
    assert!((radio.outcomes[0].1.after_bps - 60e6).abs() < 2e6);
}

#[test]
fn where_nothing_is_better_it_goes_home_and_rests() {
    let worse: Vec<_> = RATES.iter().map(|r| (r.0, if r.0 == 5180 { 2.0 } else { 1.0 })).collect();
    for search in [Search::Adequate, Search::Best] {
        let mut radio = Radio::new(&worse, settings(search, &OTHERS));
        radio.run(20_000);
        assert_eq!(radio.moves, [5220, 5260, 5300, 5500, 5180]);
        assert_eq!(radio.outcomes[0].1.at_mhz, Some(5180));
        assert!(radio.carries && radio.at == 5180);
        radio.run(15_000);
        assert_eq!(radio.outcomes.len(), 2, "once in 30 s and the search's own time");
    }
}

#[test]
fn a_link_that_nobody_wants_or_that_carries_enough_stays() {
    let mut radio = Radio::new(&RATES, settings(Search::Adequate, &OTHERS));
    radio.wanted = false;
    radio.run(10_000);
    // Load that comes and goes within the window says nothing.
    for _ in 0..20 {
        radio.wanted = true;
        radio.run(500);
        radio.wanted = false;
        radio.run(500);
    }
    assert!(radio.moves.is_empty());
    radio.wanted = true;
    radio.rates[0].1 = 5.5;
    radio.run(10_000);
    assert!(radio.moves.is_empty() && !radio.migration.is_searching());
}

#[test]
fn channels_that_cannot_be_had_or_where_nobody_answers_are_passed_over() {
    let mut radio = Radio::new(&RATES, settings(Search::Adequate, &OTHERS));
    radio.barred = vec![5220];
    radio.deaf = vec![5260];
    radio.run(6000);
    assert_eq!(radio.moves, [5220, 5260, 5300]);
    assert_eq!(radio.outcomes[0].1.at_mhz, Some(5300));
    let mut radio = Radio::new(&RATES, settings(Search::Adequate, &OTHERS[..1]));
    radio.run(1100);
    assert!(radio.migration.is_searching());
    let now = radio.now;
    radio.migration.refused(now);
    radio.going = None;
    radio.run(10);
    assert_eq!(radio.moves, [5220, 5180], "a refusal is known at once");
}

/// The radio leaves for a candidate after it was given up: that it is at home just then is not its return.
#[test]
fn one_that_leaves_late_is_fetched_home() {
    let mut radio = Radio::new(&RATES[..2], settings(Search::Adequate, &OTHERS[..1]));
    radio.beacons = Duration::from_millis(1600);
    radio.run(1050);
    assert!(radio.migration.is_searching() && radio.moves == [5220]);
    radio.beacons = BEACONS;
    radio.busy = true;
    radio.run(6000);
    assert_eq!((radio.at, radio.outcomes[0].1.at_mhz), (5180, Some(5180)));
    assert!(radio.moves.len() > 2 && radio.carries);
}

/// hostapd refuses every switch while one is announced: that says nothing of where the radio will
/// be.
#[test]
fn one_that_refuses_while_it_leaves_is_fetched_home() {
    for leaves_after in [1600, 2500, 3500, 4400] {
        let mut radio = Radio::new(&RATES[..2], settings(Search::Adequate, &OTHERS[..1]));
        radio.beacons = Duration::from_millis(leaves_after);
        radio.run(1050);
        assert!(radio.migration.is_searching() && radio.moves == [5220]);
        radio.beacons = BEACONS;
        (radio.busy, radio.refuses) = (true, true);
        radio.run(8000);
        assert_eq!((radio.at, radio.outcomes[0].1.at_mhz), (5180, Some(5180)), "after {leaves_after} ms");
        assert!(radio.carries && radio.outcomes.len() == 1);
    }
}

/// Where little is asked for, one packet in 20 ms is 0.6 Mb/s: nothing goes by two of them, which
/// may be stragglers.
#[test]
fn two_stragglers_are_no_rate() {
    let rates = [(5180, 0.4), (5220, 0.0)];
    let mut radio = Radio::new(&rates, Settings { least_bps: 6e5, ..settings(Search::Adequate, &[5220]) });
    while radio.at == 5180 || !radio.carries {
        radio.run(1);
    }
    radio.carried += 1500.0;
    radio.run(15);
    radio.carried += 1500.0;
    radio.run(500);
    assert_eq!((radio.at, radio.moves.as_slice()), (5180, [5220, 5180].as_slice()));
}

#[test]
fn a_home_that_is_lost_is_given_up_and_said() {
    let mut radio = Radio::new(&[(5180, 2.0), (5220, 1.0)], settings(Search::Adequate, &[5220]));
    radio.barred = vec![5180];
    radio.run(10_000);
    assert_eq!(radio.moves, [5220, 5180, 5180, 5180]);
    assert_eq!(radio.outcomes[0].1.at_mhz, Some(5220));
    assert!(radio.carries, "better there than nowhere");
}

#[test]
fn without_candidates_nothing_moves() {
    let mut radio = Radio::new(&RATES, settings(Search::Best, &[5180]));
    radio.run(40_000);
    assert!(radio.moves.is_empty() && radio.outcomes.is_empty());
}

proptest! {
    #[test]
    fn a_search_ends_at_the_best_or_at_no_worse_than_before(
        rates in proptest::collection::vec(0.0..80.0f64, 2..11), best in any::<bool>(),
    ) {
        let mut rates: Vec<_> = rates.into_iter().enumerate().map(|(i, r)| (5180 + 20 * i as u32, r)).collect();
        rates[0].1 *= 0.06;
        let candidates: Vec<_> = rates.iter().map(|r| r.0).collect();
        let search = if best { Search::Best } else { Search::Adequate };
        let mut radio = Radio::new(&rates, settings(search, &candidates));
        radio.run(8_000);
        prop_assert_eq!(radio.outcomes.len(), 1);
        let at = rates.iter().find(|r| r.0 == radio.at).map_or(0.0, |r| r.1);
        let most = rates.iter().map(|r| r.1).fold(0.0, f64::max);
        prop_assert!(radio.carries && at >= rates[0].1 * 0.99);
        prop_assert!(!best || at >= most * 0.95, "{} of {}", at, most);
    }
}
