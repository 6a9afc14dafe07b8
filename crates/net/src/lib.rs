//! The Linux driver: it does what the engine decided, and decides nothing.
pub mod clock;
pub mod poll;
pub mod setup;
pub mod tun;
pub mod udp;
