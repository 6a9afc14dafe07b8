//! Order per flow, at the receiving end.
//!
//! Packets of one flow are handed to the device in the order in which they left the far device; other flows do not
//! wait. When a packet is missing, the ones after it are held until
//!
//! 1. it comes, on its first way or sent again;
//! 2. the sender says that it will not come ([`crate::wire::Frame::Skip`]);
//! 3. it is *known lost* (everything that left before some point has arrived on every path that could still carry it, as in PPP
//!    multilink, RFC 1990 §4.1) and the time in which it could be sent again is over; or
//! 4. the deadline passes, which matters only when paths are silent, or where one was set: then it is that of the packets which wait, not of each gap.
//!
//! A packet that comes after it was given up is passed on late, never dropped. Of low-latency flows only duplicates are dropped.
//!
//! A peer may send anything. What one session holds has bounds ([`Reassembly::MOST_HEAP`], and its share of the packet memory), and so has what one
//! frame makes this do: see `held.rs`.

mod assembly;
mod delivered;
mod flow;
mod gap;
mod held;
mod low_latency;
mod reassembly;
mod waits;

pub use gap::Hold;
pub use reassembly::{Counters, Delivery, Reassembly, Target};
pub use waits::Waits;
