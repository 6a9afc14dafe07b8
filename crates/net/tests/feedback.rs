//! Link feedback from real queues. Needs root; says so and passes otherwise.

use std::net::UdpSocket;
use std::time::Duration;

use crate::common::{Netns, cable, eventually, root};
use ropewalk_net::feedback::{Events, FeedbackError, LinkFeedback, LinkReport, Source, open};

const EVERY: Duration = Duration::from_millis(5);
/// Payload of each datagram, bytes; on the cable 42 more.
const PAYLOAD: usize = 1000;

/// Two namespaces with a cable; the first end's queue is set with `tc`.
///
/// ```text
///  near wan0 ──(tc)── wan0 far
/// ```
fn pair(qdisc: &str) -> (Netns, Netns) {
    let (near, far) = (Netns::new("near"), Netns::new("far"));
    // What the kernel says unasked would be counted too.
    for ns in [&near, &far] {
        ns.run("sysctl", "-q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
    }
    cable((&near, "wan0", &["192.0.2.1/24"]), (&far, "wan0", &["192.0.2.2/24"]));
    // Neighbours are known, so that nothing but datagrams goes out.
    for (ns, other, address) in [(&near, &far, "192.0.2.2"), (&far, &near, "192.0.2.1")] {
        let mac = other.run("cat", "/sys/class/net/wan0/address");
        ns.ip(&format!("neighbour add {address} lladdr {} dev wan0", mac.trim()));
    }
    near.run("tc", &format!("qdisc add dev wan0 root {qdisc}"));
    (near, far)
}

fn source(near: &Netns) -> Box<dyn LinkFeedback> {
    near.inside(|| open("wan0", EVERY)).unwrap().feedback
}

/// Sends datagrams to the other end.
fn blast(near: &Netns, datagrams: u64) {
    near.inside(|| {
        let socket = UdpSocket::bind("192.0.2.1:0").unwrap();
        let sent = (0..datagrams).filter(|_| socket.send_to(&[0; PAYLOAD], "192.0.2.2:9").is_ok()).count();
        assert_eq!(sent as u64, datagrams);
    });
}

fn since(now: &LinkReport, before: &LinkReport) -> (u64, u64) {
    (now.delivered - before.delivered, now.failed - before.failed)
}

#[test]
fn a_shapers_backlog_rises_and_falls_and_every_packet_is_counted() {
    if !root() {
        return;
    }
    // 40 datagrams of 1042 bytes take 1.3 s; the queue of the second holds ten.
    for qdisc in [
        "tbf rate 250kbit burst 2k limit 1000000",
        "tbf rate 250kbit burst 2k limit 10420",
        "handle 1: htb default 10",
    ] {
        let (near, _far) = pair(qdisc);
        if qdisc.contains("htb") {
            near.run("tc", "class add dev wan0 parent 1: classid 1:10 htb rate 250kbit burst 2k cburst 2k");
        }
        let mut source = source(&near);
        assert_eq!(source.source(), Source::Qdisc);
        assert!(matches!(source.events(), Events::Every(every) if every == EVERY));
        let before = source.read().unwrap();
        blast(&near, 40);
        let loaded = source.read().unwrap();
        let waiting = u64::from(loaded.backlog_packets);
        assert!(waiting > 0 && loaded.backlog_bytes == waiting * 1042, "{qdisc}: {loaded:?}");
        let (delivered, failed) = since(&loaded, &before);
        assert_eq!(delivered + failed + waiting, 40, "{qdisc}: {loaded:?}");
        eventually("the queue is empty again", || source.read().unwrap().backlog_packets == 0);
        let after = source.read().unwrap();
        let (delivered, failed) = since(&after, &before);
        assert_eq!(delivered + failed, 40, "{qdisc}: {after:?}");
        assert_eq!(failed > 0, qdisc.contains("10420"), "{qdisc}: {after:?}");
        assert_eq!((after.epoch, after.backlog_bytes), (before.epoch, 0));
    }
}

#[test]
fn another_discipline_is_another_epoch_and_none_is_said() {
    if !root() {
        return;
    }
    let (near, _far) = pair("pfifo");
    blast(&near, 2);
    let mut source = source(&near);
    let first = source.read().unwrap();
    assert_eq!(first.delivered, 2, "{first:?}");
    near.run("tc", "qdisc replace dev wan0 root handle 7: pfifo limit 10");
    let second = source.read().unwrap();
    assert_eq!((second.delivered, second.epoch == first.epoch), (0, false), "{second:?}");
    near.run("tc", "qdisc del dev wan0 root");
    let none = near.inside(|| open("wan0", EVERY)).unwrap_err().to_string();
    assert!(
        none.starts_with("wan0 has no link feedback: lab: this is no radio of a lab; nl80211: "),
        "{none}"
    );
    assert!(
        none.ends_with("qdisc: wan0 has no queue of its own (noqueue): what is sent is gone at once"),
        "{none}"
    );
    near.ip("link del wan0");
    assert!(matches!(source.read(), Err(FeedbackError::Gone(Source::Qdisc))));
}

#[test]
fn completions_that_no_driver_reports_cost_nothing() {
    use ropewalk_net::udp::{Options, RecvBatch, Transmit, UdpSocket};
    if !root() {
        return;
    }
    let (near, _far) = pair("pfifo");
    let mut socket = near.inside(|| UdpSocket::open(&Options::at("192.0.2.1:0".parse().unwrap()))).unwrap();
    assert!(!socket.take_completions(), "nobody asked for any");
    let counter = socket.count_completions().unwrap();
    assert!(!socket.has_gso(), "the kernel keeps no status for what it cuts");
    let to = "192.0.2.2:9".parse().unwrap();
    let transmit = Transmit { to, from: None, tos: 0, segment_size: PAYLOAD, data: &[0; 3 * PAYLOAD] };
    assert_eq!(socket.send(&transmit).unwrap(), 3 * PAYLOAD);
    // The other end has no such port: what comes back is not taken for a completion.
    std::thread::sleep(Duration::from_millis(20));
    assert!(!socket.take_completions());
    assert_eq!((counter.totals(), socket.recv(&mut RecvBatch::new(1)).unwrap_or(0)), ((0, 0), 0));
}
