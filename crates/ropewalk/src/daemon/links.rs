//! What the links under the paths say of themselves: kept for status, and told to the engine where it decides by it.
//!
//! Without need for it each link is read once a second. Under a scheduler that lives on completions it is read every millisecond or two, or when it has news.

use super::sockets::{self, Sockets};
use crate::report::link::Link;
use ropewalk_bond::api::Input;
use ropewalk_bond::engine::Engine;
use ropewalk_bond::feedback::LinkState;
use ropewalk_bond::path::Route;
use ropewalk_net::feedback::{Completions, Events, LinkFeedback, LinkReport, Source, open};
use ropewalk_net::links::neighbour;
use ropewalk_net::poll::{Interest, Poller};
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};
use std::net::SocketAddr;

/// Between two readings where nobody waits for them.
const LEISURELY: Duration = Duration::from_secs(1);
/// Where the scheduler does.
const EAGER: Duration = Duration::from_millis(1);
/// Bits for the epochs of one watched path.
const EPOCHS: u32 = 16;
/// An interface without a source may get one: a queueing discipline, or a lab's radio.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// The link under one path.
struct MonitoredLink {
    /// The path's socket and its other end, which name it.
    socket: u32,
    remote: SocketAddr,
    /// Whose path, at a gateway.
    peer: Option<PublicKey>,
    /// The engine's number.
    path: u8,
    interface: String,
    /// For the poller.
    token: u64,
    source: Option<Box<dyn LinkFeedback>>,
    report: Option<LinkReport>,
    /// The station that is the peer, where one is known to be: an access point has others besides.
    station: Option<[u8; 6]>,
    /// When it is looked for again.
    look: Time,
    /// The engine's epoch: another with each source, with each epoch of a source, with each station, and with each link under a path whose address changes.
    epoch: u32,
    due: Time,
}

/// The links under all paths.
pub(crate) struct Links {
    all: Vec<MonitoredLink>,
    eager: bool,
    next_token: u64,
}

impl Links {
    /// None yet. `eager`: the engine decides by what links say.
    pub(crate) fn new(eager: bool) -> Links {
        Links { all: Vec::new(), eager, next_token: 0 }
    }

    /// What the link under a path said last.
    pub(crate) fn of(&self, route: &Route) -> Option<Link> {
        let under = self.all.iter().find(|u| u.leads(route))?;
        Some(Link::new(under.source.as_ref()?.source(), under.report.as_ref()?))
    }

    /// Whether the engine decides by what links say.
    pub(crate) fn is_eager(&self) -> bool {
        self.eager
    }

    /// Whether a path is watched.
    pub(crate) fn knows(&self, route: &Route) -> bool {
        self.all.iter().any(|u| u.leads(route))
    }

    /// Forgets the paths that are not among these.
    pub(crate) fn keep(&mut self, routes: &[Route]) {
        self.all.retain(|u| routes.iter().any(|r| u.leads(r)));
    }

    /// From now on there is a path by this interface.
    pub(crate) fn watch(
        &mut self,
        route: &Route,
        (peer, path): (Option<PublicKey>, u8),
        interface: &str,
        now: Time,
    ) {
        self.forget(route);
        let token = self.next_token;
        self.next_token += 1;
        self.all.push(MonitoredLink {
            socket: route.link,
            remote: route.remote,
            peer,
            path,
            interface: interface.to_owned(),
            token,
            source: None,
            report: None,
            station: None,
            look: now,
            epoch: (token as u32) << EPOCHS,
            due: now,
        });
    }

    /// The path is gone.
    pub(crate) fn forget(&mut self, route: &Route) {
        self.all.retain(|u| !u.leads(route));
    }

    /// All paths of a socket are gone.
    pub(crate) fn forget_socket(&mut self, socket: u32) {
        self.all.retain(|u| u.socket != socket);
    }

    /// When [`Links::read`] is due.
    pub(crate) fn due(&self) -> Time {
        self.all.iter().map(|u| u.due).min().unwrap_or(Time::NEVER)
    }

    /// Reads what is due. News comes by `poller`, under the numbers from `first` on. `sockets` are given where each belongs to one path: a Wi-Fi driver
    /// may tell them of their own datagrams.
    pub(crate) fn read(
        &mut self,
        engine: &mut Engine,
        mut sockets: Option<&mut Sockets>,
        (poller, first): (&Poller, u64),
        now: Time,
    ) {
        let eager = self.eager;
        for under in self.all.iter_mut().filter(|u| u.due <= now) {
            if under.source.is_none() {
                let socket = sockets.as_mut().and_then(|all| all.get_mut(under.socket)).filter(|_| eager);
                under.open(eager, socket, (poller, first), now);
            }
            under.read(eager, engine, now);
        }
    }

    /// The source with this number has news.
    pub(crate) fn on_news(&mut self, token: u64, engine: &mut Engine, now: Time) {
        let eager = self.eager;
        self.all.iter_mut().filter(|u| u.token == token).for_each(|u| u.read(eager, engine, now));
    }
}

/// Lets a Wi-Fi driver tell a socket what became of its own datagrams, where it can.
fn with_completions(
    base: Box<dyn LinkFeedback>,
    socket: Option<&mut sockets::Link>,
) -> Box<dyn LinkFeedback> {
    let Some(link) = socket.filter(|_| base.source() == Source::Nl80211) else { return base };
    match link.socket.count_completions() {
        Ok(counter) => Box::new(Completions::over(base, counter)),
        Err(error) => {
            tracing::info!(link = link.name, "{error}; the driver's station statistics are used");
            base
        }
    }
}

impl MonitoredLink {
    fn leads(&self, route: &Route) -> bool {
        (self.socket, self.remote) == (route.link, route.remote)
    }

    fn open(
        &mut self,
        eager: bool,
        socket: Option<&mut sockets::Link>,
        (poller, first): (&Poller, u64),
        now: Time,
    ) {
        let every = if eager { EAGER } else { LEISURELY };
        match open(&self.interface, every) {
            Ok(opened) => {
                tracing::debug!(interface = self.interface, source = %opened.feedback.source(), "link feedback");
                // Without news by the poller it is read by the clock all the same.
                if let (true, Events::Readable(fd)) = (eager, opened.feedback.events()) {
                    let _ = poller.add(fd, first + self.token, Interest::Read);
                }
                self.source = Some(with_completions(opened.feedback, socket));
                self.report = None;
            }
            Err(error) => {
                tracing::debug!("{error}");
                self.due = now + TRY_AGAIN;
            }
        }
    }

    /// Which of the stations on its interface a peer is: what the others are sent is no completion of its path. Asked once a second, for a repeater may get another
    /// radio under the same address.
    fn find_station(&mut self, report: &LinkReport, now: Time) {
        let mut found = None;
        if self.peer.is_some() && now >= self.look {
            self.look = now + LEISURELY;
            found = neighbour(&self.interface, self.remote.ip()).ok().flatten();
        }
        let mac = station(report, self.station, found);
        if std::mem::replace(&mut self.station, mac) != mac {
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    fn read(&mut self, eager: bool, engine: &mut Engine, now: Time) {
        let Some(source) = &mut self.source else { return };
        let report = match source.read() {
            Ok(report) => report,
            Err(error) => {
                tracing::debug!(interface = self.interface, "{error}");
                (self.source, self.report, self.due) = (None, None, now + LEISURELY);
                return;
            }
        };
        let again = match source.events() {
            Events::Every(every) => every,
            Events::Readable(_) => LEISURELY,
        };
        self.due = now + again.max(if eager { EAGER } else { LEISURELY });
        if self.report.as_ref().is_none_or(|old| old.epoch != report.epoch) {
            self.epoch = self.epoch.wrapping_add(1);
        }
        if eager {
            self.find_station(&report, now);
            let state = match report.stations.iter().find(|s| Some(s.mac) == self.station) {
                Some(station) => station.state(self.epoch),
                None => LinkState { epoch: self.epoch, ..report.state() },
            };
            engine.handle(Input::Link { peer: self.peer, path: self.path, state }, now);
        }
        self.report = Some(report);
    }
}

/// Of a link's stations the one that was just found to be the peer, else the one that was known to be; the counters of one that has left ended with it.
fn station(report: &LinkReport, known: Option<[u8; 6]>, found: Option<[u8; 6]>) -> Option<[u8; 6]> {
    let is_here = |mac: &[u8; 6]| report.stations.iter().any(|s| s.mac == *mac);
    found.filter(is_here).or_else(|| known.filter(is_here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::feedback::Station;

    #[test]
    fn a_peer_is_one_of_the_stations_or_none() {
        let mac = |n| [2, 0, 0, 0, 0, n];
        let stations = [1, 2].map(|n| Station { mac: mac(n), ..Station::default() }).to_vec();
        let report = LinkReport { stations, ..LinkReport::default() };
        assert_eq!(station(&report, None, None), None);
        assert_eq!(station(&report, None, Some(mac(2))), Some(mac(2)));
        assert_eq!(
            station(&report, Some(mac(1)), None),
            Some(mac(1)),
            "not asked, or forgotten by the kernel"
        );
        assert_eq!(
            station(&report, Some(mac(1)), Some(mac(2))),
            Some(mac(2)),
            "another radio, the same address"
        );
        assert_eq!(station(&report, Some(mac(1)), Some(mac(9))), Some(mac(1)), "it is about to join");
        assert_eq!(station(&report, Some(mac(9)), None), None, "it has left");
    }

    #[test]
    fn another_link_under_a_path_is_another_epoch() {
        let mut links = Links::new(true);
        let route = |port| Route { link: 1, remote: ([10, 0, 0, 1], port).into(), local: None };
        let mut epochs: Vec<u32> = (1..=3)
            .map(|port| {
                links.keep(&[]);
                links.watch(&route(port), (None, 0), "wlan0", Time::ZERO);
                links.all[0].epoch
            })
            .collect();
        epochs.dedup();
        assert_eq!(epochs.len(), 3);
    }
}
