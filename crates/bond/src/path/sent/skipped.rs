//! Packet numbers that are left out, to find out peers that acknowledge what they did not receive (RFC 9000 §21.4).

use arrayvec::ArrayVec;
use rand::Rng;

/// Numbers between two that are left out: at first this many to twice as many, then more and more, since each is a gap that the peer reports.
const FIRST: u64 = 256;
/// And in the end this many to twice as many.
const MOST: u64 = 8192;
/// How many are remembered. An honest peer acknowledges none of them, ever.
const REMEMBERED: usize = 16;

/// Which numbers were left out, and when one will be again.
#[derive(Debug)]
pub(super) struct Skipped {
    next: Option<u64>,
    period: u64,
    recent: ArrayVec<u64, REMEMBERED>,
}

impl Default for Skipped {
    fn default() -> Self {
        Skipped { next: None, period: FIRST, recent: ArrayVec::new() }
    }
}

impl Skipped {
    /// Whether this number, which comes next, is to be left out; it is remembered then.
    pub(super) fn is_due(&mut self, number: u64, entropy: &mut impl Rng) -> bool {
        if self.next.is_some_and(|next| number < next) {
            return false;
        }
        let is_due = self.next.is_some();
        if is_due {
            if self.recent.is_full() {
                self.recent.remove(0);
            }
            self.recent.push(number);
        }
        self.next = Some(number + entropy.random_range(self.period..2 * self.period));
        self.period = (2 * self.period).min(MOST);
        is_due
    }

    /// Whether one of these numbers was left out.
    pub(super) fn has_any(&self, bottom: u64, top: u64) -> bool {
        self.recent.iter().any(|n| (bottom..=top).contains(n))
    }
}
