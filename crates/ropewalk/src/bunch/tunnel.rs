//! One end of a tunnel: a TCP connection, its records, and what waits to be written.

use super::cork::Cork;
use super::record::{Broken, Channel, FRAME_MAX, Frames, RECORD_MAX, Records};
use super::words::Word;
use ropewalk_bunch::Time;
use ropewalk_net::stream;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

/// More than this waits only if the other end takes nothing.
const STUCK: usize = 4 << 20;
/// Bytes taken from the kernel at once, and in a turn.
const READ: usize = 64 << 10;
const TURN: usize = 4 * READ;

/// One end.
#[derive(Debug)]
pub(super) struct Tunnel {
    stream: TcpStream,
    frames: Frames,
    records: Records,
    /// Of the stream of messages, not sealed yet.
    plain: Cork,
    /// Sealed, not taken by the kernel yet.
    out: Vec<u8>,
    /// Bytes that are to be on the way at most.
    buffer: u64,
}

impl Tunnel {
    /// A tunnel over a connection whose keys are there. `frames` may have read on already. `corks`:
    /// the way out is narrow.
    pub(super) fn new(
        stream: TcpStream,
        frames: Frames,
        records: Records,
        buffer: u64,
        corks: bool,
    ) -> std::io::Result<Tunnel> {
        stream::tune(&stream, buffer)?;
        Ok(Tunnel { stream, frames, records, plain: Cork::new(corks), out: Vec::new(), buffer })
    }

    /// Bytes that may be written now.
    pub(super) fn room(&self) -> u64 {
        let on_the_way = on_the_way(&self.stream, self.buffer, self.out.len());
        self.buffer.saturating_sub(on_the_way + self.plain.len() as u64)
    }

    /// When it wants to be flushed.
    pub(super) fn flush_at(&self) -> Option<Time> {
        self.plain.due()
    }

    /// The kernel has not taken all.
    pub(super) fn waits(&self) -> bool {
        !self.out.is_empty()
    }

    /// Adds to the stream of messages.
    pub(super) fn write(&mut self, bytes: &[u8], now: Time) {
        self.plain.push(bytes, || on_the_way(&self.stream, self.buffer, self.out.len()), now);
    }

    /// Sends a packet on its ordinary way, behind what was written. False: there is no room, and it
    /// is dropped, as in a router's queue.
    pub(super) fn packet(&mut self, packet: &[u8]) -> Result<bool, Broken> {
        if self.room() < packet.len() as u64 || packet.len() > RECORD_MAX {
            return Ok(false);
        }
        self.seal_stream()?;
        self.records.seal(Channel::Packet, packet, &mut self.out)?;
        Ok(true)
    }

    /// Says something to the other daemon.
    pub(super) fn say(&mut self, word: &Word) -> Result<(), Broken> {
        self.seal_stream()?;
        self.records.seal(Channel::Word, &word.to_bytes(), &mut self.out)
    }

    fn seal_stream(&mut self) -> Result<(), Broken> {
        self.plain.take_all(|payload| self.records.seal(Channel::Stream, payload, &mut self.out))
    }

    /// Writes what is due.
    pub(super) fn flush(&mut self, now: Time) -> Result<(), Broken> {
        let sealed = self.out.len();
        let seal = |payload: &[u8]| self.records.seal(Channel::Stream, payload, &mut self.out);
        self.plain.take_due(|| on_the_way(&self.stream, self.buffer, sealed), now, seal)?;
        let mut done = 0;
        while done < self.out.len() {
            match self.stream.write(&self.out[done..]) {
                Ok(0) => return Err(Broken::Stuck),
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Broken::Gone(e.to_string())),
            }
        }
        self.out.drain(..done);
        if self.out.len() + self.plain.len() > STUCK { Err(Broken::Stuck) } else { Ok(()) }
    }

    /// What has come; a bounded part of it, since the poller tells again of the rest.
    pub(super) fn read(&mut self) -> Result<Vec<(Channel, Vec<u8>)>, Broken> {
        let (mut all, mut taken) = (Vec::new(), 0);
        let mut part = vec![0; READ];
        if self.plain.waits() {
            // A narrow way out: bare acknowledgements took 2 % of an uplink of 2 Mbit/s.
            let _ = stream::delay_acknowledgement(&self.stream);
        }
        loop {
            while let Some(body) = self.frames.next(FRAME_MAX - 2)? {
                all.push(self.records.open(body)?);
            }
            if taken >= TURN {
                return Ok(all);
            }
            match self.stream.read(&mut part) {
                // What came before the end counts.
                Ok(0) if !all.is_empty() => return Ok(all),
                Ok(0) => return Err(Broken::Gone("the other end has closed the tunnel".into())),
                Ok(n) => {
                    self.frames.push(&part[..n]);
                    taken += n;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(all),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) if !all.is_empty() => return Ok(all),
                Err(e) => return Err(Broken::Gone(e.to_string())),
            }
        }
    }

    /// Ends it at once: what waits is of no use.
    pub(super) fn abort(self) {
        stream::abort(self.stream);
    }

    /// Ends it when the kernel has sent what it was given.
    pub(super) fn close(mut self, now: Time) {
        // The tunnel ends either way.
        let _ = self.seal_stream();
        let _ = self.flush(now);
    }
}

/// Bytes that are sealed and not acknowledged, `sealed` of which the kernel has not taken; where it
/// does not say, as many as may be.
fn on_the_way(stream: &TcpStream, buffer: u64, sealed: usize) -> u64 {
    stream::unacknowledged(stream).unwrap_or(buffer) + sealed as u64
}

impl AsFd for Tunnel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
