//! How long and how often things are measured.

/// Lengths and numbers of runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// Shorter runs, fewer of them: to see whether things work, not to quote.
    pub quick: bool,
    /// How often each measurement is made, instead of as often as the row wants.
    pub repeat: Option<u32>,
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
}
