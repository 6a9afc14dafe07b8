//! What a user sees while it runs.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over all measurements, and a line for each that is done. Without a terminal, only the lines.
pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
}

impl Progress {
    /// For so many measurements.
    pub fn new(measurements: u64) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(measurements) } else { ProgressBar::hidden() };
        let template = "{spinner} [{elapsed_precise}] {bar:30} {pos}/{len}, {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Progress { bar, terminal }
    }

    /// This is measured now.
    pub fn begin(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// A measurement has ended.
    pub fn end(&self, line: &str) {
        self.bar.inc(1);
        self.say(line);
    }

    /// Says something besides.
    pub fn say(&self, line: &str) {
        if self.terminal {
            self.bar.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
