//! Handshakes that go well, and those that a gateway refuses.

use rand_chacha::{ChaCha12Rng, rand_core::SeedableRng};

use super::super::*;
use super::pair::{CLIENT_INDEX, GATEWAY_INDEX, Judged, Pair, accept, hello, here, index, talks};
use ropewalk_time::Time;

#[test]
fn both_ends_learn_all_and_share_keys() {
    for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
        let mut pair = Pair::new();
        let mut initiator = pair.start(&hello());
        assert_eq!(initiator.datagram().len(), INIT_MIN);
        let incoming = pair.incoming(initiator.datagram());
        assert_eq!((incoming.client(), incoming.hello()), (pair.client.public(), Ok(&hello())));
        assert_eq!(incoming.peer_index(), index(CLIENT_INDEX));

        let accepted = Accept { cipher, ..accept() };
        let (response, there) = incoming.accept(accepted.clone(), index(GATEWAY_INDEX)).unwrap();
        assert!(response.len() <= RESPONSE_MAX);
        let Outcome::Accepted(heard, here) = initiator.finish(&response).unwrap() else { panic!() };
        assert_eq!(heard, accepted);
        assert_eq!((here.peer_index, there.peer_index), (there.local_index, here.local_index));

        let ((sealer, opener), (their_sealer, their_opener)) = (here.into_ends(), there.into_ends());
        assert!(talks(&sealer, &their_opener) && talks(&their_sealer, &opener));
        assert!(!talks(&sealer, &opener), "the two directions must not share a key");
    }
}

#[test]
fn without_ipv6_and_with_extensions() {
    let mut pair = Pair::new();
    let (mut asked, mut answered) = (hello(), Accept { ipv6: None, ..accept() });
    assert!(asked.extensions.push(77, b"from the future") && answered.extensions.push(200, &[9; 200]));
    let mut initiator = pair.start(&asked);
    let incoming = pair.incoming(initiator.datagram());
    assert_eq!(incoming.hello().unwrap().extensions.get(77), Some(&b"from the future"[..]));
    let (response, _) = incoming.accept(answered.clone(), index(1)).unwrap();
    let Outcome::Accepted(heard, _) = initiator.finish(&response).unwrap() else { panic!() };
    assert_eq!(heard, answered);
}

#[test]
fn extensions_that_do_not_fit_are_an_error() {
    let mut pair = Pair::new();
    let (mut asked, mut answered) = (hello(), accept());
    for _ in 0..2 {
        assert!(asked.extensions.push(1, &[0; 150]) && answered.extensions.push(1, &[0; 150]));
    }
    let gateway = pair.gateway.public();
    let refused = Initiator::start(&mut pair.rng, &pair.client, &gateway, index(1), &asked, None, Time::ZERO);
    assert_eq!(refused.err(), Some(HandshakeError::Hello(HelloError::TooLong)));
    let initiator = pair.start(&hello());
    let incoming = pair.incoming(initiator.datagram());
    assert_eq!(incoming.accept(answered, index(1)).err(), Some(HelloError::TooLong));
}

#[test]
fn a_renewal_names_its_session_and_has_new_keys() {
    let mut pair = Pair::new();
    let (old, old_there) = pair.handshake(accept());
    let resume = Some(accept().session);
    let initiator = pair.start(&ClientHello { resume, ..hello() });
    let incoming = pair.incoming(initiator.datagram());
    assert_eq!(incoming.hello().unwrap().resume, resume);
    let (new, new_there) = pair.handshake(accept());
    let ((old, _), (new, _)) = (old.into_ends(), new.into_ends());
    let ((_, old_there), (_, new_there)) = (old_there.into_ends(), new_there.into_ends());
    assert!(talks(&old, &old_there) && talks(&new, &new_there));
    assert!(!talks(&old, &new_there) && !talks(&new, &old_there));
}

#[test]
fn a_refusal_arrives_and_looks_like_a_yes_from_outside() {
    let no_extensions = {
        let mut pair = Pair::new();
        let initiator = pair.start(&hello());
        pair.incoming(initiator.datagram()).accept(accept(), index(1)).unwrap().0.len()
    };
    for code in 0..=255 {
        let mut pair = Pair::new();
        let mut initiator = pair.start(&hello());
        let response = pair.incoming(initiator.datagram()).refuse(Refusal::from_code(code)).unwrap();
        assert_eq!(response.len(), no_extensions);
        let outcome = initiator.finish(&response).unwrap();
        assert!(matches!(outcome, Outcome::Refused(refusal) if refusal.code() == code), "{outcome:?}");
    }
}

#[test]
fn who_asks_is_told_its_address_by_a_yes_and_a_no_of_one_length() {
    let asking = {
        let mut asking = hello();
        asking.extensions.ask_address();
        asking
    };
    // All that a gateway says besides: it is an access point.
    let backhaul = BackhaulEnd { role: BackhaulRole::AccessPoint, layer: Layer::Three, networks: Vec::new() };
    let most = Accept { extensions: Extensions::with_backhaul(Some(&backhaul)), ..accept() };
    let [v4, v6] = [here(), "[2001:db8::7]:40000".parse().unwrap()];
    let mapped = "[::ffff:192.0.2.7]:40000".parse().unwrap();
    for (from, seen) in [(v4, v4), (v6, v6), (mapped, v4)] {
        let mut pair = Pair::new();
        let (mut first, mut second) = (pair.start(&asking), pair.start(&asking));
        let mut incoming = pair.incoming(first.datagram());
        incoming.seen_at(from);
        let (yes, _) = incoming.accept(most.clone(), index(1)).unwrap();
        let mut incoming = pair.incoming(second.datagram());
        incoming.seen_at(from);
        let no = incoming.refuse(Refusal::UnknownInvite).unwrap();
        assert!(yes.len() == no.len() && no.len() <= first.datagram().len());
        assert!(matches!(first.finish(&yes), Ok(Outcome::Accepted(heard, _)) if heard.cipher == most.cipher));
        assert!(matches!(second.finish(&no), Ok(Outcome::Refused(Refusal::UnknownInvite))));
        assert_eq!((first.observed(), second.observed()), (Some(seen), Some(seen)));
    }
    // Nobody is told who does not ask, or where the gateway does not know it.
    for (hello, from) in [(hello(), Some(v4)), (asking, None)] {
        let mut pair = Pair::new();
        let mut initiator = pair.start(&hello);
        let mut incoming = pair.incoming(initiator.datagram());
        if let Some(from) = from {
            incoming.seen_at(from);
        }
        let no = incoming.refuse(Refusal::UnknownInvite).unwrap();
        assert!(initiator.finish(&no).is_ok() && initiator.observed().is_none());
        assert_eq!(no.len(), 135);
    }
}

/// Whatever a later version puts behind the code.
#[test]
fn a_refusal_is_read_with_extensions_that_are_unknown_or_broken() {
    let mut extensions = Extensions::default();
    assert!(extensions.push(200, &[9; 100]));
    let mut bytes = ServerHello::Refuse(Refusal::Busy, extensions.clone()).encode().unwrap();
    assert_eq!(ServerHello::decode(&bytes), Ok(ServerHello::Refuse(Refusal::Busy, extensions)));
    bytes.truncate(100);
    for cut in [&bytes[..], &[2, 2, 6], &[1, 2, 6, 0]] {
        let refusal = ServerHello::Refuse(Refusal::Busy, Extensions::default());
        assert_eq!(ServerHello::decode(cut), Ok(refusal));
    }
}

#[test]
fn a_gateway_with_another_key_does_not_answer() {
    let mut pair = Pair::new();
    let other = StaticKey::from_bytes(&[9; 32]).unwrap().public();
    let (hello, index) = (hello(), index(1));
    let start =
        Initiator::start(&mut pair.rng, &pair.client, &other, index, &hello, None, Time::ZERO).unwrap();
    assert!(matches!(pair.handle(start.datagram()), Judged::Drop(DropReason::Mac)));
}

#[test]
fn a_gateway_key_of_small_order_is_refused() {
    let mut pair = Pair::new();
    let (weak, hello) = (PublicKey([0; 32]), hello());
    let refused = Initiator::start(&mut pair.rng, &pair.client, &weak, index(1), &hello, None, Time::ZERO);
    assert_eq!(refused.err(), Some(HandshakeError::Key));
}

#[test]
fn a_cipher_that_was_not_offered_is_refused() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&ClientHello { ciphers: CipherSet::CHACHA, ..hello() });
    let (response, _) = pair.incoming(initiator.datagram()).accept(accept(), index(1)).unwrap();
    assert_eq!(initiator.finish(&response).err(), Some(HandshakeError::Hello(HelloError::Malformed)));
}

#[test]
fn same_seed_same_bytes() {
    let run = |seed| {
        let mut pair = Pair::new();
        pair.rng = ChaCha12Rng::seed_from_u64(seed);
        let initiator = pair.start(&hello());
        let (response, keys) = pair.incoming(initiator.datagram()).accept(accept(), index(1)).unwrap();
        let mut sealed = vec![0; 40];
        keys.into_ends().0.seal(0, 0, b"", &mut sealed).unwrap();
        (initiator.datagram().to_vec(), response, sealed)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn the_same_init_again_gets_the_same_answer_again() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let first = initiator.datagram().to_vec();
    let incoming = pair.incoming(&first);
    let tag = incoming.tag();
    let (response, there) = incoming.accept(accept(), index(1)).unwrap();
    pair.responder.remember(tag, &response, Time::ZERO);

    let later = Time::ZERO + INIT_LIFETIME - core::time::Duration::from_millis(1);
    let again = initiator.retry(&mut pair.rng, later).unwrap().to_vec();
    assert_eq!(again, first);
    let verdict = pair.handle_from(&again, here(), later);
    assert!(matches!(&verdict, Judged::Again(bytes) if *bytes == response), "{verdict:?}");
    let Outcome::Accepted(_, here) = initiator.finish(&response).unwrap() else { panic!() };
    assert!(talks(&here.into_ends().0, &there.into_ends().1));
}

#[test]
fn an_old_init_is_made_anew() {
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    let first = initiator.datagram().to_vec();
    let (late, _) = pair.incoming(&first).accept(accept(), index(1)).unwrap();
    let second = initiator.retry(&mut pair.rng, Time::ZERO + INIT_LIFETIME).unwrap().to_vec();
    assert_ne!(first[4..36], second[4..36], "the ephemeral key must be a new one");
    assert_eq!(initiator.finish(&late).err(), Some(HandshakeError::Forged));
    let (response, _) = pair.incoming(&second).accept(accept(), index(1)).unwrap();
    assert!(initiator.finish(&response).is_ok());
}

#[test]
fn a_version_not_known_is_refused_in_so_many_words() {
    use super::super::{mac::MacKeys, noise::Initiation, wire, x25519};
    let mut pair = Pair::new();
    let mut initiator = pair.start(&hello());
    // What a client of version 2 would send: the same handshake around another greeting.
    let header = [0x10, 0, 0, 9];
    let mut init = header.to_vec();
    let mut greeting = [0xee; CLIENT_HELLO_LEN];
    greeting[0] = 2;
    let (gateway, ephemeral) = (pair.gateway.public(), x25519::secret(&mut pair.rng));
    let noise = Initiation::write(&pair.client, &gateway, &header, ephemeral, &greeting, &mut init).unwrap();
    init.extend_from_slice(&MacKeys::of(&pair.gateway.public()).mac1(&init));
    init.extend_from_slice(&[0; wire::MAC_LEN]);

    let incoming = pair.incoming(&init);
    assert_eq!(incoming.hello(), Err(Refusal::Version));
    let response = incoming.refuse(Refusal::Version).unwrap();
    assert_eq!(initiator.finish(&response).err(), Some(HandshakeError::NotOurs));
    let view = wire::ResponseView::parse(&response).unwrap();
    let mut heard = [0; 400];
    let (len, _) = noise.read(view.noise, &mut heard).unwrap();
    let refusal = ServerHello::Refuse(Refusal::Version, Extensions::default());
    assert_eq!(ServerHello::decode(&heard[..len]), Ok(refusal));
}
