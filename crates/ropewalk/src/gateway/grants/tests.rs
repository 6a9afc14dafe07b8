use super::*;

fn here() -> Circumstances {
    let client = |name: &str, inside: &[&str]| KnownClient {
        name: name.into(),
        came: !inside.is_empty(),
        inside: inside.iter().map(|a| a.parse().unwrap()).collect(),
        gateway: None,
        used_bytes: None,
        quota: None,
    };
    let clients =
        vec![client("alice", &["10.77.0.2", "fd77::2"]), client("bob", &["10.77.0.3"]), client("carol", &[])];
    Circumstances { clients, taken: [(Protocol::Udp, 4500)].into(), all_joined: false }
}

fn forward(client: &str, protocol: Protocol, port: u16) -> Change {
    let (port, to) = (NonZeroU16::new(port).unwrap(), NonZeroU16::new(80).unwrap());
    Change::ForwardAdd(Forward { client: client.into(), protocol, port, to, masquerade: false })
}

#[test]
fn a_port_leads_to_one_known_client_and_not_where_somebody_listens() {
    let mut grants = Grants::default();
    let said = grants.change(forward("alice", Protocol::Tcp, 8080), &here()).unwrap();
    assert_eq!(said, "tcp port 8080 leads to port 80 of alice");
    for (client, protocol, port, code, words) in [
        ("bob", Protocol::Tcp, 8080, Code::Taken, "leads to alice already"),
        ("bob", Protocol::Udp, 4500, Code::Taken, "listens at udp port 4500"),
        ("eve\" accept", Protocol::Tcp, 1, Code::Usage, "no client named"),
    ] {
        let error = grants.change(forward(client, protocol, port), &here()).unwrap_err();
        assert_eq!(crate::exit::kind_of(&error), code);
        assert!(error.to_string().contains(words), "{error}");
    }
    grants.change(forward("bob", Protocol::Udp, 8080), &here()).unwrap();
    let rules = grants.by_addresses("rw0", &here().clients, &BTreeMap::new(), &BTreeSet::new());
    assert_eq!(rules.forwards.len(), 3, "two addresses of alice, one of bob");
    let own = BTreeSet::from([(Protocol::Tcp, 8080)]);
    assert_eq!(
        grants.by_addresses("rw0", &here().clients, &BTreeMap::new(), &own).forwards.len(),
        1,
        "the gateway's own goes first"
    );
    let port = NonZeroU16::new(8080).unwrap();
    let remove = Change::ForwardRemove { protocol: Protocol::Tcp, port };
    grants.change(remove.clone(), &here()).unwrap();
    assert!(grants.change(remove, &here()).is_err());
}

#[test]
fn ports_that_led_to_a_client_are_remembered_until_they_do_again() {
    let mut grants = Grants::default();
    let ended = |grants: &Grants| {
        let clients = here().clients;
        grants.by_addresses("rw0", &clients, &BTreeMap::new(), &BTreeSet::new()).ended
    };
    for (client, port) in [("alice", 8080), ("bob", 8081), ("carol", 8082)] {
        grants.change(forward(client, Protocol::Tcp, port), &here()).unwrap();
    }
    assert_eq!(ended(&grants), [(Protocol::Tcp, 8082, 80)], "carol has no address now");
    let port = NonZeroU16::new(8080).unwrap();
    grants.change(Change::ForwardRemove { protocol: Protocol::Tcp, port }, &here()).unwrap();
    assert!(grants.forget("bob") && grants.forget("carol"));
    let all = [8080, 8081, 8082].map(|port| (Protocol::Tcp, port, 80));
    assert_eq!(ended(&grants), all);
    let text = serde_json::to_string(&grants).unwrap();
    assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), grants, "also over a restart");
    grants.change(forward("bob", Protocol::Tcp, 8080), &here()).unwrap();
    assert_eq!(ended(&grants), all[1..]);
}

#[test]
fn groups_have_known_members_and_end_with_the_last() {
    let mut grants = Grants::default();
    let add = |group: &str, all: &[&str]| Change::GroupAdd {
        group: group.into(),
        clients: all.iter().map(ToString::to_string).collect(),
    };
    for (group, members) in [("a b", &["alice"][..]), ("", &["alice"]), ("home", &[]), ("home", &["eve"])] {
        assert!(grants.change(add(group, members), &here()).is_err(), "{group}");
    }
    let joined = Circumstances { all_joined: true, ..here() };
    assert!(grants.change(add("home", &["alice"]), &joined).is_err());
    assert_eq!(grants, Grants::default(), "a refusal changes nothing");
    let said = grants.change(add("home", &["bob", "alice", "carol"]), &here()).unwrap();
    assert_eq!(said, "members of home: alice, bob, carol");
    let rules = grants.by_addresses("rw0", &here().clients, &BTreeMap::new(), &BTreeSet::new());
    assert_eq!(rules.groups[0].len(), 3, "carol has no address yet");
    assert!(grants.forget("alice") && !grants.forget("alice"));
    let leave = Change::GroupRemove { group: "home".into(), clients: vec!["bob".into(), "carol".into()] };
    assert_eq!(grants.change(leave, &here()).unwrap(), "there is no group home any more");
}

#[test]
fn a_cap_has_a_side_at_least() {
    let mut grants = Grants::default();
    let set = |down: Option<&str>| Change::LimitSet {
        client: "alice".into(),
        limit: Limit { down: down.map(|r| r.parse().unwrap()), up: None },
    };
    assert!(grants.change(set(None), &here()).is_err());
    grants.change(set(Some("10Mbit")), &here()).unwrap();
    let rules = grants.by_addresses("rw0", &here().clients, &BTreeMap::new(), &BTreeSet::new());
    assert_eq!((rules.limits[0].down_bps, rules.limits[0].networks.len()), (Some(10_000_000), 2));
    let behind = BTreeMap::from([("alice".to_owned(), vec!["192.168.8.0/24".parse::<IpNet>().unwrap()])]);
    let rules = grants.by_addresses("rw0", &here().clients, &behind, &BTreeSet::new());
    let networks: Vec<String> = rules.limits[0].networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.77.0.2/32", "fd77::2/128", "192.168.8.0/24"]);
    let text = serde_json::to_string(&grants).unwrap();
    assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), grants);
}

#[test]
fn what_comes_by_the_socket_is_in_the_ranges_of_the_command_line() {
    for line in [
        r#"{"forward-add":{"client":"alice","protocol":"tcp","port":0,"to":80}}"#,
        r#"{"forward-add":{"client":"alice","protocol":"sctp","port":1,"to":80}}"#,
        r#"{"forward-add":{"client":"alice","protocol":"tcp","port":65536,"to":80}}"#,
        r#"{"limit-set":{"client":"alice","limit":{"down":0}}}"#,
        r#"{"limit-set":{"client":"alice","limit":{"down":"10Mbit; flush ruleset"}}}"#,
    ] {
        assert!(serde_json::from_str::<Change>(line).is_err(), "{line}");
    }
}
