//! Sequence numbers: 32 bits on the wire, 64 bits inside.
//!
//! Inside, a direction of a connection counts *offsets*: the SYN is offset 0, the first byte is 1, and nothing wraps.

/// The wire's number for `offset` when the SYN had number `isn`.
pub const fn wire(isn: u32, offset: u64) -> u32 {
    isn.wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has the number `number` on the wire; none if that would lie before the SYN.
pub const fn offset(isn: u32, near: u64, number: u32) -> Option<u64> {
    let step = number.wrapping_sub(wire(isn, near)) as i32;
    near.checked_add_signed(step as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_comes_back() {
        let isn = u32::MAX - 5;
        for at in [0, 5, 6, 7, 1 << 20, (1 << 32) - 1, 1 << 32, (1 << 40) + 17] {
            assert_eq!(offset(isn, at, wire(isn, at)), Some(at));
            assert_eq!(offset(isn, at + 1000, wire(isn, at)), Some(at));
            assert_eq!(offset(isn, at.saturating_sub(1000), wire(isn, at)), Some(at));
        }
        assert_eq!(offset(isn, 3, wire(isn, 0).wrapping_sub(1)), None, "before the SYN");
    }
}
