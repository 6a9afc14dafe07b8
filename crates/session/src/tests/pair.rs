//! A client and a gateway with fixed keys, for the tests around it.

use std::net::SocketAddr;

use rand_chacha::{ChaCha12Rng, rand_core::SeedableRng};

use super::super::*;
use ropewalk_time::Time;

/// Where the client sends from.
pub(super) const HERE: &str = "192.0.2.7:40000";
pub(super) const CLIENT_INDEX: u32 = 0x00c1_1e47;
pub(super) const GATEWAY_INDEX: u32 = 0x006a_7e3a;

pub(super) fn here() -> SocketAddr {
    HERE.parse().unwrap()
}

pub(super) fn index(value: u32) -> Index {
    Index::new(value).unwrap()
}

pub(super) fn hello() -> ClientHello {
    ClientHello {
        ciphers: CipherSet::BOTH,
        tun_mtu: 1420,
        resume: None,
        invite: InviteId([0x11; 16]),
        secret: InviteSecret([0x22; 16]),
        extensions: Extensions::default(),
    }
}

pub(super) fn accept() -> Accept {
    Accept {
        session: SessionId::new(0x0102_0304_0506_0708).unwrap(),
        cipher: Cipher::Aes128Gcm,
        tun_mtu: 1400,
        ipv4: Inner { client: [10, 77, 0, 2].into(), gateway: [10, 77, 0, 1].into(), prefix: 24 },
        ipv6: Some(Inner {
            client: "fd77::2".parse().unwrap(),
            gateway: "fd77::1".parse().unwrap(),
            prefix: 64,
        }),
        extensions: Extensions::default(),
    }
}

/// What became of an INIT.
#[derive(Debug)]
pub(super) enum Judged {
    Drop(DropReason),
    Cookie(Vec<u8>),
    Again(Vec<u8>),
    Wait,
    Hello(Incoming),
}

/// Both ends and their source of randomness.
pub(super) struct Pair {
    pub(super) rng: ChaCha12Rng,
    pub(super) client: StaticKey,
    pub(super) gateway: StaticKey,
    pub(super) responder: Responder,
}

impl Pair {
    pub(super) fn new() -> Pair {
        Pair::with(&ResponderConfig::default())
    }

    pub(super) fn with(config: &ResponderConfig) -> Pair {
        let mut rng = ChaCha12Rng::seed_from_u64(42);
        let client = StaticKey::from_bytes(&[0xc1; 32]).unwrap();
        let gateway = StaticKey::from_bytes(&[0x6a; 32]).unwrap();
        let responder = Responder::new(&mut rng, gateway.clone(), config, Time::ZERO);
        Pair { rng, client, gateway, responder }
    }

    /// A gateway that asks for a cookie from the second INIT on.
    pub(super) fn under_load() -> Pair {
        let config = ResponderConfig { handshakes_per_second: 1, burst: 1, ..ResponderConfig::default() };
        let mut pair = Pair::with(&config);
        let first = pair.start(&hello());
        pair.incoming(first.datagram());
        pair
    }

    pub(super) fn start(&mut self, hello: &ClientHello) -> Initiator {
        let gateway = self.gateway.public();
        let index = index(CLIENT_INDEX);
        Initiator::start(&mut self.rng, &self.client, &gateway, index, hello, None, Time::ZERO).unwrap()
    }

    pub(super) fn handle(&mut self, datagram: &[u8]) -> Judged {
        self.handle_from(datagram, here(), Time::ZERO)
    }

    /// Judges an INIT and, where it may be, reads it; a copy of it is then read again.
    pub(super) fn handle_from(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Judged {
        match self.responder.handle(&mut self.rng, datagram, from, Backlog::default(), now) {
            Verdict::Drop(reason) => Judged::Drop(reason),
            Verdict::Cookie(bytes) => Judged::Cookie(bytes),
            Verdict::Again(bytes) => Judged::Again(bytes),
            Verdict::Wait(_) => Judged::Wait,
            Verdict::Read(reading) => {
                self.responder.forget(reading.tag());
                reading.run().map_or_else(Judged::Drop, Judged::Hello)
            }
        }
    }

    pub(super) fn incoming(&mut self, datagram: &[u8]) -> Incoming {
        match self.handle(datagram) {
            Judged::Hello(incoming) => incoming,
            other => panic!("{other:?}"),
        }
    }

    /// A whole handshake: the keys of client and gateway.
    pub(super) fn handshake(&mut self, accept: Accept) -> (SessionKeys, SessionKeys) {
        let mut initiator = self.start(&hello());
        let incoming = self.incoming(initiator.datagram());
        let (response, gateway_keys) = incoming.accept(accept, index(GATEWAY_INDEX)).unwrap();
        match initiator.finish(&response).unwrap() {
            Outcome::Accepted(_, keys) => (keys, gateway_keys),
            Outcome::Refused(refusal) => panic!("{refusal}"),
        }
    }
}

/// Seals at one end, opens at the other; whether the same came out.
pub(super) fn talks(sealer: &Sealer, opener: &Opener) -> bool {
    let text = b"one packet";
    let mut buf = [&text[..], &[0; TAG_LEN]].concat();
    sealer.seal(1, 7, b"header", &mut buf).unwrap();
    opener.open(1, 7, b"header", &mut buf).is_ok_and(|opened| opened == text)
}
