//! What goes wrong between a gateway and its store, one fault at a time, over a real etcd.

use crate::common::{Cluster, LIMIT, Proxy, eventually, has_etcd};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use ropewalk_fleet::{Evict, JoinError, Member, StoreAddress};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, Refusal, StaticKey};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

const ALICE: PublicKey = PublicKey([1; 32]);

fn join(address: StoreAddress, name: &str, run: u8) -> Result<(Member, Receiver<Evict>), JoinError> {
    let (member, _, told) =
        crate::common::join(address, None, [name, &format!("{name}{run}")], "10.77.0.1/24")?;
    Ok((member, told))
}

fn hello(n: u8) -> (InviteId, InviteSecret) {
    (InviteId([n; 16]), InviteSecret([n; 16]))
}

fn is_ready(member: &Member, device: u8, n: u8) -> bool {
    let (id, secret) = hello(n);
    member.is_ready(&PublicKey([device; 32]), (id, &secret))
}

/// A device gets in.
fn come(member: &Member, device: u8, n: u8) {
    eventually("an answer", || is_ready(member, device, n));
    let (id, secret) = hello(n);
    member.admit(&PublicKey([device; 32]), (id, &secret)).unwrap();
}

/// A gateway behind a proxy, and Alice, who came there.
fn world() -> Option<(Cluster, Proxy, Member, Receiver<Evict>)> {
    if !has_etcd() {
        return None;
    }
    let cluster = Cluster::start(1);
    let proxy = cluster.proxy();
    let (a, told) = join(cluster.behind(&proxy), "a", 1).unwrap();
    invite(&cluster, "alice", 1);
    come(&a, 1, 1);
    Some((cluster, proxy, a, told))
}

/// As a command does it, past the proxy.
fn invite(cluster: &Cluster, name: &str, n: u8) {
    let (id, secret) = hello(n);
    ropewalk_fleet::block_on(cluster.ledger(0, None).invite(name, id, &secret)).unwrap();
}

fn revoke(cluster: &Cluster, name: &str) {
    ropewalk_fleet::block_on(cluster.ledger(0, None).revoke(name)).unwrap();
}

/// The history before now is forgotten.
fn compact(cluster: &Cluster) {
    let mut seen = 0;
    for gateway in ["x", "y", "x"] {
        seen = ropewalk_fleet::block_on(cluster.ledger(0, None).compact(gateway, seen)).unwrap();
    }
}

fn warns(member: &Member, of: &str) -> bool {
    member.report().warnings.iter().any(|w| w.contains(of))
}

#[test]
fn who_was_revoked_in_what_is_forgotten_goes() {
    let Some((cluster, proxy, _a, told)) = world() else { return };
    proxy.cut(true);
    // What the gateway watches from is not later.
    let answer = cluster.raw("/v3/kv/range", r#"{"key":"AA=="}"#);
    let revision = answer.split(r#""revision":""#).nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let next = revision.parse::<i64>().unwrap() + 1;
    let next = format!(r#"{{"key":"AA==","range_end":"AA==","revision":"{next}"}}"#);
    revoke(&cluster, "alice");
    compact(&cluster);
    let is_kept = !cluster.raw("/v3/kv/range", &next).contains("compacted");
    assert!(!is_kept, "else the watch brings it, and nothing is read again");
    proxy.cut(false);
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(ALICE)));
}

#[test]
fn who_was_revoked_between_admission_and_arrival_goes() {
    let Some((cluster, _proxy, a, told)) = world() else { return };
    revoke(&cluster, "alice");
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(ALICE)));
    a.came(&ALICE);
    assert_eq!(told.try_recv(), Ok(Evict::Revoked(ALICE)), "at once");
}

#[test]
fn a_claim_that_tells_of_a_revocation_before_the_watch_does_ends_the_session() {
    let Some((cluster, proxy, a, told)) = world() else { return };
    a.came(&ALICE);
    proxy.silence_watches(true);
    revoke(&cluster, "alice");
    invite(&cluster, "alice", 2);
    come(&a, 2, 2);
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(ALICE)));
    proxy.silence_watches(false);
}

#[test]
fn a_device_with_a_new_invite_is_not_refused_out_of_an_old_copy() {
    let Some((cluster, proxy, a, _told)) = world() else { return };
    revoke(&cluster, "alice");
    eventually("it is known", || a.read(|c| c.client("alice").is_some_and(|c| c.revoked)));
    proxy.silence_watches(true);
    invite(&cluster, "alice-again", 3);
    come(&a, 1, 3);
    proxy.silence_watches(false);
}

#[test]
fn a_watch_that_says_nothing_is_said_and_taken_up_anew() {
    let Some((cluster, proxy, a, _told)) = world() else { return };
    // While nothing changes a silent watch has missed nothing, and nothing is to be said.
    proxy.silence_watches(true);
    invite(&cluster, "bob", 2);
    eventually("its age is said", || warns(&a, "the watch does not work"));
    assert!(a.report().reachable);
    eventually("all is read anew", || a.read(|c| c.client("bob").is_some()));
    // From now on nobody changes anything, but for the gateway itself.
    proxy.silence_watches(false);
    eventually("it works again", || a.report().warnings.is_empty());
}

#[test]
fn who_was_revoked_while_the_watch_says_nothing_goes() {
    let Some((cluster, proxy, _a, told)) = world() else { return };
    proxy.silence_watches(true);
    revoke(&cluster, "alice");
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(ALICE)));
    proxy.silence_watches(false);
}

#[test]
fn an_odd_key_is_said_and_stops_nothing() {
    let Some((cluster, _proxy, a, _told)) = world() else { return };
    cluster.put(b"/test/fleet/usage/\xff", b"x");
    cluster.put(b"/test/fleet/serving/alice", br#"{"version":9}"#);
    invite(&cluster, "bob", 2);
    eventually("the watch goes on", || a.read(|c| c.client("bob").is_some()));
    eventually("it is said", || warns(&a, "serving/alice and 1 others in the store cannot be read"));
    let (b, _) = join(cluster.address(0), "b", 2).unwrap();
    assert!(b.read(|c| c.client("bob").is_some()) && warns(&b, "cannot be read"));
}

/// What the record of before had besides, its device's key and its address, is left behind.
#[test]
fn a_device_whose_record_was_damaged_or_deleted_comes_by_a_new_invite() {
    let Some((cluster, _proxy, a, _told)) = world() else { return };
    cluster.put(b"/test/fleet/client/alice", b"{");
    invite(&cluster, "alice", 2);
    eventually("it is known", || a.read(|c| c.client("alice").is_some_and(|client| client.key.is_none())));
    come(&a, 1, 2);
    cluster.delete("/test/fleet/client/alice");
    eventually("it is known", || a.read(|c| c.client("alice").is_none()));
    invite(&cluster, "alice-again", 3);
    come(&a, 1, 3);
    assert!(a.read(|c| c.client("alice-again").is_some_and(|client| client.key == Some(ALICE))));
}

#[test]
fn an_etcd_without_room_is_said_and_known_clients_come() {
    let Some((cluster, _proxy, a, _told)) = world() else { return };
    invite(&cluster, "bob", 2);
    let alarm = |action: &str| {
        let body = format!(r#"{{"action":"{action}","memberID":"1","alarm":"NOSPACE"}}"#);
        cluster.raw("/v3/maintenance/alarm", &body);
    };
    alarm("ACTIVATE");
    eventually("it is said", || warns(&a, "NOSPACE"));
    assert!(a.report().reachable, "it answers all the same");
    come(&a, 1, 1);
    assert!(!is_ready(&a, 2, 2), "who is not known waits");
    let (b, _) = join(cluster.address(0), "b", 2).unwrap();
    come(&b, 1, 1);
    alarm("DEACTIVATE");
    come(&a, 2, 2);
    eventually("it is over", || a.report().warnings.is_empty() && b.report().gateways.len() == 2);
}

#[test]
fn of_two_gateways_of_one_name_one_begins() {
    if !has_etcd() {
        return;
    }
    let cluster = Cluster::start(1);
    let outcomes: Vec<_> = std::thread::scope(|s| {
        let both: Vec<_> = [1, 2]
            .map(|run| {
                s.spawn({
                    let address = cluster.address(0);
                    move || join(address, "a", run)
                })
            })
            .into();
        both.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let refused: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert!(matches!(refused[..], [JoinError::NameTaken(_)]), "{refused:?}");
}

/// A gateway that was killed comes back, however long the store is away meanwhile.
#[test]
fn a_name_is_waited_for_anew_when_the_store_was_gone() {
    let Some((cluster, _, a, _told)) = world() else { return };
    let proxy = cluster.proxy();
    let address = cluster.behind(&proxy);
    std::thread::scope(|s| {
        let second = s.spawn(move || join(address, "a", 2).map(|(member, _)| member));
        std::thread::sleep(Duration::from_secs(1));
        proxy.cut(true);
        std::thread::sleep(Duration::from_secs(11));
        proxy.cut(false);
        // The name is held for a while yet.
        std::thread::sleep(Duration::from_secs(2));
        drop(a);
        assert!(second.join().unwrap().is_ok());
    });
}

#[test]
fn a_name_is_free_when_its_lease_ends_and_who_lost_it_serves_nobody() {
    let Some((cluster, proxy, a, told)) = world() else { return };
    a.came(&ALICE);
    // As after kill -9: the store hears nothing more.
    proxy.cut(true);
    let (second, _) = join(cluster.address(0), "a", 2).unwrap();
    come(&second, 1, 1);
    proxy.cut(false);
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Elsewhere(ALICE)));
    eventually("it is said", || warns(&a, "has taken the name"));
    assert!(!is_ready(&a, 1, 1));
    std::thread::sleep(Duration::from_secs(1));
    let served: usize = second.report().gateways.iter().map(|g| g.clients).sum();
    assert_eq!(served, 0, "nothing is written by a name that is another's");
    drop(second);
    eventually("it has its name again", || a.report().warnings.is_empty() && is_ready(&a, 1, 1));
}

#[test]
fn a_gateways_record_that_is_gone_or_old_is_written_again() {
    let Some((mut cluster, _proxy, a, _told)) = world() else { return };
    let place = "/test/fleet/gateway/a";
    eventually("all of it is written", || a.report().gateways.iter().any(|g| !g.endpoints.is_empty()));
    cluster.delete(place);
    eventually("it is there again", || cluster.value(place).is_some());
    // Another gateway of the name has it now.
    cluster.put(place.as_bytes(), br#"{"instance":"x","endpoints":[]}"#);
    eventually("it is said", || warns(&a, "has taken the name"));
    cluster.delete(place);
    eventually("it has its name again", || a.report().warnings.is_empty());
    // What it was when the store was backed up does not come back.
    let drains = || a.report().gateways.iter().any(|g| g.draining);
    a.drain(true);
    eventually("it is written", drains);
    cluster.back_up();
    a.drain(false);
    eventually("it takes sessions", || !drains());
    (10..40).for_each(|n| invite(&cluster, &format!("later{n}"), n));
    eventually("it is known", || a.read(|c| c.client("later39").is_some()));
    cluster.restore();
    eventually("it is noticed", || a.read(|c| c.client("later39").is_none()));
    eventually("it takes sessions all the same", || a.report().gateways.len() == 1 && !drains());
}

#[test]
fn history_is_forgotten_and_nothing_else() {
    let Some((cluster, _proxy, a, _told)) = world() else { return };
    let at_first = r#"{"key":"AA==","range_end":"AA==","revision":"2"}"#;
    assert!(!cluster.raw("/v3/kv/range", at_first).contains("compacted"), "the null case");
    compact(&cluster);
    assert!(cluster.raw("/v3/kv/range", at_first).contains("compacted"));
    come(&a, 1, 1);
    // Of two that saw the same, one does it.
    let noted = ropewalk_fleet::block_on(cluster.ledger(0, None).compact("x", 0)).unwrap();
    let next = ropewalk_fleet::block_on(cluster.ledger(0, None).compact("x", noted)).unwrap();
    assert!(next > noted);
    assert_eq!(ropewalk_fleet::block_on(cluster.ledger(0, None).compact("y", noted)).unwrap(), next);
}

#[test]
fn a_store_that_was_restored_is_believed_and_what_was_known_before_is_not() {
    let Some((mut cluster, _proxy, a, told)) = world() else { return };
    a.came(&ALICE);
    eventually("it is written", || a.read(|c| c.serving("alice").is_some()));
    cluster.back_up();
    invite(&cluster, "bob", 2);
    come(&a, 2, 2);
    // More than could be written again before anybody notices.
    (10..40).for_each(|n| invite(&cluster, &format!("later{n}"), n));
    eventually("it is known", || a.read(|c| c.client("later39").is_some()));
    assert!(told.try_recv().is_err() && !warns(&a, "restored"), "a store that starts anew is the same");
    cluster.restore();
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(PublicKey([2; 32]))));
    let is_known = |name: &str| a.read(|c| c.client(name).is_some());
    assert!(is_known("alice") && !is_known("bob") && !is_known("later39"));
    assert!(warns(&a, "the store was restored from a backup"), "{:?}", a.report().warnings);
    // It watches from there on.
    invite(&cluster, "carol", 3);
    eventually("the watch goes on", || a.read(|c| c.client("carol").is_some()));
    come(&a, 3, 3);
    eventually("alice is here", || a.read(|c| c.serving("alice").is_some_and(|s| s.gateway == "a")));
    assert!(told.try_recv().is_err(), "and did not have to go");
    revoke(&cluster, "alice");
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(ALICE)));
}

#[test]
fn a_restore_is_noticed_though_others_have_written_more_since_than_was_lost() {
    let Some((mut cluster, proxy, a, told)) = world() else { return };
    cluster.back_up();
    invite(&cluster, "bob", 2);
    come(&a, 2, 2);
    // The watch has told what the claim brought here first, and what came after it.
    invite(&cluster, "carol", 3);
    eventually("it is known", || a.read(|c| c.client("carol").is_some()));
    proxy.cut(true);
    cluster.restore();
    // By now the store's revision is higher than the gateway has seen, and its lease has not ended.
    (10..60).for_each(|n| invite(&cluster, &format!("later{n}"), n));
    proxy.cut(false);
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(PublicKey([2; 32]))));
    assert!(warns(&a, "the store was restored from a backup"), "{:?}", a.report().warnings);
    eventually("all is known", || a.read(|c| c.client("later59").is_some()));
    assert!(a.read(|c| c.client("alice").is_some() && c.client("carol").is_none()));
}

/// A backup of before the gateway was started anew has its name in the hands of an earlier run.
#[test]
fn a_restored_store_that_has_an_earlier_run_of_the_gateway_ends_no_session() {
    let Some((mut cluster, proxy, a, _told)) = world() else { return };
    cluster.back_up();
    drop(a);
    let (a, told) = join(cluster.behind(&proxy), "a", 2).unwrap();
    a.came(&ALICE);
    eventually("it is written", || a.read(|c| c.serving("alice").is_some_and(|s| s.gateway == "a")));
    // More than could be written again before anybody notices.
    (10..40).for_each(|n| invite(&cluster, &format!("later{n}"), n));
    eventually("it is known", || a.read(|c| c.client("later39").is_some()));
    cluster.restore();
    eventually("it is noticed", || a.read(|c| c.client("later39").is_none()));
    // The earlier run's lease has ended.
    let is_this_run = |value: &[u8]| String::from_utf8_lossy(value).contains(r#""instance":"a2""#);
    let has_name = || cluster.value("/test/fleet/gateway/a").is_some_and(|value| is_this_run(&value));
    eventually("it has its name again", has_name);
    eventually("alice is here", || a.read(|c| c.serving("alice").is_some_and(|s| s.gateway == "a")));
    assert!(told.try_recv().is_err(), "nobody had to go");
    assert!(is_ready(&a, 1, 1) && !warns(&a, "has taken the name"));
}

#[test]
fn a_store_that_lost_the_fleet_takes_nobody_away_until_the_key_is_back() {
    let Some((mut cluster, _proxy, a, told)) = world() else { return };
    let key = cluster.value("/test/fleet/key").unwrap();
    cluster.empty();
    eventually("it is said", || warns(&a, "what is known here is from before"));
    come(&a, 1, 1);
    assert!(told.try_recv().is_err(), "what is known goes on");
    // From now on it is this fleet's, and has nobody.
    cluster.put(b"/test/fleet/key", &key);
    assert_eq!(told.recv_timeout(LIMIT), Ok(Evict::Revoked(ALICE)));
    invite(&cluster, "bob", 2);
    come(&a, 2, 2);
}

/// A client that is told that its invite is unknown does not try again.
#[test]
fn a_store_that_lost_the_fleet_refuses_nobody_who_was_invited() {
    let Some((mut cluster, _proxy, a, _told)) = world() else { return };
    let key = cluster.value("/test/fleet/key").unwrap();
    invite(&cluster, "bob", 2);
    eventually("it is known", || a.read(|c| c.client("bob").is_some()));
    cluster.empty();
    eventually("it is said", || warns(&a, "what is known here is from before"));
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert!(!is_ready(&a, 2, 2), "bob is answered by a store that never knew him");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The store is this fleet's from now on, and says who is unknown.
    cluster.put(b"/test/fleet/key", &key);
    eventually("he is answered", || is_ready(&a, 2, 2));
    let (id, secret) = hello(2);
    assert_eq!(a.admit(&PublicKey([2; 32]), (id, &secret)), Err(Refusal::UnknownInvite));
}

#[test]
fn a_key_that_is_gone_is_said_until_it_is_back() {
    let Some((cluster, _proxy, a, told)) = world() else { return };
    let place = "/test/fleet/key";
    let key = cluster.value(place).unwrap();
    assert!(!warns(&a, "key"));
    cluster.delete(place);
    eventually("it is said", || warns(&a, "the fleet's key is gone from the store"));
    come(&a, 1, 1);
    let other = StaticKey::generate(&mut ChaCha8Rng::seed_from_u64(99)).unwrap();
    cluster.put(place.as_bytes(), other.to_base64().as_bytes());
    eventually("another is said", || warns(&a, "another key"));
    cluster.put(place.as_bytes(), b"no key");
    eventually("so is what is none", || warns(&a, "cannot be read"));
    cluster.put(place.as_bytes(), &key);
    eventually("it is back", || a.report().warnings.is_empty());
    assert!(told.try_recv().is_err(), "nobody had to go");
}
