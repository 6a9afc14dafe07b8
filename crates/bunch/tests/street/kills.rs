//! Access points that lose power, by kinds: who, when, and whether they come again. A gateway's end is
//! none of these: daemons reset connections then (`a_gateway_that_is_killed_is_told_to_both_ends` in
//! crates/ropewalk/tests/bunch.rs).

use super::harness::{Spec, Street};
use super::{End, end_of};
use ropewalk_bunch::Time;
use std::time::Duration;

const UPLOAD: u64 = 800_000;
/// The home access point and its neighbours.
const POINTS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Who {
    Home,
    Neighbour,
    AllNeighbours,
    HomeAndNeighbour,
    HomeThenNeighbour,
}

#[derive(Clone, Copy, Debug)]
enum When {
    /// While the connection opens and holders register.
    Opening,
    /// While much is on the way.
    Midway,
    /// Around the last bytes and the close.
    Closing,
}

/// Thirty of them.
fn kinds() -> impl Iterator<Item = (Who, When, bool)> {
    let all = [Who::Home, Who::Neighbour, Who::AllNeighbours, Who::HomeAndNeighbour, Who::HomeThenNeighbour];
    let when = [When::Opening, When::Midway, When::Closing];
    let with = move |who| when.into_iter().flat_map(move |when| [false, true].map(|back| (who, when, back)));
    all.into_iter().flat_map(with)
}

/// Until then: a place of the stream that the sender has seen acknowledged.
fn run_until_acked(street: &mut Street, place: u64) {
    while street.sender.acked < place && street.now < Time::from_secs(30) {
        let next = street.now + Duration::from_millis(2);
        street.run_until(next);
    }
}

/// What came of an upload, and how many of its bytes the receiver got and compared.
fn kill((who, when, back): (Who, When, bool), holders: u8, seed: u64) -> (End, u64) {
    let spec = Spec { monitor_loss: 0.3, holders, seed, ..Spec::new(POINTS, 2e6, UPLOAD) };
    let mut street = Street::new(spec);
    let place = match when {
        When::Opening => street.draw(20_000),
        When::Midway => 100_000 + street.draw(400_000),
        When::Closing => UPLOAD - street.draw(60_000),
    };
    run_until_acked(&mut street, place);
    let one = 1 + street.draw(POINTS as u64 - 1) as usize;
    let then = Duration::from_millis(street.draw(1500));
    let at_once = Duration::ZERO;
    let dead: Vec<(usize, Duration)> = match who {
        Who::Home => vec![(0, at_once)],
        Who::Neighbour => vec![(one, at_once)],
        Who::AllNeighbours => (1..POINTS).map(|i| (i, at_once)).collect(),
        Who::HomeAndNeighbour => vec![(0, at_once), (one, at_once)],
        Who::HomeThenNeighbour => vec![(0, at_once), (one, then)],
    };
    let now = street.now;
    for (i, after) in dead {
        street.switch(i, false, now + after);
        if back {
            let away = Duration::from_millis(200 + street.draw(3000));
            street.switch(i, true, now + after + away);
        }
    }
    street.run_until(now + Duration::from_secs(90));
    assert_eq!(street.receiver.wrong, 0, "content");
    (end_of(&street, UPLOAD), (street.receiver.next - 1).min(UPLOAD))
}

/// What came of the uploads.
#[derive(Default)]
struct Tally {
    complete: u32,
    told: u32,
    bytes: u64,
    lost: Vec<String>,
}

/// Each kind so many times, where so many holders are enough.
fn kill_all(rounds: u64, holders: u8) -> Tally {
    let mut tally = Tally::default();
    for (number, kind) in (0u64..).zip(kinds()) {
        for round in 0..rounds {
            let seed = 1 + number * 1000 + round;
            let (end, bytes) = kill(kind, holders, seed);
            tally.bytes += bytes;
            match end {
                End::Complete => tally.complete += 1,
                End::Known => tally.told += 1,
                End::Lie => tally.lost.push(format!("{kind:?}, seed {seed}")),
            }
            if matches!(kind.0, Who::Neighbour | Who::AllNeighbours) {
                assert_eq!(end, End::Complete, "{kind:?}, seed {seed}, custody by {holders}");
            }
        }
    }
    tally
}

/// `ROPEWALK_KILLS` asks for more of each kind.
#[test]
fn thirty_kinds_of_kills_lose_nothing_in_silence() {
    let rounds: u64 = std::env::var("ROPEWALK_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let kinds = kinds().count();
    assert_eq!(kinds, 30);
    for holders in [1, 2] {
        let Tally { complete, told, bytes, lost } = kill_all(rounds, holders);
        println!(
            "custody by {holders}: {kinds} kinds x {rounds}, {bytes} bytes compared; {complete} uploads \
             completed, {told} ended with both ends told, {} lost in silence",
            lost.len()
        );
        assert_eq!(lost, [""; 0]);
        assert!(told > 0, "kills of a home end some of its uploads");
    }
}
