//! One path: a pair of addresses and everything known about the way between them.

pub mod pacer;
pub mod pmtu;
pub mod recv;
pub mod rtt;
pub mod sent;
