//! One test program, whose modules `./run test` starts one by one.

mod common;

mod laws;
mod live;
mod marks;
mod objects;
mod pins;
