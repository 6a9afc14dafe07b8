//! The table's bounds, and what counts as noticed.

use super::*;
use crate::inner::Inner;
use crate::path::PathId;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

const HASH_KEY: [u8; 16] = [3; 16];
const BULK: Packet = Packet { bytes: 1500, low_latency: false };
const SMALL: Packet = Packet { bytes: 60, low_latency: true };
const MOST: usize = 4096;
const REMOTE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4500);

fn peer(n: u8) -> PublicKey {
    PublicKey([n; 32])
}

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// A packet that leaves here, of connection `n`.
fn leaving(n: u32) -> Inner {
    let [.., a, b] = n.to_be_bytes();
    Inner {
        src: IpAddr::from([10, 77, (n >> 16) as u8, 2]),
        dst: IpAddr::from([192, 0, 2, 1]),
        protocol: 6,
        ports: (u16::from_be_bytes([a, b]), 443),
        dscp: 0,
        ecn: 0,
        tcp_flags: 0x10,
        icmp_type: None,
        transport_at: 20,
        payload_len: 0,
        frame: None,
    }
}

fn send(flows: &mut Flows, whose: u8, n: u32, at: Time) {
    let inner = leaving(n);
    flows.on_sent(&peer(whose), inner.flow_hash(&HASH_KEY), &inner, SMALL, at);
}

fn deliver(flows: &mut Flows, whose: u8, n: u32, at: Time) {
    flows.on_delivered(&peer(whose), &HASH_KEY, &leaving(n).answer(), BULK, at);
}

fn status(flows: &Flows, whose: u8, now: Time) -> FlowsStatus {
    flows.status([peer(whose)].iter(), usize::MAX, now)
}

#[test]
fn both_ways_are_one_connection() {
    let mut flows = Flows::new(MOST);
    for n in 0..1000 {
        deliver(&mut flows, 1, 7, ms(1000 + 2 * n));
        if n % 2 == 0 {
            send(&mut flows, 1, 7, ms(1001 + 2 * n));
        }
    }
    let now = ms(3000);
    let all = status(&flows, 1, now);
    assert!(all.counted && all.total == 1, "{all:?}");
    let f = &all.flows[0];
    assert_eq!((f.here, f.there.1, f.protocol), (("10.77.0.2".parse().unwrap(), 7), 443, 6));
    assert_eq!((f.received.bytes, f.received.packets), (1_500_000, 1000));
    assert_eq!((f.sent.bytes, f.sent.packets, f.low_latency), (30_000, 500, false));
    assert_eq!((f.first, f.longest_gap), (ms(1000), Duration::from_millis(2)));
    // 1500 bytes every 2 ms.
    assert!((f.received.bps as f64 / 6e6 - 1.0).abs() < 0.02, "{f:?}");
    assert!(status(&flows, 1, ms(13_000)).flows[0].received.bps < 1_000_000, "it has stopped");
    assert_eq!(status(&flows, 2, now).total, 0, "another peer's are not shown");
}

#[test]
fn a_hundred_thousand_connections_take_no_more_room_than_a_few() {
    let mut flows = Flows::new(MOST);
    for n in 0..100_000 {
        send(&mut flows, 1, n, ms(1000 + u64::from(n)));
        // One that is used all the time stays.
        deliver(&mut flows, 1, 4_000_000, ms(1000 + u64::from(n)));
    }
    let all = status(&flows, 1, ms(101_000));
    assert!(all.total <= MOST && all.total > MOST * 9 / 10, "{}", all.total);
    assert_eq!(all.flows[0].received.packets, 100_000, "the busiest is first");
    let late = all.flows.iter().filter(|f| f.first >= ms(1000 + 100_000 - MOST as u64)).count();
    assert!(late > all.total * 6 / 10, "the latest are there: {late} of {}", all.total);
    assert!(all.flows.iter().all(|f| f.received.packets == 100_000 || f.first >= ms(60_000)));
    assert!(Flows::bytes(MOST) <= 2 << 20, "{} bytes", Flows::bytes(MOST));
}

#[test]
fn who_opens_thousands_leaves_the_others_theirs() {
    let mut flows = Flows::new(MOST);
    (0..200).for_each(|n| send(&mut flows, 1, n, ms(1000)));
    for n in 0..100_000 {
        send(&mut flows, 2, n, ms(2000 + u64::from(n)));
    }
    let [kept, flood] = [1, 2].map(|whose| status(&flows, whose, ms(102_000)).total);
    assert_eq!(kept, 200);
    assert!(flood > MOST * 3 / 4);
}

#[test]
fn what_was_silent_for_long_is_forgotten() {
    let mut flows = Flows::new(8);
    (0..8).for_each(|n| send(&mut flows, 1, n, ms(1000 + u64::from(n))));
    assert_eq!(status(&flows, 1, ms(600_999)).total, 8);
    assert_eq!(status(&flows, 1, ms(601_003)).total, 4);
    // Whose places they were does not matter then: the other peer has all that are free.
    (0..9).for_each(|n| send(&mut flows, 2, n, ms(601_003 + u64::from(n))));
    assert_eq!([1, 2].map(|whose| status(&flows, whose, ms(601_012)).total), [0, 8]);
}

#[test]
fn none_are_counted_where_none_are_wanted_nor_what_is_no_ip() {
    for most in [0, 7] {
        let mut flows = Flows::new(most);
        send(&mut flows, 1, 1, ms(1));
        assert_eq!((flows.counts(), status(&flows, 1, ms(2)).total), (false, 0));
    }
    let arp = [&[0xff; 6][..], &[2; 6], &[8, 6], &[0; 46]].concat();
    let arp = Inner::parse_frame(&arp).unwrap();
    let mut flows = Flows::new(MOST);
    flows.on_sent(&peer(1), arp.flow_hash(&HASH_KEY), &arp, SMALL, ms(1));
    assert_eq!(status(&flows, 1, ms(2)).total, 0);
}

/// Deliveries of connection `n` every `every` ms from 1 s on, none in `pause`, none from `end` on.
fn run(flows: &mut Flows, n: u32, every: u64, pause: core::ops::Range<u64>, end: u64) {
    for at in (1000..end).step_by(every as usize).filter(|at| !pause.contains(at)) {
        deliver(flows, 1, n, ms(at));
    }
}

/// How many connections were delivering when a path died at 5 s, and how many noticed, as of 8 s.
fn judged(flows: &Flows, no_way: bool) -> (u32, u32) {
    let path = PathId::new(1).unwrap();
    let (since, until) = (ms(5000), Some(ms(6000)));
    let outage = Outage { peer: peer(1), path, remote: REMOTE, since, until, was_down: true };
    flows.judge(&[outage], &[no_way], ms(8000))[0]
}

#[test]
fn a_pause_that_is_longer_than_usual_is_noticed() {
    let of = |every: u64, pause: core::ops::Range<u64>, end: u64| {
        let mut flows = Flows::new(MOST);
        run(&mut flows, 1, every, pause, end);
        judged(&flows, false)
    };
    assert_eq!(of(20, 0..0, 8000), (1, 0), "it went on");
    assert_eq!(of(20, 5000..5200, 8000), (1, 0), "a pause of 200 ms is none");
    assert_eq!(of(20, 5000..5400, 8000), (1, 1));
    assert_eq!(of(20, 5000..6100, 8000), (1, 1));
    assert_eq!(of(20, 5300..6100, 8000), (1, 1), "what was under way came first");
    assert_eq!(of(20, 6500..7100, 8000), (1, 0), "too late to be the path's doing");
    assert_eq!(of(20, 4000..4500, 8000), (1, 0), "over before");
    assert_eq!(of(400, 0..0, 8000), (1, 0), "its own pauses are of 400 ms");
    assert_eq!(of(2000, 0..0, 8000), (0, 0), "idle mostly: it is not missed");
    assert_eq!(of(20, 1000..4500, 8000), (0, 0), "half a second old");
    assert_eq!(of(20, 4000..9000, 9000), (0, 0), "it had ended before");
}

#[test]
fn one_that_stands_still_has_noticed_if_it_is_asked_in_vain() {
    let mut flows = Flows::new(MOST);
    run(&mut flows, 1, 20, 0..0, 5000);
    assert_eq!(judged(&flows, false), (1, 0), "it is at its end");
    assert_eq!(judged(&flows, true), (1, 1), "nothing could come");
    send(&mut flows, 1, 1, ms(5100));
    assert_eq!(judged(&flows, false), (1, 0), "a last word");
    send(&mut flows, 1, 1, ms(5700));
    assert_eq!(judged(&flows, false), (1, 1));
}

#[test]
fn each_outage_is_judged_by_its_own_peer_and_time() {
    let mut flows = Flows::new(MOST);
    for n in 0..14 {
        run(&mut flows, n, 10, if n < 5 { 5000..5900 } else { 0..0 }, 12_000);
    }
    let path = PathId::new(0).unwrap();
    let outage = |whose: u8, since: u64| Outage {
        peer: peer(whose),
        path,
        remote: REMOTE,
        since: ms(since),
        until: None,
        was_down: true,
    };
    let outages = [outage(1, 5000), outage(2, 5000), outage(1, 9000)];
    assert_eq!(flows.judge(&outages, &[false; 3], ms(12_000)), [(14, 5), (0, 0), (14, 0)]);
}
