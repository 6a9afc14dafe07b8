//! A TUN device in a namespace of its own: what the kernel hands out, and what it takes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use crate::common::{Netns, eventually, root};
use ropewalk_bond::vnet::Vnet;
use ropewalk_net::setup::{SetupError, join_bridge};
use ropewalk_net::tun::{Offloads, Tun, TunError};

const ALL: Offloads = Offloads { header: true, csum: true, tso: true, uso: true };

fn tun(ns: &Netns, name: &str, wanted: Offloads) -> Tun {
    let tun = ns.inside(|| Tun::open_with(Some(name), wanted).unwrap());
    ns.ip(&format!("link set {name} up"));
    tun
}

fn tap(ns: &Netns, name: &str, wanted: Offloads) -> Tun {
    let tap = ns.inside(|| Tun::open_tap_with(Some(name), wanted).unwrap());
    ns.ip(&format!("link set {name} up"));
    tap
}

/// Two namespaces, a device in each, and a thread that carries packets from either to the other: the smallest
/// tunnel.
fn relay(offloads_a: Offloads, offloads_b: Offloads, work: impl FnOnce(&Netns, &Netns) + Send) -> Vec<Vnet> {
    relay_by(tun, offloads_a, offloads_b, work)
}

fn relay_by(
    device: fn(&Netns, &str, Offloads) -> Tun,
    offloads_a: Offloads,
    offloads_b: Offloads,
    work: impl FnOnce(&Netns, &Netns) + Send,
) -> Vec<Vnet> {
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    let (mut ta, mut tb) = (device(&a, "rwa", offloads_a), device(&b, "rwb", offloads_b));
    a.ip("address add 10.8.0.1/24 dev rwa");
    a.ip("address add fd08::1/64 dev rwa nodad");
    b.ip("address add 10.8.0.2/24 dev rwb");
    b.ip("address add fd08::2/64 dev rwb nodad");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pump = scope.spawn(|| {
            let mut seen = Vec::new();
            let mut packet = vec![0; 65_535];
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                carry(&ta, &mut tb, &mut packet, &mut seen);
                carry(&tb, &mut ta, &mut packet, &mut seen);
            }
            seen
        });
        work(&a, &b);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        pump.join().unwrap()
    })
}

fn carry(from: &Tun, to: &mut Tun, packet: &mut [u8], seen: &mut Vec<Vnet>) {
    while let Some(received) = from.recv(packet).unwrap() {
        seen.push(received.header);
        // In two pieces, as a packet put together from datagrams is.
        let (head, tail) = packet[..received.len].split_at(received.len / 2);
        to.send(&received.header, &[head, tail]).unwrap();
    }
}

fn tcp_transfer(a: &Netns, b: &Netns, ip: &str, bytes: usize) {
    let listener = b.inside(|| TcpListener::bind((ip, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    let data: Vec<u8> = (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let mut got = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
            got
        });
        a.inside(|| TcpStream::connect((ip, port)).unwrap().write_all(&data).unwrap());
        assert!(server.join().unwrap() == data, "the bytes that arrive are the bytes sent");
    });
}

#[test]
fn tcp_is_carried_in_super_packets() {
    if !root() {
        return;
    }
    let seen = relay(ALL, ALL, |a, b| {
        tcp_transfer(a, b, "10.8.0.2", 4 << 20);
        tcp_transfer(a, b, "fd08::2", 4 << 20);
    });
    for kind in [Vnet::GSO_TCPV4, Vnet::GSO_TCPV6] {
        assert!(seen.iter().any(|h| h.kind() == kind), "kind {kind}");
    }
    assert!(seen.iter().all(|h| !h.is_super() || h.flags & Vnet::NEEDS_CSUM != 0));
}

#[test]
fn what_one_side_lacks_is_done_in_software() {
    if !root() {
        return;
    }
    let bare = Offloads { header: false, csum: false, tso: false, uso: false };
    let csum = Offloads { header: true, csum: true, tso: false, uso: false };
    for (device, has_frames) in [(tun as fn(&Netns, &str, Offloads) -> Tun, false), (tap, true)] {
        for poor in [csum, bare] {
            let seen = relay_by(device, ALL, poor, |a, b| {
                tcp_transfer(a, b, "10.8.0.2", 1 << 20);
                tcp_transfer(b, a, "fd08::1", 1 << 20);
                tcp_transfer(a, b, "fd08::2", 1 << 20);
                if has_frames {
                    tagged_transfer(a, b);
                }
            });
            assert!(
                seen.iter().any(|h| h.is_super()),
                "the rich side makes super-packets, the poor side takes their segments"
            );
        }
    }
}

/// Through a VLAN, where this kernel has them.
fn tagged_transfer(a: &Netns, b: &Netns) {
    let vlan = |ns: &Netns, device: &str, host: u8| {
        let ip = |line: &str| {
            ns.inside(|| {
                std::process::Command::new("ip").args(line.split(' ')).output().unwrap().status.success()
            })
        };
        ip(&format!("link add link {device} name {device}.7 type vlan id 7"))
            && ip(&format!("address add 10.9.0.{host}/24 dev {device}.7"))
            && ip(&format!("link set {device}.7 up"))
    };
    if vlan(a, "rwa", 1) && vlan(b, "rwb", 2) {
        tcp_transfer(a, b, "10.9.0.2", 1 << 20);
    }
}

fn udp_super_packet(offloads_b: Offloads) {
    let seen = relay(ALL, offloads_b, |a, b| {
        let server = b.inside(|| UdpSocket::bind("10.8.0.2:0").unwrap());
        server.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let options = ropewalk_net::udp::Options::at("0.0.0.0:0".parse().unwrap());
        let mut client = a.inside(|| ropewalk_net::udp::UdpSocket::open(&options).unwrap());
        let data: Vec<u8> = (0..10_500u32).map(|i| (i / 3) as u8).collect();
        let to = server.local_addr().unwrap();
        let transmit =
            ropewalk_net::udp::Transmit { to, from: None, tos: 0, segment_size: 1000, data: &data };
        assert_eq!(client.send(&transmit).unwrap(), data.len());
        let mut buffer = [0; 2000];
        for expected in data.chunks(1000) {
            let n = server.recv(&mut buffer).unwrap();
            assert!(&buffer[..n] == expected);
        }
    });
    assert!(seen.iter().any(|h| h.kind() == Vnet::GSO_UDP_L4), "{seen:?}");
}

#[test]
fn udp_super_packets_whole_and_cut() {
    if !root() {
        return;
    }
    let ns = Netns::new("x");
    if !tun(&ns, "rw9", ALL).offloads().uso {
        ropewalk_skip::skip("this kernel has no USO for TUN devices (it came with 6.2)");
        return;
    }
    udp_super_packet(ALL);
    udp_super_packet(Offloads { uso: false, ..ALL });
}

#[test]
fn names() {
    if !root() {
        return;
    }
    let ns = Netns::new("n");
    ns.ip("link add other type veth peer name another");
    ns.inside(|| {
        let first = Tun::open(None).unwrap();
        assert_eq!(first.name(), "rw0");
        assert_ne!(first.index(), 0);
        let second = Tun::open(None).unwrap();
        assert_eq!(second.name(), "rw1");
        for name in ["rw0", "other"] {
            let error = Tun::open(Some(name)).unwrap_err();
            assert!(matches!(error, TunError::NameTaken(_)), "{name}: {error}");
        }
        for name in ["", "a/b", "a-name-of-16-byt", "with space"] {
            assert!(matches!(Tun::open(Some(name)).unwrap_err(), TunError::BadName(_)), "{name}");
        }
    });
}

#[test]
fn a_device_that_is_down_or_gone_says_so_and_one_bad_packet_does_not_hurt() {
    if !root() {
        return;
    }
    let ns = Netns::new("d");
    let mut tun = tun(&ns, "rw0", ALL);
    let bad = Vnet { flags: Vnet::NEEDS_CSUM, csum_start: 60_000, ..Vnet::default() };
    assert!(matches!(tun.send(&bad, &[&[0x45; 40]]), Err(TunError::Refused)));
    ns.ip("link set rw0 down");
    let packet = [0x45; 40];
    assert!(matches!(tun.send(&Vnet::default(), &[&packet]), Err(TunError::Down)));
    ns.ip("link del rw0");
    let mut buffer = [0; 2000];
    eventually("the device to be gone", || matches!(tun.recv(&mut buffer), Err(TunError::Gone)));
}

/// What `bridge` or `ip` says of the port.
fn port_of(ns: &Netns, name: &str) -> String {
    ns.ip(&format!("-d -o link show dev {name}"))
}

#[test]
fn a_port_joins_and_leaves_a_bridge_whose_own_address_stays() {
    if !root() {
        return;
    }
    let ns = Netns::new("b");
    ns.ip("link add br0 type bridge forward_delay 0");
    ns.ip("link add lan type veth peer name far");
    // Higher than most, so that a port with an address at random would be chosen instead.
    ns.ip("link set lan address fa:00:00:00:00:01");
    ns.ip("link set lan master br0");
    for device in ["br0", "lan", "far"] {
        ns.ip(&format!("link set {device} up"));
    }
    let own = ns.ip("-o link show dev br0");
    let ports = ["rwt0", "rwt1", "rwt2"].map(|name| tap(&ns, name, ALL));
    ns.inside(|| {
        for (port, isolated) in ports.iter().zip([false, true, true]) {
            join_bridge(port.index(), port.name(), "br0", isolated).unwrap();
        }
        for bridge in ["br9", "lan"] {
            let error = join_bridge(ports[0].index(), "rwt0", bridge, false).unwrap_err();
            assert!(matches!(error, SetupError::NoBridge(_)), "{error}");
        }
    });
    assert_eq!(ns.ip("-o link show dev br0"), own, "the bridge keeps its address");
    for (name, isolated) in [("rwt0", "isolated off"), ("rwt1", "isolated on"), ("rwt2", "isolated on")] {
        eventually("it forwards", || port_of(&ns, name).contains("state forwarding"));
        assert!(port_of(&ns, name).contains(isolated), "{name}");
    }
    ports[1].set_carrier(false).unwrap();
    eventually("it is unplugged", || port_of(&ns, "rwt1").contains("state disabled"));
    ports[1].set_carrier(true).unwrap();
    eventually("it is plugged in", || port_of(&ns, "rwt1").contains("state forwarding"));
    drop(ports);
    // Programs that other tests start hold copies of the descriptors for a moment.
    eventually("they are gone", || !ns.ip("-o link show").contains("rwt"));
}
