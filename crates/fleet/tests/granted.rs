//! What a fleet grants, over a real etcd: who is first has the port, it goes with its client, and
//! ends with it.

use crate::common::{Cluster, LIMIT, eventually, has_etcd};
use ropewalk_fleet::{
    ClientGrants, Evict, FleetGrants, ForwardedPort, GroupExit, LedgerError, Member, StoreError, Transport,
};
use ropewalk_session::{InviteId, InviteSecret, PublicKey};
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::sync::mpsc::Receiver;

const ALICE: PublicKey = PublicKey([1; 32]);

fn join(cluster: &Cluster, name: &str) -> (Member, Receiver<Evict>) {
    let (member, _, told) = crate::common::join(cluster.address(0), None, [name; 2], "10.77.0.1/24").unwrap();
    (member, told)
}

/// Invites a client, and lets its device in.
fn come(member: &Member, name: &str, n: u8) {
    let hello = || (InviteId([n; 16]), InviteSecret([n; 16]));
    let (id, secret) = hello();
    member.invite(name, id, &secret).unwrap();
    eventually("an answer", || {
        let (id, secret) = hello();
        member.is_ready(&PublicKey([n; 32]), (id, &secret))
    });
    let (id, secret) = hello();
    member.admit(&PublicKey([n; 32]), (id, &secret)).unwrap();
}

fn port(port: u16) -> ForwardedPort {
    let port = NonZeroU16::new(port).unwrap();
    ForwardedPort { protocol: Transport::Tcp, port, to: port, masquerade: false }
}

/// Whose a port is.
fn holder(all: &FleetGrants, port: &ForwardedPort) -> Option<String> {
    let mut holds = all.clients.iter().filter(|(_, grants)| grants.forwards.contains(port));
    holds.next().map(|(name, _)| name.clone())
}

/// A port for a client, unless somebody has it.
fn lead(
    port: ForwardedPort,
    client: &'static str,
) -> impl Fn(&FleetGrants) -> Result<(FleetGrants, ()), String> {
    move |all| match holder(all, &port) {
        Some(holder) => Err(holder),
        None => {
            let mut all = all.clone();
            all.clients.entry(client.into()).or_default().forwards.push(port.clone());
            Ok((all, ()))
        }
    }
}

fn grant(member: &Member, port: ForwardedPort, client: &'static str, tag: &str) -> Result<(), String> {
    member.change_grants(vec![client.into()], tag.into(), lead(port, client)).unwrap()
}

/// Clients with something that is granted who are served at a gateway.
fn here(member: &Member) -> Vec<String> {
    member.grants(None).unwrap().here.into_iter().collect()
}

/// All clients that are served at a gateway, whatever they are granted.
fn served(member: &Member) -> Vec<String> {
    let named = |(name, inside): (String, Vec<IpAddr>)| {
        assert!(!inside.is_empty(), "{name} has no address");
        name
    };
    member.inside_here().into_iter().map(named).collect()
}

#[test]
fn who_asks_first_has_the_port_and_the_others_are_told_who() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let gateways = [join(&cluster, "a").0, join(&cluster, "b").0];
    let names = ["alice", "bob"];
    (0..2).for_each(|n| come(&gateways[0], names[n], n as u8 + 1));
    for n in 1..=20 {
        let at_once = std::thread::scope(|s| {
            let asks = [0, 1].map(|i| {
                let (gateway, tag) = (&gateways[i], format!("{i} {n}"));
                s.spawn(move || grant(gateway, port(n), names[i], &tag))
            });
            asks.map(|ask| ask.join().unwrap())
        });
        let winner = at_once.iter().position(Result::is_ok).expect("somebody gets it");
        assert_eq!(at_once[1 - winner], Err(names[winner].to_owned()), "port {n}");
        assert!(gateways.iter().all(|g| {
            eventually("both know", || holder(&g.grants(None).unwrap().grants, &port(n)).is_some());
            holder(&g.grants(None).unwrap().grants, &port(n)).as_deref() == Some(names[winner])
        }));
    }
    let read = ropewalk_fleet::block_on(cluster.ledger(0, None).grants()).unwrap();
    let held: usize = read.clients.values().map(|grants| grants.forwards.len()).sum();
    assert_eq!(held, 20, "each once: {read:?}");
}

#[test]
fn grants_go_with_their_client_and_end_with_it() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let ((a, from_a), (b, _)) = (join(&cluster, "a"), join(&cluster, "b"));
    come(&a, "alice", 1);
    a.came(&ALICE);
    assert!(here(&a).is_empty(), "nothing is granted yet");
    assert!(served(&a) == ["alice"] && served(&b).is_empty());
    let eve = b.change_grants(vec!["eve".into()], "0".into(), lead(port(80), "eve"));
    assert!(matches!(eve, Err(LedgerError::UnknownName(_))), "{eve:?}");
    // Asked of the gateway that does not serve her.
    grant(&b, port(80), "alice", "1").unwrap();
    eventually("it is hers where she is", || here(&a) == ["alice"]);
    assert!(here(&b).is_empty());
    let version = a.grants(None).unwrap().version;
    assert_eq!(a.grants(Some(version)), None, "nothing has changed");
    // She moves.
    b.came(&ALICE);
    assert!(here(&b) == ["alice"] && b.grants(Some(version)).is_some());
    assert_eq!(from_a.recv_timeout(LIMIT), Ok(Evict::Elsewhere(ALICE)));
    a.went(&ALICE);
    assert!(here(&a).is_empty() && a.grants(Some(version)).is_some());
    assert!(served(&a).is_empty() && served(&b) == ["alice"]);
    // An exit that a gateway lacks is said by all.
    let warns = || b.report().warnings.iter().any(|w| w.starts_with("exit wan2 leads nowhere at a: "));
    assert!(!warns());
    a.lacks(vec!["wan2".into()]);
    eventually("it is said", warns);
    a.lacks(Vec::new());
    eventually("it is there", || !warns());
    // Out on one: nothing is left, and the next of that name has nothing.
    a.revoke("alice").unwrap();
    assert_eq!(cluster.value("/test/fleet/grant/alice"), None);
    eventually("nothing is granted", || b.grants(None).unwrap().grants == FleetGrants::default());
    b.went(&ALICE);
    come(&b, "alice", 3);
    assert!(b.grants(None).unwrap().grants.clients.is_empty());
    grant(&a, port(80), "alice", "2").unwrap();
}

#[test]
fn without_the_store_what_is_granted_stays_and_changes_are_refused() {
    if !has_etcd() {
        return;
    }
    let mut cluster = Cluster::start(1);
    let (a, _) = join(&cluster, "a");
    come(&a, "alice", 1);
    a.came(&ALICE);
    grant(&a, port(80), "alice", "1").unwrap();
    cluster.back_up();
    grant(&a, port(81), "alice", "2").unwrap();
    cluster.hold(0);
    let late = a.change_grants(vec!["alice".into()], "3".into(), lead(port(82), "alice"));
    assert!(matches!(late, Err(LedgerError::Store(StoreError::Gone(_)))), "{late:?}");
    let forwards = || a.grants(None).unwrap().grants.clients.get("alice").map(|g| g.forwards.clone());
    assert_eq!(forwards(), Some(vec![port(80), port(81)]));
    cluster.release(0);
    eventually("it is back", || a.report().reachable);
    // Restored: what was granted since the backup is not, as with all else.
    cluster.restore();
    eventually("as the store says", || forwards() == Some(vec![port(80)]));
    eventually("she is here", || here(&a) == ["alice"]);
}

#[test]
fn a_group_of_many_changes_whole_and_its_exit_ends_with_it() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let mut ledger = cluster.ledger(0, None);
    let names: Vec<String> = (0..120).map(|n| format!("c{n:03}")).collect();
    let group = |all: &FleetGrants, is_in: bool| {
        let mut all = all.clone();
        if is_in {
            let grants = ClientGrants { groups: ["home".into()].into(), ..ClientGrants::default() };
            all.clients = names.iter().map(|name| (name.clone(), grants.clone())).collect();
            all.group_exits.insert("home".into(), GroupExit { interface: "wan2".into() });
        } else {
            all = FleetGrants::default();
        }
        Ok::<_, ()>((all, ()))
    };
    let (all, none) = ropewalk_fleet::block_on(async {
        for (n, name) in names.iter().enumerate() {
            ledger.invite(name, InviteId([n as u8 + 1; 16]), &InviteSecret([1; 16])).await?;
        }
        ledger.change_grants(&names, "1", |all| group(all, true)).await?.unwrap();
        let all = ledger.grants().await?;
        ledger.change_grants(&[], "2", |all| group(all, false)).await?.unwrap();
        Ok::<_, LedgerError>((all, ledger.grants().await?))
    })
    .unwrap();
    assert_eq!((all.clients.len(), all.group_exits.len()), (120, 1));
    assert_eq!(none, FleetGrants::default());
    assert_eq!(cluster.value("/test/fleet/exit/home"), None);
}

#[test]
fn a_damaged_grant_keeps_its_client_in_until_the_exit_is_set_or_removed() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let (a, _) = join(&cluster, "a");
    come(&a, "alice", 1);
    let exit = || a.grants(None).unwrap().grants.clients.get("alice").and_then(|g| g.exit.clone());
    cluster.put(b"/test/fleet/grant/alice", b"{");
    eventually("she leaves by nothing", || exit().as_deref() == Some("damaged-record"));
    grant(&a, port(80), "alice", "1").unwrap();
    assert_eq!(exit().as_deref(), Some("damaged-record"), "another grant does not let her out");
    let remove = |all: &FleetGrants| {
        let mut all = all.clone();
        all.clients.entry("alice".into()).or_default().exit = None;
        Ok::<_, String>((all, ()))
    };
    a.change_grants(vec!["alice".into()], "2".into(), remove).unwrap().unwrap();
    eventually("she leaves again", || exit().is_none());
    assert!(holder(&a.grants(None).unwrap().grants, &port(80)).is_some());
}
