//! What a run is measured by.

mod flow;
mod trace;

pub use flow::{FlowRecord, Spans};
pub use trace::Trace;
