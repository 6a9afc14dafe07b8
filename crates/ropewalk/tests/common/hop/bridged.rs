//! The hop as a port of a bridge at each end: layer 2.

use super::Site;
use ropewalk_lab::Process;

pub const SERVER: &str = "10.6.0.1";
pub const AP: &str = "layer = 2\ntun = \"tap0\"\nbridge = \"br0\"";
pub const REPEATER: &str = "layer = 2\ntun = \"tap0\"\nbridge = \"br0\"\nclients = \"wlan2\"";

/// A bridge at each end with the cable to those behind it, who have one network between them, and a VLAN.
pub fn bridges(site: &Site) {
    for (node, port) in [(&site.ap, "eth0"), (&site.repeater, "wlan2")] {
        let join = format!("link set {port} master br0");
        node.ip(&["link add br0 type bridge forward_delay 0 mcast_snooping 0", &join, "link set br0 up"])
            .unwrap();
    }
    let (server, client) = (&site.server, &site.client);
    server.ip(&["address add 10.6.0.1/24 dev eth0", "address add fd06::1/64 dev eth0 nodad"]).unwrap();
    client.ip(&["address add fd06::2/64 dev eth0 nodad"]).unwrap();
    site.repeater.shell("tc qdisc add dev wlan2 root tbf rate 100mbit burst 64kb limit 1mb").unwrap();
}

/// Both ends, up.
pub fn hop(site: &Site) -> (Process, Process, [String; 2]) {
    let file = site.file("ap", AP, "");
    let ap = site.start_ap(&file);
    let token = site.invite(&file, "attic");
    let own = site.file("repeater", REPEATER, "");
    let repeater = site.start_repeater(&own, &[&token]);
    (ap, repeater, [file, own])
}
