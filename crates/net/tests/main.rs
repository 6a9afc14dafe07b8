//! One test program, whose modules `./run test` starts one by one.

mod common;

mod feedback;
mod fuzz_replay;
mod links;
mod nat;
mod privileges;
mod setup;
mod speed;
mod tun;
mod udp;
