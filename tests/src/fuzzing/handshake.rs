//! Tokens and handshakes: damaged, forged, replayed and out of turn, at both ends.

use super::Feed;
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use ropewalk_session::{
    Accept, Backlog, Cipher, CipherSet, ClientHello, Extensions, Index, Initiator, Inner, InviteId,
    InviteSecret, Outcome, Refusal, Responder, ResponderConfig, SessionId, StaticKey, Token, Verdict,
};
use ropewalk_time::{Duration, Time};
use std::net::SocketAddr;

/// Datagrams kept for being sent again.
const KEPT: usize = 8;

struct Rig {
    rng: ChaCha12Rng,
    gateway: StaticKey,
    responder: Responder,
    initiator: Option<Initiator>,
    now: Time,
    /// What either end said lately.
    said: Vec<Vec<u8>>,
}

/// Operations.
pub(super) fn target(data: &[u8]) {
    let mut feed = Feed::new(data);
    if feed.u8() & 7 == 0 {
        return token(feed.bytes(usize::MAX));
    }
    let mut rng = ChaCha12Rng::seed_from_u64(7);
    let gateway = StaticKey::from_bytes(&[0x6a; 32]).expect("any bytes are a key");
    let now = Time::from_millis(1000);
    let config = ResponderConfig { handshakes_per_second: 2, burst: 3, per_source_per_second: 2 };
    let responder = Responder::new(&mut rng, gateway.clone(), &config, now);
    let mut rig = Rig { rng, gateway, responder, initiator: None, now, said: Vec::new() };
    for _ in 0..32 {
        if feed.is_empty() {
            return;
        }
        rig.step(&mut feed);
    }
}

/// A token that is read is written the same way again.
fn token(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(token) = text.parse::<Token>() {
        let again: Token = token.to_text().parse().expect("a token that was written can be read");
        assert_eq!(token, again);
    }
}

impl Rig {
    fn step(&mut self, feed: &mut Feed<'_>) {
        match feed.u8() % 6 {
            0 => self.now += Duration::from_micros(feed.scaled(28)),
            1 => self.start(feed),
            2 => {
                let i = self
                    .initiator
                    .as_mut()
                    .and_then(|i| i.retry(&mut self.rng, self.now).ok().map(<[u8]>::to_vec));
                self.keep(i);
            }
            3 => {
                let raw = feed.short().to_vec();
                self.hand_to_gateway(&raw, feed.u8());
                self.hand_to_client(&raw);
            }
            _ => {
                let (which, what, place) = (feed.u8(), feed.u8(), feed.u16());
                let Some(mut d) = self.said.get(which as usize % KEPT).cloned() else { return };
                damage(&mut d, what, place);
                if what & 8 == 0 { self.hand_to_gateway(&d, what >> 4) } else { self.hand_to_client(&d) }
            }
        }
    }

    fn start(&mut self, feed: &mut Feed<'_>) {
        let key = StaticKey::from_bytes(&[feed.u8() & 1; 32]).expect("any bytes are a key");
        let mut extensions = Extensions::default();
        let (kind, value) = (feed.u8(), feed.short());
        let _ = extensions.push(kind, value);
        let hello = ClientHello {
            ciphers: CipherSet::BOTH,
            tun_mtu: feed.u16(),
            resume: SessionId::new(feed.u8().into()),
            invite: InviteId([1; 16]),
            secret: InviteSecret([2; 16]),
            extensions,
        };
        let index = Index::new(feed.u16().into()).expect("under 24 bits");
        self.initiator =
            Initiator::start(&mut self.rng, &key, &self.gateway.public(), index, &hello, None, self.now).ok();
        let init = self.initiator.as_ref().map(|i| i.datagram().to_vec());
        self.keep(init);
    }

    fn keep(&mut self, datagram: Option<Vec<u8>>) {
        if let Some(d) = datagram {
            self.said.insert(0, d);
            self.said.truncate(KEPT);
        }
    }

    fn hand_to_gateway(&mut self, datagram: &[u8], from: u8) {
        let backlog = Backlog { proven: 0, unproven: usize::from(from & 8) << 7 };
        let from = SocketAddr::from(([192, 0, 2, from], 4000));
        let answer = match self.responder.handle(&mut self.rng, datagram, from, backlog, self.now) {
            Verdict::Drop(_) | Verdict::Wait(_) => return,
            Verdict::Cookie(b) | Verdict::Again(b) => b,
            Verdict::Read(reading) => {
                let Ok(incoming) = reading.run() else { return };
                let tag = incoming.tag();
                let answer = match datagram[datagram.len() - 1] & 3 {
                    0 => incoming.refuse(Refusal::Busy),
                    1 => Ok(self.responder.challenge(&mut self.rng, &incoming, from, self.now)),
                    _ => incoming.accept(accept(), Index::new(77).expect("under 24 bits")).map(|a| a.0),
                };
                let Ok(answer) = answer else { return };
                self.responder.remember(tag, &answer, self.now);
                answer
            }
        };
        assert!(answer.len() <= datagram.len(), "{} bytes drew {}", datagram.len(), answer.len());
        self.keep(Some(answer));
    }

    fn hand_to_client(&mut self, datagram: &[u8]) {
        let Some(i) = &mut self.initiator else { return };
        let again = i.handle_cookie(datagram, self.now).ok().map(<[u8]>::to_vec);
        let over = matches!(i.finish(datagram), Ok(Outcome::Accepted(..) | Outcome::Refused(_)));
        if over {
            self.initiator = None;
        }
        self.keep(again);
    }
}

fn damage(d: &mut Vec<u8>, what: u8, place: u16) {
    let at = place as usize % d.len().max(1);
    match what & 7 {
        0 => d.truncate(at),
        1 => d[at] ^= what | 1,
        2 => d.push(what),
        3 if at + 4 < d.len() => d[at..at + 4].fill(0xff),
        _ => {}
    }
    if d.is_empty() {
        d.push(0);
    }
}

fn accept() -> Accept {
    Accept {
        session: SessionId::new(5).expect("not zero"),
        cipher: Cipher::ChaCha20Poly1305,
        tun_mtu: 1400,
        ipv4: Inner { client: [10, 77, 0, 2].into(), gateway: [10, 77, 0, 1].into(), prefix: 24 },
        ipv6: None,
        extensions: Extensions::default(),
    }
}
