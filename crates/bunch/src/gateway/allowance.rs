//! How many packets a contributor may name in its reports: ten bytes can name 32,768, and each
//! costs the gateway a step.

use crate::Time;

/// So many at once: what 64 MiB hold in packets of 64 bytes, told again in a new tunnel.
const BURST: u64 = 1 << 20;
/// And so many in a second: 3 Gbit/s of long packets.
const PER_SECOND: u64 = 256_000;

/// What is left of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    left: u64,
    at: Time,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance { left: BURST, at: Time::ZERO }
    }
}

impl Allowance {
    /// Takes so many; false if there are not so many left.
    pub(super) fn take(&mut self, count: u64, now: Time) -> bool {
        let more = now.since(self.at).as_millis().min(u128::from(u32::MAX)) as u64 * PER_SECOND / 1000;
        if more > 0 {
            (self.left, self.at) = ((self.left + more).min(BURST), now);
        }
        let left = self.left.checked_sub(count);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate() {
        let (mut allowance, second) = (Allowance::default(), Time::from_secs);
        assert!(allowance.take(BURST, second(9)) && allowance.take(0, second(9)));
        assert!(!allowance.take(1, second(9)));
        assert!(allowance.take(PER_SECOND, second(10)) && !allowance.take(1, second(10)));
        // However often somebody asks in vain.
        let mut ask = |n: u64| allowance.take(PER_SECOND, Time::from_millis(10_000 + n));
        assert_eq!((1..=1000).filter(|n| ask(*n)).count(), 1);
    }
}
