//! What the driver can carry, without an engine: super-packets cut into datagrams, sent as one batch, put
//! together again.
//!
//! ```text
//!   iperf3 [a] rwa ── relay ── va ──── vb ── relay ── rwb [b] iperf3
//! ```
//!
//! Not a test but a measurement: `cargo test --release -p ropewalk-net --test net speed:: -- --ignored
//! --nocapture`.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Netns, cable, root};
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::poll::{Events, Interest, Poller};
use ropewalk_net::tun::Tun;
use ropewalk_net::udp::{Options, RecvBatch, Transmit, UdpSocket};

/// Bytes of a datagram: packet number, offset, total, and a part of the packet with its virtio header.
const SEGMENT: usize = 1440;
const FRAME: usize = 12;

struct Relay {
    tun: Tun,
    udp: UdpSocket,
    peer: SocketAddr,
    number: u32,
    /// The packet being put together: its number, how much of it is there, its bytes.
    partial: (u32, usize, Vec<u8>),
    packet: Vec<u8>,
    batch: Vec<u8>,
}

impl Relay {
    fn out(&mut self) {
        for _ in 0..16 {
            let Some(received) = self.tun.recv(&mut self.packet[Vnet::LEN..]).unwrap() else { return };
            self.packet[..Vnet::LEN].copy_from_slice(&received.header.to_device());
            let total = Vnet::LEN + received.len;
            self.number += 1;
            self.batch.clear();
            for (index, part) in self.packet[..total].chunks(SEGMENT - FRAME).enumerate() {
                for field in [self.number, (index * (SEGMENT - FRAME)) as u32, total as u32] {
                    self.batch.extend_from_slice(&field.to_ne_bytes());
                }
                self.batch.extend_from_slice(part);
            }
            let out =
                Transmit { to: self.peer, from: None, tos: 0, segment_size: SEGMENT, data: &self.batch };
            let _ = self.udp.send(&out);
        }
    }

    fn back(&mut self, batch: &mut RecvBatch) {
        while self.udp.recv(batch).unwrap() > 0 {
            for datagrams in batch.iter_mut() {
                for datagram in datagrams.data.chunks(datagrams.segment_size) {
                    self.take(datagram);
                }
            }
        }
    }

    fn take(&mut self, datagram: &[u8]) {
        let field = |at: usize| u32::from_ne_bytes(*datagram[at..].first_chunk().unwrap());
        let (number, offset, total) = (field(0), field(4) as usize, field(8) as usize);
        let (current, have, bytes) = &mut self.partial;
        if number != *current {
            (*current, *have) = (number, 0);
        }
        let part = &datagram[FRAME..];
        if offset != *have || offset + part.len() > total {
            return;
        }
        bytes[offset..offset + part.len()].copy_from_slice(part);
        *have += part.len();
        if *have == total {
            let header = Vnet::from_device(bytes.first_chunk().unwrap());
            self.tun.send(&header, &[&bytes[Vnet::LEN..total]]).unwrap();
        }
    }

    fn run(mut self, stop: &AtomicBool) {
        let (poller, mut events, mut batch) = (Poller::new().unwrap(), Events::new(4), RecvBatch::new(8));
        poller.add(&self.tun, 0, Interest::Read).unwrap();
        poller.add(&self.udp, 1, Interest::Read).unwrap();
        while !stop.load(Ordering::Relaxed) {
            poller.wait(&mut events, Some(Duration::from_millis(100))).unwrap();
            self.out();
            self.back(&mut batch);
        }
    }
}

fn relay(ns: &Netns, tun: &str, inner: &str, ours: &str, theirs: &str) -> Relay {
    let device = ns.inside(|| Tun::open(Some(tun)).unwrap());
    ns.ip(&format!("address add {inner}/24 dev {tun}"));
    ns.ip(&format!("link set {tun} up mtu 1500"));
    let udp = ns.inside(|| UdpSocket::open(&Options::at(ours.parse().unwrap())).unwrap());
    Relay {
        tun: device,
        udp,
        peer: theirs.parse().unwrap(),
        number: 0,
        partial: (0, 0, vec![0; 1 << 17]),
        packet: vec![0; 1 << 17],
        batch: Vec::with_capacity(1 << 17),
    }
}

/// The median time for a small datagram there and back, one at a time.
fn round_trip(a: &Netns, b: &Netns, address: &str) -> Duration {
    let server = b.inside(|| std::net::UdpSocket::bind((address, 0)).unwrap());
    let client = a.inside(|| std::net::UdpSocket::bind("0.0.0.0:0").unwrap());
    client.connect(server.local_addr().unwrap()).unwrap();
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut byte = [0];
            while let Ok((_, from)) = server.recv_from(&mut byte)
                && byte[0] == 0
            {
                server.send_to(&byte, from).unwrap();
            }
        });
        for _ in 0..1000 {
            std::thread::sleep(Duration::from_millis(1));
            let before = ropewalk_net::clock::now();
            client.send(&[0]).unwrap();
            client.recv(&mut [0]).unwrap();
            times.push(ropewalk_net::clock::now().since(before));
        }
        client.send(&[1]).unwrap();
    });
    times.sort();
    times[times.len() / 2]
}

#[test]
#[ignore = "a measurement"]
fn relay_of_super_packets() {
    if !root() {
        return;
    }
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    cable((&a, "va", &["10.9.0.1/24"]), (&b, "vb", &["10.9.0.2/24"]));
    let ra = relay(&a, "rwa", "10.8.0.1", "10.9.0.1:5555", "10.9.0.2:5555");
    let rb = relay(&b, "rwb", "10.8.0.2", "10.9.0.2:5555", "10.9.0.1:5555");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| ra.run(&stop));
        scope.spawn(|| rb.run(&stop));
        let netns = |ns: &Netns, words: &str| {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &ns.name]).args(words.split_whitespace());
            command
        };
        for (what, address) in [("cable", "10.9.0.2"), ("relay", "10.8.0.2")] {
            let mut server = netns(&b, "iperf3 -s -1").stdout(std::process::Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(300));
            let client = netns(&a, &format!("iperf3 -c {address} -t 5 -J")).output().unwrap();
            let json: serde_json::Value = serde_json::from_slice(&client.stdout).unwrap();
            let rate = json["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or(0.0);
            server.wait().unwrap();
            let idle = round_trip(&a, &b, address);
            println!("{what}: one TCP flow {:.2} Gb/s; idle round trip {idle:?}", rate / 1e9);
        }
        stop.store(true, Ordering::Relaxed);
    });
}
