use super::*;

fn pool() -> Pool {
    Pool::new(&["10.77.0.1/24".parse().unwrap()]).unwrap()
}

fn client(n: u8, key: Option<u8>) -> ClientRecord {
    ClientRecord {
        invite: [n; 16],
        fingerprint: InviteSecret([n; 16]).fingerprint(),
        key: key.map(|k| PublicKey([k; 32])),
        ipv4: key.map(|_| Ipv4Addr::new(10, 77, 0, n)),
        ipv6: None,
        revoked: false,
    }
}

/// The first address that a claim would get.
fn free(copy: &Copy) -> u8 {
    copy.free(&pool(), 0, |_| false).unwrap().0.octets()[3]
}

fn decide(copy: &Copy, key: u8, n: u8) -> Decision {
    copy.decide(&pool(), &PublicKey([key; 32]), (InviteId([n; 16]), &InviteSecret([n; 16])))
}

#[test]
fn who_is_known_comes_in_and_who_is_not_is_asked_for() {
    let mut copy = Copy::default();
    assert_eq!(decide(&copy, 1, 5), Decision::Ask);
    copy.put_client("a", Some(client(5, None)), 2);
    assert_eq!(decide(&copy, 1, 5), Decision::Ask, "an invite is claimed in the store");
    copy.put_client("a", Some(client(5, Some(1))), 3);
    let known = Decision::Known { name: "a".into(), ipv4: Ipv4Addr::new(10, 77, 0, 5), ipv6: None };
    assert_eq!(decide(&copy, 1, 5), known);
    assert_eq!(decide(&copy, 1, 9), known, "the key counts");
    assert_eq!(decide(&copy, 2, 5), Decision::Ask, "the store says to whom it belongs");
    assert_eq!(copy.put_client("a", Some(client(5, None)), 2), Effect::None, "old news");
    assert_eq!(decide(&copy, 1, 5), known);
}

#[test]
fn a_revocation_puts_out_and_frees() {
    let mut copy = Copy::default();
    copy.put_client("a", Some(client(2, Some(1))), 3);
    assert_eq!((free(&copy), copy.count_invited()), (3, 1));
    let revoked = ClientRecord { revoked: true, ipv4: None, ..client(2, Some(1)) };
    assert_eq!(copy.put_client("a", Some(revoked), 4), Effect::Out(PublicKey([1; 32])));
    assert_eq!(decide(&copy, 1, 2), Decision::Refused(Refusal::Revoked));
    assert_eq!(decide(&copy, 2, 2), Decision::Refused(Refusal::Revoked));
    assert_eq!(decide(&copy, 1, 6), Decision::Ask, "the new invite may not have come here yet");
    assert_eq!((free(&copy), copy.count_invited()), (2, 0));
    copy.put_client("b", Some(client(6, None)), 5);
    assert_eq!(decide(&copy, 1, 6), Decision::Ask, "by another invite it may come in again");
    assert_eq!(copy.put_client("a", None, 6), Effect::None, "it was out already");
    assert_eq!(copy.count_invited(), 1);
}

#[test]
fn an_address_that_went_from_one_to_another_stays_taken_in_any_order() {
    let mut copy = Copy::default();
    copy.put_client("a", Some(client(2, Some(1))), 3);
    let taken = ClientRecord { ipv4: Some(Ipv4Addr::new(10, 77, 0, 2)), ..client(6, Some(2)) };
    copy.put_client("b", Some(taken), 5);
    copy.put_client("a", None, 4);
    assert_eq!(free(&copy), 3);
}

#[test]
fn what_is_taken_or_promised_is_given_to_nobody() {
    let mut copy = Copy::default();
    copy.put_client("a", Some(client(2, Some(1))), 3);
    let promised = |address: IpAddr| address == IpAddr::from([10, 77, 0, 3]);
    let free = |turn| copy.free(&pool(), turn, promised).map(|(v4, v6)| (v4.octets()[3], v6));
    assert_eq!([0, 1, 100].map(free), [4, 4, 101].map(|n| Some((n, None))));
    let all = |address: IpAddr| matches!(address, IpAddr::V4(v4) if v4.octets()[..3] == [10, 77, 0]);
    assert_eq!(copy.free(&pool(), 0, all), None);
}

#[test]
fn sums_are_those_of_the_records_whatever_comes_and_goes() {
    let (mut copy, keys) = (Copy::default(), Keys("/x/".into()));
    let mut revision = 1;
    let mut apply = |copy: &mut Copy, key: &str, value: &str| {
        revision += 1;
        let kv = KeyValue { key: format!("/x/{key}"), value: value.into(), revision, lease: 0 };
        copy.apply(Change::read(&keys, &kv, value.is_empty()));
    };
    let used = |n: u64| format!(r#"{{"from_client":{n},"to_client":1}}"#);
    let by = |gateway: &str| format!(r#"{{"gateway":"{gateway}","inside":[]}}"#);
    let sum = |copy: &Copy, gateway| (copy.sum_of(gateway).clients, copy.sum_of(gateway).used.total());
    for client in ["a", "b"] {
        apply(&mut copy, &format!("serving/{client}"), &by("g"));
        apply(&mut copy, &format!("usage/{client}/g"), &used(4));
    }
    assert_eq!((sum(&copy, "g"), sum(&copy, "h")), ((2, 10), (0, 0)));
    apply(&mut copy, "serving/a", &by("h"));
    apply(&mut copy, "usage/a/g", &used(8));
    assert_eq!((sum(&copy, "g"), sum(&copy, "h")), ((1, 14), (1, 0)));
    apply(&mut copy, "serving/a", "");
    apply(&mut copy, "serving/b", "");
    apply(&mut copy, "usage/a/g", "{");
    assert_eq!((sum(&copy, "g"), copy.sums().len()), ((0, 5), 1));
    apply(&mut copy, "usage/b/g", "");
    assert!(copy.sums().is_empty(), "of nothing there is no sum");
}

#[test]
fn a_damaged_record_counts_as_missing() {
    let (mut copy, keys) = (Copy::default(), Keys("/x/".into()));
    let apply = |copy: &mut Copy, key: &str, value: &[u8], revision: i64, gone: bool| {
        let kv = KeyValue { key: key.into(), value: value.into(), revision, lease: 0 };
        copy.apply(Change::read(&keys, &kv, gone))
    };
    let used = "/x/usage/a/g";
    apply(&mut copy, used, br#"{"from_client":1,"to_client":2}"#, 2, false);
    assert_eq!(copy.used("a", None).total(), 3);
    apply(&mut copy, used, b"{", 3, false);
    assert_eq!(copy.used("a", Some("g")).total(), 0);
    apply(&mut copy, "/x/client/a b", b"{}", 4, false);
    assert_eq!(copy.odd().collect::<Vec<_>>(), ["/x/client/a b", used]);
    apply(&mut copy, used, br#"{"from_client":1,"to_client":2}"#, 5, false);
    apply(&mut copy, "/x/client/a b", b"", 6, true);
    assert_eq!(copy.odd().count(), 0, "mended");
}

#[test]
fn the_key_that_was_written_last_is_known() {
    let (mut copy, keys) = (Copy::default(), Keys("/x/".into()));
    let mut after = |key: &str, revision: i64, gone: bool| {
        let kv = KeyValue { key: format!("/x/{key}"), value: b"{".to_vec(), revision, lease: 0 };
        copy.apply(Change::read(&keys, &kv, gone));
        copy.newest().map(|newest| (newest.key, newest.revision))
    };
    let at = |revision| Some(("/x/network".to_owned(), revision));
    assert_eq!(after("network", 5, true), None, "what is gone is not asked for");
    assert_eq!(after("network", 5, false), at(5));
    assert_eq!(after("grants", 4, false), at(5), "an older one, as where all is read");
    assert_eq!(after("client/a", 6, false), at(5), "it cannot be read");
    assert_eq!(after("\u{fffd}", 7, false), at(5), "it is no text");
    assert_eq!(after("grants", 8, true), at(5));
    assert_eq!(after("network", 9, false), at(9));
}

#[test]
fn a_key_that_another_history_has_at_the_same_revision_is_another() {
    let mut copy = Copy::default();
    let kv = KeyValue { key: "/x/network".into(), value: b"one".to_vec(), revision: 5, lease: 7 };
    copy.take(&Keys("/x/".into()), &kv);
    let newest = copy.newest().unwrap();
    assert!(newest.is(&kv));
    let others = [
        KeyValue { value: b"other".to_vec(), ..kv.clone() },
        KeyValue { revision: 4, ..kv.clone() },
        KeyValue { lease: 8, ..kv.clone() },
    ];
    assert!(others.iter().all(|other| !newest.is(other)));
}

#[test]
fn what_was_claimed_while_everything_was_read_stays() {
    let mut old = Copy { revision: 3, ..Copy::default() };
    old.claimed("a", client(5, Some(1)), 7);
    old.claimed("c", client(7, Some(3)), 4);
    old.put_client("b", Some(client(6, Some(2))), 3);
    let mut new = Copy { revision: 5, ..Copy::default() };
    new.carry_newer(&old);
    assert!(new.is_active(&PublicKey([1; 32])) && !new.is_active(&PublicKey([2; 32])));
    assert!(!new.is_active(&PublicKey([3; 32])), "it was read");
    assert_eq!((old.active().count(), old.ahead.len(), new.ahead.len()), (3, 2, 1));
    new.reach(7);
    assert!(new.ahead.is_empty() && new.is_active(&PublicKey([1; 32])), "the watch has brought it");
}
