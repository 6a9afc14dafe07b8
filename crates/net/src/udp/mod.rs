//! A UDP socket for one path: batches out and in with one system call each, ECN, and the address each
//! datagram came to.
//!
//! A socket speaks one IP version and is not connected, so one socket serves a gateway's every client. It
//! never fragments and ignores the kernel's path MTU (`PMTUDISC_PROBE`), because the engine searches the MTU
//! itself (RFC 8899).

mod completions;
mod control;
mod error;
mod recv;
mod segmentation;
mod send;
mod socket;
mod steering;

pub(crate) use control::{Control, int};
pub use error::{OpenError, PathError, SendError};
pub(crate) use recv::read_any;
pub use recv::{DATAGRAM_BUFFER, Datagrams, RecvBatch};
pub use send::{MAX_BATCH_BYTES, MAX_SEGMENTS, Transmit};
pub use socket::{Options, UdpSocket};
pub(crate) use socket::{bind_to_device, set_int};
