//! What the loop and the thread hand each other: bounded both ways.

use super::{Ended, frame};
use crate::clock;
use crate::poll::Waker;
use ropewalk_bond::engine::Shard;
use ropewalk_time::{Duration, Time};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So much may always wait for a connection: one batch of the engine.
const ALWAYS: usize = 70 << 10;
/// And more, if the first of it has not waited for this long: a queue in time, whatever the rate.
const WAIT: Duration = Duration::from_millis(100);
/// But no more than this, bytes.
const MOST: usize = 1 << 20;
/// Memory of what waits for the loop, of all connections, bytes; beyond, connections are not read.
/// It bounds the work of one turn of the loop, too.
pub(super) const INBOX: usize = 512 << 10;
/// The longest run of datagrams, bytes: what a UDP socket would give at once.
const RUN: usize = 64 << 10;

/// A connection takes nothing now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What waits for one connection.
#[derive(Debug, Default)]
pub(super) struct Outgoing(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// Datagrams with their lengths.
    bytes: Vec<u8>,
    /// Since when the first of them waits.
    since: Time,
    /// The thread knows that there is something.
    told: bool,
}

impl Outgoing {
    /// Adds a batch, all of it or nothing. `true` if the thread is to be told.
    pub(super) fn push(&self, segment: usize, batch: &[u8]) -> Result<bool, Full> {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::now();
        let waiting = queue.bytes.len();
        if waiting >= MOST || waiting >= ALWAYS && now.since(queue.since) > WAIT {
            return Err(Full);
        }
        if waiting == 0 {
            queue.since = now;
        }
        for datagram in batch.chunks(segment.max(1)) {
            frame::put(&mut queue.bytes, datagram);
        }
        Ok(!std::mem::replace(&mut queue.told, true))
    }

    /// Takes all of it; `empty` is what it is put into next.
    pub(super) fn take(&self, empty: &mut Vec<u8>) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.told = false;
        std::mem::swap(&mut queue.bytes, empty);
    }
}

/// Datagrams that came by one connection, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The connection.
    pub id: u32,
    /// Its other end.
    pub remote: SocketAddr,
    /// Bytes of each; the last may be shorter.
    pub segment: usize,
    /// Bytes of all.
    pub len: usize,
}

/// What happened to a connection.
#[derive(Clone, Debug)]
pub enum News {
    /// It carries datagrams from now on.
    Open {
        /// Its number.
        id: u32,
        /// Its other end.
        remote: SocketAddr,
    },
    /// It is over.
    Over {
        /// Its number.
        id: u32,
        /// Why.
        why: Ended,
    },
}

/// What comes from the thread.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    pub(super) opened: Vec<(u32, Arc<Outgoing>)>,
    pub(super) news: Vec<News>,
    /// Connections wait for room.
    pub(super) stalled: bool,
}

impl Inbox {
    /// Room for more datagrams.
    pub(super) fn has_room(&self) -> bool {
        self.memory() < INBOX
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.runs.len() * size_of::<Run>()
    }

    /// Whether it has no room. If so, whoever empties it sees that somebody waits.
    pub(super) fn stalls(&mut self) -> bool {
        let is_full = !self.has_room();
        self.stalled |= is_full;
        is_full
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.news.is_empty() && self.opened.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.runs.clear();
        self.bytes.shrink_to(INBOX);
        self.runs.shrink_to(INBOX / size_of::<Run>());
        self.opened.clear();
        self.news.clear();
        self.stalled = false;
    }

    /// Adds a datagram; equal ones of a connection become a run. What one read of each of many connections brings beyond twice the
    /// room is dropped, as a full socket does.
    pub(super) fn push(&mut self, id: u32, remote: SocketAddr, datagram: &[u8]) {
        if self.memory() >= 2 * INBOX {
            return;
        }
        self.bytes.extend_from_slice(datagram);
        let len = datagram.len();
        if let Some(last) = self.runs.last_mut().filter(|r| r.id == id && r.remote == remote)
            && last.len % last.segment == 0
            && len <= last.segment
            && last.len + len <= RUN
        {
            last.len += len;
            return;
        }
        self.runs.push(Run { id, remote, segment: len, len });
    }

    /// What happened, the oldest first. A connection's datagrams come after its beginning, and
    /// before its end.
    pub fn take_news(&mut self) -> impl Iterator<Item = News> + '_ {
        self.news.drain(..)
    }

    /// The datagrams.
    pub fn runs(&mut self) -> impl Iterator<Item = (Run, &mut [u8])> {
        let mut rest = &mut self.bytes[..];
        self.runs.iter().map(move |run| {
            let (front, behind) = std::mem::take(&mut rest).split_at_mut(run.len);
            rest = behind;
            (*run, front)
        })
    }
}

/// What waits for each of a gateway's loops; a client has one.
pub(super) struct Inboxes {
    all: Vec<(Mutex<Inbox>, Waker)>,
    shard: Shard,
}

impl Inboxes {
    /// Empty ones; for which loop a datagram is, `shard` says.
    pub(super) fn new(shard: Shard) -> io::Result<Inboxes> {
        let all =
            (0..shard.of()).map(|_| Ok((Mutex::default(), Waker::new()?))).collect::<io::Result<_>>()?;
        Ok(Inboxes { all, shard })
    }

    /// A loop's waker.
    pub(super) fn waker(&self, number: u32) -> &Waker {
        &self.all[number as usize].1
    }

    /// A loop's inbox.
    pub(super) fn lock(&self, number: u32) -> MutexGuard<'_, Inbox> {
        self.all[number as usize].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something for every loop.
    pub(super) fn tell(&self, mut put: impl FnMut(&mut Inbox)) {
        (0..self.shard.of()).for_each(|number| put(&mut self.lock(number)));
    }

    /// Wakes the loops for which something waits.
    pub(super) fn wake(&self) {
        let waiting = (0..self.shard.of()).filter(|number| !self.lock(*number).is_empty());
        waiting.for_each(|number| self.waker(number).wake());
    }

    /// The loop that a datagram is for.
    pub(super) fn number_for(&self, datagram: &[u8]) -> u32 {
        self.shard.number_for(datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_bounded_in_time_and_in_bytes() {
        let out = Outgoing::default();
        assert_eq!(out.push(1000, &[0; 60_000]), Ok(true));
        assert_eq!(out.push(1000, &[0; 20_000]), Ok(false), "told already");
        while out.push(1000, &[0; 60_000]) == Ok(false) {}
        assert_eq!(out.push(1000, &[0; 1]), Err(Full));
        let mut taken = Vec::new();
        out.take(&mut taken);
        assert!(taken.len() < MOST + 61_000 && taken.len() > ALWAYS, "{}", taken.len());
        assert_eq!(out.push(1000, &[0; 60_000]), Ok(true));
        assert_eq!(out.push(1000, &[0; 20_000]), Ok(false));
        std::thread::sleep(WAIT * 2);
        assert_eq!(out.push(1000, &[0; 60_000]), Err(Full), "what is there waits for too long");
    }

    #[test]
    fn an_inbox_is_full_by_what_it_takes_in_memory() {
        let mut inbox = Inbox::default();
        let remote = SocketAddr::from(([192, 0, 2, 1], 443));
        let mut count = 0;
        while inbox.has_room() {
            // Unlike its neighbours, so that each is a run.
            inbox.push(1, remote, &[0; 2][..1 + count % 2]);
            count += 1;
        }
        assert!(count < 2 * INBOX / size_of::<Run>(), "{count}");
        inbox.clear();
        assert!(inbox.has_room() && inbox.runs.capacity() <= 2 * INBOX / size_of::<Run>());
    }

    #[test]
    fn equal_datagrams_become_runs() {
        let mut inbox = Inbox::default();
        let remote = SocketAddr::from(([192, 0, 2, 1], 443));
        let sent: [(u32, &[u8]); 6] =
            [(1, &[1; 10]), (1, &[2; 10]), (1, &[3; 4]), (1, &[4; 10]), (2, &[5; 10]), (1, &[6; 11])];
        sent.iter().for_each(|(id, d)| inbox.push(*id, remote, d));
        let runs: Vec<(u32, usize, Vec<u8>)> =
            inbox.runs().map(|(r, bytes)| (r.id, r.segment, bytes.to_vec())).collect();
        let lengths: Vec<_> = runs.iter().map(|(id, segment, bytes)| (*id, *segment, bytes.len())).collect();
        assert_eq!(lengths, [(1, 10, 24), (1, 10, 10), (2, 10, 10), (1, 11, 11)]);
        assert_eq!(runs.into_iter().flat_map(|(.., b)| b).collect::<Vec<_>>(), sent.map(|(_, d)| d).concat());
    }
}
