//! What all live views share: the loop, the keys, and rates out of counters.

use crate::control::ask::Line;
use crate::report::table::{bits, width};
use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::style::{Color, Stylize};
use ratatui::text;
use ratatui::widgets::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Looks that are remembered: one minute.
const REMEMBERED: usize = 120;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a rate without bars.
pub(crate) const RATE: u16 = 9;

/// What is shown.
pub(crate) trait View {
    /// What the daemon answers.
    type Status;

    /// Asks the daemon.
    fn ask(daemon: &mut Line) -> anyhow::Result<Self::Status>;

    /// Takes a new answer; what was in the way is over.
    fn take(&mut self, now: Self::Status);

    /// Draws everything; `trouble` is why there is no news.
    fn draw(&self, frame: &mut Frame<'_>, trouble: Option<&str>);

    /// The next, or the one before, of what is shown one at a time.
    fn turn(&mut self, _forward: bool) {}
}

/// Shows it until `q` is pressed.
pub(crate) fn show<V: View>(daemon: &mut Line, view: &mut V) -> anyhow::Result<()> {
    view.take(V::ask(daemon)?);
    // Also restores the terminal when something panics.
    let mut terminal = ratatui::try_init().context("this is no terminal: `status` prints once")?;
    let outcome = watch(&mut terminal, view, daemon);
    ratatui::restore();
    outcome
}

fn watch<V: View>(
    terminal: &mut ratatui::DefaultTerminal,
    view: &mut V,
    daemon: &mut Line,
) -> anyhow::Result<()> {
    let mut next = Instant::now() + EVERY;
    let mut trouble: Option<String> = None;
    loop {
        terminal.draw(|frame| view.draw(frame, trouble.as_deref()))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            if let Event::Key(key) = event::read()?
                && !on_key(view, key)
            {
                return Ok(());
            }
            continue;
        }
        trouble = match V::ask(daemon) {
            Ok(now) => {
                view.take(now);
                None
            }
            Err(error) => Some(format!("{error:#}")),
        };
        // Of a daemon that answers late no more is asked.
        next = Instant::now() + EVERY;
    }
}

/// `false` if the key ends it.
pub(super) fn on_key<V: View>(view: &mut V, key: KeyEvent) -> bool {
    if key.kind != KeyEventKind::Press {
        return true;
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Down | KeyCode::Char('j') => view.turn(true),
        KeyCode::Up | KeyCode::Char('k') => view.turn(false),
        _ => {}
    }
    true
}

/// The line at the bottom: what is wrong, or the keys.
pub(crate) fn foot<'a>(trouble: Option<&'a str>, keys: &'a str) -> text::Line<'a> {
    match trouble {
        Some(trouble) => text::Line::from(trouble).fg(Color::Red),
        None => text::Line::from(keys).dim(),
    }
}

/// Parts with gaps between them, in as many lines of so many columns as that takes.
pub(crate) fn wrapped<'a>(
    parts: impl IntoIterator<Item = &'a str>,
    gap: &str,
    columns: u16,
) -> Vec<text::Line<'static>> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for part in parts {
        if width(&line) + width(gap) + width(part) <= usize::from(columns) && !line.is_empty() {
            line.push_str(gap);
        } else if !line.is_empty() {
            lines.push(std::mem::take(&mut line).into());
        }
        line.push_str(part);
    }
    lines.push(line.into());
    lines
}

/// A sentence in as many lines of so many columns as it takes.
pub(crate) fn wrapped_words(words: &str, columns: u16) -> Vec<text::Line<'static>> {
    wrapped(words.split(' '), " ", columns)
}

/// Bits per second, out and in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    pub up: f64,
    pub down: f64,
}

/// Rates of many things, each called `K`, the newest last.
#[derive(Debug)]
pub(crate) struct Series<K> {
    at_s: f64,
    last: BTreeMap<K, [u64; 2]>,
    rates: BTreeMap<K, VecDeque<Rates>>,
}

impl<K> Default for Series<K> {
    fn default() -> Series<K> {
        Series { at_s: 0.0, last: BTreeMap::new(), rates: BTreeMap::new() }
    }
}

impl<K: Clone + Ord> Series<K> {
    /// Takes counters of bytes, out and in, at a time of the daemon's clock. What is no longer
    /// there is forgotten.
    pub(crate) fn take(&mut self, at_s: f64, counters: impl IntoIterator<Item = (K, [u64; 2])>) {
        let seconds = at_s - self.at_s;
        let counters: BTreeMap<K, [u64; 2]> = counters.into_iter().collect();
        // The daemon has not looked since.
        if seconds == 0.0 && counters == self.last {
            return;
        }
        let mut old = std::mem::take(&mut self.rates);
        for (key, now) in &counters {
            let mut rates = old.remove(key).unwrap_or_default();
            // A daemon that was started anew begins at 0.
            if let Some(then) = self.last.get(key).filter(|_| seconds > 0.0) {
                let rate = |i: usize| now[i].saturating_sub(then[i]) as f64 * 8.0 / seconds;
                rates.push_back(Rates { up: rate(0), down: rate(1) });
            }
            while rates.len() > REMEMBERED {
                rates.pop_front();
            }
            self.rates.insert(key.clone(), rates);
        }
        (self.at_s, self.last) = (at_s, counters);
    }

    /// Those of one thing.
    pub(crate) fn of(&self, key: &K) -> Option<&VecDeque<Rates>> {
        self.rates.get(key)
    }

    /// The sum of some, moment by moment.
    pub(crate) fn sum<'k>(&self, keys: impl IntoIterator<Item = &'k K>) -> VecDeque<Rates>
    where
        K: 'k,
    {
        let mut sum: VecDeque<Rates> = VecDeque::new();
        for rates in keys.into_iter().filter_map(|key| self.of(key)) {
            while sum.len() < rates.len() {
                sum.push_front(Rates::default());
            }
            let behind = sum.len() - rates.len();
            for (all, one) in sum.iter_mut().skip(behind).zip(rates) {
                (all.up, all.down) = (all.up + one.up, all.down + one.down);
            }
        }
        sum
    }
}

/// A rate with its last minute, `wide` columns of it.
pub(crate) fn rate_text(rates: Option<&VecDeque<Rates>>, of: fn(&Rates) -> f64, wide: usize) -> String {
    let none = VecDeque::new();
    let rates = rates.unwrap_or(&none);
    let last = rates.back().map_or(0.0, of);
    format!("{:<10} {}", bits(last), spark(rates, of, wide.saturating_sub(11)))
}

/// The same as a cell of a table.
pub(crate) fn rate_cell<'a>(
    rates: Option<&VecDeque<Rates>>,
    of: fn(&Rates) -> f64,
    wide: u16,
    color: Color,
) -> Cell<'a> {
    Cell::from(rate_text(rates, of, wide.into())).fg(color)
}

/// The newest values as bars, the largest of them full.
pub(super) fn spark(rates: &VecDeque<Rates>, of: fn(&Rates) -> f64, room: usize) -> String {
    let shown = || rates.iter().skip(rates.len().saturating_sub(room)).map(of);
    let most = shown().fold(0.0, f64::max);
    let bar =
        |value: f64| if most > 0.0 { BARS[((value / most * 7.0).round() as usize).min(7)] } else { BARS[0] };
    shown().map(bar).collect()
}

/// A view as text, for tests.
#[cfg(test)]
pub(crate) fn screen<V: View>(view: &V, width: u16, height: u16) -> String {
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame, None)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

/// Holds that a screen has all of these words, for tests.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_shows(screen: &str, words: &[&str]) {
    for words in words {
        assert!(screen.contains(*words), "{words}\n{screen}");
    }
}
