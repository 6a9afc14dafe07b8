//! TCP at packet level: pure state machines in virtual time.
//!
//! [`TcpEndpoint`] is one end of a connection. It takes [`Segment`]s and times, and gives out segments; it has no socket
//! and no clock. The contract is that of the engine in crate `bond`: after every call that takes something in
//! (`on_segment`, `on_timer`, `write`, `read`, `close`), call [`TcpEndpoint::poll_transmit`] until it says none, then ask
//! [`TcpEndpoint::next_timeout`] when to call [`TcpEndpoint::on_timer`]. Times never go back. The same calls give the
//! same segments on every machine.
//!
//! Payload has a length and no bytes; [`wire`] turns a segment into the bytes of an IPv4 packet and back, with a payload
//! whose content follows from its place in the stream, so that whoever receives it can check it.
//!
//! # What is modelled
//! Handshake, window scaling, timestamps (RFC 7323), SACK and DSACK (RFC 2018, 2883, 6675), RACK and tail loss probes
//! (RFC 8985), retransmission timeouts (RFC 6298) with Linux's floor or the RFC's, F-RTO (RFC 5682), undo of mistaken
//! reductions by DSACK and timestamps (RFC 3708, 3522), proportional rate reduction (RFC 6937), ECN (RFC 3168), delayed,
//! quick and thinned acknowledgements and right-sized receive buffers as Linux has them, Nagle as Minshall amended it,
//! zero-window probes, close and reset. Congestion controllers are those of [`ropewalk_cc`], unchanged.
//!
//! # What is not
//! Segmentation offload (segments leave one by one), path MTU changes, urgent data, PAWS, simultaneous open, syncookies,
//! TCP Fast Open, connections to peers without SACK (they fall back to timeouts and probes), and Linux's limits on what
//! may wait below the socket.
//!
//! | file | question |
//! |---|---|
//! | crate `packet` | what is on the wire |
//! | `endpoint` | the connection: handshake, options, closing |
//! | `send` | what leaves next, what was lost, how much may be on the way |
//! | `receive` | what arrived, when to say so, how much more to take |

mod config;
pub(crate) mod endpoint;
pub mod pair;
pub(crate) mod receive;
pub(crate) mod send;
#[cfg(test)]
mod tests;

pub use config::{AckHold, AckPolicy, LossDetection, Pacing, ReceiveBuffer, RtoRule, TcpConfig};
pub use endpoint::{Event, Failure, State, TcpEndpoint, TcpStats};
pub use receive::ReceiveStats;
pub use ropewalk_cc::{Algorithm, SlowStart};
pub use ropewalk_packet::{
    BadOptions, Ecn, Flags, ForeignOptions, MAX_OPTIONS_BYTES, Mapping, MptcpOption, Options, SackBlocks,
    Segment, Timestamps, wire,
};
pub use send::SendStats;
