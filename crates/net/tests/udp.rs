//! Two sockets, two namespaces, one veth cable:
//!
//! ```text
//!   [a] 10.9.0.1, fd09::1 ── va ─────── vb ── 10.9.0.2, 10.9.0.22, fd09::2 [b]
//! ```

mod common;

use std::net::{IpAddr, SocketAddr};

use common::{Netns, cable, eventually, root};
use ropewalk_bond::api::{Room, Ticket};
use ropewalk_net::udp::{
    OpenError, Options, Pages, PathError, RecvBatch, SendError, Transmit, Twin, UdpSocket,
};

struct Pair {
    a: Netns,
    b: Netns,
}

fn pair() -> Pair {
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    cable(
        (&a, "va", &["10.9.0.1/24", "fd09::1/64"]),
        (&b, "vb", &["10.9.0.2/24", "10.9.0.22/24", "fd09::2/64", "fd09::22/64"]),
    );
    Pair { a, b }
}

fn open(ns: &Netns, bind: &str, device: Option<&str>) -> UdpSocket {
    let options = Options { device, mark: Some(7), ..Options::at(bind.parse().unwrap()) };
    ns.inside(|| UdpSocket::open(&options).unwrap())
}

fn to(ip: &str, socket: &UdpSocket) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), socket.local_addr().port())
}

/// All that arrives until `bytes` are there: (payload, segment sizes, from, to, tos).
fn collect(socket: &UdpSocket, bytes: usize) -> (Vec<u8>, Vec<usize>, SocketAddr, Option<IpAddr>, u8) {
    let mut batch = RecvBatch::new(4);
    let (mut payload, mut sizes, mut last) = (Vec::new(), Vec::new(), None);
    eventually("datagrams", || {
        while socket.recv(&mut batch).unwrap() > 0 {
            for datagrams in batch.iter_mut() {
                assert_ne!(datagrams.interface, 0);
                sizes.push(datagrams.segment_size);
                payload.extend_from_slice(datagrams.data);
                last = Some((datagrams.from, datagrams.to, datagrams.tos));
            }
        }
        payload.len() >= bytes
    });
    let (from, to, tos) = last.unwrap();
    (payload, sizes, from, to, tos)
}

fn round_trip(ours: &str, theirs: &str, wildcard: &str, gso: bool) {
    let Pair { a, b } = pair();
    let mut client = open(&a, &wildcard.replace('p', "0"), Some("va"));
    let mut server = open(&b, &wildcard.replace('p', "0"), None);
    if !gso {
        client.forbid_gso();
    }
    let data: Vec<u8> = (0..20 * 1200 + 700u32).map(|i| (i / 7) as u8).collect();
    let out = Transmit {
        to: to(theirs, &server),
        from: Some(ours.parse().unwrap()),
        tos: 2,
        segment_size: 1200,
        data: &data,
    };
    assert_eq!(client.send(&out).unwrap(), data.len());
    assert_eq!(client.has_gso(), gso);
    let (payload, sizes, from, reached, tos) = collect(&server, data.len());
    assert_eq!(payload, data);
    assert_eq!(from, to(ours, &client));
    assert_eq!((reached, tos), (Some(theirs.parse().unwrap()), 2));
    if gso {
        assert_eq!(sizes, [1200], "one batch out, one batch in");
    }
    // The answer comes from the address that was asked, not from the first of the interface.
    let answer = Transmit { to: from, from: reached, tos: 3, segment_size: 1200, data: b"answer" };
    assert_eq!(server.send(&answer).unwrap(), 6);
    let (payload, _, from, _, tos) = collect(&client, 6);
    assert_eq!((payload.as_slice(), from.ip(), tos), (&b"answer"[..], theirs.parse().unwrap(), 3));
}

#[test]
fn batches_ecn_and_addresses_over_v4() {
    if root() {
        round_trip("10.9.0.1", "10.9.0.22", "0.0.0.0:p", true);
    }
}

#[test]
fn batches_ecn_and_addresses_over_v6() {
    if root() {
        round_trip("fd09::1", "fd09::22", "[::]:p", true);
    }
}

#[test]
fn the_same_without_segmentation() {
    if root() {
        round_trip("10.9.0.1", "10.9.0.22", "0.0.0.0:p", false);
        round_trip("fd09::1", "fd09::22", "[::]:p", false);
    }
}

#[test]
fn more_than_a_batch_goes_in_several() {
    if !root() {
        return;
    }
    let Pair { a, b } = pair();
    let (mut client, server) = (open(&a, "0.0.0.0:0", None), open(&b, "0.0.0.0:0", None));
    let data = vec![7; 200 * 1000 + 1];
    let out = Transmit { to: to("10.9.0.2", &server), from: None, tos: 0, segment_size: 1000, data: &data };
    assert_eq!(client.send(&out).unwrap(), data.len());
    assert_eq!(collect(&server, data.len()).0.len(), data.len());
}

#[test]
fn too_big_is_told_and_segmentation_survives_it() {
    if !root() {
        return;
    }
    let Pair { a, b } = pair();
    let server = open(&b, "0.0.0.0:0", None);
    let server6 = open(&b, "[::]:0", None);
    for (bind, target) in [("0.0.0.0:0", to("10.9.0.2", &server)), ("[::]:0", to("fd09::2", &server6))] {
        let mut client = open(&a, bind, Some("va"));
        for length in [1473, 3000] {
            let data = vec![0; length];
            let out = Transmit { to: target, from: None, tos: 0, segment_size: 1473, data: &data };
            assert!(matches!(client.send(&out), Err(SendError::TooBig)), "{length} to {target}");
        }
        let data = vec![0; 2800];
        let out = Transmit { to: target, from: None, tos: 0, segment_size: 1400, data: &data };
        assert_eq!(client.send(&out).unwrap(), 2800);
        assert!(client.has_gso());
    }
}

#[test]
fn path_errors_are_told_apart() {
    if !root() {
        return;
    }
    let Pair { a, b } = pair();
    let (mut client, server) = (open(&a, "0.0.0.0:0", Some("va")), open(&b, "0.0.0.0:0", None));
    let mut free = open(&a, "0.0.0.0:0", None);
    let send = |socket: &mut UdpSocket, ip: &str, from: Option<&str>| {
        let from = from.map(|ip| ip.parse().unwrap());
        let to = SocketAddr::new(ip.parse().unwrap(), server.local_addr().port());
        match socket.send(&Transmit { to, from, tos: 0, segment_size: 100, data: &[0; 300] }) {
            Err(SendError::Path(error)) => Some(error),
            Ok(300) => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(send(&mut client, "10.9.0.2", None), None);
    // Which of the two depends on the kernel.
    let gone = [Some(PathError::AddressGone), Some(PathError::NetworkUnreachable)];
    assert!(gone.contains(&send(&mut client, "10.9.0.2", Some("10.9.0.77"))));
    assert_eq!(send(&mut free, "192.0.2.1", None), Some(PathError::NetworkUnreachable));
    a.ip("route add unreachable 192.0.2.0/24");
    assert_eq!(send(&mut free, "192.0.2.1", None), Some(PathError::HostUnreachable));
    a.ip("link set va down");
    assert_eq!(send(&mut client, "10.9.0.2", None), Some(PathError::NetworkUnreachable));
    a.ip("link del va");
    assert_eq!(send(&mut client, "10.9.0.2", None), Some(PathError::InterfaceGone));
    assert!(free.has_gso() && client.has_gso(), "no error was blamed on segmentation");
}

#[test]
fn opening_says_what_is_wrong() {
    if !root() {
        return;
    }
    let ns = Netns::new("x");
    let first = open(&ns, "127.0.0.1:0", None);
    ns.inside(|| {
        let error = UdpSocket::open(&Options::at(first.local_addr())).unwrap_err();
        assert!(matches!(error, OpenError::PortInUse(_)), "{error}");
        let error = UdpSocket::open(&Options::at("192.0.2.1:0".parse().unwrap())).unwrap_err();
        assert!(matches!(error, OpenError::NoSuchAddress(_)), "{error}");
        let options = Options { device: Some("nix0"), ..Options::at("0.0.0.0:0".parse().unwrap()) };
        let error = UdpSocket::open(&options).unwrap_err();
        assert!(matches!(error, OpenError::NoSuchInterface(_)), "{error}");
        let socket = UdpSocket::open(&Options::at("0.0.0.0:0".parse().unwrap())).unwrap();
        assert!(socket.buffer_bytes().0 >= 8 << 20);
    });
}

/// A room of `pages` that begins with `data`.
fn room(pages: &mut Pages, data: &[u8]) -> Box<dyn Room> {
    let mut room = pages.take().expect("a room is free");
    room.bytes_mut()[..data.len()].copy_from_slice(data);
    room
}

fn ticket(last: u64) -> Ticket {
    Ticket { peer: 1, path: 0, last }
}

fn twin_round_trip(ours: &str, theirs: &str, wildcard: &str) {
    let Pair { a, b } = pair();
    let client = open(&a, &wildcard.replace('p', "0"), Some("va"));
    let server = open(&b, &wildcard.replace('p', "0"), None);
    let remote = to(theirs, &server);
    let mut twin = a.inside(|| Twin::of(&client, std::iter::empty(), None, remote)).unwrap();
    let mut pages = Pages::new(3).unwrap();
    assert!(twin.is_for(None, remote) && !twin.is_for(None, to(ours, &client)));
    for round in 0..3u32 {
        let data: Vec<u8> = (0..40 * 1200 + 700u32).map(|i| (i / 7 + round) as u8).collect();
        let room = room(&mut pages, &data);
        let batch = &room.bytes()[..data.len()];
        let out = Transmit { to: remote, from: None, tos: 2, segment_size: 1200, data: batch };
        assert!(Twin::suits(&out));
        twin.send(&out, pages.lendable(batch).unwrap()).unwrap();
        let (payload, sizes, from, _, tos) = collect(&server, data.len());
        assert_eq!((payload, sizes), (data, vec![1200]), "one batch out, one batch in");
        assert_eq!((from, tos), (to(ours, &client), 2), "as from the socket itself");
    }
    // What this peer says comes to the twin, what others say to the socket.
    let other = open(&b, &wildcard.replace('p', "0"), None);
    let speak = |from: &mut UdpSocket, data: &[u8]| {
        let here = to(ours, &client);
        let from_ip = Some(theirs.parse().unwrap());
        from.send(&Transmit { to: here, from: from_ip, tos: 0, segment_size: 1200, data }).unwrap()
    };
    let (mut server, mut other) = (server, other);
    speak(&mut server, b"peer");
    speak(&mut other, b"stranger");
    assert_eq!(collect(&client, 8).0, b"stranger");
    let mut batch = RecvBatch::new(4);
    eventually("the peer's word", || twin.recv(&mut batch).unwrap() > 0);
    assert_eq!(batch.iter_mut().next().unwrap().data, b"peer");
    // A second twin of the same port, for the other; and the port is still nobody else's.
    let second = a.inside(|| Twin::of(&client, [&twin].into_iter(), None, to(theirs, &other))).unwrap();
    speak(&mut other, b"to you");
    eventually("the other's word", || second.recv(&mut batch).unwrap() > 0);
    let taken = Options::at(client.local_addr());
    let taken = a.inside(|| UdpSocket::open(&taken));
    assert!(matches!(taken, Err(OpenError::PortInUse(_))), "{taken:?}");
}

#[test]
fn a_twin_speaks_for_its_socket_and_hears_its_peer() {
    if root() {
        twin_round_trip("10.9.0.1", "10.9.0.22", "0.0.0.0:p");
        twin_round_trip("fd09::1", "fd09::22", "[::]:p");
    }
}

#[test]
fn what_was_lent_arrives_as_it_was_when_it_is_read_later() {
    if !root() {
        return;
    }
    let Pair { a, b } = pair();
    let (client, server) = (open(&a, "0.0.0.0:0", None), open(&b, "0.0.0.0:0", None));
    let remote = to("10.9.0.2", &server);
    let mut twin = a.inside(|| Twin::of(&client, std::iter::empty(), None, remote)).unwrap();
    let mut pages = Pages::new(20).unwrap();
    // The server reads nothing yet: the kernel holds the pages of all that was sent.
    for k in 0..20u8 {
        let room = room(&mut pages, &[k; 60_000]);
        let batch = &room.bytes()[..60_000];
        let out = Transmit { to: remote, from: None, tos: 0, segment_size: 1200, data: batch };
        twin.send(&out, pages.lendable(batch).unwrap()).unwrap();
        pages.lent(room, ticket(k.into()));
    }
    assert!(pages.take().is_none(), "none of them is settled");
    // The kernel keeps the pages that it reads, also past our own use of them.
    drop(pages);
    let (payload, ..) = collect(&server, 20 * 60_000);
    for (k, batch) in payload.chunks(60_000).enumerate() {
        assert!(batch.iter().all(|b| *b == k as u8), "batch {k} was written over");
    }
}

#[test]
fn a_twin_whose_peer_is_gone_says_so_and_leaves_nothing_in_its_pipe() {
    if !root() {
        return;
    }
    let Pair { a, b } = pair();
    let (client, server) = (open(&a, "0.0.0.0:0", None), open(&b, "0.0.0.0:0", None));
    let remote = to("10.9.0.2", &server);
    let mut twin = a.inside(|| Twin::of(&client, std::iter::empty(), None, remote)).unwrap();
    let mut pages = Pages::new(2).unwrap();
    let (first, second) = (room(&mut pages, &[1; 60_000]), room(&mut pages, &[2; 60_000]));
    let mut send = |room: &dyn Room| {
        let data = &room.bytes()[..60_000];
        let out = Transmit { to: remote, from: None, tos: 0, segment_size: 1200, data };
        twin.send(&out, pages.lendable(data).unwrap())
    };
    a.ip("link set va down");
    assert!(send(&*first).is_err());
    a.ip("link set va up");
    eventually("the link", || send(&*second).is_ok());
    let (payload, ..) = collect(&server, 60_000);
    assert!(payload.iter().all(|b| *b == 2), "the batch that failed must not come later");
}
