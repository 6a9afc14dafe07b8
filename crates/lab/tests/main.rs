//! One test program, whose modules `./run test` starts one by one.

mod common;

mod cables;
mod feedback;
mod flows;
mod leftovers;
mod live;
mod steering;
mod weighted;
