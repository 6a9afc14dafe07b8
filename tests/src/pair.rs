//! Two engines and a simulated network between them, in virtual time.
//!
//! ```text
//!  client engine ──▶ Link up(0), up(1), … ──▶ gateway engine
//!                ◀── Link down(0), …      ◀──
//! ```

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ropewalk_air::wired::{Link, LinkSpec, Packet};
use ropewalk_bond::api::{Admission, EVERYWHERE, Event, Input, Output, PathSpec, Registry};
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_bond::path::{Class, Route};
use ropewalk_bond::vnet::Vnet;
use ropewalk_session::{
    CipherSet, ClientHello, Inner, InviteId, InviteSecret, PublicKey, Refusal, StaticKey,
};
use ropewalk_time::{Duration, Time};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Inner address of the client.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Inner address of the gateway.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// Lets everybody in with the same address.
#[derive(Debug)]
pub struct OpenDoor;

impl Registry for OpenDoor {
    fn admit(&mut self, _: &PublicKey, _: &ClientHello) -> Result<Admission, Refusal> {
        Ok(Admission {
            ipv4: Inner { client: CLIENT, gateway: GATEWAY, prefix: 24 },
            ipv6: None,
            networks: Vec::new(),
            device: 0,
        })
    }
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client.
    Client,
    /// The gateway.
    Gateway,
}

struct Datagram {
    route: Route,
    bytes: Vec<u8>,
}

/// The two engines, the links and what came out.
pub struct Pair {
    /// The client's engine.
    pub client: Engine,
    /// The gateway's engine.
    pub gateway: Engine,
    /// Links from client to gateway.
    pub up: Vec<Link<usize>>,
    /// Links back.
    pub down: Vec<Link<usize>>,
    /// Virtual time.
    pub now: Time,
    /// Packets that the gateway's device got, with the time.
    pub at_gateway: Vec<(Time, Vec<u8>, Vnet)>,
    /// Packets that the client's device got.
    pub at_client: Vec<(Time, Vec<u8>, Vnet)>,
    /// News of either end.
    pub events: Vec<(End, Time, Event)>,
    /// Hash over every datagram sent, for comparing runs.
    pub trace: u64,
    /// Outer UDP port of the client on each path; a NAT may change it.
    pub ports: Vec<u16>,
    /// Every datagram sent is kept here while this is set.
    pub capture: Option<Vec<(End, Vec<u8>)>>,
    /// An attacker beside the network: each datagram to the gateway arrives from here first.
    pub racer: Option<SocketAddr>,
    /// Whether the network swallows the gateway's data, but not its handshakes.
    pub swallow_data: bool,
    /// Bytes sent by client and gateway.
    pub sent_bytes: [u64; 2],
    /// Times that client and gateway were called because they had asked for it.
    pub timeouts: [u64; 2],
    /// What client and gateway wait for.
    pub why: [&'static str; 2],
    wire: Vec<Option<Datagram>>,
    keys: (StaticKey, StaticKey),
    config: Config,
    rng: ChaCha8Rng,
    next: [Time; 2],
}

/// The links' clock.
pub fn air(t: Time) -> ropewalk_air::Time {
    ropewalk_air::Time::from_nanos(t.as_nanos())
}

/// The outer address of the client on path `i`.
pub fn client_addr(i: usize) -> SocketAddr {
    SocketAddr::from(([10, 1, i as u8 + 1, 1], 40_000))
}

/// The outer address of the gateway.
pub fn gateway_addr() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 4500))
}

impl Pair {
    /// Two engines over `links`, alike in both directions. The client has a path over each.
    pub fn new(links: &[LinkSpec], config: Config, seed: u64) -> Pair {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let keys = (StaticKey::generate(&mut rng).unwrap(), StaticKey::generate(&mut rng).unwrap());
        let make = |k: u64| -> Vec<Link<usize>> {
            links
                .iter()
                .enumerate()
                .map(|(i, l)| Link::new(l.clone(), seed ^ (k + i as u64)).unwrap())
                .collect()
        };
        let now = Time::from_millis(1000);
        let mut pair = Pair {
            client: client_engine(&keys, &config, &mut rng, now),
            gateway: gateway_engine(&keys, &config, &mut rng, now),
            up: make(100),
            down: make(200),
            now,
            at_gateway: Vec::new(),
            at_client: Vec::new(),
            events: Vec::new(),
            trace: 0,
            ports: vec![40_000; links.len()],
            capture: None,
            racer: None,
            swallow_data: false,
            sent_bytes: [0; 2],
            timeouts: [0; 2],
            why: [""; 2],
            wire: Vec::new(),
            keys,
            config,
            rng,
            next: [now; 2],
        };
        for i in 0..links.len() {
            let route = Route { link: i as u32, remote: gateway_addr(), local: None };
            pair.client
                .add_path(PathSpec { route, interface_mtu: 1500, class: Class::Active, weight: 1 }, now);
        }
        pair.poll(End::Client);
        pair
    }

    /// Kills the gateway and starts another with the same key that knows nothing.
    pub fn restart_gateway(&mut self) {
        self.gateway = gateway_engine(&self.keys, &self.config, &mut self.rng, self.now);
        self.poll(End::Gateway);
    }

    /// Runs until `until`.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let mut t = self.next[0].min(self.next[1]);
            for l in self.up.iter().chain(&self.down) {
                if let Some(n) = l.next_timeout() {
                    t = t.min(Time::from_nanos(n.as_nanos()));
                }
            }
            if t > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(t);
            self.arrivals();
            for (k, end) in [End::Client, End::Gateway].into_iter().enumerate() {
                if self.next[k] <= self.now {
                    self.timeouts[k] += 1;
                    let (engine, now) = self.engine(end);
                    engine.handle(Input::Timeout, now);
                    self.poll(end);
                }
            }
        }
    }

    /// Switches path `i` on or off, both ways, silently.
    pub fn set_up(&mut self, i: usize, up: bool) {
        let now = air(self.now);
        self.up[i].set_up(now, up);
        self.down[i].set_up(now, up);
    }

    /// Adds the client's path `i` again, as after its interface came back.
    pub fn add_path(&mut self, i: usize, class: Class) -> Option<u8> {
        let route = Route { link: i as u32, remote: gateway_addr(), local: None };
        let id = self.client.add_path(PathSpec { route, interface_mtu: 1500, class, weight: 1 }, self.now);
        self.poll(End::Client);
        id
    }

    /// Runs for `d`.
    pub fn run_for(&mut self, d: Duration) {
        self.run_until(self.now + d);
    }

    /// The gateway's key.
    pub fn gateway_key(&self) -> PublicKey {
        self.keys.1.public()
    }

    /// Where the client's datagrams on path `i` come from.
    pub fn client_at(&self, i: usize) -> SocketAddr {
        SocketAddr::new(client_addr(i).ip(), self.ports[i])
    }

    fn engine(&mut self, end: End) -> (&mut Engine, Time) {
        let now = self.now;
        match end {
            End::Client => (&mut self.client, now),
            End::Gateway => (&mut self.gateway, now),
        }
    }

    fn arrivals(&mut self) {
        for i in 0..self.up.len() {
            while let Some(d) = self.up[i].poll(air(self.now)) {
                self.arrive(End::Gateway, i, d.payload, d.corrupted, d.copies);
            }
            while let Some(d) = self.down[i].poll(air(self.now)) {
                self.arrive(End::Client, i, d.payload, d.corrupted, d.copies);
            }
        }
    }

    fn arrive(&mut self, end: End, link: usize, slot: usize, corrupted: bool, copies: u8) {
        let Some(d) = self.wire[slot].take() else { return };
        for _ in 0..copies {
            let mut bytes = d.bytes.clone();
            if corrupted {
                let i = self.rng.random_range(0..bytes.len());
                bytes[i] ^= 1 << self.rng.random_range(0..8u32);
            }
            let (remote, link) = match end {
                End::Gateway => (SocketAddr::new(client_addr(link).ip(), self.ports[link]), 0),
                End::Client => {
                    (d.route.local.map_or(gateway_addr(), |a| SocketAddr::new(a, 4500)), link as u32)
                }
            };
            if let (End::Gateway, Some(racer)) = (end, self.racer) {
                self.inject(end, link, racer, &mut bytes.clone());
            }
            self.inject(end, link, remote, &mut bytes);
        }
    }

    /// Hands a datagram to an engine, as its socket would.
    pub fn inject(&mut self, end: End, link: u32, remote: SocketAddr, bytes: &mut [u8]) {
        let segment = bytes.len();
        let (engine, now) = self.engine(end);
        engine.handle(Input::Datagrams { link, remote, local: None, segment, bytes, ecn: 0 }, now);
        self.poll(end);
    }

    /// Hands a packet of the device to an engine.
    pub fn device(&mut self, end: End, packet: &[u8], vnet: Vnet) {
        let (engine, now) = self.engine(end);
        engine.handle(Input::Device { device: 0, vnet, packet }, now);
        self.poll(end);
    }

    /// Polls an engine and does what it says.
    pub fn poll(&mut self, end: End) {
        let now = self.now;
        loop {
            let engine = match end {
                End::Client => &mut self.client,
                End::Gateway => &mut self.gateway,
            };
            match engine.poll_output(now) {
                Output::Transmit(t) => {
                    let (route, segment, bytes) = (t.route, t.segment, t.bytes.to_vec());
                    bytes.chunks(segment).for_each(|d| self.send(end, route, d));
                }
                Output::Deliver { vnet, packet, .. } => {
                    let got = (now, packet.to_vec(), vnet);
                    match end {
                        End::Client => self.at_client.push(got),
                        End::Gateway => self.at_gateway.push(got),
                    }
                }
                Output::Event(e) => self.events.push((end, now, e)),
                Output::Timeout(at, why) => {
                    (self.next[end as usize], self.why[end as usize]) = (at, why);
                    return;
                }
            }
        }
    }

    fn send(&mut self, end: End, route: Route, datagram: &[u8]) {
        for b in datagram.iter().take(24) {
            self.trace = (self.trace ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3);
        }
        let link = match end {
            End::Client => route.link as usize,
            // The network finds the way back by the client's address.
            End::Gateway => match route.remote.ip() {
                IpAddr::V4(a) => a.octets()[2] as usize - 1,
                IpAddr::V6(_) => return,
            },
        };
        self.sent_bytes[end as usize] += datagram.len() as u64;
        if let Some(c) = &mut self.capture {
            c.push((end, datagram.to_vec()));
        }
        if end == End::Gateway && self.swallow_data && datagram[0] & 0xf0 == 0x40 {
            return;
        }
        // Behind a NAT, what goes to a port that is no longer mapped is lost.
        if end == End::Gateway && self.ports.get(link) != Some(&route.remote.port()) {
            return;
        }
        let len = datagram.len() as u32 + 28;
        self.wire.push(Some(Datagram { route, bytes: datagram.to_vec() }));
        let packet = Packet::new(len, self.wire.len() - 1);
        let links = if end == End::Client { &mut self.up } else { &mut self.down };
        if let Some(l) = links.get_mut(link) {
            l.enqueue(air(self.now), packet);
        }
    }
}

fn client_engine(keys: &(StaticKey, StaticKey), config: &Config, rng: &mut ChaCha8Rng, now: Time) -> Engine {
    let client = ClientConfig {
        key: keys.0.clone(),
        gateway: keys.1.public(),
        invite: InviteId::generate(rng),
        secret: InviteSecret::generate(rng),
        ciphers: CipherSet::of_this_cpu(),
        routes: EVERYWHERE.to_vec(),
    };
    Engine::client(config.clone(), client, Entropy::repeatable(rng.random()), now)
}

fn gateway_engine(keys: &(StaticKey, StaticKey), config: &Config, rng: &mut ChaCha8Rng, now: Time) -> Engine {
    Engine::gateway(
        config.clone(),
        keys.1.clone(),
        vec![GATEWAY.into()],
        Box::new(OpenDoor),
        Entropy::repeatable(rng.random()),
        now,
    )
}

/// A UDP packet of `len` bytes from client to gateway (or back) whose payload begins with `number`.
pub fn udp(end: End, port: u16, number: u32, len: usize) -> Vec<u8> {
    let (src, dst) = match end {
        End::Client => (CLIENT, GATEWAY),
        End::Gateway => (GATEWAY, CLIENT),
    };
    let mut payload = vec![0u8; len - 28];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let mut out = Vec::with_capacity(len);
    etherparse::PacketBuilder::ipv4(src.octets(), dst.octets(), 64)
        .udp(port, 9)
        .write(&mut out, &payload)
        .expect("a vector takes any packet");
    out
}

/// The number in a packet made by [`udp`].
pub fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes([packet[28], packet[29], packet[30], packet[31]])
}
