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
/// One daemon's start, as its numbers give it, differs by no more than this, seconds.
const ROUNDED: f64 = 0.01;

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

/// How long a daemon has been running, seconds, and since when on its clock, where it tells its clock.
#[derive(Clone, Copy, Debug)]
struct Ran {
    uptime_s: f64,
    since: Option<f64>,
}

/// Who looks.
pub(super) struct Feed {
    shared: Arc<Shared>,
    line: Option<Line>,
    looks: Looks,
    /// The daemon answers no more.
    gone: bool,
    /// What the daemon is, and whether that is known.
    kind: Kind,
    known: bool,
    /// The one that answered last, which may not be the one that answers now.
    ran: Option<Ran>,
    states: States,
    /// The second that was published and put into the rings last.
    second: u64,
}

impl Feed {
    /// Opens the conversation; fails where no daemon runs.
    pub(super) fn open(shared: Arc<Shared>) -> anyhow::Result<Feed> {
        let line = Some(Line::open(&shared.dir)?);
        let (looks, states, kind) = (Looks::default(), Vec::new(), Kind::Bond);
        let mut feed =
            Feed { shared, line, looks, gone: false, kind, known: false, ran: None, states, second: 0 };
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
                self.has_run(status.uptime_s, None, at);
                let events = self.shared.walk().events(&status, at);
                self.shared.timeline().tell(events);
                return Ok(View::of_roam(status, at));
            }
            Kind::Bunch => {
                let (status, at) = (bunch(line)?, wall());
                let (BunchStatus::Gateway(GatewayStatus { uptime_s, .. })
                | BunchStatus::Ap(ApStatus { uptime_s, .. })) = &status;
                self.has_run(*uptime_s, None, at);
                let mut members = self.shared.members();
                self.shared.timeline().tell(members.events(&status, at));
                return Ok(View::of_bunch(members.view(status), at));
            }
        }
        let now = match snapshot(line) {
            // Whoever is no bond refuses to be asked for one.
            Err(error) if !self.known && kind_of(&error) == Code::Usage => {
                self.kind = other(line)?;
                return self.look();
            }
            other => other?,
        };
        let at = wall();
        self.has_run(now.uptime_s, Some(now.clock_ns), at);
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

    /// Takes how long the daemon has been running, and its clock: it may be another one than before.
    fn has_run(&mut self, uptime_s: f64, clock_ns: Option<u64>, at: f64) {
        let ran = Ran { uptime_s, since: clock_ns.map(|ns| ns as f64 / 1e9 - uptime_s) };
        if self.ran.is_some_and(|before| ran.is_another(before)) {
            self.shared.timeline().daemon_ended(at, "the daemon started again");
            self.forget_states();
        }
        (self.known, self.ran) = (true, Some(ran));
    }

    /// What is known by comparing is not compared over a silence.
    fn forget_states(&self) {
        self.shared.walk().daemon_ended();
        self.shared.members().daemon_ended();
    }

    /// Publishes a view if a second has passed or a state has changed.
    fn take(&mut self, view: View) {
        if std::mem::take(&mut self.gone) {
            self.shared.timeline().daemon_answers();
        }
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
        (self.line, self.kind, self.known) = (None, Kind::Bond, false);
        let at = wall();
        // It may be the same one that answers next: what it has told is kept.
        if !std::mem::replace(&mut self.gone, true) {
            self.shared.timeline().daemon_silent(at, "the daemon does not answer");
            self.forget_states();
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

impl Ran {
    /// This is not the daemon that answered `before`, though it may be older than that one was.
    fn is_another(self, before: Ran) -> bool {
        let started = self.since.zip(before.since);
        self.uptime_s < before.uptime_s || started.is_some_and(|(now, then)| (now - then).abs() > ROUNDED)
    }
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
    use crate::control::server::{ControlHandler, Server};
    use crate::report::Snapshot;
    use crate::report::history::{History, What};
    use crate::state::tests::Scratch;
    use ropewalk_time::Time;

    /// A client that is connected: for how long it has been running, and its clock, seconds.
    struct Runs(Arc<Mutex<(f64, u64)>>);

    impl ControlHandler for Runs {
        fn answer(&self, request: Request, _: u32) -> Response {
            let mut history = History::default();
            history.note(Time::ZERO, What::Connected {});
            match request {
                Request::History { since } => history.since(since, Time::ZERO),
                _ => {
                    let (uptime_s, clock_s) = *lock(&self.0);
                    let (role, clock_ns) = ("client".into(), clock_s * 1_000_000_000);
                    let status = Snapshot { role, uptime_s, clock_ns, ..Snapshot::default() };
                    Response::Status { status: Box::new(status) }
                }
            }
        }
    }

    #[test]
    fn what_a_daemon_told_before_a_silence_is_not_told_again() {
        let (scratch, runs) = (Scratch::new(), Arc::new(Mutex::new((100.0, 1000))));
        let _server = Server::start(&scratch.0, Runs(Arc::clone(&runs))).unwrap();
        let mut feed = Feed::open(Shared::new(scratch.0.clone())).unwrap();
        let mut texts = |uptime_s: f64, clock_s: u64| {
            feed.lose(&anyhow::anyhow!("as the test has it"));
            *lock(&runs) = (uptime_s, clock_s);
            let view = feed.look().unwrap();
            feed.take(view);
            let timeline = feed.shared.timeline();
            let mut texts: Vec<String> = timeline.entries().iter().map(|e| e.text.clone()).collect();
            texts.sort();
            texts
        };
        let (silent, again) = ("the daemon does not answer", "the daemon started again");
        assert_eq!(texts(160.0, 1060), ["connected", silent]);
        // Another one, which is older than that one was; its events have the same numbers.
        assert_eq!(texts(200.0, 1300), ["connected", "connected", silent, silent, again]);
    }

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
