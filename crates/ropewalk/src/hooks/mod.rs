//! Programs of the user's that are told what happens: `--hooks DIR`.
//!
//! They run one after the other on a thread of their own, each for a limited time, so that no loop
//! waits for any of them. What happens is in their environment (`ROPEWALK_EVENT` and others)
//! and nothing else is: no secrets, and nothing of the daemon's own environment but `PATH`.
//!
//! | type | whose |
//! |---|---|
//! | [`ClientHooks`] | a client's and a repeater's |
//! | [`GatewayHooks`] | a gateway's, an access point's of a backhaul, a bunch's gateway's |
//! | [`BunchHooks`] | a bunch's access point's |
//! | [`RoamHooks`] | those of `ropewalk roam` |
//!
//! `programs` runs all of them.

mod bunch;
mod client;
mod gateway;
mod programs;
mod roam;

pub(crate) use bunch::BunchHooks;
pub(crate) use client::ClientHooks;
pub(crate) use gateway::{GatewayHooks, QuotaHooks};
pub(crate) use roam::{Joined, RoamHooks, Standing};
