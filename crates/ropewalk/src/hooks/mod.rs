//! Programs of the user's that are told what happens: `--hooks DIR`.
//!
//! They run one after the other on a thread of their own, each for a limited time, so that the data
//! loop waits for none of them. What happens is in their environment (`ROPEWALK_EVENT` and others)
//! and nothing else is: no secrets, and nothing of the daemon's own environment but `PATH`.
//!
//! [`ClientHooks`] are a client's and a repeater's, [`GatewayHooks`] a gateway's and an access
//! point's; `programs` runs either.

mod client;
mod gateway;
mod programs;

pub(crate) use client::ClientHooks;
pub(crate) use gateway::{GatewayHooks, QuotaHooks};
