//! Much data over fast links, both ways at once, arrives as it was sent. Needs root; without it the test passes and says so.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::common::{BINARY, SOON, States, root, ropewalk};
use ropewalk_lab::{End, Namespace, Topology};

const INSIDE: &str = "10.77.0.1:7000";
const BYTES: usize = 96 << 20;
const STEP: usize = 1 << 16;

/// Pseudo-random bytes that both ends can make (xorshift64).
struct Stream(u64);

impl Stream {
    fn fill(&mut self, out: &mut [u8]) {
        for word in out.chunks_exact_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            word.copy_from_slice(&self.0.to_le_bytes());
        }
    }
}

fn send(mut to: TcpStream, seed: u64) {
    let (mut stream, mut block) = (Stream(seed), vec![0; STEP]);
    for _ in 0..BYTES / STEP {
        stream.fill(&mut block);
        to.write_all(&block).unwrap();
    }
}

fn check(mut from: TcpStream, seed: u64) {
    let (mut stream, mut wanted, mut got) = (Stream(seed), vec![0; STEP], vec![0; STEP]);
    for at in 0..BYTES / STEP {
        stream.fill(&mut wanted);
        from.read_exact(&mut got).unwrap();
        assert!(wanted == got, "block {at} differs");
    }
}

/// Both directions at once, each checked byte by byte.
fn exchange(client: &Namespace, gateway: &Namespace) {
    let listener = gateway.run(|| TcpListener::bind(INSIDE).unwrap()).unwrap();
    let near = client.run(|| TcpStream::connect(INSIDE).unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    std::thread::scope(|s| {
        let (near2, far2) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        s.spawn(move || send(near2, 3));
        s.spawn(move || send(far2, 5));
        s.spawn(move || check(far, 3));
        s.spawn(move || check(near, 5));
    });
}

fn status(states: &States, end: &str) -> serde_json::Value {
    let (code, out, err) = ropewalk(&["status", "--json", "--state", &states.of(end)]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn much_data_both_ways_arrives_as_it_was_sent() {
    if !root() {
        return;
    }
    let (topology, states) = (Topology::new().unwrap(), States::new("integrity"));
    let (c, g) = (topology.namespace("client").unwrap(), topology.namespace("gateway").unwrap());
    topology.veth((&c, End::new("wan1", ["10.1.1.1/24"])), (&g, End::new("wan1", ["10.1.1.2/24"]))).unwrap();
    let gs = states.of("gateway");
    let serve = ["serve", "--state", &gs, "--listen", "0.0.0.0:4500", "--address", "10.77.0.1/24"];
    let mut gateway = g.start(BINARY, serve).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    let (_, token, _) = ropewalk(&["invite", "alice", "--state", &gs, "--endpoint", "10.1.1.2:4500"]);
    let cs = states.of("client");
    let mut client = c.start(BINARY, ["up", token.trim(), "--state", &cs, "--path", "wan1"]).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    exchange(&c, &g);
    for (end, other) in [("client", "gateway"), ("gateway", "client")] {
        // A datagram that was written over while it was on its way does not open at the other end.
        assert_eq!(
            status(&states, other)["drops"]["forged"],
            0,
            "{end} wrote over what was still on its way"
        );
    }
    // A gateway that comes again at the same port finds it free, and open connections go on.
    gateway.signal(rustix::process::Signal::KILL).unwrap();
    gateway.wait(SOON).unwrap();
    let mut gateway = g.start(BINARY, serve).unwrap();
    gateway.wait_for_line("gateway ready", SOON).unwrap();
    exchange(&c, &g);
    client.stop();
    gateway.stop();
}
