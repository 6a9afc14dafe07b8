//! What a gateway grants to some of its clients: forwarded ports, groups whose members reach each
//! other, caps of rates, shares of the line.
//!
//! All of it is a table of the firewall, another for caps of what clients send (`uploads`), and a
//! queueing discipline at the bond's device. There are two rules of routing besides, where a way is
//! open that is not for all: what clients send goes nowhere unless the first table has marked it. So
//! a firewall that somebody flushes opens nothing. Rules that others take away are put back within
//! seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::{IpNet, Ipv6Net};
use serde::{Deserialize, Serialize};

use super::conntrack::{self, Flow};
use super::global::GLOBAL_MARK;
use super::rule::{Rule, RuleKind, keep_rules};
use super::shaping::{HANDLE, classes, shape};
use super::sysctl::{forward_no_more, forwarding, reverse_path_by_mark};
use super::uploads::cap;
use super::within::{by_depth, is_of, version};
use super::{Change, Journal, SetupError};
use crate::nft::{Nft, quoted, table_name};

/// The mark of packets from clients that have a way, to a member of their group or as answers from
/// a forwarded port: "rg" in ASCII.
pub const GROUP_MARK: u32 = 0x7267;
/// The priority of the rule that lets them through; the next holds the others back.
pub const GROUP_PRIORITY: u32 = 29_220;
const NFT: Nft = Nft { purpose: "what a gateway grants to its clients" };

/// What has ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// As nftables has it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        }
    }
}

/// A port of this machine that leads to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Of which protocol.
    pub protocol: Protocol,
    /// The port of this machine, at all of its addresses.
    pub port: u16,
    /// The client.
    pub address: IpAddr,
    /// The port of the client.
    pub to: u16,
    /// The client sees this machine's inner address, not the visitor's.
    pub masquerade: bool,
}

/// What a client may send and receive at most, and its part of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The client's addresses, and the networks behind it.
    pub networks: Vec<IpNet>,
    /// To the client, bits a second: shaped.
    pub down_bps: Option<u64>,
    /// From the client, bits a second: what is more is dropped.
    pub up_bps: Option<u64>,
    /// Its part of the line, where that is divided.
    pub share: u8,
    /// The number of its class ([`Grants::number`]).
    pub class: u16,
}

/// All that is granted, by addresses. The journal has the device only, by which the table is taken
/// back: it must not grow with every change.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Grants {
    /// The bond's device.
    pub device: String,
    /// Forwarded ports.
    #[serde(skip)]
    pub forwards: Vec<Forward>,
    /// Ports that led to a client and do not now: the protocol, this machine's port, the client's.
    #[serde(skip)]
    pub ended: Vec<(Protocol, u16, u16)>,
    /// Groups, by their members' addresses.
    #[serde(skip)]
    pub groups: Vec<Vec<IpAddr>>,
    /// Caps and shares; where the line is divided, of all clients that have a class.
    #[serde(skip)]
    pub limits: Vec<Limit>,
    /// What goes to all clients together at most, bits a second: this is divided.
    #[serde(skip)]
    pub line_bps: Option<u64>,
    /// The clients' networks, and those behind them: one within a capped client's is not its.
    #[serde(skip)]
    pub inside: Vec<IpNet>,
    /// For IPv4 and for IPv6: this machine forwards for the sake of these grants only, and so for
    /// clients nothing else than this.
    #[serde(skip)]
    pub closed: [bool; 2],
    /// The clients' network whose addresses the world sees ([`super::let_through`]): there a
    /// forwarded port is open at the client's own address, too.
    #[serde(skip)]
    pub global: Option<Ipv6Net>,
}

/// Puts `grants` in force in place of what `stood`, if that is known. `networks` are those of the
/// clients.
///
/// # Errors
/// `nft` or `tc` is not there, or refuses; a part may be in force then.
pub fn grant(
    journal: &mut Journal,
    stood: Option<&Grants>,
    grants: &Grants,
    networks: &[IpNet],
) -> Result<(), SetupError> {
    let [v4, v6] = grants.forwarded();
    // Ways are closed before the table goes that watches them.
    for (v6, closed, needed) in [(false, grants.closed[0], v4), (true, grants.closed[1], v6)] {
        if closed && !needed {
            forward_no_more(journal, v6)?;
        }
    }
    hold_back(journal, grants, networks)?;
    replace(journal, grants)?;
    cap(journal, grants, stood.is_some())?;
    grants.end_flows(networks);
    forwarding(journal, v4, v6)?;
    shape(stood, grants)
}

/// The rules of routing, where some clients have a way that others have not.
fn hold_back(journal: &mut Journal, grants: &Grants, networks: &[IpNet]) -> Result<(), SetupError> {
    let (mut wanted, mut others) = (Vec::new(), Vec::new());
    // From the last to the first: what is marked has a way only once all else has none.
    for network in networks {
        let v6 = network.addr().is_ipv6();
        let closed = grants.closed[usize::from(v6)];
        let everywhere = IpNet::new_assert(network.addr(), 0).trunc();
        let network = if closed { everywhere } else { network.trunc() };
        let interface = grants.device.clone();
        let through = RuleKind::InMarkToMain { interface: interface.clone(), mark: GROUP_MARK };
        let not = RuleKind::InToNowhere { interface, network };
        let rules = [(1, not), (0, through)]
            .map(|(place, does)| Change::Rule(Rule { v6, priority: GROUP_PRIORITY + place, does }));
        let are = !grants.groups.is_empty() || (closed && grants.forwarded()[usize::from(v6)]);
        (if are { &mut wanted } else { &mut others }).extend(rules);
    }
    let stands = |journal: &Journal, rule: &Change| journal.changes().contains(rule);
    for rule in wanted {
        if !stands(journal, &rule) {
            journal.make(rule)?;
        }
    }
    for rule in others.iter().rev() {
        if stands(journal, rule) {
            journal.undo(rule)?;
        }
    }
    reverse_path_by_mark(journal, &grants.device)
}

/// Puts back what others took away of a gateway's rules of routing, whatever they are for, and of
/// the setting that goes with them. Returns how many rules those were. To be asked now and then.
///
/// # Errors
/// The first that the kernel gave; what else can be done is done.
pub fn keep_held_back(journal: &mut Journal, device: &str) -> Result<usize, SetupError> {
    let kept = keep_rules(journal);
    let setting = reverse_path_by_mark(journal, device);
    kept.and_then(|count| setting.map(|()| count))
}

/// The table: replaced in one step, and gone where it has no rules.
fn replace(journal: &mut Journal, grants: &Grants) -> Result<(), SetupError> {
    let noted = journal.changes().iter().find(|c| matches!(c, Change::Grants(_))).cloned();
    match (noted, grants.rules().is_empty()) {
        (Some(_), false) => {
            grants.add()?;
            journal.remember(Change::Grants(grants.clone()));
            Ok(())
        }
        (None, false) => journal.make(Change::Grants(grants.clone())),
        (Some(noted), true) => journal.undo(&noted),
        (None, true) => Ok(()),
    }
}

impl Grants {
    /// Nothing is granted, and no port was forwarded.
    pub fn is_empty(&self) -> bool {
        let no_ports = self.forwards.is_empty() && self.ended.is_empty();
        no_ports && self.groups.is_empty() && self.limits.is_empty() && self.line_bps.is_none()
    }

    /// Ends what goes on through ports that lead elsewhere now, or nowhere. Entries are deleted: a
    /// chain could not tell an administrator's own flows from these, and flowtables pass chains by.
    fn end_flows(&self, networks: &[IpNet]) {
        if self.forwards.is_empty() && self.ended.is_empty() {
            return;
        }
        let all = self.global.is_some();
        if let Err(error) = conntrack::end(all, |flow| self.is_withdrawn(flow, networks)) {
            tracing::warn!("connections through ports that are forwarded no more may go on: {error}");
        }
    }

    /// It goes to a client through a port that was forwarded, but not by what is granted now.
    fn is_withdrawn(&self, flow: &Flow, networks: &[IpNet]) -> bool {
        let inside = |address: IpAddr| networks.iter().any(|n| n.contains(&address));
        // At its own address a client is reached at its port, whichever is this machine's.
        let passes = |protocol, port, to| {
            (Some(protocol), to) == (flow.protocol, flow.to.port()) && (!flow.translated || port == flow.port)
        };
        let same = |f: &Forward| passes(f.protocol, f.port, f.to);
        let was = self.ended.iter().any(|e| passes(e.0, e.1, e.2)) || self.forwards.iter().any(same);
        let is = self.forwards.iter().any(|f| same(f) && f.address == flow.to.ip());
        let came = flow.translated || (self.is_global(flow.to.ip()) && !inside(flow.from));
        was && !is && came && inside(flow.to.ip())
    }

    fn is_global(&self, address: IpAddr) -> bool {
        matches!((address, self.global), (IpAddr::V6(address), Some(network)) if network.contains(&address))
    }

    /// Whether packets are forwarded for their sake, of IPv4 and of IPv6.
    fn forwarded(&self) -> [bool; 2] {
        let addresses = || self.forwards.iter().map(|f| &f.address).chain(self.groups.iter().flatten());
        [addresses().any(IpAddr::is_ipv4), addresses().any(IpAddr::is_ipv6)]
    }

    pub(super) fn add(&self) -> Result<(), SetupError> {
        NFT.replace(&self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("grants", &self.device)
    }

    pub(super) fn rules(&self) -> String {
        let closed = self.closed().unwrap_or_default();
        let (ports, ended) = (self.ports() + &self.open(), self.ended());
        format!("{ports}{ended}{}{}{closed}", self.between(), self.downloads())
    }

    /// Forwarded ports, for those outside: a client has its own way to another, or none.
    fn ports(&self) -> String {
        let device = quoted(&self.device);
        let to = |f: &Forward| {
            let (version, socket) = (version(f.address), std::net::SocketAddr::new(f.address, f.to));
            let family = if f.address.is_ipv4() { "ipv4" } else { "ipv6" };
            format!(
                "    iifname != {device} fib daddr type local meta nfproto {family} {} dport {} dnat {version} to {socket}\n",
                f.protocol.name(),
                f.port
            )
        };
        let hidden = |f: &Forward| {
            let (protocol, version) = (f.protocol.name(), version(f.address));
            let (address, port) = (f.address, f.to);
            format!(
                "    oifname {device} ct status dnat {version} daddr {address} {protocol} dport {port} masquerade\n"
            )
        };
        let into: String = self.forwards.iter().map(to).collect();
        let from: String = self.forwards.iter().filter(|f| f.masquerade).map(hidden).collect();
        chain("ports", "nat hook prerouting priority -100", &into)
            + &chain("visitors", "nat hook postrouting priority 100", &from)
    }

    /// Marks what comes to forwarded ports at clients' own addresses, after the chain that takes
    /// marks away which are others'.
    fn open(&self) -> String {
        let device = quoted(&self.device);
        let mark = |f: &Forward| {
            let (address, protocol, port) = (f.address, f.protocol.name(), f.to);
            format!(
                "    iifname != {device} ip6 daddr {address} {protocol} dport {port} meta mark set {GLOBAL_MARK}\n"
            )
        };
        let rules: String = self.forwards.iter().filter(|f| self.is_global(f.address)).map(mark).collect();
        chain("open", "filter hook prerouting priority -80", &rules)
    }

    /// A client's end of a connection that ended with its forward must not go on as a new one: a
    /// masquerade could give it the same port. Where this machine is closed it has no way anyhow.
    fn ended(&self) -> String {
        let device = quoted(&self.device);
        let tcp = self.ended.iter().filter(|(protocol, ..)| *protocol == Protocol::Tcp);
        let ports: BTreeSet<u16> = tcp.map(|(.., to)| *to).collect();
        let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        let mut rules = String::new();
        for (family, closed) in ["ipv4", "ipv6"].iter().zip(self.closed) {
            if !closed && !ports.is_empty() {
                rules.push_str(&format!(
                    "    iifname {device} meta nfproto {family} tcp sport {{ {ports} }} tcp flags & (fin | syn | rst | ack) != syn ct state new drop\n"
                ));
            }
        }
        chain("ended", "filter hook forward priority -10", &rules)
    }

    /// Marks what members of a group send each other, and what goes through forwarded ports where
    /// that would be held back.
    fn between(&self) -> String {
        let device = quoted(&self.device);
        let mut rules = String::new();
        for members in &self.groups {
            for v in ["ip", "ip6"] {
                let all: Vec<String> =
                    members.iter().filter(|a| version(**a) == v).map(IpAddr::to_string).collect();
                if all.len() > 1 {
                    let all = all.join(", ");
                    rules.push_str(&format!(
                        "    iifname {device} {v} saddr {{ {all} }} {v} daddr {{ {all} }} meta mark set {GROUP_MARK}\n"
                    ));
                }
            }
        }
        if self.closed().is_some() {
            rules.push_str(&format!(
                "    iifname {device} ct direction reply ct status dnat meta mark set {GROUP_MARK}\n"
            ));
        }
        // Reverse path filtering asks by the mark for the way back to a visitor.
        let to: BTreeSet<&IpAddr> =
            self.forwards.iter().map(|f| &f.address).filter(|a| a.is_ipv4()).collect();
        if self.closed[0] && !to.is_empty() {
            let to = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            rules.push_str(&format!(
                "    iifname != {device} meta mark 0 ip daddr {{ {to} }} ct status dnat meta mark set {GROUP_MARK}\n"
            ));
        }
        // Whoever marks packets for another purpose must open no way.
        let clear = format!("    iifname {device} meta mark {GROUP_MARK} meta mark set 0\n");
        let rules = if rules.is_empty() { rules } else { clear + &rules };
        chain("groups", "filter hook prerouting priority -90", &rules)
    }

    /// The class of the queueing discipline that packets for a client belong to.
    fn downloads(&self) -> String {
        let (device, classes) = (quoted(&self.device), classes(self));
        let shaped = self.limits.iter().filter(|limit| classes.contains_key(&limit.class));
        let all = shaped.flat_map(|limit| limit.networks.iter().map(move |n| (n.trunc(), limit.class)));
        let (hosts, networks): (Vec<_>, Vec<_>) =
            all.partition(|(network, _)| network.prefix_len() == network.max_prefix_len());
        // Of networks within each other the narrowest counts, as where packets are routed.
        let (outer, apart) = by_depth(networks, &self.inside);
        let mut rules = String::new();
        for (network, class) in outer {
            let of = is_of("daddr", network, &self.inside);
            rules.push_str(&format!("    oifname {device} {of} meta priority set {HANDLE}:{class:x}\n"));
        }
        let mut look_up = |v: &str, of: Vec<String>| {
            if !of.is_empty() {
                let of = of.join(", ");
                rules.push_str(&format!("    oifname {device} meta priority set {v} daddr map {{ {of} }}\n"));
            }
        };
        // There may be a thousand networks and addresses: each packet's is looked up.
        for v in ["ip", "ip6"] {
            let of = apart.iter().filter(|(network, _)| version(network.addr()) == v);
            look_up(v, of.map(|(network, class)| format!("{network} : {HANDLE}:{class:x}")).collect());
            let of = hosts.iter().filter(|(host, _)| version(host.addr()) == v);
            let of: BTreeMap<IpAddr, u16> = of.map(|(host, class)| (host.addr(), *class)).collect();
            look_up(v, of.iter().map(|(host, class)| format!("{host} : {HANDLE}:{class:x}")).collect());
        }
        chain("downloads", "filter hook postrouting priority -150", &rules)
    }

    /// Where this machine forwards for our sake only, clients gain no other way by it, and nobody a
    /// way to them.
    fn closed(&self) -> Option<String> {
        let device = quoted(&self.device);
        let mut rules = String::new();
        let is_closed = |at: usize| self.closed[at] && self.forwarded()[at];
        for (family, _) in [("ipv4", 0), ("ipv6", 1)].iter().filter(|(_, at)| is_closed(*at)) {
            rules.push_str(&format!(
                "    meta nfproto {family} iifname {device} oifname != {device} drop\n\
                 \x20   meta nfproto {family} iifname != {device} oifname {device} drop\n"
            ));
        }
        let kept = "    ct state established,related accept\n    ct status dnat accept\n";
        (!rules.is_empty())
            .then(|| chain("others", "filter hook forward priority 0", &(kept.to_owned() + &rules)))
    }
}

/// A chain of the table; none where it has no rules.
pub(super) fn chain(name: &str, place: &str, rules: &str) -> String {
    if rules.is_empty() {
        return String::new();
    }
    format!("  chain {name} {{\n    type {place}; policy accept;\n{rules}  }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants() -> Grants {
        let [a, b, six]: [IpAddr; 3] = ["10.77.0.2", "10.77.0.3", "fd77::2"].map(|t| t.parse().unwrap());
        let forward = |protocol, address| Forward { protocol, port: 8080, address, to: 80, masquerade: true };
        Grants {
            device: "rw0".into(),
            forwards: vec![forward(Protocol::Tcp, a), forward(Protocol::Udp, six)],
            ended: vec![(Protocol::Tcp, 8081, 443), (Protocol::Tcp, 8082, 443), (Protocol::Udp, 53, 53)],
            groups: vec![vec![a, b, six]],
            limits: vec![Limit {
                networks: vec![a.into(), six.into(), "192.168.8.1/24".parse().unwrap()],
                down_bps: Some(10_000_000),
                up_bps: Some(2_000_000),
                share: 1,
                class: 1,
            }],
            line_bps: None,
            inside: ["10.77.0.1/24", "192.168.8.128/25"].map(|n| n.parse().unwrap()).to_vec(),
            closed: [true, false],
            global: None,
        }
    }

    #[test]
    fn each_part_is_a_chain() {
        let rules = grants().rules();
        for line in [
            "iifname != \"rw0\" fib daddr type local meta nfproto ipv4 tcp dport 8080 dnat ip to 10.77.0.2:80\n",
            "meta nfproto ipv6 udp dport 8080 dnat ip6 to [fd77::2]:80\n",
            "ct status dnat ip daddr 10.77.0.2 tcp dport 80 masquerade\n",
            "iifname \"rw0\" ip saddr { 10.77.0.2, 10.77.0.3 } ip daddr { 10.77.0.2, 10.77.0.3 } meta mark set 29287\n",
            "ip daddr 192.168.8.0/24 ip daddr != { 192.168.8.128/25 } meta priority set 628:1\n",
            "oifname \"rw0\" meta priority set ip daddr map { 10.77.0.2 : 628:1 }\n",
            "oifname \"rw0\" meta priority set ip6 daddr map { fd77::2 : 628:1 }\n",
            "nfproto ipv6 tcp sport { 443 } tcp flags & (fin | syn | rst | ack) != syn ct state new drop\n",
            "meta nfproto ipv4 iifname \"rw0\" oifname != \"rw0\" drop\n",
        ] {
            assert!(rules.contains(line), "{line}\n{rules}");
        }
        assert!(!rules.contains("ipv4 tcp sport"), "what is closed needs no more: {rules}");
        assert!(!rules.contains("ip6 saddr {") && !rules.contains("ipv6 iifname \"rw0\" oifname"), "{rules}");
        let none = Grants { closed: [true; 2], ..Grants::default() };
        assert_eq!(none.rules(), "", "nothing is closed where nothing is open");
    }

    #[test]
    fn of_networks_within_each_other_the_narrowest_comes_last() {
        let limit = |(class, network): (u16, &str)| Limit {
            networks: vec![network.parse().unwrap()],
            down_bps: Some(1_000_000),
            up_bps: None,
            share: 1,
            class,
        };
        let limits = [(1, "192.168.8.0/24"), (2, "192.168.0.0/16"), (3, "10.77.0.2/32")].map(limit).to_vec();
        let rules = Grants { device: "rw0".into(), limits, ..Grants::default() }.downloads();
        let order = rules.lines().filter_map(|l| l.split("628:").nth(1)?.split(' ').next());
        assert_eq!(order.collect::<Vec<_>>(), ["2", "1", "3"], "{rules}");
    }

    #[test]
    fn a_network_behind_each_client_is_no_rule_for_each() {
        let limit = |class: u16| {
            let networks = [format!("2001:db8:1:{class:x}::1/128"), format!("2001:db8:1:{class:x}::/64")];
            let networks = networks.map(|n| n.parse().unwrap()).to_vec();
            Limit { networks, down_bps: Some(1_000_000), up_bps: None, share: 1, class }
        };
        let inside = ["2001:db8:1::/48", "2001:db8:1:1::/64", "2001:db8:1:2::/64"];
        let inside = inside.map(|n| n.parse().unwrap()).to_vec();
        let limits = vec![limit(1), limit(2)];
        let rules = Grants { device: "rw0".into(), limits, inside, ..Grants::default() }.downloads();
        let map = "map { 2001:db8:1:1::/64 : 628:1, 2001:db8:1:2::/64 : 628:2 }\n";
        let then = "    oifname \"rw0\" meta priority set ip6 daddr map { 2001:db8:1:1::1 : 628:1, ";
        assert!(rules.contains(&(map.to_owned() + then)), "{rules}");
        assert_eq!(rules.matches("priority set").count(), 2, "{rules}");
    }

    #[test]
    fn a_flow_ends_unless_it_is_granted_as_it_goes() {
        let networks: [IpNet; 2] = ["10.77.0.1/24".parse().unwrap(), "fd77::1/64".parse().unwrap()];
        for (protocol, port, to, ends) in [
            (Protocol::Tcp, 8080, "10.77.0.2:80", false),
            (Protocol::Udp, 8080, "[fd77::2]:80", false),
            (Protocol::Tcp, 8080, "10.77.0.3:80", true),
            (Protocol::Tcp, 8081, "10.77.0.2:443", true),
            // Not ours: other ports, and machines that are no clients.
            (Protocol::Udp, 8081, "10.77.0.2:443", false),
            (Protocol::Tcp, 8081, "10.77.0.2:80", false),
            (Protocol::Tcp, 9090, "10.77.0.2:443", false),
            (Protocol::Tcp, 8081, "192.168.0.2:443", false),
        ] {
            let from = [10, 1, 9, 1].into();
            let flow =
                Flow { protocol: Some(protocol), from, port, to: to.parse().unwrap(), translated: true };
            assert_eq!(grants().is_withdrawn(&flow, &networks), ends, "{flow:?}");
        }
    }

    #[test]
    fn a_port_is_open_at_the_address_that_the_world_sees() {
        let mut grants = grants();
        assert!(!grants.rules().contains("chain open"), "{}", grants.rules());
        let answers = "iifname \"rw0\" ct direction reply ct status dnat meta mark set 29287\n";
        assert!(grants.rules().contains(answers), "no way for what others translate: {}", grants.rules());
        let visitors =
            "iifname != \"rw0\" meta mark 0 ip daddr { 10.77.0.2 } ct status dnat meta mark set 29287\n";
        assert!(grants.rules().contains(visitors), "reverse path filtering: {}", grants.rules());
        grants.global = Some("fd77::/64".parse().unwrap());
        let line = "iifname != \"rw0\" ip6 daddr fd77::2 udp dport 80 meta mark set 29238\n";
        let rules = grants.rules();
        assert!(rules.contains(line) && !rules.contains("daddr 10.77.0.2 tcp dport 80 meta mark"), "{rules}");
        grants.ended.push((Protocol::Udp, 9999, 53));
        let networks: [IpNet; 2] = ["10.77.0.1/24".parse().unwrap(), "fd77::1/64".parse().unwrap()];
        for (protocol, from, to, ends) in [
            (Protocol::Udp, "2001:db8::9", "[fd77::2]:53", true),
            (Protocol::Udp, "2001:db8::9", "[fd77::2]:80", false),
            (Protocol::Udp, "2001:db8::9", "[fd77::3]:80", true),
            // What clients say to each other, or others to each other, was never through a port.
            (Protocol::Udp, "fd77::3", "[fd77::2]:53", false),
            (Protocol::Udp, "fd77::2", "[2001:db8::9]:53", false),
            (Protocol::Tcp, "2001:db8::9", "[fd77::2]:22", false),
        ] {
            let (from, to) = (from.parse().unwrap(), to.parse::<std::net::SocketAddr>().unwrap());
            let flow = Flow { protocol: Some(protocol), from, port: to.port(), to, translated: false };
            assert_eq!(grants.is_withdrawn(&flow, &networks), ends, "{flow:?}");
        }
    }

    #[test]
    fn the_journal_has_the_device_only() {
        let text = serde_json::to_string(&grants()).unwrap();
        assert_eq!(text, r#"{"device":"rw0"}"#);
        let read: Grants = serde_json::from_str(&text).unwrap();
        assert_eq!(read.name(), grants().name());
    }
}
