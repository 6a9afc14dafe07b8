//! More clients than a page has, and many who come at once, over a real etcd.

use crate::common::{Cluster, LIMIT, eventually, has_etcd};
use ropewalk_fleet::{ClientRecord, Evict, Ledger, Member, block_on};
use ropewalk_session::{InviteId, InviteSecret, PublicKey};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::mpsc::Receiver;

/// Some pages, and no whole number of them.
const CLIENTS: u32 = 3010;

fn bytes<const N: usize>(n: u32) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    bytes
}

fn key(n: u32) -> PublicKey {
    PublicKey(bytes(n))
}

/// The address of the client `n`, the first of the pool for the first.
fn address(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 77, 0, 2)) + n)
}

/// A client that came, with a name like some others' and unlike most.
fn client(n: u32) -> (String, ClientRecord) {
    let place = ["client", "c", "berlin-", "bern-"][n as usize % 4];
    let record = ClientRecord {
        invite: bytes(n),
        fingerprint: InviteSecret(bytes(n)).fingerprint(),
        key: Some(key(n)),
        ipv4: Some(address(n)),
        ipv6: None,
        revoked: false,
    };
    (format!("{place}{n}"), record)
}

fn import(cluster: &Cluster, clients: &[(String, ClientRecord)]) -> bool {
    let mut ledger = cluster.ledger(0, None);
    let mut all = true;
    for some in clients.chunks(Ledger::IMPORT) {
        all &= block_on(ledger.import(some)).unwrap();
    }
    all
}

fn join(cluster: &Cluster, name: &str) -> (Member, Receiver<Evict>) {
    let (member, _, told) = crate::common::join(cluster.address(0), None, [name; 2], "10.77.0.1/16").unwrap();
    (member, told)
}

fn is_ready(member: &Member, n: u32) -> bool {
    member.is_ready(&key(n), (InviteId(bytes(n)), &InviteSecret(bytes(n))))
}

/// The address that a device is given.
fn come(member: &Member, n: u32) -> Ipv4Addr {
    eventually("an answer", || is_ready(member, n));
    member.admit(&key(n), (InviteId(bytes(n)), &InviteSecret(bytes(n)))).unwrap().0
}

fn invite(cluster: &Cluster, n: u32) {
    let secret = InviteSecret(bytes(n));
    block_on(cluster.ledger(0, None).invite(&format!("new{n}"), InviteId(bytes(n)), &secret)).unwrap();
}

#[test]
fn a_gateway_knows_all_of_many_pages_and_gives_out_what_is_free() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let clients: Vec<(String, ClientRecord)> = (0..CLIENTS).map(client).collect();
    assert!(import(&cluster, &clients));
    assert!(import(&cluster, &clients[..3]), "it was done already");
    let (_, taken) = client(5);
    let another = ClientRecord { invite: bytes(90_000), key: Some(key(90_000)), ..taken };
    assert!(!import(&cluster, &[("another".into(), another)]), "its address is another's");
    let longer = [client(0), client(90_001)];
    assert!(!import(&cluster, &longer), "the first is there, and the other is not");

    let (a, told) = join(&cluster, "a");
    assert_eq!(a.read(|copy| copy.clients().count()), clients.len());
    (0..CLIENTS).for_each(|n| assert_eq!(come(&a, n), address(n), "{n}"));
    let named = block_on(cluster.ledger(0, None).read()).unwrap();
    assert!(named.clients().map(|(name, _)| name).is_sorted() && named.client("another").is_none());

    invite(&cluster, 100_000);
    assert_eq!(come(&a, 100_000), address(CLIENTS), "the first free one");
    block_on(cluster.ledger(0, None).revoke(&clients[7].0)).unwrap();
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(key(7))));
    invite(&cluster, 100_001);
    assert_eq!(come(&a, 100_001), address(7), "it is free again");
}

#[test]
fn many_who_leave_take_their_records_along_and_nobody_elses() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let all = 0..250;
    let clients: Vec<(String, ClientRecord)> = all.clone().map(client).collect();
    assert!(import(&cluster, &clients));
    let ((a, told), (b, _)) = (join(&cluster, "a"), join(&cluster, "b"));
    let served = |by: &str| {
        a.read(|copy| {
            let is_by = |(name, _): &(&str, _)| copy.serving(name).is_some_and(|s| s.gateway == by);
            copy.clients().filter(is_by).count()
        })
    };
    all.clone().for_each(|n| a.came(&key(n)));
    eventually("all are here", || served("a") == 250);
    b.came(&key(7));
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Elsewhere(key(7))));
    all.for_each(|n| a.went(&key(n)));
    a.came(&key(3));
    eventually("they left but one", || (served("a"), served("b")) == (1, 1));
}

#[test]
fn who_come_at_once_at_two_gateways_get_in_each_with_an_address() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let gateways = ["a", "b"].map(|name| join(&cluster, name));
    let all = 0..100;
    all.clone().for_each(|n| invite(&cluster, n));
    let at = |n: u32| &gateways[n as usize % 2].0;
    eventually("all are in", || all.clone().filter(|n| is_ready(at(*n), *n)).count() == 100);
    let given: BTreeSet<Ipv4Addr> = all.clone().map(|n| come(at(n), n)).collect();
    assert_eq!(given.len(), 100);
    let copy = block_on(cluster.ledger(0, None).read()).unwrap();
    let in_store: BTreeSet<Ipv4Addr> = copy.clients().filter_map(|(_, client)| client.ipv4).collect();
    assert_eq!(in_store, given, "and the store says so, too");
}
