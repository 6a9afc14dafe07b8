//! Talking to a running daemon: one JSON line there, one JSON line back, over the socket in its state directory.

pub mod ask;
pub mod protocol;
pub mod server;

pub use ask::ask;
