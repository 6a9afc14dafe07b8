//! What paths may be used for: as the configuration says, or as `ropewalk path set` said last.

use crate::cli::PathName;
use crate::commands::PathOptions;
use crate::config::{ClassName, PathEntry};
use crate::exit::{Code, failure};
use crate::state::StateDir;
use crate::state::usage::Cap;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FILE: &str = "paths.json";

/// One path's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// What it may be used for.
    pub class: ClassName,
    /// Bytes of a metered path in a month.
    pub cap: Option<u64>,
    /// The day of the month on which a new allowance begins.
    pub reset_day: u8,
    /// Its weight for the weighted scheduler.
    pub weight: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { class: ClassName::Active, cap: None, reset_day: 1, weight: 1 }
    }
}

impl Settings {
    /// The allowance of a metered path.
    pub(crate) fn allowance(&self) -> Option<Cap> {
        let bytes = self.cap.filter(|_| self.class == ClassName::Metered)?;
        Some(Cap { bytes, reset_day: self.reset_day })
    }

    /// These settings with what `options` say. A cap alone makes a path metered.
    pub(crate) fn with(mut self, options: &PathOptions) -> anyhow::Result<Settings> {
        self.cap = options.cap.map(|c| c.0).or(self.cap);
        self.class = match (options.class, options.cap) {
            (Some(class), _) => class,
            (None, Some(_)) => ClassName::Metered,
            (None, None) => self.class,
        };
        self.reset_day = options.reset_day.unwrap_or(self.reset_day);
        self.weight = options.weight.unwrap_or(self.weight);
        if self.class == ClassName::Metered && self.cap.is_none() {
            return Err(failure(Code::Usage, "a metered path needs a cap: add --cap, such as --cap 10GB"));
        }
        Ok(self)
    }

    fn from_entry(entry: &PathEntry) -> Settings {
        let d = Settings::default();
        Settings {
            class: entry.class.unwrap_or(if entry.cap.is_some() { ClassName::Metered } else { d.class }),
            cap: entry.cap.map(|c| c.0),
            reset_day: entry.reset_day.unwrap_or(d.reset_day),
            weight: entry.weight.unwrap_or(d.weight),
        }
    }
}

/// The settings of all paths, by their names.
#[derive(Debug)]
pub(crate) struct PathSettings {
    dir: StateDir,
    configured: BTreeMap<String, Settings>,
    said: BTreeMap<String, Settings>,
}

impl PathSettings {
    /// What the configuration says and what was said earlier.
    pub(crate) fn open(dir: &StateDir, entries: &[PathEntry]) -> anyhow::Result<PathSettings> {
        let said = dir.read(FILE)?.map_or_else(|| Ok(BTreeMap::new()), |text| read(&text));
        let damaged = || format!("{} is damaged: remove it", dir.path().join(FILE).display());
        let said = said.with_context(damaged)?;
        let mut settings = PathSettings { dir: dir.clone(), configured: BTreeMap::new(), said };
        settings.configure(entries);
        Ok(settings)
    }

    /// The configuration was read (again).
    pub(crate) fn configure(&mut self, entries: &[PathEntry]) {
        self.configured = entries.iter().map(|e| (e.name().to_string(), Settings::from_entry(e))).collect();
    }

    /// The settings of a path: for the interface and endpoint, else for the interface.
    pub(crate) fn of(&self, name: &PathName) -> Settings {
        let (whole, interface) = (name.to_string(), &name.interface);
        let places = [
            (&self.said, &whole),
            (&self.said, interface),
            (&self.configured, &whole),
            (&self.configured, interface),
        ];
        places.into_iter().find_map(|(settings, key)| settings.get(key)).copied().unwrap_or_default()
    }

    /// A user says otherwise; it is remembered, or nothing is changed.
    pub(crate) fn say(&mut self, name: &PathName, settings: Settings) -> anyhow::Result<()> {
        let mut said = self.said.clone();
        said.insert(name.to_string(), settings);
        self.dir.write_json(FILE, &said)?;
        self.said = said;
        Ok(())
    }

    /// What was said of these counts no more, and whether anything was; or nothing is changed.
    pub(crate) fn forget(&mut self, names: &[&PathName]) -> anyhow::Result<bool> {
        let mut said = self.said.clone();
        said.retain(|said, _| !names.iter().any(|name| name.to_string() == *said));
        if said.len() == self.said.len() {
            return Ok(false);
        }
        self.dir.write_json(FILE, &said)?;
        self.said = said;
        Ok(true)
    }

    /// What was said of the interface counts for this path of it, where nothing was said of the path.
    pub(crate) fn is_said_of_interface(&self, name: &PathName) -> bool {
        name.endpoint.is_some() && self.said.contains_key(&name.interface)
    }
}

/// What was said, within the bounds of the command line whatever the file says.
fn read(text: &str) -> serde_json::Result<BTreeMap<String, Settings>> {
    let mut said: BTreeMap<String, Settings> = serde_json::from_str(text)?;
    for settings in said.values_mut() {
        (settings.reset_day, settings.weight) =
            (settings.reset_day.clamp(1, 31), settings.weight.clamp(1, 1000));
    }
    Ok(said)
}

/// For the fuzzer: what a file says is within bounds, and is read as it is written.
pub(crate) fn fuzz(text: &str) {
    let Ok(said) = read(text) else { return };
    assert!(said.values().all(|s| s.weight > 0 && (1..=31).contains(&s.reset_day)));
    let written = serde_json::to_string(&said).expect("settings can be written");
    assert_eq!(read(&written).expect("and read"), said);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Amount;
    use crate::state::tests::Scratch;

    #[test]
    fn what_was_said_last_counts_and_lasts() {
        let scratch = Scratch::new();
        let name: PathName = "wan0@192.0.2.1:4500".parse().unwrap();
        let mut settings = PathSettings::open(&scratch.0, &[]).unwrap();
        assert_eq!(settings.of(&name), Settings::default());
        let options = PathOptions { cap: Some(Amount(10)), ..PathOptions::default() };
        let metered = settings.of(&name).with(&options).unwrap();
        settings.say(&"wan0".parse().unwrap(), metered).unwrap();
        let settings = PathSettings::open(&scratch.0, &[]).unwrap();
        assert_eq!(settings.of(&name).allowance(), Some(Cap { bytes: 10, reset_day: 1 }));
    }

    #[test]
    fn what_cannot_be_written_is_not_said() {
        let scratch = Scratch::new();
        let name: PathName = "wan0".parse().unwrap();
        let mut settings = PathSettings::open(&scratch.0, &[]).unwrap();
        // No file can be put in its place.
        std::fs::create_dir(scratch.0.path().join(FILE)).unwrap();
        settings.say(&name, Settings { weight: 7, ..Settings::default() }).unwrap_err();
        assert_eq!(settings.of(&name), Settings::default());
    }

    #[test]
    fn what_is_forgotten_goes_by_the_configuration_again() {
        let scratch = Scratch::new();
        let (wan0, wan1): (PathName, PathName) = ("wan0".parse().unwrap(), "wan1@gw:1".parse().unwrap());
        let file = [PathEntry { weight: Some(3), ..PathEntry::new("wan0") }];
        let mut settings = PathSettings::open(&scratch.0, &file).unwrap();
        let heavy = Settings { weight: 7, ..Settings::default() };
        settings.say(&wan0, heavy).unwrap();
        settings.say(&wan1, heavy).unwrap();
        assert!(settings.forget(&[&wan0, &wan0]).unwrap());
        assert!(!settings.forget(&[&wan0]).unwrap(), "nothing is left to be forgotten");
        let again = PathSettings::open(&scratch.0, &file).unwrap();
        for settings in [settings, again] {
            assert_eq!((settings.of(&wan0).weight, settings.of(&wan1).weight), (3, 7));
        }
    }

    #[test]
    fn a_metered_path_needs_a_cap() {
        let options = PathOptions { class: Some(ClassName::Metered), ..PathOptions::default() };
        assert!(Settings::default().with(&options).is_err());
    }
}
