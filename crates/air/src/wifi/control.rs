//! Commands: what changes from outside while a medium runs.

use super::air::Air;
use super::api::{Command, CommandError, Event, IfaceId, Output, RadioId};
use super::check;
use super::mac::{Chore, Role};
use super::medium::parts;
use super::phy::Channel;
use super::phy::decibel::{mw_from_dbm, noise_mw};
use super::spec::SpecError;
use crate::Time;

impl<T: Clone> Air<T> {
    /// Puts a change into effect at `now`.
    pub fn command(&mut self, now: Time, command: Command) -> Result<(), CommandError> {
        self.run(now);
        match command {
            Command::Associate { iface, bssid } => {
                let station = self.station(iface)?;
                self.seek(station, bssid);
            }
            Command::Disassociate { iface } => {
                let station = self.station(iface)?;
                self.leave(station);
            }
            Command::SwitchChannel { iface, channel, count } => {
                let ap = self.access_point(iface)?;
                self.check_channel(usize::from(self.ifaces[ap].radio), channel)?;
                self.announce_switch(ap, channel, count.max(1));
            }
            Command::Tune { radio, channel } => {
                let radio = self.radio(radio)?;
                self.check_channel(radio, channel)?;
                self.tune(radio, channel);
            }
            Command::PowerSave { iface, mode } => {
                let station = self.station(iface)?;
                self.save_power(station, mode).ok_or(CommandError::NotAssociated(iface.0))?;
            }
            Command::Move { radio, position } => {
                let radio = self.radio(radio)?;
                if position.iter().any(|x| !x.is_finite()) {
                    let place = format!("radio {radio}");
                    return Err(check::out_of_range(&place, "position", f64::NAN, "finite, in metres").into());
                }
                self.move_radio(radio, position);
            }
            Command::SetTxPower { radio, dbm } => {
                let radio = self.radio(radio)?;
                check::check_power(&format!("radio {radio}"), dbm)?;
                self.radios[radio].spec.tx_power_dbm = dbm;
                self.medium.paths.set_power_mw(radio, mw_from_dbm(dbm));
            }
            Command::SetPathLoss { a, b, loss_db } => self.set_path_loss(a, b, loss_db)?,
            Command::SetBlockage { a, b, loss_db } => {
                self.check_pair(a, b, loss_db)?;
                self.blockage.retain(|o| (o.0, o.1) != (a.0, b.0) && (o.0, o.1) != (b.0, a.0));
                self.blockage.push((a.0, b.0, loss_db));
                self.place_radio(usize::from(a.0));
                self.train(usize::from(a.0), usize::from(b.0));
            }
            Command::SetRadioUp { radio, up } => {
                let radio = self.radio(radio)?;
                self.switch_radio(radio, up);
            }
            Command::SetInterferer { interferer, on } => self.set_interferer(interferer, on)?,
            Command::SetMonitor { radio, on } => {
                let radio = self.radio(radio)?;
                self.radios[radio].spec.monitor = on;
            }
        }
        Ok(())
    }

    fn radio(&self, radio: RadioId) -> Result<usize, CommandError> {
        let index = usize::from(radio.0);
        if index < self.radios.len() { Ok(index) } else { Err(CommandError::NoRadio(radio.0)) }
    }

    fn iface(&self, iface: IfaceId) -> Result<usize, CommandError> {
        let index = usize::from(iface.0);
        if index < self.ifaces.len() { Ok(index) } else { Err(CommandError::NoIface(iface.0)) }
    }

    fn station(&self, iface: IfaceId) -> Result<usize, CommandError> {
        let index = self.iface(iface)?;
        let is_one = matches!(self.ifaces[index].role, Role::Station(..));
        if is_one { Ok(index) } else { Err(CommandError::NotAStation(iface.0)) }
    }

    fn access_point(&self, iface: IfaceId) -> Result<usize, CommandError> {
        let index = self.iface(iface)?;
        let is_one = matches!(self.ifaces[index].role, Role::AccessPoint(..));
        if is_one { Ok(index) } else { Err(CommandError::NotAnAccessPoint(iface.0)) }
    }

    fn check_channel(&self, radio: usize, channel: Channel) -> Result<(), CommandError> {
        let spec = &self.radios[radio].spec;
        let place = format!("radio {radio}");
        channel
            .check_for(spec.standard)
            .map_err(|source| SpecError::Channel { place: place.clone(), source })?;
        if channel.band() != spec.channel.band() {
            return Err(SpecError::Band { place, from: spec.channel.band(), to: channel.band() }.into());
        }
        Ok(())
    }

    fn check_pair(&self, a: RadioId, b: RadioId, db: f64) -> Result<(), CommandError> {
        self.radio(a)?;
        self.radio(b)?;
        check::range("medium", "path loss", db, (0.0, 1000.0), "0 to 1000 dB")?;
        Ok(())
    }

    fn set_path_loss(&mut self, a: RadioId, b: RadioId, loss_db: Option<f64>) -> Result<(), CommandError> {
        self.check_pair(a, b, loss_db.unwrap_or(0.0))?;
        self.spec.path_loss_overrides.retain(|o| (o.0, o.1) != (a, b) && (o.0, o.1) != (b, a));
        if let Some(db) = loss_db {
            self.spec.path_loss_overrides.push((a, b, db));
        }
        self.place_radio(usize::from(a.0));
        Ok(())
    }

    /// Retunes a radio: it is deaf for its switch time, then works on the other channel.
    pub(super) fn tune(&mut self, radio: usize, channel: Channel) {
        let r = &mut self.radios[radio];
        r.spec.channel = channel;
        r.set_tunings(super::build::tunings_of(&mut self.medium.tunings, channel));
        let tuning = r.tuning(channel.width());
        let switch = r.spec.switch_time;
        let noise = noise_mw(super::build::part_mhz(channel), r.spec.noise_figure_db);
        self.halt(radio);
        self.medium.retune(radio, tuning, parts(channel.width()), noise);
        for other in 0..self.medium.paths.emitters() {
            let link = self.fading_link(other.min(self.radios.len() - 1), radio);
            if other != radio {
                self.medium.paths.set_link(other, radio, link);
            }
        }
        self.set_deaf(radio, true);
        self.radios[radio].chores.retain(|(_, chore)| *chore != Chore::Tuned);
        let at = self.now + switch;
        self.schedule(radio, at, Chore::Tuned);
    }

    /// The radio works on its new channel.
    pub(super) fn tuned(&mut self, radio: usize) {
        if self.radios[radio].up {
            self.set_deaf(radio, false);
            self.resume(radio);
        }
        let channel = self.radios[radio].spec.channel;
        for place in 0..self.radios[radio].ifaces.len() {
            let iface = IfaceId(self.radios[radio].ifaces[place]);
            self.out.push_back(Output::Event(Event::ChannelSwitched { at: self.now, iface, channel }));
        }
    }

    fn switch_radio(&mut self, radio: usize, up: bool) {
        if self.radios[radio].up == up {
            return;
        }
        self.radios[radio].up = up;
        if up {
            let tuning = self.radios[radio].chores.iter().any(|(_, chore)| *chore == Chore::Tuned);
            self.set_deaf(radio, tuning);
            self.resume(radio);
            for place in 0..self.radios[radio].ifaces.len() {
                self.restart_iface(usize::from(self.radios[radio].ifaces[place]));
            }
            return;
        }
        self.halt(radio);
        self.set_deaf(radio, true);
        for place in 0..self.radios[radio].ifaces.len() {
            self.forget_iface(usize::from(self.radios[radio].ifaces[place]));
        }
    }

    fn set_deaf(&mut self, radio: usize, deaf: bool) {
        if self.medium.receivers[radio].set_deaf(self.now, deaf) {
            if self.medium.receivers[radio].is_busy() {
                self.access[radio].on_busy(self.now, false);
            } else {
                self.access[radio].on_idle(self.now);
            }
        }
        self.arm(radio);
    }
}
