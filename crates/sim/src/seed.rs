//! Seeds of a world's parts, all from one.

/// The seed of part `index` of a `kind`. Parts of one kind, and kinds among each other, are independent, and adding a part
/// changes no other's (FNV-1a over all three, then SplitMix64's finaliser).
pub fn of(seed: u64, kind: &str, index: u64) -> u64 {
    let bytes = kind.bytes().chain(index.to_le_bytes()).chain(seed.to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mixed = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_part_has_its_own() {
        let mut all: Vec<u64> = (0..100)
            .flat_map(|i| [super::of(1, "a", i), super::of(1, "b", i), super::of(2, "a", i)])
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
    }
}
