//! Keys for unit tests, as a handshake between two ends with fixed secrets leaves them.

use crate::entropy::Entropy;
use ropewalk_session::{
    Accept, Backlog, Cipher, CipherSet, ClientHello, Extensions, Index, Initiator, Inner, InviteId,
    InviteSecret, Opener, Outcome, Responder, ResponderConfig, Sealer, SessionId, SessionKeys, StaticKey,
    Verdict,
};
use ropewalk_time::Time;

/// The keys of client and gateway, each of which knows them by its index.
fn handshake(cipher: Cipher, client_index: u32) -> (SessionKeys, SessionKeys) {
    let mut entropy = Entropy::repeatable([42; 32]);
    let [client, gateway] = [0xc1, 0x6a].map(|byte| StaticKey::from_bytes(&[byte; 32]).unwrap());
    let hello = ClientHello {
        ciphers: CipherSet::BOTH,
        tun_mtu: 1420,
        resume: None,
        invite: InviteId([0x11; 16]),
        secret: InviteSecret([0x22; 16]),
        extensions: Extensions::default(),
    };
    let accept = Accept {
        session: SessionId::new(1).unwrap(),
        cipher,
        tun_mtu: 1400,
        ipv4: Inner { client: [10, 77, 0, 2].into(), gateway: [10, 77, 0, 1].into(), prefix: 24 },
        ipv6: None,
        extensions: Extensions::default(),
    };
    let index = |of| Index::new(of).unwrap();
    let (server, from) = (gateway.public(), "192.0.2.7:40000".parse().unwrap());
    let mut responder = Responder::new(&mut entropy, gateway, &ResponderConfig::default(), Time::ZERO);
    let mut initiator =
        Initiator::start(&mut entropy, &client, &server, index(client_index), &hello, None, Time::ZERO)
            .unwrap();
    let asked = responder.handle(&mut entropy, initiator.datagram(), from, Backlog::default(), Time::ZERO);
    let Verdict::Read(reading) = asked else { panic!("{asked:?}") };
    let (response, there) = reading.run().unwrap().accept(accept, index(7)).unwrap();
    match initiator.finish(&response).unwrap() {
        Outcome::Accepted(_, here) => (here, there),
        Outcome::Refused(refusal) => panic!("{refusal}"),
    }
}

/// What seals at one end and opens at the other.
pub(crate) fn ends(cipher: Cipher) -> (Sealer, Opener) {
    let (here, there) = handshake(cipher, 1);
    (here.into_ends().0, there.into_ends().1)
}

/// Keys that this end knows by `index`.
pub(crate) fn session_keys(cipher: Cipher, index: u32) -> SessionKeys {
    handshake(cipher, index).0
}
