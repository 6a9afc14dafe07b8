//! Looks at the daemon again and again, on a thread of its own, and keeps what pages ask for.

use super::kept;
use super::members::Members;
use super::rings::{Point, Rings};
use super::timeline::Timeline;
use super::view::{Looks, States, View};
use super::walk::Walk;
use crate::bunch::report::{ApStatus, BunchStatus, GatewayStatus};
use crate::commands::snapshot;
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::exit::{Code, kind_of};
use crate::roam::report::RoamStatus;
use crate::state::StateDir;
use crate::state::saver::Saver;
use anyhow::Context;
use bytes::Bytes;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// Between two looks while somebody watches.
const WATCHED: Duration = Duration::from_millis(250);
/// The same while nobody does.
const UNWATCHED: Duration = Duration::from_secs(1);
/// A gateway with thousands of clients takes its time for an answer: it is not asked for more than
/// this share of it.
const SHARE: u32 = 10;

/// What goes to each page: events as they are written to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    /// How the daemon does, or that it does not.
    pub now: Bytes,
    /// What happened.
    pub timeline: Bytes,
    /// Another number than before: the timeline is another.
    pub version: u64,
}

/// What the thread and the server share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The daemon's directory.
    pub dir: StateDir,
    /// Pages that watch.
    pub watchers: AtomicUsize,
    rings: Arc<Mutex<Rings>>,
    /// Who writes the minutes to the disk, where that is done.
    keeper: OnceLock<Saver>,
    walk: Mutex<Walk>,
    members: Mutex<Members>,
    timeline: Mutex<Timeline>,
    published: watch::Sender<Published>,
}

impl Shared {
    /// Nothing is known yet.
    pub(super) fn new(dir: StateDir) -> Arc<Shared> {
        let (published, _) = watch::channel(Published::default());
        let (rings, timeline) = (Arc::default(), Mutex::default());
        let (watchers, keeper) = (AtomicUsize::new(0), OnceLock::new());
        let (walk, members) = Default::default();
        Arc::new(Shared { dir, watchers, rings, keeper, walk, members, timeline, published })
    }

    /// What is published, as it comes.
    pub(super) fn subscribe(&self) -> watch::Receiver<Published> {
        self.published.subscribe()
    }

    /// The past.
    pub(super) fn rings(&self) -> MutexGuard<'_, Rings> {
        lock(&self.rings)
    }

    /// What is remembered of access points.
    pub(super) fn walk(&self) -> MutexGuard<'_, Walk> {
        lock(&self.walk)
    }

    /// What is remembered of a bunch.
    pub(super) fn members(&self) -> MutexGuard<'_, Members> {
        lock(&self.members)
    }

    /// The past, for the thread that writes it.
    pub(super) fn rings_to_keep(&self) -> Arc<Mutex<Rings>> {
        Arc::clone(&self.rings)
    }

    /// The minutes are written by this from now on.
    pub(super) fn keep_by(&self, saver: Saver) {
        let _is_the_first = self.keeper.set(saver);
    }

    /// Writes the minutes, and returns when that is done.
    pub(super) fn keep_now(&self) {
        if let Some(Err(error)) = self.keeper.get().map(Saver::save_now) {
            eprintln!("ropewalk: the day is not kept: {error:#}");
        }
    }

    /// Writes a line into the timeline.
    pub(super) fn note(&self, text: String) {
        self.timeline().add(wall(), "plain", text);
    }

    fn timeline(&self) -> MutexGuard<'_, Timeline> {
        lock(&self.timeline)
    }
}

/// What a daemon is, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bond,
    Roam,
    Bunch,
}

/// Who looks.
pub(super) struct Feed {
    shared: Arc<Shared>,
    line: Option<Line>,
    looks: Looks,
    /// The daemon answers no more.
    gone: bool,
    /// What the daemon is.
    kind: Kind,
    uptime: f64,
    states: States,
    /// The second that was published and put into the rings last.
    second: u64,
}

impl Feed {
    /// Opens the conversation; fails where no daemon runs.
    pub(super) fn open(shared: Arc<Shared>) -> anyhow::Result<Feed> {
        let line = Some(Line::open(&shared.dir)?);
        let (looks, states) = (Looks::default(), Vec::new());
        let mut feed =
            Feed { shared, line, looks, gone: false, kind: Kind::Bond, uptime: 0.0, states, second: 0 };
        let view = feed.look()?;
        feed.take(view);
        Ok(feed)
    }

    /// Looks until the process ends.
    pub(super) fn run(mut self) {
        loop {
            let began = Instant::now();
            let look = self.look();
            let answered = look.is_ok();
            match look {
                Ok(view) => self.take(view),
                Err(error) => self.lose(&error),
            }
            let watched = self.shared.watchers.load(Ordering::Relaxed) > 0;
            std::thread::sleep(pause(began.elapsed(), answered, watched));
        }
    }

    fn look(&mut self) -> anyhow::Result<View> {
        let line = match &mut self.line {
            Some(line) => line,
            None => self.line.insert(Line::open(&self.shared.dir)?),
        };
        match self.kind {
            Kind::Bond => {}
            Kind::Roam => {
                let (status, at) = (roam(line)?, wall());
                self.has_run(status.uptime_s, at);
                let events = self.shared.walk().events(&status, at);
                self.shared.timeline().tell(events);
                return Ok(View::of_roam(status, at));
            }
            Kind::Bunch => {
                let (status, at) = (bunch(line)?, wall());
                let (BunchStatus::Gateway(GatewayStatus { uptime_s, .. })
                | BunchStatus::Ap(ApStatus { uptime_s, .. })) = &status;
                self.has_run(*uptime_s, at);
                let mut members = self.shared.members();
                self.shared.timeline().tell(members.events(&status, at));
                return Ok(View::of_bunch(members.view(status), at));
            }
        }
        let now = match snapshot(line) {
            // Whoever is no bond refuses to be asked for one.
            Err(error) if self.uptime == 0.0 && kind_of(&error) == Code::Usage => {
                self.kind = other(line)?;
                return self.look();
            }
            other => other?,
        };
        let at = wall();
        self.has_run(now.uptime_s, at);
        let line = self.line.as_mut().context("the conversation is over")?;
        let mut timeline = self.shared.timeline();
        let many = now.role == "gateway" || now.role == "ap";
        if many {
            timeline.end_gone(&now, at);
        }
        match line.ask(&Request::History { since: timeline.seen() }) {
            Ok(Response::History { clock_ns, events }) => {
                timeline.take(&events, many, |ns| at - clock_ns.saturating_sub(ns) as f64 / 1e9);
            }
            Ok(_) => {}
            // A daemon of an earlier version keeps no events.
            Err(error) if kind_of(&error) == Code::Usage => {}
            Err(error) => return Err(error),
        }
        timeline.compare(&now, at);
        Ok(self.looks.view(&now, at))
    }

    /// Takes how long the daemon has been running: less than before, and it is another one.
    fn has_run(&mut self, uptime_s: f64, at: f64) {
        if uptime_s < self.uptime {
            self.forget(at, "the daemon started again");
        }
        self.uptime = uptime_s.max(f64::MIN_POSITIVE);
    }

    /// The daemon is gone, or another one runs.
    fn forget(&self, at: f64, why: &str) {
        self.shared.timeline().daemon_ended(at, why);
        self.shared.walk().daemon_ended();
        self.shared.members().daemon_ended();
    }

    /// Publishes a view if a second has passed or a state has changed.
    fn take(&mut self, view: View) {
        self.gone = false;
        let (second, states) = (view.at as u64, view.states());
        if second != self.second {
            self.remember(&view, second as u32);
            if second / kept::EVERY != self.second / kept::EVERY
                && let Some(keeper) = self.shared.keeper.get()
            {
                keeper.save_soon();
            }
        } else if states == self.states {
            return;
        }
        (self.second, self.states) = (second, states);
        self.publish(event("now", &view));
    }

    fn lose(&mut self, error: &anyhow::Error) {
        (self.line, self.kind) = (None, Kind::Bond);
        let at = wall();
        if !self.gone {
            (self.gone, self.uptime) = (true, 0.0);
            self.forget(at, "the daemon does not answer");
        }
        #[derive(Serialize)]
        struct Gone {
            at: f64,
            why: String,
        }
        self.publish(event("gone", &Gone { at, why: format!("{error:#}") }));
    }

    fn publish(&self, now: Bytes) {
        let timeline = self.shared.timeline();
        let version = timeline.version();
        self.shared.published.send_modify(|p| {
            p.now = now;
            if p.version != version || p.timeline.is_empty() {
                (p.version, p.timeline) = (version, event("timeline", &timeline.entries()));
            }
        });
    }

    fn remember(&self, view: &View, second: u32) {
        if let Some(roam) = &view.roam {
            self.shared.walk().remember(roam, second);
        }
        if view.bunch.is_some() {
            self.shared.members().remember(second);
        }
        let mut rings = self.shared.rings();
        for peer in &view.peers {
            for path in &peer.paths {
                // Where an interface tries several addresses, the one that works.
                let better = peer.paths.iter().any(|p| p.series == path.series && p.state == "active");
                if better && path.state != "active" {
                    continue;
                }
                let number = |n: Option<f64>| n.map_or(f32::NAN, |n| n as f32);
                let point = Point {
                    up: number(path.up_bps),
                    down: number(path.down_bps),
                    rtt: number(path.rtt_ms.filter(|_| path.state == "active")),
                    loss: number(path.loss_now),
                };
                rings.add(&peer.name, &path.series, second, point);
            }
        }
    }
}

/// How long to wait after a look.
fn pause(took: Duration, answered: bool, watched: bool) -> Duration {
    // How long no answer came says nothing of the daemon's work.
    if !answered {
        return UNWATCHED;
    }
    let pause = if watched { WATCHED } else { UNWATCHED };
    pause.max(took * SHARE).saturating_sub(took)
}

/// What a daemon is that is no bond.
fn other(line: &mut Line) -> anyhow::Result<Kind> {
    match roam(line) {
        Ok(_) => Ok(Kind::Roam),
        Err(error) if kind_of(&error) == Code::Usage => Ok(Kind::Bunch),
        Err(error) => Err(error),
    }
}

fn roam(line: &mut Line) -> anyhow::Result<RoamStatus> {
    match line.ask(&Request::Roam {})? {
        Response::Roam { status } => Ok(*status),
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    }
}

fn bunch(line: &mut Line) -> anyhow::Result<BunchStatus> {
    match line.ask(&Request::Bunch {})? {
        Response::Bunch { status } => Ok(*status),
        other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
    }
}

/// An event as a page reads it.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// What is shared, whoever failed while he had it.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since 1970.
pub(super) fn wall() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_look_is_soon_followed_by_another() {
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        assert_eq!([pause(ms(5), true, true), pause(ms(5), true, false)], [ms(245), ms(995)]);
        assert_eq!(pause(s(1), true, true), s(9), "a daemon with much to tell is asked less");
        for took in [ms(1), s(5), s(10)] {
            assert_eq!([pause(took, false, true), pause(took, false, false)], [UNWATCHED; 2], "{took:?}");
        }
    }
}
