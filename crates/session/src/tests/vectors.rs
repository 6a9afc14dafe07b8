//! Test vectors for a second implementation: `docs/protocol.md` includes the file that this test compares with.
//! After an intended change of the protocol write it anew:
//! `ROPEWALK_WRITE_VECTORS=1 cargo test -p ropewalk-session tests::vectors`

use std::fmt::Write as _;

use super::super::*;
use super::pair::{GATEWAY_INDEX, Judged, Pair, accept, hello, here, index};
use ropewalk_time::Time;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/vectors.txt");

/// One named value, 32 bytes a line.
fn put(out: &mut String, name: &str, bytes: &[u8]) {
    writeln!(out, "{name} ({} bytes)", bytes.len()).unwrap();
    for line in bytes.chunks(32) {
        let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "  {hex}").unwrap();
    }
}

fn ephemeral(rng_before: &rand_chacha::ChaCha12Rng) -> StaticKey {
    StaticKey::generate(&mut rng_before.clone()).unwrap()
}

fn put_key(out: &mut String, name: &str, key: &StaticKey) {
    put(out, &format!("{name} secret"), key.pair().secret());
    put(out, &format!("{name} public"), key.public().as_bytes());
}

fn put_direction(out: &mut String, name: &str, direction: &schedule::DirectionKey) {
    put(out, &format!("{name} key"), direction.key());
    put(out, &format!("{name} iv"), direction.iv());
}

fn handshake(out: &mut String) -> SessionKeys {
    let mut pair = Pair::new();
    put_key(out, "client static", &pair.client);
    put_key(out, "gateway static", &pair.gateway);
    put_key(out, "client ephemeral", &ephemeral(&pair.rng));
    put(out, "client hello", &hello().encode().unwrap());
    let mut initiator = pair.start(&hello());
    put(out, "INIT without cookie", initiator.datagram());
    put_key(out, "gateway ephemeral", &ephemeral(&pair.rng));
    put(out, "gateway hello", &ServerHello::Accept(accept()).encode().unwrap());
    let (response, there) =
        pair.incoming(initiator.datagram()).accept(accept(), index(GATEWAY_INDEX)).unwrap();
    put(out, "RESPONSE", &response);
    let Outcome::Accepted(_, keys) = initiator.finish(&response).unwrap() else { panic!() };
    put_direction(out, "client to gateway", &keys.send);
    put_direction(out, "gateway to client", &there.send);
    keys
}

fn cookie(out: &mut String) {
    let mut pair = Pair::under_load();
    let mut initiator = pair.start(&hello());
    let verdict = pair.handle_from(initiator.datagram(), here(), Time::ZERO);
    let Judged::Cookie(cookie) = verdict else { panic!() };
    put(out, "INIT that a gateway under load gets", initiator.datagram());
    put(out, "COOKIE", &cookie);
    let init = initiator.handle_cookie(&cookie, Time::ZERO).unwrap();
    put(out, "the end of the INIT with that cookie: mac1, mac2", &init[init.len() - 32..]);
}

fn vectors() -> String {
    let mut out = String::new();
    writeln!(out, "{NOISE_NAME}, prologue \"ropewalk 1\" and the first 4 bytes of the INIT").unwrap();
    let keys = handshake(&mut out);
    cookie(&mut out);
    let aad = [0x43, 0x6a, 0x7e, 0x3a, 0, 0, 0, 1];
    let text = *b"hemp, wound to the right";
    let mut sealed = [&text[..], &[0; TAG_LEN]].concat();
    keys.into_ends().0.seal(3, 0x1_0000_0001, &aad, &mut sealed).unwrap();
    put(&mut out, "sealing, client to gateway, path 3, packet number 0x100000001: associated data", &aad);
    put(&mut out, "plaintext", &text);
    put(&mut out, "ciphertext and tag", &sealed);
    let endpoints = vec!["gw.example.org:4500".parse().unwrap(), "[2001:db8::1]:4500".parse().unwrap()];
    let gateway = StaticKey::from_bytes(&[0x6a; 32]).unwrap().public();
    let token = Token::new(gateway, InviteId([0x11; 16]), InviteSecret([0x22; 16]), endpoints).unwrap();
    let endpoints: Vec<_> = token.endpoints().iter().map(ToString::to_string).collect();
    writeln!(out, "token for {}\n  {}", endpoints.join(" and "), *token.to_text()).unwrap();
    let token = token.with_tls(["192.0.2.1:443".parse().unwrap()]);
    writeln!(out, "the same, with 192.0.2.1:443 by TLS\n  {}", *token.to_text()).unwrap();
    out
}

#[test]
fn the_protocol_is_still_the_published_one() {
    let now = vectors();
    if std::env::var_os("ROPEWALK_WRITE_VECTORS").is_some() {
        std::fs::write(FILE, &now).unwrap();
    }
    let published = std::fs::read_to_string(FILE).unwrap();
    assert!(published == now, "the wire format has changed:\n{now}");
}
