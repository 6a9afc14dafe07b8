//! Classes of clients at the bond's device.

use super::*;

/// Of the client with this last byte.
fn limit(last: u8, up_bps: Option<u64>, share: u8) -> Limit {
    let networks = vec![format!("10.77.0.{last}/32").parse().unwrap()];
    Limit { networks, down_bps: None, up_bps, share, class: 0 }
}

#[test]
fn a_line_is_divided_anew_and_the_queues_of_those_who_stay_are_left_alone() {
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let _tun = bond(client);
    let networks: [IpNet; 1] = ["10.77.0.0/24".parse().unwrap()];
    let limit = |last, share| limit(last, None, share);
    let mut journal = client.inside(|| Journal::open(&world.state).unwrap().0);
    let mut stood: Option<Grants> = None;
    let mut put = |line_bps: Option<u64>, limits: Vec<Limit>| {
        let mut grants = Grants { device: "rw0".into(), limits, line_bps, ..Grants::default() };
        grants.number(stood.as_ref());
        client.inside(|| grant(&mut journal, stood.as_ref(), &grants, &networks).unwrap());
        stood = Some(grants);
    };
    let tc = |what: &str| client.run("tc", &format!("{what} show dev rw0"));
    let queue = |class: u8| {
        let of = format!(" parent 628:{class} ");
        tc("qdisc").lines().find(|line| line.contains(&of)).map(str::to_owned)
    };
    let line = Some(40_000_000);
    put(line, vec![limit(2, 1), limit(3, 2)]);
    let before = [queue(1), queue(2)];
    assert!(before.iter().all(Option::is_some), "{}", tc("qdisc"));
    assert!(tc("class").contains("rate 20Mbit ceil 40Mbit"), "{}", tc("class"));

    put(line, vec![limit(1, 1), limit(2, 1), limit(3, 2)]);
    assert_eq!([queue(1), queue(2)], before, "their packets wait on");
    assert!(queue(3).is_some(), "{}", tc("qdisc"));
    assert!(tc("class").contains("rate 16Mbit ceil 40Mbit"), "{}", tc("class"));
    let rules = client.run("nft", "list ruleset");
    assert!(rules.contains("10.77.0.3 : "), "{rules}");

    put(line, vec![limit(1, 1), limit(3, 2)]);
    assert_eq!((queue(1), queue(2)), (None, before[1].clone()));
    put(line, vec![limit(1, 1), Limit { down_bps: Some(1_000_000), ..limit(3, 2) }]);
    let handle = |queue: Option<String>| queue.and_then(|q| q.split(" parent").next().map(str::to_owned));
    assert_ne!(queue(2), before[1], "a cap shortens what may wait");
    assert_eq!(handle(queue(2)), handle(before[1].clone()), "and what waits stays");
    put(line, Vec::new());
    assert!(tc("class").contains("628:fffe") && queue(2).is_none(), "the next client finds a line");
    put(None, Vec::new());
    assert!(!tc("qdisc").contains("htb") && client.run("nft", "list ruleset").is_empty());
}

#[test]
fn buckets_of_what_clients_send_are_left_alone_when_others_come_and_go() {
    const M: u64 = 1_000_000;
    if !root() {
        return;
    }
    let world = world();
    let client = &world.client;
    let _tun = bond(client);
    let networks: [IpNet; 1] = ["10.77.0.0/24".parse().unwrap()];
    let limit = |last, up_bps| limit(last, up_bps, 1);
    let mut journal = client.inside(|| Journal::open(&world.state).unwrap().0);
    let mut stood: Option<Grants> = None;
    let mut put = |line_bps: Option<u64>, limits: Vec<Limit>| {
        let mut grants = Grants { device: "rw0".into(), limits, line_bps, ..Grants::default() };
        grants.number(stood.as_ref());
        client.inside(|| grant(&mut journal, stood.as_ref(), &grants, &networks).unwrap());
        stood = Some(grants);
    };
    // The kernel gives a number (`handle`) to each table, and in it to each bucket, and none twice.
    let made = |what: &str| {
        let all = client.run("nft", "-a list ruleset");
        all.lines().find(|line| line.trim_start().starts_with(what)).map(str::to_owned)
    };
    let table = || made("table inet ropewalk-rw0-uploads ");
    let bucket = |number: u8| made(&format!("limit up{number} "));
    let line = Some(40 * M);
    put(line, vec![limit(2, Some(M))]);
    let (first_table, first, others) = (table(), bucket(1), made("table inet ropewalk-rw0-grants "));
    assert!(first.as_ref().is_some_and(|first| first.contains("# handle ")), "{first:?}");
    put(line, vec![limit(2, Some(M)), limit(3, None)]);
    assert_ne!(made("table inet ropewalk-rw0-grants "), others, "one has come");
    assert_eq!((table(), bucket(1)), (first_table.clone(), first.clone()));

    // A cap that comes, one that changes, one that goes.
    put(line, vec![limit(2, Some(M)), limit(3, Some(M))]);
    assert_eq!((table(), bucket(1)), (first_table.clone(), first.clone()));
    let second = bucket(2);
    assert!(second.is_some(), "{}", client.run("nft", "list ruleset"));
    put(line, vec![limit(2, Some(2 * M)), limit(3, Some(M))]);
    assert_eq!((table(), bucket(2)), (first_table.clone(), second.clone()));
    assert_ne!(bucket(1), first);
    assert!(client.run("nft", "list ruleset").contains("rate over 250000 bytes/second"));
    put(line, vec![limit(3, Some(M))]);
    assert_eq!((table(), bucket(1), bucket(2)), (first_table, None, second));

    // Others take it away before the next change.
    client.run("nft", "delete table inet ropewalk-rw0-uploads");
    put(line, vec![limit(3, Some(M)), limit(4, Some(M))]);
    assert!(bucket(2).is_some() && client.run("nft", "list ruleset").contains("ip saddr 10.77.0.4 limit "));
    put(None, Vec::new());
    assert_eq!(client.run("nft", "list ruleset"), "");
}
