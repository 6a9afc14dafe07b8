//! One TCP connection seen from the middle of its path: what is acknowledged in the receiver's
//! name, and on what promise.
//!
//! [`Pep`] takes segments of both ends, reports of who holds which bytes, and the time. It gives
//! segments to both ends and says which bytes to fetch, which to forget, and when it wants to be
//! called. It has no bytes: a driver keeps them by their offsets in the sender's stream (the SYN is
//! 0, the first byte 1) until [`Output::Release`].
//!
//! The promise: *every byte that the sender saw acknowledged is delivered in order, or both ends
//! learn of the failure.* `tests/model.rs` checks it over all interleavings of a small street.
//!
//! A [`Pep`] helps the direction from the sender to the receiver only. Data of the other direction
//! pass as they are. [`Duplex`] puts two of them around one connection, and [`Proxy`] keeps many.
//!
//! | file | question |
//! |---|---|
//! | `opening` | what the handshake says; which connections are left alone |
//! | `connection` | the phases of a connection |
//! | `open` | segments of both ends, and the acknowledgements between |
//! | `open/fetch` | which holder is asked for what |
//! | `open/guesses` | what an end can have said by now |
//! | `custody` | who holds which bytes, and how far that allows an acknowledgement |
//! | `onward` | what goes to the receiver, and what is sent again (RFC 8985) |
//! | `stamps` | which timestamp an acknowledgement echoes |
//! | `snoop` | the other way: nothing is acknowledged, and what is lost behind this box is repaired |
//! | `duplex` | both directions of a connection |
//! | `proxy` | many connections: which are taken, which are forgotten |

#![forbid(unsafe_code)]

mod connection;
mod custody;
mod duplex;
mod onward;
mod open;
mod opening;
mod proxy;
mod ranges;
mod snoop;
mod stamps;
#[cfg(test)]
mod tests;

pub use connection::Pep;
pub use duplex::{Duplex, Effect, End};
pub use proxy::{Counts, Event, Proxy};
pub use ranges::Ranges;

use core::ops::Range;
use core::time::Duration;
use ropewalk_packet::Segment;

pub use ropewalk_time::Time;

/// Holders that one connection believes, the dead included: a bound of its memory.
pub const MAX_HOLDERS: usize = 32;
/// Separate ranges of one holder, and of the copy: a bound of memory.
pub const MAX_RANGES: usize = 4096;

/// Who captured bytes and holds them until they are released: an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u8);

impl Holder {
    /// The sender's own access point. It retransmits on the air until it has a packet, so it alone
    /// is enough.
    pub const HOME: Holder = Holder(0);
}

/// When bytes are acknowledged in the receiver's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// As soon as this box has them: two connections with a shorter round trip each.
    Split,
    /// Never: acknowledgements pass as they came. What is lost behind this box is sent again from
    /// here, and duplicates that ask for it are kept from the sender (Balakrishnan et al. 1995).
    Snoop,
    /// As soon as the home access point or `custody` live holders have them (paper 002 §3.3, with
    /// custody).
    ProactiveAck {
        /// How many holders are enough; at least one.
        custody: u8,
    },
}

/// What a proxy may use, and for how long it waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// When bytes are acknowledged.
    pub policy: Policy,
    /// The most bytes between the receiver's acknowledgement and what the sender is offered; with
    /// [`Policy::Snoop`] the most that its copies take.
    pub memory_bytes: u64,
    /// How long acknowledged bytes may have no holder, or not come, before both ends are reset.
    pub grace: Duration,
    /// How long a holder may take to bring what it was asked for before another is asked.
    pub fetch_timeout: Duration,
    /// How long a gap may stay before the sender is told of it.
    pub gap_timeout: Duration,
    /// Whether [`Output::Fetch`] asks for bytes. A driver that schedules holders itself says no.
    pub fetches: bool,
}

impl Config {
    /// 4 MiB; 3 s, so that a reset that is lost can be said again within 5 s; 500 ms, two long
    /// round trips; 20 ms, more than reports of one frame differ.
    pub fn new(policy: Policy) -> Config {
        Config {
            policy,
            memory_bytes: 4 << 20,
            grace: Duration::from_secs(3),
            fetch_timeout: Duration::from_millis(500),
            gap_timeout: Duration::from_millis(20),
            fetches: true,
        }
    }
}

/// What a driver tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// From the sender. [`Pep::kept`] then says what of its payload is to be in the driver's store.
    FromSender(Segment),
    /// From the receiver.
    FromReceiver(Segment),
    /// A holder has these bytes of the stream and keeps them until they are released.
    Held {
        /// Offsets.
        range: Range<u64>,
        /// Who.
        holder: Holder,
        /// The segment's own timestamp, if it had one: what an acknowledgement of it echoes.
        timestamp: Option<u32>,
    },
    /// A holder is dead, with all that it held.
    HolderGone(Holder),
    /// A holder that was dead is there anew, and holds nothing yet.
    HolderBack(Holder),
    /// The sender repeats bytes that were reported before: it missed the acknowledgement.
    Repeated,
    /// The time of [`Output::Timeout`] has come.
    Timer,
}

/// What a driver is to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send this to the sender.
    ToSender(Segment),
    /// Send this to the receiver, with payload from the store at its sequence number.
    ToReceiver(Segment),
    /// Ask `holder` for these bytes. It keeps its own.
    Fetch {
        /// Offsets.
        range: Range<u64>,
        /// Who.
        holder: Holder,
    },
    /// The receiver has these bytes: whoever holds them may forget them.
    Release {
        /// Offsets.
        range: Range<u64>,
    },
    /// This connection is left alone: forward this packet, and all later ones, as they came.
    Bypass(Bypass),
    /// Both ends were reset; why.
    Reset(Why),
    /// Nothing more now: call with [`Input::Timer`] at this time, if there is one.
    Timeout(Option<Time>, &'static str),
}

/// Why a connection is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bypass {
    /// Its handshake was not seen whole, so the scale of its windows is not known.
    NoHandshake,
    /// TCP-AO (RFC 5925): acknowledgements cannot be made for another.
    Authentication,
    /// The MD5 signature (RFC 2385), likewise.
    Md5,
    /// MPTCP (RFC 8684): acknowledgements of the subflow say nothing of the data.
    Mptcp,
    /// TCP Fast Open (RFC 7413), or data in the SYN.
    FastOpen,
}

/// Why both ends were reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// Acknowledged bytes have no holder.
    Orphaned,
    /// Acknowledged bytes have a holder and do not come.
    Undelivered,
    /// The receiver answers nothing.
    ReceiverSilent,
    /// An end reset the connection itself.
    ByAnEnd,
}
