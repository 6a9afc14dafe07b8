//! Models of what carries packets, for the simulator and for the live lab alike.
//!
//! The crate is pure: no socket, no clock, no thread. Time comes in as [`Time`], randomness as a seed, and the same
//! inputs give the same outputs, byte for byte, on every machine. Whoever drives a model decides what time is: the
//! simulator jumps from one `next_timeout` to the next, the lab sleeps until then.
//!
//! * [`wifi`] – 802.11 media: contention, rates, errors, aggregation, channels.
//! * [`wired`] – one direction of a cable: rate, queue, delay, jitter, loss, damage, and a switch.
//!
//! A packet's payload is a type parameter everywhere. The lab puts real IP packets through a link, the simulator
//! puts its own structures, and the model sees only a length and a flow.

#![forbid(unsafe_code)]

pub mod wifi;
pub mod wired;

pub use ropewalk_time::Time;
