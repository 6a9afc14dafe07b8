//! The fleet's etcd, as a gateway and as the commands see it.

use super::{Reach, Store};
use crate::daemon::entropy;
use crate::exit::{Code, failure};
use crate::gateway::grants::{Change, Circumstances, Grants, check_in_fleet, client_inside, judge_in_fleet};
use crate::report::fleet::FleetStatus;
use crate::report::quota::QuotaStatus;
use crate::state::clients::KnownClient;
use crate::state::pool::Pool;
use anyhow::Context;
use jiff::civil::Date;
use ropewalk_bond::api::Admission;
use ropewalk_fleet::{
    Account, ClientRecord, Copy, Etcd, Evict, FleetGrants, GatewayRecord, GrantsHere, GrantsVersion, Join,
    JoinError, Ledger, LedgerError, Member, Quota, SignedRecord, Standing, StoreAddress, StoreError,
    TlsFiles, Usage, today,
};
use ropewalk_net::setup::Protocol;
use ropewalk_session::{
    ClientHello, ENDPOINTS_MAX, Endpoint, InviteId, InviteSecret, PublicKey, Refusal, StaticKey,
    TLS_ENDPOINTS_MAX, Token, TokenError,
};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Where the store is, and what proves who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreSettings {
    address: StoreAddress,
    tls: Option<TlsFiles>,
}

impl StoreSettings {
    /// What the options say; `None` if there is no store.
    pub(crate) fn new(
        address: Option<StoreAddress>,
        ca: Option<PathBuf>,
        cert: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> anyhow::Result<Option<StoreSettings>> {
        let wrong = |words: &str| Err(failure(Code::Usage, words));
        let own = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return wrong("--store-cert and --store-key go together: give both"),
        };
        let tls = match (ca, own) {
            (Some(ca), own) => Some(TlsFiles { ca, own }),
            (None, None) => None,
            (None, Some(_)) => return wrong("--store-cert needs --store-ca, too: who signs for etcd"),
        };
        match address {
            Some(address) => Ok(Some(StoreSettings { address, tls })),
            None if tls.is_some() => {
                wrong("--store-ca is for a store: name it with --store etcd://HOST:PORT/PREFIX")
            }
            None => Ok(None),
        }
    }

    /// Does one thing with the store, for a command. The fleet's key may be in what is read.
    pub(crate) fn ask<T>(
        &self,
        work: impl AsyncFnOnce(&mut Ledger) -> Result<T, LedgerError>,
    ) -> anyhow::Result<T> {
        ropewalk_net::privileges::keep_secrets()?;
        let outcome = ropewalk_fleet::block_on(async {
            let mut ledger = Ledger::new(&Etcd::new(&self.address, self.tls.as_ref())?, &self.address.prefix);
            work(&mut ledger).await
        });
        outcome.map_err(said)
    }

    /// A token for a new client.
    pub(crate) fn invite(&self, name: &str, named: &[Endpoint]) -> anyhow::Result<Token> {
        if named.len() > ENDPOINTS_MAX {
            return Err(failure(Code::Usage, TokenError::Endpoints.to_string()));
        }
        self.ask(async |ledger| {
            let Reach { endpoints, tls } = reach(ledger.gateways().await?.iter());
            let endpoints = if named.is_empty() { endpoints } else { named.to_vec() };
            let gateway = ledger.known_key().await?.ok_or(LedgerError::NoFleet)?;
            let (id, secret) = (InviteId::generate(&mut entropy()), InviteSecret::generate(&mut entropy()));
            let token =
                Token::new(gateway, id, secret.clone(), endpoints).map_err(|_| LedgerError::NoGateway)?;
            ledger.invite(name, id, &secret).await?;
            Ok(token.with_tls(tls))
        })
    }

    /// Takes a client's right to come in.
    pub(crate) fn revoke(&self, name: &str) -> anyhow::Result<()> {
        self.ask(async |ledger| ledger.revoke(name).await.map(drop))
    }

    /// Gives a client a quota, or takes it.
    pub(crate) fn set_quota(&self, client: &str, quota: Option<Quota>) -> anyhow::Result<()> {
        self.ask(async |ledger| ledger.set_quota(client, quota).await)
    }

    /// What the fleet grants.
    pub(crate) fn grants(&self) -> anyhow::Result<Grants> {
        self.ask(async |ledger| Ok(Grants::of_fleet(&ledger.grants().await?)))
    }

    /// Changes what the fleet grants; returns what there is to say.
    pub(crate) fn change_grants(&self, change: &Change) -> anyhow::Result<String> {
        let gateways: Vec<GatewayRecord> = self.ask(async |ledger| ledger.gateways().await)?;
        check_in_fleet(change, &reached(gateways.iter()))?;
        // What is of one machine is judged there.
        let here = Circumstances::default();
        let outcome = self.ask(async |ledger| {
            let judge = |now: &FleetGrants| judge_in_fleet(change, &here, now);
            ledger.change_grants(&change.names(), &tag(), judge).await
        })?;
        outcome.map(|(said, _)| said)
    }

    /// Who may come in.
    pub(crate) fn clients(&self) -> anyhow::Result<Vec<KnownClient>> {
        self.ask(async |ledger| ledger.read().await.map(|copy| known(&copy)))
    }

    /// The gateways that live.
    pub(crate) fn overview(&self) -> anyhow::Result<Vec<Standing>> {
        self.ask(async |ledger| ledger.overview().await)
    }
}

impl std::fmt::Display for StoreSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.address)
    }
}

/// With the exit code that fits.
fn said(error: LedgerError) -> anyhow::Error {
    let code = match &error {
        LedgerError::NameTaken(_) => Code::Taken,
        LedgerError::UnknownName(_) | LedgerError::BadName | LedgerError::NoQuota(_) => Code::Usage,
        LedgerError::Network { .. } | LedgerError::NoGateway | LedgerError::NoFleet => Code::Usage,
        LedgerError::Store(StoreError::Clear) => Code::Usage,
        LedgerError::Store(StoreError::Gone(_)) => Code::Unreachable,
        _ => Code::Failure,
    };
    failure(code, error.to_string())
}

/// By what gateways are reached.
fn reached<'a>(gateways: impl Iterator<Item = &'a GatewayRecord>) -> Vec<(Protocol, String)> {
    let of = |g: &GatewayRecord| {
        let udp = g.endpoints.iter().map(|endpoint| (Protocol::Udp, endpoint.clone()));
        udp.chain(g.tls.iter().map(|endpoint| (Protocol::Tcp, endpoint.clone()))).collect::<Vec<_>>()
    };
    gateways.flat_map(of).collect()
}

/// Tells a change from all others.
fn tag() -> String {
    InviteId::generate(&mut entropy()).0.iter().map(|b| format!("{b:02x}")).collect()
}

/// Where those gateways are that take sessions.
fn reach<'a>(gateways: impl Iterator<Item = &'a GatewayRecord>) -> Reach {
    let gateways: Vec<&GatewayRecord> = gateways.filter(|g| !g.draining).collect();
    Reach {
        endpoints: in_turns(&gateways, ENDPOINTS_MAX, |g| &g.endpoints),
        tls: in_turns(&gateways, TLS_ENDPOINTS_MAX, |g| &g.tls),
    }
}

/// The first endpoint of each gateway, then the second of each, up to so many.
fn in_turns(
    gateways: &[&GatewayRecord],
    most: usize,
    of: impl Fn(&GatewayRecord) -> &[String],
) -> Vec<Endpoint> {
    let longest = gateways.iter().map(|g| of(g).len()).max().unwrap_or(0);
    let mut all: Vec<Endpoint> = Vec::new();
    for text in (0..longest).flat_map(|i| gateways.iter().filter_map(|g| of(g).get(i)).collect::<Vec<_>>()) {
        if let Ok(endpoint) = text.parse::<Endpoint>()
            && all.len() < most
            && !all.contains(&endpoint)
        {
            all.push(endpoint);
        }
    }
    all
}

fn known(copy: &Copy) -> Vec<KnownClient> {
    let today = today();
    let may_come = copy.clients().filter(|(_, client)| !client.revoked);
    may_come.map(|(name, client)| known_client(copy, name, client, today)).collect()
}

fn known_client(copy: &Copy, name: &str, client: &ClientRecord, today: Date) -> KnownClient {
    KnownClient {
        name: name.into(),
        came: client.key.is_some(),
        inside: client.addresses().collect(),
        gateway: copy.serving(name).map(|s| s.gateway.clone()),
        used_bytes: Some(copy.used(name, None).total()),
        quota: copy.account_of(name, today).map(|account| QuotaStatus::new(&account)),
        network: None,
    }
}

/// A gateway's place in its fleet.
#[derive(Debug)]
pub(crate) struct Fleet {
    member: Member,
    pool: Pool,
    name: String,
}

impl Fleet {
    /// Joins the fleet, waiting for its store; returns the fleet's key, too.
    pub(crate) fn join(
        settings: &StoreSettings,
        name: Option<String>,
        pool: Pool,
        evict: impl Fn(Evict) + Send + Sync + 'static,
    ) -> anyhow::Result<(Fleet, StaticKey)> {
        let name = name.map_or_else(own_name, Ok)?;
        let join = Join {
            address: settings.address.clone(),
            tls: settings.tls.clone(),
            name: name.clone(),
            instance: tag(),
            pool,
            new_key: StaticKey::generate(&mut entropy())?,
            evict: Box::new(evict),
        };
        let (member, key) = Member::join(join).map_err(|error| match error {
            JoinError::Ledger(error) => said(error),
            JoinError::NameTaken(_) => failure(Code::Taken, error.to_string()),
            JoinError::System(_) => error.into(),
        })?;
        Ok((Fleet { member, pool, name }, key))
    }

    /// Tells the fleet where devices reach this gateway, and starts the thread that speaks to the
    /// store.
    pub(crate) fn start(&self, reach: &Reach) -> anyhow::Result<()> {
        let text = |all: &[Endpoint]| all.iter().map(ToString::to_string).collect();
        let reach = ropewalk_fleet::Reach { endpoints: text(&reach.endpoints), tls: text(&reach.tls) };
        self.member.start(reach).context("a thread cannot be started")
    }
}

/// What this machine is called.
fn own_name() -> anyhow::Result<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() {
        return Err(failure(Code::Usage, "this machine has no name: name the gateway with --name"));
    }
    Ok(name.to_owned())
}

impl Store for Fleet {
    fn is_ready(&self, key: &PublicKey, hello: &ClientHello) -> bool {
        self.member.is_ready(key, (hello.invite, &hello.secret))
    }

    fn admit(&self, key: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let (ipv4, ipv6) = self.member.admit(key, (hello.invite, &hello.secret))?;
        let (ipv4, ipv6) = (self.pool.inner_v4(ipv4), self.pool.inner_v6(ipv6));
        Ok(Admission { ipv4, ipv6, networks: Vec::new(), device: 0 })
    }

    fn name_of(&self, key: &PublicKey) -> Option<String> {
        self.member.name_of(key)
    }

    fn came(&self, key: &PublicKey) {
        self.member.came(key);
    }

    fn went(&self, key: &PublicKey) {
        self.member.went(key);
    }

    fn meters(&self) -> bool {
        true
    }

    fn used(&self, of: &[(PublicKey, Usage)]) {
        self.member.used(of);
    }

    fn accounts(&self, today: Date) -> Vec<Account> {
        self.member.accounts_here(today)
    }

    fn set_quota(&self, client: &str, quota: Option<Quota>) -> anyhow::Result<()> {
        self.member.set_quota(client, quota).map_err(said)
    }

    fn grants(&self, known: Option<GrantsVersion>) -> Option<GrantsHere> {
        self.member.grants(known)
    }

    fn change_grants(&self, change: Change, here: Circumstances) -> anyhow::Result<String> {
        check_in_fleet(&change, &self.member.read(|copy| reached(copy.gateways().map(|(_, g)| g))))?;
        let names = change.names();
        let judge = move |now: &FleetGrants| judge_in_fleet(&change, &here, now);
        self.member.change_grants(names, tag(), judge).map_err(said)?
    }

    fn lacks(&self, exits: Vec<String>) {
        self.member.lacks(exits);
    }

    fn inside_of_all(&self) -> Vec<KnownClient> {
        self.member.inside_of_all().iter().map(|(name, inside)| client_inside(name, inside)).collect()
    }

    fn inside_here(&self) -> Vec<KnownClient> {
        self.member.inside_here().iter().map(|(name, inside)| client_inside(name, inside)).collect()
    }

    fn drain(&self, draining: bool) {
        self.member.drain(draining);
    }

    fn status(&self) -> Option<FleetStatus> {
        Some(FleetStatus::new(self.member.report()))
    }

    fn known(&self) -> Vec<KnownClient> {
        self.page(None, usize::MAX).0
    }

    fn page(&self, after: Option<&str>, most: usize) -> (Vec<KnownClient>, usize) {
        let (mut clients, today) = (Vec::new(), today());
        self.member.each_client(after, |copy, name, client| {
            if clients.len() >= most {
                return ControlFlow::Break(());
            }
            clients.push(known_client(copy, name, client, today));
            ControlFlow::Continue(())
        });
        (clients, self.member.read(Copy::count_invited))
    }

    fn is_known(&self, name: &str) -> bool {
        self.member.read(|copy| copy.client(name).is_some_and(|client| !client.revoked))
    }

    fn reach(&self) -> Option<Reach> {
        Some(self.member.read(|copy| {
            let mut all: Vec<_> = copy.gateways().collect();
            all.sort_by_key(|(name, _)| *name != self.name);
            reach(all.into_iter().map(|(_, gateway)| gateway))
        }))
    }

    fn keep_record(&self, key: &PublicKey, record: String) {
        self.member.keep_record(key, record);
    }

    fn signed_records(&self) -> anyhow::Result<Vec<SignedRecord>> {
        self.member.signed_records().map_err(said)
    }

    fn leave(&self) {
        self.member.leave();
    }

    fn invite(&self, name: &str, id: InviteId, secret: &InviteSecret) -> anyhow::Result<()> {
        self.member.invite(name, id, secret).map_err(said)
    }

    fn revoke(&self, name: &str) -> anyhow::Result<Option<PublicKey>> {
        self.member.revoke(name).map_err(said)
    }

    /// The store has what was changed before its answer comes.
    fn save(&self) -> anyhow::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_the_gateways_in_turns_and_their_own_ports_of_tls() {
        let gateway = |n: u8| GatewayRecord {
            endpoints: (0..6).map(|i| format!("10.0.{n}.{i}:4500")).collect(),
            tls: vec![format!("10.0.{n}.1:{n}443")],
            ..GatewayRecord::default()
        };
        let (one, two) = (gateway(1), gateway(2));
        let of = |most, of: fn(&GatewayRecord) -> &[String]| -> Vec<String> {
            in_turns(&[&one, &two], most, of).iter().map(ToString::to_string).collect()
        };
        let endpoints = of(ENDPOINTS_MAX, |g| &g.endpoints);
        assert_eq!(endpoints.len(), ENDPOINTS_MAX);
        assert_eq!(endpoints[..3], ["10.0.1.0:4500", "10.0.2.0:4500", "10.0.1.1:4500"]);
        assert_eq!(of(TLS_ENDPOINTS_MAX, |g| &g.tls), ["10.0.1.1:1443", "10.0.2.1:2443"]);
    }

    #[test]
    fn nine_endpoints_are_told_the_bound() {
        let settings = StoreSettings::new(Some("etcd://127.0.0.1:1/x".parse().unwrap()), None, None, None)
            .unwrap()
            .unwrap();
        let nine: Vec<Endpoint> = (1..10).map(|n| format!("10.0.0.{n}:4500").parse().unwrap()).collect();
        let error = settings.invite("alice", &nine).unwrap_err().to_string();
        assert!(error.contains("1 to 8 endpoints"), "{error}");
    }
}
