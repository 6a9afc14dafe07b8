//! The backhaul as a port of a bridge at each end: layer 2.

use super::{SOON, Site, eventually};
use crate::common::{BINARY, ropewalk};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Cable, CableSpec, End, Namespace, Process};
use std::time::Duration;

pub(crate) const SERVER: &str = "10.6.0.1";
pub(crate) const AP: &str = "layer = 2\ntun = \"tap\"\nbridge = \"br0\"";
pub(crate) const REPEATER: &str = "layer = 2\ntun = \"tap0\"\nbridge = \"br0\"\nclients = \"wlan2\"";

/// A bridge at each end with the cable to those behind it, who have one network between them, and a VLAN.
pub(crate) fn bridges(site: &Site) {
    for (node, port) in [(&site.ap, "eth0"), (&site.repeater, "wlan2")] {
        bridge(node, port);
    }
    let (server, client) = (&site.server, &site.client);
    server.ip(&["address add 10.6.0.1/24 dev eth0", "address add fd06::1/64 dev eth0 nodad"]).unwrap();
    client.ip(&["address add fd06::2/64 dev eth0 nodad"]).unwrap();
}

fn bridge(node: &Namespace, port: &str) {
    let join = format!("link set {port} master br0");
    node.ip(&["link add br0 type bridge forward_delay 0 mcast_snooping 0", &join, "link set br0 up"])
        .unwrap();
    if port == "wlan2" {
        node.shell("tc qdisc add dev wlan2 root tbf rate 100mbit burst 64kb limit 1mb").unwrap();
    }
}

/// Both ends, up.
pub(crate) fn backhaul(site: &Site) -> (Process, Process, [String; 2]) {
    let file = site.file("ap", AP, "");
    let ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let own = site.file("repeater", REPEATER, "");
    let repeater = site.start_repeater(&own, &[&token]);
    (ap, repeater, [file, own])
}

/// The second repeater's links at the access point, for the end of `ap.toml`.
pub(crate) const MORE_LINKS: &str =
    "[[ap.link]]\ninterface = \"far0\"\n[[ap.link]]\ninterface = \"far1\"\nshared = true";

/// A second repeater of the same access point with links, a bridge and a client of its own.
pub(crate) struct Second {
    pub node: Namespace,
    pub client: Namespace,
    file: String,
    _links: [Cable; 2],
}

impl Second {
    /// Its client has the address 10.6.0.8.
    pub(crate) fn new(site: &Site) -> Second {
        let node = site.topology.namespace("repeater2").unwrap();
        let client = site.topology.namespace("client2").unwrap();
        let bare = |interface: &str| End::new(interface, [] as [&str; 0]);
        site.topology.veth((&node, bare("wlan2")), (&client, bare("eth0"))).unwrap();
        let link = |n: usize| {
            let end = |name: &str, host: u8| End::new(&format!("{name}{n}"), [format!("10.2.{n}.{host}/24")]);
            let spec = CableSpec::symmetric(LinkSpec::new(20.0, Duration::from_millis(1)));
            site.topology.cable((&site.ap, end("far", 1)), (&node, end("wlan", 2)), spec).unwrap()
        };
        let links = [link(0), link(1)];
        bridge(&node, "wlan2");
        client.ip(&["address add 10.6.0.8/24 dev eth0"]).unwrap();
        let file = site.states.of("second.toml");
        let text = std::fs::read_to_string(site.file("repeater", REPEATER, "")).unwrap();
        std::fs::write(&file, text.replace(&site.states.of("repeater"), &site.states.of("second"))).unwrap();
        Second { node, client, file, _links: links }
    }

    /// Starts it with a token, or with the one that it remembers.
    pub(crate) fn start(&self, token: Option<&str>) -> Process {
        let args = ["repeater", "--config", &self.file].into_iter().chain(token);
        let mut repeater = self.node.start(BINARY, args).unwrap();
        repeater.wait_for_line("connected", SOON).unwrap();
        repeater
    }
}

/// A token for the second repeater.
pub(crate) fn second_token(site: &Site, file: &str) -> String {
    let endpoints = ["--endpoint", "10.2.0.1:4500", "--endpoint", "10.2.1.1:4500"];
    let args = ["ap", "invite", "cellar", "--config", file].into_iter().chain(endpoints);
    String::from_utf8(site.ap.exec(BINARY, args).unwrap().stdout).unwrap().trim().to_owned()
}

/// Ends the right of a repeater to come in.
pub(crate) fn revoke(site: &Site, name: &str) {
    let (code, _, err) = ropewalk(&["revoke", name, "--state", &site.states.of("ap")]);
    assert_eq!(code, 0, "{err}");
}

/// The station's address as the bridge learns it.
pub(crate) fn mac(node: &Namespace, interface: &str) -> String {
    let line = node.shell(&format!("ip -o link show dev {interface}")).unwrap();
    line.split_whitespace().skip_while(|w| *w != "link/ether").nth(1).unwrap().to_owned()
}

/// Stations that the access point's bridge knows to be behind a port.
pub(crate) fn behind(site: &Site, port: &str) -> Vec<String> {
    let table = site.ap.shell(&format!("bridge fdb show dev {port}")).unwrap_or_default();
    let learnt = table.lines().filter(|l| !l.contains("permanent"));
    learnt.filter_map(|l| l.split(' ').next()).map(str::to_owned).collect()
}

/// Waits until the port of the access point's bridge is in this state; none: it is not there.
pub(crate) fn port_is(site: &Site, port: &str, state: Option<&str>) {
    eventually(&format!("{port} is {state:?}"), || {
        let line = site.ap.shell(&format!("bridge link show dev {port}")).unwrap_or_default();
        match state {
            Some(state) => line.contains(&format!("state {state}")),
            None => line.is_empty(),
        }
    });
}
