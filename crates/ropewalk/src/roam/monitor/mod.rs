//! What a monitor interface hears of the access points that are joined: their packet times by the
//! paper's estimator, beside those of the driver.
//!
//! | file | what |
//! |---|---|
//! | `link_stats` | frames to packet times, and whether to believe them; no socket |
//! | here | the interface, the thread that listens, and what the loop asks it |

mod link_stats;

pub(super) use link_stats::{Measured, StationCounts};

use super::report::MonitorStatus;
use super::station::Station;
use crate::config;
use anyhow::Context;
use link_stats::{LinkStats, Watched};
use ropewalk_net::monitor::{Batch, Link, Monitor};
use ropewalk_net::setup::{Change, Journal};
use ropewalk_net::wifi::{self, MonitorInterface};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The setting that makes an interface of our own.
const AUTO: &str = "auto";
/// Its name: NetworkManager is told to keep off it, as off the stations.
const OWN: &str = "roam-mon";
/// The thread looks up so often, whatever comes: for other links, and for the end.
const WAIT: Duration = Duration::from_millis(100);
/// An interface that went away is looked for so often.
const AGAIN: Duration = Duration::from_secs(5);

/// The receiver of the daemon; it hears nothing where no monitor is set.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    listening: Option<Listening>,
    watched: Vec<Watched>,
    trouble: Option<String>,
}

#[derive(Debug)]
struct Listening {
    interface: String,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What thread and loop have together.
#[derive(Debug)]
struct Shared {
    began: Instant,
    ends: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stats: LinkStats,
    /// The links are others than those of the filter.
    is_new: bool,
    /// Frames that the kernel dropped because the thread was slow.
    dropped: u64,
    /// Why nothing can be heard.
    trouble: Option<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receiver {
    /// Listens as the settings say. Where an interface of our own cannot be made, `status` says
    /// so, and nothing is heard.
    ///
    /// # Errors
    /// The interface that was named is not there, or is no monitor.
    pub(super) fn open(roam: &config::Roam, radio: u32, journal: &mut Journal) -> anyhow::Result<Receiver> {
        match roam.monitor.as_deref() {
            None => Ok(Receiver::default()),
            Some(AUTO) => match make(radio, journal) {
                Ok(monitor) => Receiver::start(OWN, monitor),
                Err(error) => {
                    let why = format!("no monitor interface could be made: {error:#}");
                    tracing::warn!("{why}");
                    Ok(Receiver { trouble: Some(why), ..Receiver::default() })
                }
            },
            Some(name) => Receiver::start(name, Monitor::of_links(name, &[])?),
        }
    }

    fn start(interface: &str, monitor: Monitor) -> anyhow::Result<Receiver> {
        let shared = Arc::new(Shared {
            began: Instant::now(),
            ends: AtomicBool::new(false),
            state: Mutex::new(State::default()),
        });
        let mut thread = Thread {
            interface: interface.to_owned(),
            monitor: Some(monitor),
            batch: Batch::default(),
            dropped: 0,
            due: Instant::now(),
            shared: Arc::clone(&shared),
        };
        let work = move || {
            while !thread.shared.ends.load(Ordering::Relaxed) {
                thread.turn();
            }
        };
        let thread = std::thread::Builder::new().name("monitor".into()).spawn(work);
        let thread = Some(thread.context("a thread cannot be started")?);
        let listening = Listening { interface: interface.to_owned(), shared, thread };
        Ok(Receiver { listening: Some(listening), ..Receiver::default() })
    }

    /// Tells each station what was heard of its access point.
    pub(super) fn turn(&mut self, stations: &mut [Station]) {
        let Some(listening) = &self.listening else { return };
        let now = listening.shared.began.elapsed();
        let links: Vec<Link> = stations.iter().map(Station::link).collect();
        let mut state = listening.shared.lock();
        state.is_new |= state.stats.watch(&links);
        self.trouble.clone_from(&state.trouble);
        self.watched.retain(|w| links.contains(&w.link));
        for (station, link) in stations.iter_mut().zip(links) {
            let at = self.watched.iter().position(|w| w.link == link).unwrap_or_else(|| {
                self.watched.push(Watched::new(link, station.name()));
                self.watched.len() - 1
            });
            let measured = self.watched[at].update(&mut state.stats, station.counts(), now);
            station.by_monitor = match self.trouble {
                None => measured,
                Some(_) => Measured { time: None, ..measured },
            };
        }
    }

    /// What does not work.
    pub(super) fn notes(&self) -> Vec<String> {
        let so = "packet times are the driver's";
        let Some(listening) = &self.listening else {
            return self.trouble.iter().map(|why| format!("{why}; {so}")).collect();
        };
        if let Some(why) = &self.trouble {
            return vec![format!("the monitor {} does not hear: {why}; {so}", listening.interface)];
        }
        let notes = self.watched.iter().filter_map(Watched::note);
        notes.map(|why| format!("{why} ({}); {so}", listening.interface)).collect()
    }

    /// The interface and its counts.
    pub(super) fn report(&self) -> Option<MonitorStatus> {
        let listening = self.listening.as_ref()?;
        let state = listening.shared.lock();
        Some(MonitorStatus {
            interface: listening.interface.clone(),
            frames: state.stats.all(),
            dropped_frames: state.dropped,
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes an interface on this radio that the journal takes back, switches it on and listens.
fn make(radio: u32, journal: &mut Journal) -> anyhow::Result<Monitor> {
    let change = Change::MonitorInterface(MonitorInterface { name: OWN.into(), radio });
    journal.make(change.clone())?;
    let opened = switch_on().and_then(|()| Ok(Monitor::of_links(OWN, &[])?));
    if opened.is_err() {
        journal.undo(&change)?;
    }
    opened
}

fn switch_on() -> anyhow::Result<()> {
    let all = wifi::interfaces()?;
    let own = all.iter().find(|i| i.name == OWN).context("it is gone again")?;
    Ok(wifi::link_up(OWN, own.index, true)?)
}

/// What the thread has for itself.
struct Thread {
    interface: String,
    /// None: the interface went away.
    monitor: Option<Monitor>,
    batch: Batch,
    /// By sockets of before.
    dropped: u64,
    /// When the socket is opened again, or the kernel's counts are read.
    due: Instant,
    shared: Arc<Shared>,
}

impl Thread {
    /// Takes at most one batch.
    fn turn(&mut self) {
        let Some(monitor) = &mut self.monitor else { return self.open_again() };
        let links = {
            let mut state = self.shared.lock();
            std::mem::take(&mut state.is_new).then(|| state.stats.links())
        };
        if let Some(links) = links
            && let Err(error) = monitor.watch(&links)
        {
            return self.lose(error.to_string());
        }
        match monitor.wait(WAIT).and_then(|()| monitor.receive(&mut self.batch)) {
            Ok(_) => {
                let mut state = self.shared.lock();
                let now = self.shared.began.elapsed();
                self.batch.frames().for_each(|frame| state.stats.take(frame, now));
                if state.trouble.take().is_some() {
                    tracing::info!(interface = self.interface, "the monitor is there again");
                }
            }
            Err(error) => return self.lose(error.to_string()),
        }
        if Instant::now() >= self.due {
            self.due = Instant::now() + Duration::from_secs(1);
            let dropped = self.dropped + monitor.statistics().dropped;
            self.shared.lock().dropped = dropped;
        }
    }

    fn lose(&mut self, why: String) {
        let mut state = self.shared.lock();
        // Logged once, however often it is looked for.
        if state.trouble.is_none() {
            tracing::warn!(interface = self.interface, why, "the monitor does not hear");
        }
        (self.dropped, state.trouble) = (state.dropped, Some(why));
        (self.monitor, self.due) = (None, Instant::now() + AGAIN);
    }

    fn open_again(&mut self) {
        std::thread::sleep(WAIT);
        if Instant::now() < self.due {
            return;
        }
        let links = self.shared.lock().stats.links();
        let opened = Monitor::of_links(&self.interface, &links);
        self.due = Instant::now() + AGAIN;
        let mut state = self.shared.lock();
        match opened {
            Ok(monitor) => {
                // Other links may have come since. An interface that is off fails when it is read.
                state.is_new = true;
                self.monitor = Some(monitor);
            }
            Err(error) => state.trouble = Some(error.to_string()),
        }
    }
}
