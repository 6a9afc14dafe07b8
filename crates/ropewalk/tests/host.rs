//! What a bond does to its machine, and keeps others from doing to it. Needs root; without it the tests pass and say so.
//!
//! ```text
//!   neighbour                client                          gateway
//!   lan 10.5.0.2 ──── 10.5.0.1 lan  wan1 10.1.1.1 ──── 10.1.1.2 wan1      192.0.2.1 lo: the world
//!                            rw0  10.77.0.2 ══════ bond ════ 10.77.0.1 rw0
//! ```

use std::net::{Ipv6Addr, SocketAddrV6};
use std::path::Path;
use std::time::Duration;

use crate::common::{BINARY, SOON, States, eventually, root, ropewalk};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket, sockopt};
use rustix::process::Signal;

const WORLD: &str = "192.0.2.1";
const EVERYTHING: [&str; 2] = ["--route", "0.0.0.0/0"];

struct Net {
    client: Namespace,
    gateway: Namespace,
    states: States,
    topology: Topology,
}

/// Client and gateway on one cable; the client's default route leads to the gateway's machine, which is the world.
fn net(name: &str) -> Net {
    let topology = Topology::new().unwrap();
    let (client, gateway) = (topology.namespace("client").unwrap(), topology.namespace("gateway").unwrap());
    let ends = (End::new("wan1", ["10.1.1.1/24"]), End::new("wan1", ["10.1.1.2/24"]));
    topology.veth((&client, ends.0), (&gateway, ends.1)).unwrap();
    gateway.ip(&["address add 192.0.2.1/32 dev lo"]).unwrap();
    client.ip(&["route add default via 10.1.1.2 dev wan1"]).unwrap();
    Net { client, gateway, states: States::new(name), topology }
}

impl Net {
    fn serve(&self, more: &[&str]) -> Process {
        self.serve_at("10.77.0.1/24", more)
    }

    fn serve_at(&self, address: &str, more: &[&str]) -> Process {
        let state = self.states.of("gateway");
        let args = ["serve", "--state", &state, "--tun", "rw0", "--address", address];
        let mut gateway = self.gateway.start(BINARY, args.iter().chain(more)).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap();
        gateway
    }

    /// A token, in a file for its user only.
    fn invite(&self, name: &str) -> String {
        let state = self.states.of("gateway");
        let (code, token, error) =
            ropewalk(&["invite", name, "--state", &state, "--endpoint", "10.1.1.2:4500"]);
        assert_eq!(code, 0, "{error}");
        let file = self.states.of(&format!("{name}.token"));
        std::fs::write(&file, token).unwrap();
        file
    }

    fn up(&self, token: &str, more: &[&str]) -> Process {
        let state = self.states.of("client");
        let args = ["up", "--token-file", token, "--state", &state, "--tun", "rw0", "--path", "wan1"];
        let mut client = self.client.start(BINARY, args.iter().chain(more)).unwrap();
        client.wait_for_line("connected", SOON).unwrap();
        client
    }
}

fn reaches(from: &Namespace, to: &str) -> bool {
    let ping = Ping::new(to.parse().unwrap()).count(3).timeout(Duration::from_millis(300));
    // A kill switch refuses to send at all.
    ping.run(from).is_ok_and(|report| report.received > 0)
}

/// A router advertisement that makes its sender the default router, names a network on the link and lowers the MTU to 1280 (RFC 4861 §4.2).
fn router_advertisement() -> Vec<u8> {
    let mut all = vec![134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
    all.extend([5, 1, 0, 0, 0, 0, 0x05, 0x00]);
    all.extend([3, 4, 64, 0xc0, 0, 1, 0x51, 0x80, 0, 0, 0x38, 0x40, 0, 0, 0, 0]);
    all.extend("2001:db8:77::".parse::<Ipv6Addr>().unwrap().octets());
    all
}

#[test]
fn a_client_s_router_advertisement_changes_nothing_at_the_gateway() {
    if !root() {
        return;
    }
    let net = net("ra");
    let _gateway = net.serve(&[]);
    let _client = net.up(&net.invite("alice"), &[]);
    net.client.ip(&["address add fe80::1/64 dev rw0 nodad"]).unwrap();
    let before = net.gateway.shell("ip -6 route show dev rw0; cat /proc/sys/net/ipv6/conf/rw0/mtu").unwrap();
    let index = net.client.shell("ip -o link show dev rw0 | cut -d: -f1").unwrap().trim().parse().unwrap();
    let send = || {
        let socket = socket(AddressFamily::INET6, SocketType::RAW, Some(ipproto::ICMPV6)).unwrap();
        sockopt::set_ipv6_multicast_hops(&socket, 255).unwrap();
        let all = SocketAddrV6::new("ff02::1".parse().unwrap(), 0, 0, index);
        sendto(&socket, &router_advertisement(), SendFlags::empty(), &all).unwrap();
    };
    net.client.run(send).unwrap();
    assert!(reaches(&net.client, "10.77.0.1"), "the device carries packets");
    let after = net.gateway.shell("ip -6 route show dev rw0; cat /proc/sys/net/ipv6/conf/rw0/mtu").unwrap();
    assert_eq!(after, before);
    for end in [&net.client, &net.gateway] {
        let keys =
            ["ipv6/conf/rw0/accept_ra", "ipv6/conf/rw0/accept_redirects", "ipv4/conf/rw0/send_redirects"];
        for key in keys {
            let value = end.shell(&format!("cat /proc/sys/net/{key}")).unwrap();
            assert_eq!(value.trim(), "0", "{key}");
        }
    }
}

/// A file system that is soon full, for a state directory; it goes with the value.
struct Tiny(String);

impl Tiny {
    fn new(place: String) -> Tiny {
        std::fs::create_dir_all(&place).unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", &place];
        assert!(std::process::Command::new("mount").args(mount).status().unwrap().success());
        Tiny(place)
    }

    fn fill(&self) {
        let _ = std::fs::write(self.ballast(), vec![0; 128 << 10]);
        assert!(std::fs::write(Path::new(&self.0).join("more"), [0; 4096]).is_err(), "it is full");
        let _ = std::fs::remove_file(Path::new(&self.0).join("more"));
    }

    fn ballast(&self) -> std::path::PathBuf {
        Path::new(&self.0).join("ballast")
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["-l", &self.0]).status();
    }
}

#[test]
fn a_revocation_on_a_full_disk_ends_the_session_and_can_be_repeated() {
    if !root() {
        return;
    }
    let net = net("full");
    let disk = Tiny::new(net.states.of("gateway"));
    let mut gateway = net.serve(&[]);
    let token = net.invite("alice");
    let mut client = net.up(&token, &[]);
    let state = net.states.of("gateway");
    let forward = ["forward", "add", "alice", "tcp", "8080", "--state", &state];
    let (code, _, words) = ropewalk(&forward);
    assert_eq!(code, 0, "{words}");
    disk.fill();
    let revoke = || ropewalk(&["revoke", "alice", "--state", &state]);
    for _ in 0..2 {
        let (code, _, words) = revoke();
        assert_eq!(code, 9, "{words}");
        assert!(words.contains("alice is out") && words.contains("could not be noted"), "{words}");
    }
    assert_eq!(client.wait(SOON).unwrap().code(), Some(5), "{}", client.stderr());
    // It starts with what it has, which is from before.
    gateway.stop();
    disk.fill();
    let mut gateway = net.serve(&[]);
    assert!(
        gateway.stderr().contains("changes.json cannot be written, for the disk is full"),
        "{}",
        gateway.stderr()
    );
    assert_eq!(revoke().0, 9);
    std::fs::remove_file(disk.ballast()).unwrap();
    assert_eq!(revoke(), (0, String::new(), "alice is revoked\n".into()));
    // Nor does the next of that name have what this one had.
    let grants = std::fs::read_to_string(Path::new(&state).join("grants.json")).unwrap();
    assert!(grants.contains("\"forwards\": []"), "{grants}");
    gateway.stop();
    let _gateway = net.serve(&[]);
    let state = net.states.of("client");
    let mut client = net.client.start(BINARY, ["up", "--state", &state, "--path", "wan1"]).unwrap();
    assert_eq!(client.wait(SOON).unwrap().code(), Some(5), "{}", client.stderr());
}

#[test]
fn a_neighbour_does_not_reach_the_tunnel_s_address() {
    if !root() {
        return;
    }
    let net = net("neighbour");
    let neighbour = net.topology.namespace("neighbour").unwrap();
    let ends = (End::new("lan", ["10.5.0.1/24"]), End::new("lan", ["10.5.0.2/24"]));
    net.topology.veth((&net.client, ends.0), (&neighbour, ends.1)).unwrap();
    neighbour.ip(&["route add 10.77.0.2 via 10.5.0.1"]).unwrap();
    let _gateway = net.serve(&[]);
    let mut client = net.up(&net.invite("alice"), &[]);
    assert!(reaches(&neighbour, "10.5.0.1") && reaches(&net.gateway, "10.77.0.2"));
    assert!(!reaches(&neighbour, "10.77.0.2"), "CVE-2019-14899");
    client.stop();
    assert_eq!(net.client.shell("nft list ruleset").unwrap(), "", "nothing is left");
}

#[test]
fn a_kill_switch_stays_until_the_client_is_told_to_stop() {
    if !root() {
        return;
    }
    let net = net("kill");
    let mut gateway = net.serve(&[]);
    let token = net.invite("alice");
    assert!(reaches(&net.client, WORLD));
    let state = net.states.of("client");
    let up = || net.up(&token, &[&EVERYTHING[..], &["--kill-switch"]].concat());
    let mut client = up();
    assert!(reaches(&net.client, WORLD), "through the bond");
    // What goes by another way than the bond does not go.
    let aside = net.client.shell("ip route add 192.0.2.0/24 via 10.1.1.2 dev wan1");
    assert!(aside.is_ok() && !reaches(&net.client, WORLD) && !reaches(&net.client, "10.1.1.2"));
    // Also once somebody has flushed the firewall.
    let tables = || net.client.shell("nft list tables").unwrap();
    let before = tables();
    assert!(before.contains("kill-switch") && before.contains("guard"), "{before}");
    net.client.shell("nft flush ruleset").unwrap();
    eventually("the tables are back", || tables() == before);
    assert!(!reaches(&net.client, WORLD) && !reaches(&net.client, "10.1.1.2"));
    // And once somebody has emptied its chain, while its table stays.
    let rules = || net.client.shell("nft list table inet ropewalk-rw0-kill-switch").unwrap();
    let before = rules();
    net.client.shell("nft flush chain inet ropewalk-rw0-kill-switch output").unwrap();
    eventually("the rules are back", || rules() == before);
    assert!(!reaches(&net.client, WORLD) && !reaches(&net.client, "10.1.1.2"));
    net.client.ip(&["route del 192.0.2.0/24"]).unwrap();
    client.kill();
    client.wait(SOON).unwrap();
    assert!(!reaches(&net.client, WORLD), "the client was killed");
    let mut client = up();
    assert!(reaches(&net.client, WORLD), "it is back");
    client.stop();
    assert!(reaches(&net.client, WORLD), "it was told to stop");
    assert_eq!(net.client.shell("nft list ruleset").unwrap(), "");

    // A client that is refused, and one that is killed and does not come again.
    let mut client = up();
    assert_eq!(ropewalk(&["revoke", "alice", "--state", &net.states.of("gateway")]).0, 0);
    assert_eq!(client.wait(SOON).unwrap().code(), Some(5));
    assert!(client.stderr().contains("the kill switch stays"), "{}", client.stderr());
    assert!(!reaches(&net.client, WORLD), "the client has failed");
    let restore = net.client.exec(BINARY, ["restore", "--state", &state]).unwrap();
    assert!(restore.status.success(), "{restore:?}");
    assert!(reaches(&net.client, WORLD), "taken back");
    assert_eq!(net.client.shell("nft list ruleset; ip rule | grep 293 || true").unwrap(), "");
    gateway.stop();
}

#[test]
fn a_kill_switch_that_cannot_work_is_refused() {
    if !root() {
        return;
    }
    let net = net("kill-usage");
    let state = net.states.of("gateway");
    let (code, token, error) =
        ropewalk(&["invite", "alice", "--state", &state, "--endpoint", "gw.example:4500"]);
    assert_eq!(code, 0, "{error}");
    let run = |more: &[&str]| {
        let state = net.states.of("client");
        let args = ["up", token.trim(), "--state", &state, "--path", "wan1", "--kill-switch"];
        let mut client = net.client.start(BINARY, args.iter().chain(more)).unwrap();
        (client.wait(SOON).unwrap().code(), client.stderr())
    };
    let (code, words) = run(&[]);
    assert!(code == Some(2) && words.contains("needs a default route"), "{words}");
    let (code, words) = run(&EVERYTHING);
    assert!(code == Some(2) && words.contains("ask for the gateway's name"), "{words}");
    assert_eq!(net.client.shell("nft list ruleset").unwrap(), "");
}

#[test]
fn clients_reach_each_other_only_where_that_is_said() {
    if !root() {
        return;
    }
    let net = net("clients");
    let other = net.topology.namespace("other").unwrap();
    let ends = (End::new("wan1", ["10.1.2.1/24"]), End::new("wan2", ["10.1.2.2/24"]));
    net.topology.veth((&other, ends.0), (&net.gateway, ends.1)).unwrap();
    other.ip(&["route add 10.1.1.2 via 10.1.2.2"]).unwrap();
    net.gateway.sysctl("net.ipv4.ip_forward", "1").unwrap();
    let mut gateway = net.serve(&[]);
    let _alice = net.up(&net.invite("alice"), &[]);
    let (token, state) = (net.invite("bob"), net.states.of("bob"));
    let bob = ["up", "--token-file", &token, "--state", &state, "--path", "wan1"];
    let mut bob = other.start(BINARY, bob).unwrap();
    bob.wait_for_line("connected", SOON).unwrap();
    assert!(reaches(&net.client, "10.77.0.1") && reaches(&other, "10.77.0.1"));
    assert!(!reaches(&net.client, "10.77.0.3") && !reaches(&other, "10.77.0.2"), "by default not");
    gateway.stop();
    let _gateway = net.serve(&["--client-to-client"]);
    eventually("clients reach each other", || reaches(&net.client, "10.77.0.3"));
}

#[test]
fn a_token_comes_from_standard_input_or_a_file_that_may_go() {
    if !root() {
        return;
    }
    let net = net("token");
    let _gateway = net.serve(&[]);
    let (file, state) = (net.invite("alice"), net.states.of("client"));
    let line = format!("exec {BINARY} up - --state {state} --tun rw0 --path wan1 <{file}");
    let mut client = net.client.start("sh", ["-c", &line]).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    let shown = std::fs::read_to_string(format!("/proc/{}/cmdline", client.id())).unwrap();
    assert!(!shown.contains("rw1_"), "{shown}");
    client.stop();
    net.up(&file, &[]).stop();
    std::fs::remove_file(&file).unwrap();
    net.up(&file, &[]).stop();
}

/// With its last address a device loses its routes, and what they led into the bond would leave in
/// the clear.
#[test]
fn routes_into_the_bond_outlive_another_address_inside() {
    if !root() {
        return;
    }
    let net = net("readdress");
    let mut gateway = net.serve(&[]);
    let _client = net.up(&net.invite("alice"), &["--route", "0.0.0.0/0", "--route", "198.51.100.0/24"]);
    let routes = || {
        let all = net.client.shell("ip -4 route show table all dev rw0").unwrap();
        let ours = all.lines().map(str::trim).filter(|l| l.starts_with("default") || l.starts_with("198.51"));
        ours.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = routes();
    assert_eq!(before.len(), 2, "{before:?}");
    // Another network, and the same one with another prefix.
    for address in ["10.99.0.1/24", "10.99.0.1/16"] {
        gateway.stop();
        gateway = net.serve_at(address, &[]);
        let prefix = &address[address.find('/').unwrap()..];
        eventually("the client has its new address", || {
            let all = net.client.shell("ip -4 -o address show dev rw0").unwrap();
            all.lines().count() == 1 && all.contains("10.99.0.") && all.contains(&format!("{prefix} "))
        });
        assert_eq!(routes(), before, "{address}");
        assert!(reaches(&net.client, WORLD), "{address}");
    }
}

/// A reload does all that it can, and the next tries the rest again.
#[test]
fn a_route_that_is_taken_keeps_no_other_back() {
    if !root() {
        return;
    }
    let net = net("reroute");
    let _gateway = net.serve(&[]);
    let file = net.states.of("client.toml");
    let wants = |routes: &str| std::fs::write(&file, format!("[up]\nroute = [{routes}]\n")).unwrap();
    let goes = |network: &str| net.client.shell("ip route show dev rw0").unwrap().contains(network);
    wants("");
    let mut client = net.up(&net.invite("alice"), &["--config", &file]);
    net.client.ip(&["route add 198.51.100.0/24 via 10.1.1.2"]).unwrap();
    wants("\"198.51.100.0/24\", \"203.0.113.0/24\"");
    client.signal(Signal::HUP).unwrap();
    client.wait_for_line("this machine has a route to 198.51.100.0/24 already", SOON).unwrap();
    eventually("the other is there", || goes("203.0.113.0/24"));
    net.client.ip(&["route del 198.51.100.0/24"]).unwrap();
    client.signal(Signal::HUP).unwrap();
    eventually("it is tried again", || goes("198.51.100.0/24"));
    wants("");
    client.signal(Signal::HUP).unwrap();
    eventually("both are gone", || !goes("198.51.100.0/24") && !goes("203.0.113.0/24"));
}

/// Who reached this machine from outside is answered as before, from the moment that everything
/// goes into the bond on; and rules for addresses that are gone go with them.
#[test]
fn answers_leave_as_before_when_a_reload_takes_everything() {
    if !root() {
        return;
    }
    let net = net("replies");
    let _gateway = net.serve(&[]);
    let file = net.states.of("client.toml");
    let wants = |routes: &str| std::fs::write(&file, format!("[up]\nroute = [{routes}]\n")).unwrap();
    wants("");
    let mut client = net.up(&net.invite("alice"), &["--config", &file]);
    wants("\"0.0.0.0/0\"");
    client.signal(Signal::HUP).unwrap();
    let leaves = |from: &str| net.client.shell(&format!("ip route get {WORLD} {from}")).unwrap();
    eventually("everything goes into the bond", || leaves("").contains("dev rw0"));
    eventually("but for answers", || leaves("from 10.1.1.1").contains("dev wan1"));
    let rules = || net.client.shell("ip rule").unwrap();
    net.client.ip(&["address add 10.1.1.9/24 dev wan1"]).unwrap();
    eventually("another address has a rule", || rules().contains("from 10.1.1.9 goto"));
    net.client.ip(&["address del 10.1.1.9/24 dev wan1"]).unwrap();
    eventually("and none when it is gone", || !rules().contains("from 10.1.1.9 goto"));
    assert!(rules().contains("from 10.1.1.1 goto"));
}

/// As a restart of systemd-networkd does; without rules all would leave in the clear.
#[test]
fn rules_that_others_take_away_are_put_back() {
    if !root() {
        return;
    }
    let net = net("rules");
    let _gateway = net.serve(&[]);
    let mut client = net.up(&net.invite("alice"), &EVERYTHING);
    let standing = || net.client.shell("(ip rule; ip route show table 29303) | sort").unwrap();
    let before = standing();
    for part in ["29300:", "29301:", "29302:", "29303:", "default dev rw0"] {
        assert!(before.contains(part), "{part}: {before}");
    }
    for priority in 29300..=29303 {
        net.client.ip(&[format!("rule del priority {priority}")]).unwrap();
    }
    eventually("rules are back", || standing() == before);
    client.wait_for_line("ManageForeignRoutingPolicyRules=no", SOON).unwrap();
    net.client.ip(&["route del default table 29303"]).unwrap();
    eventually("the route is back", || standing() == before);
    assert!(reaches(&net.client, WORLD));
    client.stop();
    assert_eq!(net.client.shell("ip rule | grep 293 || true").unwrap(), "", "none is left");
}

#[test]
fn a_reload_does_not_take_the_way_that_a_kill_switch_leaves() {
    if !root() {
        return;
    }
    let net = net("kill-reload");
    let _gateway = net.serve(&[]);
    let file = net.states.of("client.toml");
    let wants = |routes: &str| {
        std::fs::write(&file, format!("[up]\nkill-switch = true\nroute = [{routes}]\n")).unwrap();
    };
    wants("\"0.0.0.0/0\"");
    let mut client = net.up(&net.invite("alice"), &["--config", &file]);
    wants("\"198.51.100.0/24\"");
    client.signal(Signal::HUP).unwrap();
    client.wait_for_line("the kill switch needs a default route", SOON).unwrap();
    assert!(reaches(&net.client, WORLD));
    wants("\"0.0.0.0/0\", \"198.51.100.0/24\"");
    client.signal(Signal::HUP).unwrap();
    let routes = || net.client.shell("ip route show dev rw0").unwrap();
    eventually("other routes come as they are asked for", || routes().contains("198.51.100.0/24"));
    client.stop();
}

#[test]
fn a_file_of_wg_quick_says_what_goes_through_the_bond() {
    if !root() {
        return;
    }
    let net = net("wg");
    let _gateway = net.serve(&[]);
    let [wg, file] = ["wg0.conf", "client.toml"].map(|name| net.states.of(name));
    let key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
    let text = format!(
        "[Interface]\nPrivateKey = {key}\nMTU = 1380\n[Peer]\nPublicKey = {key}\nAllowedIPs = 192.0.2.0/24\n"
    );
    std::fs::write(&wg, text).unwrap();
    std::fs::write(&file, "[up]\nroute = [\"203.0.113.0/24\"]\n").unwrap();
    let more = ["--config", &file, "--from-wg", &wg, "--route", "198.51.100.0/24"];
    let mut client = net.up(&net.invite("alice"), &more);
    let holds = || {
        let device = net.client.shell("ip route show dev rw0; ip link show dev rw0").unwrap();
        for words in ["192.0.2.0/24 ", "198.51.100.0/24 ", "mtu 1380 "] {
            assert!(device.contains(words), "{words}: {device}");
        }
        assert!(!device.contains("203.0.113."), "the command line goes before the file: {device}");
    };
    holds();
    assert!(reaches(&net.client, WORLD), "through the bond");
    let words = client.stderr();
    for line in ["MTU 1380: taken", "PrivateKey: left out", "PublicKey: left out"] {
        assert!(words.contains(line), "{line}:\n{words}");
    }
    assert!(!words.contains(key), "{words}");
    client.signal(Signal::HUP).unwrap();
    client.wait_for_line("the configuration was read again", SOON).unwrap();
    holds();
    assert!(!client.stderr().contains("tun-mtu is fixed"), "nobody changed it: {}", client.stderr());
    client.stop();
    std::fs::write(&wg, "[Peer]\nAllowedIPs = everything\n").unwrap();
    let state = net.states.of("client");
    let mut wrong = net.client.start(BINARY, ["up", "--state", &state, "--from-wg", &wg]).unwrap();
    assert_eq!(wrong.wait(SOON).unwrap().code(), Some(2), "{}", wrong.stderr());
    assert!(wrong.stderr().contains("line 2: AllowedIPs has something that is no network"));
}
