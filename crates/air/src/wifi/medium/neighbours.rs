//! Who receives whom, and how strongly.

use super::receiver::{Receiver, SUBS};
use super::tuning::{Decodes, TuningId, Tunings};
use crate::Time;
use crate::wifi::phy::decibel::ratio_from_db;
use crate::wifi::propagation::{Fading, Link};

/// A radio that receives an emitter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbour {
    pub(crate) rx: u16,
    pub(crate) decodes: Decodes,
    /// Received power, all of it, mW.
    pub(crate) power_mw: f64,
    /// What falls into each part of the receiver's channel when the emitter uses its own whole
    /// channel.
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
    receivers: usize,
    /// By emitter, then receiver: power gain, below 1.
    gain: Vec<f64>,
    power_mw: Vec<f64>,
    /// Where each emitter sends: a radio's own tuning.
    tuning: Vec<TuningId>,
    floor_mw: f64,
    fading: Option<FadingPaths>,
}

/// Fading of all paths, and the values of their present blocks.
#[derive(Debug)]
struct FadingPaths {
    model: Fading,
    seed: u64,
    /// By emitter and receiver: the link, its block, and the gain in it.
    now: Vec<(Link, u64, f64)>,
}

/// How far above its mean a fading path is reckoned with when neighbours are looked for: a Rayleigh path is above it for
/// 5·10⁻⁵ of the time.
const FADING_MARGIN: f64 = 10.0;

impl Paths {
    /// `emitters` of them, the first `receivers` being radios; all out of reach of each other.
    pub(crate) fn new(emitters: usize, receivers: usize, floor_mw: f64) -> Paths {
        Paths {
            generation: 1,
            receivers,
            gain: vec![0.0; emitters * receivers],
            power_mw: vec![0.0; emitters],
            tuning: vec![TuningId(0); emitters],
            floor_mw,
            fading: None,
        }
    }

    /// Lets all paths fade. `links` are by emitter, then receiver.
    pub(crate) fn set_fading(&mut self, model: Fading, seed: u64, links: Vec<Link>) {
        self.floor_mw /= FADING_MARGIN;
        let now = links.into_iter().map(|link| (link, u64::MAX, 1.0)).collect();
        self.fading = Some(FadingPaths { model, seed, now });
    }

    /// A radio is on another channel, where its paths fade otherwise.
    pub(crate) fn set_link(&mut self, emitter: usize, rx: usize, link: Link) {
        if let Some(fading) = &mut self.fading {
            fading.now[emitter * self.receivers + rx] = (link, u64::MAX, 1.0);
        }
    }

    /// Whether paths fade.
    pub(crate) fn is_fading(&self) -> bool {
        self.fading.is_some()
    }

    pub(crate) fn emitters(&self) -> usize {
        self.power_mw.len()
    }

    pub(crate) fn changed(&mut self) {
        self.generation += 1;
    }

    /// Sets the loss from an emitter to a receiver, dB.
    pub(crate) fn set_loss_db(&mut self, emitter: usize, rx: usize, loss_db: f64) {
        self.gain[emitter * self.receivers + rx] = ratio_from_db(-loss_db);
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

    /// Where an emitter sends.
    pub(crate) fn tuning(&self, emitter: usize) -> TuningId {
        self.tuning[emitter]
    }

    /// The mean power that a receiver receives from an emitter, mW, whatever the channel.
    pub(crate) fn received_mw(&self, emitter: usize, rx: usize) -> f64 {
        self.gain[emitter * self.receivers + rx] * self.power_mw[emitter]
    }

    /// The factor by which fading changes the power of what is sent now; 1 without fading.
    #[inline]
    pub(crate) fn fading(&mut self, emitter: usize, rx: usize, now: Time) -> f64 {
        let Some(fading) = &mut self.fading else { return 1.0 };
        let block = fading.model.block_index(now);
        let path = &mut fading.now[emitter * self.receivers + rx];
        if path.1 != block {
            (path.1, path.2) = (block, fading.model.gain(fading.seed, path.0, block));
        }
        path.2
    }

    /// Whether this power counts at all.
    pub(crate) fn reaches(&self, mw: f64) -> bool {
        mw >= self.floor_mw
    }

    /// Makes the list anew if anything has changed since it was made.
    #[inline]
    pub(crate) fn refresh(
        &self,
        emitter: usize,
        own: &mut Neighbours,
        receivers: &[Receiver],
        tunings: &Tunings,
    ) {
        if own.generation != self.generation {
            self.collect(emitter, own, receivers, tunings);
        }
    }

    #[cold]
    fn collect(&self, emitter: usize, own: &mut Neighbours, receivers: &[Receiver], tunings: &Tunings) {
        own.generation = self.generation;
        own.tuning = self.tuning[emitter];
        own.list.clear();
        for (index, rx) in receivers.iter().enumerate().filter(|&(index, _)| index != emitter) {
            let power_mw = self.received_mw(emitter, index);
            let coupling = tunings.coupling(own.tuning, rx.tuning);
            let subs = coupling.parts.map(|part| part * power_mw);
            if subs.iter().any(|&mw| mw >= self.floor_mw) {
                own.list.push(Neighbour { rx: index as u16, decodes: coupling.decodes, power_mw, subs });
            }
        }
    }
}
