//! What a person may do with paths while the client runs.

use super::{Client, Way};
use crate::cli::{PathName, PathOptions};
use crate::daemon::Running;
use crate::exit::{Code, failure};
use ropewalk_bond::time::Time;

impl Client {
    /// `ropewalk path add`. Returns what there is to say.
    pub(super) fn add_path(
        &mut self,
        running: &mut Running,
        name: &str,
        options: &PathOptions,
        now: Time,
    ) -> anyhow::Result<String> {
        let name = parse(name)?;
        if let Some(way) = self.ways.iter_mut().find(|w| w.name == name) {
            way.asked_for = true;
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
        self.ways.push(Way::new(name.clone(), &self.wish.endpoints, settings, true));
        self.look_at_links(running, now);
        let obstacle = self.ways.iter().find(|w| w.name == name).and_then(Way::obstacle);
        Ok(obstacle.map_or(String::new(), |why| format!("{why}; it is used as soon as it can be")))
    }

    /// `ropewalk path remove`.
    pub(super) fn remove_path(
        &mut self,
        running: &mut Running,
        name: &str,
        now: Time,
    ) -> anyhow::Result<String> {
        let name = parse(name)?;
        let at = self.find(&name)?;
        self.ways[at].abandon_all(running, now);
        self.settle(running, now);
        let way = self.ways.remove(at);
        if self.wish.paths.is_empty() {
            self.excluded.insert(way.name.interface);
        }
        let words = "no path is left: nothing can pass until one is added";
        Ok(if self.ways.is_empty() { words.into() } else { String::new() })
    }

    /// `ropewalk path set`.
    pub(super) fn set_path(
        &mut self,
        running: &mut Running,
        name: &str,
        options: &PathOptions,
        now: Time,
    ) -> anyhow::Result<String> {
        let name = parse(name)?;
        let at = self.find(&name)?;
        let settings = self.ways[at].settings.with(options)?;
        self.settings.say(&name, settings)?;
        self.settle(running, now);
        self.ways[at].set(running, settings, 0);
        self.ways[at].forget_allowance();
        self.settle(running, now);
        Ok(String::new())
    }

    /// The configuration was read again.
    pub(super) fn apply_settings(&mut self, running: &mut Running, now: Time) {
        self.settle(running, now);
        for way in &mut self.ways {
            let settings = self.settings.of(&way.name);
            if settings != way.settings {
                way.set(running, settings, 0);
                way.forget_allowance();
            }
        }
        self.settle(running, now);
    }

    fn find(&self, name: &PathName) -> anyhow::Result<usize> {
        self.ways.iter().position(|w| w.name == *name).ok_or_else(|| {
            let names: Vec<String> = self.ways.iter().map(|w| w.name.to_string()).collect();
            let known = if names.is_empty() {
                "there is none".into()
            } else {
                format!("there are {}", names.join(", "))
            };
            failure(Code::Usage, format!("there is no path {name}; {known}"))
        })
    }
}

fn parse(name: &str) -> anyhow::Result<PathName> {
    name.parse().map_err(|why: String| failure(Code::Usage, why))
}
