use super::*;
use crate::pool::Pool;
use core::net::IpAddr;

const KEY: [u8; 16] = [7; 16];

fn udp(port: u16, len: usize) -> (Inner, Vec<u8>) {
    let a = IpAddr::from([10, 0, 0, 1]);
    let inner = Inner {
        src: a,
        dst: a,
        protocol: 17,
        ports: (port, 1),
        dscp: 0,
        ecn: 0,
        tcp_flags: 0,
        transport_at: 20,
        payload_len: len as u32 - 28,
        frame: None,
    };
    (inner, vec![0; len])
}

struct Bench {
    q: Ingress,
    store: Store,
}

impl Bench {
    fn new() -> Self {
        Bench { q: Ingress::new(1 << 20), store: Store::new(Pool::new(8 << 20), 10_000) }
    }

    fn push(&mut self, port: u16, len: usize, ms: u64) {
        let (inner, packet) = udp(port, len);
        self.q
            .push(
                &mut self.store,
                &KEY,
                &inner,
                Packet::Borrowed(&packet),
                Vnet::default(),
                Time::from_millis(ms),
            )
            .unwrap();
    }

    fn take(&mut self, skip_bytes: u64, room: u32, ms: u64) -> Option<Chunk> {
        self.q.take(&mut self.store, Taker { skip_bytes }, |_, left| left.min(room), Time::from_millis(ms))
    }

    fn drain(&mut self, skip_bytes: u64) -> Vec<u32> {
        let mut seqs = Vec::new();
        while let Some(c) = self.take(skip_bytes, 1400, 0) {
            seqs.push(self.seq(c));
        }
        seqs
    }

    fn seq(&self, c: Chunk) -> u32 {
        self.store.get(c.record).seq
    }
}

#[test]
fn a_record_leaves_in_chunks_and_is_unlinked_after_the_last() {
    let mut b = Bench::new();
    b.push(1, 3000, 0);
    let c = b.take(0, 1400, 0).unwrap();
    assert_eq!((c.offset, c.len, c.at_head), (0, 1400, true));
    assert_eq!(b.take(0, 1400, 0).unwrap().offset, 1400);
    assert_eq!(b.take(0, 1400, 0).unwrap().len, 200);
    assert!(b.take(0, 1400, 0).is_none() && b.q.is_empty());
}

#[test]
fn a_slow_path_takes_what_the_fast_one_will_not_reach_in_time() {
    let mut b = Bench::new();
    for _ in 0..10 {
        b.push(1, 1000, 0);
    }
    let slow = b.take(4500, 1400, 0).unwrap();
    assert_eq!((b.seq(slow), slow.at_head), (5, false));
    let fast = b.take(0, 1400, 0).unwrap();
    assert_eq!(b.seq(fast), 0);
    // Seven to nine lie behind the skipped bytes; then the slow path is left without work.
    assert_eq!(b.drain(4500), [7, 8, 9]);
    assert_eq!(b.drain(0), [1, 2, 3, 4, 6]);
}

#[test]
fn flows_share_by_bytes() {
    let mut b = Bench::new();
    for _ in 0..100 {
        b.push(1, 1400, 0);
        b.push(2, 700, 0);
        b.push(2, 700, 0);
    }
    let mut bytes = std::collections::BTreeMap::<u16, u32>::new();
    for _ in 0..120 {
        let c = b.take(0, 1400, 0).unwrap();
        *bytes.entry(b.store.get(c.record).flow).or_default() += c.len;
    }
    let v: Vec<u32> = bytes.into_values().collect();
    assert!(v.len() == 2 && v[0].abs_diff(v[1]) < 4000, "{v:?}");
}

#[test]
fn a_sparse_flow_passes_a_backlog() {
    let mut b = Bench::new();
    (0..50).for_each(|_| b.push(1, 1400, 0));
    for _ in 0..3 {
        b.take(0, 1400, 0);
    }
    b.push(2, 1000, 1);
    let c = b.take(0, 1400, 1).unwrap();
    assert_eq!(c.len, 1000);
}

#[test]
fn codel_voids_tell_their_numbers() {
    let mut b = Bench::new();
    for ms in 0..400 {
        b.push(1, 1400, ms);
        b.push(1, 1400, ms);
    }
    let mut seqs = Vec::new();
    let mut voids = 0;
    for ms in 100..500 {
        if let Some(c) = b.take(0, 1400, ms) {
            seqs.push(b.seq(c));
            voids += (c.len == 0) as u32;
        }
    }
    assert!(voids > 0 && b.q.counters().codel_drops > 0);
    assert!(seqs.windows(2).all(|w| w[1] == w[0] + 1), "every number is sent, dropped or not");
}

#[test]
fn bounded_when_nobody_takes() {
    let mut b = Bench::new();
    for i in 0..5000u64 {
        b.push((i % 7) as u16, 1400, i / 10);
        assert!(b.q.bytes() <= (1 << 20) + 1400);
    }
    assert!(b.q.counters().overflow_drops > 1000);
    b.q.clear(&mut b.store);
    assert_eq!((b.store.in_use(), b.store.pool.used_bytes()), (0, 0));
}

#[test]
fn a_limit_in_packets_counts_segments_and_drops_the_oldest_of_the_longest_flow() {
    let mut b = Bench::new();
    b.q = Ingress::new(1 << 20).with_packets(Some(200));
    (0..150).for_each(|_| b.push(1, 1400, 0));
    (0..40).for_each(|_| b.push(2, 1400, 0));
    assert_eq!(b.q.counters().overflow_drops, 0);
    // A super-packet of 30 segments makes 20 of the first flow go.
    let (inner, packet) = udp(3, 30 * 1400 + 28);
    let vnet = Vnet { gso_type: 5, gso_size: 1400, hdr_len: 28, ..Vnet::default() };
    b.q.push(&mut b.store, &KEY, &inner, Packet::Borrowed(&packet), vnet, Time::ZERO).unwrap();
    assert_eq!(b.q.counters().overflow_drops, 20);
    let first = b.drain(0);
    assert_eq!((first.len(), b.q.segments, b.q.packets()), (191 + 30, 0, 0));
}
