//! BLEST (Ferlin et al., IFIP Networking 2016, section III): a slow subflow is not used if what it holds would take the window that the fast one
//! needs until the slow one is acknowledged. The paper's λ, which grows with each time that this was wrong, is 1 throughout.

use super::Ready;

/// Whether to wait for `fast` although `slow` has room; `send_window` is what the peer takes from its first missing byte on.
pub(super) fn waits(fast: &Ready, slow: &Ready, send_window: u64) -> bool {
    if fast.srtt.is_zero() {
        return false;
    }
    let rounds = slow.srtt.as_secs_f64() / fast.srtt.as_secs_f64();
    // Equation 1: in each of these rounds the fast window is a segment larger than in the one before.
    let segments = (fast.window / fast.mss.max(1)) as f64 + (rounds - 1.0) / 2.0;
    let fast_bytes = fast.mss as f64 * segments * rounds;
    let left = send_window.saturating_sub(slow.flight + slow.mss);
    fast_bytes > left as f64
}
