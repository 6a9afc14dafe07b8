//! The simulator: nodes, TCP and MPTCP models, applications and recorders in virtual time.
//!
//! A [`world::World`] is a network ([`net`]) with endpoints on it ([`app`]). Below are the link models of `ropewalk-air`;
//! the bonding engines are those of `ropewalk-bond`, the very code that the daemon runs. Same scenario and seed: the same
//! run, packet for packet, on every machine ([`measure::Trace`]).

#![forbid(unsafe_code)]

pub mod app;
pub mod build;
pub mod bunch;
pub mod clock;
pub mod cpu;
pub mod measure;
pub mod mptcp;
pub mod net;
pub mod packet;
pub mod roam;
pub mod run;
pub mod seed;
pub mod tcp;
pub mod tunnel;
pub mod walk;
pub mod wire;
pub mod world;

pub use build::BuildError;
pub use run::Simulation;
