//! The backhaul as a route: layer 3.

use super::Site;

pub(crate) const SERVER: &str = "10.5.0.2";
pub(crate) const CLIENT: &str = "192.168.8.2";
pub(crate) const BEHIND: &str =
    "[[ap.repeater]]\nname = \"attic\"\nnetworks = [\"192.168.8.0/24\", \"fd08::/64\"]";
pub(crate) const AP: &str = "tun = \"rw0\"\naddress = [\"10.77.0.1/24\", \"fd77::1/64\"]";
pub(crate) const REPEATER: &str = "tun = \"rw0\"\nclients = \"wlan2\"\nnetworks = [\"192.168.8.0/24\", \"fd08::/64\"]\nroute = [\"0.0.0.0/0\", \"::/0\"]";

/// Addresses and routes of those who know nothing of the backhaul, and a queue that can be read in
/// front of the client.
pub(crate) fn addresses(site: &Site) {
    let (server, ap, repeater, client) = (&site.server, &site.ap, &site.repeater, &site.client);
    server
        .ip(&[
            "address add 10.5.0.2/24 dev eth0",
            "address add fd05::2/64 dev eth0 nodad",
            "route add default via 10.5.0.1",
            "route add ::/0 via fd05::1",
        ])
        .unwrap();
    ap.ip(&["address add 10.5.0.1/24 dev eth0", "address add fd05::1/64 dev eth0 nodad"]).unwrap();
    repeater.ip(&["address add 192.168.8.1/24 dev wlan2", "address add fd08::1/64 dev wlan2 nodad"]).unwrap();
    client
        .ip(&[
            "address add 192.168.8.2/24 dev eth0",
            "address add fd08::2/64 dev eth0 nodad",
            "route add default via 192.168.8.1",
            "route add ::/0 via fd08::1",
        ])
        .unwrap();
    repeater.shell("tc qdisc add dev wlan2 root tbf rate 100mbit burst 64kb limit 1mb").unwrap();
}
