//! The engine alone: handshakes of a gateway without a socket, a disk or a kernel.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ropewalk_bond::api::{Admission, Input, Output, Registry};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::Engine;
use ropewalk_bond::entropy::Entropy;
use ropewalk_session::{
    ClientHello, Endpoint, Index, Initiator, Inner, InviteId, InviteSecret, PublicKey, Refusal,
    ResponderConfig, StaticKey, Token,
};
use ropewalk_time::Time;

use super::INSIDE;
use super::flood::hello;

const ROUNDS: usize = 5;

/// Lets everybody in, each under an address of its own.
struct Anybody(u32);

impl Registry for Anybody {
    fn admit(&mut self, _: &PublicKey, _: &ClientHello) -> Result<Admission, Refusal> {
        self.0 += 1;
        let client = Ipv4Addr::from(u32::from(INSIDE) + self.0);
        Ok(Admission {
            ipv4: Inner { client, gateway: INSIDE, prefix: 16 },
            ipv6: None,
            networks: Vec::new(),
            device: 0,
        })
    }
}

/// Handshakes per second of one core, from INIT to RESPONSE: the best of several rounds of `count` clients that are
/// unknown before.
///
/// # Errors
/// If a key cannot be made, or the engine does not answer each INIT.
pub fn handshakes_per_second(count: u32) -> Result<f64> {
    let key = StaticKey::generate(&mut rand::rng())?;
    let endpoint: Endpoint = "192.0.2.1:4500".parse()?;
    let token = Token::new(key.public(), InviteId([1; 16]), InviteSecret([2; 16]), vec![endpoint])?;
    let inits = (0..count).map(|n| init(&token, n)).collect::<Result<Vec<_>>>()?;
    let rounds = (0..ROUNDS).map(|_| round(&key, &inits)).collect::<Result<Vec<_>>>()?;
    let best = rounds.into_iter().min().unwrap_or(Duration::MAX);
    Ok(f64::from(count) / best.as_secs_f64())
}

fn init(token: &Token, number: u32) -> Result<Vec<u8>> {
    let mut rng = rand::rng();
    let (key, index) = (StaticKey::generate(&mut rng)?, Index::new(number).unwrap_or_default());
    let initiator = Initiator::start(&mut rng, &key, &token.gateway, index, &hello(token), None, Time::ZERO)?;
    Ok(initiator.datagram().to_vec())
}

/// How long a new gateway takes to answer all of `inits`.
fn round(key: &StaticKey, inits: &[Vec<u8>]) -> Result<Duration> {
    let limit = u32::MAX;
    let responder =
        ResponderConfig { handshakes_per_second: limit, burst: limit, per_source_per_second: limit };
    let config = Config { responder, max_peers: inits.len() + 1, ..Config::default() };
    let inside = vec![INSIDE.into()];
    let mut gateway = Engine::gateway(
        config,
        key.clone(),
        inside,
        Box::new(Anybody(0)),
        Entropy::repeatable([7; 32]),
        Time::ZERO,
    );
    let mut inits = inits.to_vec();
    let (begin, mut answers) = (Instant::now(), 0);
    for (number, bytes) in (0u32..).zip(&mut inits) {
        let remote = SocketAddr::from((Ipv4Addr::from(0x0a02_0000 + number), 4500));
        let now = Time::ZERO + begin.elapsed();
        let segment = bytes.len();
        gateway.handle(Input::Datagrams { link: 0, remote, local: None, segment, bytes, ecn: 0 }, now);
        loop {
            match gateway.poll_output(now) {
                Output::Transmit(_) => answers += 1,
                Output::Timeout(..) => break,
                _ => {}
            }
        }
    }
    let took = begin.elapsed();
    ensure!(answers >= inits.len(), "the engine answered {answers} of {} handshakes", inits.len());
    Ok(took)
}
