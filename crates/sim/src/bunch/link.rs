//! A tunnel: a TCP connection of the simulator whose bytes are real.
//!
//! [`TcpEndpoint`] counts bytes and does not carry them. They wait in a queue that both ends of the
//! connection share, and come out as far as TCP has delivered: when what arrives is TCP's doing alone.

use crate::app::Context;
use crate::packet::{Body, FlowId, Packet};
use crate::tcp::{Event, Segment, TcpConfig, TcpEndpoint};
use ropewalk_air::Time;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;
use std::rc::Rc;
use std::time::Duration;

/// Bytes that were written and not read, by who opened the connection (its address and first
/// number) and by direction.
#[derive(Debug, Default)]
pub struct Pipes(BTreeMap<(SocketAddrV4, u32), [VecDeque<u8>; 2]>);

/// What both ends share.
pub type Shared = Rc<RefCell<Pipes>>;

/// What happened in a tunnel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    Up,
    Down,
}

/// One end of a tunnel.
#[derive(Debug)]
pub(super) struct Link {
    tcp: TcpEndpoint,
    pipes: Shared,
    key: (SocketAddrV4, u32),
    /// 0 at the end that opened.
    side: usize,
    /// Bytes in the queue that TCP had no room for.
    unwritten: u64,
    flush_at: Option<Time>,
    buffer: u64,
    over: bool,
    /// The traffic class of its packets.
    dscp: u8,
}

/// CS1 (RFC 4594 §4.10): what is carried for others is the background of an uplink.
pub(super) const BACKGROUND: u8 = 8;

/// Payload of a full segment, with timestamps.
const FULL: u64 = 1448;
/// How long an access point waits for more before it sends less than a full segment: the headers of
/// a report that goes alone are thrice its length.
const CORK: Duration = Duration::from_millis(5);

/// The tunnel's TCP: the send buffer is what an access point reports room of. Nagle is off: with
/// delayed acknowledgements the last packet of a burst would wait for 40 ms. [`CORK`] is in its place.
fn config(buffer: u64) -> TcpConfig {
    TcpConfig { send_buffer_bytes: buffer, no_delay: true, ..TcpConfig::default() }
}

impl Link {
    pub(super) fn connect(
        pipes: Shared,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        isn: u32,
        (buffer, dscp): (u64, u8),
    ) -> Link {
        let tcp = TcpEndpoint::connect(config(buffer), local, remote, isn);
        let key = (local, isn);
        pipes.borrow_mut().0.insert(key, Default::default());
        Link { tcp, pipes, key, side: 0, unwritten: 0, flush_at: None, buffer, over: false, dscp }
    }

    pub(super) fn accept(pipes: Shared, isn: u32, now: Time, syn: &Segment, buffer: u64) -> Option<Link> {
        let key = (syn.source, syn.seq);
        let tcp = TcpEndpoint::accept(config(buffer), isn, now, syn)?;
        Some(Link { tcp, pipes, key, side: 1, unwritten: 0, flush_at: None, buffer, over: false, dscp: 0 })
    }

    /// It answers the same SYN.
    pub(super) fn is_of(&self, syn: &Segment) -> bool {
        self.key == (syn.source, syn.seq)
    }

    /// Bytes that may be written now.
    pub(super) fn room(&self) -> u64 {
        self.buffer.saturating_sub(self.tcp.unacknowledged() + self.unwritten)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if let Some(queues) = self.pipes.borrow_mut().0.get_mut(&self.key) {
            queues[self.side].extend(bytes);
            self.unwritten += bytes.len() as u64;
        }
    }

    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.tcp.on_segment(now, segment);
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.tcp.on_timer(now);
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.tcp.next_timeout().into_iter().chain(self.flush_at).min()
    }

    pub(super) fn abort(&mut self) {
        self.tcp.abort();
        self.over = true;
    }

    /// What has come, and what happened.
    pub(super) fn read(&mut self, now: Time) -> (Vec<u8>, Vec<News>) {
        let mut news = Vec::new();
        while let Some(event) = self.tcp.poll_event() {
            match event {
                Event::Connected => news.push(News::Up),
                _ if !std::mem::replace(&mut self.over, true) => news.push(News::Down),
                _ => {}
            }
        }
        let count = self.tcp.read(now, u64::MAX) as usize;
        let mut pipes = self.pipes.borrow_mut();
        let queue = pipes.0.get_mut(&self.key).map(|q| &mut q[1 - self.side]);
        let bytes = queue.map(|q| q.drain(..count.min(q.len())).collect()).unwrap_or_default();
        (bytes, news)
    }

    /// Sends what TCP wants to.
    pub(super) fn send(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        let full = self.unwritten - self.unwritten % FULL;
        if full > 0 {
            self.unwritten -= self.tcp.write(full);
        }
        // The gateway's way back is wide: it waits for nothing.
        if self.side == 1 || self.flush_at.is_some_and(|at| at <= now) {
            self.unwritten -= self.tcp.write(self.unwritten);
            self.flush_at = None;
        } else if self.unwritten > 0 && self.unwritten < FULL {
            self.flush_at.get_or_insert(now + CORK);
        }
        while let Some(s) = self.tcp.poll_transmit(now) {
            let ends = ((*s.source.ip(), s.source.port()), (*s.destination.ip(), s.destination.port()));
            let packet = Packet::new(ends.0, ends.1, s.ip_bytes(), FlowId::NONE, Body::Tcp(s));
            // What finds no way is lost; TCP will notice.
            let _ = cx.send(Packet { ecn: s.ecn, dscp: self.dscp, ..packet });
        }
    }

    /// Nobody will read what is left.
    pub(super) fn forget(&self) {
        self.pipes.borrow_mut().0.remove(&self.key);
    }
}
