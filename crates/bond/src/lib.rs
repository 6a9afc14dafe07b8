//! The bonding engine: one encrypted, ordered, fast link out of several paths, without a socket, a clock or a thread.
//!
//! # Life of an engine
//!
//! 1. A driver makes an [`engine::Engine`], [`client`](engine::Engine::client) or [`gateway`](engine::Engine::gateway), and hands it a source of
//!    randomness ([`entropy::Entropy`]), the only one it has. A client is told its paths by [`engine::Engine::add_path`].
//! 2. Whatever happens outside goes in by [`engine::Engine::handle`]: a packet of the device, datagrams of a socket, the end of a turn
//!    ([`api::Input`]). Time goes in with it, and never goes back.
//! 3. After every call the driver polls [`engine::Engine::poll_output`] and does what it says ([`api::Output`]) until it answers with a time to come back at.
//! 4. [`engine::Engine::close`] says goodbye to the peers; poll once more, and drop it.
//!
//! Same inputs, same outputs, byte for byte.
//!
//! # Where things are
//!
//! The walk of a packet is in two places: `peer/send`, from the device to the wire, and `peer/receive.rs`, back (what a datagram adds to a super-packet is opened
//! to its place, `in_place.rs`). A session with its paths is a
//! `peer::Peer`. What it is made of: `queue` (FQ-CoDel at the entrance), [`schedule`] (which path), [`path`] (what is on its way, and
//! how the way is), [`airtime`] (paths that share a radio channel), [`feedback`] (what the link
//! says of it), [`backhaul`] (what is different over radio links), [`order`] (what may be
//! delivered), [`flows`] (who has what), [`wire`] (bytes), [`pool`] and [`store`] (memory, sized
//! once). Keys are `ropewalk-session`'s, and how much a path may carry is up to a controller of
//! `ropewalk-cc`.
#![forbid(unsafe_code)]

pub mod airtime;
pub mod api;
pub mod backhaul;
pub mod config;
pub mod engine;
pub mod entropy;
pub mod feedback;
pub mod flows;
#[cfg(test)]
mod handshaken;
mod in_place;
pub mod inner;
pub mod order;
pub mod path;
mod peer;
pub mod pool;
mod queue;
pub mod schedule;

pub mod store;
pub mod vnet;
pub mod wire;
