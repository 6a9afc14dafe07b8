//! Whole streets in simulated time: rates, reports, and the invariant under deaths.

#[path = "street/mod.rs"]
mod harness;
#[path = "street/kills.rs"]
mod kills;

use harness::{Spec, Street};
use ropewalk_bunch::Time;
use ropewalk_bunch::ap::Custody;
use std::time::Duration;

/// Bytes a second that the receiver got between two times.
fn goodput(spec: Spec, from: u64, to: u64) -> (f64, Street) {
    let mut street = Street::new(spec);
    street.run_until(Time::from_secs(from));
    let before = street.receiver.next;
    street.run_until(Time::from_secs(to));
    assert_eq!(street.receiver.wrong, 0, "content");
    let rate = (street.receiver.next - before) as f64 * 8.0 / (to - from) as f64;
    (rate, street)
}

#[test]
fn seven_uplinks_carry_seven_times_one() {
    let (rate, _) = goodput(Spec::new(7, 2e6, u64::MAX >> 8), 10, 30);
    // 1.90 Mb/s of TCP payload is what an uplink of 2 Mb/s carries alone (paper 002, table 4).
    assert!(rate > 0.95 * 7.0 * 1.9e6, "{rate}");
}

#[test]
fn one_access_point_alone_goes_its_ordinary_way() {
    let (rate, street) = goodput(Spec::new(1, 2e6, u64::MAX >> 8), 10, 30);
    // The packet's own headers and Ethernet's: what a path without any bunch carries.
    let plain = 2e6 * 1350.0 / (1350.0 + 52.0 + 14.0);
    assert!((rate / plain - 1.0).abs() < 0.01, "{rate} of {plain}");
    assert_eq!(street.counts()[0].forwarded, 0, "nothing goes by the tunnel");
}

#[test]
fn neighbours_that_hear_nothing_change_nothing() {
    let spec = Spec { monitor_loss: 1.0, ..Spec::new(3, 2e6, u64::MAX >> 8) };
    let (rate, street) = goodput(spec, 10, 30);
    let plain = 2e6 * 1350.0 / (1350.0 + 52.0 + 14.0);
    assert!((rate / plain - 1.0).abs() < 0.01, "{rate} of {plain}");
    assert!(street.counts().iter().all(|c| c.forwarded == 0));
}

/// The largest share of an uplink that reports take, with the headers that go along.
fn report_share(points: usize, rate: f64) -> f64 {
    let mut street = Street::new(Spec::new(points, rate, u64::MAX >> 8));
    street.run_until(Time::from_secs(5));
    let before = street.counts();
    street.run_until(Time::from_secs(15));
    let share = |(a, b): (&ropewalk_bunch::ap::Counts, &ropewalk_bunch::ap::Counts)| {
        (b.report_bytes - a.report_bytes) as f64 * 8.0 / 10.0 * 1514.0 / 1448.0 / rate
    };
    let all = before.iter().zip(&street.counts()).map(share).fold(0.0, f64::max);
    println!("{points} access points at {} Mb/s: reports take {:.2} % at most", rate / 1e6, all * 100.0);
    all
}

#[test]
fn reports_take_a_hundredth_of_an_uplink() {
    assert!(report_share(7, 2e6) <= 0.01);
    assert!(report_share(20, 10e6) <= 0.02);
}

#[test]
fn two_runs_are_the_same() {
    let run = || {
        let spec = Spec { monitor_loss: 0.4, seed: 5, ..Spec::new(4, 2e6, 2_000_000) };
        let mut street = Street::new(spec);
        street.switch(2, false, Time::from_secs(1));
        street.run_until(Time::from_secs(20));
        (street.receiver.next, street.counts(), street.accounts())
    };
    assert_eq!(run(), run());
}

#[test]
fn who_fails_is_used_less_and_counted() {
    let mut street = Street::new(Spec::new(3, 2e6, 8_000_000));
    street.switch(1, false, Time::from_secs(4));
    street.switch(1, true, Time::from_secs(7));
    street.run_until(Time::from_secs(40));
    assert!(street.receiver.closed, "{}", street.receiver.next);
    let accounts = street.accounts();
    assert!(accounts[1].packets < accounts[2].packets && accounts[1].packets > 0, "{accounts:?}");
    // What is carried for others is counted alike at both ends; a home's own is not.
    let home = &accounts[0];
    assert!(home.packets > 0 && home.carried_packets == 0 && home.delivered_packets == 0, "{home:?}");
    assert!(accounts.iter().skip(1).all(|a| a.delivered_packets == a.packets), "{accounts:?}");
    assert!(accounts.iter().all(|a| a.delivered_bytes <= a.carried_bytes), "{accounts:?}");
    let (near, far) = (street.counts()[2], &accounts[2]);
    let counted = (near.carried_packets, near.carried_bytes);
    assert_eq!(counted, (far.carried_packets, far.carried_bytes), "one whose tunnel never broke");
}

/// What became of an upload under deaths.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// All bytes, in order, and both ends closed.
    Complete,
    /// Both ends learnt that it failed.
    Known,
    /// The sender saw acknowledged what the receiver never got, and somebody does not know.
    Lie,
}

/// Access points die and come back at random times. `home` too, or neighbours alone.
fn upload(seed: u64, home: bool, custody: Custody, grace: Duration) -> End {
    let upload = 1_500_000;
    let spec = Spec { monitor_loss: 0.3, seed, custody, grace, ..Spec::new(4, 2e6, upload) };
    let mut street = Street::new(spec);
    let first = usize::from(!home);
    for _ in 0..3 {
        let who = first + street.draw(4 - first as u64) as usize;
        let at = Time::from_millis(200 + street.draw(2500));
        let back = at + Duration::from_millis(200 + street.draw(4000));
        street.switch(who, false, at);
        if street.draw(2) == 0 {
            street.switch(who, true, back);
        }
    }
    street.run_until(Time::from_secs(90));
    assert_eq!(street.receiver.wrong, 0, "seed {seed}: content");
    end_of(&street, upload)
}

/// What became of an upload of so many bytes, when all is over.
fn end_of(street: &Street, upload: u64) -> End {
    let (sender, receiver) = (&street.sender, &street.receiver);
    let end = upload + 2;
    if receiver.closed {
        return End::Complete;
    }
    // The home access point died before the connection was there: nobody was told anything.
    if sender.acked == 0 {
        return End::Known;
    }
    let told = sender.reset.is_some() && sender.acked < end;
    // A receiver that heard of nothing is one whose sender went away: its own keep-alive finds out.
    // What must not be is that the sender was acknowledged more than the receiver has, and
    // somebody was not told.
    match (told, receiver.reset.is_some() || receiver.next >= sender.acked) {
        (true, true) => End::Known,
        _ => End::Lie,
    }
}

/// `ROPEWALK_STREETS` asks for more.
fn seeds() -> u64 {
    std::env::var("ROPEWALK_STREETS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

#[test]
fn what_was_acknowledged_is_delivered_or_both_ends_know() {
    let mut complete = 0;
    for seed in 1..=seeds() {
        let end = upload(seed, true, Custody::UntilAcknowledged, Duration::from_secs(3));
        assert_ne!(end, End::Lie, "seed {seed}");
        complete += u64::from(end == End::Complete);
    }
    println!("{complete} of {} uploads completed, in the others both ends learnt of it", seeds());
}

#[test]
fn deaths_of_neighbours_alone_cost_no_upload() {
    for seed in 1..=seeds() {
        let end = upload(seed, false, Custody::UntilAcknowledged, Duration::from_secs(3));
        assert_eq!(end, End::Complete, "seed {seed}");
    }
}

/// The null case: copies go with the schedule, and nobody watches. The same search must find it.
#[test]
fn copies_that_go_with_the_schedule_are_found_to_lie() {
    let hour = Duration::from_secs(3600);
    let lies = (1..=seeds()).filter(|s| upload(*s, false, Custody::UntilScheduled, hour) == End::Lie).count();
    assert!(lies > 0, "the test cannot see a lie");
    println!("{lies} of {} uploads were acknowledged and lost", seeds());
}

#[test]
fn a_neighbour_that_was_away_for_long_comes_back() {
    let mut street = Street::new(Spec::new(7, 2e6, u64::MAX >> 8));
    street.switch(2, false, Time::from_secs(8));
    street.switch(2, true, Time::from_secs(14));
    street.run_until(Time::from_secs(14));
    let before = street.receiver.next;
    street.run_until(Time::from_secs(25));
    assert_eq!((street.sender.reset, street.receiver.reset), (None, None), "{before}");
    let rate = (street.receiver.next - before) as f64 * 8.0 / 11.0;
    assert!(rate > 0.9 * 7.0 * 1.9e6, "{rate}");
}
