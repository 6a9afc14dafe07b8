//! Order per flow, at the receiving end.
//!
//! Records of one flow channel are handed to the device in the order in which they left the far device; other flows do not
//! wait. When a record is missing, the ones after it are held until
//!
//! 1. it comes, on its first way or sent again;
//! 2. the sender says that it will not come ([`crate::wire::Frame::Void`]);
//! 3. it is *known lost* (everything that left before some point has arrived on every path that could still carry it, as in PPP
//!    multilink, RFC 1990 §4.1) and the time in which it could be sent again is over; or
//! 4. the deadline passes, which matters only when paths are silent, or where one was set: then it is that of the records which wait, not of each gap.
//!
//! A record that comes after it was given up is passed on late, never dropped. Urgent channels only drop duplicates.

mod assembly;
mod channel;
mod table;
mod waits;

pub use table::{Counters, Delivery, Growing, Hold, Table};
pub use waits::Waits;
