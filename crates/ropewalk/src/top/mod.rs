//! `ropewalk top`: the running bond, live.

mod fleet;
mod view;

use crate::cli::{StoreArgs, Which};
use crate::commands::snapshot;
use crate::control::ask::Line;
use crate::report::{Path, Peer, Snapshot};
use crate::state::StateDir;
use anyhow::Context;
use clap::Args;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// `ropewalk top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    pub state: Which,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print JSON once; needs --store
    #[arg(long, requires = "store")]
    pub json: bool,
}

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Looks that are remembered: one minute.
const REMEMBERED: usize = 120;

/// Bits per second, out and in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rates {
    up: f64,
    down: f64,
}

/// What is shown.
#[derive(Debug, Default)]
struct App {
    now: Snapshot,
    /// Rates of each path, by peer and path, the newest last.
    history: BTreeMap<(String, u8), VecDeque<Rates>>,
    /// Which peer is shown.
    selected: usize,
    /// Why there is no news.
    trouble: Option<String>,
}

/// Shows it until `q` is pressed.
pub(crate) fn run(args: &Top) -> anyhow::Result<()> {
    if let Some(store) = args.store.settings()? {
        return fleet::run(&store, args.json);
    }
    let mut daemon = Line::open(&StateDir::existing(&args.state.find()?)?)?;
    let mut app = App::default();
    app.take(snapshot(&mut daemon)?);
    // Also restores the terminal when something panics.
    let mut terminal = ratatui::try_init().context("this is no terminal: `ropewalk status` prints once")?;
    let outcome = watch(&mut terminal, &mut app, &mut daemon);
    ratatui::restore();
    outcome
}

fn watch(terminal: &mut ratatui::DefaultTerminal, app: &mut App, daemon: &mut Line) -> anyhow::Result<()> {
    let mut next = Instant::now() + EVERY;
    loop {
        terminal.draw(|frame| view::draw(frame, app))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            if let Event::Key(key) = event::read()?
                && !app.on_key(key)
            {
                return Ok(());
            }
            continue;
        }
        next = Instant::now() + EVERY;
        match snapshot(daemon) {
            Ok(now) => app.take(now),
            Err(error) => app.trouble = Some(format!("{error:#}")),
        }
    }
}

impl App {
    /// `false` if the key ends it.
    fn on_key(&mut self, key: KeyEvent) -> bool {
        if key.kind != KeyEventKind::Press {
            return true;
        }
        let last = self.now.peers.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            _ => {}
        }
        true
    }

    /// A new snapshot; rates come from what changed since the last.
    fn take(&mut self, now: Snapshot) {
        let seconds = now.clock_ns.saturating_sub(self.now.clock_ns) as f64 / 1e9;
        let mut history = BTreeMap::new();
        for peer in &now.peers {
            for path in &peer.paths {
                let key = (peer.key.clone(), path.id);
                let mut rates = self.history.remove(&key).unwrap_or_default();
                if let Some(old) = find(&self.now, &key).filter(|_| seconds > 0.0) {
                    rates.push_back(since(old, path, seconds));
                }
                while rates.len() > REMEMBERED {
                    rates.pop_front();
                }
                history.insert(key, rates);
            }
        }
        (self.history, self.now, self.trouble) = (history, now, None);
        self.selected = self.selected.min(self.now.peers.len().saturating_sub(1));
    }

    fn peer(&self) -> Option<&Peer> {
        self.now.peers.get(self.selected)
    }

    fn rates(&self, peer: &Peer, path: &Path) -> Option<&VecDeque<Rates>> {
        self.history.get(&(peer.key.clone(), path.id))
    }
}

fn find<'s>(snapshot: &'s Snapshot, key: &(String, u8)) -> Option<&'s Path> {
    snapshot.peers.iter().find(|p| p.key == key.0)?.paths.iter().find(|p| p.id == key.1)
}

fn since(old: &Path, new: &Path, seconds: f64) -> Rates {
    let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 * 8.0 / seconds;
    Rates {
        up: rate(new.traffic.sent_bytes, old.traffic.sent_bytes),
        down: rate(new.traffic.received_bytes, old.traffic.received_bytes),
    }
}

#[cfg(test)]
mod tests;
