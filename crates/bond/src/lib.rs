//! The bonding engine (sans-IO).
#![forbid(unsafe_code)]

pub mod cc;
pub mod inner;
pub mod order;
pub mod path;
pub mod pool;
pub mod queue;
pub mod record;
pub mod schedule;
pub mod session;
pub mod time;
pub mod vnet;
pub mod wire;
