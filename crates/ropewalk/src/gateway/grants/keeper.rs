//! Keeps what is granted in force: writes it down, and hands it to the firewall as clients come,
//! change and go.
//!
//! None of it happens on the data loop: programs are run, which takes milliseconds. The loop says
//! that something may have changed, and a thread looks.

use super::exits::{Inside, lacking, notes};
use super::host::{interfaces, listening};
use super::shared::{FILE as FLEET_FILE, View};
use super::{Change, Circumstances, FILE, Grants};
use crate::config::BitRate;
use crate::control::protocol::Request;
use crate::daemon::Outbox;
use crate::exit::{Code, failure};
use crate::firewall::SharedJournal;
use crate::gateway::SharedClients;
use crate::report::grants::Granted;
use crate::state::StateDir;
use crate::state::clients::KnownClient;
use anyhow::Context;
use ipnet::{IpNet, Ipv6Net};
use ropewalk_net::nat;
use ropewalk_net::setup::{self, Protocol, find_ways, grant, leave_by};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often it is tried again to do what was refused.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// How often it is looked where exits lead, and tried again to write a file on a full disk.
const LOOK: Duration = Duration::from_secs(1);

/// What is granted by a running gateway.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    /// Wakes the thread; one wish is as good as many.
    wake: SyncSender<()>,
}

/// What does not change while the gateway runs.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// The bond's device, without which nothing can be granted; its networks.
    pub device: Option<(String, Vec<IpNet>)>,
    /// Ports of the gateway's own.
    pub own: BTreeSet<(Protocol, u16)>,
    /// Every client reaches every other.
    pub all_joined: bool,
    /// Its clients are a fleet's.
    pub in_fleet: bool,
    /// For IPv4 and IPv6: this machine forwards only for what is granted.
    pub closed: [bool; 2],
    /// The clients' network whose addresses the world sees.
    pub global: Option<Ipv6Net>,
    /// What goes to all clients together at most: they share it.
    pub down_rate: Option<BitRate>,
}

impl Machine {
    /// A gateway whose clients are granted nothing.
    pub(crate) fn that_grants_nothing() -> Machine {
        Machine::default()
    }
}

#[derive(Debug)]
struct Shared {
    dir: StateDir,
    journal: SharedJournal,
    clients: SharedClients,
    loop_: Outbox,
    gateway: Machine,
    state: Mutex<State>,
    /// The firewall may not be as it was left: all is to be put in force again.
    anew: AtomicBool,
    /// Clients that share the line may have come or gone.
    moved: AtomicBool,
    /// What there is to say, for whoever must not wait for `nft`.
    notes: Mutex<Notes>,
    /// What each client is granted, for the same.
    told: Mutex<Arc<BTreeMap<String, Granted>>>,
}

/// What does not work now.
#[derive(Debug, Default)]
struct Notes {
    /// Why what is granted is not in force.
    refused: Option<String>,
    /// Exits that lead nowhere.
    ways: Vec<String>,
    /// Ports that lead to no client here.
    ports: Vec<String>,
}

#[derive(Debug, Default)]
struct State {
    grants: Grants,
    /// In a fleet: to whom.
    view: View,
    /// In a fleet: ports of clients here at which a program of this machine listens.
    blocked: BTreeSet<(Protocol, u16)>,
    /// Exits that lead nowhere.
    lacking: Vec<String>,
    /// What is in force.
    stands: Option<setup::Grants>,
    /// Which exits are, if that is known.
    exits: Option<setup::Exits>,
    /// Those before, where others could not be put in force yet: what is left of them goes then.
    exits_before: Option<setup::Exits>,
    /// The file is older: the disk was full.
    is_unwritten: bool,
    /// When the firewall or the kernel refused: it is tried again.
    refused: Option<Instant>,
}

impl State {
    /// It counts who has which address: another that comes may be a client with an exit.
    fn waits(&self) -> bool {
        self.exits.as_ref().is_some_and(|exits| exits.known.is_some())
    }
}

impl Keeper {
    /// Puts in force what was granted before.
    ///
    /// # Errors
    /// The file is damaged. What the firewall refuses is said in the log: the gateway runs, and
    /// grants nothing.
    pub(crate) fn start(
        dir: &StateDir,
        journal: &SharedJournal,
        clients: SharedClients,
        loop_: Outbox,
        gateway: Machine,
    ) -> anyhow::Result<Keeper> {
        let file = if gateway.in_fleet { FLEET_FILE } else { FILE };
        let grants: Grants = dir.read_json(file)?.unwrap_or_default();
        for f in grants.forwards.iter().filter(|f| gateway.own.contains(&(f.protocol, f.port.get()))) {
            tracing::warn!(
                client = f.client,
                "{} port {} is this gateway's own now: it leads to no client",
                f.protocol.name(),
                f.port
            );
        }
        if gateway.down_rate.is_none() && grants.limits.values().any(|limit| limit.share.is_some()) {
            tracing::warn!("clients have shares, which count only with --down-rate");
        }
        let state = Mutex::new(State { grants, ..State::default() });
        let (dir, journal) = (dir.clone(), Arc::clone(journal));
        let (anew, moved, notes, told) = Default::default();
        let shared =
            Arc::new(Shared { dir, journal, clients, loop_, gateway, state, anew, moved, notes, told });
        let (wake, wishes) = sync_channel(1);
        shared.enforce(&mut shared.lock(), false, |loop_, on| loop_.tell(Request::JoinClients { on }));
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("grants".into());
        thread.spawn(move || work(&theirs, &wishes)).context("a thread cannot be started")?;
        Ok(Keeper { shared, wake })
    }

    /// A client came in: it may have addresses that it had not before. For the data loop.
    pub(crate) fn came(&self, client: &str) {
        // A conversation may hold the lock while it runs `nft`: then rather look once too often.
        let concerned = self.shared.state.try_lock().map_or(true, |s| s.grants.concerns(client) || s.waits());
        if concerned {
            let _ = self.wake.try_send(());
        } else if self.shared.gateway.down_rate.is_some() {
            // Many may come at once: the line is divided anew once a second.
            self.shared.moved.store(true, Relaxed);
        }
    }

    /// A client has gone: what it is granted in a fleet goes with it. For the data loop.
    pub(crate) fn went(&self, client: &str) {
        if self.shared.gateway.in_fleet {
            self.came(client);
        }
    }

    /// Somebody may have changed the firewall: all is to be put in force again. For the data loop.
    pub(crate) fn again(&self) {
        self.shared.anew.store(true, Relaxed);
        let _ = self.wake.try_send(());
    }

    /// What of it does not work now. For the data loop.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.shared.notes();
        notes.refused.iter().chain(&notes.ways).chain(&notes.ports).cloned().collect()
    }

    /// What each client is granted. For the data loop.
    pub(crate) fn granted_to(&self) -> Arc<BTreeMap<String, Granted>> {
        Arc::clone(&self.shared.told())
    }

    /// What is granted.
    pub(crate) fn granted(&self) -> Grants {
        match self.shared.clients.grants(None) {
            Some(fleet) => Grants::of_fleet(&fleet.grants),
            None => self.shared.lock().grants.clone(),
        }
    }

    /// Changes what is granted, for good: first on the disk, then in force.
    pub(crate) fn change(&self, change: Change) -> anyhow::Result<String> {
        let shared = &*self.shared;
        if shared.gateway.device.is_none() {
            return Err(failure(
                Code::Usage,
                "a bunch, and a backhaul on layer 2, grant nothing to their clients",
            ));
        }
        let mut here = Circumstances {
            clients: Vec::new(),
            taken: shared.gateway.own.iter().copied().chain(listening()).collect(),
            all_joined: shared.gateway.all_joined,
            device: shared.gateway.device.iter().map(|(name, _)| name.clone()).collect(),
            interfaces: interfaces(),
            // In a fleet another gateway may let them.
            lets_nobody_out: shared.gateway.closed == [true; 2] && !shared.gateway.in_fleet,
            has_no_global6: shared.gateway.global.is_none(),
            has_no_down_rate: shared.gateway.down_rate.is_none() && !shared.gateway.in_fleet,
        };
        if shared.gateway.in_fleet {
            return shared.change_in_fleet(change, here);
        }
        let mut state = shared.lock();
        // Who is revoked from here on waits for the lock, to lose also what is granted now.
        here.clients = shared.clients.known();
        let before = state.grants.clone();
        let said = state.grants.change(change, &here)?;
        let done = shared.write(&mut state).and_then(|()| shared.put(&mut state, false, ask));
        if let Err(error) = done {
            // What was in force before is again, as far as it can be.
            state.grants = before;
            let _ = shared.write(&mut state);
            shared.enforce(&mut state, true, ask);
            return Err(error);
        }
        Ok(said)
    }

    /// Takes all that a client was granted: it is revoked, or its name is another's now.
    pub(crate) fn forget(&self, client: &str) -> anyhow::Result<()> {
        if self.shared.gateway.in_fleet {
            // It went from the store with its client, and the copy of that says so soon.
            let _ = self.wake.try_send(());
            return Ok(());
        }
        let mut state = self.shared.lock();
        let had = state.grants.forget(client);
        self.shared.moved.store(true, Relaxed);
        if !had && !state.is_unwritten && !state.waits() {
            return Ok(());
        }
        // In force first: it counts even where the disk is full.
        let put = self.shared.put(&mut state, false, ask);
        self.shared.write(&mut state).and(put)
    }
}

/// On a thread of its own: the loop is asked, and answers.
fn ask(loop_: &Outbox, on: bool) {
    if let Err(error) = loop_.ask(Request::JoinClients { on }) {
        tracing::debug!("{error:#}");
    }
}

fn work(shared: &Shared, wishes: &Receiver<()>) {
    let (mut enforced, mut looked) = (None::<Instant>, Instant::now());
    loop {
        match wishes.recv_timeout(LOOK.saturating_sub(looked.elapsed())) {
            Ok(()) => {
                // At most once a second, however often clients come and go.
                std::thread::sleep(enforced.map_or(Duration::ZERO, |at| LOOK.saturating_sub(at.elapsed())));
                enforced = Some(Instant::now());
                let anew = shared.anew.swap(false, Relaxed);
                shared.enforce(&mut shared.lock(), anew, ask);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            look(shared);
        }
    }
}

/// What is due each second, whether clients come and go or not.
fn look(shared: &Shared) {
    let mut state = shared.lock();
    if state.is_unwritten {
        let _ = shared.write(&mut state);
    }
    if state.refused.is_some_and(|at| at.elapsed() >= TRY_AGAIN) {
        shared.enforce(&mut state, true, ask);
        return;
    }
    let moved = shared.moved.swap(false, Relaxed);
    if moved || (shared.gateway.in_fleet && shared.is_other(&state)) {
        shared.enforce(&mut state, false, ask);
    }
    // It is noted, and looked again.
    let _ = shared.look_for_ways(&mut state);
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, Arc<BTreeMap<String, Granted>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut State) -> anyhow::Result<()> {
        let file = if self.gateway.in_fleet { FLEET_FILE } else { FILE };
        let written = self.dir.write_json(file, &state.grants);
        state.is_unwritten = written.is_err();
        written
    }

    /// As [`Shared::put`], where nobody waits for the outcome. What is refused again and again is
    /// said once.
    fn enforce(&self, state: &mut State, anew: bool, tell: impl Fn(&Outbox, bool)) {
        let before = self.notes().refused.clone();
        let _ = self.put(state, anew, tell);
        if let Some(note) = self.notes().refused.as_ref().filter(|note| before.as_ref() != Some(note)) {
            tracing::error!("{note}");
        }
    }

    /// Puts what is granted in force, where it is not, or `anew`. The engine joins clients only
    /// while the firewall says which.
    fn put(&self, state: &mut State, anew: bool, tell: impl Fn(&Outbox, bool)) -> anyhow::Result<()> {
        if self.gateway.in_fleet {
            self.follow(state);
        }
        *self.told() = Arc::new(state.grants.by_client());
        // Each is in force though the other may not be.
        let exits = self.translate(anew).and_then(|()| self.put_exits(state, anew));
        let all = self.put_grants(state, anew, tell).and(exits);
        state.refused = all.is_err().then(Instant::now);
        let note = |error| format!("what is granted to clients is not in force: {error:#}");
        self.notes().refused = all.as_ref().err().map(note);
        all
    }

    /// Changes what the fleet grants. What this gateway cannot put in force another may.
    fn change_in_fleet(&self, change: Change, here: Circumstances) -> anyhow::Result<String> {
        let said = self.clients.change_grants(change, here)?;
        self.enforce(&mut self.lock(), false, ask);
        match &self.notes().refused {
            Some(why) => Ok(format!("{said}; but at this gateway {why}")),
            None => Ok(said),
        }
    }

    /// The fleet grants something else than when it was looked last, or serves others here.
    fn is_other(&self, state: &State) -> bool {
        self.clients.grants(state.view.version).is_some() || self.blocked(state) != state.blocked
    }

    /// Takes over what the fleet grants now.
    fn follow(&self, state: &mut State) {
        if let Some(new) = self.clients.grants(state.view.version) {
            // Before a restart any may have led from here.
            let view = &state.view;
            let led = |f: &super::Forward| view.version.is_none() || view.serves(&f.client);
            let grants = state.grants.followed_by(Grants::of_fleet(&new.grants), led);
            if grants != state.grants {
                state.grants = grants;
                if let Err(error) = self.write(state) {
                    tracing::error!("{error:#}: connections through ports may outlast a restart");
                }
            }
            state.view = View::new(&new);
        }
        state.blocked = self.blocked(state);
        let notes = self.port_notes(state);
        self.notes().ports = notes;
    }

    /// Ports that are to lead to clients here for the first time, where a program of this machine
    /// listens: it may not have been there when somebody else gave the port away.
    fn blocked(&self, state: &State) -> BTreeSet<(Protocol, u16)> {
        let stand = state.stands.iter().flat_map(|g| &g.forwards);
        let stand: BTreeSet<(Protocol, u16)> = stand.map(|f| (f.protocol, f.port)).collect();
        let here = state.grants.forwards.iter().filter(|f| state.view.serves(&f.client));
        let mut ports: BTreeSet<(Protocol, u16)> = here.map(|f| (f.protocol, f.port.get())).collect();
        ports.retain(|port| !stand.contains(port) && !self.gateway.own.contains(port));
        if !ports.is_empty() {
            let taken = listening();
            ports.retain(|port| taken.contains(port));
        }
        ports
    }

    /// Ports of clients here that lead nowhere, in sentences.
    fn port_notes(&self, state: &State) -> Vec<String> {
        let here = state.grants.forwards.iter().filter(|f| state.view.serves(&f.client));
        let words = |f: &super::Forward| {
            let port = (f.protocol, f.port.get());
            let whose = match (self.gateway.own.contains(&port), state.blocked.contains(&port)) {
                (true, _) => "it is this gateway's own",
                (_, true) => "a program of this machine listens there",
                _ => return None,
            };
            Some(format!("{} port {} does not lead to {}: {whose}", f.protocol.name(), f.port, f.client))
        };
        here.filter_map(words).collect()
    }

    /// Whose addresses forwards, groups and caps are for.
    fn served(&self, state: &State) -> Vec<KnownClient> {
        if self.gateway.in_fleet { state.view.here.clone() } else { self.clients.known() }
    }

    /// By which addresses clients are seen, where somebody may have flushed the firewall.
    fn translate(&self, anew: bool) -> anyhow::Result<()> {
        match &mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(journal) if anew => Ok(nat::tables_again(journal)?),
            _ => Ok(()),
        }
    }

    /// By which interface clients leave.
    fn put_exits(&self, state: &mut State, anew: bool) -> anyhow::Result<()> {
        let Some((device, networks)) = &self.gateway.device else { return Ok(()) };
        let global = self.gateway.global;
        let wanted = |clients: &[KnownClient]| {
            let behind = &self.clients.behind(clients.iter().map(KnownClient::named));
            let inside = Inside { device, clients, networks, behind, global };
            state.grants.exits_by_addresses(&inside, state.exits.as_ref().or(state.exits_before.as_ref()))
        };
        let wanted = match self.gateway.in_fleet {
            // Who has no exit counts only where somebody's address is not known yet.
            true => Some(wanted(&state.view.all)).filter(|exits| exits.known.is_none()),
            false => None,
        }
        .unwrap_or_else(|| wanted(&self.clients.inside_of_all()));
        if state.exits.as_ref() == Some(&wanted) && !anew {
            return Ok(());
        }
        state.exits_before = state.exits.take().or(state.exits_before.take());
        match &mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(journal) => leave_by(journal, state.exits_before.as_ref(), &wanted)?,
            // The gateway is stopping.
            None => return Ok(()),
        }
        (state.exits, state.exits_before) = (Some(wanted), None);
        self.look_for_ways(state)
    }

    /// Interfaces come and go, and with them the ways out.
    fn look_for_ways(&self, state: &mut State) -> anyhow::Result<()> {
        let Some(exits) = state.exits.as_ref().filter(|exits| !exits.is_empty()) else {
            self.notes().ways.clear();
            self.tell_lacking(state, Vec::new());
            return Ok(());
        };
        let found = match &mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(journal) => find_ways(journal, exits).map_err(anyhow::Error::from),
            None => return Ok(()),
        };
        let now = match &found {
            Ok(ways) => notes(ways),
            Err(error) => vec![format!("where exits lead is not known: {error:#}")],
        };
        let before = std::mem::replace(&mut self.notes().ways, now.clone());
        if found.is_err() && before != now {
            tracing::error!("{}", now.concat());
        }
        found.map(|ways| self.tell_lacking(state, lacking(&ways)))
    }

    /// Tells the fleet by which exits nothing leaves here, where that is news.
    fn tell_lacking(&self, state: &mut State, exits: Vec<String>) {
        if state.lacking != exits {
            state.lacking.clone_from(&exits);
            self.clients.lacks(exits);
        }
    }

    /// The rest.
    fn put_grants(&self, state: &mut State, anew: bool, tell: impl Fn(&Outbox, bool)) -> anyhow::Result<()> {
        let Some((device, networks)) = &self.gateway.device else { return Ok(()) };
        let clients = self.served(state);
        let behind = self.clients.behind(clients.iter().map(KnownClient::named));
        let closed = &self.gateway.own | &state.blocked;
        let mut wanted = state.grants.by_addresses(device, &clients, &behind, &closed);
        if self.gateway.in_fleet {
            // Of clients elsewhere: what led from here a moment ago, or before a restart, ends.
            let withdrawn = |e: &(Protocol, u16, u16)| {
                state.grants.ended.iter().any(|own| (own.protocol, own.port.get(), own.to.get()) == *e)
            };
            let stood = |e: &(Protocol, u16, u16)| {
                let stands = state.stands.as_ref();
                stands.is_none_or(|s| s.forwards.iter().any(|f| (f.protocol, f.port, f.to) == *e))
            };
            wanted.ended.retain(|e| withdrawn(e) || stood(e));
            wanted.groups.retain(|members| members.len() > 1);
        }
        if self.gateway.all_joined {
            wanted.groups.clear();
        }
        (wanted.closed, wanted.global) = (self.gateway.closed, self.gateway.global);
        wanted.inside.extend(networks);
        if let Some(line) = self.gateway.down_rate {
            let clients = self.clients.inside_here();
            let behind = self.clients.behind(clients.iter().map(KnownClient::named));
            state.grants.divide(line, &clients, &behind, &mut wanted);
        }
        wanted.number(state.stands.as_ref());
        let stood = state.stands.as_ref();
        if (stood == Some(&wanted) && !anew) || (stood.is_none() && wanted.is_empty()) {
            return Ok(());
        }
        let joined = !wanted.groups.is_empty();
        if !joined && !self.gateway.all_joined {
            tell(&self.loop_, false);
        }
        let stood = state.stands.take().filter(|_| !anew);
        let granted = match &mut *self.journal.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(journal) => grant(journal, stood.as_ref(), &wanted, networks),
            // The gateway is stopping.
            None => return Ok(()),
        };
        if let Err(error) = granted {
            // What stands now is not known: no client reaches another.
            if !self.gateway.all_joined {
                tell(&self.loop_, false);
            }
            state.stands = Some(setup::Grants::default());
            return Err(error.into());
        }
        if joined {
            tell(&self.loop_, true);
        }
        state.stands = Some(wanted);
        Ok(())
    }
}
