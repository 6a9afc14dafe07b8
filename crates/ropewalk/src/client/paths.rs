//! What a user may do with paths while the client runs.

use super::settings::PathSettings;
use super::{Client, Uplink};
use crate::cli::PathName;
use crate::commands::PathOptions;
use crate::daemon::Running;
use crate::exit::{Code, failure};
use anyhow::Result;
use ropewalk_time::Time;

impl Client {
    /// `ropewalk path add`. Returns what there is to say.
    pub(super) fn add_path(
        &mut self,
        running: &mut Running,
        name: &str,
        options: &PathOptions,
        now: Time,
    ) -> Result<String> {
        let name = parse(name)?;
        if let Some(uplink) = self.uplinks.iter_mut().find(|w| w.name == name) {
            uplink.asked_for = true;
            return Err(failure(
                Code::Taken,
                format!("{name} is in use already; `ropewalk path set` changes it"),
            ));
        }
        self.excluded.remove(&name.interface);
        let settings = self.settings.of(&name).with(options)?;
        if *options != PathOptions::default() {
            self.settings.say(&name, settings)?;
        }
        self.uplinks.push(Uplink::new(name.clone(), self.options.ways(), settings, true));
        self.look_at_links(running, now);
        let obstacle = self.uplinks.iter().find(|w| w.name == name).and_then(Uplink::obstacle);
        Ok(obstacle.map_or(String::new(), |why| format!("{why}; it is used as soon as it can be")))
    }

    /// `ropewalk path remove`.
    pub(super) fn remove_path(&mut self, running: &mut Running, name: &str, now: Time) -> Result<String> {
        let name = parse(name)?;
        let at = self.find(&name)?;
        self.uplinks[at].abandon_all(running, now);
        self.settle(running, now);
        let uplink = self.uplinks.remove(at);
        self.tell_hooks();
        let has_others = self.uplinks.iter().any(|u| u.name.interface == uplink.name.interface);
        if self.options.paths.is_empty() && !has_others {
            self.excluded.insert(uplink.name.interface);
        }
        let words = "no path is left: nothing can pass until one is added";
        Ok(if self.uplinks.is_empty() { words.into() } else { String::new() })
    }

    /// `ropewalk path set`.
    pub(super) fn set_path(
        &mut self,
        running: &mut Running,
        name: &str,
        options: &PathOptions,
        now: Time,
    ) -> Result<String> {
        let name = parse(name)?;
        let at = self.find(&name)?;
        let (name, settings) = (self.uplinks[at].name.clone(), self.uplinks[at].settings.with(options)?);
        self.settings.say(&name, settings)?;
        self.settle(running, now);
        self.uplinks[at].set(running, settings, 0);
        self.uplinks[at].forget_allowance();
        self.settle(running, now);
        Ok(String::new())
    }

    /// `ropewalk path reset`, also of a path that is not there now.
    pub(super) fn reset_path(&mut self, running: &mut Running, name: &str, now: Time) -> Result<String> {
        let name = parse(name)?;
        let there = self.find(&name).map(|at| self.uplinks[at].name.clone());
        let names: Vec<&PathName> = there.iter().chain([&name]).collect();
        let is_forgotten = self.settings.forget(&names)?;
        if is_forgotten {
            self.apply_settings(running, now);
        }
        let path = match there {
            Err(_) if is_forgotten => name,
            there => there?,
        };
        Ok(what_counts(&self.settings, &path, is_forgotten))
    }

    /// The configuration was read again, or what was said is forgotten.
    pub(super) fn apply_settings(&mut self, running: &mut Running, now: Time) {
        self.settle(running, now);
        for uplink in &mut self.uplinks {
            let settings = self.settings.of(&uplink.name);
            if settings != uplink.settings {
                uplink.set(running, settings, 0);
                uplink.forget_allowance();
            }
        }
        self.settle(running, now);
    }

    fn find(&self, name: &PathName) -> Result<usize> {
        let names: Vec<&PathName> = self.uplinks.iter().map(|w| &w.name).collect();
        pick(&names, name).map_err(|words| failure(Code::Usage, words))
    }
}

/// What there is to say of a path of which nothing is set any more, or nothing was.
fn what_counts(settings: &PathSettings, path: &PathName, is_forgotten: bool) -> String {
    let interface = &path.interface;
    if settings.is_said_of_interface(path) {
        let words = format!("`ropewalk path reset {interface}` forgets that, too");
        return format!("what was set for {interface} counts for {path}: {words}");
    }
    if is_forgotten {
        return String::new();
    }
    format!("nothing was set for {path}: it is used as the configuration says")
}

/// Which path is meant: the one of that name, else the only one by that interface.
fn pick(names: &[&PathName], wanted: &PathName) -> Result<usize, String> {
    if let Some(at) = names.iter().position(|n| *n == wanted) {
        return Ok(at);
    }
    let joined =
        |of: &mut dyn Iterator<Item = &&PathName>| of.map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let by_interface = |n: &&PathName| wanted.endpoint.is_none() && n.interface == wanted.interface;
    let mut found = names.iter().enumerate().filter(|(_, n)| by_interface(n));
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => {
            let which = joined(&mut names.iter().filter(|n| by_interface(n)));
            Err(format!("{} has several paths: say which of {which}", wanted.interface))
        }
        (None, _) if names.is_empty() => Err(format!("there is no path {wanted}; there is none")),
        (None, _) => Err(format!("there is no path {wanted}; there are {}", joined(&mut names.iter()))),
    }
}

fn parse(name: &str) -> Result<PathName> {
    name.parse().map_err(|why: String| failure(Code::Usage, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::settings::Settings;
    use crate::state::tests::Scratch;

    #[test]
    fn what_was_set_for_the_interface_is_not_said_to_be_the_configuration_s() {
        let scratch = Scratch::new();
        let [interface, path] = ["wan0", "wan0@gw:1"].map(|n| n.parse::<PathName>().unwrap());
        let mut settings = PathSettings::open(&scratch.0, &[]).unwrap();
        assert_eq!(what_counts(&settings, &path, true), "");
        assert!(what_counts(&settings, &path, false).contains("as the configuration says"));
        settings.say(&interface, Settings { weight: 7, ..Settings::default() }).unwrap();
        assert_eq!(settings.of(&path).weight, 7);
        for is_forgotten in [true, false] {
            let said = what_counts(&settings, &path, is_forgotten);
            assert!(said.contains("`ropewalk path reset wan0` forgets that"), "{said}");
        }
        assert!(what_counts(&settings, &interface, false).contains("as the configuration says"));
    }

    #[test]
    fn an_interface_is_enough_where_one_path_is_meant() {
        let names = ["wan1@gw:1", "wan2@gw:1", "wan2@gw:2", "wan3"].map(|n| n.parse::<PathName>().unwrap());
        let names: Vec<&PathName> = names.iter().collect();
        let pick = |wanted: &str| pick(&names, &wanted.parse().unwrap());
        assert_eq!((pick("wan1"), pick("wan3"), pick("wan2@gw:2")), (Ok(0), Ok(3), Ok(2)));
        assert_eq!(pick("wan2").unwrap_err(), "wan2 has several paths: say which of wan2@gw:1, wan2@gw:2");
        assert!(pick("wan1@gw:9").unwrap_err().contains("there are wan1@gw:1, wan2@gw:1"));
        assert!(pick("wan4").is_err());
    }
}
