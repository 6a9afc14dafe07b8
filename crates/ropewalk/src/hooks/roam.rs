//! What the programs of `ropewalk roam` are told: access points that are joined, used and left.
//!
//! The name of a network is one of wpa_supplicant's file, and nothing else is chosen by somebody on
//! the air.

use super::programs::{ADDRESSES, Event, INTERFACE, Programs, Topic};
use std::path::Path;

/// Events that may wait. Of an interface three do at most, and there are eight at once.
const WAITING: usize = 32;

/// How an access point is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not yet.
    Joined,
    /// Not while a captive portal answers.
    Portal,
    /// As any other.
    Active,
    /// Only while no other carries, or not at all while it is silent.
    Backup,
}

impl Standing {
    fn event(self) -> Option<&'static str> {
        match self {
            Standing::Joined => None,
            Standing::Portal => Some("portal-found"),
            Standing::Active => Some("access-point-active"),
            Standing::Backup => Some("access-point-backup"),
        }
    }
}

/// An access point that has let this machine in and given it an address.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The interface that is with it.
    pub interface: String,
    /// Its address.
    pub bssid: String,
    /// Its network's name, escaped.
    pub ssid: String,
    /// The interface's IPv4 address, if there is one.
    pub address: Option<String>,
    pub standing: Standing,
}

impl Joined {
    fn is_same(&self, other: &Joined) -> bool {
        (&self.interface, &self.bssid) == (&other.interface, &other.bssid)
    }

    fn event(&self, name: &'static str, topic: Topic) -> Event {
        Event::new(name)
            .about(&self.interface, topic)
            .with(INTERFACE, self.interface.clone())
            .with("ROPEWALK_BSSID", self.bssid.clone())
            .with("ROPEWALK_SSID", self.ssid.clone())
            .with(ADDRESSES, self.address.clone().unwrap_or_default())
    }
}

/// The programs of `ropewalk roam`, and the access points that they were told of.
#[derive(Debug)]
pub(crate) struct RoamHooks {
    programs: Programs,
    joined: Vec<Joined>,
}

impl RoamHooks {
    /// Starts the thread that runs them.
    ///
    /// # Errors
    /// The directory is none, or others may write into it.
    pub(crate) fn start(dir: &Path, radio: &str) -> anyhow::Result<RoamHooks> {
        let programs = Programs::start(dir, ("ROPEWALK_RADIO", radio), WAITING)?;
        Ok(RoamHooks { programs, joined: Vec::new() })
    }

    /// Who is joined now, and how each is used: what has changed is told.
    pub(crate) fn access_points(&mut self, joined: Vec<Joined>) {
        let before = std::mem::replace(&mut self.joined, joined);
        let left = before.iter().filter(|old| !self.joined.iter().any(|new| new.is_same(old)));
        left.for_each(|old| self.programs.tell(old.event("access-point-left", Topic::Presence)));
        for new in &self.joined {
            let old = before.iter().find(|old| old.is_same(new));
            match old {
                None => self.programs.tell(new.event("access-point-joined", Topic::Presence)),
                Some(old) if old.address != new.address => {
                    self.programs.tell(new.event("access-point-address", Topic::Address));
                }
                Some(_) => {}
            }
            if old.is_none_or(|old| old.standing != new.standing)
                && let Some(name) = new.standing.event()
            {
                self.programs.tell(new.event(name, Topic::Use));
            }
        }
    }

    /// The daemon ends, and has left all of them. The programs have some time to hear of it.
    pub(crate) fn finish(mut self) {
        self.access_points(Vec::new());
        self.programs.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::super::programs::tests::noted;
    use super::*;
    use std::slice::from_ref;

    fn joined(interface: &str, last: u8, standing: Standing) -> Joined {
        Joined {
            interface: interface.into(),
            bssid: format!("02:00:00:00:00:{last:02x}"),
            ssid: "home".into(),
            address: (last < 9).then(|| format!("10.1.0.{last}/24")),
            standing,
        }
    }

    /// What programs were told while it went like this. With `waits` they have run all before the
    /// next look.
    fn told(looks: &[&[Joined]], waits: bool) -> Vec<String> {
        let line = "$ROPEWALK_EVENT $ROPEWALK_RADIO $ROPEWALK_INTERFACE $ROPEWALK_BSSID $ROPEWALK_SSID";
        noted(&format!("{line} $ROPEWALK_ADDRESSES$ROPEWALK_DEVICE$HOME"), |dir| {
            let mut hooks = RoamHooks::start(dir, "phy0").unwrap();
            for look in looks {
                hooks.access_points(look.to_vec());
                if waits {
                    hooks.programs.settle();
                }
            }
            hooks.finish();
        })
    }

    #[test]
    fn an_access_point_is_told_of_from_its_address_to_its_end() {
        use Standing::{Active, Backup, Joined, Portal};
        let one = |standing| joined("roam0", 1, standing);
        let looks: [&[_]; 9] = [
            &[],
            &[one(Joined)],
            &[one(Portal)],
            // Nobody answers for a while.
            &[one(Joined)],
            &[one(Active)],
            &[one(Active), joined("roam1", 9, Joined)],
            &[joined("roam1", 9, Active), one(Backup)],
            &[one(Active)],
            // Another one has the name of its interface.
            &[joined("roam0", 2, Backup)],
        ];
        let first = "phy0 roam0 02:00:00:00:00:01 home 10.1.0.1/24";
        let second = "phy0 roam1 02:00:00:00:00:09 home";
        let third = "phy0 roam0 02:00:00:00:00:02 home 10.1.0.2/24";
        let expected = [
            ("joined", first),
            ("portal", first),
            ("active", first),
            ("joined", second),
            ("active", second),
            ("backup", first),
            ("left", second),
            ("active", first),
            ("joined", third),
            ("backup", third),
            ("left", third),
        ]
        .map(|(what, whom)| match what {
            "portal" => format!("portal-found {whom}"),
            what => format!("access-point-{what} {whom}"),
        });
        let mut heard = told(&looks, true);
        // It came in the moment in which the interface was another one's.
        heard.retain(|line| *line != format!("access-point-left {first}"));
        assert_eq!(heard, expected);
    }

    #[test]
    fn another_address_of_the_same_access_point_is_told() {
        let one = joined("roam0", 1, Standing::Active);
        let moved = Joined { address: Some("10.9.0.7/24".into()), ..one.clone() };
        let heard = told(&[&[one], from_ref(&moved), from_ref(&moved)], true);
        let whom = "phy0 roam0 02:00:00:00:00:01 home";
        let expected = [
            format!("access-point-joined {whom} 10.1.0.1/24"),
            format!("access-point-active {whom} 10.1.0.1/24"),
            format!("access-point-address {whom} 10.9.0.7/24"),
            format!("access-point-left {whom} 10.9.0.7/24"),
        ];
        assert_eq!(heard, expected);
    }

    #[test]
    fn while_nothing_changes_nothing_is_run() {
        assert!(told(&[&[], &[]], true).is_empty(), "nobody is there");
        let same = [joined("roam0", 1, Standing::Active)];
        let heard = told(&[&same, &same, &same, &same], true);
        assert_eq!(heard.len(), 3, "joined, in use, left: {heard:?}");
    }

    #[test]
    fn slow_programs_hear_how_it_is_at_last() {
        let looks: Vec<[Joined; 1]> = (0..100)
            .map(|n| [joined("roam0", n % 2, if n % 3 == 0 { Standing::Active } else { Standing::Backup })])
            .collect();
        let looks: Vec<&[Joined]> = looks.iter().map(|look| &look[..]).collect();
        let heard = told(&looks, false);
        assert!(heard.len() < 50, "{heard:?}");
        assert!(heard.last().unwrap().starts_with("access-point-left phy0 roam0"), "{heard:?}");
    }
}
