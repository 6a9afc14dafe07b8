//! A client behind a gateway that masquerades. The bond is a cable here.
//!
//! ```text
//!   [client] rw0 10.77.0.2 ──── 10.77.0.1 rw0 [gateway] vg 192.0.2.1 ──── 192.0.2.2 vw [world]
//! ```

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::common::{Netns, State, cable, root};
use ropewalk_net::nat::masquerade;
use ropewalk_net::setup::{Journal, cleanup_stale};

fn fingerprint(ns: &Netns) -> String {
    let keys = "-n net.ipv4.ip_forward net.ipv6.conf.all.forwarding";
    ns.run("nft", "list ruleset") + &ns.run("sysctl", keys)
}

#[test]
fn clients_reach_the_world_with_the_gateways_address() {
    if !root() {
        return;
    }
    let (client, gateway, world) = (Netns::new("client"), Netns::new("gateway"), Netns::new("world"));
    cable(
        (&client, "rw0", &["10.77.0.2/24", "fd77::2/64"]),
        (&gateway, "rw0", &["10.77.0.1/24", "fd77::1/64"]),
    );
    cable(
        (&gateway, "vg", &["192.0.2.1/24", "2001:db8::1/64"]),
        (&world, "vw", &["192.0.2.2/24", "2001:db8::2/64"]),
    );
    client.ip("link set rw0 mtu 1300");
    gateway.ip("link set rw0 mtu 1300");
    client.ip("route add default via 10.77.0.1");
    client.ip("-6 route add default via fd77::1");
    let state = State::new(&gateway);
    let before = fingerprint(&gateway);

    let journal = gateway.inside(|| {
        let mut journal = Journal::open(&state).unwrap().0;
        let networks = ["10.77.0.1/24".parse().unwrap(), "fd77::1/64".parse().unwrap()];
        let obstacles = masquerade(&mut journal, "rw0", &networks).unwrap();
        assert!(obstacles.is_empty(), "{obstacles:?}");
        journal
    });
    for (ip, seen) in [("192.0.2.2", "192.0.2.1"), ("2001:db8::2", "2001:db8::1")] {
        let listener = world.inside(|| TcpListener::bind((ip, 0)).unwrap());
        let port = listener.local_addr().unwrap().port();
        let data = vec![7; 300_000];
        std::thread::scope(|scope| {
            let server = scope.spawn(move || {
                let (mut stream, peer) = listener.accept().unwrap();
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                (got.len(), peer.ip().to_string())
            });
            client.inside(|| TcpStream::connect((ip, port)).unwrap().write_all(&data).unwrap());
            assert_eq!(server.join().unwrap(), (300_000, seen.to_owned()));
        });
    }
    // A gateway whose firewall forbids forwarding elsewhere gets a sentence about it.
    gateway.run("nft", "add table inet strict");
    gateway
        .run("nft", "add chain inet strict block { type filter hook forward priority 10 ; policy drop ; }");
    gateway.inside(|| {
        let mut journal = journal;
        let networks = ["10.77.0.1/24".parse().unwrap()];
        let obstacles = masquerade(&mut journal, "rw0", &networks).unwrap();
        assert_eq!(obstacles.len(), 1);
        assert!(obstacles[0].contains("strict"), "{obstacles:?}");
        // A crash.
        journal.abandon();
        assert!(cleanup_stale(&state).unwrap() >= 4);
    });
    gateway.run("nft", "delete table inet strict");
    assert_eq!(fingerprint(&gateway), before);
    assert_eq!(std::fs::read_dir(&*state).unwrap().count(), 0, "nothing is left in the state directory");
}
