//! A TCP proxy on a router, below its device: packets in, packets out, without a socket or a clock.
//!
//! [`Relay`] drives `ropewalk-pep`. It reads packets, keeps the bytes that the proxy speaks of, and writes what
//! the proxy says. What it does not understand, or leaves alone, comes out as it came; but not beside bytes that it holds.

mod codec;
mod relay;
mod store;

pub use relay::Relay;
