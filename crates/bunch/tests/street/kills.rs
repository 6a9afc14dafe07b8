//! Access points that lose power, by kinds: who, when, and whether they come again. A gateway's end
//! is none of these.

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

fn kill((who, when, back): (Who, When, bool), seed: u64) -> End {
    let spec = Spec { monitor_loss: 0.3, seed, ..Spec::new(POINTS, 2e6, UPLOAD) };
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
    end_of(&street, UPLOAD)
}

/// `ROPEWALK_KILLS` asks for more of each kind.
#[test]
fn thirty_kinds_of_kills_lose_nothing_in_silence() {
    let rounds: u64 = std::env::var("ROPEWALK_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut tried, mut complete) = (0, 0);
    for (number, kind) in (0u64..).zip(kinds()) {
        for round in 0..rounds {
            let seed = 1 + number * 1000 + round;
            let end = kill(kind, seed);
            assert_ne!(end, End::Lie, "{kind:?}, seed {seed}");
            if matches!(kind.0, Who::Neighbour | Who::AllNeighbours) {
                assert_eq!(end, End::Complete, "{kind:?}, seed {seed}");
            }
            tried += 1;
            complete += u32::from(end == End::Complete);
        }
    }
    assert_eq!(kinds().count(), 30);
    assert!(complete < tried, "kills of a home end some of its uploads");
    println!("{tried} kills of 30 kinds: {complete} uploads completed, in the others both ends learnt of it");
}
