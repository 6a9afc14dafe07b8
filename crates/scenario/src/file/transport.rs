//! How a machine's TCP and MPTCP are set.

use super::TcpControl;
use crate::units::Bytes;
use crate::{choice, section};

/// Places in Linux's list of MPTCP endpoints, and so the most subflows beyond the first.
pub const MPTCP_PLACES: u8 = 8;

choice! {
    /// Explicit congestion notification (RFC 3168).
    pub enum Ecn {
        /// Neither asked for nor granted.
        Off = "off",
        /// Granted when the other end asks for it.
        Answer = "answer",
        /// Asked for with every connection that the machine opens, and granted.
        Ask = "ask",
    }
}

section! {
    /// How a machine's TCP is set, for its flows and, in the lab, for every program inside. Keys of a flow go before it.
    pub struct NodeTcp {
        /// Congestion control of what the machine sends: cubic, newreno or highspeed. If not said, cubic.
        congestion: Option<TcpControl>,
        /// What it does about ECN. As Linux has it.
        ecn: Ecn = Ecn::Answer,
        /// The buffer for what comes, which bounds the window that the machine advertises, and does not grow. If not said, Linux's tuning, up to 6 MB.
        receive_buffer: Option<Bytes>,
        /// Most bytes that are written and not yet acknowledged, for each connection. If not said, there is no such limit in the simulator, and
        /// Linux's tuning in the lab, up to 4 MB with what goes with the bytes.
        send_buffer: Option<Bytes>,
    }
}

section! {
    /// How a machine's MPTCP is set, for its flows and, in the lab, for every program inside: what `ip mptcp` sets.
    pub struct NodeMptcp {
        /// Interfaces from which connections take further subflows. If not said, every interface with an address. `paths` of a flow go before it.
        endpoints: Vec<String>,
        /// Most subflows of a connection beyond the first. Linux has 2 unless told otherwise; 8 is the most.
        subflows: u8 = MPTCP_PLACES,
        /// Most addresses that are taken from the other end, to open subflows to them. Linux takes none unless told otherwise; 8 is the most.
        add_addr_accepted: u8 = MPTCP_PLACES,
    }
}
