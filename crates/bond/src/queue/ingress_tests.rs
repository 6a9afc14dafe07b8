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
        icmp_type: None,
        transport_at: 20,
        payload_len: len as u32 - 28,
        frame: None,
    };
    (inner, vec![0; len])
}

/// One fills the memory with what is never sent; the other, who has one packet waiting at a time, loses none.
#[test]
fn who_hoards_is_who_drops() {
    let mut store = Store::new(Pool::new(8 << 20), 10_000);
    let [mut hog, mut victim] = [(); 2].map(|()| Ingress::new(1 << 30).owned_by(store.add_owner()));
    let push = |q: &mut Ingress, store: &mut Store, port: u16, len: usize| {
        let (inner, packet) = udp(port, len);
        let hash = inner.flow_hash(&KEY);
        q.push(store, hash, &inner, DevicePacket::Borrowed(&packet), Vnet::default(), Time::ZERO).is_ok()
    };
    let lengths = [100, 1500, 6000, 60_000];
    for n in 0..40_000 {
        push(&mut hog, &mut store, n as u16, lengths[n % lengths.len()]);
        if n % 100 == 0 {
            assert!(push(&mut victim, &mut store, 1, lengths[n / 100 % lengths.len()]), "{n}");
            victim.clear(&mut store);
        }
    }
    assert!(hog.counters().overflow_drops > 30_000 && victim.counters().overflow_drops == 0);
    let (used, all) = (store.pool.used_bytes(), store.pool.capacity_bytes());
    assert!(used > all / 2 && used < all, "alone it has most of it: {used} of {all}");
    hog.clear(&mut store);
    assert_eq!((store.pool.used_bytes(), store.in_use()), (0, 0));
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
                inner.flow_hash(&KEY),
                &inner,
                DevicePacket::Borrowed(&packet),
                Vnet::default(),
                Time::from_millis(ms),
            )
            .unwrap();
    }

    fn take(&mut self, skip_bytes: u64, room: u32, ms: u64) -> Option<Fragment> {
        self.q.take(&mut self.store, Taker { skip_bytes }, |_, left| left.min(room), Time::from_millis(ms))
    }

    /// One packet leaves and is acknowledged.
    fn take_and_forget(&mut self, ms: u64) {
        let c = self.take(0, 1400, ms).unwrap();
        self.store.reap(c.packet);
    }

    fn drain(&mut self, skip_bytes: u64) -> Vec<u32> {
        let mut seqs = Vec::new();
        while let Some(c) = self.take(skip_bytes, 1400, 0) {
            seqs.push(self.seq(c));
        }
        seqs
    }

    fn seq(&self, c: Fragment) -> u32 {
        self.store.get(c.packet).seq
    }
}

#[test]
fn a_record_leaves_in_chunks_and_is_unlinked_after_the_last() {
    let mut b = Bench::new();
    b.push(1, 3000, 0);
    let c = b.take(0, 1400, 0).unwrap();
    assert_eq!((c.offset, c.len, c.no_gap_before), (0, 1400, true));
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
    assert_eq!((b.seq(slow), slow.no_gap_before), (5, false));
    let fast = b.take(0, 1400, 0).unwrap();
    assert_eq!(b.seq(fast), 0);
    // Seven to nine lie behind the skipped bytes; then the slow path is left without work.
    assert_eq!(b.drain(4500), [7, 8, 9]);
    assert_eq!(b.drain(0), [1, 2, 3, 4, 6]);
}

/// A thousand flows of small packets, each within what one may have, take half of the paths while a
/// bulk flow waits; where nobody waits they take all.
#[test]
fn small_flows_together_leave_half_of_the_paths_to_bulk() {
    let preferred = |bulk: bool| {
        let mut b = Bench::new();
        b.q.share_with_low_latency(10_000_000);
        let wait = if bulk { 100 } else { 0 };
        (0..wait).for_each(|_| b.push(9, 1400, 0));
        let mut bytes = 0;
        for ms in 0..400 {
            // 20 Mb/s of 125 bytes.
            (0..20).for_each(|n| b.push(1000 + (ms as u16 * 20 + n) % 1000, 125, ms));
            while let Some(c) = b.q.take_low_latency(&mut b.store, Time::from_millis(ms)) {
                bytes += c.len;
                b.store.reap(c.packet);
            }
            while b.q.packets() > wait {
                b.take_and_forget(ms);
            }
        }
        f64::from(bytes) / (400.0 * 20.0 * 125.0)
    };
    let (beside, alone) = (preferred(true), preferred(false));
    assert!((0.2..0.32).contains(&beside), "5 of 20 Mb/s, and what was saved up: {beside}");
    assert!(alone > 0.99, "{alone}");
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
        *bytes.entry(b.store.get(c.packet).flow).or_default() += c.len;
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

/// A burst that waits for longer than CoDel likes.
fn overdue() -> Bench {
    let mut b = Bench::new();
    for ms in 0..350 {
        b.push(1, 1400, ms);
        b.push(1, 1400, ms);
    }
    b
}

#[test]
fn what_codel_drops_from_the_head_has_no_number_and_needs_no_notice() {
    let mut b = overdue();
    let taken: Vec<Fragment> = (100..500).filter_map(|ms| b.take(0, 1400, ms)).collect();
    assert!(b.q.counters().codel_drops > 0 && taken.iter().all(|c| c.len == 1400));
    let seqs: Vec<u32> = taken.iter().map(|c| b.seq(*c)).collect();
    assert_eq!(seqs, (0..taken.len() as u32).collect::<Vec<_>>());
    let left = 700 - taken.len() as u64 - b.q.counters().codel_drops;
    assert_eq!((b.q.packets(), b.q.bytes()), (left, left * 1400));
}

#[test]
fn what_is_dropped_before_something_that_was_sent_tells_its_number() {
    let mut b = overdue();
    // A slow path took from the middle, so all before that have numbers.
    let ahead = b.take(300 * 1400, 1400, 100).unwrap();
    assert_eq!((b.seq(ahead), ahead.no_gap_before), (300, false));
    let (mut seqs, mut voids) = (vec![300], 0);
    for ms in 100..500 {
        if let Some(c) = b.take(0, 1400, ms) {
            seqs.push(b.seq(c));
            voids += u64::from(c.len == 0);
        }
    }
    assert!(voids > 0 && voids <= b.q.counters().codel_drops);
    seqs.sort_unstable();
    assert!(seqs.windows(2).all(|w| w[1] == w[0] + 1), "every number is sent, dropped or not");
}

#[test]
fn an_overflow_of_what_was_never_sent_leaves_no_trace() {
    let mut b = Bench::new();
    b.q = Ingress::new(1 << 20).with_packets(Some(20));
    (0..500).for_each(|_| b.push(1, 1400, 0));
    assert_eq!((b.q.packets(), b.q.counters().overflow_drops, b.store.in_use()), (20, 480, 20));
    assert_eq!(b.drain(0), (0..20).collect::<Vec<_>>());
}

/// Of super-packets of 64 kB, 64 at once were a quarter of such a queue.
#[test]
fn an_overflow_by_super_packets_drops_as_many_bytes_as_one_by_packets() {
    let mut b = Bench::new();
    b.q = Ingress::new(1 << 20);
    (0..17).for_each(|_| b.push(1, 64_000, 0));
    // Two of 64 kB are the first to be 96 kB.
    assert_eq!((b.q.counters().overflow_drops, b.q.packets()), (2, 15));
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
    let hash = inner.flow_hash(&KEY);
    b.q.push(&mut b.store, hash, &inner, DevicePacket::Borrowed(&packet), vnet, Time::ZERO).unwrap();
    assert_eq!(b.q.counters().overflow_drops, 20);
    let first = b.drain(0);
    assert_eq!((first.len(), b.q.segments, b.q.packets()), (171 + 30, 0, 0));
}

#[test]
fn the_queue_of_a_hop_holds_some_milliseconds_of_what_leaves() {
    let mut b = Bench::new();
    b.q = Ingress::new(8 << 20).for_a_backhaul();
    // Four leave in each millisecond, for a second: 400 are 100 ms.
    for ms in 0..1000 {
        for _ in 0..4 {
            b.push(1, 400, ms);
            b.take_and_forget(ms);
        }
    }
    assert_eq!(b.q.counters().overflow_drops, 0);
    (0..1000).for_each(|_| b.push(1, 400, 1000));
    assert!((390..=410).contains(&b.q.packets()), "{}", b.q.packets());
    // One leaves in each tenth millisecond: by and by the limit is what it was.
    for ms in (1000..3000).step_by(10) {
        b.push(1, 400, ms);
        b.take_and_forget(ms);
    }
    (0..500).for_each(|_| b.push(1, 400, 3000));
    assert!((136..=202).contains(&b.q.packets()), "{}", b.q.packets());
}

#[test]
fn acknowledgements_among_urgent_packets_are_told_from_those_in_a_hurry() {
    let mut b = Bench::new();
    let urgent = |b: &mut Bench, protocol, tcp_flags, dscp| {
        let (inner, packet) = udp(1, 52);
        let inner = Inner { protocol, tcp_flags, dscp, payload_len: 0, ..inner };
        let hash = inner.flow_hash(&KEY);
        b.q.push(&mut b.store, hash, &inner, DevicePacket::Borrowed(&packet), Vnet::default(), Time::ZERO)
            .unwrap();
        b.q.has_only_acks()
    };
    assert!(urgent(&mut b, 6, 0x10, 0) && urgent(&mut b, 6, 0x10, 0));
    assert!(!urgent(&mut b, 6, 0x02, 0), "a SYN");
    assert!(!urgent(&mut b, 6, 0x10, 0));
    while b.q.take_low_latency(&mut b.store, Time::ZERO).is_some() {}
    assert!(b.q.has_only_acks() && !urgent(&mut b, 6, 0x10, 46));
    b.q.clear(&mut b.store);
    assert!(b.q.has_only_acks() && !urgent(&mut b, 1, 0, 0));
}
