//! A connection at a gateway's port: first anybody's, then an access point's tunnel.

use super::hello;
use super::listen::Listener;
use super::record::{Broken, Channel, Frames, Records, framed};
use super::tunnel::Tunnel;
use super::words::{Neighbour, Word};
use crate::daemon::entropy;
use crate::gateway::SharedClients;
use ipnet::Ipv4Net;
use rand::Rng;
use ropewalk_bond::api::Registry;
use ropewalk_bunch::Time;
use ropewalk_net::clock;
use ropewalk_net::poll::Interest;
use ropewalk_session::{
    Accept, Backlog, CipherSet, Extensions, INIT_MAX, Incoming, PublicKey, Refusal, Responder, SessionId,
    Verdict,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// INITs on one connection: the first, and the one with a cookie.
const INITS: u8 = 2;

/// Whose tunnel it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// The number of its account.
    pub who: u64,
    pub key: PublicKey,
    /// What its senders are called here.
    pub address: Ipv4Addr,
}

/// The number of somebody's account.
pub(super) fn account_of(key: &PublicKey) -> u64 {
    key.0.first_chunk().map_or(0, |b| u64::from_be_bytes(*b))
}

/// What came by a connection.
pub(super) enum Event {
    /// The access point is who it says.
    Up(Member),
    /// A record of it.
    Record(Channel, Vec<u8>),
}

enum Phase {
    Greeting {
        stream: TcpStream,
        frames: Frames,
        inits: u8,
    },
    /// The tunnel, and whether a record of it has opened.
    Tunnel(Box<Tunnel>, Member, bool),
    Over,
}

/// A connection.
pub(super) struct Conn {
    pub remote: SocketAddr,
    pub since: Time,
    phase: Phase,
    /// The network that it shares with neighbours, with its own address, and its port there.
    pub lan: Option<(Ipv4Net, u16)>,
    /// These neighbours: their connection, and what the access point is told of them.
    pub neighbours: Vec<(u32, Neighbour)>,
    /// Packets and bytes that its contributor had carried before this tunnel.
    pub carried: (u64, u64),
    /// It overhears.
    pub listener: Option<Listener>,
    interest: Interest,
    broken: Option<Broken>,
}

impl Conn {
    pub(super) fn new(stream: TcpStream, remote: SocketAddr, now: Time) -> Conn {
        Conn {
            remote,
            since: now,
            phase: Phase::Greeting { stream, frames: Frames::default(), inits: 0 },
            lan: None,
            neighbours: Vec::new(),
            carried: (0, 0),
            listener: None,
            interest: Interest::Read,
            broken: None,
        }
    }

    /// It is an access point's for sure.
    pub(super) fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Tunnel(_, _, true))
    }

    pub(super) fn member(&self) -> Option<Member> {
        match &self.phase {
            Phase::Tunnel(_, member, true) => Some(*member),
            _ => None,
        }
    }

    /// Whom it was let in for: also while no record of it has opened yet.
    pub(super) fn is_of(&self, is_one: impl Fn(&PublicKey) -> bool) -> bool {
        matches!(&self.phase, Phase::Tunnel(_, member, _) if is_one(&member.key))
    }

    pub(super) fn address(&self) -> Option<Ipv4Addr> {
        self.member().map(|m| m.address)
    }

    fn tunnel(&mut self) -> Option<&mut Tunnel> {
        match &mut self.phase {
            Phase::Tunnel(tunnel, _, true) => Some(tunnel),
            _ => None,
        }
    }

    pub(super) fn timeout(&self, greeting: Duration) -> Option<Time> {
        match &self.phase {
            Phase::Tunnel(tunnel, _, true) => tunnel.flush_at(),
            _ => Some(self.since + greeting),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], now: Time) {
        self.tunnel().into_iter().for_each(|t| t.write(bytes, now));
    }

    pub(super) fn packet(&mut self, packet: &[u8]) {
        let outcome = self.tunnel().map(|t| t.packet(packet));
        self.broken = self.broken.take().or(outcome.and_then(Result::err));
    }

    pub(super) fn say(&mut self, word: &Word) {
        let outcome = self.tunnel().map(|t| t.say(word));
        self.broken = self.broken.take().or(outcome.and_then(Result::err));
    }

    /// Writes what is due; the error says why the connection has to end.
    pub(super) fn flush(&mut self, now: Time) -> Result<(), String> {
        if let Some(broken) = self.broken.take() {
            return Err(broken.to_string());
        }
        self.tunnel().map_or(Ok(()), |t| t.flush(now)).map_err(|e| e.to_string())
    }

    /// What it is to be watched for from now on, if that is something else than before.
    pub(super) fn changed_interest(&mut self) -> Option<Interest> {
        let waits = self.tunnel().is_some_and(|t| t.waits());
        let interest = if waits { Interest::ReadWrite } else { Interest::Read };
        (std::mem::replace(&mut self.interest, interest) != interest).then_some(interest)
    }

    /// Ends it. One that never was a tunnel may still have a refusal on its way.
    pub(super) fn abort(self) {
        if let Phase::Tunnel(tunnel, _, true) = self.phase {
            tunnel.abort();
        }
    }

    /// Takes what has come; the error says why the connection has to end.
    pub(super) fn read(
        &mut self,
        responder: &mut Responder,
        clients: &mut SharedClients,
        buffer: u64,
    ) -> Result<Vec<Event>, String> {
        if matches!(self.phase, Phase::Greeting { .. }) {
            self.greet(responder, clients, buffer)?;
        }
        let Phase::Tunnel(tunnel, member, up) = &mut self.phase else { return Ok(Vec::new()) };
        let records = tunnel.read().map_err(|e| e.to_string())?;
        let first = !records.is_empty() && !std::mem::replace(up, *up || !records.is_empty());
        let came = first.then_some(Event::Up(*member));
        let records = records.into_iter().map(|(channel, payload)| Event::Record(channel, payload));
        Ok(came.into_iter().chain(records).collect())
    }

    fn greet(
        &mut self,
        responder: &mut Responder,
        clients: &mut SharedClients,
        buffer: u64,
    ) -> Result<(), String> {
        let Phase::Greeting { stream, frames, inits } = &mut self.phase else { return Ok(()) };
        let mut part = [0; 2048];
        match stream.read(&mut part) {
            Ok(0) => return Err("it has closed the connection".into()),
            Ok(n) => frames.push(&part[..n]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
            Err(e) => return Err(e.to_string()),
        }
        let Some(init) = frames.next(INIT_MAX).map_err(|e| e.to_string())? else { return Ok(()) };
        *inits += 1;
        if *inits > INITS {
            return Err("it greets again and again".into());
        }
        let now = clock::now();
        match responder.handle(&mut entropy(), &init, self.remote, Backlog::default(), now) {
            Verdict::Drop(reason) => Err(reason.to_string()),
            Verdict::Cookie(cookie) => write(stream, &cookie),
            Verdict::Again(_) | Verdict::Wait(_) => Err("its greeting came before".into()),
            Verdict::Read(reading) => {
                let tag = reading.tag();
                let incoming = reading.run().map_err(|reason| {
                    responder.forget(tag);
                    reason.to_string()
                })?;
                self.let_in(incoming, responder, clients, buffer)
            }
        }
    }

    fn let_in(
        &mut self,
        incoming: Incoming,
        responder: &mut Responder,
        clients: &mut SharedClients,
        buffer: u64,
    ) -> Result<(), String> {
        let Phase::Greeting { stream, frames, .. } = std::mem::replace(&mut self.phase, Phase::Over) else {
            return Ok(());
        };
        let (mut stream, key, now) = (stream, incoming.client(), clock::now());
        let hello = incoming.hello().cloned();
        if hello.as_ref().is_ok_and(|hello| !clients.is_ready(&key, hello)) {
            // The store is asked meanwhile, and the next greeting is another.
            responder.forget(incoming.tag());
            return refuse(&mut stream, incoming, Refusal::Busy, responder);
        }
        let admitted = hello.and_then(|hello| Ok((clients.admit(&key, &hello)?, hello)));
        let (admission, hello) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => return refuse(&mut stream, incoming, refusal, responder),
        };
        let session: SessionId = NonZeroU64::new(entropy().random()).unwrap_or(NonZeroU64::MIN);
        let accept = Accept {
            session,
            cipher: hello.ciphers.choose(CipherSet::of_this_cpu()),
            tun_mtu: 1500,
            ipv4: admission.ipv4,
            ipv6: None,
            extensions: Extensions::default(),
        };
        let tag = incoming.tag();
        let (response, keys) = incoming.accept(accept, hello::index()).map_err(|e| e.to_string())?;
        responder.remember(tag, &response, now);
        write(&mut stream, &response)?;
        let tunnel = Tunnel::new(stream, frames, Records::new(keys), buffer, false);
        let tunnel = Box::new(tunnel.map_err(|e| e.to_string())?);
        let who = account_of(&key);
        self.phase = Phase::Tunnel(tunnel, Member { who, key, address: admission.ipv4.client }, false);
        Ok(())
    }
}

/// Says no, if that may be said at all, and ends the connection.
fn refuse(
    stream: &mut TcpStream,
    incoming: Incoming,
    refusal: Refusal,
    responder: &mut Responder,
) -> Result<(), String> {
    if responder.may_refuse(clock::now()) {
        let answer = incoming.refuse(refusal).map_err(|e| e.to_string())?;
        write(stream, &answer)?;
    }
    Err(refusal.to_string())
}

/// An answer is short: what the kernel does not take at once goes to somebody who takes nothing.
fn write(stream: &mut TcpStream, answer: &[u8]) -> Result<(), String> {
    stream.write_all(&framed(answer)).map_err(|e| e.to_string())
}

impl AsFd for Conn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.phase {
            Phase::Greeting { stream, .. } => stream.as_fd(),
            Phase::Tunnel(tunnel, ..) => tunnel.as_fd(),
            Phase::Over => unreachable!("it is dropped at once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::pool::Pool;
    use crate::state::tests::Scratch;
    use ropewalk_session::{InviteId, InviteSecret, ResponderConfig, StaticKey, Token};
    use std::net::TcpListener;

    /// It may be revoked before it says anything.
    #[test]
    fn who_was_let_in_and_says_nothing_is_found_by_its_key() {
        let scratch = Scratch::new();
        let pool = Pool::new(&["10.78.0.1/24".parse().unwrap()]).unwrap();
        let mut clients = SharedClients::open(&scratch.0, pool).unwrap();
        let [gateway, device] = [0, 1].map(|_| StaticKey::generate(&mut entropy()).unwrap());
        let (invite, secret) = (InviteId([1; 16]), InviteSecret([2; 16]));
        clients.invite("anna", invite, &secret).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = listener.local_addr().unwrap().to_string().parse().unwrap();
        let token = Token::new(gateway.public(), invite, secret, vec![endpoint]).unwrap();
        let key = device.clone();
        let near = std::thread::spawn(move || hello::dial(&token, &key, None, 0));
        let (stream, remote) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut conn = Conn::new(stream, remote, Time::ZERO);
        let config = ResponderConfig::default();
        let mut responder = Responder::new(&mut entropy(), gateway, &config, clock::now());
        while !conn.is_of(|key| *key == device.public()) {
            assert!(conn.read(&mut responder, &mut clients, 1 << 20).unwrap().is_empty());
            std::thread::sleep(Duration::from_millis(1));
        }
        let _dialled = near.join().unwrap().unwrap();
        assert!(conn.member().is_none() && !conn.is_of(|key| *key != device.public()));
    }
}
