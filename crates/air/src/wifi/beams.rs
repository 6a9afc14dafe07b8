//! Sector antennas: what they add to a path, and when they have to look for each other again.
//!
//! Two radios look at each other with the sectors that point there best. A path that somebody has stepped into or out of, or
//! whose ends have moved to other sectors, is trained anew: for the time of a sector sweep it carries nothing. Third parties
//! see a radio as if it looked at them, so everybody in a cell hears everybody; a real sector that points elsewhere is heard less.

use super::air::Air;
use super::mac::Chore;
use super::propagation::SectorAntenna;
use super::propagation::sixty::{azimuth_deg, sweep_time};
use crate::Time;

impl<T: Clone> Air<T> {
    fn antenna(&self, radio: usize) -> Option<SectorAntenna> {
        self.radios.get(radio)?.spec.antenna
    }

    /// The sector with which a radio looks at another, if it has any.
    fn sector(&self, radio: usize, at: usize) -> Option<u8> {
        let azimuth = azimuth_deg(self.position(radio), self.position(at));
        self.antenna(radio).map(|antenna| antenna.best_sector(azimuth))
    }

    /// What the antennas at both ends of a path add, dB.
    pub(super) fn antenna_gain_db(&self, a: usize, b: usize) -> f64 {
        let one = |from, to| {
            let azimuth = azimuth_deg(self.position(from), self.position(to));
            self.antenna(from).map_or(0.0, |antenna| antenna.gain_dbi(antenna.best_sector(azimuth), azimuth))
        };
        one(a, b) + one(b, a)
    }

    /// Whether a path is being trained.
    pub(super) fn is_training(&self, a: usize, b: usize) -> bool {
        let pair = (a.min(b) as u16, a.max(b) as u16);
        self.training.iter().any(|t| (t.0, t.1) == pair && t.2 > self.now)
    }

    /// Cuts the path of two radios that both have sectors, for the time of a sweep.
    pub(super) fn train(&mut self, a: usize, b: usize) {
        let (Some(one), Some(other)) = (self.antenna(a), self.antenna(b)) else { return };
        let until = self.now + sweep_time(one.sectors, other.sectors);
        let pair = (a.min(b) as u16, a.max(b) as u16);
        self.training.retain(|t| (t.0, t.1) != pair);
        self.training.push((pair.0, pair.1, until));
        self.place_radio(a);
        self.schedule(a, until, Chore::Trained);
    }

    /// Moves a radio; paths whose sectors change are trained.
    pub(super) fn move_radio(&mut self, radio: usize, position: [f64; 3]) {
        let others: Vec<usize> = (0..self.radios.len()).filter(|&other| other != radio).collect();
        let sectors = |air: &Self| -> Vec<_> {
            others.iter().map(|&other| (air.sector(radio, other), air.sector(other, radio))).collect()
        };
        let before = sectors(self);
        self.radios[radio].spec.position = position;
        let after = sectors(self);
        self.place_radio(radio);
        for (place, &other) in others.iter().enumerate() {
            if before[place] != after[place] {
                self.train(radio, other);
            }
        }
    }

    /// A sweep has ended.
    pub(super) fn trained(&mut self, radio: usize) {
        let now = self.now;
        self.training.retain(|t| t.2 > now);
        self.place_radio(radio);
    }
}

/// A path in training: its radios, the lower number first, and when it carries again.
pub(super) type Training = (u16, u16, Time);

#[cfg(test)]
#[path = "beams_tests.rs"]
mod tests;
