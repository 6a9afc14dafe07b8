//! The simulator: nodes, TCP and MPTCP models, applications and recorders in virtual time.

#![forbid(unsafe_code)]

pub mod mptcp;
pub mod tcp;
