//! The MAC: who sends what when, and what the receiver makes of it.
//!
//! # The walk of a frame
//! ```text
//!  Air::send ─▶ peer's queue ─▶ access: AIFS, backoff ─▶ window, aggregate ─▶ [RTS ─▶ CTS ─▶] PPDU ──▶ medium
//!               (queue)         (access)                 (exchange)           (exchange)               │
//!  Completion ◀── ACK or Block Ack ◀── SIFS ◀── answer ◀── MPDUs decoded? NAV, EIFS for others ◀───────┘
//!               (exchange)                     (respond)  (receive, progress) ─▶ order (reorder) ─▶ Received
//! ```
//! A missing answer doubles the contention window and leaves the MPDUs where they are; a missing Block Ack is asked
//! for by a request. [`access`] keeps the time, [`exchange`] is the sender's side of one exchange, [`receive`] what every
//! radio makes of what it heard, [`respond`] what follows a SIFS later.

pub(crate) mod access;
pub(super) mod backlog;
mod beacon;
mod capture;
mod exchange;
mod fate;
pub(crate) mod frame;
pub(crate) mod inject;
pub(crate) mod peer;
mod plan;
mod power_save;
pub(crate) mod progress;
pub(crate) mod queue;
mod radio;
mod receive;
mod reorder;
mod respond;
mod station;
mod switch;
mod transmit;
mod turns;

pub use peer::PeerStats;
pub use radio::RadioStats;
pub(crate) use radio::{Chore, Iface, Radio, Role};
pub(crate) use reorder::Arrived;
pub(crate) use station::Station;
