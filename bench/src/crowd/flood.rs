//! Handshakes of many clients at once, and nothing after them.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ropewalk_lab::Namespace;
use ropewalk_session::{CipherSet, ClientHello, Extensions, Index, Initiator, Outcome, StaticKey, Token};
use ropewalk_time::Time;

use super::source;

/// Handshakes under way at once: enough to keep a gateway busy, few enough for its socket's buffer.
const AT_ONCE: usize = 32;
/// How long is waited for an answer before the same INIT is sent again.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often an INIT is sent at most.
const TRIES: u32 = 8;

/// Does one handshake for each token, each from its own address, up to the gateway's RESPONSE; gives how many it
/// accepted. The keys are new, so the invites must not have been used.
///
/// # Errors
/// If a socket cannot be made.
pub fn flood(namespace: &Namespace, tokens: &[Token], gateway: SocketAddr) -> Result<usize> {
    let mut callers = namespace.run(|| {
        let one = |(number, token)| Caller::new(number, token, gateway);
        tokens.iter().enumerate().map(one).collect::<Result<Vec<_>>>()
    })??;
    let mut accepted = 0;
    for group in callers.chunks_mut(AT_ONCE) {
        for caller in group.iter() {
            caller.socket.send(caller.initiator.datagram())?;
        }
        for caller in group {
            accepted += usize::from(caller.finish()?);
        }
    }
    Ok(accepted)
}

struct Caller {
    socket: UdpSocket,
    initiator: Initiator,
    start: Instant,
}

impl Caller {
    fn new(number: usize, token: &Token, gateway: SocketAddr) -> Result<Caller> {
        let socket = UdpSocket::bind(source(number)).context("cannot bind a client's address")?;
        socket.connect(gateway)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut rng = rand::rng();
        let key = StaticKey::generate(&mut rng)?;
        let index = Index::new(number as u32).context("too many clients")?;
        let hello = hello(token);
        let initiator = Initiator::start(&mut rng, &key, &token.gateway, index, &hello, None, Time::ZERO)?;
        Ok(Caller { socket, initiator, start: Instant::now() })
    }

    /// Waits for the answer, repeats and proves the address where needed.
    fn finish(&mut self) -> Result<bool> {
        let mut datagram = [0; 2048];
        for _ in 0..TRIES {
            while let Ok(len) = self.socket.recv(&mut datagram) {
                match self.initiator.finish(&datagram[..len]) {
                    Ok(Outcome::Accepted(..)) => return Ok(true),
                    Ok(Outcome::Refused(refusal)) => ensure!(refusal.is_temporary(), "refused: {refusal}"),
                    Err(_) => {
                        let now = self.now();
                        if let Ok(again) = self.initiator.handle_cookie(&datagram[..len], now) {
                            self.socket.send(again)?;
                        }
                    }
                }
            }
            let now = self.now();
            self.socket.send(self.initiator.retry(&mut rand::rng(), now)?)?;
        }
        Ok(false)
    }

    fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }
}

/// What a client of this token says first.
pub(super) fn hello(token: &Token) -> ClientHello {
    ClientHello {
        ciphers: CipherSet::BOTH,
        tun_mtu: 1420,
        resume: None,
        invite: token.invite,
        secret: token.secret.clone(),
        extensions: Extensions::default(),
    }
}
