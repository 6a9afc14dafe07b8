//! Measures the figures that Ropewalk promises, beside its peers, in the same run.
//!
//! ```text
//!   rows ──▶ a Site (namespaces, emulated cables) ──▶ a System through it ──▶ a load ──▶ Sample ──▶ report
//!            lab                                     bare path             flow, page │         text, Markdown,
//!                                                    kernel MPTCP          quic, call │         JSON
//!                                                    wireguard-go          iperf3     └─ again if the emulator
//!                                                    ropewalk              ping          did not keep time
//! ```
//! A row is one line of the table of targets. It measures *systems* from a client to a gateway under equal conditions,
//! several times, and judges the medians. [`system`], [`flow`] and [`quic`] know nothing of rows and serve other
//! programs as well.
//!
//! # What is the same for all
//! * CUBIC, asked for at each socket and verified with `ss` while the flow runs, or by a page's server (iperf3's flows
//!   are not looked at); TCP without ECN; no saved TCP metrics. quinn asks for ECN, and has no setting against it: a
//!   queue that marks, as the bond's may, spares it losses that the tail-drop queue of a bare path does not.
//! * The same sender and receiver ([`flow`]) for plain TCP and for MPTCP. Rates are of bytes that arrived at the
//!   receiver's application, in Mb/s (10⁶ bit/s).
//! * A system is opened before a flow begins and closed after it, so that nothing else runs meanwhile.
//! * A run in which the emulated cables were late is repeated, and left out if they are late again.

pub mod against;
pub mod bench;
mod call;
pub mod clock;
pub mod crowd;
mod fleet;
pub mod flow;
pub mod homes;
pub mod machine;
mod page;
pub mod plan;
pub mod progress;
pub mod quic;
mod quota;
pub mod relay;
pub mod report;
pub mod rows;
pub mod sample;
pub mod site;
pub mod soak;
pub mod system;
pub mod usage;
