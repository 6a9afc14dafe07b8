//! TCP segments: values of fixed size, their bytes, and the arithmetic of their sequence numbers.
//!
//! The endpoints of the simulator and the proxies in the middle of a path share these. Nothing here
//! has a socket or a clock.
//!
//! | file | question |
//! |---|---|
//! | `segment` | what a segment says |
//! | `options` | its options as bytes |
//! | `seq` | sequence numbers of 32 bits, and offsets of 64 bits that do not wrap |
//! | `wire` | a segment as an IPv4 packet, and back |

#![forbid(unsafe_code)]

mod options;
mod segment;
pub mod seq;
pub mod wire;

pub use options::BadOptions;
pub use segment::{
    Ecn, Flags, ForeignOptions, MAX_OPTIONS_BYTES, Mapping, MptcpOption, Options, SackBlocks, Segment,
    Timestamps,
};
