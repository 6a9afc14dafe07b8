//! The live lab: real Linux network stacks in network namespaces, with cables that are [`ropewalk_air`] links.
//!
//! ```text
//!   rw-<pid>-<n>-client                 this process                rw-<pid>-<n>-gateway
//!  ┌───────────────────┐        ┌────────────────────────┐        ┌───────────────────┐
//!  │ iperf3  ropewalk  │        │ ──▶ Link (rate, loss) ──▶│        │ ropewalk   iperf3 │
//!  │   kernel    wan1 ─┼─ TUN ──┤                        ├── TUN ─┼─ wan1    kernel   │
//!  │             wan2 ─┼─ TUN ──┤ ◀── Link (delay, …) ◀── ├── TUN ─┼─ wan2             │
//!  └───────────────────┘        └────────────────────────┘        └───────────────────┘
//! ```
//! # Life of an experiment
//! 1. [`Topology::cleanup_stale`] removes what killed runs left; [`clean_on_interrupt`] sees to this one.
//! 2. A [`Topology`] makes [`Namespace`]s and [`Cable`]s between them; [`Paths`] is the usual one.
//! 3. [`Namespace::start`] runs programs inside, [`Iperf`] and [`Ping`] measure, and a [`Cable`] changes under load.
//! 4. [`Topology::kept_time`] says whether the figures may be used.
//! 5. Dropping the topology removes namespaces, processes, devices and the emulator's thread.
//!
//! ```no_run
//! use std::time::Duration;
//! use ropewalk_air::wired::LinkSpec;
//! use ropewalk_lab::{Iperf, Paths};
//!
//! # fn main() -> ropewalk_lab::Result<()> {
//! let lab = Paths::symmetric([
//!     LinkSpec::new(300.0, Duration::from_millis(10)),
//!     LinkSpec::new(80.0, Duration::from_millis(30)),
//! ])?;
//! let flow = Iperf::tcp(Paths::gateway_address(1)).seconds(5).start(&lab.client, &lab.gateway)?;
//! lab.cables[1].set_up(false)?;
//! println!("{:.1} Mb/s", flow.finish()?.received_mbps);
//! # Ok(())
//! # }
//! ```
//! Root is needed. Nothing outside the namespaces is sent to or changed.

mod cable;
mod cell;
pub mod demo;
mod emulator;
pub mod env;
mod error;
mod frame;
mod interrupt;
mod iperf;
mod lateness;
pub mod live;
pub mod machine;
mod namespace;
mod ping;
mod process;
mod realtime;
mod registry;
mod rounds;
mod site;
mod topology;
mod tun;

pub use cable::{Cable, CableCounters, CableSpec, Direction, End};
pub use cell::{MonitorInterface, OpenCell};
pub use emulator::Timing;
pub use error::{LabError, Result};
pub use frame::Damage;
pub use interrupt::clean_on_interrupt;
pub use iperf::{Interval, Iperf, IperfReport, RunningIperf, UdpReport};
pub use lateness::Lateness;
pub use namespace::Namespace;
pub use ping::{Ping, PingReport};
pub use process::Process;
pub use realtime::bare_alarms;
pub use rounds::Rounds;
pub use topology::{Paths, Topology};
