//! Controllers on the kernel's own MPTCP, between two network namespaces with two cables. Needs
//! root.
//!
//! One test, part after part: a controller's name is the whole machine's.

use crate::common::{becomes, ip, socket, within};
use ropewalk_kern::trial::Registered;
use ropewalk_kern::{KernError, Key, Law, Slot};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::FromRawFd;
use std::process::Command;

/// A connection's ends.
type Ends = (TcpStream, TcpStream);

const MPTCP: i32 = 262;
/// What is sent over each connection, bytes: many windows' worth.
const BYTES: usize = 4 << 20;
const ROOM: u32 = 16384;

/// Two namespaces; gone at the end.
struct Net;

impl Net {
    fn new() -> Net {
        let net = Net;
        for n in ["kern-a", "kern-b"] {
            ip(&format!("netns add {n}"));
            ip(&format!("-n {n} link set lo up"));
            ip(&format!("-n {n} mptcp limits set subflows 4 add_addr_accepted 4"));
        }
        for i in 1..=2 {
            ip(&format!("link add k{i} netns kern-a type veth peer name k{i} netns kern-b"));
            for (n, end) in [("kern-a", 1), ("kern-b", 2)] {
                ip(&format!("-n {n} addr add 10.9.{i}.{end}/24 dev k{i}"));
                ip(&format!("-n {n} addr add fd09:{i}::{end}/64 dev k{i} nodad"));
                ip(&format!("-n {n} link set k{i} up"));
            }
        }
        ip("-n kern-a mptcp endpoint add 10.9.2.1 dev k2 subflow");
        ip("-n kern-a mptcp endpoint add fd09:2::1 dev k2 subflow");
        net.use_control("rw_olia");
        net
    }

    fn use_control(&self, name: &str) {
        for n in ["kern-a", "kern-b"] {
            let name = name.to_owned();
            within(n, move || {
                std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", name).unwrap();
                std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "0").unwrap();
            });
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for n in ["kern-a", "kern-b"] {
            let _ = Command::new("ip").args(["netns", "del", n]).status();
        }
    }
}

fn listen(address: &str, protocol: i32) -> TcpListener {
    let address: SocketAddr = address.parse().unwrap();
    within("kern-b", move || {
        let fd = socket(address, protocol);
        let address = rustix::net::SocketAddrAny::from(address);
        // SAFETY: the descriptor is this function's own.
        let listener = unsafe { TcpListener::from_raw_fd(fd) };
        rustix::net::sockopt::set_socket_reuseaddr(&listener, true).unwrap();
        rustix::net::bind(&listener, &address).unwrap();
        rustix::net::listen(&listener, 128).unwrap();
        listener
    })
}

fn connect(address: &str) -> TcpStream {
    let address: SocketAddr = address.parse().unwrap();
    within("kern-a", move || {
        // SAFETY: the descriptor is this function's own.
        let stream = unsafe { TcpStream::from_raw_fd(socket(address, MPTCP)) };
        rustix::net::connect(&stream, &rustix::net::SocketAddrAny::from(address)).unwrap();
        stream
    })
}

/// A connection with both its ends.
fn open(listener: &TcpListener, address: &str) -> Ends {
    let from = connect(address);
    (from, listener.accept().unwrap().0)
}

/// Sends, and receives all of it.
fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    std::thread::scope(|scope| {
        scope.spawn(move || from.write_all(&vec![7; BYTES]).unwrap());
        let mut got = vec![0; BYTES];
        to.read_exact(&mut got).unwrap();
        assert!(got.iter().all(|b| *b == 7));
    });
}

/// A connection over IPv4 and the entries of it and of `six`, both ends of each, once all are there
/// and those of IPv4 have two subflows. Where the kernel had no memory for an entry at once, an end
/// asks again as it sends; so both do. A subflow that comes to nothing is asked for once only, so
/// then it is another connection.
fn whole(olia: &Registered, listener: &TcpListener, six: &Ends) -> (Ends, Vec<(Key, Vec<Slot>)>) {
    for _ in 0..5 {
        let four = open(listener, "10.9.1.2:5001");
        for _ in 0..10 {
            for pair in [&four, six] {
                carry(&pair.0, &pair.1);
                carry(&pair.1, &pair.0);
            }
            let all = olia.connections().unwrap();
            if all.len() == 4 && all.iter().filter(|(_, slots)| slots.len() >= 2).count() >= 2 {
                return (four, all);
            }
        }
        eprintln!("not whole: {:?}, {:?}", olia.connections(), olia.counters());
        drop(four);
        becomes("no entries but those of IPv6", || olia.connections().unwrap().len() <= 2);
    }
    panic!("of five connections none has two subflows at both ends");
}

fn register(room: u32) -> Option<Registered> {
    match Registered::new(Law::Olia, room) {
        Ok(registered) => Some(registered),
        Err(
            e @ (KernError::NotRoot
            | KernError::Refused(_)
            | KernError::NoBtf
            | KernError::NoStructOps
            | KernError::TooOld(_)
            | KernError::Taken(_)),
        ) => {
            ropewalk_skip::skip(e);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn subflows_of_a_connection_share_and_others_do_not() {
    if !std::fs::exists("/proc/sys/net/mptcp/enabled").unwrap() {
        return ropewalk_skip::skip("this kernel has no MPTCP");
    }
    let Some(olia) = register(ROOM) else { return };
    let net = Net::new();
    let is_empty = || olia.connections().unwrap().is_empty();

    // Two connections, IPv4 and IPv6: four entries, as both ends are here. IPv6 has one way between
    // these networks.
    let four = listen("10.9.1.2:5001", MPTCP);
    let six = listen("[fd09:1::2]:5001", MPTCP);
    let b = open(&six, "[fd09:1::2]:5001");
    let (a, all) = whole(&olia, &four, &b);
    let mut keys: Vec<_> = all.iter().map(|(key, _)| (key.netns, key.token)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut namespaces: Vec<_> = keys.iter().map(|k| k.0).collect();
    namespaces.dedup();
    assert_eq!((keys.len(), namespaces.len()), (4, 2), "{all:?}");
    let mut owners: Vec<_> = all.iter().flat_map(|(_, slots)| slots.iter().map(|s| s.owner)).collect();
    let subflows = owners.len();
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(owners.len(), subflows, "a subflow stands in two entries: {all:?}");
    // What was sent has been seen: windows and round trips are there.
    assert!(all.iter().any(|(_, slots)| slots.iter().any(|s| s.window > 0 && s.rtt_us > 0)), "{all:?}");

    // Closed: nothing is left of them.
    drop((a, b));
    becomes("an empty map after closing", is_empty);

    // A peer without MPTCP: plain TCP, uncoupled, and it works.
    let plain = listen("10.9.1.2:5002", 0);
    let fallen = open(&plain, "10.9.1.2:5002");
    carry(&fallen.0, &fallen.1);
    // The kernel goes on calling such a socket MPTCP: an entry of one subflow, which is Reno
    // (tests/laws.rs).
    let all = olia.connections().unwrap();
    assert!(all.len() <= 1 && all.iter().all(|(_, slots)| slots.len() == 1), "{all:?}");
    drop(fallen);
    becomes("an empty map after the fallback", is_empty);

    soak(&four, &olia);

    // Unregistered under a live connection: it goes on, and nobody else gets the controller.
    let live = open(&four, "10.9.1.2:5001");
    carry(&live.0, &live.1);
    drop(olia);
    let listed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    assert!(!listed.contains("rw_olia"), "{listed}");
    carry(&live.0, &live.1);

    // Loaded again beside it, with room for one connection: the next is uncoupled, counted, and
    // works.
    let Some(olia) = register(1) else { return };
    net.use_control("rw_olia");
    carry(&live.0, &live.1);
    let next = open(&four, "10.9.1.2:5001");
    carry(&next.0, &next.1);
    becomes("a full map is counted", || olia.counters().unwrap().map_full > 0);
    assert_eq!(olia.connections().unwrap().len(), 1);
}

/// A thousand connections, opened and closed by eight threads: the map is empty after that, and
/// each who joined has left.
fn soak(listener: &TcpListener, olia: &Registered) {
    let before = olia.counters().unwrap();
    let accept = listener.try_clone().unwrap();
    let server = std::thread::spawn(move || {
        for _ in 0..1000 {
            let (mut end, _) = accept.accept().unwrap();
            let mut word = [0; 4];
            end.read_exact(&mut word).unwrap();
        }
    });
    let clients: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..125 {
                    connect("10.9.1.2:5001").write_all(b"word").unwrap();
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|c| c.join().unwrap());
    server.join().unwrap();
    becomes("an empty map after the soak", || olia.connections().unwrap().is_empty());
    let after = olia.counters().unwrap();
    assert!(after.joined >= before.joined + 2000, "{before:?} {after:?}");
    assert_eq!((after.joined, after.map_full), (after.left, 0), "{after:?}");
}
