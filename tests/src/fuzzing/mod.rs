//! The bodies of the fuzz targets: `tests/fuzz/` runs them under libFuzzer, `tests/fuzz_replay.rs`
//! over the corpus.
//!
//! Each takes any bytes and panics only where the engine breaks a promise. The bytes are read as a list of operations
//! ([`Feed`]), so that a mutation of an input is another plausible course of events.

mod ethernet;
mod feed;
mod frames;
mod handshake;
mod hostile;
mod inner;
mod network;
#[cfg(test)]
mod optimist;
mod order;
mod rogue;
pub mod seeds;

pub use feed::Feed;

/// A target: its name, which is that of its corpus directory, and its body.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 8] = [
    ("frames", frames::target),
    ("handshake", handshake::target),
    ("order", order::target),
    ("inner", inner::target),
    ("ethernet", ethernet::target),
    ("gateway", hostile::gateway),
    ("client", hostile::client),
    ("network", network::target),
];

/// Runs one target by name.
///
/// # Panics
/// If there is none of that name, or if the engine breaks a promise.
pub fn run(name: &str, data: &[u8]) {
    let (_, body) = TARGETS.iter().find(|t| t.0 == name).expect("a target of this name");
    body(data);
}
