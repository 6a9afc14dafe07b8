//! One direction of a cable.
//!
//! # The walk of a packet
//! ```text
//! enqueue ──▶ queue ──▶ transmitter ──▶ wire ──▶ poll
//!    │          │           │             │
//!    down?      full?       rate          loss, delay, jitter, damage, copies
//!    too long?  CoDel?
//! ```
//! A packet that comes while the link is up waits in the queue until the transmitter is free, takes its length over the
//! rate to leave, and is then on the wire, where it may be lost, and where it stays for the delay.
//!
//! # How to drive it
//! [`Link::enqueue`] puts packets in with their time. [`Link::poll`] gives out those that have arrived, one by one,
//! until it says none. [`Link::next_timeout`] says when to poll again. Times handed in never go back; if one does, the
//! link takes it for the latest it has seen. A driver that is late does no harm: arrivals carry the time at which they
//! were *due*, and everything in between happened when it should have.
//!
//! Settings change at run time by the `set_*` functions, and take effect for what has not left the queue yet.

mod delay;
mod link;
mod loss;
pub(crate) mod queue;
mod random;
mod server;
mod spec;
mod trace;

pub use link::{Counters, Delivery, Link, MAX_ON_WIRE, Packet};
pub use loss::Loss;
pub use spec::{Aqm, Jitter, Limit, LinkSpec, QueueSpec, Rate, SpecError};
pub use trace::{MAX_OPPORTUNITIES, OPPORTUNITY_BYTES, Trace, TraceError};
