//! The loop: listens, joins, leaves.

use super::RoamArgs;
use super::listener::Listener;
use super::marks::{self, Marking, Uplink};
use super::monitor::Receiver;
use super::paths::{Seen, paths};
use super::plan::{Bounds, Candidate, Verdict, give_way, plan, shortage};
use super::radio::{Chosen, Others, is_on, networks};
use super::report::{AccessPoint, RoamStatus};
use super::rest::Resting;
use super::station::{Station, World};
use super::tunnels::MainTable;
use super::{DaemonArgs, settings, state_dir, text};
use crate::cli::LogFormat;
use crate::config;
use crate::control::protocol::{Request, Response};
use crate::control::server::{ControlHandler, Server};
use crate::daemon::Lost;
use crate::firewall::open_journal;
use crate::hooks::RoamHooks;
use crate::state::StateDir;
use anyhow::Context;
use aws_lc_rs::hmac;
use ropewalk_net::links::Follower;
use ropewalk_net::poll::{Signal, Signals, Slept};
use ropewalk_net::setup::{Journal, keep_rules};
use ropewalk_net::wifi::{
    Bss, KnownNetwork, Losses, StationInterface, Supplicant, SwitchedOn, keep_others_off, mac_text,
};
use ropewalk_net::{clock, mptcp, privileges, service, subflows};
use ropewalk_roam::choose::{Heard, choose};
use ropewalk_roam::priority::{Path, Priorities};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The loop goes round this often: two beacons.
const TICK: Duration = Duration::from_millis(200);
/// With no access point all channels are listened to this often.
const LOST: Duration = Duration::from_secs(5);
/// One whose portal stays shut for this long, as nobody logs in, or by which the page is not
/// reached, goes if another network could be joined in its place.
const SHUT: Duration = Duration::from_secs(120);
/// Access points that were left are shown for this long.
const SHOWN: Duration = Duration::from_secs(60);
/// Access points that were left, kept at most.
const MOST: usize = 64;
/// MPTCP leaves an access point after the beacons that `choose` asks for, and the station after so many times as many: to join again costs seconds, and beacons
/// are lost in bursts. The kernel may know sooner.
const GONE: u32 = 3;
/// Round trips of subflows are looked at so often: that costs a walk over all connections of the
/// machine.
const RTTS: Duration = Duration::from_secs(1);
/// It is looked so often whether rules of routing are still there.
const RULES: Duration = Duration::from_secs(1);
/// A machine that slept for so long may be elsewhere.
const SLEPT: Duration = Duration::from_secs(10);
/// What our interfaces' names begin with.
pub(super) const PREFIX: &str = "roam";

/// Runs until it is told to stop.
pub(super) fn run(args: RoamArgs, more: DaemonArgs) -> anyhow::Result<()> {
    let mut file = settings(&args)?;
    more.over(&mut file.roam);
    crate::logging::start(file.log.level.as_deref(), file.log.format.unwrap_or(LogFormat::Text))?;
    privileges::keep_secrets()?;
    privileges::check_network()?;
    let (roam, metrics) = (file.roam, more.metrics.or(file.metrics.listen));
    let dir = StateDir::open(&state_dir(&roam))?;
    let _lock = dir.lock()?;
    let mut journal = open_journal(&dir, |_| false)?;
    let chosen = Chosen::find(&roam)?;
    let (known, path) = networks(&roam, &chosen.interface.name)?;
    tracing::info!(radio = chosen.radio.name, networks = known.len(), file = %path.display(), "roaming");
    let mut signals = Signals::new().context("signals cannot be caught")?;
    keep_others_off(&mut journal, PREFIX)?;
    let has_mptcp = roam.mptcp && mptcp::is_on();
    if has_mptcp {
        mptcp::raise_limits(&mut journal, roam.most)?;
    }
    let (marking, unmarked) = marks::start(&roam, has_mptcp, &mut journal)?;
    privileges::drop_all_but_network()?;
    let main_table = MainTable::new(&mut journal)?;
    let hooks = roam.hooks.as_deref().map(|dir| RoamHooks::start(dir, &chosen.radio.name)).transpose()?;
    let receiver = Receiver::open(&roam, chosen.radio.number, &mut journal)?;
    let supplicant = Supplicant::start(&dir.path().join("wpa"))?;
    let shown = Arc::new(Mutex::new(RoamStatus::default()));
    let server = Server::start(&dir, Control(Arc::clone(&shown)))?;
    // A client of another user asks for packet times; nothing is changed by this socket.
    server.let_group_ask()?;
    if let Some(address) = metrics {
        let control = Control(Arc::clone(&shown));
        crate::metrics::serve(address, move || {
            Ok(control.answer(Request::Roam {}, rustix::process::getuid().as_raw()))
        })?;
    }
    let mut daemon = Daemon {
        files: args,
        more,
        known,
        chosen,
        journal,
        supplicant,
        follower: Follower::new()?,
        main_table,
        losses: Losses::open()?,
        stations: Vec::new(),
        candidates: Vec::new(),
        others: Others::default(),
        listener: Listener::default(),
        receiver,
        due: Due::default(),
        rules_lost: Lost::rules(),
        resting: Resting::default(),
        left: Vec::new(),
        priorities: Priorities::new(),
        marking,
        unmarked,
        has_mptcp,
        hooks,
        roam,
    };
    service::ready();
    let (began, mut slept) = (Instant::now(), Slept::from_now());
    let outcome = loop {
        let now = began.elapsed();
        if slept.take() >= SLEPT {
            daemon.wake(now);
        }
        match signals.pending().last() {
            Some(Signal::Stop) => break Ok(()),
            Some(Signal::Reload) => daemon.reload(),
            None => {}
        }
        if let Err(error) = daemon.turn(now) {
            break Err(error);
        }
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = daemon.report(now);
        std::thread::sleep(TICK);
    };
    daemon.finish();
    outcome
}

/// Answers requests: with what the loop wrote down last.
struct Control(Arc<Mutex<RoamStatus>>);

impl ControlHandler for Control {
    fn answer(&self, request: Request, _by: u32) -> Response {
        match request {
            Request::Roam {} => {
                let status = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Response::Roam { status: Box::new(status) }
            }
            Request::Status {} => Response::wrong_end("bond: ask `ropewalk roam status`"),
            _ => Response::wrong_end("bond"),
        }
    }
}

/// When it is looked again.
#[derive(Debug, Default)]
struct Due {
    scan: Duration,
    rtts: Duration,
    rules: Duration,
}

struct Daemon {
    files: RoamArgs,
    more: DaemonArgs,
    roam: config::Roam,
    known: Vec<KnownNetwork>,
    chosen: Chosen,
    journal: Journal,
    supplicant: Supplicant,
    follower: Follower,
    main_table: MainTable,
    losses: Losses,
    stations: Vec<Station>,
    /// What was heard last, and what becomes of it.
    candidates: Vec<Candidate>,
    others: Others,
    listener: Listener,
    /// What a monitor interface hears.
    receiver: Receiver,
    due: Due,
    rules_lost: Lost,
    resting: Resting,
    left: Vec<(Duration, AccessPoint)>,
    priorities: Priorities,
    marking: Option<Marking>,
    /// Why nothing is marked, where it was asked for.
    unmarked: Option<String>,
    has_mptcp: bool,
    hooks: Option<RoamHooks>,
}

impl Daemon {
    fn turn(&mut self, now: Duration) -> anyhow::Result<()> {
        anyhow::ensure!(self.supplicant.is_alive(), "wpa_supplicant has ended: see the system's log");
        let changes = self.follower.poll()?;
        self.main_table.follow(&changes, self.follower.links());
        for (index, loss) in self.losses.poll() {
            let own = self.stations.iter_mut().find(|s| s.network.index == index);
            own.into_iter().for_each(|s| s.on_loss(loss, now));
        }
        self.step(now);
        self.receiver.turn(&mut self.stations);
        self.listen(now)?;
        self.decide(now);
        self.prioritise(now);
        if let Some(hooks) = &mut self.hooks {
            hooks.access_points(self.stations.iter().filter_map(Station::joined).collect());
        }
        if now >= self.due.rules {
            self.due.rules = now + RULES;
            let meanwhile = "a station's own connections may leave by another one";
            self.rules_lost.say(keep_rules(&self.journal), meanwhile, clock::now());
        }
        Ok(())
    }

    /// The machine has slept: what was heard before counts no more, and all is listened to at once.
    /// Leases run on in sleep, and stations find by themselves that they are out.
    fn wake(&mut self, now: Duration) {
        tracing::info!("this machine has slept");
        self.candidates.clear();
        (self.resting, self.due) = (Resting::default(), Due::default());
        for station in std::mem::take(&mut self.stations) {
            // Nobody listens while it tries to join.
            match station.is_joining() {
                true => self.leave(station, "this machine has slept", false, now),
                false => self.stations.push(station),
            }
        }
    }

    /// Each station does what is due; those that cannot stay are left.
    fn step(&mut self, now: Duration) {
        let mut stays = Vec::new();
        for mut station in std::mem::take(&mut self.stations) {
            let mut world = World {
                journal: &mut self.journal,
                supplicant: &self.supplicant,
                roam: &self.roam,
                links: self.follower.links(),
                routes: self.main_table.routes(),
                mptcp: self.has_mptcp,
            };
            match station.step(&mut world, now) {
                Ok(()) => {
                    if station.is_active() {
                        self.resting.open(&station.bss.ssid);
                    }
                    stays.push(station);
                }
                Err(why) => self.leave(station, &why, true, now),
            }
        }
        self.stations = stays;
    }

    fn leave(&mut self, station: Station, why: &str, failed: bool, now: Duration) {
        let mut shown = station.report(now);
        (shown.state, shown.why, shown.for_s) = ("left".into(), why.to_owned(), 0.0);
        let (bssid, had_it) = (station.bss.bssid, station.is_active());
        self.candidates.retain(|c| c.bss.bssid != bssid);
        station.leave(&mut self.journal, Some(&self.supplicant), why);
        if self.left.len() == MOST {
            self.left.remove(0);
        }
        self.left.push((now, shown));
        self.due.scan = now;
        if failed && !had_it {
            self.resting.fail(bssid, now);
        }
    }

    /// Starts a scan when one is due, and takes what it heard.
    fn listen(&mut self, now: Duration) -> anyhow::Result<()> {
        match self.listener.poll() {
            Some(Ok(heard)) => {
                if let Err(error) = self.plan(&heard, now) {
                    tracing::warn!("what was heard is not used: {error:#}");
                }
            }
            Some(Err(error)) => tracing::warn!("{error}"),
            None => {}
        }
        if now < self.due.scan || self.listener.is_busy() {
            return Ok(());
        }
        let joined = self.stations.iter().find(|s| s.may_scan());
        let is_held = self.channel_holder(now).is_some();
        let (name, index, channel) = match (joined, self.stations.is_empty()) {
            (Some(s), _) => (s.name().to_owned(), s.network.index, is_held.then_some(s.bss.frequency_mhz)),
            // Those that are joining scan themselves.
            (None, false) => return Ok(()),
            (None, true) => {
                let i = &self.chosen.interface;
                // Another has its number when it is back: the next start finds that.
                let is_there = self.follower.links().iter().any(|link| link.index == i.index);
                anyhow::ensure!(is_there, "{} is gone, and nothing else listens", i.name);
                if !is_on(&i.name) {
                    let on = SwitchedOn { name: i.name.clone(), index: i.index };
                    if !self.listener.switch_on(&mut self.journal, on) {
                        self.due.scan = now + LOST;
                        return Ok(());
                    }
                }
                (i.name.clone(), i.index, None)
            }
        };
        let is_lost = self.stations.is_empty();
        self.due.scan = now + if is_lost { LOST } else { Duration::from_secs(self.roam.scan_every_s) };
        self.listener.start(&name, index, channel);
        Ok(())
    }

    /// A station for whose sake the channel stays the same.
    fn channel_holder(&self, now: Duration) -> Option<&Station> {
        self.stations.iter().find(|s| !s.is_shut_for(SHUT, now))
    }

    fn plan(&mut self, heard: &[Bss], now: Duration) -> anyhow::Result<()> {
        // It would take a station's place.
        self.listener.switch_off(&mut self.journal)?;
        let ours: Vec<&str> = self.stations.iter().map(Station::name).collect();
        self.others = self.chosen.others(&ours)?;
        let holder = self.channel_holder(now).map(|s| s.bss.frequency_mhz);
        // Who cannot be joined now is no reason for a channel.
        let is_shut = |bss: &Bss| holder.is_none() && self.stations.iter().any(|s| s.bss.ssid == bss.ssid);
        let heard = heard.iter().filter(|bss| !self.resting.has(bss, now) && !is_shut(bss));
        let heard: Vec<Bss> = heard.cloned().collect();
        let channel_mhz = holder.or(self.others.channel_mhz).or(self.roam.channel_mhz());
        let bounds = Bounds { limits: self.roam.limits(), channel_mhz, room: self.room() };
        self.candidates = plan(&heard, &self.known, &self.others.bssids, &bounds);
        Ok(())
    }

    /// Access points that could be joined, and are not.
    fn newcomers(&self, now: Duration) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(move |c| {
            matches!(c.verdict, Verdict::Join | Verdict::Enough | Verdict::NoRoom)
                && self.stations.iter().all(|s| s.bss.bssid != c.bss.bssid)
                && !self.resting.has(&c.bss, now)
        })
    }

    /// Stations whose portals stay shut go where other networks have no other place: other access
    /// points of the same have the same portal.
    fn give_way(&mut self, now: Duration) {
        let shut = |s: &Station| s.is_shut_for(SHUT, now);
        let own: Vec<(u32, bool)> = self.stations.iter().map(|s| (s.bss.frequency_mhz, shut(s))).collect();
        let is_other = |c: &&Candidate| !self.stations.iter().any(|s| shut(s) && s.bss.ssid == c.bss.ssid);
        let others: Vec<u32> = self.newcomers(now).filter(is_other).map(|c| c.bss.frequency_mhz).collect();
        let gone = give_way(&own, &others, (self.roam.most as usize).min(self.room()));
        if gone.is_empty() {
            return;
        }
        for (place, station) in std::mem::take(&mut self.stations).into_iter().enumerate() {
            if !gone.contains(&place) {
                self.stations.push(station);
                continue;
            }
            self.resting.shut(&station.bss, now);
            let why = station.why_it_gives_way();
            self.leave(station, why, false, now);
        }
    }

    fn room(&self) -> usize {
        self.chosen.radio.capacity.stations.saturating_sub(self.others.count) as usize
    }

    /// Who is joined, and who is left: `ropewalk_roam::choose` over those that are joined and those that were heard.
    fn decide(&mut self, now: Duration) {
        self.give_way(now);
        let mut limits = self.roam.limits();
        limits.most = limits.most.min(self.room());
        limits.beacon_loss *= GONE;
        let channel_mhz = self.stations.first().map(|s| s.bss.frequency_mhz);
        // Who takes another's place is stronger at two scans, for to join costs seconds.
        let is_full = self.stations.len() >= limits.most;
        let signal = |c: &Candidate| match is_full {
            true => self.listener.weaker_dbm(c.bss.bssid),
            false => Some(c.signal_dbm),
        };
        let newcomers: Vec<Candidate> = self
            .newcomers(now)
            .filter(|c| channel_mhz.is_none_or(|mhz| mhz == c.bss.frequency_mhz))
            .filter_map(|c| Some(Candidate { signal_dbm: signal(c)?, ..c.clone() }))
            .collect();
        let mut heard: Vec<Heard> = Vec::new();
        // One ruler for all, as for priorities.
        let by_monitor = self.stations.iter().all(|s| s.by_monitor.time.is_some());
        for (id, s) in self.stations.iter().enumerate() {
            let packet_time = if by_monitor { s.by_monitor.time } else { s.packet_time(now) };
            let (signal_dbm, missed) = (s.signal_dbm(), s.missed(now));
            heard.push(Heard { id: id as u32, signal_dbm, missed, packet_time, joined: true });
        }
        for (n, c) in newcomers.iter().enumerate() {
            let id = (self.stations.len() + n) as u32;
            heard.push(Heard { id, signal_dbm: c.signal_dbm, missed: 0, packet_time: None, joined: false });
        }
        let chosen = choose(&heard, &limits);
        let before = self.stations.len();
        for (id, station) in std::mem::take(&mut self.stations).into_iter().enumerate() {
            if chosen.contains(&(id as u32)) {
                self.stations.push(station);
            } else if heard[id].missed >= limits.beacon_loss {
                self.leave(station, &format!("{} beacons missed in a row", heard[id].missed), true, now);
            } else {
                self.leave(station, "a better one takes its place", false, now);
            }
        }
        for c in newcomers.iter().enumerate().filter(|(n, _)| chosen.contains(&((before + n) as u32))) {
            self.join(c.1, now);
        }
    }

    fn join(&mut self, c: &Candidate, now: Duration) {
        let Some(network) = c.network.and_then(|at| self.known.get(at)).cloned() else { return };
        let number = (0..).find(|n| self.stations.iter().all(|s| s.network.number != *n)).unwrap_or(0);
        let name = format!("{PREFIX}{number}");
        let mac = own_mac(&machine(), c.bss.bssid);
        let interface = StationInterface { name, radio: self.chosen.radio.number, mac };
        let mut world = World {
            journal: &mut self.journal,
            supplicant: &self.supplicant,
            roam: &self.roam,
            links: self.follower.links(),
            routes: self.main_table.routes(),
            mptcp: self.has_mptcp,
        };
        match Station::join(&mut world, interface, number, c.bss.clone(), &network, now) {
            Ok(station) => self.stations.push(station),
            Err(error) => {
                tracing::warn!(access_point = mac_text(c.bss.bssid), "not joined: {error:#}");
                self.resting.fail(c.bss.bssid, now);
            }
        }
    }

    /// Who is an MPTCP backup.
    fn prioritise(&mut self, now: Duration) {
        if !self.has_mptcp {
            return;
        }
        let is_due = now >= self.due.rtts;
        let mut busy = Vec::new();
        if is_due {
            self.due.rtts = now + RTTS;
            match subflows::all() {
                Ok(all) => {
                    self.stations.iter_mut().for_each(|s| s.set_least_rtts(&all.least_rtts));
                    busy = all.busy;
                }
                Err(error) => tracing::debug!(%error, "round trips of subflows are not known"),
            }
        }
        let active: Vec<usize> = (0..self.stations.len()).filter(|n| self.stations[*n].is_active()).collect();
        let seen: Vec<Seen> = active.iter().map(|n| self.stations[*n].seen(now)).collect();
        let paths = paths(&seen);
        if let Some(marking) = self.marking.as_mut().filter(|_| is_due) {
            let uplink = |(n, path): (&usize, &Path)| self.stations[*n].uplink(path.packet_time);
            let uplinks: Vec<Uplink> = active.iter().zip(&paths).map(uplink).collect();
            for (n, status) in active.iter().zip(marking.update(&uplinks, &busy, now)) {
                self.stations[*n].set_marks(status);
            }
        }
        let backups = self.priorities.decide(&paths, now);
        for (n, is_backup) in active.into_iter().zip(backups) {
            self.stations[n].set_backup(is_backup);
        }
    }

    /// Reads the file again. What is joined stays joined.
    fn reload(&mut self) {
        let new = settings(&self.files).and_then(|mut file| {
            self.more.over(&mut file.roam);
            let (known, _) = networks(&file.roam, &self.chosen.interface.name)?;
            Ok((file.roam, known))
        });
        match new {
            Ok((roam, known)) => {
                let names = |r: &config::Roam| (r.state.clone(), r.radio.clone(), r.interface.clone());
                let fixed =
                    |r: &config::Roam| (names(r), r.monitor.clone(), r.hooks.clone(), r.mptcp, r.marks);
                if fixed(&roam) != fixed(&self.roam) {
                    tracing::warn!(
                        "state, radio, interface, monitor, hooks, mptcp and marks are fixed while the daemon runs"
                    );
                }
                (self.roam, self.known) = (roam, known);
                self.candidates.clear();
                self.due.scan = Duration::ZERO;
                tracing::info!("the configuration was read again");
            }
            Err(error) => tracing::error!("{error:#}; the old configuration stays in force"),
        }
    }

    fn report(&mut self, now: Duration) -> RoamStatus {
        self.left.retain(|(at, _)| now.saturating_sub(*at) < SHOWN);
        let mut access_points: Vec<AccessPoint> = self.stations.iter().map(|s| s.report(now)).collect();
        let gone = self.left.iter().rev().map(|(at, shown)| {
            let for_s = now.saturating_sub(*at).as_secs_f64();
            AccessPoint { for_s, ..shown.clone() }
        });
        access_points.extend(gone);
        let (radio, capacity) = (&self.chosen.radio.name, self.chosen.radio.capacity);
        let most = self.roam.most as usize;
        let mut notes: Vec<String> =
            shortage(radio, capacity.stations, self.others.count, most).into_iter().collect();
        notes.extend(self.unmarked.clone());
        if self.roam.mptcp && !self.has_mptcp {
            notes.push("this kernel has no MPTCP, or it is switched off (sysctl net.mptcp.enabled): only a bond uses several access points at once".into());
        }
        notes.extend(self.receiver.notes());
        RoamStatus {
            version: 1,
            radio: radio.clone(),
            channel: self.stations.first().map(|s| text::channel(s.bss.frequency_mhz)),
            stations: capacity.stations,
            uptime_s: now.as_secs_f64(),
            monitor: self.receiver.report(),
            access_points,
            notes,
        }
    }

    /// Takes everything back.
    fn finish(mut self) {
        service::stopping();
        for station in std::mem::take(&mut self.stations) {
            station.leave(&mut self.journal, Some(&self.supplicant), "the daemon ends");
        }
        drop(self.supplicant);
        drop(self.receiver);
        if let Err(error) = self.journal.restore() {
            tracing::warn!("{error}; the next start tries again");
        }
        // Now that nothing is left to take back: they may take seconds, and a supervisor may kill
        // this process meanwhile.
        self.hooks.into_iter().for_each(RoamHooks::finish);
    }
}

/// What tells this machine from others, and is told to nobody (machine-id(5)).
fn machine() -> Vec<u8> {
    let read = |path: &str| std::fs::read(path).ok().filter(|id| id.len() >= 32);
    read("/etc/machine-id").or_else(|| read("/proc/sys/kernel/random/boot_id")).unwrap_or_default()
}

/// An address for the station of an access point: the same each time, so that DHCP servers know it again, and another for each, since switches behind access
/// points of one network would take two stations with one address for one that moves to and fro (trap T-17).
fn own_mac(machine: &[u8], bssid: [u8; 6]) -> [u8; 6] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, machine);
    let text = [&b"ropewalk roam: station of "[..], &bssid].concat();
    let tag = hmac::sign(&key, &text);
    let mut mac = [0; 6];
    mac.copy_from_slice(&tag.as_ref()[..6]);
    // Locally administered, and of one station (IEEE 802-2014 §8.2).
    mac[0] = mac[0] & 0xfc | 2;
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_point_has_an_address_of_its_own_that_stays() {
        let of = |machine: &[u8], last| own_mac(machine, [2, 0, 0, 0, 0, last]);
        let all: Vec<_> = (0..=255).map(|last| of(b"one", last)).collect();
        assert!(all.iter().all(|mac| mac[0] & 3 == 2));
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), 256);
        assert_eq!(of(b"one", 7), all[7]);
        assert_ne!(of(b"two", 7), all[7]);
    }
}
