//! What a hostile sender can make the receiving end's order take from the heap, as the allocator counts it.
//!
//! One test, because the allocator counts for the whole process.

use ropewalk_bond::order::{Delivery, Reassembly};
use ropewalk_bond::pool::Pool;
use ropewalk_bond::wire::{Fragment, Timestamp};
use ropewalk_time::{Duration, Time};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::collections::VecDeque;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes now on the heap.
fn live() -> usize {
    let s = HEAP.stats();
    s.bytes_allocated - s.bytes_deallocated
}

struct End {
    order: Reassembly,
    pool: Pool,
    out: VecDeque<Delivery>,
    now: Time,
    before: usize,
}

impl End {
    fn new() -> End {
        let (pool, out, now) = (Pool::new(64 << 20), VecDeque::with_capacity(64), Time::from_millis(1));
        End { order: Reassembly::default(), pool, out, now, before: live() }
    }

    fn skip(&mut self, flow: u16, seq: u32) {
        self.order.on_skip(&mut self.pool, (flow, seq), None, self.now, &mut self.out);
    }

    fn byte(&mut self, flow: u16, seq: u32, of: u16) {
        let c =
            Fragment { flow, seq, offset: 0, total: Some(of), vnet: None, no_gap_before: false, data: &[0] };
        self.order.on_fragment(&mut self.pool, &c, Timestamp::of(self.now), self.now, &mut self.out);
        self.out.drain(..).for_each(|d| self.pool.free(d.buf));
    }

    fn heap(&self) -> usize {
        live() - self.before
    }
}

#[test]
fn the_heap_has_its_bound_and_is_given_back() {
    // 24 kB of frames left 620 MB.
    let mut e = End::new();
    for flow in 0..1024 {
        e.skip(flow, 0);
        e.skip(flow, 2048);
        e.byte(flow, 8193, 1);
    }
    assert!(e.heap() < 1 << 20, "{} bytes", e.heap());

    // Whatever else costs much: a packet in parts or a number abandoned in as many places as there are, over all flows.
    for round in 0..60u32 {
        for flow in 0..1024 {
            e.byte(flow, 8200 + round * 70, 2);
            e.skip(flow, 8210 + round * 70);
            e.byte(flow | 0x8000, round * 2000, 1);
        }
    }
    let (told, heap) = (e.order.heap_bytes(), e.heap());
    println!("{heap} bytes of the heap, {told} told, {} at most", Reassembly::MOST_HEAP);
    assert!(e.order.counters().refused > 0, "the bounds were met");
    // The allocator's figure has the histogram of waits in it, and rounds nothing.
    assert!(heap < told + 100_000 && told <= Reassembly::MOST_HEAP && told < heap + heap / 8);
    const { assert!(Reassembly::MOST_HEAP < 5 << 20) };

    // A minute of silence later everything is back.
    for _ in 0..70 {
        e.now += Duration::from_secs(1);
        let hold = ropewalk_bond::order::Hold {
            repair: Duration::from_millis(50),
            deadline: Duration::from_millis(200),
            of_packets: false,
        };
        e.order.check(&mut e.pool, e.now, None, hold, &mut e.out);
        e.order.expire(&mut e.pool, e.now, &mut e.out);
        e.out.drain(..).for_each(|d| e.pool.free(d.buf));
    }
    assert_eq!((e.order.gaps(), e.order.held_bytes(), e.pool.used_bytes()), (0, 0, 0));
    assert!(e.heap() < 200 << 10, "{} bytes", e.heap());
    e.order.clear(&mut e.pool);
    drop(std::mem::take(&mut e.order));
    assert!(e.heap() < 100 << 10, "{} bytes", e.heap());
}
