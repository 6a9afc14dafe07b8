//! One test program, whose modules `./run test` starts one by one.

mod common;

mod claims;
mod faults;
mod granted;
mod many;
mod members;
