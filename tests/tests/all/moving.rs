//! A client that goes from one gateway to another of the same key, as in a fleet.

use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::api::Event;
use ropewalk_bond::config::Config;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, udp};
use ropewalk_time::Duration;

fn started() -> Pair {
    let link = LinkSpec::new(20.0, Duration::from_millis(10));
    let mut p = Pair::new(&[link.clone(), link], Config::default(), 11);
    p.run_for(Duration::from_millis(1500));
    assert_eq!(connections(&p), 1);
    p
}

fn connections(p: &Pair) -> usize {
    p.events.iter().filter(|e| matches!(e.2, Event::Connected(_))).count()
}

fn send(p: &mut Pair, number: u32) {
    p.device(End::Client, &udp(End::Client, 8, number, 500), Vnet::default());
}

#[test]
fn who_asks_again_is_at_the_other_gateway_after_a_round_trip() {
    for asks in [false, true] {
        let mut p = started();
        // The other gateway is the only one that answers from now on.
        p.restart_gateway();
        if asks {
            p.client.ask_again(p.now);
            p.poll(End::Client);
        }
        p.run_for(Duration::from_millis(100));
        assert_eq!(connections(&p), 1 + usize::from(asks));
        p.at_gateway.clear();
        send(&mut p, 1);
        p.run_for(Duration::from_millis(50));
        assert_eq!(p.at_gateway.len(), usize::from(asks), "a packet by the other gateway");
    }
}

#[test]
fn a_session_whose_gateway_answers_first_goes_on() {
    let mut p = started();
    p.client.ask_again(p.now);
    p.poll(End::Client);
    for n in 0..50 {
        send(&mut p, n);
        p.run_for(Duration::from_millis(10));
    }
    p.run_for(Duration::from_millis(100));
    assert_eq!((connections(&p), p.at_gateway.len()), (1, 50));
}

#[test]
fn a_client_that_is_dismissed_is_told_and_comes_again() {
    let mut p = started();
    let client = p.gateway.status(p.now).peers[0].key;
    p.gateway.dismiss(&client, "elsewhere");
    p.poll(End::Gateway);
    p.run_for(Duration::from_millis(50));
    assert!(p.events.iter().any(|e| e.2 == Event::Dismissed));
    assert!(!p.events.iter().any(|e| matches!(e.2, Event::Refused(_))), "it may come in");
    p.run_for(Duration::from_millis(1000));
    assert_eq!(connections(&p), 2);
    p.gateway.dismiss_all("drained");
    p.poll(End::Gateway);
    assert_eq!(p.gateway.status(p.now).peers.len(), 0);
    let down =
        |why: &str| p.events.iter().any(|e| matches!(e.2, Event::ClientDown { why: w, .. } if w == why));
    assert!(down("elsewhere") && down("drained"));
}
