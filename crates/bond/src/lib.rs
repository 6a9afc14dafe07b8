//! The bonding engine (sans-IO).
#![forbid(unsafe_code)]

pub mod cc;
pub mod time;
