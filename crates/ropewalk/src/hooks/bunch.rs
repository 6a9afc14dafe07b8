//! What the programs of a bunch's access point are told: its gateway, its neighbours, and the cap of
//! its uplink.

use super::programs::{ADDRESSES, DEVICE, Event, INTERFACE, Programs, REMOTE, Topic};
use crate::state::usage::Cap;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;

/// Events that may wait: one about the gateway, one about the cap, and one about each of 31
/// neighbours and of those that they replace.
const WAITING: usize = 64;

/// An access point's programs, and what they were told last.
#[derive(Debug)]
pub(crate) struct BunchHooks {
    programs: Programs,
    /// What its senders are called at the gateway, while it is connected.
    inside: Option<Ipv4Addr>,
    /// Where its neighbours are, on the network that they share.
    neighbours: BTreeSet<Ipv4Addr>,
    is_used_up: bool,
}

impl BunchHooks {
    /// Starts the thread that runs them. `device` is the bunch's.
    ///
    /// # Errors
    /// The directory is none, or others may write into it.
    pub(crate) fn start(dir: &Path, device: &str) -> anyhow::Result<BunchHooks> {
        let programs = Programs::start(dir, (DEVICE, device), WAITING)?;
        Ok(BunchHooks { programs, inside: None, neighbours: BTreeSet::new(), is_used_up: false })
    }

    /// The gateway let this access point in.
    pub(crate) fn connected(&mut self, inside: Ipv4Addr) {
        if self.inside.replace(inside) != Some(inside) {
            self.programs.tell(about_gateway("connected").with(ADDRESSES, inside.to_string()));
        }
    }

    /// The tunnel is gone.
    pub(crate) fn disconnected(&mut self) {
        if self.inside.take().is_some() {
            self.programs.tell(about_gateway("disconnected"));
        }
    }

    /// Who its neighbours are now: what has changed is told.
    pub(crate) fn neighbours(&mut self, now: BTreeSet<Ipv4Addr>) {
        let before = std::mem::replace(&mut self.neighbours, now);
        let tell = |name, at: &Ipv4Addr| {
            let event = Event::new(name).about(&at.to_string(), Topic::Presence);
            self.programs.tell(event.with(REMOTE, at.to_string()));
        };
        before.difference(&self.neighbours).for_each(|at| tell("neighbour-disconnected", at));
        self.neighbours.difference(&before).for_each(|at| tell("neighbour-connected", at));
    }

    /// Whether the uplink may carry no more for neighbours: if that is new, it is told.
    pub(crate) fn capped(&mut self, uplink: &str, cap: Cap, is_used_up: bool) {
        if std::mem::replace(&mut self.is_used_up, is_used_up) == is_used_up {
            return;
        }
        let event = Event::new(if is_used_up { "cap-reached" } else { "cap-lifted" });
        let event = event.about(uplink, Topic::Quota).with(INTERFACE, uplink.to_owned());
        let event = event.with("ROPEWALK_CAP", cap.bytes.to_string());
        self.programs.tell(event.with("ROPEWALK_RESET_DAY", cap.reset_day.to_string()));
    }

    /// The access point ends. The programs have some time to hear of it.
    pub(crate) fn finish(mut self) {
        self.disconnected();
        self.neighbours(BTreeSet::new());
        self.programs.finish();
    }
}

fn about_gateway(name: &'static str) -> Event {
    Event::new(name).about("gateway", Topic::Presence)
}

#[cfg(test)]
mod tests {
    use super::super::programs::tests::noted;
    use super::*;

    const CAP: Cap = Cap { bytes: 10_000_000, reset_day: 5 };

    /// What programs were told when this was over; each step waits until they hear of it.
    fn told(steps: &[&dyn Fn(&mut BunchHooks)]) -> Vec<String> {
        let line = "$ROPEWALK_EVENT $ROPEWALK_DEVICE $ROPEWALK_ADDRESSES $ROPEWALK_INTERFACE";
        noted(&format!("{line} $ROPEWALK_REMOTE $ROPEWALK_CAP $ROPEWALK_RESET_DAY$HOME"), |dir| {
            let mut hooks = BunchHooks::start(dir, "bunch0").unwrap();
            for step in steps {
                step(&mut hooks);
                hooks.programs.settle();
            }
            hooks.finish();
        })
    }

    fn at(last: u8) -> impl Fn(&mut BunchHooks) {
        move |hooks| hooks.connected(Ipv4Addr::new(10, 78, 0, last))
    }

    /// Neighbours with these last bytes of their addresses.
    fn beside(last: &'static [u8]) -> impl Fn(&mut BunchHooks) {
        move |hooks| hooks.neighbours(last.iter().map(|n| Ipv4Addr::new(10, 20, 0, *n)).collect())
    }

    fn used_up(is_used_up: bool) -> impl Fn(&mut BunchHooks) {
        move |hooks| hooks.capped("wan0", CAP, is_used_up)
    }

    #[test]
    fn a_gateway_that_comes_and_goes_is_told_of_once_each_time() {
        let gone = BunchHooks::disconnected;
        let heard = told(&[&gone, &at(2), &at(2), &gone, &gone, &at(2), &at(3)]);
        let expected = [
            "connected bunch0 10.78.0.2",
            "disconnected bunch0",
            "connected bunch0 10.78.0.2",
            "connected bunch0 10.78.0.3",
            "disconnected bunch0",
        ];
        assert_eq!(heard, expected);
    }

    #[test]
    fn neighbours_that_come_and_go_are_told_of() {
        let heard = told(&[&beside(&[]), &beside(&[2]), &beside(&[2]), &beside(&[2, 3]), &beside(&[3])]);
        let expected = [
            "neighbour-connected bunch0 10.20.0.2",
            "neighbour-connected bunch0 10.20.0.3",
            "neighbour-disconnected bunch0 10.20.0.2",
            "neighbour-disconnected bunch0 10.20.0.3",
        ];
        assert_eq!(heard, expected, "the last one with the access point's own end");
    }

    #[test]
    fn a_cap_is_told_of_when_it_is_used_up_and_when_a_new_allowance_begins() {
        let heard = told(&[&used_up(false), &used_up(true), &used_up(true), &used_up(false)]);
        assert_eq!(heard, ["cap-reached bunch0 wan0 10000000 5", "cap-lifted bunch0 wan0 10000000 5"]);
    }

    #[test]
    fn while_nothing_changes_nothing_is_run() {
        assert!(told(&[&BunchHooks::disconnected, &used_up(false), &used_up(false)]).is_empty());
    }
}
