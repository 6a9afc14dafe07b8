//! Clients whose quota is used up: one table of the firewall that stops them, or slows them.
//!
//! It concerns nobody else, and is not there while nobody is over his quota. If somebody flushes
//! the firewall, it is gone until it is put in force again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::within::is_of;
use super::{Change, Journal, SetupError};
use crate::nft::{Nft, quoted, table_name};

const NFT: Nft = Nft { purpose: "clients' quotas (`ropewalk quota`)" };
/// The kernel's bucket holds a second's bytes, and these: three super-packets, for a drop costs a
/// whole one.
const BURST: u64 = 200_000;
/// Bytes a second: the kernel takes no more than some 18 GB, a second's and the bucket's together.
const RATES: std::ops::RangeInclusive<u64> = 1..=12_500_000_000;

/// A client that is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Networks behind it.
    pub networks: Vec<IpNet>,
    /// What passes, bits a second in each direction; `None`: nothing.
    pub rate_bps: Option<u64>,
}

/// All who are held back. The journal has the device only, by which the table is taken back: it
/// must not grow with every change.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quotas {
    /// The bond's device.
    pub device: String,
    /// The clients.
    #[serde(skip)]
    pub held: Vec<Hold>,
    /// All clients' networks, and those behind them: one within a held client's is not its.
    #[serde(skip)]
    pub inside: Vec<IpNet>,
}

/// Holds these clients back, and no others, in one step.
///
/// # Errors
/// `nft` is not there, or refuses: then it is as it was.
pub fn hold_back(journal: &mut Journal, quotas: &Quotas) -> Result<(), SetupError> {
    let noted = journal.changes().iter().find(|c| matches!(c, Change::Quotas(_))).cloned();
    match (noted, quotas.held.is_empty()) {
        (Some(_), false) => {
            quotas.add()?;
            journal.remember(Change::Quotas(quotas.clone()));
            Ok(())
        }
        (None, false) => journal.make(Change::Quotas(quotas.clone())),
        (Some(noted), true) => journal.undo(&noted),
        (None, true) => Ok(()),
    }
}

/// From clients or to them.
#[derive(Clone, Copy)]
enum Way {
    From,
    To,
}

impl Way {
    /// The chain, and the address that is the client's.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Way::From => ("from_clients", "saddr"),
            Way::To => ("to_clients", "daddr"),
        }
    }

    /// The name of a limit.
    fn limit(self, number: usize) -> String {
        match self {
            Way::From => format!("\"up{number}\""),
            Way::To => format!("\"down{number}\""),
        }
    }
}

impl Quotas {
    pub(super) fn add(&self) -> Result<(), SetupError> {
        NFT.replace(&self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("quotas", &self.device)
    }

    /// A client is asked as it sends, and others as they send to it: in front of this machine's
    /// own programs, of other networks, and of other clients.
    pub(super) fn rules(&self) -> String {
        let device = quoted(&self.device);
        let (from, to) = (Way::From.names().0, Way::To.names().0);
        let hooks = [
            ("input", format!("    iifname {device} jump {from}\n")),
            ("forward", format!("    iifname {device} jump {from}\n    oifname {device} jump {to}\n")),
            // What tells a client that it is stopped has to come there.
            (
                "output",
                format!(
                    "    icmp type destination-unreachable accept\n\
                     \x20   icmpv6 type destination-unreachable accept\n\
                     \x20   oifname {device} jump {to}\n"
                ),
            ),
        ];
        let hooks = hooks.map(|(hook, rules)| {
            format!(
                "  chain {hook} {{\n    type filter hook {hook} priority -20; policy accept;\n{rules}  }}\n"
            )
        });
        format!("{}{}{}{}", self.limits(), self.chain(Way::From), self.chain(Way::To), hooks.concat())
    }

    /// Those who are slowed, with numbers.
    fn slowed(&self) -> impl Iterator<Item = (usize, &Hold, u64)> {
        self.held.iter().enumerate().filter_map(|(n, hold)| Some((n, hold, hold.rate_bps?)))
    }

    /// Named limits: the addresses of a client share one for each direction.
    fn limits(&self) -> String {
        let limit = |(number, _, bps): (usize, &Hold, u64)| {
            let rate = (bps / 8).clamp(*RATES.start(), *RATES.end());
            [Way::From, Way::To].map(|way| {
                format!(
                    "  limit {} {{ rate over {rate} bytes/second burst {BURST} bytes }}\n",
                    way.limit(number).replace('"', "")
                )
            })
        };
        self.slowed().flat_map(limit).collect()
    }

    /// Addresses are looked up in sets, so that a thousand clients cost as much as one. Networks
    /// behind them are asked one after the other: only clients that are held back are here.
    fn chain(&self, way: Way) -> String {
        const REJECT: &str = "reject with icmpx type admin-prohibited";
        let (name, side) = way.names();
        let mut rules = String::new();
        let stopped = || self.held.iter().filter(|h| h.rate_bps.is_none());
        for version in ["ip", "ip6"] {
            let is = |address: &&IpAddr| address.is_ipv4() == (version == "ip");
            let all: BTreeSet<&IpAddr> = stopped().flat_map(|h| h.addresses.iter().filter(is)).collect();
            if !all.is_empty() {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                rules.push_str(&format!("    {version} {side} {{ {} }} {REJECT}\n", all.join(", ")));
            }
            // An address that a store has twice would make the whole table invalid.
            let mut limited = BTreeMap::new();
            for (number, hold, _) in self.slowed() {
                for address in hold.addresses.iter().filter(is) {
                    limited.entry(address).or_insert(number);
                }
            }
            let to_limit =
                |(address, number): (&&IpAddr, &usize)| format!("{address} : {}", way.limit(*number));
            let all: Vec<String> = limited.iter().map(to_limit).collect();
            if !all.is_empty() {
                rules.push_str(&format!(
                    "    limit name {version} {side} map {{ {} }} drop\n",
                    all.join(", ")
                ));
            }
        }
        for (number, hold) in self.held.iter().enumerate() {
            for network in hold.networks.iter().map(IpNet::trunc) {
                let of = is_of(side, network, &self.inside);
                let then = match hold.rate_bps {
                    Some(_) => format!("limit name {} drop", way.limit(number)),
                    None => REJECT.to_owned(),
                };
                rules.push_str(&format!("    {of} {then}\n"));
            }
        }
        format!("  chain {name} {{\n{rules}  }}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas() -> Quotas {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let hold = |addresses: &[&str], rate_bps| Hold {
            addresses: addresses.iter().map(|a| address(a)).collect(),
            networks: Vec::new(),
            rate_bps,
        };
        let mut slow = hold(&["10.77.0.4", "fd77::4"], Some(2_000_000));
        slow.networks = vec!["192.168.8.1/24".parse().unwrap()];
        let held = vec![hold(&["10.77.0.2", "fd77::2"], None), hold(&["10.77.0.3"], None), slow];
        let inside = ["10.77.0.1/24", "192.168.8.128/25"].map(|n| n.parse().unwrap()).to_vec();
        Quotas { device: "rw0".into(), held, inside }
    }

    #[test]
    fn who_is_stopped_is_told_and_who_is_slowed_has_a_limit_each_way() {
        let rules = quotas().rules();
        for line in [
            "    ip saddr { 10.77.0.2, 10.77.0.3 } reject with icmpx type admin-prohibited\n",
            "    ip6 saddr { fd77::2 } reject with icmpx type admin-prohibited\n",
            "    ip daddr { 10.77.0.2, 10.77.0.3 } reject with icmpx type admin-prohibited\n",
            "  limit up2 { rate over 250000 bytes/second burst 200000 bytes }\n",
            "    limit name ip saddr map { 10.77.0.4 : \"up2\" } drop\n",
            "    limit name ip6 daddr map { fd77::4 : \"down2\" } drop\n",
            "    ip saddr 192.168.8.0/24 ip saddr != { 192.168.8.128/25 } limit name \"up2\" drop\n",
            "    ip daddr 192.168.8.0/24 ip daddr != { 192.168.8.128/25 } limit name \"down2\" drop\n",
            "    iifname \"rw0\" jump from_clients\n",
            "    oifname \"rw0\" jump to_clients\n",
        ] {
            assert!(rules.contains(line), "{line}\n{rules}");
        }
        assert!(!rules.contains("limit up0"), "{rules}");
        let output = rules.split("chain output").nth(1).unwrap();
        let (told, held) = (output.find("destination-unreachable"), output.find("jump to_clients"));
        assert!(told < held && told.is_some(), "{output}");
    }

    #[test]
    fn a_rate_beyond_reason_is_a_rule_all_the_same() {
        let hold = Hold { addresses: Vec::new(), networks: Vec::new(), rate_bps: Some(u64::MAX) };
        let of = |hold| Quotas { device: "rw0".into(), held: vec![hold], inside: Vec::new() };
        let rules = of(hold).rules();
        assert!(rules.contains("over 12500000000 bytes/second"), "{rules}");
        let none = Hold { rate_bps: Some(0), addresses: Vec::new(), networks: Vec::new() };
        assert!(of(none).rules().contains("over 1 bytes/second"));
    }

    #[test]
    fn an_address_that_two_have_is_there_once() {
        let address = "10.77.0.4".parse().unwrap();
        let hold = |rate_bps| Hold { addresses: vec![address], networks: Vec::new(), rate_bps };
        let held = vec![hold(Some(1_000_000)), hold(Some(2_000_000)), hold(None), hold(None)];
        let rules = Quotas { device: "rw0".into(), held, inside: Vec::new() }.rules();
        assert!(rules.contains("saddr map { 10.77.0.4 : \"up0\" } drop"), "{rules}");
        assert!(rules.contains("saddr { 10.77.0.4 } reject"), "{rules}");
    }

    #[test]
    fn the_journal_has_the_device_only() {
        let text = serde_json::to_string(&quotas()).unwrap();
        assert_eq!(text, r#"{"device":"rw0"}"#);
        assert_eq!(serde_json::from_str::<Quotas>(&text).unwrap().name(), "ropewalk-rw0-quotas");
    }
}
