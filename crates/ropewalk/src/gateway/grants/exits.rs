//! By which interface what clients send leaves: what is remembered of it, and judged.

use super::{Circumstances, Grants, full, known};
use crate::cli::check_interface;
use crate::exit::{Code, failure};
use crate::state::clients::KnownClient;
use ipnet::{IpNet, Ipv6Net};
use ropewalk_net::setup::{self, Way};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Interfaces that are exits, at most: each has a table and rules.
const INTERFACES: usize = 64;

/// By which interface something leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exit {
    /// Its name.
    pub interface: String,
    /// The clients' global IPv6 network is routed to this machine by it: addresses stay as they
    /// are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub global6: bool,
}

/// Who leaves by an exit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Whose {
    /// A client.
    Client(String),
    /// Members of a group that have no exit of their own.
    Group(String),
}

/// Exits that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Given {
    /// By clients.
    pub clients: BTreeMap<String, Exit>,
    /// By groups.
    pub groups: BTreeMap<String, Exit>,
}

/// What exits are worked out from besides what is granted.
pub(super) struct Inside<'a> {
    pub(super) device: &'a str,
    pub(super) clients: &'a [KnownClient],
    /// The clients' own networks.
    pub(super) networks: &'a [IpNet],
    /// Networks behind clients.
    pub(super) behind: &'a BTreeMap<String, Vec<IpNet>>,
    pub(super) global: Option<Ipv6Net>,
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Whose::Client(name) => f.write_str(name),
            Whose::Group(name) => write!(f, "group {name}"),
        }
    }
}

impl Given {
    /// Nothing is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.groups.is_empty()
    }

    fn of(&mut self, whose: &Whose) -> (&mut BTreeMap<String, Exit>, String) {
        match whose {
            Whose::Client(name) => (&mut self.clients, name.clone()),
            Whose::Group(name) => (&mut self.groups, name.clone()),
        }
    }

    fn interfaces(&self) -> BTreeSet<&str> {
        self.clients.values().chain(self.groups.values()).map(|exit| exit.interface.as_str()).collect()
    }
}

impl Grants {
    pub(super) fn set_exit(
        &mut self,
        whose: &Whose,
        exit: Exit,
        here: &Circumstances,
    ) -> anyhow::Result<String> {
        let usage = |words: String| Err(failure(Code::Usage, words));
        match whose {
            Whose::Client(name) => known(name, here)?,
            Whose::Group(name) if !self.groups.contains_key(name) => {
                return usage(format!("there is no group {name}: `ropewalk group add {name} CLIENT`"));
            }
            Whose::Group(_) => {}
        }
        if let Err(words) = check_interface(&exit.interface) {
            return usage(words);
        }
        if exit.interface == here.device || exit.interface == "lo" {
            return usage(format!("{} leads to no other network", exit.interface));
        }
        if here.lets_nobody_out {
            return usage(
                "no client leaves this machine: start the gateway with --masquerade or --global6".into(),
            );
        }
        if exit.global6 && here.has_no_global6 {
            return usage("this gateway runs without --global6, so no exit can have it: leave it out".into());
        }
        let mut said = format!("{whose} leaves by {}", exit.interface);
        if !here.interfaces.contains(&exit.interface) {
            said += ", which is not there now: until it is, nothing leaves";
        }
        let mut exits = self.exits.clone();
        let (all, name) = exits.of(whose);
        all.insert(name, exit);
        full(exits.clients.len() + exits.groups.len())?;
        if exits.interfaces().len() > INTERFACES {
            return usage(format!("there may be {INTERFACES} exits at most"));
        }
        self.exits = exits;
        Ok(said)
    }

    pub(super) fn remove_exit(&mut self, whose: &Whose) -> anyhow::Result<String> {
        let (all, name) = self.exits.of(whose);
        match all.remove(&name) {
            Some(_) => Ok(format!("{whose} leaves as this machine does")),
            None => Err(failure(Code::Usage, format!("{whose} has no exit of its own"))),
        }
    }

    /// A client's own exit goes before its groups'; of several groups the first by name counts.
    pub(super) fn exit_of(&self, client: &str) -> Option<&Exit> {
        let by_group = || {
            let mut of = self.groups.iter().filter(|(_, members)| members.contains(client));
            of.find_map(|(group, _)| self.exits.groups.get(group))
        };
        self.exits.clients.get(client).or_else(by_group)
    }

    /// Exits by addresses, for clients who have some. An interface keeps the number that it had
    /// `before`, and no other gets a number of those.
    pub(super) fn exits_by_addresses(
        &self,
        inside: &Inside<'_>,
        before: Option<&setup::Exits>,
    ) -> setup::Exits {
        let old = || before.into_iter().flat_map(|b| &b.exits);
        let taken: BTreeSet<u16> = old().map(|exit| exit.number).collect();
        let mut fresh = (1..=u16::MAX).filter(|n| !taken.contains(n));
        let mut exits: BTreeMap<&str, setup::Exit> = BTreeMap::new();
        let (mut known, mut waits) = (Vec::new(), false);
        for client in inside.clients {
            let networks = inside.of(client);
            let Some(given) = self.exit_of(&client.name) else {
                known.extend(networks);
                continue;
            };
            waits |= !inside.has_all_addresses(client);
            let exit = exits.entry(&given.interface).or_insert_with(|| {
                let same = old().find(|exit| exit.interface == given.interface);
                // There are fewer exits than numbers.
                let number = same.map(|exit| exit.number).or_else(|| fresh.next()).unwrap_or(u16::MAX);
                let (networks, untranslated) = (Vec::new(), Vec::new());
                setup::Exit { interface: given.interface.clone(), number, networks, untranslated }
            });
            let is_global =
                |n: &&IpNet| given.global6 && inside.global.is_some_and(|g| IpNet::V6(g).contains(&n.addr()));
            exit.untranslated.extend(networks.iter().filter(is_global));
            exit.networks.extend(networks);
        }
        let behind = inside.behind.values().flatten();
        setup::Exits {
            device: inside.device.into(),
            inside: inside.networks.iter().chain(behind).copied().collect(),
            global: inside.global,
            exits: exits.into_values().collect(),
            known: waits.then_some(known),
        }
    }
}

impl Inside<'_> {
    /// A client's addresses, and networks behind it.
    fn of(&self, client: &KnownClient) -> Vec<IpNet> {
        super::networks_of(&client.name, &client.inside, self.behind)
    }

    /// It gets no other address when it comes in the next time.
    fn has_all_addresses(&self, client: &KnownClient) -> bool {
        self.networks.iter().all(|network| client.inside.iter().any(|address| network.contains(address)))
    }
}

/// What does not lead anywhere, in sentences.
pub(super) fn notes(ways: &[Way]) -> Vec<String> {
    let one = |way: &Way| {
        let not = |family: usize, name| (way.leads[family] == Some(false)).then_some(name);
        let lost: Vec<&str> = not(0, "IPv4").into_iter().chain(not(1, "IPv6")).collect();
        let words = format!(
            "exit {}: this machine has no {} route out by it, so clients with this exit reach nothing by {}",
            way.interface,
            lost.join(" or "),
            if lost.len() == 1 { lost[0] } else { "it" },
        );
        (!lost.is_empty()).then_some(words)
    };
    ways.iter().filter_map(one).collect()
}

/// The same in a word each, for other gateways.
pub(super) fn lacking(ways: &[Way]) -> Vec<String> {
    let one = |way: &Way| match way.leads {
        [Some(false), Some(true)] => Some(format!("{} (IPv4)", way.interface)),
        [Some(true), Some(false)] => Some(format!("{} (IPv6)", way.interface)),
        leads if leads.contains(&Some(false)) => Some(way.interface.clone()),
        _ => None,
    };
    ways.iter().filter_map(one).collect()
}
