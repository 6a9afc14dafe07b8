//! How long a client with one radio stays on each channel (paper 001, §7).
//!
//! While it is away its access points keep what comes (power save). A duty cycle no longer than the
//! sender's least retransmission timeout keeps that timeout from running out: 200 ms with Linux.

use core::time::Duration;

/// The duty cycle, all channels together (paper 001, §7).
pub const CYCLE: Duration = Duration::from_millis(200);
/// The shortest slot: an access point can send at least a packet in it (paper 001, §7).
pub const FLOOR: Duration = Duration::from_millis(10);

/// Slots of channels that brought `bytes_s` bytes a second while the client was there, in
/// proportion to the power `alpha` of that.
///
/// Shares below the floor are set to it, and the others share what is left, until all slots sum to
/// the cycle. A channel that brought nothing keeps the floor, so that it is measured again. If no
/// channel brought anything, all are equal. None: no channel, or more than the cycle has floors
/// for.
pub fn slots(bytes_s: &[u64], alpha: u32) -> Option<Vec<Duration>> {
    slots_of(bytes_s, alpha, CYCLE, FLOOR)
}

/// The same with another cycle and floor.
pub fn slots_of(bytes_s: &[u64], alpha: u32, cycle: Duration, floor: Duration) -> Option<Vec<Duration>> {
    let (cycle_ns, floor_ns) = (cycle.as_nanos() as u64, floor.as_nanos() as u64);
    let floors = floor_ns.checked_mul(bytes_s.len() as u64)?;
    if bytes_s.is_empty() || floors > cycle_ns {
        return None;
    }
    let weights = weights(bytes_s, alpha);
    let mut floored = vec![false; weights.len()];
    let mut slots = vec![floor_ns; weights.len()];
    loop {
        let free = |n: &usize| !floored[*n];
        let sum: f64 = (0..weights.len()).filter(free).map(|n| weights[n]).sum();
        let set = floored.iter().filter(|f| **f).count() as u64;
        let left_ns = cycle_ns - set * floor_ns;
        for n in (0..weights.len()).filter(free) {
            slots[n] = (left_ns as f64 * weights[n] / sum) as u64;
        }
        let short: Vec<usize> = (0..weights.len()).filter(free).filter(|n| slots[*n] < floor_ns).collect();
        if short.is_empty() {
            break;
        }
        for n in short {
            floored[n] = true;
            slots[n] = floor_ns;
        }
    }
    // What rounding left goes to the longest slot.
    let rest_ns = cycle_ns - slots.iter().sum::<u64>();
    let longest = (0..slots.len()).rev().max_by_key(|n| slots[*n])?;
    slots[longest] += rest_ns;
    Some(slots.into_iter().map(Duration::from_nanos).collect())
}

/// Relative to the best, so that no power overflows.
fn weights(bytes_s: &[u64], alpha: u32) -> Vec<f64> {
    let best = bytes_s.iter().copied().max().unwrap_or(0);
    if best == 0 {
        return vec![1.0; bytes_s.len()];
    }
    let share = |bytes: &u64| *bytes as f64 / best as f64;
    bytes_s.iter().map(|b| (0..alpha).fold(1.0, |product, _| product * share(b))).collect()
}

/// Share of the best channel's rate that a client gets whose radio loses `switch` at each change of
/// channel, all slots being used in full.
pub fn used(bytes_s: &[u64], slots: &[Duration], switch: Duration) -> f64 {
    let best = bytes_s.iter().copied().max().unwrap_or(0).max(1);
    let cycle_s: f64 = slots.iter().map(Duration::as_secs_f64).sum();
    let on = |slot: &Duration| slot.saturating_sub(switch).as_secs_f64() / cycle_s.max(f64::MIN_POSITIVE);
    bytes_s.iter().zip(slots).map(|(bytes, slot)| *bytes as f64 / best as f64 * on(slot)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(slots: &[Duration]) -> Vec<f64> {
        slots.iter().map(|s| (s.as_secs_f64() * 1e5).round() / 1e2).collect()
    }

    #[test]
    fn equal_channels_and_alpha_0_get_equal_slots() {
        assert_eq!(ms(&slots(&[7, 7], 2).unwrap()), [100.0, 100.0]);
        assert_eq!(ms(&slots(&[9, 1], 0).unwrap()), [100.0, 100.0]);
        assert_eq!(ms(&slots(&[0, 0], 2).unwrap()), [100.0, 100.0]);
    }

    #[test]
    fn alpha_2_prefers_the_better_channel_by_the_square() {
        assert_eq!(ms(&slots(&[30, 10], 2).unwrap()), [180.0, 20.0]);
        assert_eq!(ms(&slots(&[30, 10], 1).unwrap()), [150.0, 50.0]);
    }

    #[test]
    fn those_below_the_floor_get_it_and_the_rest_is_shared_until_the_cycle_is_full() {
        // 1, 10 and 100 by the square would be 0.02, 1.98 and 198 ms.
        assert_eq!(ms(&slots(&[1, 10, 100], 2).unwrap()), [10.0, 10.0, 180.0]);
        // The second comes below the floor only when the first has got it.
        let two = ms(&slots_of(&[0, 53, 947], 1, CYCLE, FLOOR).unwrap());
        assert_eq!(two[..2], [10.0, 10.07]);
        let three = ms(&slots_of(&[0, 51, 949], 1, CYCLE, FLOOR).unwrap());
        assert_eq!(three, [10.0, 10.0, 180.0]);
    }

    #[test]
    fn a_channel_that_brought_nothing_is_measured_again() {
        let slots = slots(&[1_000_000, 0], 2).unwrap();
        assert_eq!(ms(&slots), [190.0, 10.0]);
    }

    #[test]
    fn as_many_channels_as_there_are_floors() {
        assert!(slots(&[1; 20], 2).is_some());
        assert_eq!(slots(&[1; 21], 2), None);
        assert_eq!(slots(&[], 2), None);
    }

    #[test]
    fn switching_costs_what_it_takes() {
        let switch = Duration::from_millis(5);
        // Two changes in 200 ms: 5 %, not the 10 % of the paper (C-MA-066).
        let even = slots(&[20, 20], 2).unwrap();
        assert!((used(&[20, 20], &even, switch) - 0.95).abs() < 1e-9);
        // Alpha 0 gives the mean of both (C-MA-068), less the changes.
        let halves = slots(&[20, 5], 0).unwrap();
        assert!((used(&[20, 5], &halves, Duration::ZERO) - 0.625).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn slots_fill_the_cycle_and_none_is_below_the_floor(bytes in proptest::collection::vec(any::<u64>(), 1..20), alpha in 0u32..6) {
            let slots = slots(&bytes, alpha).unwrap();
            prop_assert_eq!(slots.iter().sum::<Duration>(), CYCLE);
            prop_assert!(slots.iter().all(|s| *s >= FLOOR));
        }

        #[test]
        fn more_bytes_never_get_a_shorter_slot(bytes in proptest::collection::vec(0u64..1 << 40, 2..10), alpha in 0u32..4) {
            let slots = slots(&bytes, alpha).unwrap();
            for (a, x) in bytes.iter().zip(&slots) {
                for (b, y) in bytes.iter().zip(&slots) {
                    prop_assert!(a <= b || *x + Duration::from_nanos(20) >= *y);
                }
            }
        }
    }
}
