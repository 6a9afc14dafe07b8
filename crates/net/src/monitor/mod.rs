//! What a monitor interface hears: frames of stations to their access points, with their numbers.
//!
//! | file | what |
//! |---|---|
//! | `frame` | bytes of a frame to what it carries, without any socket |
//! | `filter` | which frames the kernel hands us, and how much of them |
//! | `socket` | the socket |

mod filter;
mod frame;
mod socket;

pub use frame::{Left, Overheard, read};
pub use socket::{Batch, Monitor, MonitorError, Statistics};
