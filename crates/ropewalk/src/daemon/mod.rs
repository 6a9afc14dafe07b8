//! The data loop: one thread that carries packets between the device, the engine and the sockets.
//!
//! ```text
//!            ┌──────────────────────────── epoll, until the engine's next timer ────────────────────────────┐
//!            ▼                                                                                               │
//!  devices ──┬─▶ Engine::handle ──▶ poll_output ──┬─▶ Transmit ──▶ socket of the path (one GSO batch)        │
//!   sockets ─┘        (up to TURN_BYTES at a time)├─▶ Deliver  ──▶ device (one super-packet)                 │
//!   signals, netlink, control requests ──▶ Role   ├─▶ Event    ──▶ Role (after the packets)                  │
//!                                                 └─▶ Timeout  ──────────────────────────────────────────────┘
//! ```
//!
//! Nothing in the upper two rows allocates or locks, unless a gateway has several such loops ([`workers`]). What is rare goes through [`Role`],
//! which is the gateway or the client. A gateway's handshakes are worked on by a thread of their own ([`handshakes`]), and so is TLS ([`streams`]).

mod core;
mod devices;
mod handshakes;
mod links;
mod lost;
mod mailbox;
mod reload;
mod run;
mod sockets;
mod streams;
mod watchdog;
mod workers;

pub(crate) use core::Core;
pub(crate) use devices::{DEVICE_QUEUE, Devices, Tap};
pub(crate) use links::Links;
pub(crate) use lost::Lost;
pub(crate) use mailbox::{Mailbox, Outbox, mailbox, mailboxes};
pub(crate) use reload::Reload;
pub(crate) use run::{Flow, Role, Running, run};
pub(crate) use watchdog::Watchdog;
pub(crate) use workers::{Message, Workers, workers};

use rand::TryRngCore;
use rand::rngs::OsRng;
use ropewalk_bond::entropy::Entropy;
use ropewalk_net::priority::{self, Priority};

/// The randomness of keys: each draw comes from the kernel, whose generator re-keys itself after it. No copy is kept in this process.
pub(crate) fn entropy() -> Entropy {
    Entropy::new(OsRng.unwrap_err())
}

/// Before rights are given up: the loop is not to wait behind the programs that it carries packets for.
pub(crate) fn take_precedence(nice: i8) {
    match priority::raise(nice.into()) {
        Ok(Priority::Set(_)) => {}
        Ok(Priority::Given(given)) => tracing::debug!(niceness = given, "as it was started"),
        Ok(Priority::NotPermitted) => tracing::debug!("the niceness stays 0: another needs CAP_SYS_NICE"),
        Err(error) => tracing::debug!(%error, "the niceness stays as it is"),
    }
}
