//! The one queue of a bond: FQ-CoDel (RFC 8290) at its entrance.
//!
//! Two things differ from the RFC, both because the queue stands before *several* paths of unlike delay:
//!
//! * A path takes bytes, not packets: a super-packet leaves in fragments, and neighbouring fragments may take different paths.
//! * A slow path does not take the head of a flow. What leaves now on a path that is Δ slower arrives Δ later than what leaves now on
//!   the fast one, so it takes the bytes that the fast paths would only reach Δ from now ([`Taker::skip_bytes`]).
//!   Everything then arrives in order by itself, a flow too short to fill the fast path never
//!   meets the slow one, and a longer queue, not a longer reordering buffer, pays for the difference.
//!
//! A packet gets its number in the flow when it, or one behind it, is first sent. What is dropped before that leaves no gap for the far end to be told of.

mod budget;
pub(crate) mod codel;
mod flow;
mod ingress;

pub(crate) use flow::{Class, FLOWS};
pub use ingress::Counters;
pub(crate) use ingress::{Ingress, Taker};
