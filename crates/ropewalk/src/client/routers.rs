//! How the networks of a client translate to IPv4, as their routers advertise it (RFC 8781).

use ropewalk_net::links::{Advertised, Link};
use ropewalk_net::nat64::Prefix;
use ropewalk_time::Time;

/// Prefixes of one interface's network that are kept; whoever advertises says how many there are.
const MOST: usize = 4;

/// What was advertised and still holds.
#[derive(Debug, Default)]
pub(super) struct Routers(Vec<Held>);

#[derive(Debug)]
struct Held {
    /// The interface's index.
    index: u32,
    prefix: Prefix,
    until: Time,
}

impl Routers {
    /// Takes in what was heard. The first prefixes keep their places, so that paths stay where they are.
    pub(super) fn take(&mut self, heard: &[Advertised], now: Time) {
        self.0.retain(|held| held.until > now);
        for Advertised { index, prefix, lifetime } in heard.iter().copied() {
            let until = now + lifetime;
            let is_full = self.0.iter().filter(|held| held.index == index).count() >= MOST;
            match self.0.iter_mut().find(|held| held.index == index && held.prefix == prefix) {
                Some(held) => held.until = until,
                None if is_full => {}
                None => self.0.push(Held { index, prefix, until }),
            }
        }
        self.0.retain(|held| held.until > now);
    }

    /// An interface that is off, or gone, may come back in another network.
    pub(super) fn follow(&mut self, links: &[Link]) {
        self.0.retain(|held| links.iter().any(|link| link.index == held.index && link.up));
    }

    /// The prefixes of an interface's network, each with its end.
    pub(super) fn of(&self, link: Option<&Link>) -> Vec<(Prefix, Time)> {
        let of_it = self.0.iter().filter(|held| link.is_some_and(|link| link.index == held.index));
        of_it.map(|held| (held.prefix, held.until)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;
    use std::time::Duration;

    fn prefix(number: u16) -> Prefix {
        Prefix::new(Ipv6Addr::from([0x2001, 0xdb8, number, 0, 0, 0, 0, 0]), 96).unwrap()
    }

    fn says(index: u32, number: u16, seconds: u64) -> Advertised {
        Advertised { index, prefix: prefix(number), lifetime: Duration::from_secs(seconds) }
    }

    fn link(index: u32, up: bool) -> Link {
        Link { index, up, ..Link::default() }
    }

    fn of(routers: &Routers, index: u32) -> Vec<(Prefix, Time)> {
        routers.of(Some(&link(index, true)))
    }

    #[test]
    fn a_prefix_holds_for_its_interface_until_its_end() {
        let at = Time::from_secs;
        let mut routers = Routers::default();
        routers.take(&[says(1, 1, 60), says(1, 2, 600), says(2, 3, 600)], at(0));
        assert_eq!(of(&routers, 1), [(prefix(1), at(60)), (prefix(2), at(600))]);
        assert_eq!(of(&routers, 2), [(prefix(3), at(600))]);
        assert!(of(&routers, 3).is_empty() && routers.of(None).is_empty());
        // Said again it holds longer, and stays the first.
        routers.take(&[says(1, 1, 60)], at(30));
        assert_eq!(of(&routers, 1)[0], (prefix(1), at(90)));
        routers.take(&[], at(90));
        assert_eq!(of(&routers, 1), [(prefix(2), at(600))]);
        // Withdrawn, also where it was never there.
        routers.take(&[says(1, 2, 0), says(1, 9, 0)], at(91));
        assert!(of(&routers, 1).is_empty());
    }

    #[test]
    fn an_interface_that_was_off_begins_anew() {
        let mut routers = Routers::default();
        routers.take(&[says(1, 1, 600), says(2, 2, 600), says(3, 3, 600)], Time::ZERO);
        routers.follow(&[link(1, true), link(2, false)]);
        let left = [1, 2, 3].map(|index| of(&routers, index).len());
        assert_eq!(left, [1, 0, 0]);
    }

    #[test]
    fn a_router_that_says_many_costs_no_memory() {
        let mut routers = Routers::default();
        for number in 0..1000 {
            routers.take(&[says(1, number, 600)], Time::ZERO);
        }
        routers.take(&[says(2, 1, 600)], Time::ZERO);
        assert_eq!((of(&routers, 1).len(), of(&routers, 2).len()), (MOST, 1));
    }
}
