//! What a user sees while it runs: a bar with the time that is left and what comes through now.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// The bar below the lines that are said. Without a terminal there are only the lines.
pub(super) struct Stage {
    bar: ProgressBar,
    terminal: bool,
}

impl Stage {
    /// For about so many seconds.
    pub(super) fn new(seconds: u64) -> Stage {
        let terminal = std::io::stdout().is_terminal();
        let target = if terminal { ProgressDrawTarget::stdout() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(seconds), target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:30} {pos:>2}/{len} s  {msg}{prefix}")
        {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(TICK);
        }
        Stage { bar, terminal }
    }

    /// This goes on now.
    pub(super) fn begin(&self, what: &str) {
        self.bar.set_prefix("");
        self.bar.set_message(what.to_owned());
    }

    /// Shows where it is: seconds of the run, what goes on, and what comes through.
    pub(super) fn show(&self, now_s: f64, what: String, mbps: Option<f64>) {
        self.bar.set_position(now_s as u64);
        self.bar.set_message(what);
        self.bar.set_prefix(mbps.map_or(String::new(), |mbps| format!("  {mbps:5.1} Mb/s")));
    }

    /// Says something besides.
    pub(super) fn say(&self, line: &str) {
        if self.terminal {
            self.bar.println(line);
        } else {
            println!("{line}");
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
