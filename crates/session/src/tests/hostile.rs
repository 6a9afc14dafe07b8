//! A network that damages, cuts, replays and invents datagrams.

use proptest::prelude::*;

use super::super::*;
use super::pair::{Judged, Pair, accept, hello, index, talks};
use ropewalk_time::Time;

#[test]
fn an_init_damaged_at_any_byte_is_dropped() {
    let mut pair = Pair::new();
    let init = pair.start(&hello()).datagram().to_vec();
    let mac2 = init.len() - 16;
    for at in 0..init.len() {
        let mut damaged = init.clone();
        damaged[at] ^= 0x40;
        let verdict = pair.handle(&damaged);
        if at < mac2 {
            assert!(matches!(verdict, Judged::Drop(_)), "byte {at}: {verdict:?}");
        } else {
            // mac2 counts under load only.
            assert!(matches!(verdict, Judged::Hello(_)), "byte {at}: {verdict:?}");
        }
    }
}

/// Who knows the gateway's public key can make a right mac1; Noise has to notice then.
#[test]
fn an_init_damaged_under_a_right_mac1_is_dropped() {
    let mut pair = Pair::new();
    let init = pair.start(&hello()).datagram().to_vec();
    let keys = mac::MacKeys::of(&pair.gateway.public());
    for at in 1..init.len() - 32 {
        let mut damaged = init.clone();
        damaged[at] ^= 0x04;
        let mac1 = keys.mac1(&damaged[..init.len() - 32]);
        damaged[init.len() - 32..init.len() - 16].copy_from_slice(&mac1);
        let verdict = pair.handle(&damaged);
        assert!(matches!(verdict, Judged::Drop(DropReason::Forged)), "byte {at}: {verdict:?}");
    }
}

#[test]
fn an_init_of_another_length_is_dropped() {
    let mut pair = Pair::new();
    let init = pair.start(&hello()).datagram().to_vec();
    for len in 0..init.len() {
        assert!(matches!(pair.handle(&init[..len]), Judged::Drop(DropReason::Malformed)), "cut at {len}");
    }
    for more in [1, 100, 780] {
        let longer = [&init[..], &vec![0; more]].concat();
        assert!(matches!(pair.handle(&longer), Judged::Drop(DropReason::Mac)), "{more} more");
    }
    let longer = [&init[..], &[0; 781]].concat();
    assert!(matches!(pair.handle(&longer), Judged::Drop(DropReason::Malformed)));
}

#[test]
fn a_damaged_response_is_dropped_and_the_right_one_still_counts() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let (response, there) = pair.incoming(initiator.datagram()).accept(accept(), index(1)).unwrap();
    for at in 0..response.len() {
        let mut damaged = response.clone();
        damaged[at] ^= 0x10;
        assert!(initiator.finish(&damaged).is_err(), "byte {at}");
        assert!(initiator.finish(&response[..at]).is_err(), "cut at {at}");
    }
    // With a right mac1, which needs the client's public key, damage reaches Noise.
    let keys = mac::MacKeys::of(&pair.client.public());
    for at in 7..response.len() - 16 {
        let mut damaged = response.clone();
        damaged[at] ^= 0x10;
        let (covered, found) = damaged.split_last_chunk_mut::<16>().unwrap();
        *found = keys.mac1(covered);
        assert_eq!(initiator.finish(&damaged).err(), Some(HandshakeError::Forged), "byte {at}");
    }
    let Outcome::Accepted(_, here) = initiator.finish(&response).unwrap() else { panic!() };
    assert!(talks(&here.into_ends().0, &there.into_ends().1));
    assert_eq!(initiator.finish(&response).err(), Some(HandshakeError::NotOurs), "once is enough");
}

/// The sender index of a RESPONSE is under mac1 only, which an insider could make: it must not lead to keys that work.
#[test]
fn a_changed_index_does_not_lead_to_working_keys() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let (mut response, there) = pair.incoming(initiator.datagram()).accept(accept(), index(1)).unwrap();
    response[6] = 2;
    let (covered, found) = response.split_last_chunk_mut::<16>().unwrap();
    *found = mac::MacKeys::of(&pair.client.public()).mac1(covered);
    let Outcome::Accepted(_, here) = initiator.finish(&response).unwrap() else { panic!() };
    assert!(!talks(&here.into_ends().0, &there.into_ends().1));
}

#[test]
fn a_replayed_init_leads_to_keys_nobody_has() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let init = initiator.datagram().to_vec();
    let (response, there) = pair.incoming(&init).accept(accept(), index(1)).unwrap();
    let Outcome::Accepted(_, here) = initiator.finish(&response).unwrap() else { panic!() };
    // Nothing was remembered, so the replay passes: its keys are others, and the client's do not fit them.
    let (second, pending) = pair.incoming(&init).accept(accept(), index(2)).unwrap();
    assert_ne!(response, second);
    let sealer = here.into_ends().0;
    assert!(!talks(&sealer, &pending.into_ends().1));
    assert!(talks(&sealer, &there.into_ends().1));
}

#[test]
fn no_answer_is_longer_than_its_question() {
    let mut largest = accept();
    assert!(largest.extensions.push(1, &[0; 255]));
    while largest.extensions.as_bytes().len() < SERVER_HELLO_MAX - 58 {
        let left = SERVER_HELLO_MAX - 58 - largest.extensions.as_bytes().len();
        assert!(largest.extensions.push(1, &vec![0; left - 2]));
    }
    let mut pair = Pair::new();
    let initiator = pair.start(&hello());
    let (response, _) = pair.incoming(initiator.datagram()).accept(largest, index(1)).unwrap();
    assert_eq!(response.len(), RESPONSE_MAX);
    assert!(response.len() <= initiator.datagram().len());
}

proptest! {
    #[test]
    fn any_datagram_is_taken(mut bytes in prop::collection::vec(any::<u8>(), 0..1300), kind in 0u8..5, ours: bool) {
        let mut pair = Pair::new();
        let mut initiator = pair.start(&hello());
        if let Some(head) = bytes.first_chunk_mut::<4>() {
            *head = [kind << 4, 0xc1, 0x1e, 0x47];
        }
        if let (true, Some((covered, found))) = (ours, bytes.split_last_chunk_mut::<16>()) {
            *found = mac::MacKeys::of(&pair.client.public()).mac1(covered);
        }
        prop_assert!(matches!(pair.handle(&bytes), Judged::Drop(_)));
        prop_assert!(initiator.finish(&bytes).is_err());
        prop_assert!(initiator.handle_cookie(&bytes, Time::ZERO).is_err());
    }

    #[test]
    fn any_greeting_is_taken(mut bytes in prop::collection::vec(0u8..4, 0..400)) {
        if let Some(version) = bytes.first_mut() {
            *version = PROTOCOL_VERSION;
        }
        if let Ok(hello) = ClientHello::decode(&bytes)
            && let Ok(encoded) = hello.encode()
        {
            prop_assert_eq!(ClientHello::decode(&encoded), Ok(hello));
        }
        if let Ok(hello) = ServerHello::decode(&bytes)
            && let Ok(encoded) = hello.encode()
        {
            prop_assert_eq!(ServerHello::decode(&encoded), Ok(hello));
        }
    }
}
