//! The one clock of the driver.

use ropewalk_time::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};

/// The time now, on a clock that never goes back: nanoseconds since boot, *time asleep included*
/// (`CLOCK_BOOTTIME`).
///
/// After a suspended laptop wakes, keys have aged, the NAT has forgotten us and every path is suspect.
/// `CLOCK_MONOTONIC` stands still meanwhile and would tell the engine that nothing happened. Reading costs
/// some 20 ns (vDSO).
pub fn now() -> Time {
    let at = clock_gettime(ClockId::Boottime);
    Time::from_nanos(at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64)
}

/// How long the machine has slept since it was started, which `CLOCK_MONOTONIC` does not count.
pub(crate) fn asleep() -> Duration {
    let at = |clock| {
        let at = clock_gettime(clock);
        Duration::new(at.tv_sec as u64, at.tv_nsec as u32)
    };
    // In this order a pause between the two makes it less for once, and never more.
    let boottime = at(ClockId::Boottime);
    boottime.saturating_sub(at(ClockId::Monotonic))
}

/// The processor time that the calling thread has used.
pub fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// Whether something keeps the machine's time of day right (NTP), as the kernel was told
/// (adjtimex(2)); `None` if it does not say.
pub fn is_synchronised() -> Option<bool> {
    // SAFETY: all fields of the structure are numbers, for which zero is a value; `modes` 0 asks
    // and sets nothing.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of the kernel's layout that lives across the call.
    let said = unsafe { libc::adjtimex(&raw mut state) };
    (said >= 0).then_some(said != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn never_goes_back() {
        let mut last = super::now();
        for _ in 0..1000 {
            let next = super::now();
            assert!(next >= last);
            last = next;
        }
    }
}
