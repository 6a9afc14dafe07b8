//! By which interface some clients' traffic leaves this machine, where it is not the one of the
//! default route.
//!
//! ```text
//! 29240  iif DEVICE fwmark 0x72650000 goto 29243  clients without an exit, answers, what stays
//! 29240  iif DEVICE fwmark 0x7267 goto 29243      what `super::grant` lets through
//! 29241  fwmark 0x72650000 + N lookup the same    the way of exit N, while there is one
//! 29242  iif DEVICE unreachable                   the rest
//! 29243  nop                                      where the first two go on
//! ```
//!
//! The firewall says which client's packet is which, and nothing of a client leaves without its
//! mark. So neither an interface that is gone nor a firewall that somebody flushes lets a client's
//! traffic leave by another interface. Rules that others take away are put back within a second;
//! until then the firewall drops what would leave by another interface.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv6Net};
use serde::{Deserialize, Serialize};

use super::conntrack::{self, Flow};
use super::grants::GROUP_MARK;
use super::rule::{Rule, RuleKind};
use super::ways::RouteTable;
use super::within::{by_depth, set_of, version};
use super::{Change, Journal, SetupError, sysctl};
use crate::nft::{Nft, quoted, table_name};

/// The mark of clients' packets that leave as this machine's own do: "re" in ASCII, and two zeros.
/// Exits are numbered from there; their tables have the same numbers.
pub const EXIT_MARK: u32 = 0x7265_0000;
/// The first of the four rule priorities.
pub const EXIT_PRIORITY: u32 = 29_240;
const NFT: Nft = Nft { purpose: "an interface of their own for clients (`ropewalk exit`)" };

/// An interface by which clients' traffic leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its name; it need not be there.
    pub interface: String,
    /// Its number, from 1. It stays while the interface is an exit.
    pub number: u16,
    /// Whose: clients' addresses, and networks behind them.
    pub networks: Vec<IpNet>,
    /// Those of them whose IPv6 address in [`Exits::global`] is not translated.
    pub untranslated: Vec<IpNet>,
}

/// All exits of a bond's clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// The bond's device.
    pub device: String,
    /// The clients' networks, and those behind them: what goes there does not leave.
    pub inside: Vec<IpNet>,
    /// The clients' network whose addresses the world sees at the default exit.
    pub global: Option<Ipv6Net>,
    /// The exits, each interface once.
    pub exits: Vec<Exit>,
    /// Where somebody has an exit whose address is not known yet: addresses of those who have none.
    /// Nothing leaves from others, which may be that client's.
    pub known: Option<Vec<IpNet>>,
}

/// The table of the firewall. The journal has the device only, by which it is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitMarks {
    device: String,
    /// Its text.
    #[serde(skip)]
    rules: String,
}

impl Exit {
    /// The mark of its packets, and its table of routes.
    pub(super) fn mark(&self) -> u32 {
        EXIT_MARK | u32::from(self.number)
    }
}

/// Puts `exits` in force in place of those `before`; `None` if that is not known. Their ways out
/// are the business of [`super::find_ways`], and until then there is none.
///
/// # Errors
/// `nft` is not there, or the kernel refuses. Then a part is in force, and what is not reaches
/// nothing.
pub fn leave_by(journal: &mut Journal, before: Option<&Exits>, exits: &Exits) -> Result<(), SetupError> {
    let wanted = exits.lasting();
    let stands = |journal: &Journal, change: &Change| journal.changes().contains(change);
    for change in &wanted {
        if !stands(journal, change) {
            journal.make(change.clone())?;
        }
    }
    replace(journal, exits)?;
    let ours = |c: &&Change| match c {
        Change::RouteTable(_) => true,
        Change::Rule(rule) => (EXIT_PRIORITY..=EXIT_PRIORITY + 3).contains(&rule.priority),
        _ => false,
    };
    let gone: Vec<Change> =
        journal.changes().iter().filter(ours).filter(|c| !wanted.contains(c)).cloned().collect();
    // The newest first, so the rule that holds all back goes last.
    gone.iter().rev().try_for_each(|change| journal.undo(change))?;
    sysctl::reverse_path_by_mark(journal, &exits.device)?;
    for exit in before.into_iter().flat_map(|b| &b.exits) {
        if !exits.exits.iter().any(|e| e.interface == exit.interface) {
            sysctl::reverse_path_again(journal, &exit.interface)?;
        }
    }
    if let Some(before) = before {
        end_flows(before, exits);
    }
    Ok(())
}

/// The table of the firewall: replaced in one step, and gone where nobody has an exit.
fn replace(journal: &mut Journal, exits: &Exits) -> Result<(), SetupError> {
    let noted = journal.changes().iter().find(|c| matches!(c, Change::ExitMarks(_))).cloned();
    let marks = ExitMarks { device: exits.device.clone(), rules: exits.rules() };
    match (noted, exits.exits.is_empty()) {
        (Some(_), false) => {
            marks.add()?;
            journal.remember(Change::ExitMarks(marks));
            Ok(())
        }
        (None, false) => journal.make(Change::ExitMarks(marks)),
        (Some(noted), true) => journal.undo(&noted),
        (None, true) => Ok(()),
    }
}

/// Connections that a client began by another exit end: translated they would be dropped, and else
/// leave with an address that is not the new one's.
fn end_flows(before: &Exits, now: &Exits) {
    let (old, new) = (before.by_network(), now.by_network());
    let all = old.keys().chain(new.keys());
    let moved: Vec<IpNet> = all.filter(|n| old.get(n) != new.get(n)).copied().collect();
    if moved.is_empty() {
        return;
    }
    let ends = |flow: &Flow| {
        let inside = now.inside.iter().any(|n| n.contains(&flow.to.ip()));
        !inside && has_moved(&moved, &now.inside, flow.from)
    };
    if let Err(error) = conntrack::end(true, ends) {
        tracing::warn!("connections of clients that have another exit now may stand still: {error}");
    }
}

/// An address is of a network that leaves by another exit now, and of no narrower one that does
/// not.
fn has_moved(moved: &[IpNet], inside: &[IpNet], address: IpAddr) -> bool {
    let narrowest = moved.iter().filter(|n| n.contains(&address)).map(IpNet::prefix_len).max();
    let is_narrower = |n: &IpNet, than: u8| n.prefix_len() > than && n.contains(&address);
    narrowest.is_some_and(|moved| !inside.iter().any(|n| is_narrower(n, moved)))
}

impl Exits {
    /// Nobody has an exit.
    pub fn is_empty(&self) -> bool {
        self.exits.is_empty()
    }

    /// For IPv4 and IPv6: clients have addresses of it.
    pub(super) fn families(&self) -> [bool; 2] {
        [self.inside.iter().any(|n| n.addr().is_ipv4()), self.inside.iter().any(|n| n.addr().is_ipv6())]
    }

    /// Where each network leaves, and whether with its own addresses.
    fn by_network(&self) -> BTreeMap<IpNet, (&str, bool)> {
        let mut all = BTreeMap::new();
        for exit in &self.exits {
            for network in &exit.networks {
                all.insert(network.trunc(), (&*exit.interface, exit.untranslated.contains(network)));
            }
        }
        all
    }

    /// Rules and tables, in the order in which they are made: first all is held back, so that what
    /// fails after that lets nothing leave by the wrong interface. Tables come last: where rules
    /// are another gateway's, so are the tables, and taking one back empties it.
    fn lasting(&self) -> Vec<Change> {
        if self.exits.is_empty() {
            return Vec::new();
        }
        let target = EXIT_PRIORITY + 3;
        let interface = || self.device.clone();
        let mut all = Vec::new();
        for v6 in [false, true].into_iter().filter(|v6| self.families()[usize::from(*v6)]) {
            let on = |mark| RuleKind::InMarkGoto { interface: interface(), mark, target };
            let by = |exit: &Exit| RuleKind::MarkToTable { mark: exit.mark(), table: exit.mark() };
            let ways = self.exits.iter().map(|exit| (1, by(exit)));
            let held = (2, RuleKind::InToUnreachable { interface: interface() });
            let rest = [(3, RuleKind::Nop), (0, on(EXIT_MARK)), (0, on(GROUP_MARK))];
            let rules = [held].into_iter().chain(rest).chain(ways);
            all.extend(
                rules.map(|(place, does)| Change::Rule(Rule { v6, priority: EXIT_PRIORITY + place, does })),
            );
        }
        all.extend(self.exits.iter().map(|e| Change::RouteTable(RouteTable { table: e.mark() })));
        all
    }

    /// Answers to those outside leave as if there were no exits: they came for another address.
    fn rules(&self) -> String {
        let device = quoted(&self.device);
        let stays = |of: &str| {
            let inside = set_of(&self.inside, of);
            inside.map(|set| format!("    {of} daddr {set} accept\n")).unwrap_or_default()
        };
        let inside = stays("ip") + &stays("ip6");
        // Reverse path filtering asks by the mark for the way back: the main table has it. Marks of
        // others stay.
        let comes = |set: String| {
            format!("    iifname != {device} meta mark 0 ip daddr {set} meta mark set {GROUP_MARK}\n")
        };
        let coming = set_of(&self.inside, "ip").map(comes).unwrap_or_default();
        let nobody = if self.known.is_some() { "    meta mark set 0\n" } else { "" };
        let (behind, known) = (self.behind(), self.only_known());
        let clients = self.clients("ip") + &self.clients("ip6");
        format!(
            "  chain exits {{\n\
             \x20   type filter hook prerouting priority -80; policy accept;\n\
             {coming}\
             \x20   iifname != {device} accept\n\
             \x20   meta mark {GROUP_MARK} accept\n\
             \x20   meta mark set {EXIT_MARK}\n\
             \x20   ct direction reply accept\n\
             {inside}{nobody}{behind}{known}{clients}\
             \x20 }}\n{}{}",
            self.stops(),
            self.translation()
        )
    }

    /// Drops what would leave by another interface: rules of routing may be gone for a moment.
    fn stops(&self) -> String {
        let device = quoted(&self.device);
        let stop = |exit: &Exit| {
            let (mark, interface) = (exit.mark(), quoted(&exit.interface));
            format!("    iifname {device} meta mark {mark} oifname != {interface} drop\n")
        };
        let mut rules: String = self.exits.iter().map(stop).collect();
        if self.known.is_some() {
            rules.push_str(&format!("    iifname {device} meta mark 0 drop\n"));
        }
        format!(
            "  chain stops {{\n    type filter hook forward priority filter; policy accept;\n{rules}  }}\n"
        )
    }

    /// Where an address that nobody is known to have may be of a client with an exit, all lost the
    /// mark before: these get it back.
    fn only_known(&self) -> String {
        let Some(known) = &self.known else { return String::new() };
        let is_one = |n: &&IpNet| n.prefix_len() == n.max_prefix_len();
        let mut rules = String::new();
        for of in ["ip", "ip6"] {
            let one = known.iter().filter(is_one).filter(|n| version(n.addr()) == of);
            let all: Vec<String> = one.map(|n| n.addr().to_string()).collect();
            if !all.is_empty() {
                let all = all.join(", ");
                rules.push_str(&format!("    {of} saddr {{ {all} }} meta mark set {EXIT_MARK}\n"));
            }
        }
        rules
    }

    /// Networks behind clients. Of those within each other the narrowest counts, so it comes last:
    /// also one of clients without an exit, which has the mark that it had before.
    fn behind(&self) -> String {
        let is_wide = |n: &&IpNet| n.prefix_len() < n.max_prefix_len();
        let known = self.known.iter().flatten().filter(is_wide).map(|n| (n.trunc(), EXIT_MARK));
        let of = |exit: &Exit| {
            exit.networks.iter().filter(is_wide).map(|n| (n.trunc(), exit.mark())).collect::<Vec<_>>()
        };
        let mut all: Vec<(IpNet, u32)> = known.chain(self.exits.iter().flat_map(of)).collect();
        let mark = if self.known.is_some() { 0 } else { EXIT_MARK };
        let is_within =
            |n: &IpNet| all.iter().any(|(of, _)| of.contains(n)) && all.iter().all(|(of, _)| of != n);
        let others: Vec<IpNet> = self.inside.iter().map(IpNet::trunc).filter(is_within).collect();
        all.extend(others.into_iter().map(|n| (n, mark)));
        let (outer, apart) = by_depth(all, &[]);
        let rule =
            |(n, mark): &(IpNet, u32)| format!("    {} saddr {n} meta mark set {mark}\n", version(n.addr()));
        let mut rules: String = outer.iter().map(rule).collect();
        for of in ["ip", "ip6"] {
            let of_it = apart.iter().filter(|(n, _)| version(n.addr()) == of);
            let pairs: Vec<String> = of_it.map(|(n, mark)| format!("{n} : {mark}")).collect();
            rules.push_str(&marked(of, &pairs));
        }
        rules
    }

    /// Clients' own addresses, looked up at once however many there are.
    fn clients(&self, of: &str) -> String {
        let is_one = |n: &&IpNet| n.prefix_len() == n.max_prefix_len() && version(n.addr()) == of;
        let pairs = |exit: &Exit| {
            let pair = |n: &IpNet| format!("{} : {}", n.addr(), exit.mark());
            exit.networks.iter().filter(is_one).map(pair).collect::<Vec<_>>()
        };
        marked(of, &self.exits.iter().flat_map(pairs).collect::<Vec<String>>())
    }

    /// Addresses that the world sees at the default exit are no other's: they are translated there.
    fn translation(&self) -> String {
        let Some(global) = self.global else { return String::new() };
        let mut rules = String::new();
        for exit in &self.exits {
            let keeps = set_of(&exit.untranslated, "ip6");
            let but = keeps.map(|set| format!(" ip6 saddr != {set}")).unwrap_or_default();
            rules.push_str(&format!("    meta mark {} ip6 saddr {global}{but} masquerade\n", exit.mark()));
        }
        format!(
            "  chain addresses {{\n    type nat hook postrouting priority srcnat; policy accept;\n{rules}  }}\n"
        )
    }
}

impl ExitMarks {
    pub(super) fn add(&self) -> Result<(), SetupError> {
        NFT.replace(&self.name(), &self.rules)
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("exits", &self.device)
    }

    pub(super) fn rules(&self) -> &str {
        &self.rules
    }
}

/// Marks by addresses or networks, looked up at once however many there are.
fn marked(of: &str, pairs: &[String]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    format!("    meta mark set {of} saddr map {{ {} }}\n", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exits() -> Exits {
        let nets = |all: &[&str]| all.iter().map(|n| n.parse().unwrap()).collect::<Vec<IpNet>>();
        let exit = |interface: &str, number, networks: &[&str]| Exit {
            interface: interface.into(),
            number,
            networks: nets(networks),
            untranslated: Vec::new(),
        };
        Exits {
            device: "rw0".into(),
            inside: nets(&["10.77.0.1/24", "2001:db8:1::1/64", "192.168.0.0/16"]),
            global: None,
            exits: vec![
                exit("wan2", 1, &["10.77.0.2/32", "2001:db8:1::2/128", "192.168.8.0/24"]),
                exit("wan3", 2, &["10.77.0.3/32", "192.168.0.0/16"]),
            ],
            known: None,
        }
    }

    #[test]
    fn each_client_has_its_mark_and_what_stays_has_none_of_an_exit() {
        let rules = exits().rules();
        let place = |line: &str| rules.find(line).unwrap_or_else(|| panic!("{line}\n{rules}"));
        let order = [
            "iifname != \"rw0\" meta mark 0 ip daddr { 10.77.0.0/24, 192.168.0.0/16 } meta mark set 29287\n",
            "iifname != \"rw0\" accept\n",
            "meta mark 29287 accept\n",
            "meta mark set 1919221760\n",
            "ct direction reply accept\n",
            "ip daddr { 10.77.0.0/24, 192.168.0.0/16 } accept\n",
            "ip6 daddr { 2001:db8:1::/64 } accept\n",
            "ip saddr 192.168.0.0/16 meta mark set 1919221762\n",
            "meta mark set ip saddr map { 192.168.8.0/24 : 1919221761 }\n",
            "meta mark set ip saddr map { 10.77.0.2 : 1919221761, 10.77.0.3 : 1919221762 }\n",
            "meta mark set ip6 saddr map { 2001:db8:1::2 : 1919221761 }\n",
        ];
        let places: Vec<usize> = order.iter().map(|line| place(line)).collect();
        assert!(places.is_sorted(), "{rules}");
        for (mark, interface) in [(1_919_221_761, "wan2"), (1_919_221_762, "wan3")] {
            place(&format!("iifname \"rw0\" meta mark {mark} oifname != \"{interface}\" drop\n"));
        }
        assert!(!rules.contains("meta mark 0 drop"), "all addresses are known: {rules}");
        assert!(!rules.contains("masquerade"), "{rules}");
    }

    #[test]
    fn what_stays_inside_is_one_set_however_many_clients_have_networks() {
        let mut exits = exits();
        let behind = (1..100).map(|n| format!("2001:db8:1:{n}::/64").parse::<IpNet>().unwrap());
        exits.inside.extend(behind.chain(["2001:db8:1::1/48".parse().unwrap()]));
        let rules = exits.rules();
        assert!(rules.contains("    ip6 daddr { 2001:db8:1::/48 } accept\n"), "{rules}");
        assert_eq!(rules.matches(" accept\n").count(), 5, "{rules}");
    }

    #[test]
    fn an_address_that_nobody_has_may_be_of_a_client_with_an_exit() {
        let mut exits = exits();
        assert!(!exits.rules().contains("meta mark set 0\n"), "all are known");
        exits.known = Some(["10.77.0.4/32", "192.168.9.0/24"].map(|n| n.parse().unwrap()).to_vec());
        let rules = exits.rules();
        let lines = "    ip saddr { 10.77.0.4 } meta mark set 1919221760\n    meta mark set ip saddr map";
        let first = rules.find(lines).unwrap_or_else(|| panic!("{rules}"));
        let behind = rules.find("map { 192.168.8.0/24 : 1919221761, 192.168.9.0/24 : 1919221760 }\n");
        assert!(behind > rules.find("saddr 192.168.0.0/16") && behind < Some(first), "in wan3's: {rules}");
        assert!(rules.contains("accept\n    meta mark set 0"), "after what stays inside: {rules}");
        assert!(
            rules.contains("iifname \"rw0\" meta mark 0 drop\n"),
            "without rules of routing, too: {rules}"
        );
    }

    #[test]
    fn a_network_within_one_with_an_exit_has_not_that_exit() {
        let mut exits = exits();
        exits.inside = ["10.77.0.1/24", "10.0.0.0/8", "10.9.0.0/16"].map(|n| n.parse().unwrap()).to_vec();
        exits.exits.truncate(1);
        exits.exits[0].networks = ["10.77.0.2/32", "10.0.0.0/8"].map(|n| n.parse().unwrap()).to_vec();
        let lines = |mark: u32| {
            format!(
                "    ip saddr 10.0.0.0/8 meta mark set 1919221761\n    \
                 meta mark set ip saddr map {{ 10.9.0.0/16 : {mark}, 10.77.0.0/24 : {mark} }}\n"
            )
        };
        let rules = exits.rules();
        assert!(rules.contains(&lines(EXIT_MARK)), "{rules}");
        exits.known = Some(vec!["10.77.0.4/32".parse().unwrap()]);
        let rules = exits.rules();
        let known = "    ip saddr { 10.77.0.4 } meta mark set 1919221760\n";
        assert!(rules.contains(&(lines(0) + known)), "{rules}");
        let moved = exits.exits[0].networks.clone();
        for (address, moves) in [
            ("10.1.2.3", true),
            ("10.77.0.2", true),
            ("10.77.0.4", false),
            ("10.9.0.1", false),
            ("192.0.2.1", false),
        ] {
            assert_eq!(has_moved(&moved, &exits.inside, address.parse().unwrap()), moves, "{address}");
        }
    }

    #[test]
    fn global_addresses_are_translated_where_they_are_not_routed() {
        let mut exits = exits();
        exits.global = Some("2001:db8:1::/48".parse().unwrap());
        // A client's address is within the network behind it.
        exits.exits[0].untranslated = ["2001:db8:1:2::1/128", "2001:db8:1:2::/64", "2001:db8:1:9::1/64"]
            .map(|n| n.parse().unwrap())
            .to_vec();
        let keeps = "{ 2001:db8:1:2::/64, 2001:db8:1:9::/64 }";
        let rules = exits.rules();
        for line in [
            &*format!("mark 1919221761 ip6 saddr 2001:db8:1::/48 ip6 saddr != {keeps} masquerade\n"),
            "mark 1919221762 ip6 saddr 2001:db8:1::/48 masquerade\n",
        ] {
            assert!(rules.contains(line), "{line}\n{rules}");
        }
    }

    #[test]
    fn all_is_held_back_first_and_let_go_last() {
        let all = exits().lasting();
        let rule = |change: &Change| match change {
            Change::Rule(rule) => Some((rule.v6, rule.priority)),
            _ => None,
        };
        let rules: Vec<(bool, u32)> = all.iter().filter_map(rule).collect();
        assert_eq!(rules.len(), 12);
        let last: Vec<bool> = all[12..].iter().map(|c| matches!(c, Change::RouteTable(_))).collect();
        assert_eq!(last, [true, true], "two tables, which may be another gateway's, after the rules");
        let v4: Vec<u32> = rules.iter().filter(|(v6, _)| !v6).map(|(_, p)| p - EXIT_PRIORITY).collect();
        assert_eq!(v4, [2, 3, 0, 0, 1, 1]);
        assert!(Exits { exits: Vec::new(), ..exits() }.lasting().is_empty());
    }

    #[test]
    fn the_journal_has_the_device_only() {
        let marks = ExitMarks { device: "rw0".into(), rules: "x".into() };
        let text = serde_json::to_string(&marks).unwrap();
        assert_eq!(text, r#"{"device":"rw0"}"#);
        assert_eq!(serde_json::from_str::<ExitMarks>(&text).unwrap().name(), "ropewalk-rw0-exits");
    }
}
