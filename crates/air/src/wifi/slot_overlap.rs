//! How well clients use several channels if each hops over them by itself (MA-20, the multi-AP paper's section 7).
//!
//! Every client visits the channels in turn and stays on each for a slot, lengthened by a random delay. Switching costs
//! nothing, and clients on a channel share it equally, so a channel is used whenever somebody is on it. The result is the mean share
//! of channels in use.

use core::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Clients that hop over channels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotOverlap {
    /// Clients.
    pub clients: u32,
    /// Channels, each with an access point.
    pub channels: u32,
    /// Time on a channel, without the delay.
    pub slot: Duration,
    /// The least and the most delay that is added to each slot, drawn evenly between.
    pub delay: (Duration, Duration),
}

impl SlotOverlap {
    /// The paper's setting: three channels, a cycle of 200 ms shared equally, 1 to 10 ms added.
    pub fn paper(clients: u32) -> SlotOverlap {
        let ms = Duration::from_millis;
        SlotOverlap { clients, channels: 3, slot: ms(200) / 3, delay: (ms(1), ms(10)) }
    }

    /// The share of channels in use over `time`, 0 to 1. Clients begin on channels and at places in their slots drawn at random.
    pub fn used(&self, time: Duration, seed: u64) -> f64 {
        let (channels, clients) = (self.channels.max(1), self.clients as usize);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let slot = |rng: &mut ChaCha8Rng| {
            let (least, most) = (self.delay.0.as_nanos() as u64, self.delay.1.as_nanos() as u64);
            (self.slot.as_nanos() as u64 + rng.random_range(least..=most.max(least))).max(1)
        };
        let mut places: Vec<u32> = (0..clients).map(|_| rng.random_range(0..channels)).collect();
        let mut until: Vec<u64> =
            (0..clients).map(|_| (slot(&mut rng) as f64 * rng.random::<f64>()) as u64).collect();
        let mut users = vec![0u32; channels as usize];
        places.iter().for_each(|&c| users[c as usize] += 1);
        let (end, mut now, mut busy) = (time.as_nanos() as u64, 0, 0u128);
        while now < end {
            let next = until.iter().copied().min().unwrap_or(end).min(end);
            let in_use = users.iter().filter(|n| **n > 0).count();
            busy += u128::from(next - now) * in_use as u128;
            now = next;
            for (place, until) in places.iter_mut().zip(&mut until).filter(|(_, u)| **u == next) {
                users[*place as usize] -= 1;
                *place = (*place + 1) % channels;
                users[*place as usize] += 1;
                *until = next + slot(&mut rng);
            }
        }
        busy as f64 / (u128::from(end.max(1)) * u128::from(channels)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_table() {
        // Mean over seeds; the delays make clients drift apart, so a long run sees all phases. Random places leave (2/3)^n of the
        // channels idle.
        for clients in 1..=6u32 {
            let used = (0..4)
                .map(|seed| SlotOverlap::paper(clients).used(Duration::from_secs(3_600), seed))
                .sum::<f64>()
                / 4.0;
            let formula = 1.0 - libm::pow(2.0 / 3.0, f64::from(clients));
            assert!((used - formula).abs() < 0.02, "{clients} clients: {used} for {formula}");
        }
    }

    #[test]
    fn the_worst_is_as_many_clients_as_channels() {
        // As a share of what the clients could have, 22·min(n, 3) Mb/s.
        let share =
            |n: u32| SlotOverlap::paper(n).used(Duration::from_secs(3_600), 7) * 3.0 / f64::from(n.min(3));
        let shares: Vec<f64> = (1..=6).map(share).collect();
        assert!(shares.iter().all(|s| *s >= shares[2]), "{shares:?}");
    }

    #[test]
    fn without_delays_phases_stay() {
        let still = SlotOverlap { delay: (Duration::ZERO, Duration::ZERO), ..SlotOverlap::paper(1) };
        assert!((still.used(Duration::from_secs(10), 1) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(SlotOverlap::paper(0).used(Duration::from_secs(1), 1), 0.0);
    }
}
