//! Tests of whole handshakes, in the order of the life of a session.

mod cookies;
mod data;
mod handshake;
mod hostile;
mod pair;
mod vectors;
mod wiping;
