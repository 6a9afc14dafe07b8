//! What a monitor interface hears: frames of stations to their access points, with their numbers
//! and packets; and headers of what access points send to stations.
//!
//! | file | what |
//! |---|---|
//! | `frame` | bytes of a frame to what it carries, without any socket |
//! | `header` | bytes of a frame to its header, whatever it carries |
//! | `radiotap` | what the driver says of a frame: flags, rate, aggregate |
//! | `filter` | which frames the kernel hands us, and how much of them |
//! | `socket` | the socket |

mod filter;
mod frame;
mod header;
mod radiotap;
mod socket;

pub use filter::{Link, MOST_LINKS};
pub use frame::{Left, Overheard, read};
pub use header::{Header, header};
pub use radiotap::{Modulation, Rate};
pub use socket::{Batch, Monitor, MonitorError, Statistics};
