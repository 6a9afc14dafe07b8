//! What a person sees while it runs: a bar with the time that is left and what comes through now.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::sampler::Sampler;

/// How often the figure changes.
const REFRESH: Duration = Duration::from_millis(200);

/// The bar below the lines that are said. Without a terminal there are only the lines.
pub(super) struct Stage {
    bar: ProgressBar,
    begin: Instant,
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
            bar.enable_steady_tick(REFRESH / 2);
        }
        Stage { bar, begin: Instant::now(), terminal }
    }

    /// This goes on now.
    pub(super) fn begin(&self, what: &str) {
        self.bar.set_prefix("");
        self.bar.set_message(what.to_owned());
    }

    /// Shows for so long what the sampler sees.
    pub(super) fn watch(&self, sampler: &Sampler, time: Duration) {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::sleep(left.min(REFRESH));
            self.bar.set_position(self.begin.elapsed().as_secs());
            self.bar.set_prefix(format!("  {:5.1} Mb/s", sampler.mbps()));
        }
    }

    /// This came out.
    pub(super) fn end(&self, line: &str) {
        self.say(line);
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
