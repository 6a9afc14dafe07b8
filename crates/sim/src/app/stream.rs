//! Applications over a reliable stream, TCP or MPTCP: what they write and read, and when.
//!
//! Bytes are counted, not copied. Where the meaning of bytes matters (how long is the answer that a request asks for?), the two
//! ends of a flow share an [`Orders`].

use crate::measure::FlowRecord;
use ropewalk_air::Time;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

/// More than any run can send: what a sender without end writes.
const ENDLESS: u64 = 1 << 60;
/// Length of a request, bytes: an HTTP GET with a few headers.
pub const REQUEST_BYTES: u64 = 400;

/// What an application sees of its stream.
#[derive(Debug)]
pub struct Io<'a> {
    /// Present time.
    pub now: Time,
    /// The handshake is done.
    pub established: bool,
    /// Bytes that came since the last call.
    pub got: u64,
    /// Bytes that the application writes now.
    pub write: u64,
    /// It has written its last byte.
    pub close: bool,
    /// It ends the connection at once; what was written and not sent is forgotten.
    pub abort: bool,
    /// Its flow's record.
    pub record: &'a mut FlowRecord,
}

/// An application at one end of a stream.
pub trait StreamApp: Debug {
    /// Something changed: the handshake is done, bytes came or left, or its time has come.
    fn on_progress(&mut self, io: &mut Io<'_>);
    /// Its scenario stops it.
    fn stop(&mut self) {}
    /// When it wants to be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
}

/// Writes so many bytes and closes, or writes without end.
#[derive(Debug)]
pub struct BulkSender {
    bytes: Option<u64>,
    written: bool,
    stopped: bool,
}

impl BulkSender {
    /// `None`: without end.
    pub fn new(bytes: Option<u64>) -> BulkSender {
        BulkSender { bytes, written: false, stopped: false }
    }
}

impl StreamApp for BulkSender {
    fn on_progress(&mut self, io: &mut Io<'_>) {
        io.abort = self.stopped;
        if io.established && !std::mem::replace(&mut self.written, true) {
            io.write = self.bytes.unwrap_or(ENDLESS);
            io.close = self.bytes.is_some();
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}

/// How often a sender with a rate writes.
const PIECE: Duration = Duration::from_millis(10);

/// Writes at a rate, in pieces; what the stream has no room for waits, and goes when it has.
#[derive(Debug)]
pub struct PacedSender {
    bps: u64,
    bytes: Option<u64>,
    written: u64,
    began: Option<Time>,
    /// When it writes the next piece; none: it has written all.
    next: Option<Time>,
    stopped: bool,
}

impl PacedSender {
    /// So many bits a second, until so many bytes are written; `None`: without end.
    pub fn new(bps: u64, bytes: Option<u64>) -> PacedSender {
        PacedSender { bps, bytes, written: 0, began: None, next: Some(Time::ZERO), stopped: false }
    }
}

impl StreamApp for PacedSender {
    fn on_progress(&mut self, io: &mut Io<'_>) {
        io.abort = self.stopped;
        if !io.established || self.next.is_none_or(|at| at > io.now) {
            return;
        }
        let began = *self.began.get_or_insert(io.now);
        let span = io.now - began + PIECE;
        let by_rate = (span.as_nanos() * u128::from(self.bps) / 8_000_000_000) as u64;
        let due = self.bytes.map_or(by_rate, |bytes| by_rate.min(bytes));
        io.write = due - self.written;
        io.close = self.bytes == Some(due);
        self.written = due;
        self.next = (!io.close).then_some(io.now + PIECE);
    }

    fn stop(&mut self) {
        self.stopped = true;
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next.filter(|at| *at > Time::ZERO && !self.stopped)
    }
}

/// Reads everything.
#[derive(Debug)]
pub struct BulkReceiver {
    expected: Option<u64>,
    stopped: bool,
}

impl BulkReceiver {
    /// The flow is finished when `expected` bytes have come.
    pub fn new(expected: Option<u64>) -> BulkReceiver {
        BulkReceiver { expected, stopped: false }
    }
}

impl StreamApp for BulkReceiver {
    fn on_progress(&mut self, io: &mut Io<'_>) {
        io.abort = self.stopped;
        if io.got > 0 {
            io.record.on_bytes(io.now, io.got);
        }
        let Some(left) = &mut self.expected else { return };
        *left = left.saturating_sub(io.got);
        if *left == 0 {
            io.record.finished.get_or_insert(io.now);
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}

/// The lengths of the answers that were asked for, in order: what stands in the requests' bytes.
pub type Orders = Rc<RefCell<VecDeque<u64>>>;

/// Answers each request with what it asks for.
#[derive(Debug)]
pub struct Server {
    orders: Orders,
    request: u64,
}

impl Server {
    /// A server of these orders.
    pub fn new(orders: Orders) -> Server {
        Server { orders, request: 0 }
    }
}

impl StreamApp for Server {
    fn on_progress(&mut self, io: &mut Io<'_>) {
        self.request += io.got;
        while self.request >= REQUEST_BYTES {
            let Some(bytes) = self.orders.borrow_mut().pop_front() else { break };
            self.request -= REQUEST_BYTES;
            io.write += bytes;
        }
    }
}

/// A question on its way.
#[derive(Clone, Copy, Debug)]
struct Pending {
    left: u64,
    since: Time,
}

/// Asks for the same answer again and again, with a pause between.
#[derive(Debug)]
pub struct Requester {
    orders: Orders,
    bytes: u64,
    pause: Duration,
    pending: Option<Pending>,
    next: Option<Time>,
    stopped: bool,
}

impl Requester {
    /// Answers of `bytes`; the next question `pause` after the last byte of an answer.
    pub fn new(orders: Orders, bytes: u64, pause: Duration) -> Requester {
        Requester { orders, bytes, pause, pending: None, next: Some(Time::ZERO), stopped: false }
    }
}

impl StreamApp for Requester {
    fn on_progress(&mut self, io: &mut Io<'_>) {
        if io.got > 0 {
            io.record.on_bytes(io.now, io.got);
        }
        if let Some(p) = &mut self.pending {
            p.left = p.left.saturating_sub(io.got);
            if p.left == 0 {
                io.record.on_response(io.now - p.since);
                self.pending = None;
                self.next = Some(io.now + self.pause);
            }
        }
        let due = self.next.is_some_and(|at| at <= io.now);
        if io.established && due && !self.stopped {
            (self.next, self.pending) = (None, Some(Pending { left: self.bytes, since: io.now }));
            self.orders.borrow_mut().push_back(self.bytes);
            io.write += REQUEST_BYTES;
            // Nothing comes while nothing is asked for: that is no stall.
            io.record.last = Some(io.now);
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next.filter(|at| *at > Time::ZERO && !self.stopped)
    }
}
