//! The data loop: one thread that carries packets between the device, the engine and the sockets.
//!
//! ```text
//!            ┌──────────────────────────── epoll, until the engine's next timer ────────────────────────────┐
//!            ▼                                                                                               │
//!   device ──┬─▶ Engine::handle ──▶ poll_output ──┬─▶ Transmit ──▶ socket of the path (one GSO batch)        │
//!   sockets ─┘        (up to TURN_BYTES at a time)├─▶ Deliver  ──▶ device (one super-packet)                 │
//!   signals, netlink, control requests ──▶ Role   ├─▶ Event    ──▶ Role (after the packets)                  │
//!                                                 └─▶ Timeout  ──────────────────────────────────────────────┘
//! ```
//!
//! Nothing in the upper two rows allocates or locks. What is rare goes through [`Role`], which is the gateway or the client.

mod core;
mod links;
mod mailbox;
mod reload;
mod run;
mod sockets;
mod watchdog;

pub use core::Core;
pub use links::Links;
pub use mailbox::{Outbox, mailbox};
pub use reload::Reload;
pub use run::{Flow, Role, Running, run};
