//! A gateway under load.

use core::time::Duration;

use super::super::*;
use super::pair::{Judged, Pair, accept, hello, here, index};
use ropewalk_time::Time;

/// The cookie a gateway under load asks for.
fn challenge(pair: &mut Pair, init: &[u8], now: Time) -> Vec<u8> {
    match pair.handle_from(init, here(), now) {
        Judged::Cookie(cookie) => cookie,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cookie_lets_in() {
    let mut pair = Pair::under_load();
    let mut initiator = pair.start(&hello());
    let cookie = challenge(&mut pair, initiator.datagram(), Time::ZERO);
    assert_eq!(cookie.len(), COOKIE_LEN);
    let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap().to_vec();
    let (response, _) = pair.incoming(&init).accept(accept(), index(1)).unwrap();
    assert!(matches!(initiator.finish(&response), Ok(Outcome::Accepted(..))));
}

#[test]
fn a_cookie_serves_the_next_handshake_while_it_is_fresh() {
    let mut pair = Pair::under_load();
    let mut first = pair.start(&hello());
    let cookie = challenge(&mut pair, first.datagram(), Time::ZERO);
    first.handle_cookie(&cookie, Time::ZERO).unwrap();
    let cookie = first.cookie().cloned();
    assert!(cookie.is_some());
    // The rate is one a second, so each of these finds the gateway under load after its first INIT.
    for (seconds, good) in [(1, true), (119, true), (120, false)] {
        let now = Time::ZERO + Duration::from_secs(seconds);
        let flood = pair.start(&hello());
        pair.handle_from(flood.datagram(), here(), now);
        let (gateway, hello) = (pair.gateway.public(), hello());
        let next =
            Initiator::start(&mut pair.rng, &pair.client, &gateway, index(1), &hello, cookie.clone(), now);
        let verdict = pair.handle_from(next.unwrap().datagram(), here(), now);
        assert_eq!(matches!(verdict, Judged::Hello(_)), good, "{seconds} s: {verdict:?}");
    }
}

#[test]
fn a_cookie_is_good_from_its_address_and_port_only() {
    for other in ["192.0.2.7:40001", "192.0.2.8:40000", "[2001:db8::7]:40000"] {
        let mut pair = Pair::under_load();
        let mut initiator = pair.start(&hello());
        let cookie = challenge(&mut pair, initiator.datagram(), Time::ZERO);
        let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap();
        let other = other.parse().unwrap();
        let verdict = pair.handle_from(init, other, Time::ZERO);
        assert!(matches!(verdict, Judged::Cookie(_)), "{verdict:?}");
        // The same address as an IPv6 socket shows it.
        let mapped = "[::ffff:192.0.2.7]:40000".parse().unwrap();
        let verdict = pair.handle_from(init, mapped, Time::ZERO);
        assert!(matches!(verdict, Judged::Hello(_)), "{verdict:?}");
    }
}

#[test]
fn a_cookie_outlives_one_change_of_the_secret_and_not_two() {
    let mut pair = Pair::under_load();
    let mut initiator = pair.start(&hello());
    let cookie = challenge(&mut pair, initiator.datagram(), Time::ZERO);
    let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap().to_vec();
    for (seconds, good) in [(130, true), (250, false)] {
        let now = Time::ZERO + Duration::from_secs(seconds);
        let flood = pair.start(&hello());
        // The first takes the one free place, the second sees the load and changes the secret.
        for _ in 0..2 {
            pair.handle_from(flood.datagram(), here(), now);
        }
        let verdict = pair.handle_from(&init, here(), now);
        assert_eq!(matches!(verdict, Judged::Hello(_)), good, "{seconds} s: {verdict:?}");
    }
}

#[test]
fn damaged_cookies_are_not_taken() {
    let mut pair = Pair::under_load();
    let mut initiator = pair.start(&hello());
    let cookie = challenge(&mut pair, initiator.datagram(), Time::ZERO);
    let before = initiator.datagram().to_vec();
    for at in 0..cookie.len() {
        for bit in 0..8 {
            let mut damaged = cookie.clone();
            damaged[at] ^= 1 << bit;
            assert!(initiator.handle_cookie(&damaged, Time::ZERO).is_err(), "byte {at}");
        }
        assert!(initiator.handle_cookie(&cookie[..at], Time::ZERO).is_err(), "cut at {at}");
    }
    assert_eq!(initiator.datagram(), before);
    assert!(initiator.handle_cookie(&cookie, Time::ZERO).is_ok());
}

#[test]
fn one_cookie_per_init() {
    let mut pair = Pair::under_load();
    let mut initiator = pair.start(&hello());
    let init = initiator.datagram().to_vec();
    let (first, second) = (challenge(&mut pair, &init, Time::ZERO), challenge(&mut pair, &init, Time::ZERO));
    assert_ne!(first, second);
    assert!(initiator.handle_cookie(&first, Time::ZERO).is_ok());
    for again in [first, second] {
        assert_eq!(initiator.handle_cookie(&again, Time::ZERO).err(), Some(HandshakeError::NotOurs));
    }
    // When the INIT is sent again, the address may be another one and need another cookie.
    initiator.retry(&mut pair.rng, Time::ZERO).unwrap();
    let third = challenge(&mut pair, &init, Time::ZERO);
    assert!(initiator.handle_cookie(&third, Time::ZERO).is_ok());
}

#[test]
fn one_source_with_a_cookie_gets_its_share_and_no_more() {
    let config = ResponderConfig { handshakes_per_second: 100, burst: 100, per_source_per_second: 5 };
    let mut pair = Pair::with(&config);
    let flood = pair.start(&hello());
    for _ in 0..100 {
        pair.incoming(flood.datagram());
    }
    let mut initiator = pair.start(&hello());
    let cookie = challenge(&mut pair, initiator.datagram(), Time::ZERO);
    let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap().to_vec();
    for _ in 0..5 {
        pair.incoming(&init);
    }
    assert!(matches!(pair.handle(&init), Judged::Drop(DropReason::Busy)));
}

#[test]
fn the_engine_can_ask_one_client_for_a_cookie() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let incoming = pair.incoming(initiator.datagram());
    assert!(!incoming.proven());
    let cookie = pair.responder.challenge(&mut pair.rng, &incoming, here(), Time::ZERO);
    let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap().to_vec();
    assert!(pair.incoming(&init).proven());
    let elsewhere = "198.51.100.1:9".parse().unwrap();
    let verdict = pair.handle_from(&init, elsewhere, Time::ZERO);
    assert!(matches!(verdict, Judged::Hello(incoming) if !incoming.proven()));
}

/// The client's INIT as somebody sends it who saw it on its way and has a cookie for `from`.
fn copied(pair: &mut Pair, init: &[u8], from: std::net::SocketAddr) -> Vec<u8> {
    let (keys, own) = (mac::MacKeys::of(&pair.gateway.public()), pair.start(&hello()));
    let incoming = pair.incoming(own.datagram());
    let cookie = pair.responder.challenge(&mut pair.rng, &incoming, from, Time::ZERO);
    let mac1 = wire::InitView::parse(own.datagram()).unwrap().mac1;
    let cookie = keys.open_cookie(&wire::CookieView::parse(&cookie).unwrap(), mac1).unwrap();
    let under = &init[..init.len() - 16];
    [under, &mac::mac2(&cookie, under)].concat()
}

/// Judges an INIT, and leaves one that is read to be answered.
fn judge(pair: &mut Pair, init: &[u8], from: std::net::SocketAddr) -> Verdict {
    pair.responder.handle(&mut pair.rng, init, from, Backlog::default(), Time::ZERO)
}

fn again(pair: &mut Pair, init: &[u8], from: std::net::SocketAddr) -> Vec<u8> {
    match judge(pair, init, from) {
        Verdict::Again(answer) => answer,
        other => panic!("{other:?}"),
    }
}

/// What a replayer's network was answered is not the client's answer: its keys go when he asks
/// again.
#[test]
fn who_is_first_with_a_copy_and_a_cookie_of_his_own_does_not_take_the_clients_place() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let there = "203.0.113.9:9".parse().unwrap();
    let copy = copied(&mut pair, initiator.datagram(), there);
    let Verdict::Read(his) = judge(&mut pair, &copy, there) else { panic!("it is new") };
    let waiting = judge(&mut pair, initiator.datagram(), here());
    assert!(matches!(waiting, Verdict::Cookie(_)), "{waiting:?}");
    pair.responder.remember(his.tag(), b"his", Time::ZERO);

    let Verdict::Cookie(cookie) = judge(&mut pair, initiator.datagram(), here()) else { panic!() };
    let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap().to_vec();
    let Verdict::Read(own) = judge(&mut pair, &init, here()) else {
        panic!("the client's copy is read, too")
    };
    assert_ne!(own.tag(), his.tag());
    pair.responder.remember(own.tag(), b"own", Time::ZERO);
    assert_eq!(again(&mut pair, &init, here()), b"own");
    assert_eq!(again(&mut pair, &copy, there), b"his");
}

/// The null case: an answer that was made for nobody is for every copy.
#[test]
fn copies_without_a_cookie_share_their_answer() {
    let mut pair = Pair::new();
    let (initiator, there) = (pair.start(&hello()), "203.0.113.9:9".parse().unwrap());
    let copy = copied(&mut pair, initiator.datagram(), there);
    let Verdict::Read(own) = judge(&mut pair, initiator.datagram(), here()) else { panic!("it is new") };
    let waiting = judge(&mut pair, initiator.datagram(), there);
    assert!(matches!(waiting, Verdict::Wait(tag) if tag == own.tag()), "{waiting:?}");
    pair.responder.remember(own.tag(), b"own", Time::ZERO);
    for (init, from) in [(initiator.datagram(), there), (initiator.datagram(), here()), (&copy[..], there)] {
        assert_eq!(again(&mut pair, init, from), b"own");
    }
}
