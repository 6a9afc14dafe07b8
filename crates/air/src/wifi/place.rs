//! Where radios are and what that means for power; interferers.

use super::air::Air;
use super::api::{CommandError, RadioId};
use super::medium::Emission;
use super::phy::Rate;
use super::phy::decibel::mw_from_dbm;
use super::propagation::Link;
use super::spec::RadioSpec;
use super::timers::Cause;
use crate::Time;

impl<T: Clone> Air<T> {
    /// Path losses between all radios and from all interferers, from positions, shadowing and overrides; and fading.
    pub(super) fn place(&mut self) {
        let (radios, emitters) = (self.radios.len(), self.medium.paths.emitters());
        for emitter in 0..emitters {
            for rx in (0..radios).filter(|&rx| rx != emitter) {
                self.place_pair(emitter, rx);
            }
        }
        if self.spec.fading.kind != super::propagation::FadingKind::None {
            let pairs = (0..emitters).flat_map(|e| (0..radios).map(move |r| (e, r)));
            let links = pairs.map(|(e, r)| self.fading_link(e, r)).collect();
            self.medium.paths.set_fading(self.spec.fading, self.seed, links);
        }
    }

    /// Where a radio is has changed.
    pub(super) fn place_radio(&mut self, radio: usize) {
        for other in (0..self.medium.paths.emitters()).filter(|&other| other != radio) {
            self.place_pair(other, radio);
            if other < self.radios.len() {
                self.place_pair(radio, other);
            }
        }
    }

    pub(super) fn position(&self, emitter: usize) -> [f64; 3] {
        match self.radios.get(emitter) {
            Some(radio) => radio.spec.position,
            None => self.spec.interferers[emitter - self.radios.len()].position,
        }
    }

    fn place_pair(&mut self, emitter: usize, rx: usize) {
        let db = self.loss_db(emitter, rx);
        self.medium.paths.set_loss_db(emitter, rx, db);
    }

    fn loss_db(&self, emitter: usize, rx: usize) -> f64 {
        let pair = |a: u16, b: u16| {
            let (a, b) = (usize::from(a), usize::from(b));
            (a, b) == (emitter, rx) || (b, a) == (emitter, rx)
        };
        if self.is_training(emitter, rx) {
            return f64::INFINITY;
        }
        let in_the_way = self.blockage.iter().find(|b| pair(b.0, b.1)).map_or(0.0, |b| b.2);
        // The last word counts.
        let told = self.spec.path_loss_overrides.iter().rev().find(|o| pair(o.0.0, o.1.0));
        if let Some(told) = told {
            return told.2 + in_the_way;
        }
        let (p, q) = (self.position(emitter), self.position(rx));
        let square: f64 = (0..3).map(|k| (p[k] - q[k]) * (p[k] - q[k])).sum();
        let model = self.spec.path_loss.db(square.sqrt());
        let link = Link::new(emitter as u16, rx as u16, 0);
        model + self.spec.shadowing.loss_db(self.seed, link) + in_the_way - self.antenna_gain_db(emitter, rx)
    }

    /// The link of two radios at the frequency of the sender's channel.
    pub(super) fn fading_link(&self, emitter: usize, rx: usize) -> Link {
        let mhz = self.radios.get(emitter).unwrap_or(&self.radios[rx]).spec.channel.primary_mhz();
        Link::new(emitter as u16, rx as u16, mhz)
    }

    /// The first bursts of all interferers.
    pub(super) fn start_interferers(&mut self) {
        for index in 0..self.bursts.len() {
            self.next_burst(index);
        }
    }

    /// Switches an interferer: its bursts go on, heard or not.
    pub(super) fn set_interferer(&mut self, interferer: u16, on: bool) -> Result<(), CommandError> {
        let index = usize::from(interferer);
        let Some(placed) = self.spec.interferers.get(index) else {
            return Err(CommandError::NoInterferer(interferer));
        };
        let emitter = self.radios.len() + index;
        let power = if on { mw_from_dbm(placed.spec.power_dbm) } else { 0.0 };
        self.medium.paths.set_power_mw(emitter, power);
        if on && self.bursts[index].start_now(self.now) {
            self.next_burst(index);
        }
        Ok(())
    }

    /// The power at which a radio receives another, without fading, dBm; none if there is no such pair, or their channels lie apart.
    pub fn received_dbm(&self, from: RadioId, to: RadioId) -> Option<f64> {
        let (a, b) = (self.radio_spec(from)?, self.radio_spec(to)?);
        let apart = a.channel.span(a.channel.width()).overlap(&b.channel.span(b.channel.width())) == 0.0;
        (!apart).then(|| a.tx_power_dbm - self.loss_db(usize::from(from.0), usize::from(to.0)))
    }

    /// What a radio is like now.
    pub fn radio_spec(&self, radio: RadioId) -> Option<&RadioSpec> {
        self.radios.get(usize::from(radio.0)).map(|r| &r.spec)
    }

    fn next_burst(&mut self, index: usize) {
        let emitter = self.radios.len() + index;
        if let Some(burst) = self.bursts[index].next() {
            self.timers.set(emitter, Cause::Access, burst.start.max(self.now));
            self.medium.signals[emitter].end = burst.end;
        }
    }

    /// An interferer begins or ends.
    pub(super) fn on_interferer(&mut self, emitter: usize, cause: Cause) {
        if cause == Cause::TransmitEnd {
            self.end_signal(emitter);
            return self.next_burst(emitter - self.radios.len());
        }
        let end = self.medium.signals[emitter].end;
        let emission = Emission {
            data: self.now,
            end,
            rate: Rate::lowest(super::phy::Standard::A, super::phy::Band::Ghz5),
            tuning: self.medium.paths.tuning(emitter),
            duplicate: false,
        };
        if end != Time::NEVER {
            self.timers.set(emitter, Cause::TransmitEnd, end);
        }
        self.start_signal(emitter, emission);
    }
}
