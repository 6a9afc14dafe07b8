//! `ropewalk top`: the running bond, live.

mod fleet;
pub(crate) mod live;
mod view;

use crate::cli::{StoreArgs, Which};
use crate::commands::{flows, snapshot};
use crate::control::ask::Line;
use crate::exit::{Code, kind_of};
use crate::report::flows::{Flow, Flows};
use crate::report::{Path, Peer, Snapshot};
use crate::state::StateDir;
use clap::Args;
use live::{Rates, Series, View};
use ratatui::Frame;
use std::collections::VecDeque;

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

/// Connections that are asked for: of a gateway's, some are of the client that is shown.
const FLOWS: u16 = 100;

/// What is shown.
#[derive(Debug, Default)]
struct App {
    now: Snapshot,
    flows: Flows,
    /// Rates of each path, by peer and path.
    series: Series<(String, u8)>,
    /// How busy each of a gateway's workers was between the last two looks, per cent.
    busy: Vec<f64>,
    /// The key of the peer that is shown; of a gateway that starts anew it may be gone for a while.
    selected: Option<String>,
}

/// Shows it until `q` is pressed.
pub(crate) fn run(args: &Top) -> anyhow::Result<()> {
    if let Some(store) = args.store.settings()? {
        return fleet::run(&store, args.json);
    }
    let mut daemon = Line::open(&StateDir::existing(&args.state.find()?)?)?;
    live::show(&mut daemon, &mut App::default())
}

impl View for App {
    type Status = (Snapshot, Flows);

    fn ask(daemon: &mut Line) -> anyhow::Result<(Snapshot, Flows)> {
        let now = snapshot(daemon)?;
        let flows = match flows(daemon, FLOWS) {
            // A daemon of an earlier version counts none.
            Err(error) if kind_of(&error) == Code::Usage => Flows::default(),
            other => other?,
        };
        Ok((now, flows))
    }

    fn take(&mut self, (now, flows): (Snapshot, Flows)) {
        let all = now.peers.iter().flat_map(|peer| peer.paths.iter().map(move |path| (peer, path)));
        let bytes = |p: &Path| [p.traffic.sent_bytes, p.traffic.received_bytes];
        let counters = all.map(|(peer, path)| ((peer.key.clone(), path.id), bytes(path)));
        self.series.take(now.clock_ns as f64 / 1e9, counters);
        let seconds = now.clock_ns.saturating_sub(self.now.clock_ns) as f64 / 1e9;
        // The daemon may not have looked since.
        if seconds > 0.0 {
            let both = now.workers.iter().zip(&self.now.workers);
            self.busy = both.map(|(worker, earlier)| worker.busy_percent(earlier, seconds)).collect();
        }
        (self.now, self.flows) = (now, flows);
    }

    fn draw(&self, frame: &mut Frame<'_>, trouble: Option<&str>) {
        view::draw(frame, self, trouble);
    }

    fn turn(&mut self, forward: bool) {
        let last = self.now.peers.len().saturating_sub(1);
        let next = if forward { self.place() + 1 } else { self.place().saturating_sub(1) };
        self.selected = self.now.peers.get(next.min(last)).map(|p| p.key.clone());
    }
}

impl App {
    /// The place of the peer that is shown: the first where nobody chose, or who was chosen is gone.
    fn place(&self) -> usize {
        self.now.peers.iter().position(|p| self.selected.as_ref() == Some(&p.key)).unwrap_or(0)
    }

    fn peer(&self) -> Option<&Peer> {
        self.now.peers.get(self.place())
    }

    fn rates(&self, peer: &Peer, path: &Path) -> Option<&VecDeque<Rates>> {
        self.series.of(&(peer.key.clone(), path.id))
    }

    /// A peer's connections, the fastest first.
    fn flows(&self, peer: &Peer) -> Vec<&Flow> {
        self.flows.flows.iter().filter(|f| f.peer == peer.name).collect()
    }

    /// The sum of a peer's paths, moment by moment.
    fn total(&self, peer: &Peer) -> VecDeque<Rates> {
        let keys: Vec<(String, u8)> = peer.paths.iter().map(|p| (peer.key.clone(), p.id)).collect();
        self.series.sum(&keys)
    }
}

#[cfg(test)]
mod tests;
