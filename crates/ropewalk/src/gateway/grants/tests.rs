use super::*;

fn here() -> Circumstances {
    let client = |name: &str, inside: &[&str]| KnownClient {
        name: name.into(),
        came: !inside.is_empty(),
        inside: inside.iter().map(|a| a.parse().unwrap()).collect(),
        gateway: None,
        used_bytes: None,
        quota: None,
        network: None,
    };
    let clients =
        vec![client("alice", &["10.77.0.2", "fd77::2"]), client("bob", &["10.77.0.3"]), client("carol", &[])];
    Circumstances {
        clients,
        taken: [(Protocol::Udp, 4500)].into(),
        device: "rw0".into(),
        interfaces: ["rw0", "wan1", "wan2"].map(String::from).into(),
        ..Circumstances::default()
    }
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
        limit: Limit { down: down.map(|r| r.parse().unwrap()), ..Limit::default() },
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
fn a_cap_too_many_is_refused_and_changes_nothing() {
    let mut grants = Grants::default();
    let limit = Limit { down: Some("10Mbit".parse().unwrap()), ..Limit::default() };
    grants.limits.extend((0..MOST).map(|n| (format!("client{n}"), limit)));
    let full = grants.clone();
    let set = |client: &str| Change::LimitSet { client: client.into(), limit };
    let error = grants.change(set("alice"), &here()).unwrap_err();
    assert_eq!(error.to_string(), "there may be 1024 at most");
    assert_eq!(grants, full, "a refusal changes nothing");
    grants.limits.remove("client0");
    grants.change(set("alice"), &here()).unwrap();
    grants.change(set("alice"), &here()).unwrap();
    assert_eq!(grants.limits.len(), MOST, "one in place of another is none more");
}

fn set_exit(whose: Whose, interface: &str) -> Change {
    Change::ExitSet { whose, exit: Exit { interface: interface.into(), global6: false } }
}

#[test]
fn an_exit_is_a_clients_or_a_groups() {
    let mut grants = Grants::default();
    let [alice, eve] = ["alice", "eve"].map(|name| Whose::Client(name.into()));
    let home = Whose::Group("home".into());
    for (whose, interface, words) in [
        (&eve, "wan2", "no client named"),
        (&home, "wan2", "there is no group home"),
        (&alice, "rw0", "leads to no other network"),
        (&alice, "lo", "leads to no other network"),
        (&alice, "wan2 accept", "cannot name a network interface"),
    ] {
        let error = grants.change(set_exit(whose.clone(), interface), &here()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let nobody = Circumstances { lets_nobody_out: true, ..here() };
    assert!(grants.change(set_exit(alice.clone(), "wan2"), &nobody).is_err());
    assert_eq!(grants, Grants::default(), "a refusal changes nothing");
    assert_eq!(serde_json::to_string(&grants).unwrap().matches("exits").count(), 0, "as older ones wrote it");

    let said = grants.change(set_exit(alice.clone(), "wan2"), &here()).unwrap();
    assert_eq!(said, "alice leaves by wan2");
    let clients = ["alice", "bob"].map(String::from).to_vec();
    grants.change(Change::GroupAdd { group: "home".into(), clients }, &here()).unwrap();
    let said = grants.change(set_exit(home.clone(), "wan9"), &here()).unwrap();
    assert_eq!(said, "group home leaves by wan9, which is not there now: until it is, nothing leaves");
    let text = serde_json::to_string(&grants).unwrap();
    assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), grants);
    assert!(grants.concerns("alice") && grants.forget("alice") && !grants.concerns("alice"));
    grants.change(Change::ExitRemove { whose: home.clone() }, &here()).unwrap();
    assert!(grants.change(Change::ExitRemove { whose: home.clone() }, &here()).is_err());
    grants.change(set_exit(home, "wan2"), &here()).unwrap();
    grants.forget("bob");
    assert!(grants.exits.is_empty(), "it ends with the group's last member: {grants:?}");
}

#[test]
fn an_exit_leaves_no_addresses_as_they_are_where_none_is_global() {
    let mut grants = Grants::default();
    let exit = Exit { interface: "wan2".into(), global6: true };
    let set = Change::ExitSet { whose: Whose::Client("alice".into()), exit };
    let without = Circumstances { has_no_global6: true, ..here() };
    let error = grants.change(set.clone(), &without).unwrap_err();
    assert!(error.to_string().contains("runs without --global6"), "{error}");
    assert_eq!(grants, Grants::default(), "a refusal changes nothing");
    grants.change(set_exit(Whose::Client("alice".into()), "wan2"), &without).unwrap();
    grants.change(set, &here()).unwrap();
}

#[test]
fn a_clients_own_exit_goes_before_its_groups_and_numbers_stay() {
    let mut grants = Grants::default();
    let clients = ["alice", "bob", "carol"].map(String::from).to_vec();
    grants.change(Change::GroupAdd { group: "home".into(), clients }, &here()).unwrap();
    grants.change(set_exit(Whose::Client("alice".into()), "wan2"), &here()).unwrap();
    grants.change(set_exit(Whose::Group("home".into()), "wan1"), &here()).unwrap();
    let networks: Vec<IpNet> = ["10.77.0.1/24", "fd77::1/64"].map(|n| n.parse().unwrap()).into();
    let behind = BTreeMap::from([("bob".to_owned(), vec!["192.168.8.0/24".parse::<IpNet>().unwrap()])]);
    let (all, global) = (here().clients, Some("fd77::/64".parse().unwrap()));
    let inside = exits::Inside { device: "rw0", clients: &all, networks: &networks, behind: &behind, global };
    let text = |e: &setup::Exit| {
        let networks: Vec<String> = e.networks.iter().map(ToString::to_string).collect();
        format!("{} {} {}", e.interface, e.number, networks.join(" "))
    };
    let first = grants.exits_by_addresses(&inside, None);
    let texts: Vec<String> = first.exits.iter().map(text).collect();
    assert_eq!(texts, ["wan1 2 10.77.0.3/32 192.168.8.0/24", "wan2 1 10.77.0.2/32 fd77::2/128"]);
    assert_eq!(first.inside.len(), 3, "networks behind clients are inside: {first:?}");
    assert_eq!(first.known, Some(vec![]), "carol has no address, bob none of IPv6; all have an exit");
    let exit = Exit { interface: "wan2".into(), global6: true };
    grants.change(Change::ExitSet { whose: Whose::Group("home".into()), exit }, &here()).unwrap();
    grants.change(set_exit(Whose::Client("alice".into()), "wan3"), &here()).unwrap();
    let second = grants.exits_by_addresses(&inside, Some(&first));
    let numbers: Vec<(&str, u16)> = second.exits.iter().map(|e| (&*e.interface, e.number)).collect();
    assert_eq!(numbers, [("wan2", 1), ("wan3", 3)], "2 was another's just now");
    let exit = Exit { interface: "wan3".into(), global6: true };
    grants.change(Change::ExitSet { whose: Whose::Client("alice".into()), exit }, &here()).unwrap();
    let third = grants.exits_by_addresses(&inside, Some(&second));
    grants.change(Change::ExitRemove { whose: Whose::Group("home".into()) }, &here()).unwrap();
    assert_eq!(grants.exits_by_addresses(&inside, None).known, None, "alice has all of hers");
    assert_eq!(third.exits[1].untranslated, ["fd77::2/128".parse::<IpNet>().unwrap()], "not the IPv4 one");
}

#[test]
fn what_each_client_is_granted_is_told_by_its_name() {
    let mut grants = Grants::default();
    let home = ["alice", "bob"].map(String::from).to_vec();
    let limit = Limit { up: Some("5Mbit".parse().unwrap()), ..Limit::default() };
    for change in [
        forward("alice", Protocol::Tcp, 8080),
        Change::GroupAdd { group: "home".into(), clients: home },
        Change::LimitSet { client: "bob".into(), limit },
        set_exit(Whose::Group("home".into()), "wan1"),
        set_exit(Whose::Client("carol".into()), "wan2"),
    ] {
        grants.change(change, &here()).unwrap();
    }
    let lines: Vec<String> =
        grants.by_client().iter().map(|(who, g)| format!("{who}: {}", g.line())).collect();
    let expected = [
        "alice: port tcp 8080 to 80; group home; exit wan1",
        "bob: group home; cap 5Mbit up; exit wan1",
        "carol: exit wan2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_exit_is_there_before_its_client_comes() {
    let mut grants = Grants::default();
    grants.change(set_exit(Whose::Client("carol".into()), "wan2"), &here()).unwrap();
    let networks = ["10.77.0.1/24".parse::<IpNet>().unwrap()];
    let (clients, behind) = (here().clients, BTreeMap::new());
    let inside = exits::Inside {
        device: "rw0",
        clients: &clients,
        networks: &networks,
        behind: &behind,
        global: None,
    };
    let waiting = grants.exits_by_addresses(&inside, None);
    assert_eq!(waiting.exits.len(), 1, "what is not known is held back: {waiting:?}");
    assert_eq!(waiting.known.as_ref().map(Vec::len), Some(3), "alice's and bob's: {waiting:?}");
}

#[test]
fn an_exit_that_leads_nowhere_is_said() {
    let way = |interface: &str, leads| setup::Way { interface: interface.into(), leads };
    let notes = exits::notes(&[
        way("wan1", [Some(true), None]),
        way("wan2", [Some(true), Some(false)]),
        way("wan3", [Some(false), Some(false)]),
    ]);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("exit wan2") && notes[0].ends_with("reach nothing by IPv6"), "{notes:?}");
    assert!(notes[1].contains("no IPv4 or IPv6 route out by it"), "{notes:?}");
}

#[test]
fn what_comes_by_the_socket_is_in_the_ranges_of_the_command_line() {
    for line in [
        r#"{"forward-add":{"client":"alice","protocol":"tcp","port":0,"to":80}}"#,
        r#"{"forward-add":{"client":"alice","protocol":"sctp","port":1,"to":80}}"#,
        r#"{"forward-add":{"client":"alice","protocol":"tcp","port":65536,"to":80}}"#,
        r#"{"limit-set":{"client":"alice","limit":{"down":0}}}"#,
        r#"{"limit-set":{"client":"alice","limit":{"share":0}}}"#,
        r#"{"exit-set":{"whose":{"everybody":""},"exit":{"interface":"wan2"}}}"#,
        r#"{"limit-set":{"client":"alice","limit":{"down":"10Mbit; flush ruleset"}}}"#,
    ] {
        assert!(serde_json::from_str::<Change>(line).is_err(), "{line}");
    }
}
