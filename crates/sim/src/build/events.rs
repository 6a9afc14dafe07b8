//! What happens at which time.

use super::{BuildError, Built, air};
use crate::packet::FlowId;
use crate::seed;
use crate::world::EndpointId;
use ropewalk_air::Time;
use ropewalk_air::wifi::propagation::sixty::{Blockage, BlockageSpec};
use ropewalk_air::wifi::{Command, PowerSave};
use ropewalk_air::wired::{Loss, Rate};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Event, What};
use std::time::Duration;

/// Something that the scenario lets happen.
#[derive(Clone, Debug)]
pub enum Action {
    /// A flow starts.
    Start(EndpointId, FlowId),
    /// A flow stops.
    Stop(EndpointId),
    /// A cable is cut or mended.
    Cable {
        /// Which.
        cable: usize,
        /// Whether it works from now on.
        up: bool,
    },
    /// A cable changes, in both directions.
    Change {
        /// Which.
        cable: usize,
        /// Its rate from now on.
        rate: Option<Rate>,
        /// Its delay from now on; jitter stays.
        delay: Option<Duration>,
        /// Its loss from now on.
        loss: Option<Loss>,
    },
    /// The air is told something.
    Air(Box<Command>),
}

/// Actions in the order in which they happen: by time, then as the scenario lists them.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    list: Vec<(Time, Action)>,
    done: usize,
}

impl Agenda {
    /// Adds an action behind those of the same time.
    pub fn add(&mut self, at: Time, action: Action) {
        let place = self.list.partition_point(|(t, _)| *t <= at);
        self.list.insert(place, (at, action));
    }

    /// When the next one is.
    pub fn next(&self) -> Option<Time> {
        self.list.get(self.done).map(|a| a.0)
    }

    /// The next one, if it is due.
    pub fn take(&mut self, now: Time) -> Option<Action> {
        let (at, action) = self.list.get(self.done)?;
        if *at > now {
            return None;
        }
        self.done += 1;
        Some(action.clone())
    }
}

pub(super) fn add(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    for (i, event) in scenario.event.iter().enumerate() {
        let key = format!("event.{i}");
        for action in actions(built, scenario, &key, event)? {
            built.agenda.add(Time::ZERO + event.at, action);
        }
        if event.what == What::Blockage
            && let Some(duration) = event.duration
        {
            let gone = blockage(built, &key, event, 0.0)?;
            built.agenda.add(Time::ZERO + event.at + duration, gone);
        }
    }
    people(built, scenario)
}

/// Who walks through which pair of radios and when, drawn for the whole run.
fn people(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    let end = Time::ZERO + scenario.duration;
    for (i, pair) in scenario.medium.blockage.iter().enumerate() {
        let key = format!("medium.blockage.{i}");
        let [a, b] = air::pair(built, &format!("{key}.between"), &pair.between)?;
        let spec = BlockageSpec { mean_clear: pair.clear, mean_blocked: pair.blocked, loss_db: pair.loss.0 };
        let mut process = Blockage::new(spec, seed::of(scenario.seed, "blockage", i as u64))
            .map_err(|e| BuildError::new(&key, e))?;
        let (mut at, mut before_db) = (Time::ZERO, 0.0);
        while at < end {
            let loss_db = process.loss_db(at);
            if loss_db != before_db {
                built.agenda.add(at, Action::Air(Box::new(Command::SetBlockage { a, b, loss_db })));
            }
            before_db = loss_db;
            at = process.next_change();
        }
    }
    Ok(())
}

pub(super) fn actions(
    built: &Built,
    scenario: &Scenario,
    key: &str,
    event: &Event,
) -> Result<Vec<Action>, BuildError> {
    let one = |command: Command| Ok(vec![Action::Air(Box::new(command))]);
    match event.what {
        What::LinkDown | What::LinkUp => {
            let cable = cable(built, key, event)?;
            Ok(vec![Action::Cable { cable, up: event.what == What::LinkUp }])
        }
        What::LinkSet => Ok(vec![Action::Change {
            cable: cable(built, key, event)?,
            rate: event.rate.map(|r| Rate::Constant { bps: r.bps }),
            delay: event.delay,
            loss: event.packet_loss.map(|l| Loss::percent(l.0 * 100.0)),
        }]),
        What::Move => {
            let at = event.position.unwrap_or_default();
            let node = event.node.as_deref().unwrap_or_default();
            let position = [at.x_m, at.y_m, at.z_m];
            let radios = air::radios_of(built, node);
            Ok(radios.map(|radio| Action::Air(Box::new(Command::Move { radio, position }))).collect())
        }
        What::TxPower => {
            let radio = air::radio(built, &format!("{key}.radio"), event.radio.as_deref())?;
            one(Command::SetTxPower { radio, dbm: event.power.map_or(0.0, |p| p.0) })
        }
        What::PathLoss => {
            let [a, b] = air::pair(built, &format!("{key}.between"), &event.between)?;
            one(Command::SetPathLoss { a, b, loss_db: event.loss.map(|l| l.0) })
        }
        What::SwitchChannel => {
            let (iface, _) = air::iface(built, key, event.interface.as_deref())?;
            let channel = air::new_channel(scenario, key, event)?;
            one(Command::SwitchChannel { iface, channel, count: event.countdown.unwrap_or(COUNTDOWN) })
        }
        What::Tune => {
            let radio = air::radio(built, &format!("{key}.radio"), event.radio.as_deref())?;
            one(Command::Tune { radio, channel: air::new_channel(scenario, key, event)? })
        }
        What::RadioDown | What::RadioUp => {
            let radio = air::radio(built, &format!("{key}.radio"), event.radio.as_deref())?;
            one(Command::SetRadioUp { radio, up: event.what == What::RadioUp })
        }
        What::Associate => {
            let (iface, _) = air::iface(built, key, event.interface.as_deref())?;
            one(Command::Associate { iface, bssid: None })
        }
        What::Disassociate => {
            let (iface, _) = air::iface(built, key, event.interface.as_deref())?;
            one(Command::Disassociate { iface })
        }
        What::PowerSaveOn | What::PowerSaveOff => {
            let (iface, _) = air::iface(built, key, event.interface.as_deref())?;
            let mode = if event.what == What::PowerSaveOn { PowerSave::Doze } else { PowerSave::Off };
            one(Command::PowerSave { iface, mode })
        }
        What::ApDown | What::ApUp => {
            let node = event.node.as_deref().unwrap_or_default();
            let endpoint = built.bunches.iter().find_map(|b| b.endpoint_of(node));
            let act =
                |e| if event.what == What::ApUp { Action::Start(e, FlowId::NONE) } else { Action::Stop(e) };
            Ok(endpoint.map(act).into_iter().collect())
        }
        What::Blockage => Ok(vec![blockage(built, key, event, event.loss.map_or(0.0, |l| l.0))?]),
    }
}

fn blockage(built: &Built, key: &str, event: &Event, loss_db: f64) -> Result<Action, BuildError> {
    let [a, b] = air::pair(built, &format!("{key}.between"), &event.between)?;
    Ok(Action::Air(Box::new(Command::SetBlockage { a, b, loss_db })))
}

/// Beacons that announce a switch (MF-16).
const COUNTDOWN: u8 = 2;

fn cable(built: &Built, key: &str, event: &Event) -> Result<usize, BuildError> {
    let name = event.link.as_deref().unwrap_or_default();
    let found = built.links.iter().position(|l| l == name);
    found.ok_or_else(|| BuildError::new(format!("{key}.link"), format!("there is no link `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_come_by_time_and_then_in_the_order_of_the_scenario() {
        let mut agenda = Agenda::default();
        for (ms, cable) in [(5, 0), (1, 1), (5, 2), (3, 3)] {
            agenda.add(Time::from_millis(ms), Action::Cable { cable, up: true });
        }
        let mut order = Vec::new();
        while let Some(at) = agenda.next() {
            assert!(agenda.take(Time::ZERO).is_none());
            if let Some(Action::Cable { cable, .. }) = agenda.take(at) {
                order.push(cable);
            }
        }
        assert_eq!(order, [1, 3, 0, 2]);
    }
}
