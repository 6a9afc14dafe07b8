//! The clock that all processes of a measurement share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC: the same in every process of the machine, so stamps of sender, receiver and judge compare.
pub fn now() -> Duration {
    let t = clock_gettime(ClockId::Monotonic);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}
