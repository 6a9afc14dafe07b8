//! Holds clients to their quotas: looks who has used his up, and hands that to the firewall.
//!
//! None of it happens on the data loop, which only says what was used and who came. A thread looks
//! then, and each second: what was used at other gateways of a fleet comes by the store.

use super::SharedClients;
use crate::config::{Amount, BitRate};
use crate::exit::{Code, failure};
use crate::firewall::SharedJournal;
use crate::hooks::QuotaHooks;
use crate::report::table::bytes;
use anyhow::Context;
use ipnet::IpNet;
use ropewalk_fleet::{Account, Period, Quota, today};
use ropewalk_net::setup::{self, Hold, hold_back};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at what others have used.
const LOOK: Duration = Duration::from_secs(1);
/// How often what the firewall refused is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// The least that a quota may be, bytes: a session at rest takes a part of that in a day.
const LEAST: u64 = 1_000_000;

/// A change of a client's quota, as it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuotaChange {
    /// The client.
    pub client: String,
    /// What it may use; none: there is no quota any more.
    pub to: Option<Allowed>,
}

/// What a client may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    /// In a period.
    pub amount: Amount,
    /// Which period.
    pub per: Period,
    /// What it is slowed to then; none: it is stopped.
    #[serde(default)]
    pub then: Option<BitRate>,
}

impl QuotaChange {
    /// The quota that is asked for, if one is.
    pub(crate) fn quota(&self) -> anyhow::Result<Option<Quota>> {
        let Some(Allowed { amount, per, then }) = self.to else { return Ok(None) };
        if amount.0 < LEAST {
            return Err(failure(Code::Usage, "a quota is 1MB at least"));
        }
        Ok(Some(Quota { bytes: amount.0, per, then_bps: then.map(|rate| rate.0) }))
    }

    /// What there is to say when it is done.
    pub(crate) fn said(&self) -> String {
        let client = &self.client;
        let Some(Allowed { amount, per, then }) = self.to else { return format!("{client} has no quota") };
        let then = then.map_or_else(|| "stopped".into(), |rate| format!("slowed to {rate}"));
        format!("{client} may use {} a {}, and is {then} then", bytes(amount.0), per.name())
    }
}

/// The clients' quotas at a running gateway.
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    shared: Arc<Shared>,
    /// Wakes the thread; one wish is as good as many.
    wake: SyncSender<()>,
}

#[derive(Debug)]
struct Shared {
    clients: SharedClients,
    journal: SharedJournal,
    device: String,
    /// The clients' networks, and those behind them.
    inside: Vec<IpNet>,
    /// Programs that hear of it.
    hooks: Option<QuotaHooks>,
    /// Who has no quota here has none anywhere.
    is_alone: bool,
    /// The firewall may not be as it was left.
    anew: AtomicBool,
    latest: Mutex<Latest>,
}

/// What was found when the thread looked last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    /// How the clients with a quota stand: in a fleet, those who are served here.
    pub accounts: Arc<BTreeMap<String, Account>>,
    /// Why nobody is held back who should be.
    pub trouble: Option<String>,
}

impl Quotas {
    /// Starts the thread. `device` is the bond's, and `networks` are its clients'.
    pub(crate) fn start(
        clients: SharedClients,
        journal: &SharedJournal,
        (device, networks): (&str, Vec<IpNet>),
        hooks: Option<QuotaHooks>,
    ) -> anyhow::Result<Quotas> {
        let is_alone = clients.fleet_reach().is_none();
        // What clients have from the pool lies in its network.
        let inside = networks.into_iter().chain(clients.behind([]).values().flatten().copied()).collect();
        let shared = Arc::new(Shared {
            clients,
            journal: Arc::clone(journal),
            device: device.into(),
            inside,
            hooks,
            is_alone,
            anew: AtomicBool::new(false),
            latest: Mutex::default(),
        });
        let (wake, wishes) = sync_channel(1);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("quotas".into());
        thread.spawn(move || work(&theirs, &wishes)).context("a thread cannot be started")?;
        let quotas = Quotas { shared, wake };
        quotas.look();
        Ok(quotas)
    }

    /// Somebody came, or has used something. For the data loop.
    pub(crate) fn look(&self) {
        let _ = self.wake.try_send(());
    }

    /// Somebody may have changed the firewall. For the data loop.
    pub(crate) fn again(&self) {
        self.shared.anew.store(true, Relaxed);
        self.look();
    }

    /// How clients stood when it was looked last. For the data loop.
    pub(crate) fn latest(&self) -> Latest {
        self.shared.latest().clone()
    }

    /// Gives a client a quota, or takes it; returns what there is to say when it is noted.
    pub(crate) fn change(&self, change: &QuotaChange) -> anyhow::Result<String> {
        self.shared.clients.set_quota(&change.client, change.quota()?)?;
        self.look();
        Ok(change.said())
    }
}

impl Shared {
    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread remembers.
struct Work {
    /// What is in force.
    stands: setup::Quotas,
    /// When the firewall refused.
    failed: Option<Instant>,
    /// Who was over his quota.
    over: BTreeSet<String>,
}

fn work(shared: &Shared, wishes: &Receiver<()>) {
    let stands = setup::Quotas { device: shared.device.clone(), ..setup::Quotas::default() };
    let mut work = Work { stands, failed: None, over: BTreeSet::new() };
    while !matches!(wishes.recv_timeout(LOOK), Err(RecvTimeoutError::Disconnected)) {
        let accounts = shared.clients.accounts(today());
        for change in changes(&mut work.over, &accounts, shared.is_alone) {
            change.say(shared.hooks.as_ref());
        }
        let behind = shared.clients.behind(accounts.iter().map(|a| (a.client.as_str(), &a.inside[..])));
        let held = held(&accounts, &behind);
        let trouble = work.put(shared, held);
        let accounts = accounts.into_iter().map(|account| (account.client.clone(), account));
        let accounts = Arc::new(accounts.collect());
        let mut latest = shared.latest();
        latest.accounts = accounts;
        if let Some(trouble) = trouble {
            latest.trouble = trouble;
        }
    }
}

impl Work {
    /// Holds these back where they are not. Says what is wrong now, where that may be other than it
    /// was.
    fn put(&mut self, shared: &Shared, held: Vec<Hold>) -> Option<Option<String>> {
        let anew = shared.anew.swap(false, Relaxed);
        let waits = self.failed.is_some_and(|at| at.elapsed() < TRY_AGAIN) && !anew;
        let stands = self.stands.held == held && self.failed.is_none() && (!anew || held.is_empty());
        if waits || stands {
            return None;
        }
        let (device, inside) = (shared.device.clone(), shared.inside.clone());
        let wanted = setup::Quotas { device, held, inside };
        let outcome = match &mut *shared.journal.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(journal) => hold_back(journal, &wanted),
            // The gateway is stopping.
            None => return None,
        };
        match outcome {
            Ok(()) => {
                (self.stands, self.failed) = (wanted, None);
                Some(None)
            }
            Err(error) => {
                tracing::error!("clients are not held to their quotas: {error}");
                self.failed = Some(Instant::now());
                Some(Some(format!("clients are not held to their quotas: {error}")))
            }
        }
    }
}

/// Those whose quota is used up.
fn held(accounts: &[Account], behind: &BTreeMap<String, Vec<IpNet>>) -> Vec<Hold> {
    let hold = |account: &Account| Hold {
        addresses: account.inside.clone(),
        networks: behind.get(&account.client).cloned().unwrap_or_default(),
        rate_bps: account.quota.then_bps,
    };
    let over = accounts.iter().filter(|a| a.is_over()).map(hold);
    over.filter(|h| !h.addresses.is_empty() || !h.networks.is_empty()).collect()
}

/// What became of a client since the last look.
#[derive(Debug, PartialEq)]
enum QuotaEvent<'a> {
    /// Its quota is used up.
    Reached(&'a Account),
    /// It may go on.
    Lifted(String),
}

impl QuotaEvent<'_> {
    /// To the log, and to programs.
    fn say(&self, hooks: Option<&QuotaHooks>) {
        match self {
            QuotaEvent::Reached(account) => {
                let (client, until) = (account.client.as_str(), account.until());
                let rate = account.quota.then_bps.map(|bps| BitRate(bps).to_string());
                tracing::info!(client, %until, rate, "a client's quota is used up");
                hooks.into_iter().for_each(|h| h.reached(account));
            }
            QuotaEvent::Lifted(client) => {
                tracing::info!(client, "a client may go on within its quota");
                hooks.into_iter().for_each(|h| h.lifted(client));
            }
        }
    }
}

/// Who has used his quota up, and who may go on. Who has no account any more has no quota, where
/// `is_alone`; in a fleet he may be elsewhere.
fn changes<'a>(over: &mut BTreeSet<String>, accounts: &'a [Account], is_alone: bool) -> Vec<QuotaEvent<'a>> {
    let is_over: BTreeSet<String> =
        accounts.iter().filter(|a| a.is_over()).map(|a| a.client.clone()).collect();
    let before = std::mem::replace(over, is_over);
    let reached =
        accounts.iter().filter(|a| a.is_over() && !before.contains(&a.client)).map(QuotaEvent::Reached);
    let lifted: Vec<String> = if is_alone {
        before.difference(over).cloned().collect()
    } else {
        let may_go_on = |a: &&Account| !a.is_over() && before.contains(&a.client);
        accounts.iter().filter(may_go_on).map(|a| a.client.clone()).collect()
    };
    reached.chain(lifted.into_iter().map(QuotaEvent::Lifted)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(client: &str, inside: &[&str], used: u64, then_bps: Option<u64>) -> Account {
        Account {
            client: client.into(),
            inside: inside.iter().map(|a| a.parse().unwrap()).collect(),
            quota: Quota { bytes: 100, per: Period::Month, then_bps },
            used,
            since: "2026-11-01".parse().unwrap(),
        }
    }

    #[test]
    fn who_is_over_is_held_back_with_what_lies_behind_and_nobody_else() {
        let accounts = [
            account("alice", &["10.77.0.2", "fd77::2"], 100, None),
            account("bob", &["10.77.0.3"], 99, None),
            account("carol", &["10.77.0.4"], 500, Some(2_000_000)),
            account("dave", &[], 500, None),
        ];
        let network: IpNet = "192.168.8.0/24".parse().unwrap();
        let held = held(&accounts, &BTreeMap::from([("carol".into(), vec![network])]));
        let of = |h: &Hold| (h.addresses.len(), h.networks.len(), h.rate_bps);
        assert_eq!(held.iter().map(of).collect::<Vec<_>>(), [(2, 0, None), (1, 1, Some(2_000_000))]);
        let mut over = BTreeSet::new();
        let reached: Vec<_> = [0, 2, 3].into_iter().map(|n| QuotaEvent::Reached(&accounts[n])).collect();
        assert_eq!(changes(&mut over, &accounts, true), reached);
        assert!(changes(&mut over, &accounts, true).is_empty(), "it is said once");
        let mut elsewhere = over.clone();
        let raised = [account("alice", &[], 5, None)];
        let lifted =
            |names: &[&str]| names.iter().map(|n| QuotaEvent::Lifted((*n).into())).collect::<Vec<_>>();
        assert_eq!(changes(&mut over, &raised, true), lifted(&["alice", "carol", "dave"]), "raised, or gone");
        assert_eq!(changes(&mut elsewhere, &raised, false), lifted(&["alice"]), "others went elsewhere");
        assert!(over.is_empty() && elsewhere.is_empty());
    }

    #[test]
    fn what_comes_by_the_socket_is_in_the_ranges_of_the_command_line() {
        let read = |line: &str| serde_json::from_str::<QuotaChange>(line);
        let fair = read(r#"{"client":"alice","to":{"amount":"100GB","per":"month","then":"1Mbit"}}"#);
        let fair = fair.unwrap();
        let quota = Quota { bytes: 100_000_000_000, per: Period::Month, then_bps: Some(1_000_000) };
        assert_eq!(fair.quota().unwrap(), Some(quota));
        assert_eq!(fair.said(), "alice may use 100 GB a month, and is slowed to 1Mbit then");
        let text = serde_json::to_string(&fair).unwrap();
        assert_eq!(read(&text).unwrap(), fair);
        for line in [
            r#"{"client":"alice","to":{"amount":"100GB","per":"year"}}"#,
            r#"{"client":"alice","to":{"amount":"100GB","per":"day","then":"1kbit"}}"#,
            r#"{"client":"alice","to":{"amount":"much","per":"day"}}"#,
            r#"{"client":"alice","to":{"amount":1,"per":"day","x":1}}"#,
        ] {
            assert!(read(line).is_err(), "{line}");
        }
        let little = read(r#"{"client":"alice","to":{"amount":999999,"per":"day"}}"#).unwrap();
        assert!(little.quota().is_err());
        let none = QuotaChange { client: "alice".into(), to: None };
        assert_eq!((none.quota().unwrap(), none.said().as_str()), (None, "alice has no quota"));
    }
}
