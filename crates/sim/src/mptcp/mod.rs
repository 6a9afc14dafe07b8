//! Multipath TCP over several subflows of [`crate::tcp`]: a pure state machine in virtual time, driven like one endpoint.
//!
//! [`MptcpConnection`] is one end. The sender cuts its data stream into segments and gives each to a subflow that has
//! room by its own congestion window, the one with the smallest round trip or each in turn ([`SchedulerKind`]). Each
//! segment carries the place of its bytes in the data stream (RFC 8684 §3.3). The receiver puts the data of all subflows
//! in order behind one buffer; its window counts from the first byte that is missing, so a slow subflow holds up all
//! (head-of-line blocking). Against that stand opportunistic retransmission and penalisation (Raiciu et al., NSDI 2012,
//! §4.2), and reinjection of what a subflow had on the way when its timer ran out. [`MptcpConfig::linux`] has neither, and reinjects late: what
//! Linux does since 5.13 (`mptcp_pm_subflow_chk_stale`). Its single fragments from an idle subflow between timeouts are not modelled.
//!
//! Congestion control is the subflows': `lia`, `olia` and `balia` see the windows and round trips of their siblings, any
//! other controller makes the connection uncoupled.
//!
//! # What is not modelled
//! Keys and tokens are carried, but nothing is authenticated. The data stream ends when its subflows do: DATA_FIN takes
//! no number. No fallback to plain TCP, no ADD_ADDR, no checksum; 64-bit sequence numbers always. A subflow's mapping is
//! one segment long.

mod connection;
mod scheduler;
mod subflow;
#[cfg(test)]
mod tests;

pub use connection::{MptcpConfig, MptcpConnection, MptcpStats, SubflowId};
pub use scheduler::SchedulerKind;
pub use subflow::SubflowState;
