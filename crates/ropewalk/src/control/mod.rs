//! Talking to a running daemon: one JSON line there, one JSON line back, over the socket in its state directory.

pub(crate) mod ask;
pub(crate) mod protocol;
pub(crate) mod server;

pub(crate) use ask::ask;
