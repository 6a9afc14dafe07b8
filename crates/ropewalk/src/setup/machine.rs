//! What this machine has: addresses, networks, ports, firewalls.

use crate::address::is_public;
use ipnet::{IpNet, Ipv4Net};
use ropewalk_net::links::{self, Link};
use ropewalk_net::locate;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Command, Stdio};

/// The port that is offered first, and how many after it are tried.
const PORTS: std::ops::Range<u16> = 4500..4600;
/// What a gateway's clients are offered: networks that few others use.
const INSIDE: [(u8, u8); 3] = [(10, 77), (172, 27), (192, 168)];

/// A port that nobody has, the usual one first.
pub(super) fn free_port() -> Option<u16> {
    PORTS.into_iter().find(|port| is_free(*port))
}

/// Whether a UDP port can be had.
pub(super) fn is_free(port: u16) -> bool {
    let v4 = UdpSocket::bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port));
    // One at a time: the second of both families would find the first.
    drop(match v4 {
        Ok(socket) => socket,
        Err(_) => return false,
    });
    match UdpSocket::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::AddrInUse,
    }
}

/// Whether a TCP port can be had; no rights for it are no answer.
pub(super) fn is_free_tcp(port: u16) -> bool {
    let taken = |ip: IpAddr| {
        TcpListener::bind(SocketAddr::new(ip, port)).is_err_and(|e| e.kind() == std::io::ErrorKind::AddrInUse)
    };
    !taken(Ipv4Addr::UNSPECIFIED.into()) && !taken(Ipv6Addr::UNSPECIFIED.into())
}

/// This machine can listen on IPv6.
pub(super) fn has_ipv6() -> bool {
    UdpSocket::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0)).is_ok()
}

/// Addresses by which others may reach this machine, public ones first.
pub(super) fn addresses() -> anyhow::Result<Vec<IpAddr>> {
    let all = links::list()?;
    let usable = all.iter().filter(|l| l.unusable(&[]).is_none());
    let mut found: Vec<IpAddr> = usable.flat_map(Link::lasting_addresses).collect();
    // A temporary IPv6 address, where there is no other, is gone tomorrow: IPv4 first.
    found.sort_by_key(|ip| (!is_public(*ip), ip.is_ipv6()));
    Ok(found)
}

/// Networks that this machine has, or to which some table of it has a route; what stands for a default
/// route is none.
pub(super) fn networks() -> anyhow::Result<Vec<IpNet>> {
    let links = links::list()?;
    let own =
        |l: &Link| l.addresses.iter().filter_map(|a| IpNet::new(a.ip, a.prefix_len).ok()).collect::<Vec<_>>();
    let mut all: Vec<IpNet> = links.iter().flat_map(own).collect();
    all.extend(links::routed_networks()?.into_iter().filter(|n| !is_default(n)));
    Ok(all)
}

/// A default route, or one of those that stand for it: all of the IPv6 internet (2000::/3), or the
/// halves by which a VPN goes before another default route. No network is as large: 10.0.0.0/8 (RFC
/// 1918) and fc00::/7 (RFC 4193) are the largest.
fn is_default(route: &IpNet) -> bool {
    route.prefix_len() < if route.addr().is_ipv4() { 8 } else { 7 }
}

/// A network for clients that collides with none of `taken`; its first address is the gateway's.
pub(super) fn inner_network(taken: &[IpNet]) -> IpNet {
    let candidates = INSIDE.iter().flat_map(|(a, b)| (0..=255).map(move |c| Ipv4Addr::new(*a, *b, c, 1)));
    let nets = candidates.filter_map(|a| Ipv4Net::new(a, 24).ok()).map(IpNet::V4);
    let free = |net: &IpNet| collision(net, taken).is_none();
    nets.into_iter()
        .find(free)
        .unwrap_or_else(|| IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(10, 77, 0, 1), 24)))
}

/// The one of these networks that overlaps `net`.
pub(super) fn collision<'a>(net: &IpNet, taken: &'a [IpNet]) -> Option<&'a IpNet> {
    taken.iter().find(|t| t.contains(&net.network()) || net.contains(&t.network()))
}

/// A firewall that may be in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Firewall {
    /// Ubuntu's.
    Ufw,
    /// Fedora's, and others'.
    Firewalld,
    /// Rules of somebody's own, with an input chain that drops.
    Nftables,
}

impl Firewall {
    /// The one that is in the way.
    pub(super) fn find() -> Option<Firewall> {
        if output("ufw", &["status"]).is_some_and(|out| out.contains("Status: active")) {
            return Some(Firewall::Ufw);
        }
        if output("firewall-cmd", &["--state"]).is_some_and(|out| out.trim() == "running") {
            return Some(Firewall::Firewalld);
        }
        let chains = output("nft", &["-j", "list", "chains"])?;
        drops_input(&chains).then_some(Firewall::Nftables)
    }

    /// What opens a UDP port, for a shell.
    pub(super) fn command(self, port: u16) -> String {
        match self {
            Firewall::Ufw => format!("ufw allow {port}/udp"),
            Firewall::Firewalld => format!(
                "firewall-cmd --permanent --add-port={port}/udp && firewall-cmd --add-port={port}/udp"
            ),
            Firewall::Nftables => {
                format!("nft add rule inet filter input udp dport {port} accept   # your table and chain")
            }
        }
    }

    /// It keeps what it is told, so that it can be told so here. In rules of somebody's own nobody
    /// else writes.
    pub(super) fn can_be_told(self) -> bool {
        self != Firewall::Nftables
    }

    /// Somebody opened the UDP port before, by the rule that would be written here.
    pub(super) fn is_open(self, port: u16) -> bool {
        let port = format!("{port}/udp");
        match self {
            Firewall::Ufw => output("ufw", &["show", "added"]).is_some_and(|rules| is_allowed(&rules, &port)),
            Firewall::Firewalld => {
                let query = format!("--query-port={port}");
                output("firewall-cmd", &["--permanent", &query]).is_some()
            }
            Firewall::Nftables => false,
        }
    }

    /// Opens a UDP port, or closes it again.
    pub(super) fn set(self, port: u16, open: bool) -> anyhow::Result<()> {
        let port = format!("{port}/udp");
        match (self, open) {
            (Firewall::Ufw, true) => run("ufw", &["allow", &port]),
            (Firewall::Ufw, false) => run("ufw", &["delete", "allow", &port]),
            (Firewall::Firewalld, _) => {
                let change = format!("--{}-port={port}", if open { "add" } else { "remove" });
                run("firewall-cmd", &["--permanent", &change])?;
                run("firewall-cmd", &[&change])
            }
            (Firewall::Nftables, _) => Ok(()),
        }
    }
}

/// One of ufw's rules allows just that; a comment makes no other rule of it.
fn is_allowed(rules: &str, port: &str) -> bool {
    rules.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.by_ref().take(3).eq(["ufw", "allow", port]) && words.next().is_none_or(|word| word == "comment")
    })
}

/// Some chain at the input hook drops what no rule accepts.
fn drops_input(chains: &str) -> bool {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(chains) else { return false };
    let mut all = json["nftables"].as_array().into_iter().flatten().map(|entry| &entry["chain"]);
    all.any(|chain| chain["hook"] == "input" && chain["policy"] == "drop")
}

/// A program of the system. It speaks English, whoever asks: some of what it says is read here.
fn command(program: &str) -> Command {
    let mut command = Command::new(locate(program));
    // Translations go by LANGUAGE before they look at LC_ALL.
    command.env("LC_ALL", "C").env_remove("LANGUAGE");
    command
}

/// What a program prints, if it is there and does well.
pub(super) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = command(program);
    let out = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Runs a program that has to do well.
pub(super) fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = command(program);
    let out = command.args(arguments).stdin(Stdio::null()).output();
    let line = || format!("`{program} {}`", arguments.join(" "));
    let out = out.map_err(|e| anyhow::anyhow!("{} cannot be run: {e}", line()))?;
    let said = String::from_utf8_lossy(&out.stderr);
    anyhow::ensure!(out.status.success(), "{} failed: {}", line(), said.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_network_is_nobody_else_s() {
        let nets = |all: &[&str]| all.iter().map(|n| n.parse().unwrap()).collect::<Vec<IpNet>>();
        assert_eq!(inner_network(&[]).to_string(), "10.77.0.1/24");
        assert_eq!(inner_network(&nets(&["10.77.0.5/24", "10.77.1.128/25"])).to_string(), "10.77.2.1/24");
        assert_eq!(inner_network(&nets(&["10.0.0.0/8"])).to_string(), "172.27.0.1/24");
        assert!(collision(&nets(&["10.77.0.1/16"])[0], &nets(&["10.77.9.0/24"])).is_some());
    }

    #[test]
    fn a_route_to_the_whole_internet_is_no_network_of_somebody_s() {
        let is_default = |net: &str| is_default(&net.parse().unwrap());
        for net in ["0.0.0.0/0", "::/0", "2000::/3", "0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"] {
            assert!(is_default(net), "{net}");
        }
        for net in ["10.0.0.0/8", "192.168.1.0/24", "fc00::/7", "fd00::/8", "2001:db8::/32"] {
            assert!(!is_default(net), "{net}");
        }
    }

    #[test]
    fn a_firewall_that_drops_is_seen() {
        let chain = |policy: &str| {
            format!(
                r#"{{"nftables":[{{"metainfo":{{}}}},{{"chain":{{"family":"inet","table":"filter","name":"input","hook":"input","policy":"{policy}"}}}}]}}"#
            )
        };
        assert!(drops_input(&chain("drop")) && !drops_input(&chain("accept")) && !drops_input("x"));
    }

    #[test]
    fn programs_are_asked_in_english() {
        let command = command("ufw");
        let of = |key: &str| command.get_envs().find(|(k, _)| *k == key).map(|(_, value)| value);
        assert_eq!(of("LC_ALL"), Some(Some(std::ffi::OsStr::new("C"))));
        assert_eq!(of("LANGUAGE"), Some(None), "it is taken away");
        let said = output("sh", &["-c", "echo $LC_ALL ${LANGUAGE-none}"]);
        assert_eq!(said.as_deref(), Some("C none\n"));
    }

    #[test]
    fn a_rule_of_ufw_is_for_its_port_alone() {
        let is_open = |line: &str| is_allowed(&format!("Added user rules:\n{line}\n"), "4500/udp");
        for line in ["ufw allow 4500/udp", "ufw allow 4500/udp comment 'a tunnel'"] {
            assert!(is_open(line), "{line}");
        }
        for line in [
            "(None)",
            "ufw allow 14500/udp",
            "ufw allow 4500",
            "ufw deny 4500/udp",
            "ufw allow 4500/udp from 192.0.2.1",
            "ufw route allow 4500/udp",
        ] {
            assert!(!is_open(line), "{line}");
        }
    }

    #[test]
    fn a_port_that_somebody_has_is_not_free() {
        let taken = UdpSocket::bind("0.0.0.0:0").unwrap();
        assert!(!is_free(taken.local_addr().unwrap().port()));
    }
}
