//! An access point and a repeater on layer 2: two bridges made one. DHCP, ARP, IPv6, VLANs, a flow through restarts and a cut. Needs root; without it
//! the tests pass and say so.

use crate::common::backhaul::bridged::{AP, SERVER, backhaul, behind, bridges, mac};
use crate::common::backhaul::{Site, eventually, pings};
use crate::common::{BINARY, SOON, root};
use ropewalk_lab::{Iperf, Ping, Process};

/// A VLAN across; `false` where this kernel has none.
fn vlan(site: &Site) -> bool {
    [(&site.server, 1), (&site.client, 2)].iter().all(|(node, host)| {
        let address = format!("address add 10.7.0.{host}/24 dev eth0.7");
        node.ip(&["link add link eth0 name eth0.7 type vlan id 7", &address, "link set eth0.7 up"]).is_ok()
    })
}

/// An address by DHCP: a server of busybox behind the access point, a client of busybox behind the repeater.
fn lease(site: &Site) -> Process {
    let (config, script) = (site.states.of("udhcpd.conf"), site.states.of("bound.sh"));
    let leases = site.states.of("leases");
    std::fs::write(&leases, "").unwrap();
    let text = format!(
        "start 10.6.0.20\nend 10.6.0.30\ninterface eth0\nlease_file {leases}\npidfile {leases}.pid\nopt subnet 255.255.255.0\n"
    );
    std::fs::write(&config, text).unwrap();
    std::fs::write(
        &script,
        "#!/bin/sh\n[ \"$1\" = bound ] && ip address add $ip/24 dev $interface\nexit 0\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = site.server.start("busybox", ["udhcpd", "-f", &config]).unwrap();
    site.client
        .exec("busybox", ["udhcpc", "-i", "eth0", "-n", "-q", "-t", "20", "-T", "1", "-s", &script])
        .unwrap();
    server
}

#[test]
fn two_bridges_are_one_through_restarts_and_a_cut() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-bridged", [20.0, 20.0]);
    bridges(&site);
    let (mut ap, mut repeater, [ap_file, own]) = backhaul(&site);
    eventually("both links work", || {
        site.json("ap")["peers"][0]["paths"].as_array().is_some_and(|p| p.len() == 2)
    });
    let _dhcp = lease(&site);
    let address = site.client.shell("ip -4 -o address show dev eth0").unwrap();
    assert!(address.contains(" 10.6.0."), "no lease: {address}");
    for to in [SERVER, "fd06::1"] {
        eventually(&format!("the client reaches {to}"), || pings(&site.client, to));
    }
    let mut over = vec![SERVER];
    if vlan(&site) {
        eventually("the client reaches the server by the VLAN", || pings(&site.client, "10.7.0.1"));
        over.push("10.7.0.1");
    } else {
        eprintln!("no VLANs in this kernel: tests/tests/all/backhaul.rs has frames with tags");
    }
    for to in over {
        // A full frame, which is longer than one datagram of the backhaul.
        let whole = Ping::new(to.parse().unwrap()).payload(1472).run(&site.client).unwrap();
        assert_eq!(whole.received, whole.sent, "{to}");
    }
    let client = mac(&site.client, "eth0");
    assert!(behind(&site, "tap0").contains(&client), "{client} is not known to be behind the backhaul");
    let flow =
        Iperf::tcp(SERVER.parse().unwrap()).seconds(4).reverse().run(&site.client, &site.server).unwrap();
    let paths = site.json("ap")["peers"][0]["paths"].as_array().unwrap().clone();
    let bytes: Vec<u64> = paths.iter().map(|p| p["sent_bytes"].as_u64().unwrap()).collect();
    assert!(bytes.iter().all(|b| *b > 1_000_000), "both links carry: {bytes:?}, {flow:?}");
    let running = Iperf::tcp(SERVER.parse().unwrap())
        .seconds(8)
        .interval(0.5)
        .start(&site.client, &site.server)
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    site.links[0].set_up(false).unwrap();
    let report = running.finish().unwrap();
    assert!(report.mean_between(6.0, 8.0) > 1.0, "the other link carries on: {report:?}");
    site.links[0].set_up(true).unwrap();
    ap.kill();
    let _ap = site.start_ap(&ap_file);
    eventually("the access point is back", || pings(&site.client, SERVER));
    repeater.kill();
    let _repeater = site.start_repeater(&own, &[]);
    eventually("the repeater is back", || pings(&site.server, "fd06::2"));
}

#[test]
fn layers_that_differ_and_bridges_that_are_missing_are_one_sentence() {
    if !root() {
        return;
    }
    let site = Site::new("backhaul-layers", [20.0, 20.0]);
    bridges(&site);
    let file = site.file("ap", &AP.replace("br0", "br9"), "");
    let mut ap = site.ap.start(BINARY, ["ap", "--config", &file]).unwrap();
    assert_eq!(ap.wait(SOON).unwrap().code(), Some(1), "{}", ap.stderr());
    assert!(ap.stderr().contains("there is no bridge named `br9`"), "{}", ap.stderr());
    let file = site.file("ap", AP, "");
    let _ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    for (keys, code, words) in [
        ("clients = \"wlan2\"", 5, "set the same `layer`, 2 or 3, in ap.toml and in repeater.toml"),
        ("layer = 2\nclients = \"wlan2\"\nbridge = \"br9\"", 1, "there is no bridge named `br9`"),
    ] {
        let own = site.file("repeater", keys, "");
        let mut end = site.repeater.start(BINARY, ["repeater", &token, "--config", &own]).unwrap();
        let status = end.wait(SOON).unwrap();
        assert_eq!(status.code(), Some(code), "{}", end.stderr());
        assert!(end.stderr().contains(words), "{}", end.stderr());
    }
}
