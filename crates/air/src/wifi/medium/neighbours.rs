//! Who receives whom, and how strongly.

use super::ear::{Ear, SUBS};
use super::tuning::{Decodes, TuningId, Tunings};
use crate::Time;
use crate::wifi::phy::decibel::ratio_from_db;

/// A radio that receives an emitter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbour {
    pub(crate) ear: u16,
    pub(crate) decodes: Decodes,
    /// Received power, all of it, mW.
    pub(crate) power_mw: f64,
    /// What falls into each part of the ear's channel when the emitter uses its own whole channel.
    pub(crate) subs: [f64; SUBS],
}

/// Those of one emitter.
#[derive(Debug, Clone)]
pub(crate) struct Neighbours {
    /// Of the [`Paths`] when the list was made; 0: never.
    generation: u64,
    /// The emitter's tuning then.
    pub(crate) tuning: TuningId,
    pub(crate) list: Vec<Neighbour>,
}

impl Default for Neighbours {
    fn default() -> Neighbours {
        Neighbours { generation: 0, tuning: TuningId(0), list: Vec::new() }
    }
}

/// Path losses and transmit powers.
#[derive(Debug)]
pub(crate) struct Paths {
    generation: u64,
    ears: usize,
    /// By emitter, then ear: power gain, below 1.
    gain: Vec<f64>,
    power_mw: Vec<f64>,
    /// Where each emitter sends: a radio's own tuning.
    tuning: Vec<TuningId>,
    floor_mw: f64,
}

impl Paths {
    /// `emitters` of them, the first `ears` being radios; all out of reach of each other.
    pub(crate) fn new(emitters: usize, ears: usize, floor_mw: f64) -> Paths {
        Paths {
            generation: 1,
            ears,
            gain: vec![0.0; emitters * ears],
            power_mw: vec![0.0; emitters],
            tuning: vec![TuningId(0); emitters],
            floor_mw,
        }
    }

    pub(crate) fn emitters(&self) -> usize {
        self.power_mw.len()
    }

    pub(crate) fn changed(&mut self) {
        self.generation += 1;
    }

    /// Sets the loss from an emitter to an ear, dB.
    pub(crate) fn set_loss_db(&mut self, emitter: usize, ear: usize, loss_db: f64) {
        self.gain[emitter * self.ears + ear] = ratio_from_db(-loss_db);
        self.changed();
    }

    /// Sets an emitter's power, mW.
    pub(crate) fn set_power_mw(&mut self, emitter: usize, mw: f64) {
        self.power_mw[emitter] = mw;
        self.changed();
    }

    /// Sets where an emitter sends.
    pub(crate) fn set_tuning(&mut self, emitter: usize, tuning: TuningId) {
        self.tuning[emitter] = tuning;
        self.changed();
    }

    /// The mean power that an ear receives from an emitter, mW, whatever the channel.
    pub(crate) fn received_mw(&self, emitter: usize, ear: usize) -> f64 {
        self.gain[emitter * self.ears + ear] * self.power_mw[emitter]
    }

    /// The factor by which fading changes the power of what is sent now; none without fading.
    #[inline]
    pub(crate) fn fading(&mut self, _emitter: usize, _ear: u16, _now: Time) -> Option<f64> {
        None
    }

    /// Makes the list anew if anything has changed since it was made.
    #[inline]
    pub(crate) fn refresh(&self, emitter: usize, own: &mut Neighbours, ears: &[Ear], tunings: &Tunings) {
        if own.generation != self.generation {
            self.collect(emitter, own, ears, tunings);
        }
    }

    #[cold]
    fn collect(&self, emitter: usize, own: &mut Neighbours, ears: &[Ear], tunings: &Tunings) {
        own.generation = self.generation;
        own.tuning = self.tuning[emitter];
        own.list.clear();
        for (index, ear) in ears.iter().enumerate().filter(|&(index, _)| index != emitter) {
            let power_mw = self.received_mw(emitter, index);
            let coupling = tunings.coupling(own.tuning, ear.tuning);
            let subs = coupling.parts.map(|part| part * power_mw);
            if subs.iter().any(|&mw| mw >= self.floor_mw) {
                own.list.push(Neighbour { ear: index as u16, decodes: coupling.decodes, power_mw, subs });
            }
        }
    }
}
