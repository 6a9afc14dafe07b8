//! ECF (Lim et al., CoNEXT 2017, algorithm 1): with little left to send, the fast subflow is waited for if all of it is through sooner that way
//! than the slow one would take for its part.

use super::Ready;

/// By how much more it takes to stop waiting than to begin: the paper's β.
const HYSTERESIS: f64 = 0.25;

/// Whether to wait for `fast` although `slow` has room; `unsent` bytes are left, and `waiting` says what came out last.
pub(super) fn waits(fast: &Ready, slow: &Ready, unsent: u64, waiting: bool) -> bool {
    let (fast_s, slow_s) = (fast.srtt.as_secs_f64(), slow.srtt.as_secs_f64());
    let margin = fast.deviation.max(slow.deviation).as_secs_f64();
    // Less than a window counts as one, as in the authors' Linux code (`mptcp_ecf.c`).
    let rounds = |window: u64| (unsent as f64 / window.max(1) as f64).max(1.0);
    let by_fast = (1.0 + rounds(fast.window)) * fast_s;
    let more = if waiting { 1.0 + HYSTERESIS } else { 1.0 };
    // The slow one is worth it only if its part of the rest keeps it busy for less than the fast one's wait.
    by_fast < more * (slow_s + margin) && rounds(slow.window) * slow_s >= 2.0 * fast_s + margin
}
