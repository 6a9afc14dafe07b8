//! A peer that holds real keys and does with them what it likes.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use ropewalk_bond::api::{Input, Output};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Engine;
use ropewalk_bond::wire::{HEADER, Header, TAG, TIMESTAMP, Timestamp};
use ropewalk_session::{
    Accept, Backlog, Cipher, CipherSet, ClientHello, Extensions, Index, Initiator, Inner, InviteId,
    InviteSecret, Opener, Outcome, Responder, ResponderConfig, Sealer, SessionId, SessionKeys, StaticKey,
    Verdict,
};
use ropewalk_time::Time;
use std::net::SocketAddr;

/// Keys of a session, and where each path's numbers stand.
pub(super) struct Rogue {
    sealer: Sealer,
    opener: Opener,
    remote: Index,
    /// Next number to seal with, by path.
    pub next: [u64; 16],
    /// Highest number heard, by path.
    pub heard: [u32; 16],
}

/// A small engine: the bounds are soon met.
pub(super) fn small() -> Config {
    Config {
        memory_bytes: 2 << 20,
        max_packets: 512,
        queue_bytes: 256 << 10,
        in_flight: 256,
        ..Config::default()
    }
}

impl Rogue {
    fn new(keys: SessionKeys) -> Rogue {
        let remote = keys.peer_index;
        let (sealer, opener) = keys.into_ends();
        Rogue { sealer, opener, remote, next: [0; 16], heard: [0; 16] }
    }

    /// Seals `frames` as the datagram `number` of a path.
    pub(super) fn seal(&self, path: u8, number: u64, at: Timestamp, frames: &[u8]) -> Vec<u8> {
        let header = Header { path: path & 15, index: self.remote.get(), number: number as u32 };
        let mut d = Vec::with_capacity(HEADER + TIMESTAMP + frames.len() + TAG);
        d.extend_from_slice(&header.encode());
        d.extend_from_slice(&at.to_bytes());
        d.extend_from_slice(frames);
        d.extend_from_slice(&[0; TAG]);
        let (head, body) = d.split_at_mut(HEADER);
        self.sealer.seal(path & 15, number, head, body).expect("it has room for the tag");
        d
    }

    /// Opens a datagram of the engine: its path and its frames.
    pub(super) fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Option<(u8, &'a [u8])> {
        let header = Header::decode(datagram)?;
        let (head, body) = datagram.split_at_mut(HEADER);
        let plain = self.opener.open(header.path, header.number.into(), head, body).ok()?;
        let heard = &mut self.heard[header.path as usize];
        *heard = (*heard).max(header.number);
        Some((header.path, &plain[TIMESTAMP..]))
    }

    /// Comes in as a client. `resume`: renews the keys of this session.
    pub(super) fn join(
        gateway: &mut Engine,
        key: &StaticKey,
        from: SocketAddr,
        resume: Option<SessionId>,
        now: Time,
    ) -> Option<(Rogue, SessionId)> {
        let mut rng = ChaCha12Rng::seed_from_u64(now.as_nanos());
        let hello = ClientHello {
            ciphers: CipherSet::CHACHA,
            tun_mtu: 1420,
            resume,
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            extensions: Extensions::default(),
        };
        let index = Index::new(rng.random_range(1..Index::MAX)).expect("24 bits");
        let mut i =
            Initiator::start(&mut rng, &client_key(), &key.public(), index, &hello, None, now).ok()?;
        let mut init = i.datagram().to_vec();
        let segment = init.len();
        gateway.handle(
            Input::Datagrams { link: 0, remote: from, local: None, segment, bytes: &mut init, ecn: 0 },
            now,
        );
        let mut joined = None;
        for _ in 0..1000 {
            match gateway.poll_output(now) {
                Output::Transmit(t) => match i.finish(t.bytes) {
                    Ok(Outcome::Accepted(a, keys)) => joined = Some((Rogue::new(keys), a.session)),
                    _ => continue,
                },
                Output::Timeout(..) => return joined,
                _ => {}
            }
        }
        panic!("poll_output does not end");
    }

    /// Answers the INIT of a client as its gateway would: the RESPONSE, and the keys.
    pub(super) fn answer(
        key: &StaticKey,
        init: &[u8],
        session: SessionId,
        now: Time,
    ) -> Option<(Vec<u8>, Rogue)> {
        let mut rng = ChaCha12Rng::seed_from_u64(now.as_nanos());
        let mut responder = Responder::new(&mut rng, key.clone(), &ResponderConfig::default(), now);
        let from = SocketAddr::from(([192, 0, 2, 9], 1));
        let verdict = responder.handle(&mut rng, init, from, Backlog::default(), now);
        let Verdict::Read(reading) = verdict else { return None };
        let incoming = reading.run().ok()?;
        let accept = Accept {
            session,
            cipher: Cipher::ChaCha20Poly1305,
            tun_mtu: 1420,
            ipv4: Inner { client: [10, 77, 0, 2].into(), gateway: [10, 77, 0, 1].into(), prefix: 24 },
            ipv6: None,
            extensions: Extensions::default(),
        };
        let index = Index::new(rng.random_range(1..Index::MAX)).expect("24 bits");
        let (response, keys) = incoming.accept(accept, index).ok()?;
        Some((response, Rogue::new(keys)))
    }
}

/// The key of the client in all targets.
pub(super) fn client_key() -> StaticKey {
    StaticKey::from_bytes(&[0xc1; 32]).expect("any bytes are a key")
}

/// The key of the gateway in all targets.
pub(super) fn gateway_key() -> StaticKey {
    StaticKey::from_bytes(&[0x6a; 32]).expect("any bytes are a key")
}
