//! One of the crowd.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result};
use rand::RngCore;
use ropewalk_bond::api::{EVERYWHERE, Event, Input, Output, PathSpec};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_session::{CipherSet, StaticKey, Token};
use ropewalk_time::Time;

/// A client that carries nothing needs room for little.
const MEMORY_BYTES: usize = 256 << 10;
const RECORDS: usize = 128;
const IN_FLIGHT: usize = 128;

/// An engine, its socket, and when it wants to be called.
pub(super) struct Client {
    pub socket: UdpSocket,
    engine: Engine,
    /// When its next timer is due, since the crowd's beginning.
    pub due: Duration,
    /// It is in.
    pub connected: bool,
    /// Why it is not let in.
    pub refused: Option<String>,
}

impl Client {
    pub(super) fn new(source: SocketAddr, token: &Token, gateway: SocketAddr) -> Result<Client> {
        let socket = UdpSocket::bind(source).with_context(|| format!("cannot bind {source}"))?;
        socket.set_nonblocking(true)?;
        let config = Config {
            memory_bytes: MEMORY_BYTES,
            max_packets: RECORDS,
            in_flight: IN_FLIGHT,
            queue_bytes: MEMORY_BYTES as u64,
            ..Config::default()
        };
        let (mut seed, mut rng) = ([0; 32], rand::rng());
        rng.fill_bytes(&mut seed);
        let client = ClientConfig {
            key: StaticKey::generate(&mut rng)?,
            gateway: token.gateway,
            invite: token.invite,
            secret: token.secret.clone(),
            ciphers: CipherSet::of_this_cpu(),
            routes: EVERYWHERE.to_vec(),
        };
        let mut engine = Engine::client(config, client, Entropy::repeatable(seed), Time::ZERO);
        let route = Route { link: 0, remote: gateway, local: None };
        let path = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
        engine.add_path(path, Time::ZERO).context("the engine takes no path")?;
        Ok(Client { socket, engine, due: Duration::ZERO, connected: false, refused: None })
    }

    /// Its timer is due.
    pub(super) fn on_time(&mut self, now: Duration) {
        self.engine.handle(Input::Timeout, time(now));
        self.poll(now);
    }

    /// Its socket has something.
    pub(super) fn on_readable(&mut self, now: Duration) {
        let mut datagram = [0; 2048];
        while let Ok((len, remote)) = self.socket.recv_from(&mut datagram) {
            let bytes = &mut datagram[..len];
            let input = Input::Datagrams { link: 0, remote, local: None, segment: len, bytes, ecn: 0 };
            self.engine.handle(input, time(now));
            self.poll(now);
        }
    }

    fn poll(&mut self, now: Duration) {
        loop {
            match self.engine.poll_output(time(now)) {
                Output::Transmit(t) => {
                    for datagram in t.bytes.chunks(t.segment.max(1)) {
                        // What the kernel does not take is lost, as on any network.
                        let _ = self.socket.send_to(datagram, t.route.remote);
                    }
                }
                Output::Deliver { .. } => {}
                Output::Event(Event::Connected(_)) => self.connected = true,
                Output::Event(Event::Refused(refusal)) => self.refused = Some(refusal.to_string()),
                Output::Event(_) => {}
                Output::Timeout(at, _) => {
                    self.due = Duration::from_nanos(at.as_nanos());
                    return;
                }
            }
        }
    }
}

fn time(now: Duration) -> Time {
    Time::from_nanos(now.as_nanos() as u64)
}
