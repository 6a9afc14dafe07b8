//! How long, how often and where things are measured.

use ropewalk_lab::env::{Environment, sixteen};

/// Lengths and numbers of runs.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Shorter runs, fewer of them: to see whether things work, not to quote.
    pub quick: bool,
    /// How often each measurement is made, instead of as often as the row wants.
    pub repeat: Option<u32>,
    /// Only these of the sixteen environments; all if empty.
    pub only: Vec<String>,
}

impl Plan {
    /// How often a row that is usually measured `usual` times does so.
    pub fn repeats(&self, usual: u32) -> u32 {
        self.repeat.unwrap_or(if self.quick { 1 } else { usual }).max(1)
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
    pub fn stranger(&self) -> Option<&str> {
        self.only.iter().map(String::as_str).find(|name| !sixteen().iter().any(|one| one.name == *name))
    }
}
