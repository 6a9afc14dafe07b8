//! The handshake of a tunnel: that of the bond (crate `session`), its datagrams as frames of a TCP
//! connection.

use super::record::{Frames, framed};
use crate::daemon::entropy;
use anyhow::Context;
use rand::Rng;
use ropewalk_net::patience::ReadUntil;
use ropewalk_net::{clock, stream};
use ropewalk_session::{
    Accept, CipherSet, ClientHello, Endpoint, Extensions, Host, Index, Initiator, MessageType, Outcome,
    RESPONSE_MAX, Refusal, SessionKeys, StaticKey, Token,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a gateway may take to answer, at each step.
const PATIENCE: Duration = Duration::from_secs(5);
/// Answers that are none before a gateway is given up.
const ANSWERS: usize = 4;

/// A connection to a gateway that has let us in.
pub(super) struct Dialled {
    pub stream: TcpStream,
    pub frames: Frames,
    pub keys: SessionKeys,
    pub accept: Accept,
    pub remote: SocketAddr,
    /// Which of the token's endpoints it is.
    pub endpoint: usize,
}

/// An index that is nobody else's: there is one session for each connection.
pub(super) fn index() -> Index {
    Index::new(entropy_u32() & Index::MAX).unwrap_or_default()
}

fn entropy_u32() -> u32 {
    entropy().random()
}

/// Connects to the first of the token's endpoints that lets us in: the one at `first` and those
/// after it, each once. A refusal by the true gateway ends the search, unless it may pass: another
/// gateway of a fleet may have room.
pub(super) fn dial(
    token: &Token,
    key: &StaticKey,
    device: Option<&str>,
    first: usize,
) -> anyhow::Result<Dialled> {
    let mut last = anyhow::anyhow!("the token names no endpoint");
    let endpoints = token.endpoints();
    for endpoint in (0..endpoints.len()).map(|n| (first + n) % endpoints.len()) {
        let addresses = match resolve(&endpoints[endpoint]) {
            Ok(addresses) => addresses,
            Err(error) => {
                last = error;
                continue;
            }
        };
        for remote in addresses {
            match greet(token, key, device, (endpoint, remote)) {
                Ok(dialled) => return Ok(dialled),
                Err(error) if error.downcast_ref::<Refusal>().is_some_and(|r| !r.is_temporary()) => {
                    return Err(error);
                }
                Err(error) => last = error.context(format!("the gateway at {remote}")),
            }
        }
    }
    Err(last)
}

fn resolve(endpoint: &Endpoint) -> anyhow::Result<Vec<SocketAddr>> {
    match &endpoint.host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, endpoint.port)]),
        Host::Name(name) => {
            let all = (name.as_str(), endpoint.port).to_socket_addrs();
            Ok(all.with_context(|| format!("nobody knows where {} is", name.as_str()))?.take(4).collect())
        }
    }
}

fn greet(
    token: &Token,
    key: &StaticKey,
    device: Option<&str>,
    (endpoint, remote): (usize, SocketAddr),
) -> anyhow::Result<Dialled> {
    let mut stream = stream::connect(remote, device, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let hello = ClientHello {
        ciphers: CipherSet::of_this_cpu(),
        tun_mtu: 1500,
        resume: None,
        invite: token.invite,
        secret: token.secret.clone(),
        extensions: Extensions::default(),
    };
    let now = clock::now();
    let mut initiator = Initiator::start(&mut entropy(), key, &token.gateway, index(), &hello, None, now)?;
    stream.write_all(&framed(initiator.datagram()))?;
    let mut frames = Frames::default();
    for _ in 0..ANSWERS {
        let answer = frame(&stream, &mut frames)?;
        match MessageType::of(&answer) {
            Some(MessageType::Cookie) => {
                let again = framed(initiator.handle_cookie(&answer, clock::now())?);
                stream.write_all(&again)?;
            }
            _ => match initiator.finish(&answer)? {
                Outcome::Accepted(accept, keys) => {
                    return Ok(Dialled { stream, frames, keys, accept, remote, endpoint });
                }
                Outcome::Refused(refusal) => return Err(refusal.into()),
            },
        }
    }
    anyhow::bail!("it asks for a cookie again and again")
}

fn frame(stream: &TcpStream, frames: &mut Frames) -> anyhow::Result<Vec<u8>> {
    let mut answer = ReadUntil::new(stream, PATIENCE);
    loop {
        if let Some(body) = frames.next(RESPONSE_MAX)? {
            return Ok(body);
        }
        let mut part = [0; 512];
        match answer.read(&mut part).context("it does not answer")? {
            0 => anyhow::bail!("it has closed the connection: is the token that of this gateway?"),
            n => frames.push(&part[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_session::{Backlog, INIT_MAX, InviteId, InviteSecret, Responder, ResponderConfig, Verdict};
    use std::net::TcpListener;
    use std::process::Command;
    use std::sync::mpsc::channel;

    /// `nft` is one, where the firewall is put back.
    #[test]
    fn a_child_that_ends_does_not_end_the_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        let waits = std::thread::spawn(move || frame(&stream, &mut Frames::default()));
        // Which thread a signal wakes is the kernel's choice, so there are several.
        for _ in 0..40 {
            Command::new("true").status().unwrap();
        }
        far.write_all(&framed(b"an answer")).unwrap();
        assert_eq!(waits.join().unwrap().unwrap(), b"an answer");
    }

    /// A gateway that refuses the first who greets it.
    fn refuse(listener: &TcpListener, key: StaticKey, refusal: Refusal, said: impl FnOnce()) {
        let (mut stream, remote) = listener.accept().unwrap();
        let mut frames = Frames::default();
        let init = loop {
            if let Some(init) = frames.next(INIT_MAX).unwrap() {
                break init;
            }
            let mut part = [0; 2048];
            let read = stream.read(&mut part).unwrap();
            frames.push(&part[..read]);
        };
        let now = clock::now();
        let mut responder = Responder::new(&mut entropy(), key, &ResponderConfig::default(), now);
        let verdict = responder.handle(&mut entropy(), &init, remote, Backlog::default(), now);
        let Verdict::Read(reading) = verdict else { panic!("it is no greeting") };
        said();
        stream.write_all(&framed(&reading.run().unwrap().refuse(refusal).unwrap())).unwrap();
    }

    #[test]
    fn endpoints_are_tried_in_turn_and_what_may_pass_does_not_end_it() {
        let [gateway, device] = [0, 1].map(|_| StaticKey::generate(&mut entropy()).unwrap());
        for (refusal, wanted) in [(Refusal::Busy, vec![1, 2, 0]), (Refusal::Revoked, vec![1])] {
            let (asked, order) = channel();
            let mut endpoints: Vec<Endpoint> = Vec::new();
            for place in 0..3 {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                endpoints.push(listener.local_addr().unwrap().to_string().parse().unwrap());
                let (key, asked) = (gateway.clone(), asked.clone());
                std::thread::spawn(move || refuse(&listener, key, refusal, || asked.send(place).unwrap()));
            }
            let (invite, secret) = (InviteId([1; 16]), InviteSecret([2; 16]));
            let token = Token::new(gateway.public(), invite, secret, endpoints).unwrap();
            let error = dial(&token, &device, None, 1).err().unwrap();
            assert_eq!(error.downcast_ref::<Refusal>(), Some(&refusal), "{error:#}");
            assert_eq!(order.try_iter().collect::<Vec<_>>(), wanted);
        }
    }
}
