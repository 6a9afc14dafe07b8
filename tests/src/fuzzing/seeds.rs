//! Inputs to begin with: one of each kind by hand, and op lists drawn from a seeded generator.

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_bond::vnet::Vnet;
use ropewalk_bond::wire::{AckFrame, AirEntry, AirFrame, Header, PathStatus, TAG, Timestamp, Writer};
use ropewalk_session::{Endpoint, InviteId, InviteSecret, StaticKey, Token};

/// All seeds: target, name, bytes.
pub fn all() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut out =
        vec![("handshake", "token".to_owned(), token()), ("frames", "one-of-each".to_owned(), frames())];
    // A packet that asks for low delay and fits no datagram with its offload header.
    out.push(("network", "large-urgent".to_owned(), vec![1, 0, 0, 0xb9, 0, 11, 0, 0, 0, 144, 14, 31]));
    out.push(("network", "replay-across-sessions".to_owned(), replay_across_sessions()));
    for n in 0..6 {
        out.push(("inner", format!("random-{n}"), inner(n)));
        out.push(("ethernet", format!("tags-{n}"), ethernet(n)));
        for target in ["handshake", "order", "gateway", "client", "network"] {
            out.push((target, format!("random-{n}"), operations(target, n)));
        }
    }
    out
}

/// The gateway sends packets of a datagram each, is restarted and found again; then its last datagrams come once more.
fn replay_across_sessions() -> Vec<u8> {
    let (send, settle, restart) = ([0x80, 0, 2, 7, 10, 0, 0, 1, 0xff], [14, 31], [0x1f]);
    let mut out = vec![0];
    (0..10).for_each(|_| out.extend(send.iter().chain(&settle)));
    out.extend(restart);
    (0..6).for_each(|_| out.extend(settle));
    (0..64).for_each(|which| out.extend([0x2f, which]));
    out
}

fn operations(target: &str, n: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(n ^ u64::from(target.as_bytes()[0]) << 8);
    let mut bytes = vec![0; 100 + 150 * n as usize];
    rng.fill_bytes(&mut bytes);
    // Choices are often small.
    bytes.iter_mut().filter(|_| rng.random_bool(0.4)).for_each(|b| *b &= 15);
    if target == "handshake" {
        bytes[..4].copy_from_slice(&[1, 1, 0, 9]);
    }
    bytes
}

fn inner(n: u64) -> Vec<u8> {
    let mut out = vec![1 | (n as u8) << 2 | (n as u8) << 6, 5, 0x64];
    out.extend_from_slice(&Vnet { flags: 1, gso_type: 1, gso_size: 1400, ..Vnet::default() }.to_wire());
    out.extend_from_slice(&[2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 1, 1][..n as usize * 2]);
    if n == 0 {
        out[0] = 0;
        out.extend_from_slice(&crate::pair::udp(crate::pair::End::Client, 9, 1, 60));
    }
    out
}

/// A SYN behind 0 to 2 tags over IPv4 and IPv6: see `ethernet::frame`.
fn ethernet(n: u64) -> Vec<u8> {
    let mut out = vec![1 | (n as u8 % 3) << 1 | (n as u8 / 3) << 3 | 0x40, 5, 0x64];
    out.extend_from_slice(&Vnet { flags: 1, gso_type: 1, gso_size: 1400, ..Vnet::default() }.to_wire());
    out.extend_from_slice(&[2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 1, 1]);
    out
}

fn token() -> Vec<u8> {
    let key = StaticKey::from_bytes(&[3; 32]).expect("any bytes are a key").public();
    let endpoints: Vec<Endpoint> = ["192.0.2.1:4500", "[2001:db8::1]:1", "gw.example.org:99"]
        .iter()
        .map(|s| s.parse().expect("an endpoint"))
        .collect();
    let token =
        Token::new(key, InviteId([1; 16]), InviteSecret([2; 16]), endpoints).expect("three endpoints");
    let mut out = vec![0];
    out.extend_from_slice(token.to_text().as_bytes());
    out
}

fn frames() -> Vec<u8> {
    let mut out = [0; 600];
    let mut w = Writer::new(&mut out, Header { path: 1, index: 2, number: 3 }, Timestamp::default());
    let mut ack = AckFrame { largest: 9, ..AckFrame::default() };
    ack.ranges.extend([(0, 3), (2, 4)]);
    let vnet = Vnet { flags: 1, gso_type: 1, ..Vnet::default() };
    let _ = w.ping() && w.ack(&ack) && w.challenge(1) && w.response(2) && w.close(3) && w.skip(4, 5, true);
    w.status(&PathStatus { path: 1, seq: 2, state: 3, mtu: 1400 });
    let entry = |path| AirEntry { path, channel: 6, packet_time: 125 };
    w.air(&AirFrame { seq: 3, paths: (0..2).map(entry).collect() });
    w.fragment(7, 8, 0, 50, &vnet, true, &[1; 50]);
    w.fragment(7, 9, 0, 500, &vnet, false, &[2; 60]);
    w.fragment(7, 9, 60, 500, &vnet, false, &[3; 70]);
    let end = w.len() + TAG;
    out[..end].to_vec()
}
