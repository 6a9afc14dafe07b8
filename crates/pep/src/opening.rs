//! The handshake: what it says, and which connections are left alone.

use crate::Bypass;
use ropewalk_packet::{Flags, Segment};
use std::net::SocketAddrV4;

/// What both SYNs agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Agreed {
    pub(crate) sender: SocketAddrV4,
    pub(crate) receiver: SocketAddrV4,
    pub(crate) sender_isn: u32,
    /// Shift of the receiver's windows (RFC 7323 §2.2: none unless both asked).
    pub(crate) receiver_scale: u8,
    /// Of the sender's windows.
    pub(crate) sender_scale: u8,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    pub(crate) mss: u64,
}

/// Why a connection with this SYN, or SYN-ACK, is left alone.
pub(crate) fn bypass(segment: &Segment) -> Option<Bypass> {
    let (options, foreign) = (&segment.options, &segment.options.foreign);
    [
        (!segment.flags.has(Flags::SYN), Bypass::NoHandshake),
        (foreign.authentication, Bypass::Authentication),
        (foreign.md5, Bypass::Md5),
        (options.mptcp.is_some() || foreign.mptcp, Bypass::Mptcp),
        (foreign.fast_open || segment.payload_bytes > 0, Bypass::FastOpen),
    ]
    .into_iter()
    .find_map(|(yes, why)| yes.then_some(why))
}

/// What `syn` and its answer agree on.
pub(crate) fn agree(syn: &Segment, answer: &Segment) -> Agreed {
    let (ours, theirs) = (&syn.options, &answer.options);
    // RFC 7323 §2.3: more than 14 counts as 14.
    let both = theirs.window_scale.zip(ours.window_scale);
    let (receiver_scale, sender_scale) = both.map_or((0, 0), |(r, s)| (r.min(14), s.min(14)));
    Agreed {
        sender: syn.source,
        receiver: syn.destination,
        sender_isn: syn.seq,
        receiver_scale,
        sender_scale,
        sack: ours.sack_permitted && theirs.sack_permitted,
        timestamps: ours.timestamps.is_some() && theirs.timestamps.is_some(),
        // RFC 9293 §3.7.1.
        mss: u64::from(theirs.mss.unwrap_or(536)).max(1),
    }
}
