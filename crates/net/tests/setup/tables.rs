//! Tables of the firewall that others flush, and rules that they take away.

use super::*;

/// Whoever flushes the firewall is heard, and what was in force last is again.
#[test]
fn tables_that_others_flush_are_put_back() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let _tun = bond(client);
    let list = || client.run("nft", "list ruleset");
    let (mut journal, mut watch) =
        client.inside(|| (Journal::open(&world.state).unwrap().0, TableWatch::new().unwrap()));
    let networks = ["10.77.0.0/24".parse().unwrap()];
    let limit =
        |bps| Limit { networks: networks.to_vec(), down_bps: None, up_bps: Some(bps), share: 1, class: 1 };
    let grants = |bps| Grants { device: "rw0".into(), limits: vec![limit(bps)], ..Grants::default() };
    client.inside(|| {
        guard(&mut journal, "rw0", vec!["10.77.0.2".parse().unwrap()]).unwrap();
        grant(&mut journal, None, &grants(1_000_000), &networks).unwrap();
        grant(&mut journal, None, &grants(2_000_000), &networks).unwrap();
    });
    let before = list();
    assert!(before.contains("250000 bytes/second"), "{before}");
    // What this bond did itself is an event as well, and nothing is gone.
    assert!(watch.take_events().unwrap() && !watch.take_events().unwrap());
    assert_eq!(client.inside(|| keep_tables(&journal).unwrap()), 0);
    client.run("nft", "add table inet other");
    assert!(!watch.take_events().unwrap(), "another's table");
    client.run("nft", "flush ruleset");
    assert!(watch.take_events().unwrap() && list().is_empty());
    assert_eq!(client.inside(|| keep_tables(&journal).unwrap()), 2);
    assert_eq!(list(), before);
    assert_eq!(client.inside(|| keep_tables(&journal).unwrap()), 0);
    // One of them, while another stays.
    client.run("nft", "delete table inet ropewalk-rw0-guard");
    assert_eq!(client.inside(|| keep_tables(&journal).unwrap()), 1);
    client.inside(|| journal.restore().unwrap());
    assert_eq!(list(), "");
}

/// A chain that somebody empties, or takes a rule out of, while its table stays.
#[test]
fn rules_that_others_delete_are_put_back() {
    if !root() {
        return;
    }
    const TABLE: &str = "inet ropewalk-rw0-kill-switch";
    let world = world();
    let client = &world.client;
    let (mut journal, mut watch) =
        client.inside(|| (Journal::open(&world.state).unwrap().0, TableWatch::new().unwrap()));
    client.inside(|| kill_switch(&mut journal, "rw0").unwrap());
    let nft = |words: &str| client.run("nft", words);
    let list = || nft(&format!("list table {TABLE}"));
    let kept = || client.inside(|| keep_tables(&journal).unwrap());
    let before = list();
    assert!(watch.take_events().unwrap() && kept() == 0, "all is there");
    let rules = nft(&format!("-a list chain {TABLE} output"));
    let last = rules.lines().find(|line| line.contains("reject")).unwrap();
    let one = format!("delete rule {TABLE} output handle {}", last.split("# handle ").nth(1).unwrap().trim());
    for words in [one, format!("flush chain {TABLE} forward"), format!("flush table {TABLE}")] {
        nft(&words);
        assert!(watch.take_events().unwrap(), "{words}");
        assert_ne!(list(), before, "{words}");
        assert_eq!(kept(), 1, "{words}");
        assert_eq!(list(), before, "{words}");
        assert!(watch.take_events().unwrap() && kept() == 0, "{words}");
    }
    // What others add stays, and what they take out of tables of theirs is no news.
    nft("add table inet other");
    nft("add chain inet other mine");
    nft("add rule inet other mine accept");
    nft(&format!("insert rule {TABLE} output accept"));
    nft("delete table inet other");
    assert!(!watch.take_events().unwrap() && kept() == 0);
    assert_ne!(list(), before);
    client.inside(|| journal.restore().unwrap());
}

/// The kernel has as many rules as the text of each table, or they would be put back for ever.
#[test]
fn each_table_is_whole_once_it_is_made_and_again_once_it_was_emptied() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let tun = bond(client);
    let nets = |all: &[&str]| all.iter().map(|n| n.parse().unwrap()).collect::<Vec<IpNet>>();
    let inside = nets(&["10.77.0.0/24", "2001:db8:1::/64"]);
    let one = nets(&["10.77.0.2/32", "2001:db8:1::2/128"]);
    let addresses: Vec<IpAddr> = one.iter().map(IpNet::addr).collect();
    let global = "2001:db8:1::/64".parse().unwrap();
    let forward = |address: &IpAddr| Forward {
        protocol: Protocol::Tcp,
        port: 8080,
        address: *address,
        to: 80,
        masquerade: true,
    };
    let limit = Limit { networks: one.clone(), down_bps: None, up_bps: Some(1_000_000), share: 1, class: 1 };
    let grants = Grants {
        device: "rw0".into(),
        forwards: addresses.iter().map(forward).collect(),
        ended: vec![(Protocol::Tcp, 8081, 443)],
        groups: vec![vec![addresses[0], "10.77.0.3".parse().unwrap()]],
        limits: vec![limit],
        line_bps: Some(10_000_000),
        inside: inside.clone(),
        closed: [true, false],
        global: Some(global),
    };
    let hold = |rate_bps, networks: &[&str]| Hold {
        addresses: addresses.clone(),
        networks: nets(networks),
        rate_bps,
    };
    let held = vec![hold(None, &["192.168.8.0/24"]), hold(Some(1_000_000), &["192.168.9.0/24"])];
    let quotas = Quotas { device: "rw0".into(), held, inside: inside.clone() };
    let exit = Exit { interface: "wa".into(), number: 1, networks: one.clone(), untranslated: Vec::new() };
    let exits = Exits {
        device: "rw0".into(),
        inside: inside.clone(),
        global: Some(global),
        exits: vec![exit],
        known: Some(nets(&["10.77.0.3/32", "192.168.8.0/24"])),
    };
    let destinations = vec!["0.0.0.0/0".parse().unwrap(), "203.0.113.0/24".parse().unwrap()];
    let home = Capture { device: "rw0".into(), home: "va".into(), destinations, udp: true };
    let journal = client.inside(|| {
        let mut journal = Journal::open(&world.state).unwrap().0;
        kill_switch(&mut journal, "rw0").unwrap();
        guard(&mut journal, "rw0", addresses.clone()).unwrap();
        masquerade_by(&mut journal, "rw0", &inside, Some("va")).unwrap();
        let_through(&mut journal, "rw0", global).unwrap();
        grant(&mut journal, None, &grants, &inside).unwrap();
        hold_back(&mut journal, &quotas).unwrap();
        leave_by(&mut journal, None, &exits).unwrap();
        capture(&mut journal, tun.index(), home).unwrap();
        journal
    });
    let kept = || client.inside(|| keep_tables(&journal).unwrap());
    assert_eq!(kept(), 0);
    let tables = client.run("nft", "list tables inet");
    assert_eq!(tables.lines().count(), 9, "{tables}");
    for table in tables.lines().map(|line| line.trim_start_matches("table ")) {
        let lines = || client.run("nft", &format!("list table {table}")).lines().count();
        let before = lines();
        client.run("nft", &format!("flush table {table}"));
        assert!(lines() < before, "{table}");
        assert_eq!(kept(), 1, "{table}");
        assert_eq!(lines(), before, "{table}");
        assert_eq!(kept(), 0, "{table}");
    }
    client.inside(|| journal.restore().unwrap());
}
