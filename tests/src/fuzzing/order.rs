//! The order table: any sequence of fragments, notices and looks at the clock.
//!
//! From an honest sender (every fragment of a record is a part of the same record) each record comes out whole, once, and in
//! order unless it was late. From any other: no panic, memory within its bound, and all of it back at the end.

use super::Feed;
use ropewalk_bond::order::{Delivery, Hold, Reassembly};
use ropewalk_bond::pool::Pool;
use ropewalk_bond::store::LOW_LATENCY;
use ropewalk_bond::vnet::Vnet;
use ropewalk_bond::wire::{Fragment, Timestamp};
use ropewalk_time::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

const MEMORY: usize = 1 << 20;

struct Rig {
    table: Reassembly,
    pool: Pool,
    out: VecDeque<Delivery>,
    now: Time,
    honest: bool,
    first: u32,
    /// Numbers delivered, by flow, in order.
    seen: BTreeMap<u16, Vec<u32>>,
}

/// Operations.
pub(super) fn target(data: &[u8]) {
    let mut feed = Feed::new(data);
    let honest = feed.u8() & 1 == 1;
    let first = feed.u32() & 0xff_ffff;
    let mut rig = Rig {
        table: Reassembly::default(),
        pool: Pool::new(MEMORY),
        out: VecDeque::new(),
        now: Time::from_millis(1000),
        honest,
        first,
        seen: BTreeMap::new(),
    };
    while !feed.is_empty() {
        rig.step(&mut feed);
        rig.drain();
        assert!(rig.pool.used_bytes() <= rig.pool.capacity_bytes());
        assert!(rig.table.held_bytes() as usize <= rig.pool.used_bytes(), "accounts of held memory");
    }
    rig.check_order();
    rig.table.clear(&mut rig.pool);
    rig.drain();
    assert_eq!(rig.pool.used_bytes(), 0, "memory is given back");
}

impl Rig {
    fn step(&mut self, feed: &mut Feed<'_>) {
        match feed.u8() % 8 {
            0 => {
                let (flow, seq) = self.place(feed);
                self.table.on_skip(&mut self.pool, (flow, seq), None, self.now, &mut self.out);
            }
            1 => self.now += Duration::from_micros(feed.scaled(22)),
            2 => {
                let back = Duration::from_micros(feed.scaled(22));
                let newest = (!back.is_zero()).then(|| Timestamp::of(self.now - back));
                let (repair, deadline) = (Duration::from_millis(20), Duration::from_millis(100));
                let hold = Hold { repair, deadline, of_packets: back.as_micros() % 2 == 1 };
                let next = self.table.check(&mut self.pool, self.now, newest, hold, &mut self.out);
                assert!(next.is_none_or(|t| t > self.now), "the table wants to be asked in the past");
                assert_eq!(next.is_some(), self.table.gaps() > 0, "a gap without a deadline");
            }
            _ if self.honest => self.honest_chunk(feed),
            _ => self.any_chunk(feed),
        }
    }

    fn place(&self, feed: &mut Feed<'_>) -> (u16, u32) {
        let flow = feed.u8();
        let flow = u16::from(flow & 3) | if flow & 0x80 != 0 { LOW_LATENCY } else { 0 };
        // Within what a table remembers, and up to half the number space in a table that may forget.
        let ahead = if self.honest { u32::from(feed.u16()) % 900 } else { feed.scaled(24) as u32 };
        (flow, (self.first + ahead) & 0xff_ffff)
    }

    fn honest_chunk(&mut self, feed: &mut Feed<'_>) {
        let (flow, seq) = self.place(feed);
        let (record, vnet) = record(flow, seq);
        let (from, len) = match flow & LOW_LATENCY {
            0 => (feed.u16() as usize % record.len(), 1 + feed.u16() as usize),
            _ => (0, record.len()),
        };
        let data = &record[from..(from + len).min(record.len())];
        let c = Fragment {
            flow,
            seq,
            offset: from as u16,
            total: (from == 0).then_some(record.len() as u16),
            vnet: if from == 0 { vnet } else { None },
            no_gap_before: false,
            data,
        };
        self.table.on_fragment(&mut self.pool, &c, Timestamp::of(self.now), self.now, &mut self.out);
    }

    fn any_chunk(&mut self, feed: &mut Feed<'_>) {
        let (flow, seq) = self.place(feed);
        let (flow, what) = (flow | feed.scaled(16) as u16, feed.u8());
        let offset = if what & 1 == 0 { 0 } else { feed.u16() };
        let most = u16::MAX as usize - offset as usize;
        let data = vec![what; (1 + feed.scaled(15) as usize).min(most)];
        if data.is_empty() {
            return;
        }
        let least = offset + data.len() as u16;
        let total = (offset == 0).then(|| least.saturating_add(feed.scaled(15) as u16));
        let c = Fragment { flow, seq, offset, total, vnet: None, no_gap_before: what & 2 != 0, data: &data };
        self.table.on_fragment(&mut self.pool, &c, Timestamp::of(self.now), self.now, &mut self.out);
    }

    /// Takes what was delivered; it says in its first bytes what it is.
    fn drain(&mut self) {
        while let Some(d) = self.out.pop_front() {
            let bytes = &self.pool.bytes(d.buf)[..d.len as usize];
            if self.honest {
                let flow = u16::from_be_bytes([bytes[0], bytes[1]]);
                let seq = u32::from_be_bytes([0, bytes[2], bytes[3], bytes[4]]);
                let (want, vnet) = record(flow, seq);
                assert_eq!((bytes, d.vnet), (&want[..], vnet.unwrap_or_default()), "not what was sent");
                let seen = self.seen.entry(flow).or_default();
                assert!(!seen.contains(&seq), "{flow}/{seq} came twice");
                seen.push(seq);
            }
            self.pool.free(d.buf);
        }
    }

    fn check_order(&self) {
        let back = |seen: &Vec<u32>| {
            let place = |s: u32| s.wrapping_sub(self.first) & 0xff_ffff;
            seen.windows(2).filter(|w| place(w[0]) > place(w[1])).count() as u64
        };
        let inversions: u64 =
            self.seen.iter().filter(|(f, _)| **f & LOW_LATENCY == 0).map(|(_, s)| back(s)).sum();
        assert!(inversions <= self.table.counters().late, "out of order without being late");
    }
}

/// The record that an honest sender has under this number.
fn record(flow: u16, seq: u32) -> (Vec<u8>, Option<Vnet>) {
    let mix = (seq.wrapping_mul(2_654_435_761) ^ u32::from(flow)) as usize;
    let len = match mix % 5 {
        _ if flow & LOW_LATENCY != 0 => 5 + mix % 900,
        0 => 5 + mix % 65_000,
        1 => 5 + mix % 9000,
        _ => 5 + mix % 1500,
    };
    let [_, a, b, c] = seq.to_be_bytes();
    let [f, g] = flow.to_be_bytes();
    let head = [f, g, a, b, c];
    let bytes = (0..len).map(|i| if i < 5 { head[i] } else { (mix >> (i % 3)) as u8 ^ i as u8 }).collect();
    let vnet =
        Vnet { gso_type: Vnet::GSO_UDP_L4, flags: Vnet::NEEDS_CSUM, gso_size: len as u16, ..Vnet::default() };
    (bytes, (mix.is_multiple_of(2) && flow & LOW_LATENCY == 0).then_some(vnet))
}
