//! What a user may do with paths while the client runs.

use super::{Client, Uplink};
use crate::cli::PathName;
use crate::commands::PathOptions;
use crate::daemon::Running;
use crate::exit::{Code, failure};
use ropewalk_time::Time;

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
        self.uplinks.push(Uplink::new(name.clone(), &self.options.endpoints, settings, true));
        self.look_at_links(running, now);
        let obstacle = self.uplinks.iter().find(|w| w.name == name).and_then(Uplink::obstacle);
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
        self.uplinks[at].abandon_all(running, now);
        self.settle(running, now);
        let uplink = self.uplinks.remove(at);
        if self.options.paths.is_empty() {
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
    ) -> anyhow::Result<String> {
        let name = parse(name)?;
        let at = self.find(&name)?;
        let settings = self.uplinks[at].settings.with(options)?;
        self.settings.say(&name, settings)?;
        self.settle(running, now);
        self.uplinks[at].set(running, settings, 0);
        self.uplinks[at].forget_allowance();
        self.settle(running, now);
        Ok(String::new())
    }

    /// The configuration was read again.
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

    fn find(&self, name: &PathName) -> anyhow::Result<usize> {
        self.uplinks.iter().position(|w| w.name == *name).ok_or_else(|| {
            let names: Vec<String> = self.uplinks.iter().map(|w| w.name.to_string()).collect();
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
