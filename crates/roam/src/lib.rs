//! A client on every access point that it hears (the multi-AP paper, `docs/papers`): what it
//! measures, and what it decides from that.
//!
//! A client joins several access points of one channel and has one MPTCP subflow by each. Access
//! points of a channel share its air, so a slow one costs a fast one more than it brings. The
//! client measures what a packet costs by each, and steers the sender.
//!
//! | file | question |
//! |---|---|
//! | `estimate` | how much air a delivered packet takes by an access point |
//! | `rate` | the same before anything was sent, by its signal |
//! | `airtime` | what a try costs by an access point |
//! | `choose` | which access points are joined |
//! | `fade` | which subflows rest since their beacons fade |
//! | `mark` | which arriving packets get a mark (ECN) |
//! | `response` | whether a sender answers marks |
//! | `priority` | which subflows rest as backups (MP_PRIO) |
//! | `steer` | marks and priorities of a connection's subflows, together |
//! | `slots` | how long the radio stays on each channel |
//! | `handover` | when a client of one access point moves: what the others are held against |
//!
//! Nothing here has a socket or a clock. Times are [`Duration`](core::time::Duration)s since any
//! instant that a driver keeps to; they never go back.

#![forbid(unsafe_code)]

pub mod airtime;
pub mod choose;
pub mod estimate;
pub mod fade;
pub mod handover;
pub mod mark;
pub mod priority;
pub mod rate;
pub mod response;
pub mod slots;
pub mod steer;
