//! The dedicated radio's way to a better channel: the engine's link is read, [`Migration`] decides,
//! the simulated access point announces.

use super::host::{Shared, engine_time, world_time};
use crate::net::Net;
use crate::packet::IfIndex;
use ropewalk_air::Time;
use ropewalk_air::wifi::phy::Channel;
use ropewalk_air::wifi::{Command, IfaceId};
use ropewalk_bond::backhaul::channel_search::{Migration, Order, Outcome, Reading, Settings};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// A search that the world and whoever measures share.
pub type SharedMover = Rc<RefCell<ChannelSwitcher>>;

/// Which radio may move, and where to.
#[derive(Clone, Debug)]
pub struct MoverSpec {
    /// The gateway's interface on it, an access point.
    pub interface: IfIndex,
    /// The same on the air.
    pub iface: IfaceId,
    /// Where to; their primary channels are the candidates of `settings`.
    pub channels: Vec<Channel>,
    /// What the search goes by.
    pub settings: Settings,
    /// Beacons that announce a switch.
    pub beacons: u8,
}

/// The search of one radio.
#[derive(Debug)]
pub struct ChannelSwitcher {
    spec: MoverSpec,
    migration: Migration,
    /// The channel it began on: it may be none of those to try.
    origin: Option<Channel>,
    due: Time,
    began: Time,
    moves: u64,
    last: Option<(Outcome, Duration)>,
}

impl ChannelSwitcher {
    /// A radio that stays where it is until it carries too little.
    pub fn new(spec: MoverSpec) -> ChannelSwitcher {
        let migration = Migration::new(spec.settings.clone());
        ChannelSwitcher {
            spec,
            migration,
            origin: None,
            due: Time::ZERO,
            began: Time::ZERO,
            moves: 0,
            last: None,
        }
    }

    /// Searches that ended.
    pub fn searches(&self) -> u64 {
        self.migration.searches()
    }

    /// Switches that were announced.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// How the last search ended, and how long it took.
    pub fn last(&self) -> Option<(Outcome, Duration)> {
        self.last
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Looks at the link and its radio and does what is to be done, if it is time.
    pub(super) fn look(&mut self, engine: &Shared, net: &mut Net) {
        if net.now < self.due {
            return;
        }
        let (now, link) = (engine_time(net.now), self.spec.interface.0);
        let channel = net.radios.as_ref().and_then(|r| r.channel_of(self.spec.iface));
        if !self.migration.is_searching() {
            (self.origin, self.began) = (channel, net.now);
        }
        let (carried_bytes, wanted) = engine.borrow().link_load(link, now);
        let reading = Reading { carried_bytes, wanted, channel_mhz: channel.map(|c| c.primary_mhz()) };
        while let Some(order) = self.migration.poll(now, reading) {
            engine.borrow_mut().set_link_away(link, matches!(order, Order::Move { .. }), now);
            self.obey(order, net);
        }
        let due = self.migration.next_timeout(now);
        self.due = world_time(due).unwrap_or(Time::NEVER);
    }

    fn obey(&mut self, order: Order, net: &mut Net) {
        match order {
            Order::Move { to_mhz } => {
                self.moves += 1;
                let all = self.spec.channels.iter().chain(&self.origin);
                let Some(channel) = all.copied().find(|c| c.primary_mhz() == to_mhz) else { return };
                let command =
                    Command::SwitchChannel { iface: self.spec.iface, channel, count: self.spec.beacons };
                if net.command_air(command).is_err() {
                    self.migration.refused(engine_time(net.now));
                }
            }
            Order::Resume => {}
            Order::Settled(outcome) => {
                let took = net.now.since(self.began);
                self.last = Some((outcome, took));
            }
        }
    }
}
