//! Two sockets, two namespaces, one veth cable:
//!
//! ```text
//!   [a] 10.9.0.1, fd09::1 ── va ─────── vb ── 10.9.0.2, 10.9.0.22, fd09::2 [b]
//! ```

use std::net::{IpAddr, SocketAddr};

use crate::common::{Netns, cable, eventually, root};
use ropewalk_net::udp::{OpenError, Options, PathError, RecvBatch, SendError, Transmit, UdpSocket};

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

#[test]
fn a_batch_may_be_written_over_as_soon_as_it_was_sent() {
    if !root() {
        return;
    }
    let Pair { a, b } = pair();
    let (mut client, server) = (open(&a, "0.0.0.0:0", None), open(&b, "0.0.0.0:0", None));
    let to = to("10.9.0.2", &server);
    let mut data = vec![0; 60_000];
    // Until ARP has an answer the kernel keeps 200 kB for a neighbour, and drops the rest.
    client.send(&Transmit { to, from: None, tos: 0, segment_size: 1200, data: &data[..1200] }).unwrap();
    collect(&server, 1200);
    // The server reads nothing yet: all that was sent is in the kernel's hands while the next batch is built in the same memory.
    for k in 0..20u8 {
        data.fill(k);
        client.send(&Transmit { to, from: None, tos: 0, segment_size: 1200, data: &data }).unwrap();
    }
    data.fill(0xaa);
    let (payload, ..) = collect(&server, 20 * 60_000);
    for (k, batch) in payload.chunks(60_000).enumerate() {
        assert!(batch.iter().all(|b| *b == k as u8), "batch {k} was written over");
    }
}

#[test]
fn nobody_else_can_listen_at_the_port_of_a_socket() {
    if !root() {
        return;
    }
    let ns = Netns::new("x");
    let ours = open(&ns, "127.0.0.1:0", None);
    for option in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
        let bound = ns.inside(|| bind_with(option, ours.local_addr().port()));
        assert_eq!(bound, Err(libc::EADDRINUSE), "with option {option}");
    }
}

/// Binds a UDP socket of 127.0.0.1 that has asked to share its port.
fn bind_with(option: libc::c_int, port: u16) -> Result<(), i32> {
    use rustix::net::{AddressFamily, SocketType, bind, socket};
    use std::os::fd::AsRawFd;
    let fd = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    let one: libc::c_int = 1;
    // SAFETY: the pointer and the length describe one int that lives across the call.
    let set = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const one).cast(),
            size_of::<libc::c_int>() as u32,
        )
    };
    assert_eq!(set, 0);
    bind(&fd, &SocketAddr::from(([127, 0, 0, 1], port))).map_err(|e| e.raw_os_error())
}
