//! One of the crowd.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result};
use rand::RngCore;
use ropewalk_bond::api::{EVERYWHERE, Event, Input, Output, PathSpec};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_session::{CipherSet, StaticKey, Token};
use ropewalk_time::Time;

/// A client that carries 1 Mb/s at most needs room for little.
const MEMORY_BYTES: usize = 256 << 10;
const RECORDS: usize = 128;
const IN_FLIGHT: usize = 128;

/// An engine, its socket, and when it wants to be called.
pub(super) struct Client {
    pub socket: UdpSocket,
    engine: Engine,
    who: ClientConfig,
    gateway: SocketAddr,
    /// When its next timer is due, since the crowd's beginning.
    pub due: Duration,
    /// Its inner address once it is in.
    pub inside: Option<Ipv4Addr>,
    /// Why it is not let in.
    pub refused: Option<String>,
}

impl Client {
    pub(super) fn new(source: SocketAddr, token: &Token, gateway: SocketAddr) -> Result<Client> {
        let socket = UdpSocket::bind(source).with_context(|| format!("cannot bind {source}"))?;
        socket.set_nonblocking(true)?;
        let who = ClientConfig {
            key: StaticKey::generate(&mut rand::rng())?,
            gateway: token.gateway,
            invite: token.invite,
            secret: token.secret.clone(),
            ciphers: CipherSet::of_this_cpu(),
            routes: EVERYWHERE.to_vec(),
        };
        let engine = engine(who.clone(), gateway, Time::ZERO)?;
        Ok(Client { socket, engine, who, gateway, due: Duration::ZERO, inside: None, refused: None })
    }

    /// It knows no more than its key and its token, and begins anew.
    pub(super) fn come_back(&mut self, now: Duration) -> Result<()> {
        self.engine = engine(self.who.clone(), self.gateway, time(now))?;
        (self.due, self.inside) = (now, None);
        Ok(())
    }

    /// Its device has a packet.
    pub(super) fn send(&mut self, packet: &[u8], now: Duration) {
        self.engine.handle(Input::Device { device: 0, vnet: Vnet::default(), packet }, time(now));
        self.poll(now);
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
                Output::Event(Event::Connected(accept)) => self.inside = Some(accept.ipv4.client),
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

fn engine(who: ClientConfig, gateway: SocketAddr, now: Time) -> Result<Engine> {
    let config = Config {
        memory_bytes: MEMORY_BYTES,
        max_packets: RECORDS,
        in_flight: IN_FLIGHT,
        queue_bytes: MEMORY_BYTES as u64,
        ..Config::default()
    };
    let mut seed = [0; 32];
    rand::rng().fill_bytes(&mut seed);
    let mut engine = Engine::client(config, who, Entropy::repeatable(seed), now);
    let route = Route { link: 0, remote: gateway, local: None };
    let path = PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 };
    engine.add_path(path, now).context("the engine takes no path")?;
    Ok(engine)
}

fn time(now: Duration) -> Time {
    Time::from_nanos(now.as_nanos() as u64)
}
