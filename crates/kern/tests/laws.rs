//! The laws as the kernel computes them, held against `ropewalk_cc` on the same
//! acknowledgements.

use ropewalk_cc::coupled::{BaliaLaw, LiaLaw, OliaLaw};
use ropewalk_cc::highspeed::HighSpeedLaw;
use ropewalk_cc::window::{Law as BondLaw, LossBased};
use ropewalk_cc::{Ack, Controller, Loss, Sibling};
use ropewalk_kern::trial::{Own, Trial};
use ropewalk_kern::{KernError, Key, Law, Slot};
use ropewalk_time::{Duration, Time};

const MSS: u32 = 1448;
/// How far the two may be apart, of the larger.
const APART: f64 = 0.02;
const KEY: Key = Key { netns: 1, token: 7 };

/// Loads a law, or says why not.
fn trial(law: Law) -> Option<Trial> {
    match Trial::new(law) {
        Ok(trial) => Some(trial),
        Err(e @ (KernError::NotRoot | KernError::Refused(_) | KernError::NoBtf | KernError::NoStructOps)) => {
            ropewalk_skip::skip(e);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Both laws on one path among others.
struct Pair<L> {
    bond: LossBased<L>,
    kernel: Trial,
    now: Time,
    own: Own,
    others: Vec<Slot>,
}

/// A path: packets, microseconds, bytes since the last loss.
type Path = (u32, u32, u64);

impl<L: BondLaw> Pair<L> {
    /// In congestion avoidance at so many packets, or near.
    fn new(law: L, kernel: Trial, own: Path, others: &[Path]) -> Pair<L> {
        let (packets, rtt_us, since_loss) = own;
        let mut bond = LossBased::new(law, u64::from(MSS));
        let mut pair = Pair {
            now: Time::from_millis(10_000),
            own: Own { owner: 1, since_loss, packets, mss: MSS, rtt_us, fraction: 0 },
            others: others.iter().zip(2..).map(|(p, owner)| slot(owner, *p)).collect(),
            bond: bond.clone(),
            kernel,
        };
        // Slow start in one leap, which a loss ends.
        let wanted = 2 * u64::from(packets) * u64::from(MSS);
        bond.on_ack(&pair.ack(wanted.saturating_sub(bond.window())), &[]);
        bond.on_loss(&pair.loss(), &[]);
        pair.bond = bond;
        pair.own.packets = (pair.bond.window() / u64::from(MSS)) as u32;
        pair.own.fraction = ((pair.bond.window() % u64::from(MSS)) as i64) * (1 << 48) / i64::from(MSS);
        pair.now += Duration::from_millis(1);
        pair
    }

    fn ack(&self, bytes: u64) -> Ack {
        let rtt = Duration::from_micros(self.own.rtt_us.into());
        Ack {
            now: self.now,
            bytes,
            lost_bytes: 0,
            newest_sent: self.now,
            rtt,
            min_rtt: rtt,
            queue_delay: None,
            delivery_rate_bps: 0,
            app_limited: false,
            round_start: false,
            ce_packets: 0,
            inflight: u64::MAX / 2,
        }
    }

    fn loss(&self) -> Loss {
        Loss { now: self.now, bytes: MSS.into(), newest_sent: self.now, inflight: 0 }
    }

    fn siblings(&self) -> Vec<Sibling> {
        let own = Sibling {
            window: self.bond.window(),
            srtt: Duration::from_micros(self.own.rtt_us.into()),
            bytes_since_loss: self.own.since_loss,
            is_self: true,
        };
        let other = |s: &Slot| Sibling {
            window: s.window,
            srtt: Duration::from_micros(s.rtt_us.into()),
            bytes_since_loss: s.since_loss,
            is_self: false,
        };
        std::iter::once(own).chain(self.others.iter().map(other)).collect()
    }

    /// So many packets are acknowledged; growth of both, packets.
    fn step(&mut self, packets: u32) -> (f64, f64) {
        let before = (self.bond.window() as f64 / f64::from(MSS), self.kernel_window());
        self.now += Duration::from_millis(1);
        let ack = self.ack(u64::from(packets) * u64::from(MSS));
        self.bond.on_ack(&ack, &self.siblings());
        let own = slot(1, (self.own.packets, self.own.rtt_us, self.own.since_loss));
        let slots: Vec<Slot> = std::iter::once(own).chain(self.others.iter().copied()).collect();
        self.kernel.set(KEY, &slots).unwrap();
        let answer = self.kernel.ask(KEY, self.own, packets).unwrap();
        assert!(answer.is_coupled);
        (self.own.packets, self.own.fraction) = (answer.window, answer.fraction);
        (self.bond.window() as f64 / f64::from(MSS) - before.0, self.kernel_window() - before.1)
    }

    fn kernel_window(&self) -> f64 {
        f64::from(self.own.packets) + self.own.fraction as f64 / (1_u64 << 48) as f64
    }

    /// What a congestion event leaves of both windows, packets; both go there.
    fn lose(&mut self) -> (f64, f64) {
        self.now += Duration::from_secs(10);
        let (loss, siblings) = (self.loss(), self.siblings());
        self.bond.on_loss(&loss, &siblings);
        let answer = self.kernel.ask(KEY, self.own, 1).unwrap();
        (self.own.packets, self.own.fraction) = (answer.reduced.max(2), 0);
        (self.bond.window() as f64 / f64::from(MSS), f64::from(self.own.packets))
    }
}

fn slot(owner: u32, (packets, rtt_us, since_loss): Path) -> Slot {
    Slot { owner, rtt_us, window: u64::from(packets) * u64::from(MSS), since_loss }
}

/// One window of acknowledgements on each of many sets of paths, and one congestion event.
fn agree<L: BondLaw>(law: Law, bond: L) {
    // No two windows are alike where OLIA would move growth: a byte of growth decides there.
    let sets: [(Path, &[Path]); 13] = [
        ((100, 40_000, 0), &[]),
        ((100, 40_000, 1_000_000), &[(100, 40_000, 1_000_000)]),
        ((50, 40_000, 9_000_000), &[(100, 40_000, 1_000_000)]),
        ((100, 40_000, 1_000_000), &[(50, 40_000, 9_000_000)]),
        ((10, 10_000, 0), &[(1000, 200_000, 50_000_000)]),
        ((1000, 200_000, 50_000_000), &[(10, 10_000, 0)]),
        ((40, 40_000, 3_000), &[(400, 40_000, 2_000)]),
        // 10 Gb/s over 300 ms, and a second path of that kind; terabytes between losses.
        ((259_000, 300_000, 1 << 42), &[(259_000, 300_000, 1 << 41)]),
        ((259_000, 300_000, 1 << 42), &[(200_000, 600_000, 1 << 43)]),
        // Less than the shortest round trip that is taken, and a very long one.
        ((20, 1, 5_000), &[(20, 5, 5_000)]),
        ((300, 20_000, 10), &[(2, 60_000_000, 10)]),
        // A path that is full of subflows.
        (
            (60, 30_000, 77_000),
            &[
                (60, 30_000, 77_000),
                (59, 30_000, 76_000),
                (10, 300_000, 5),
                (4, 2_000, 0),
                (500, 90_000, 4_000_000),
            ],
        ),
        ((38, 10_000, 1), &[(39, 10_000, 1)]),
    ];
    for (own, others) in sets {
        let Some(kernel) = trial(law) else { return };
        let mut pair = Pair::new(bond.clone(), kernel, own, others);
        let (mut left, mut grown) = (own.0.max(2_000), (0.0, 0.0));
        while left > 0 {
            let packets = left.min(8192);
            let step = pair.step(packets);
            (grown.0, grown.1, left) = (grown.0 + step.0, grown.1 + step.1, left - packets);
        }
        // The bond counts whole bytes.
        let room = APART * f64::abs(grown.0) + 0.002;
        assert!(f64::abs(grown.0 - grown.1) <= room, "{law:?} {own:?} {others:?}: growth {grown:?}");
        let kept = pair.lose();
        let room = APART * kept.0 + 1.0;
        assert!((kept.0 - kept.1).abs() <= room, "{law:?} {own:?} {others:?}: kept {kept:?}");
    }
}

#[test]
fn lia_is_the_bonds() {
    agree(Law::Lia, LiaLaw);
}

#[test]
fn olia_is_the_bonds() {
    agree(Law::Olia, OliaLaw);
}

#[test]
fn balia_is_the_bonds() {
    agree(Law::Balia, BaliaLaw);
}

#[test]
fn highspeed_is_the_bonds() {
    agree(Law::Hstcp, HighSpeedLaw);
}

/// A thousand round trips with a loss in each fiftieth, beside a path that swings.
fn follow<L: BondLaw>(law: Law, bond: L) {
    let Some(kernel) = trial(law) else { return };
    let mut pair = Pair::new(bond, kernel, (200, 40_000, 500_000), &[(100, 30_000, 400_000)]);
    for round in 0..1000_u32 {
        pair.others[0] =
            slot(2, (100 + round % 70, 30_000 + 100 * (round % 50), 400_000 + u64::from(round % 9) * 90_000));
        let windows = match round % 50 {
            49 => pair.lose(),
            _ => {
                // As a stack does it: a few acknowledgements in each round trip.
                for _ in 0..4 {
                    pair.step(pair.own.packets / 4);
                }
                (pair.bond.window() as f64 / f64::from(MSS), pair.kernel_window())
            }
        };
        // A window of two packets has no half of one: the kernel's is whole after a loss.
        let room = APART * windows.0 + 1.0;
        assert!((windows.0 - windows.1).abs() <= room, "{law:?} round {round}: {windows:?}");
    }
}

#[test]
fn a_long_trace_leads_to_the_same_windows() {
    follow(Law::Lia, LiaLaw);
    follow(Law::Olia, OliaLaw);
    follow(Law::Balia, BaliaLaw);
    follow(Law::Hstcp, HighSpeedLaw);
}

/// The null case of the comparison: it tells laws apart.
#[test]
fn another_law_is_not_within_the_band() {
    let Some(kernel) = trial(Law::Lia) else { return };
    let mut pair = Pair::new(OliaLaw, kernel, (50, 40_000, 9_000_000), &[(100, 40_000, 1_000_000)]);
    let (bond, kernel) = pair.step(2_000);
    assert!((bond - kernel).abs() > 10.0 * APART * bond.abs(), "{bond} {kernel}");
}

#[test]
fn without_a_place_or_a_sample_it_is_reno() {
    for law in [Law::Lia, Law::Olia, Law::Balia] {
        let Some(trial) = trial(law) else { return };
        let alone = Key { netns: 1, token: 99 };
        let own = Own { owner: 0, packets: 100, mss: MSS, rtt_us: 0, ..Own::default() };
        let answer = trial.ask(alone, own, 100).unwrap();
        assert!(!answer.is_coupled);
        let grown = f64::from(answer.window - 100) + answer.fraction as f64 / (1_u64 << 48) as f64;
        assert!((grown - 1.0).abs() < 0.001 && answer.reduced == 50, "{law:?}: {grown} {answer:?}");
        // A sibling without a round trip yet is not asked about.
        trial.set(KEY, &[slot(2, (1000, 0, 9))]).unwrap();
        assert_eq!(trial.ask(KEY, own, 100).unwrap().window, answer.window);
    }
}
