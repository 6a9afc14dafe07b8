//! The client registry as the engine and the control socket share it.

use super::grants::{Change, Circumstances};
use crate::config::RoutedSubnets;
use crate::report::fleet::FleetStatus;
use crate::state::StateDir;
use crate::state::clients::KnownClient;
use crate::state::pool::Pool;
use crate::store::{Directory, Reach, Store};
use ipnet::IpNet;
use jiff::civil::Date;
use ropewalk_bond::api::{Admission, Registry};
use ropewalk_fleet::{Account, GrantsHere, GrantsVersion, Quota, SignedRecord, Usage};
use ropewalk_session::{BackhaulEnd, ClientHello, InviteId, InviteSecret, PublicKey, Refusal};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle on the one registry, wherever it is kept.
#[derive(Clone, Debug)]
pub(crate) struct SharedClients {
    store: Arc<dyn Store>,
    /// Networks that may lie behind clients, by their names.
    networks: Arc<BTreeMap<String, Vec<IpNet>>>,
    /// Where clients have their addresses, and networks behind them, from; a fleet gives no networks.
    pool: Pool,
    /// No sessions are taken.
    draining: Arc<AtomicBool>,
}

impl SharedClients {
    /// The registry in `dir`; empty at first.
    pub(crate) fn open(dir: &StateDir, pool: Pool) -> anyhow::Result<SharedClients> {
        Ok(SharedClients { pool, ..SharedClients::of(Arc::new(Directory::open(dir, pool)?)) })
    }

    /// The registry that `store` keeps.
    pub(crate) fn of(store: Arc<dyn Store>) -> SharedClients {
        SharedClients { store, networks: Arc::default(), pool: Pool::none(), draining: Arc::default() }
    }

    /// The same, where networks may lie behind some clients.
    #[must_use]
    pub(crate) fn with_networks(mut self, behind: &[RoutedSubnets]) -> SharedClients {
        let mut all = BTreeMap::<String, Vec<IpNet>>::new();
        behind.iter().for_each(|b| all.entry(b.name.clone()).or_default().extend(&b.networks));
        self.networks = Arc::new(all);
        self
    }

    /// Networks that may lie behind clients, by their names: those that are named for them, and those
    /// that these clients, with their addresses inside, have from the pool.
    pub(crate) fn behind<'a>(
        &self,
        clients: impl IntoIterator<Item = (&'a str, &'a [IpAddr])>,
    ) -> Cow<'_, BTreeMap<String, Vec<IpNet>>> {
        let mut all = Cow::Borrowed(&*self.networks);
        for (name, inside) in clients {
            if let Some(network) = self.network_behind(inside) {
                all.to_mut().entry(name.to_owned()).or_default().push(network);
            }
        }
        all
    }

    /// The network of the pool behind the client with these addresses.
    fn network_behind(&self, inside: &[IpAddr]) -> Option<IpNet> {
        inside.iter().find_map(|address| match address {
            IpAddr::V6(address) => self.pool.network_behind(*address).map(IpNet::V6),
            IpAddr::V4(_) => None,
        })
    }

    /// Clients with the networks behind them.
    fn with_network(&self, mut clients: Vec<KnownClient>) -> Vec<KnownClient> {
        clients.iter_mut().for_each(|client| client.network = self.network_behind(&client.inside));
        clients
    }

    /// The networks that a client says it has, as far as they are expected.
    fn expected(&self, name: Option<&str>, hello: &ClientHello) -> Result<Vec<IpNet>, Refusal> {
        let told = BackhaulEnd::of(&hello.extensions).map(|h| h.networks).unwrap_or_default();
        let is_expected = |n: &IpNet| name.is_some_and(|name| is_its(&self.networks, name, n));
        if told.iter().all(is_expected) { Ok(told) } else { Err(Refusal::Network) }
    }

    /// What the client with this key is called.
    pub(crate) fn name_of(&self, key: &PublicKey) -> Option<String> {
        self.store.name_of(key)
    }

    /// Who may come in.
    pub(crate) fn known(&self) -> Vec<KnownClient> {
        self.with_network(self.store.known())
    }

    /// Those who may come in, by name after this one, so many at most; and how many there are in all.
    pub(crate) fn page(&self, after: Option<&str>, most: usize) -> (Vec<KnownClient>, usize) {
        let (clients, total) = self.store.page(after, most);
        (self.with_network(clients), total)
    }

    /// Whether a client of this name may come in.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.store.is_known(name)
    }

    /// Where all gateways of the fleet are, this one first; `None` where there is no fleet.
    pub(crate) fn fleet_reach(&self) -> Option<Reach> {
        self.store.reach()
    }

    /// The gateway stops.
    pub(crate) fn leave(&self) {
        self.store.leave();
    }

    /// Adds an invite; returns when it will outlast this process.
    pub(crate) fn invite(&self, name: &str, id: InviteId, secret: &InviteSecret) -> anyhow::Result<()> {
        self.store.invite(name, id, secret)
    }

    /// Takes a client's right to come in, for now perhaps in memory only.
    pub(crate) fn revoke(&self, name: &str) -> anyhow::Result<Option<PublicKey>> {
        self.store.revoke(name)
    }

    /// Returns when what was changed will outlast this process.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        self.store.save()
    }

    /// A client has a session here.
    pub(crate) fn came(&self, key: &PublicKey) {
        self.store.came(key);
    }

    /// A client has none any more.
    pub(crate) fn went(&self, key: &PublicKey) {
        self.store.went(key);
    }

    /// Somebody wants to know what clients use.
    pub(crate) fn meters(&self) -> bool {
        self.store.meters()
    }

    /// How the clients with a quota stand on the day `today`; in a fleet, those who are served
    /// here.
    pub(crate) fn accounts(&self, today: Date) -> Vec<Account> {
        self.store.accounts(today)
    }

    /// Gives a client a quota, or takes it; returns when it will outlast this process.
    pub(crate) fn set_quota(&self, client: &str, quota: Option<Quota>) -> anyhow::Result<()> {
        self.store.set_quota(client, quota)
    }

    /// What a fleet grants, where that is other than at the version `known`.
    pub(crate) fn grants(&self, known: Option<GrantsVersion>) -> Option<GrantsHere> {
        self.store.grants(known)
    }

    /// Changes what a fleet grants; returns what there is to say when the store has it.
    pub(crate) fn change_grants(&self, change: Change, here: Circumstances) -> anyhow::Result<String> {
        self.store.change_grants(change, here)
    }

    /// By these exits nothing leaves here, for the others of a fleet to know.
    pub(crate) fn lacks(&self, exits: Vec<String>) {
        self.store.lacks(exits);
    }

    /// Who may come in, with the addresses inside alone.
    pub(crate) fn inside_of_all(&self) -> Vec<KnownClient> {
        self.store.inside_of_all()
    }

    /// The same of those alone whom this gateway may carry packets to.
    pub(crate) fn inside_here(&self) -> Vec<KnownClient> {
        self.store.inside_here()
    }

    /// What clients have used since the last call.
    pub(crate) fn used(&self, of: &[(PublicKey, Usage)]) {
        self.store.used(of);
    }

    /// An access point of a bunch and this gateway have signed a record. For the data loop.
    pub(crate) fn keep_record(&self, key: &PublicKey, record: String) {
        self.store.keep_record(key, record);
    }

    /// The last of these at each gateway of a fleet.
    pub(crate) fn signed_records(&self) -> anyhow::Result<Vec<SignedRecord>> {
        self.store.signed_records()
    }

    /// How the gateway stands in its fleet, if it has one.
    pub(crate) fn fleet_status(&self) -> Option<FleetStatus> {
        self.store.status()
    }

    /// Takes no sessions from now on, or takes them again.
    pub(crate) fn drain(&self, draining: bool) {
        self.draining.store(draining, Ordering::Relaxed);
        self.store.drain(draining);
    }

    /// No sessions are taken.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// Of networks within each other the narrowest counts, as in the firewall: a network is of those named
/// for this client, and of no narrower one that is named for another.
fn is_its(all: &BTreeMap<String, Vec<IpNet>>, name: &str, told: &IpNet) -> bool {
    let narrowest = |named: &Vec<IpNet>| {
        named.iter().map(IpNet::trunc).filter(|n| n.contains(told)).map(|n| n.prefix_len()).max()
    };
    let own = all.get(name).and_then(narrowest);
    own.is_some() && all.values().all(|named| narrowest(named) <= own)
}

impl Registry for SharedClients {
    fn is_ready(&mut self, client: &PublicKey, hello: &ClientHello) -> bool {
        !self.is_draining() && self.store.is_ready(client, hello)
    }

    fn admit(&mut self, client: &PublicKey, hello: &ClientHello) -> Result<Admission, Refusal> {
        let said = |refusal: &Refusal| tracing::info!(%client, ?refusal, "a device was refused");
        let admission = self.store.admit(client, hello).inspect_err(said)?;
        let name = self.name_of(client);
        let mut networks = self.expected(name.as_deref(), hello).inspect_err(said)?;
        let given = admission.ipv6.and_then(|v6| self.pool.network_behind(v6.client));
        networks.extend(given.map(IpNet::V6));
        Ok(Admission { networks, ..admission })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{Scratch, hello};
    use ropewalk_session::{BackhaulRole, Extensions, Layer};

    #[test]
    fn a_client_has_a_network_of_the_pool_and_it_counts_wherever_it_does() {
        let scratch = Scratch::new();
        let pool = Pool::new(&["2001:db8:100::1/56".parse().unwrap()]).unwrap().delegating();
        let mut clients = SharedClients::open(&scratch.0, pool).unwrap();
        let (invite, secret) = (InviteId([1; 16]), InviteSecret([2; 16]));
        clients.invite("alice", invite, &secret).unwrap();
        let hello = hello(invite, secret);
        let network: IpNet = "2001:db8:100:1::/64".parse().unwrap();
        let admission = clients.admit(&PublicKey([7; 32]), &hello).unwrap();
        assert_eq!(admission.networks, [network], "what she may send from, and what goes to her");
        assert_eq!(clients.known()[0].network, Some(network));
        assert_eq!(clients.page(None, 9).0[0].network, Some(network));
        let known = clients.known();
        let behind = clients.behind(known.iter().map(KnownClient::named));
        assert_eq!(behind.into_owned(), BTreeMap::from([("alice".to_owned(), vec![network])]));
    }

    #[test]
    fn a_client_takes_no_network_that_is_named_for_another() {
        let nets = |all: &[&str]| all.iter().map(|n| n.parse().unwrap()).collect::<Vec<IpNet>>();
        let named = |name: &str, all: &[&str]| RoutedSubnets { name: name.into(), networks: nets(all) };
        let scratch = Scratch::new();
        let clients = SharedClients::open(&scratch.0, Pool::none()).unwrap();
        let clients = clients.with_networks(&[
            named("alice", &["10.0.0.0/8"]),
            named("bob", &["10.9.0.1/16", "192.168.8.0/24"]),
            named("carol", &["192.168.8.0/24"]),
        ]);
        let expected = |name: Option<&str>, told: &[&str]| {
            let end = BackhaulEnd { role: BackhaulRole::Repeater, layer: Layer::Three, networks: nets(told) };
            let mut extensions = Extensions::default();
            end.put(&mut extensions);
            let hello = ClientHello { extensions, ..hello(InviteId([1; 16]), InviteSecret([2; 16])) };
            clients.expected(name, &hello)
        };
        for (name, told) in [
            ("alice", &["10.0.0.0/8"][..]),
            ("alice", &["10.8.0.0/15", "10.10.0.0/16"][..]),
            ("bob", &["10.9.0.0/16"][..]),
            ("bob", &["10.9.1.0/24", "192.168.8.0/24"][..]),
            ("carol", &["192.168.8.0/25"][..]),
            ("dave", &[][..]),
        ] {
            assert_eq!(expected(Some(name), told), Ok(nets(told)), "{name}");
        }
        for (name, told) in [
            (Some("alice"), &["10.9.0.0/16"][..]),
            (Some("alice"), &["10.0.0.0/8", "10.9.1.0/24"][..]),
            (Some("bob"), &["10.0.0.0/8"][..]),
            (Some("dave"), &["10.1.0.0/16"][..]),
            (None, &["10.1.0.0/16"][..]),
        ] {
            assert_eq!(expected(name, told), Err(Refusal::Network), "{name:?}: {told:?}");
        }
    }
}
