//! Narrow counters of the kernel made wide.

/// A counter of 32 bits that wraps, summed up over all its lives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wide {
    last: u32,
    total: u64,
}

impl Wide {
    /// Takes the counter's value; within one life it wraps at most once between two calls. `anew`: this is another life, which began at zero. Gives what was added.
    pub(super) fn update(&mut self, value: u32, anew: bool) -> u64 {
        let last = if anew { 0 } else { self.last };
        let added = u64::from(value.wrapping_sub(last));
        self.total += added;
        self.last = value;
        added
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_new_lives_add_up() {
        let mut wide = Wide::default();
        for (value, anew, total) in [
            (u32::MAX - 1, true, u64::from(u32::MAX) - 1),
            (3, false, u64::from(u32::MAX) + 4),
            (10, true, u64::from(u32::MAX) + 14),
            (10, false, u64::from(u32::MAX) + 14),
        ] {
            wide.update(value, anew);
            assert_eq!(wide.total(), total);
        }
    }
}
