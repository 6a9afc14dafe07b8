//! Gateways of a fleet over a real etcd: what one does, the others know; without the store, what is
//! known goes on.

use crate::common::{Certificates, Cluster, LIMIT, Place, eventually, has_etcd};
use ropewalk_fleet::{
    Etcd, Evict, JoinError, LedgerError, Member, Period, Quota, StoreAddress, StoreError, TlsFiles, Usage,
    today,
};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal, StaticKey};
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

fn joined(
    address: StoreAddress,
    tls: Option<TlsFiles>,
    name: &str,
    network: &str,
) -> Result<(Member, StaticKey, Receiver<Evict>), JoinError> {
    crate::common::join(address, tls, [name, &format!("{name}-{:?}", Instant::now())], network)
}

fn join(cluster: &Cluster, name: &str, first: usize) -> (Member, Receiver<Evict>) {
    let (member, _, told) = joined(cluster.address(first), None, name, "10.77.0.1/24").unwrap();
    (member, told)
}

fn invite(member: &Member, name: &str, n: u8) {
    member.invite(name, InviteId([n; 16]), &InviteSecret([n; 16])).unwrap();
}

/// A gateway that has invited alice and bob.
fn with_two(cluster: &Cluster) -> Member {
    let (member, _) = join(cluster, "a", 0);
    invite(&member, "alice", 1);
    invite(&member, "bob", 2);
    member
}

fn is_ready(member: &Member, device: u8, n: u8) -> bool {
    member.is_ready(&PublicKey([device; 32]), (InviteId([n; 16]), &InviteSecret([n; 16])))
}

/// A device knocks until it is answered.
fn knock(member: &Member, device: u8, n: u8) -> Result<Ipv4Addr, Refusal> {
    eventually("an answer", || is_ready(member, device, n));
    member.admit(&PublicKey([device; 32]), (InviteId([n; 16]), &InviteSecret([n; 16]))).map(|a| a.0)
}

#[test]
fn what_one_gateway_does_the_others_know() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let (a, from_a) = join(&cluster, "a", 0);
    let (b, from_b) = join(&cluster, "b", 0);
    assert!(!a.report().gateways.is_empty() || a.report().reachable);
    // Whoever makes a token at once finds both.
    let all = ropewalk_fleet::block_on(cluster.ledger(0, None).gateways()).unwrap();
    let named = |name: &str| all.iter().any(|g| g.endpoints == [format!("{name}.example:4500")]);
    assert!(named("a") && named("b"), "{all:?}");
    eventually("both are seen", || b.report().gateways.len() == 2 && a.report().gateways.len() == 2);
    invite(&a, "alice", 1);
    assert!(matches!(
        b.invite("alice", InviteId([2; 16]), &InviteSecret([2; 16])),
        Err(LedgerError::NameTaken(_))
    ));
    let address = knock(&a, 1, 1).unwrap();
    assert_eq!(knock(&b, 1, 1), Ok(address), "its address is the same everywhere");
    assert_eq!(knock(&b, 2, 1), Err(Refusal::TokenInUse));
    assert_eq!(knock(&b, 3, 9), Err(Refusal::UnknownInvite));
    let alice = PublicKey([1; 32]);
    a.came(&alice);
    eventually("who serves alice", || b.read(|c| c.serving("alice").is_some_and(|s| s.gateway == "a")));
    // She moves.
    b.came(&alice);
    assert_eq!(from_a.recv_timeout(LIMIT), Ok(Evict::Elsewhere(alice)));
    a.went(&alice);
    a.used(&[(alice, Usage { from_client: 5, to_client: 7 })]);
    b.used(&[(alice, Usage { from_client: 100, to_client: 0 })]);
    eventually("what she used at both", || a.read(|c| c.used("alice", None).total()) == 112);
    assert!(
        a.read(|c| c.serving("alice").is_some_and(|s| s.gateway == "b")),
        "a's leaving takes nothing from b"
    );
    b.drain(true);
    eventually("b drains", || {
        a.report().gateways.iter().any(|g| g.name == "b" && g.draining && g.clients == 1)
    });
    assert!(!is_ready(&b, 1, 1), "a gateway that drains says nothing");
    b.drain(false);
    assert!(is_ready(&b, 1, 1));
    // Out on one, out on all.
    let before = Instant::now();
    assert_eq!(a.revoke("alice").unwrap(), Some(alice));
    assert_eq!(from_b.recv_timeout(LIMIT), Ok(Evict::Revoked(alice)));
    println!("revoked on the other gateway after {:?}", before.elapsed());
    assert_eq!(knock(&b, 1, 1), Err(Refusal::Revoked));
    b.went(&alice);
    invite(&b, "alice", 4);
    assert_eq!(knock(&a, 5, 4), Ok(address), "the address is free again");
    assert!(matches!(a.revoke("bob"), Err(LedgerError::UnknownName(_))));
    // A figure outlives its gateway, and goes on from where it was.
    b.used(&[(PublicKey([5; 32]), Usage { from_client: 1, to_client: 0 })]);
    drop(b);
    eventually("b is gone", || a.report().gateways.len() == 1);
    assert_eq!(a.read(|c| c.used("alice", Some("b")).total()), 101);
    let (b, _) = join(&cluster, "b", 0);
    b.used(&[(PublicKey([5; 32]), Usage { from_client: 1, to_client: 0 })]);
    drop(b);
    eventually("it goes on", || a.read(|c| c.used("alice", Some("b")).total()) == 102);
}

#[test]
fn without_the_store_what_is_known_goes_on_and_new_invites_wait() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let (a, from_a) = join(&cluster, "a", 0);
    for (n, name) in ["alice", "bob"].into_iter().enumerate() {
        invite(&a, name, n as u8 + 1);
    }
    let address = knock(&a, 1, 1).unwrap();
    let alice = PublicKey([1; 32]);
    a.came(&alice);
    eventually("it is written", || a.read(|c| c.serving("alice").is_some()));
    cluster.hold(0);
    eventually("its absence is said", || !a.report().reachable);
    assert_eq!(knock(&a, 1, 1), Ok(address), "who is known comes in");
    assert!(!is_ready(&a, 2, 2) && a.report().waiting == 1, "who is not, waits");
    let failed = a.invite("carol", InviteId([3; 16]), &InviteSecret([3; 16]));
    assert!(matches!(failed, Err(LedgerError::Store(StoreError::Gone(_)))), "{failed:?}");
    // All that took longer than the lease: the store takes the gateway for dead.
    cluster.release(0);
    let second = knock(&a, 2, 2).unwrap();
    assert_ne!(second, address);
    assert_eq!(knock(&a, 3, 2), Err(Refusal::TokenInUse), "nothing was given out twice");
    eventually("it is back", || a.report().reachable && a.report().gateways.len() == 1);
    eventually("and serves alice", || a.read(|c| c.serving("alice").is_some_and(|s| s.gateway == "a")));
    assert!(from_a.try_recv().is_err(), "nobody had to go");
}

#[test]
fn a_node_that_is_cut_off_is_left_for_another() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(3);
    let (a, from_a) = join(&cluster, "a", 0);
    let (b, _) = join(&cluster, "b", 1);
    invite(&b, "alice", 1);
    knock(&a, 1, 1).unwrap();
    a.came(&PublicKey([1; 32]));
    cluster.hold(0);
    // b may speak to the node that is held no more than a does.
    eventually("it is revoked", || b.revoke("alice").is_ok());
    assert_eq!(from_a.recv_timeout(LIMIT), Ok(Evict::Revoked(PublicKey([1; 32]))));
    cluster.release(0);
}

/// Its lease outlasts a member that says nothing, and with it what stands under the lease.
#[test]
fn a_gateway_keeps_its_name_when_its_node_falls_silent() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(3);
    // A leader that falls silent makes leases longer: one of these two nodes is none.
    for node in [1, 2] {
        let name = format!("at-{node}");
        let (_member, _) = join(&cluster, &name, node);
        let before = cluster.made(&format!("/test/fleet/gateway/{name}"));
        assert!(before.is_some());
        cluster.hold(node);
        std::thread::sleep(Duration::from_secs(8));
        assert_eq!(cluster.made(&format!("/test/fleet/gateway/{name}")), before, "node {node}");
        cluster.release(node);
    }
}

#[test]
fn certificates_decide_who_speaks_to_the_store() {
    if !has_etcd() {
        return;
    }
    let place = Place::new();
    let own = Certificates::make(&place.0, "own", "127.0.0.1");
    let other = Certificates::make(&place.0, "other", "127.0.0.1");
    let cluster = Cluster::with_tls(place, &own);
    let address = cluster.address(0);
    let (a, key, _) = joined(address.clone(), Some(own.for_client()), "a", "10.77.0.1/24").unwrap();
    let (b, same, _) = joined(address.clone(), Some(own.for_client()), "b", "10.77.0.1/24").unwrap();
    assert_eq!(key.public(), same.public(), "a fleet has one key");
    invite(&a, "alice", 1);
    knock(&b, 1, 1).unwrap();
    for (tls, who) in [
        (TlsFiles { ca: own.ca.clone(), own: None }, "nobody"),
        (TlsFiles { ca: own.ca.clone(), own: other.for_client().own }, "a client of another world"),
        (TlsFiles { ca: other.ca.clone(), own: own.for_client().own }, "one who trusts another world"),
    ] {
        let read = ropewalk_fleet::block_on(cluster.ledger(0, Some(&tls)).read());
        assert!(matches!(read, Err(LedgerError::Store(StoreError::Gone(_)))), "{who}: {read:?}");
    }
    let missing = TlsFiles { ca: own.ca.with_extension("none"), own: None };
    assert!(matches!(Etcd::new(&address, Some(&missing)), Err(StoreError::File { .. })));
}

#[test]
fn a_gateway_that_does_not_fit_is_told_so() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let (_a, _) = join(&cluster, "a", 0);
    let other = joined(cluster.address(0), None, "b", "10.88.0.1/24").map(drop);
    assert!(matches!(other, Err(JoinError::Ledger(LedgerError::Network { .. }))), "{other:?}");
    let bad = joined(cluster.address(0), None, "no/name", "10.77.0.1/24").map(drop);
    assert!(matches!(bad, Err(JoinError::Ledger(LedgerError::BadName))), "{bad:?}");
    eventually("a is there", || {
        ropewalk_fleet::block_on(cluster.ledger(0, None).read()).is_ok_and(|c| c.gateways().count() == 1)
    });
    let view = ropewalk_fleet::block_on(cluster.ledger(0, None).overview()).unwrap();
    assert!(view.len() == 1 && view[0].name == "a" && view[0].lease_s > 0, "{view:?}");
    let twice = joined(cluster.address(0), None, "a", "10.77.0.1/24").map(drop);
    assert!(matches!(twice, Err(JoinError::NameTaken(_))), "{twice:?}");
    let clear = Etcd::new(&"etcd://10.0.0.1:2379/x".parse().unwrap(), None);
    assert!(matches!(clear, Err(StoreError::Clear)), "{clear:?}");
}

/// What the client with a quota that is here has used, and whether that is all of it.
fn used(member: &Member) -> Option<(u64, bool)> {
    member.accounts_here(today()).first().map(|account| (account.used, account.is_over()))
}

#[test]
fn a_quota_counts_at_all_gateways_and_goes_with_its_client() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let (a, from_a) = join(&cluster, "a", 0);
    let (b, _) = join(&cluster, "b", 0);
    invite(&a, "alice", 1);
    let (alice, quota) = (PublicKey([1; 32]), |bytes| Quota { bytes, per: Period::Month, then_bps: None });
    for member in [&a, &b] {
        knock(member, 1, 1).unwrap();
    }
    let use_of = |bytes| [(alice, Usage { from_client: bytes, to_client: 0 })];
    // Before there is a quota, too.
    b.used(&use_of(100));
    a.came(&alice);
    assert_eq!(used(&a), None);
    assert!(matches!(a.set_quota("eve", Some(quota(1000))), Err(LedgerError::UnknownName(_))));
    assert!(matches!(a.set_quota("alice", None), Err(LedgerError::NoQuota(_))));
    b.set_quota("alice", Some(quota(1000))).unwrap();
    eventually("both count", || used(&a) == Some((100, false)));
    assert_eq!(used(&b), None, "she is elsewhere");
    a.used(&use_of(500));
    assert_eq!(used(&a), Some((600, false)), "what was used here counts at once");
    b.used(&use_of(400));
    eventually("it is used up", || used(&a) == Some((1000, true)));
    eventually("what a has is written", || b.read(|c| c.used("alice", Some("a")).total()) == 500);
    assert_eq!(used(&a), Some((1000, true)), "written, it counts once");
    // She goes to another gateway, and is over there.
    b.came(&alice);
    assert_eq!(from_a.recv_timeout(LIMIT), Ok(Evict::Elsewhere(alice)));
    a.went(&alice);
    assert_eq!((used(&a), used(&b)), (None, Some((1000, true))));
    let accounts = |c: &ropewalk_fleet::Copy| c.accounts(today()).map(|a| a.used).collect::<Vec<_>>();
    let store = ropewalk_fleet::block_on(cluster.ledger(0, None).read()).unwrap();
    assert_eq!(accounts(&store), [1000], "commands see the same");
    b.set_quota("alice", Some(quota(2000))).unwrap();
    eventually("raised, she goes on", || used(&b) == Some((1000, false)));
    // A gateway that starts anew goes on from what it had.
    drop(a);
    let (a, _) = join(&cluster, "a", 0);
    a.used(&use_of(7));
    eventually("it goes on", || used(&b) == Some((1007, false)));
    b.set_quota("alice", None).unwrap();
    eventually("without a quota nobody asks", || used(&b).is_none());
    b.set_quota("alice", Some(quota(1000))).unwrap();
    b.revoke("alice").unwrap();
    assert_eq!(cluster.value("/test/fleet/quota/alice"), None, "it ends with its client");
}

#[test]
fn clients_are_looked_at_by_name_after_one_until_it_is_enough() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let a = with_two(&cluster);
    let names = |after: Option<&str>, most: usize| {
        let mut names = Vec::new();
        a.each_client(after, |_, name, _| {
            names.push(name.to_owned());
            if names.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        names
    };
    eventually("both are known", || names(None, 9) == ["alice", "bob"]);
    assert_eq!(names(None, 1), ["alice"]);
    assert_eq!(names(Some("alice"), 9), ["bob"]);
    assert!(names(Some("bob"), 9).is_empty());
}

#[test]
fn an_overview_reads_sums_and_not_each_client() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let a = with_two(&cluster);
    for n in [1, 2] {
        knock(&a, n, n).unwrap();
        a.came(&PublicKey([n; 32]));
        a.used(&[(PublicKey([n; 32]), Usage { from_client: 10, to_client: u64::from(n) })]);
    }
    let look = || {
        let view = ropewalk_fleet::block_on(cluster.ledger(0, None).overview()).unwrap();
        view.first().map(|g| (g.clients, g.used.from_client, g.used.to_client))
    };
    eventually("both are counted", || look() == Some((2, 20, 3)));
    eventually("and so they are by the gateway", || cluster.value("/test/fleet/sum/a").is_some());
    eventually("as they are one by one", || a.read(|c| c.used("alice", None).total()) == 11);
    // What each has used is not asked for, but where a gateway has said nothing.
    cluster.delete("/test/fleet/usage/alice/a");
    assert_eq!(look(), Some((2, 20, 3)));
    cluster.delete("/test/fleet/sum/a");
    assert_eq!(look(), Some((2, 10, 2)));
    // It goes on from the sum, also after a restart.
    a.used(&[(PublicKey([2; 32]), Usage { from_client: 5, to_client: 0 })]);
    eventually("it is said anew", || look() == Some((2, 25, 3)));
    drop(a);
    let (_a, _) = join(&cluster, "a", 0);
    eventually("a restart sums up anew", || look() == Some((0, 15, 2)));
}

#[test]
fn usage_of_who_is_gone_is_deleted_once_it_counts_no_more() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let a = with_two(&cluster);
    a.revoke("bob").unwrap();
    drop(a);
    let record = |since: &str| {
        let spent = format!(r#"{{"since":"{since}","bytes":5}}"#);
        format!(r#"{{"from_client":5,"to_client":0,"day":{spent},"month":{spent}}}"#)
    };
    let (old, new) = (record("2025-06-01"), record(&today().to_string()));
    let gone = [("bob", "a", &old), ("bob", "gone", &old), ("eve", "gone", &old)];
    // A client that may come in, a quota's period that goes on, a gateway that tidies by itself.
    let stays = [("alice", "gone", &old), ("bob", "recent", &new), ("bob", "lives", &old)];
    let key = |client: &str, gateway: &str| format!("/test/fleet/usage/{client}/{gateway}");
    for (client, gateway, record) in gone.into_iter().chain(stays) {
        cluster.put(key(client, gateway).as_bytes(), record.as_bytes());
    }
    cluster.put(b"/test/fleet/gateway/lives", br#"{"instance":"x","endpoints":[]}"#);
    let (_a, _) = join(&cluster, "a", 0);
    for (client, gateway, _) in gone {
        eventually("it is deleted", || cluster.value(&key(client, gateway)).is_none());
    }
    for (client, gateway, _) in stays {
        assert!(cluster.value(&key(client, gateway)).is_some(), "{client} at {gateway}");
    }
}

#[test]
fn each_gateway_knows_what_all_have_signed() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let (a, _) = join(&cluster, "a", 0);
    let (b, _) = join(&cluster, "b", 0);
    let (anna, bert) = (PublicKey([1; 32]), PublicKey([2; 32]));
    a.keep_record(&anna, "old".into());
    a.keep_record(&anna, "new".into());
    b.keep_record(&anna, "hers".into());
    b.keep_record(&bert, "his".into());
    let known = |member: &Member| {
        let all = member.signed_records().unwrap().into_iter();
        let mut all: Vec<_> = all.map(|s| (s.key, s.gateway, s.record)).collect();
        all.sort();
        all
    };
    let one = |key, gateway: &str, record: &str| (key, gateway.to_owned(), record.to_owned());
    let mut wanted = vec![one(anna, "a", "new"), one(anna, "b", "hers"), one(bert, "b", "his")];
    eventually("both know all of it", || known(&a) == wanted && known(&b) == wanted);
    // Who leaves says what is left to say.
    a.keep_record(&bert, "last".into());
    drop(a);
    wanted.insert(2, one(bert, "a", "last"));
    assert_eq!(known(&b), wanted);
}
