//! Reports: what an access point holds, in few bytes.
//!
//! The home access point *lists*: runs of numbers whose payloads follow each other in the stream.
//! Others only say which numbers they *heard*, as a bitmap or as lengths of runs, whichever is
//! shorter; what a number stands for is in the list. So seven reports of one packet cost little more
//! than one (paper 002 §3.2 has 16 bytes and more for each).

use super::varint::{self, Reader};

/// Runs in a list, and marks in a report: bounds of its memory.
pub const MAX_RUNS: u64 = 1024;
/// Numbers that one report covers.
pub const MAX_SPAN: u64 = 1 << 15;
/// Numbers of packets lie below this, so that sums and differences of two of them fit 64 bits with
/// a sign. No station sends as many frames.
pub const MAX_NUMBER: u64 = 1 << 62;

/// Packets whose numbers and payloads follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first number.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// TCP: the number of the first payload byte. UDP: 0.
    pub seq: u32,
    /// Payload of each, bytes.
    pub len: u32,
    /// TCP: the timestamp of the first.
    pub stamp: Option<u32>,
}

/// Number and hash of a packet, by which its number and its content can be checked.
pub type Mark = (u64, u32);

/// What the home access point holds, newly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The session.
    pub session: u8,
    /// Bytes that its tunnel's send buffer has room for, rounded down to KiB.
    pub room: u64,
    /// In ascending order of numbers.
    pub runs: Vec<Run>,
    /// Hashes of some of them.
    pub marks: Vec<Mark>,
}

/// What another access point holds, newly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The session.
    pub session: u8,
    /// As of a list.
    pub room: u64,
    /// Numbers in ascending order, by its own count.
    pub numbers: Vec<u64>,
    /// Hashes of some of them.
    pub marks: Vec<Mark>,
}

fn put_marks(out: &mut Vec<u8>, base: u64, marks: &[Mark]) {
    varint::put(out, marks.len() as u64);
    let mut last = base;
    for (number, hash) in marks {
        varint::put(out, number.wrapping_sub(last));
        out.extend_from_slice(&hash.to_be_bytes());
        last = *number;
    }
}

fn marks(r: &mut Reader<'_>, base: u64) -> Option<Vec<Mark>> {
    let count = r.number().filter(|n| *n <= MAX_RUNS)?;
    let mut last = base;
    let one = |_| {
        last = last.checked_add(r.number()?).filter(|n| *n < MAX_NUMBER)?;
        Some((last, u32::from_be_bytes(r.array()?)))
    };
    (0..count).map(one).collect()
}

impl List {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.session);
        varint::put(out, self.room >> 10);
        let base = self.runs.first().map_or(0, |r| r.first);
        varint::put(out, base);
        varint::put(out, self.runs.len() as u64);
        let (mut next, mut seq, mut len, mut stamp) = (base, None, 0, 0);
        for run in &self.runs {
            varint::put(out, run.first.wrapping_sub(next));
            // The low bit says whether there is a timestamp.
            varint::put(out, run.count << 1 | u64::from(run.stamp.is_some()));
            match seq {
                None => out.extend_from_slice(&run.seq.to_be_bytes()),
                Some(seq) => varint::put_signed(out, i64::from(run.seq.wrapping_sub(seq) as i32)),
            }
            varint::put_signed(out, i64::from(run.len) - i64::from(len));
            if let Some(value) = run.stamp {
                varint::put_signed(out, i64::from(value.wrapping_sub(stamp) as i32));
                stamp = value;
            }
            next = run.first + run.count;
            seq = Some(run.seq.wrapping_add(run.len.wrapping_mul(run.count as u32)));
            len = run.len;
        }
        put_marks(out, base, &self.marks);
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Option<List> {
        let (session, room) = (r.byte()?, r.number()?);
        let base = r.number()?;
        let count = r.number().filter(|n| *n <= MAX_RUNS)?;
        let (mut next, mut seq, mut len, mut stamp) = (base, None, 0i64, 0u32);
        let mut runs = Vec::new();
        for _ in 0..count {
            let first = next.checked_add(r.number()?)?;
            let packed = r.number()?;
            let (count, stamped) = (packed >> 1, packed & 1 != 0);
            let at = match seq {
                None => u32::from_be_bytes(r.array()?),
                Some(seq) => u32::wrapping_add(seq, r.signed()? as u32),
            };
            len = len.checked_add(r.signed()?).filter(|l| (0..=0xFFFF).contains(l))?;
            let value = if stamped { Some(stamp.wrapping_add(r.signed()? as u32)) } else { None };
            stamp = value.unwrap_or(stamp);
            let fits = |end: &u64| *end - base <= MAX_SPAN && *end <= MAX_NUMBER;
            next = first.checked_add(count).filter(fits)?;
            seq = Some(at.wrapping_add((len as u32).wrapping_mul(count as u32)));
            runs.push(Run { first, count, seq: at, len: len as u32, stamp: value });
        }
        let marks = marks(r, base)?;
        Some(List { session, room: room.checked_mul(1024)?, runs, marks })
    }
}

/// How many packets a report names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Numbers.
    pub numbers: u64,
    /// Marks.
    pub marks: u64,
}

impl Names {
    /// Of a message without its length, by as many steps as it has bytes; none of one that is no
    /// report. One that is damaged is one, too: what it names before that is made a list of.
    pub(super) fn of(body: &[u8]) -> Option<Names> {
        let mut r = Reader::new(body);
        match r.byte()? {
            2 => {
                let list = List::read(&mut r)?;
                let numbers = list.runs.iter().map(|run| run.count).sum();
                Some(Names { numbers, marks: list.marks.len() as u64 })
            }
            3 => {
                let (_session, _room, _base) = (r.byte()?, r.number()?, r.number()?);
                let numbers = named(&mut r);
                let marks = r.number().filter(|n| *n <= MAX_RUNS).unwrap_or_default();
                Some(Names { numbers, marks })
            }
            _ => None,
        }
    }
}

/// How many numbers a HEARD has, up to where it is damaged.
fn named(r: &mut Reader<'_>) -> u64 {
    let Some(count) = r.number().filter(|n| *n <= MAX_SPAN) else { return 0 };
    if count == 0 {
        let len = r.number().filter(|n| *n <= MAX_SPAN / 8);
        let bitmap = len.and_then(|len| r.take(len as usize)).unwrap_or_default();
        return bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum();
    }
    let (mut at, mut numbers) = (0u64, 0);
    for i in 0..count {
        let end = r.number().and_then(|len| at.checked_add(len)).filter(|end| *end <= MAX_SPAN);
        let Some(end) = end else { break };
        numbers += if i % 2 == 0 { end - at } else { 0 };
        at = end;
    }
    numbers
}

/// Lengths of runs, of numbers that are there and that are not, in turn.
fn runs_of(numbers: &[u64]) -> Vec<u64> {
    let mut out = Vec::new();
    let mut next = None;
    for &n in numbers {
        match next {
            Some(expected) if expected == n => *out.last_mut().unwrap_or(&mut 0) += 1,
            Some(expected) => out.extend([n - expected, 1]),
            None => out.push(1),
        }
        next = Some(n + 1);
    }
    out
}

impl Heard {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.session);
        varint::put(out, self.room >> 10);
        let base = self.numbers.first().copied().unwrap_or(0);
        varint::put(out, base);
        let span = self.numbers.last().map_or(0, |n| n - base + 1);
        let lengths = runs_of(&self.numbers);
        let mut runs = Vec::new();
        lengths.iter().for_each(|n| varint::put(&mut runs, *n));
        let bitmap = span.div_ceil(8) as usize;
        // How many lengths follow; 0 says that a bitmap does.
        if runs.len() <= bitmap && !lengths.is_empty() {
            varint::put(out, lengths.len() as u64);
            out.extend_from_slice(&runs);
        } else {
            varint::put(out, 0);
            varint::put(out, bitmap as u64);
            let start = out.len();
            out.resize(start + bitmap, 0);
            for n in &self.numbers {
                let i = (n - base) as usize;
                out[start + i / 8] |= 1 << (i % 8);
            }
        }
        put_marks(out, base, &self.marks);
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Option<Heard> {
        let (session, room) = (r.byte()?, r.number()?);
        let base = r.number()?;
        base.checked_add(MAX_SPAN).filter(|end| *end <= MAX_NUMBER)?;
        let mut numbers = Vec::new();
        match r.number()? {
            0 => {
                let len = r.number().filter(|n| *n <= MAX_SPAN / 8)?;
                let bits = r.take(len as usize)?.iter().zip(0u64..);
                let places = bits
                    .flat_map(|(byte, i)| (0..8).filter(move |b| byte >> b & 1 == 1).map(move |b| i * 8 + b));
                numbers.extend(places.map(|i| base + i));
            }
            count if count <= MAX_SPAN => {
                let mut at = 0u64;
                for i in 0..count {
                    let len = r.number().filter(|n| *n <= MAX_SPAN)?;
                    let end = at.checked_add(len).filter(|e| *e <= MAX_SPAN)?;
                    if i % 2 == 0 {
                        numbers.extend((at..end).map(|i| base + i));
                    }
                    at = end;
                }
            }
            _ => return None,
        }
        let marks = marks(r, base)?;
        Some(Heard { session, room: room.checked_mul(1024)?, numbers, marks })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Data, Message};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn body(m: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        m.write(&mut out);
        let mut r = Reader::new(&out);
        let len = r.number().unwrap() as usize;
        assert_eq!(len, r.rest().len());
        out[out.len() - len..].to_vec()
    }

    proptest! {
        #[test]
        fn heard_comes_back(base in 0u64..1 << 40, offsets in proptest::collection::btree_set(0u64..500, 0..200), hash in any::<u32>()) {
            let numbers: Vec<u64> = offsets.iter().map(|o| base + o).collect();
            let marks = numbers.iter().filter(|n| *n % 64 == 0).map(|n| (*n, hash)).collect();
            let m = Message::Heard(Heard { session: 3, room: 7 << 10, numbers, marks });
            let Message::Heard(heard) = &m else { unreachable!() };
            let names = Names { numbers: heard.numbers.len() as u64, marks: heard.marks.len() as u64 };
            prop_assert_eq!(Names::of(&body(&m)), Some(names));
            prop_assert_eq!(Message::read(&body(&m)), Some(m));
        }

        #[test]
        fn lists_come_back(first in 0u64..1 << 40, runs in proptest::collection::vec((0u64..9, 1u64..40, any::<u32>(), 0u32..1500, any::<Option<u32>>()), 0..20)) {
            let mut next = first;
            let run = |(skip, count, seq, len, stamp): (u64, u64, u32, u32, Option<u32>)| {
                let run = Run { first: next + skip, count, seq, len, stamp };
                next += skip + count;
                run
            };
            let mut runs: Vec<Run> = runs.into_iter().map(run).collect();
            if let Some(r) = runs.first_mut() {
                r.count += r.first - first;
                r.first = first;
            }
            let m = Message::List(List { session: 0, room: 0, runs, marks: vec![] });
            prop_assert_eq!(Message::read(&body(&m)), Some(m));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), kind in 0u8..24) {
            let _ = Message::read(&[&[kind], &bytes[..]].concat());
            let _ = super::super::all(&[&bytes[..], &bytes].concat());
        }
    }

    #[test]
    fn numbers_that_no_station_counts_to_are_damage() {
        let read = |m: &Message| Message::read(&body(m)).is_some_and(|read| read == *m);
        let list = |first: u64| {
            let run = Run { first, count: 9, seq: 1, len: 2, stamp: None };
            Message::List(List { session: 0, room: 0, runs: vec![run], marks: vec![] })
        };
        let heard = |first: u64| Heard { session: 0, room: 0, numbers: vec![first], marks: vec![] };
        let mark = |n: u64| Message::Heard(Heard { marks: vec![(n, 5)], ..heard(0) });
        let listed = |n: u64| Message::List(List { session: 0, room: 0, runs: vec![], marks: vec![(n, 5)] });
        let data = |number| Message::Data(Data { session: 0, number, elided: vec![] });
        assert!(read(&list(MAX_NUMBER - 9)) && !read(&list(MAX_NUMBER - 8)) && !read(&list(u64::MAX - 99)));
        let span = MAX_NUMBER - MAX_SPAN;
        assert!(read(&Message::Heard(heard(span))) && !read(&Message::Heard(heard(MAX_NUMBER))));
        for marked in [&mark as &dyn Fn(u64) -> Message, &listed, &data] {
            assert!(read(&marked(MAX_NUMBER - 1)) && !read(&marked(MAX_NUMBER)) && !read(&marked(u64::MAX)));
        }
    }

    #[test]
    fn what_is_claimed_costs_work_within_the_bounds() {
        let mut long = vec![3, 0, 0, 0];
        varint::put(&mut long, MAX_SPAN);
        (0..40).for_each(|_| varint::put(&mut long, MAX_SPAN));
        assert_eq!(Message::read(&long), None, "more numbers than a report may cover");
        let set: BTreeSet<u64> = [5, 6, 9].into();
        assert_eq!(runs_of(&set.into_iter().collect::<Vec<_>>()), [2, 2, 1]);
    }
}
