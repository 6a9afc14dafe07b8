//! CE marks on what arrives: on frames, and on TCP between two network namespaces. Needs root.

use crate::common::{becomes, ip, socket, within};
use ropewalk_kern::KernError;
use ropewalk_kern::marks::{Marks, Subflow, SubflowCounts, attached};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};
use std::time::Duration;

const LOOPBACK: u32 = 1;
/// What is sent over each connection, bytes: some 5800 segments.
const BYTES: usize = 8 << 20;
/// `struct tcp_info` as far as it is read.
const INFO: usize = 200;

/// The program, where this kernel and this user can have it.
fn load() -> Option<Marks> {
    match Marks::load() {
        Ok(marks) => Some(marks),
        Err(e @ (KernError::NotRoot | KernError::Refused(_) | KernError::NoTcx(_))) => {
            ropewalk_skip::skip(e);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Two namespaces with a cable; gone at the end.
struct Net(&'static str);

impl Net {
    fn new(name: &'static str) -> Net {
        let net = Net(name);
        for end in ["a", "b"] {
            ip(&format!("netns add mark-{name}-{end}"));
            ip(&format!("-n mark-{name}-{end} link set lo up"));
        }
        ip(&format!("link add m0 netns {} type veth peer name m0 netns {}", net.client(), net.server()));
        for (n, end) in [(net.client(), 1), (net.server(), 2)] {
            ip(&format!("-n {n} addr add 10.8.1.{end}/24 dev m0"));
            ip(&format!("-n {n} addr add fd08:1::{end}/64 dev m0 nodad"));
            ip(&format!("-n {n} link set m0 up"));
            within(&n, || std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap());
        }
        net
    }

    fn client(&self) -> String {
        format!("mark-{}-a", self.0)
    }

    fn server(&self) -> String {
        format!("mark-{}-b", self.0)
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for n in [self.client(), self.server()] {
            let _ = Command::new("ip").args(["netns", "del", &n]).stderr(Stdio::null()).status();
        }
    }
}

/// The number of an interface of this thread's namespace.
fn index(name: &str) -> u32 {
    let name = std::ffi::CString::new(name).unwrap();
    // SAFETY: the name ends with a zero and lives.
    unsafe { libc::if_nametoindex(name.as_ptr()) }
}

// Frames.

/// Ethernet, IP, TCP from port 5001 to 6001, and a few bytes. `extra` are options of IPv4, or an
/// extension header of IPv6.
fn frame(v6: bool, ecn: u8, protocol: u8, extra: &[u8]) -> Vec<u8> {
    let mut tcp = vec![0; 20];
    tcp[..4].copy_from_slice(&[0x13, 0x89, 0x17, 0x71]);
    (tcp[12], tcp[13]) = (0x50, 0x10);
    tcp.extend_from_slice(b"payload");
    let length = (extra.len() + tcp.len()) as u16;
    let mut packet = vec![0; 12];
    let begins = packet.len() + 2;
    if v6 {
        packet.extend_from_slice(&[0x86, 0xdd, 0x60, ecn << 4, 0, 0]);
        packet.extend_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(&[protocol, 64]);
        for end in [2, 1] {
            packet.extend_from_slice(&[0xfd, 0x08, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
        }
    } else {
        packet.extend_from_slice(&[0x08, 0x00, 0x45 + extra.len() as u8 / 4, ecn]);
        packet.extend_from_slice(&(20 + length).to_be_bytes());
        packet.extend_from_slice(&[0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 8, 1, 2, 10, 8, 1, 1]);
    }
    packet.extend_from_slice(extra);
    if !v6 {
        let sum = checksum(&packet[begins..]);
        packet[begins + 10..begins + 12].copy_from_slice(&sum.to_be_bytes());
    }
    packet.extend_from_slice(&tcp);
    packet
}

/// RFC 1071: 0 over a header whose checksum is right.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

fn subflow(v6: bool) -> Subflow {
    let of = |address: &str| address.parse().unwrap();
    match v6 {
        true => Subflow { from: of("[fd08:1::2]:5001"), to: of("[fd08:1::1]:6001") },
        false => Subflow { from: of("10.8.1.2:5001"), to: of("10.8.1.1:6001") },
    }
}

/// What comes out where it is not what went in; each a thousand times.
fn changed(marks: &Marks, frame: &[u8]) -> Vec<Vec<u8>> {
    let out = (0..1000).map(|_| marks.pass(frame).unwrap());
    out.filter(|after| after != frame).collect()
}

#[test]
fn a_mark_changes_two_bits_and_the_checksum_of_what_may_be_marked() {
    if load().is_none() {
        return;
    }
    let net = Net::new("f");
    within(&net.client(), || {
        let mut marks = Marks::load().unwrap();
        marks.attach(LOOPBACK).unwrap();
        let options = [1, 1, 1, 0];
        for (v6, ecn, extra) in
            [(false, 2, &[][..]), (false, 1, &[]), (false, 2, &options), (true, 2, &[]), (true, 1, &[])]
        {
            let before = frame(v6, ecn, 6, extra);
            assert!(changed(&marks, &before).is_empty(), "nobody has named it");
            assert!(marks.set_policy(subflow(v6), 0.0, Duration::ZERO).unwrap());
            assert!(changed(&marks, &before).is_empty(), "a share of 0");
            assert!(marks.set_policy(subflow(v6), 1.0, Duration::ZERO).unwrap());
            let all = changed(&marks, &before);
            let seen = marks.subflow_counts(subflow(v6)).unwrap().unwrap();
            assert_eq!(seen, SubflowCounts { ect: 2000, marked: all.len() as u64, not_ect: 0 });
            assert!(!all.is_empty() && seen.marked * 20 <= seen.ect, "{seen:?}");
            let mut want = before.clone();
            if v6 {
                want[15] |= 0x30;
            } else {
                want[15] |= 3;
                let header = 14..34 + extra.len();
                want[24..26].fill(0);
                let sum = checksum(&want[header]);
                want[24..26].copy_from_slice(&sum.to_be_bytes());
            }
            assert!(all.iter().all(|after| *after == want), "{before:x?}\n{want:x?}\n{:x?}", all[0]);
            marks.forget(subflow(v6)).unwrap();
            assert_eq!(marks.subflow_counts(subflow(v6)).unwrap(), None);
            assert!(changed(&marks, &before).is_empty(), "it is forgotten");
        }
    });
}

#[test]
fn what_may_not_be_marked_is_let_through_and_counted() {
    if load().is_none() {
        return;
    }
    let net = Net::new("n");
    within(&net.client(), || {
        let mut marks = Marks::load().unwrap();
        marks.attach(LOOPBACK).unwrap();
        for v6 in [false, true] {
            let start = marks.interface_counts(LOOPBACK).unwrap().unwrap();
            assert!(marks.set_policy(subflow(v6), 1.0, Duration::ZERO).unwrap());
            // So much came that a mark would be due.
            changed(&marks, &frame(v6, 2, 6, &[]));
            let mut nulls = vec![
                ("not ECT", frame(v6, 0, 6, &[])),
                ("CE already", frame(v6, 3, 6, &[])),
                ("UDP", frame(v6, 2, 17, &[])),
                ("another port", {
                    let mut other = frame(v6, 2, 6, &[]);
                    let port = if v6 { 55 } else { 35 };
                    other[port] += 1;
                    other
                }),
                ("not IP", {
                    let mut arp = frame(v6, 2, 6, &[]);
                    arp[12..14].copy_from_slice(&[0x08, 0x06]);
                    arp
                }),
            ];
            if v6 {
                nulls.push(("an extension header", frame(true, 2, 60, &[6, 0, 1, 4, 0, 0, 0, 0])));
            } else {
                for (name, at, bits) in [("a first fragment", 20, 0x20), ("a later fragment", 21, 9)] {
                    let mut fragment = frame(false, 2, 6, &[]);
                    fragment[at] |= bits;
                    nulls.push((name, fragment));
                }
            }
            for (name, null) in &nulls {
                let before = marks.subflow_counts(subflow(v6)).unwrap().unwrap();
                assert!(changed(&marks, null).is_empty(), "{name}");
                let after = marks.subflow_counts(subflow(v6)).unwrap().unwrap();
                assert_eq!((before.ect, before.marked), (after.ect, after.marked), "{name}");
            }
            let end = marks.interface_counts(LOOPBACK).unwrap().unwrap();
            assert_eq!((end.ce - start.ce, end.not_ect - start.not_ect), (1000, 1000), "{end:?}");
            // UDP, and what is no IP; two fragments, or an extension header.
            assert_eq!(end.other - start.other, if v6 { 3000 } else { 4000 }, "{end:?}");
            // Cut anywhere before the end of the ports.
            let whole = frame(v6, 2, 6, &[]);
            for length in 14..if v6 { 58 } else { 38 } {
                // The kernel takes some lengths for no frame at all.
                (0..50).filter_map(|_| marks.pass(&whole[..length]).ok()).for_each(|after| {
                    assert_eq!(after, whole[..length], "{length} bytes");
                });
            }
        }
    });
}

#[test]
fn there_is_room_for_so_many_subflows_and_no_more() {
    let Some(mut marks) = load() else { return };
    let of = |port: u16| Subflow {
        from: SocketAddr::from(([10, 8, 1, 2], port)),
        to: SocketAddr::from(([10, 8, 1, 1], 80)),
    };
    let most = ropewalk_kern::marks::SUBFLOWS as u16;
    (0..most).for_each(|port| assert!(marks.set_policy(of(port), 0.01, Duration::ZERO).unwrap()));
    assert!(!marks.set_policy(of(most), 0.01, Duration::ZERO).unwrap());
    assert!(marks.set_policy(of(7), 0.02, Duration::ZERO).unwrap(), "it has its place");
    marks.forget(of(3)).unwrap();
    assert!(marks.set_policy(of(most), 0.01, Duration::ZERO).unwrap());
}

// TCP.

/// A download, as its ends saw it.
#[derive(Debug)]
struct Download {
    seen: Option<SubflowCounts>,
    /// Of the sender, segments: delivered with a mark, its window, and sent again.
    marked: u32,
    window: u32,
    resent: u32,
}

fn info(stream: &TcpStream) -> [u8; INFO] {
    let mut bytes = [0; INFO];
    let mut length = INFO as libc::socklen_t;
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the array is as long as the kernel is told.
    let done = unsafe {
        libc::getsockopt(stream.as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &raw mut length)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    bytes
}

/// Which congestion control it has from now on; false: this kernel has no such.
fn control(stream: &TcpStream, name: &str) -> bool {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    // SAFETY: the name lives, and is as long as the kernel is told.
    let done = unsafe {
        libc::setsockopt(stream.as_raw_fd(), level, option, name.as_ptr().cast(), name.len() as u32)
    };
    done == 0
}

fn pattern() -> Vec<u8> {
    (0..BYTES).map(|n| (n % 251) as u8).collect()
}

/// Runs on a thread of the client's namespace. `policy`: the share and the spacing.
fn download(
    net: &'static str,
    marks: &mut Marks,
    address: &str,
    law: &'static str,
    policy: Option<(f64, Duration)>,
) -> Option<Download> {
    let address: SocketAddr = address.parse().unwrap();
    let listener = within(&format!("mark-{net}-b"), move || TcpListener::bind(address).unwrap());
    // SAFETY: the descriptor is this function's own.
    let mut here = unsafe { TcpStream::from_raw_fd(socket(address, 0)) };
    let to = listener.local_addr().unwrap();
    rustix::net::connect(&here, &rustix::net::SocketAddrAny::from(to)).unwrap();
    let (mut there, _) = listener.accept().unwrap();
    if !control(&there, law) {
        ropewalk_skip::skip(format_args!("this kernel has no {law}"));
        return None;
    }
    let subflow = Subflow { from: to, to: here.local_addr().unwrap() };
    if let Some((share, spacing)) = policy {
        assert!(marks.set_policy(subflow, share, spacing).unwrap());
    }
    let sender = std::thread::spawn(move || {
        there.write_all(&pattern()).unwrap();
        // All is acknowledged when the other end says so.
        there.read_exact(&mut [0]).unwrap();
        info(&there)
    });
    let mut got = vec![0; BYTES];
    here.read_exact(&mut got).unwrap();
    assert!(got == pattern(), "other bytes arrived than were sent");
    here.write_all(&[1]).unwrap();
    let info = sender.join().unwrap();
    let word = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().unwrap());
    let seen = marks.subflow_counts(subflow).unwrap();
    marks.forget(subflow).unwrap();
    Some(Download { seen, marked: word(196), window: word(80), resent: word(100) })
}

/// The first of ten downloads that says something: segments are lost on a cable of this kind, too,
/// and a loss makes a window smaller, as an answer to marks does.
fn telling(
    says: impl Fn(&Download) -> bool,
    mut download: impl FnMut() -> Option<Download>,
) -> Option<Download> {
    let mut others = Vec::new();
    for _ in 0..10 {
        let one = download()?;
        if says(&one) {
            return Some(one);
        }
        others.push(one);
    }
    panic!("none of ten is what was looked for: {others:?}");
}

/// Packets that the kernel dropped for a wrong IPv4 header or a wrong TCP checksum.
fn damaged() -> u64 {
    let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let of = |protocol: &str, name: &str| {
        let mut lines = snmp.lines().filter(|l| l.starts_with(protocol));
        let at = lines.next().unwrap().split_whitespace().position(|n| n == name).unwrap();
        lines.next().unwrap().split_whitespace().nth(at).unwrap().parse::<u64>().unwrap()
    };
    of("Ip:", "InHdrErrors") + of("Tcp:", "InCsumErrors")
}

const BOTH: [&str; 2] = ["10.8.1.2:0", "[fd08:1::2]:0"];
/// More than all.
const ALL: Option<(f64, Duration)> = Some((1.0, Duration::ZERO));

#[test]
fn senders_hear_of_marks_and_reno_answers_them() {
    if load().is_none() {
        return;
    }
    let net = Net::new("t");
    let server = net.server();
    within(&net.client(), move || {
        let mut marks = Marks::load().unwrap();
        let m0 = index("m0");
        marks.attach(m0).unwrap();
        let counts = |marks: &Marks| marks.interface_counts(m0).unwrap().unwrap();
        // Super-packets as they come over a cable of this kind, then single segments.
        for single in [false, true] {
            if single {
                ip(&format!("-n {server} link set m0 gso_max_segs 1"));
            }
            for address in BOTH {
                // A small window without a loss is an answer to marks, a larger one is none.
                let without_loss = |d: &Download| d.resent == 0;
                let mut before = counts(&marks);
                let marked = || {
                    before = counts(&marks);
                    download("t", &mut marks, address, "reno", ALL)
                };
                let reno = telling(without_loss, marked).unwrap();
                let is_larger = |d: &Download| d.window > reno.window;
                let seen = reno.seen.unwrap();
                let after = counts(&marks);
                assert!(seen.ect > 4000, "{reno:?}");
                assert!(seen.marked * 20 <= seen.ect && seen.marked * 80 >= seen.ect, "{reno:?}");
                assert_eq!(after.marked - before.marked, seen.marked);
                assert_eq!(after.ect - before.ect, seen.ect);
                assert!(reno.marked > 0 && reno.window < 100, "{reno:?}");

                // The null cases: nothing asked, and nobody named.
                for policy in [Some((0.0, Duration::ZERO)), None] {
                    let free = || {
                        let free = download("t", &mut marks, address, "reno", policy).unwrap();
                        assert!(free.marked == 0 && free.seen.is_none_or(|s| s.marked == 0), "{free:?}");
                        Some(free)
                    };
                    telling(is_larger, free).unwrap();
                }
                assert_eq!(counts(&marks).marked, after.marked);

                // One mark in an hour is one mark, however much is asked.
                let hour = Some((1.0, Duration::from_secs(3600)));
                let seldom = download("t", &mut marks, address, "reno", hour).unwrap();
                let one = seldom.seen.unwrap().marked;
                assert!(one >= 1 && (!single || one == 1) && one < 200, "{seldom:?}");

                // BBR hears of them, and does as it would have done.
                if let Some(bbr) = telling(is_larger, || download("t", &mut marks, address, "bbr", ALL)) {
                    assert!(bbr.marked > 0, "{bbr:?}");
                }
            }
        }
        assert_eq!(damaged(), 0);

        // UDP is none of its business.
        let before = counts(&marks);
        let to = within(&server, || {
            let socket = UdpSocket::bind("10.8.1.2:0").unwrap();
            (0..50).for_each(|_| {
                socket.send_to(&[0; 1000], "10.8.1.1:9").unwrap();
            });
            socket.local_addr().unwrap().port()
        });
        assert!(to > 0);
        becomes("UDP is counted", || counts(&marks).other >= before.other + 50);
        assert_eq!(counts(&marks).marked, before.marked);

        // Who does not speak ECN is not marked.
        within(&server, || std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "0").unwrap());
        let without = download("t", &mut marks, BOTH[0], "reno", ALL).unwrap();
        let seen = without.seen.unwrap();
        assert_eq!((seen.ect, seen.marked, without.marked), (0, 0, 0), "{without:?}");
        assert!(seen.not_ect > 0, "{without:?}");
    });
}

#[test]
fn detached_or_killed_nothing_is_left() {
    if load().is_none() {
        return;
    }
    let net = Net::new("k");
    let client = net.client();
    within(&client, || {
        let mut marks = Marks::load().unwrap();
        let m0 = index("m0");
        assert_eq!(attached(m0).unwrap(), 0);
        marks.attach(m0).unwrap();
        marks.attach(m0).unwrap();
        assert_eq!(attached(m0).unwrap(), 1);
        marks.detach(m0).unwrap();
        marks.detach(m0).unwrap();
        assert_eq!((attached(m0).unwrap(), marks.interface_counts(m0).unwrap()), (0, None));
        marks.attach(m0).unwrap();
        drop(marks);
        becomes("no program is left", || attached(m0).unwrap() == 0);
        assert!(Marks::load().unwrap().attach(12_345).is_err(), "there is no such interface");
    });
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "marks::one_that_is_killed", "--nocapture"])
        .env(HOLDS, &client)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    within(&client, move || {
        let m0 = index("m0");
        becomes("the other process has attached it", || attached(m0).unwrap() == 1);
        // SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        becomes("no program is left", || attached(m0).unwrap() == 0);
    });
}

/// The other process of the test above, which says in which namespace.
const HOLDS: &str = "ROPEWALK_TEST_HOLDS_MARKS";

#[test]
fn one_that_is_killed() {
    let Ok(namespace) = std::env::var(HOLDS) else { return };
    within(&namespace, || {
        let mut marks = Marks::load().unwrap();
        marks.attach(index("m0")).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    });
}
