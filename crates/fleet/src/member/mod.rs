//! One gateway's part in a fleet.
//!
//! ```text
//!   data loop          thread "store"
//!   ─────────          ───────────────────────────────────────────────
//!   is_ready, admit ──▶ state: the copy, claims, who is served, usage
//!                        ▲        │
//!        watch: follow ──┘        ├──▶ claims: who may come in, some beside each other
//!                                 ├──▶ work: serving, usage, signed accounts
//!                                 ├──▶ keep: the lease, the gateway's record
//!                                 ├──▶ compact: etcd's history
//!                                 └──▶ tidy: usage of who is gone
//! ```
//!
//! The state is locked for microseconds, by both. Nothing of the data loop waits for the store.

mod accounts;
mod begin;
mod claims;
mod compact;
mod follow;
mod grants;
mod keep;
mod quotas;
mod served;
mod state;
mod tidy;
mod work;

use crate::address::StoreAddress;
use crate::copy::{Copy, Decision};
use crate::etcd::{Etcd, StoreError, TlsFiles};
use crate::ledger::{Ledger, LedgerError};
use crate::pool::Pool;
use crate::record::{Usage, is_name};
pub use grants::{GrantsHere, GrantsVersion};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal, StaticKey};
use serde::{Deserialize, Serialize};
pub use state::Reach;
use state::{Anew, State};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// How long a gateway that says nothing counts as alive, seconds.
pub(crate) const LEASE: u64 = 5;
/// The store counts as gone when nothing came from it for so long.
const GONE: Duration = Duration::from_secs(4);
/// The copy counts as old when it has missed something for so long.
const OLD: Duration = Duration::from_secs(8);
/// How long it is said that the store was restored.
const REPLACED: Duration = Duration::from_secs(24 * 3600);
/// How long a start waits until the store has where devices reach this gateway.
const REGISTRATION: Duration = Duration::from_secs(3);
/// How long the end may take: the last figures and the lease.
const FAREWELL: Duration = Duration::from_secs(2);
/// A command's patience with the store.
const COMMAND: Duration = Duration::from_secs(9);

/// What a gateway joins a fleet with.
pub struct Join {
    /// Where the store is.
    pub address: StoreAddress,
    /// How it is spoken to.
    pub tls: Option<TlsFiles>,
    /// What this gateway is called; no other of the fleet is called so.
    pub name: String,
    /// Tells this run from others of the same name.
    pub instance: String,
    /// The addresses inside.
    pub pool: Pool,
    /// The fleet's key, if it has none yet.
    pub new_key: StaticKey,
    /// Is told whose sessions are to end, and must not wait: it is called on the store's thread,
    /// and within [`Member::came`].
    pub evict: Box<dyn Fn(Evict) + Send + Sync>,
}

/// Whose sessions are to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evict {
    /// It may not come in any more.
    Revoked(PublicKey),
    /// Another gateway serves it.
    Elsewhere(PublicKey),
}

/// Why a gateway does not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Another is called so.
    #[error("a gateway named `{0}` runs in this fleet already: choose another name with --name")]
    NameTaken(String),
    /// The store, or what is in it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No thread.
    #[error("a thread cannot be started: {0}")]
    System(#[from] std::io::Error),
}

/// A gateway of the fleet, for `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetReport {
    /// Its name.
    pub name: String,
    /// Where devices reach it.
    pub endpoints: Vec<String>,
    /// It takes no sessions.
    pub draining: bool,
    /// How many clients it serves.
    pub clients: usize,
}

/// How a gateway stands in its fleet, for `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// This gateway's name.
    pub name: String,
    /// Where the store is.
    pub store: String,
    /// It answers.
    pub reachable: bool,
    /// Since it was last heard, seconds.
    pub silent_s: f64,
    /// How long ago what is known here was what the store has, seconds.
    pub copy_age_s: f64,
    /// Devices that wait for the store to be asked whether they may come in.
    pub waiting: usize,
    /// What somebody has to see to: sentences.
    pub warnings: Vec<String>,
    /// The gateways that live, as far as is known here.
    pub gateways: Vec<FleetReport>,
}

struct Shared {
    etcd: Etcd,
    address: StoreAddress,
    name: String,
    instance: String,
    pool: Pool,
    evict: Box<dyn Fn(Evict) + Send + Sync>,
    state: Mutex<State>,
    /// There is something to be written.
    work: Notify,
    /// The store is to be asked about a device.
    claims: Notify,
    /// The gateway's record has changed.
    record: Notify,
    stop: Notify,
    /// The lease that the gateway's record is under. 0: none, so nothing is written by its name.
    lease: AtomicI64,
    /// The store has had the record that says where devices reach this gateway.
    is_registered: AtomicBool,
    runtime: tokio::runtime::Handle,
}

/// A gateway's part in the fleet; dropping it leaves.
pub struct Member {
    shared: Arc<Shared>,
    phase: Mutex<Phase>,
}

/// Before and after [`Member::start`].
enum Phase {
    Joined(Runtime),
    Started(JoinHandle<()>),
    Over,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({} of {})", self.shared.name, self.shared.address)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(&self.etcd, &self.address.prefix)
    }

    fn lease(&self) -> i64 {
        self.lease.load(Ordering::Relaxed)
    }

    /// The store has answered.
    fn heard(&self) {
        self.state().contact = Instant::now();
    }

    /// Ends sessions. Not while the state is locked.
    fn evict(&self, all: impl IntoIterator<Item = Evict>) {
        all.into_iter().for_each(&self.evict);
    }
}

impl Member {
    /// Joins, and returns the fleet's key. Waits for the store as long as it takes; whoever has
    /// lost patience kills the process.
    ///
    /// # Errors
    /// What no waiting changes: certificates, another network, a name that is taken.
    pub fn join(join: Join) -> Result<(Member, StaticKey), JoinError> {
        if !is_name(&join.name) {
            return Err(LedgerError::BadName.into());
        }
        let etcd = Etcd::new(&join.address, join.tls.as_ref()).map_err(LedgerError::from)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let Join { address, name, instance, pool, new_key, evict, .. } = join;
        let shared = Arc::new(Shared {
            etcd,
            address,
            name,
            instance,
            pool,
            evict,
            state: Mutex::new(State::new()),
            work: Notify::new(),
            claims: Notify::new(),
            record: Notify::new(),
            stop: Notify::new(),
            lease: AtomicI64::new(0),
            is_registered: AtomicBool::new(false),
            runtime: runtime.handle().clone(),
        });
        let key = runtime.block_on(begin::begin(&shared, &new_key))?;
        Ok((Member { shared, phase: Mutex::new(Phase::Joined(runtime)) }, key))
    }

    /// Tells the fleet where devices reach this gateway, and starts the thread: after this process
    /// has given up its rights, for a thread keeps those that it was started with. Whoever makes a
    /// token afterwards finds this gateway, unless the store does not take its record within three
    /// seconds.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(&self, reach: Reach) -> Result<(), std::io::Error> {
        self.shared.state().reach = Some(reach);
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if let Phase::Joined(runtime) = std::mem::replace(&mut *phase, Phase::Over) {
            let own = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("store".into());
            let work = move || {
                runtime.block_on(run(&own));
                // Dropped, it would wait for a name that is looked up.
                runtime.shutdown_background();
            };
            *phase = Phase::Started(thread.spawn(work)?);
            let until = Instant::now() + REGISTRATION;
            while !self.shared.is_registered.load(Ordering::Relaxed) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }

    /// Whether it is known if this device may come in. If not, the store is asked, and soon it is.
    pub fn is_ready(&self, device: &PublicKey, hello: (InviteId, &InviteSecret)) -> bool {
        let mut state = self.shared.state();
        if state.draining || state.ousted {
            return false;
        }
        if state.refusal(device, hello.0).is_some()
            || state.copy.decide(&self.shared.pool, device, hello) != Decision::Ask
        {
            return true;
        }
        state.ask(device, hello);
        self.shared.claims.notify_one();
        false
    }

    /// The answer where [`Member::is_ready`]: the client's name and addresses.
    ///
    /// # Errors
    /// The refusal that the device is told.
    pub fn admit(
        &self,
        device: &PublicKey,
        hello: (InviteId, &InviteSecret),
    ) -> Result<(std::net::Ipv4Addr, Option<std::net::Ipv6Addr>), Refusal> {
        let mut state = self.shared.state();
        match state.copy.decide(&self.shared.pool, device, hello) {
            Decision::Known { ipv4, ipv6, .. } => Ok((ipv4, ipv6)),
            Decision::Refused(refusal) => Err(refusal),
            // Once told, it may ask anew: another invite may have been made meanwhile.
            Decision::Ask => Err(state.take_refusal(device, hello.0).unwrap_or(Refusal::Busy)),
        }
    }

    /// A client has a session here now. If it was revoked since it was admitted, it goes again.
    pub fn came(&self, device: &PublicKey) {
        let mut state = self.shared.state();
        let name = state.copy.name_of(device).filter(|_| state.copy.is_active(device)).map(str::to_owned);
        let Some(name) = name else {
            drop(state);
            self.shared.evict([Evict::Revoked(*device)]);
            return;
        };
        let inside: Vec<IpAddr> = state.copy.client(&name).map_or_else(Vec::new, |c| c.addresses().collect());
        state.moves += u64::from(state.copy.is_granted(&name));
        state.served.came(name, *device, inside);
        self.shared.work.notify_one();
    }

    /// A client has none any more.
    pub fn went(&self, device: &PublicKey) {
        let mut state = self.shared.state();
        // The copy may know it by another name by now.
        let name = state.copy.name_of(device).map(str::to_owned);
        if let Some(name) = state.served.went(device, name.as_deref()) {
            state.moves += u64::from(state.copy.is_granted(&name));
            self.shared.work.notify_one();
        }
    }

    /// What clients have used since the last call.
    pub fn used(&self, of: &[(PublicKey, Usage)]) {
        let mut state = self.shared.state();
        for (device, usage) in of.iter().filter(|(_, usage)| usage.total() > 0) {
            if let Some(name) = state.copy.name_of(device).map(str::to_owned) {
                state.used.entry(name).or_default().add(*usage);
            }
        }
    }

    /// Takes no sessions from now on, or takes them again.
    pub fn drain(&self, draining: bool) {
        self.shared.state().draining = draining;
        self.shared.record.notify_one();
    }

    /// What a client is called.
    pub fn name_of(&self, device: &PublicKey) -> Option<String> {
        self.shared.state().copy.name_of(device).map(str::to_owned)
    }

    /// Looks into the copy.
    pub fn read<T>(&self, look: impl FnOnce(&Copy) -> T) -> T {
        look(&self.shared.state().copy)
    }

    /// How it stands.
    pub fn report(&self) -> MemberReport {
        let state = self.shared.state();
        let silent = state.contact.elapsed();
        let gateway = |(name, g): (&str, &crate::GatewayRecord)| FleetReport {
            name: name.into(),
            endpoints: g.endpoints.clone(),
            draining: g.draining,
            clients: state.copy.sum_of(name).clients,
        };
        MemberReport {
            name: self.shared.name.clone(),
            store: self.shared.address.to_string(),
            reachable: silent < GONE,
            silent_s: silent.as_secs_f64(),
            copy_age_s: state.true_at.elapsed().as_secs_f64(),
            waiting: state.claims.len(),
            warnings: warnings(&state, &self.shared.name, silent < GONE),
            gateways: state.copy.gateways().map(gateway).collect(),
        }
    }

    /// Adds an invite; returns when the store has it. Not for the data loop.
    ///
    /// # Errors
    /// See [`Ledger::invite`].
    pub fn invite(&self, name: &str, id: InviteId, secret: &InviteSecret) -> Result<(), LedgerError> {
        let (name, secret) = (name.to_owned(), secret.clone());
        self.order(|mut ledger| async move { ledger.invite(&name, id, &secret).await })
    }

    /// Takes a client's right to come in; returns when the store has it. Not for the data loop.
    ///
    /// # Errors
    /// See [`Ledger::revoke`].
    pub fn revoke(&self, name: &str) -> Result<Option<PublicKey>, LedgerError> {
        let name = name.to_owned();
        self.order(|mut ledger| async move { ledger.revoke(&name).await })
    }

    fn order<T, F, W>(&self, work: W) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, LedgerError>> + Send + 'static,
        W: FnOnce(Ledger) -> F,
    {
        let (reply, answer) = sync_channel(1);
        let work = work(self.shared.ledger());
        self.shared.runtime.spawn(answered(work, reply));
        let late = || StoreError::Gone("no answer in time; what was asked may be done all the same".into());
        answer.recv_timeout(COMMAND).map_err(|_| late())?
    }
}

async fn answered<T>(work: impl Future<Output = T>, reply: SyncSender<T>) {
    let _ = reply.try_send(work.await);
}

impl Member {
    /// Leaves the fleet: the last figures are written, and the others know at once. Returns when
    /// that is done, or after two seconds.
    pub fn leave(&self) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *phase, Phase::Over) {
            Phase::Started(thread) => {
                self.shared.stop.notify_one();
                let _ = thread.join();
            }
            Phase::Joined(runtime) => {
                runtime.block_on(farewell(&self.shared));
                runtime.shutdown_background();
            }
            Phase::Over => {}
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What somebody has to see to.
fn warnings(state: &State, name: &str, reachable: bool) -> Vec<String> {
    let mut all = Vec::new();
    if state.is_full {
        all.push("etcd has no room left (NOSPACE): known clients come and go, nothing is written; see \"etcd has no room\" in the guide's page on fleets".into());
    }
    if state.ousted {
        all.push(format!("another gateway named {name} has taken the name: this one takes no sessions; stop one, or give it another --name"));
    }
    all.extend(about_key(state));
    if let Some(ago) = state.replaced.map(|at| at.elapsed()).filter(|ago| *ago < REPLACED) {
        let since = match (ago.as_secs() / 60, state.anew) {
            (_, Some(Anew::Another)) => "and what is known here is from before".into(),
            (0, _) => "and was read anew just now".into(),
            (minutes, _) => format!("and was read anew {minutes} min ago"),
        };
        all.push(format!("the store was restored from a backup, or is another than before, {since}: revoke again whom you revoked since the backup"));
    }
    all.extend(grants::lacking(&state.copy));
    let age = state.true_at.elapsed();
    if reachable && (age >= OLD || state.is_dumb) {
        let why = state.blind.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        all.push(format!(
            "what is known of the store is {:.0} s old, the watch does not work{why}: revocations come late",
            age.as_secs_f64()
        ));
    }
    let mut odd = state.copy.odd();
    if let Some(first) = odd.next() {
        let more = odd.count();
        let more = if more > 0 { format!(" and {more} others") } else { String::new() };
        all.push(format!(
            "{first}{more} in the store cannot be read: write it anew or delete it (`etcdctl`)"
        ));
    }
    all
}

/// The fleet's key is not in the store as this gateway has it.
fn about_key(state: &State) -> Option<String> {
    const SEE: &str = "see \"the fleet's key is lost\" in the guide's page on fleets";
    let own = state.own_key.as_ref()?;
    match state.copy.key() {
        Some(key) if key == own => None,
        Some(_) => Some(format!(
            "the store has another key for the fleet than this gateway: tokens of one do not work at the other; {SEE}"
        )),
        None => Some(format!(
            "the fleet's key is gone from the store: a gateway that starts would make another, which no token knows; {SEE}"
        )),
    }
}

/// The thread's work, until the gateway stops.
async fn run(shared: &Arc<Shared>) {
    let asking = (0..claims::AT_ONCE).map(|_| tokio::spawn(claims::ask(Arc::clone(shared))));
    let others = [
        tokio::spawn(follow::follow(Arc::clone(shared))),
        tokio::spawn(keep::keep(Arc::clone(shared))),
        tokio::spawn(work::work(Arc::clone(shared))),
        tokio::spawn(compact::compact(Arc::clone(shared))),
        tokio::spawn(tidy::tidy(Arc::clone(shared))),
    ];
    let tasks: Vec<_> = others.into_iter().chain(asking).collect();
    let aborts: Vec<_> = tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect();
    for task in tasks {
        tokio::spawn(watch_over(task));
    }
    shared.stop.notified().await;
    aborts.iter().for_each(tokio::task::AbortHandle::abort);
    farewell(shared).await;
}

/// A gateway that no longer hears of revocations must not go on as if it did.
async fn watch_over(task: tokio::task::JoinHandle<()>) {
    if task.await.is_err_and(|error| error.is_panic()) {
        tracing::error!("the thread that speaks to the store has failed: a defect, please report it");
        std::process::abort();
    }
}

async fn farewell(shared: &Arc<Shared>) {
    let words = async {
        let mut ledger = shared.ledger();
        // Another's figures are not to be written over.
        let is_ousted = shared.state().ousted;
        if !is_ousted {
            work::write_usage(shared, &mut ledger).await;
            accounts::write(shared, &mut ledger).await;
        }
        let lease = shared.lease();
        if lease != 0 {
            let _ = ledger.caller.end(lease).await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, words).await;
}
