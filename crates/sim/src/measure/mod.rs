//! What a run is measured by.

mod capture;
mod counts;
mod flow;
pub mod rows;
mod snapshot;
mod trace;

pub use capture::{CaptureError, Captures};
pub use counts::{BunchCounts, CpuCounts, FlowCounts};
pub use flow::{FlowRecord, Spans};
pub use snapshot::{BondCounts, LinkCounts, PathCounts, Snapshot, StationCounts};
pub use trace::Trace;
