//! Engines against engines. One binary, so that they are linked once and run side by side.

mod airtime;
mod backhaul;
mod backhaul_safety;
mod crossing;
mod end_to_end;
mod fuzz_replay;
mod handshakes;
mod models;
mod moving;
mod operations;
mod pair;
mod paths;
mod purity;
mod sessions;
mod shards;
mod snapshot;
