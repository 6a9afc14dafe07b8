//! The bonding engine (sans-IO).
#![forbid(unsafe_code)]

pub mod api;
pub mod cc;
pub mod config;
pub mod engine;
pub mod inner;
pub mod order;
pub mod path;
pub mod peer;
pub mod pool;
pub mod queue;
mod receive;
pub mod record;
pub mod schedule;
mod send;
pub mod session;
pub mod time;
pub mod vnet;
pub mod wire;
