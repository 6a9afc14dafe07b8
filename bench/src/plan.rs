//! How long, how often and where things are measured.

use std::ops::Range;

use ropewalk_lab::env::{Environment, sixteen};

use crate::system::System;

/// Lengths and numbers of runs.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Shorter runs, fewer of them: to see whether things work, not to quote.
    pub quick: bool,
    /// How often each measurement is made, instead of as often as the row wants.
    pub repeat: Option<u32>,
    /// Only these of the sixteen environments; all if empty.
    pub only: Vec<String>,
    /// Only Ropewalk, without its peers.
    pub alone: bool,
    /// How many rounds went before: random fates of links go on from there.
    pub rounds_before: u32,
}

impl Plan {
    /// How often a row that is usually measured `usual` times does so.
    pub fn repeats(&self, usual: u32) -> u32 {
        self.repeat.unwrap_or(if self.quick { 1 } else { usual }).max(1)
    }

    /// The numbers of the rounds, from 1: each is the seed of the links' fate.
    pub fn rounds(&self, repeats: u32) -> Range<u64> {
        let first = u64::from(self.rounds_before) + 1;
        first..first + u64::from(repeats)
    }

    /// Those of `systems` that are to be measured.
    pub fn systems(&self, systems: &[System]) -> Vec<System> {
        systems.iter().copied().filter(|system| !self.alone || system.is_ropewalk()).collect()
    }

    /// One of two, the second when in a hurry.
    pub fn pick<T>(&self, usual: T, quick: T) -> T {
        if self.quick { quick } else { usual }
    }

    /// The environments to measure in.
    pub fn environments(&self) -> impl Iterator<Item = &'static Environment> {
        sixteen().iter().filter(|one| self.only.is_empty() || self.only.contains(&one.name))
    }

    /// A name among [`Plan::only`] that no environment has.
    pub fn unknown(&self) -> Option<&str> {
        self.only.iter().map(String::as_str).find(|name| !sixteen().iter().any(|one| one.name == *name))
    }
}
