//! What still works once the rights that are not needed are given up.

use crate::common::{Netns, State, cable, root};
use ropewalk_net::links::{list, route_via};
use ropewalk_net::nat::masquerade;
use ropewalk_net::privileges::{check, drop_all_but_network};
use ropewalk_net::setup::{Journal, MARK, Routes};
use ropewalk_net::tun::Tun;
use ropewalk_net::udp::{Options, UdpSocket};

#[test]
fn a_bond_without_other_rights_follows_links_and_restores_everything() {
    if !root() {
        return;
    }
    let (a, b) = (Netns::new("a"), Netns::new("b"));
    cable((&a, "va", &["10.9.0.1/24"]), (&b, "vb", &["10.9.0.2/24"]));
    let state = State::new(&a);
    let fingerprint =
        || a.run("nft", "list ruleset") + &a.run("sysctl", "-n net.ipv4.ip_forward") + &a.ip("rule");
    let before = fingerprint();
    // `inside` works on a thread of its own, so the rights of the others stay.
    a.inside(|| {
        check().unwrap();
        let tun = Tun::open(None).unwrap();
        let mut journal = Journal::open(&state).unwrap().0;
        masquerade(&mut journal, tun.name(), &["10.77.0.0/24".parse().unwrap()]).unwrap();
        drop_all_but_network().unwrap();
        assert!(std::fs::read("/proc/1/environ").is_err(), "root is not what it was");

        let options =
            Options { device: Some("va"), mark: Some(MARK), ..Options::at("0.0.0.0:0".parse().unwrap()) };
        let socket = UdpSocket::open(&options).unwrap();
        assert!(socket.buffer_bytes().0 >= 8 << 20, "SO_RCVBUFFORCE needs CAP_NET_ADMIN only");
        let va = list().unwrap().into_iter().find(|l| l.name == "va").unwrap();
        assert!(route_via(va.index, [10, 9, 0, 2].into()).unwrap().is_some());
        std::process::Command::new("ip").args(["link", "set", tun.name(), "up"]).status().unwrap();
        Routes::new(tun.index()).add(&mut journal, "0.0.0.0/0".parse().unwrap()).unwrap();
        journal.restore().unwrap();
    });
    assert_eq!(fingerprint(), before);
}
