//! What a gateway grants to its clients, by their names: ports that lead to one, groups whose
//! members reach each other, caps of rates, shares of the line, interfaces by which they leave.
//!
//! Only who may use the control socket, or the state directory, grants; a client cannot ask for
//! anything. [`Grants`] is what is remembered, and the only place where a change is judged;
//! [`Keeper`] puts it in force.

mod exits;
mod host;
mod keeper;
mod limits;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use exits::{Exit, Given, Whose};
pub(crate) use host::{interfaces, listening};
pub(crate) use keeper::{Keeper, Machine};
pub(crate) use limits::{Limit, Share};
pub(crate) use shared::{check as check_in_fleet, client as client_inside, judge as judge_in_fleet};

use crate::exit::{Code, failure};
use crate::report::grants::{Granted, Port};
use crate::state::StateDir;
use crate::state::clients::KnownClient;
use ipnet::IpNet;
use ropewalk_fleet::is_name;
use ropewalk_net::setup::{self, Protocol};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroU16;

/// The file in the state directory.
pub(crate) const FILE: &str = "grants.json";
/// Forwarded ports, those that were, groups, members of all groups together, clients with a cap or
/// a share, and those with a class of their own: each at most.
const MOST: usize = 1024;

/// What is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Grants {
    /// Ports that lead to clients.
    pub forwards: Vec<Forward>,
    /// Ports that led to clients, the latest last: what goes on through them is to end, though the
    /// gateway may not run when they are taken back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<Ended>,
    /// Groups, with their members.
    pub groups: BTreeMap<String, BTreeSet<String>>,
    /// Caps and shares, by clients.
    pub limits: BTreeMap<String, Limit>,
    /// By which interface they leave.
    #[serde(skip_serializing_if = "Given::is_empty")]
    pub exits: Given,
}

/// A port that leads to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forward {
    /// Whom to.
    pub client: String,
    /// Of which protocol.
    pub protocol: Protocol,
    /// The gateway's port.
    pub port: NonZeroU16,
    /// The client's.
    pub to: NonZeroU16,
    /// The client sees the gateway's inner address, not the visitor's.
    #[serde(default)]
    pub masquerade: bool,
}

/// A port that leads to a client no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ended {
    /// Of which protocol.
    pub protocol: Protocol,
    /// The gateway's port.
    pub port: NonZeroU16,
    /// The client's.
    pub to: NonZeroU16,
}

impl From<&Forward> for Ended {
    fn from(forward: &Forward) -> Ended {
        Ended { protocol: forward.protocol, port: forward.port, to: forward.to }
    }
}

/// A change of what is granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Change {
    /// A port leads to a client.
    ForwardAdd(Forward),
    /// It does no longer.
    ForwardRemove {
        /// The protocol.
        protocol: Protocol,
        /// The gateway's port.
        port: NonZeroU16,
    },
    /// Clients are of a group.
    GroupAdd {
        /// The group; made if it is not there.
        group: String,
        /// The clients.
        clients: Vec<String>,
    },
    /// They are no longer; without clients the group ends.
    GroupRemove {
        /// The group.
        group: String,
        /// The clients.
        clients: Vec<String>,
    },
    /// A client's cap and share.
    LimitSet {
        /// The client.
        client: String,
        /// What is not named is taken away.
        limit: Limit,
    },
    /// It has none.
    LimitRemove {
        /// The client.
        client: String,
    },
    /// Clients leave by an interface.
    ExitSet {
        /// Who.
        whose: Whose,
        /// By which.
        exit: Exit,
    },
    /// They leave as this machine does.
    ExitRemove {
        /// Who.
        whose: Whose,
    },
}

/// What a change is judged by besides what is granted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circumstances {
    /// Who may come in.
    pub clients: Vec<KnownClient>,
    /// Ports that programs of this machine listen at, the gateway among them.
    pub taken: BTreeSet<(Protocol, u16)>,
    /// Every client reaches every other.
    pub all_joined: bool,
    /// The bond's device.
    pub device: String,
    /// Interfaces that are there.
    pub interfaces: BTreeSet<String>,
    /// This machine forwards only for what is granted.
    pub lets_nobody_out: bool,
    /// No client has an address that the world sees.
    pub has_no_global6: bool,
    /// Clients share nothing whose rate is known.
    pub has_no_down_rate: bool,
}

/// A client's addresses, and the networks behind it.
fn networks_of(client: &str, inside: &[IpAddr], behind: &BTreeMap<String, Vec<IpNet>>) -> Vec<IpNet> {
    let own = inside.iter().copied().map(IpNet::from);
    own.chain(behind.get(client).into_iter().flatten().copied()).collect()
}

impl Grants {
    /// Makes a change, or says why not. Returns what there is to say.
    pub(crate) fn change(&mut self, change: Change, here: &Circumstances) -> anyhow::Result<String> {
        match change {
            Change::ForwardAdd(forward) => self.forward(forward, here),
            Change::ForwardRemove { protocol, port } => {
                let led = self.end(|f| (f.protocol, f.port) == (protocol, port));
                let words = format!("{} port {port} leads to no client", protocol.name());
                if led { Ok(words) } else { Err(failure(Code::Usage, words)) }
            }
            Change::GroupAdd { group, clients } => self.join(&group, &clients, here),
            Change::GroupRemove { group, clients } => self.leave(&group, &clients),
            Change::LimitSet { client, limit } => self.set_limit(client, limit, here),
            Change::LimitRemove { client } => self.remove_limit(&client),
            Change::ExitSet { whose, exit } => self.set_exit(&whose, exit, here),
            Change::ExitRemove { whose } => self.remove_exit(&whose),
        }
    }

    fn forward(&mut self, forward: Forward, here: &Circumstances) -> anyhow::Result<String> {
        known(&forward.client, here)?;
        let (name, port) = (forward.protocol.name(), forward.port);
        if let Some(taken) = self.forwards.iter().find(|f| (f.protocol, f.port) == (forward.protocol, port)) {
            let words = format!(
                "{name} port {port} leads to {} already: `ropewalk forward remove {name} {port}`",
                taken.client
            );
            return Err(failure(Code::Taken, words));
        }
        if here.taken.contains(&(forward.protocol, port.get())) {
            let words = format!("a program of this machine listens at {name} port {port}: choose another");
            return Err(failure(Code::Taken, words));
        }
        full(self.forwards.len() + 1)?;
        let said = format!("{name} port {port} leads to port {} of {}", forward.to, forward.client);
        self.ended.retain(|e| *e != Ended::from(&forward));
        self.forwards.push(forward);
        Ok(said)
    }

    /// Ends forwards, and remembers them. Says whether there were any.
    fn end(&mut self, ends: impl Fn(&Forward) -> bool) -> bool {
        let (gone, left): (Vec<Forward>, Vec<Forward>) =
            std::mem::take(&mut self.forwards).into_iter().partition(ends);
        self.forwards = left;
        for ended in gone.iter().map(Ended::from) {
            self.ended.retain(|e| *e != ended);
            self.ended.push(ended);
        }
        let too_many = self.ended.len().saturating_sub(MOST);
        self.ended.drain(..too_many);
        !gone.is_empty()
    }

    fn join(&mut self, group: &str, clients: &[String], here: &Circumstances) -> anyhow::Result<String> {
        if here.all_joined {
            let words = "every client of this gateway reaches every other (client-to-client): groups would change nothing";
            return Err(failure(Code::Usage, words));
        }
        if !is_name(group) || clients.is_empty() {
            let words =
                "a group's name has 1 to 64 letters, digits, '-', '_' or '.', and a client at least joins it";
            return Err(failure(Code::Usage, words));
        }
        clients.iter().try_for_each(|c| known(c, here))?;
        let mut members = self.groups.get(group).cloned().unwrap_or_default();
        members.extend(clients.iter().cloned());
        let others = self.groups.iter().filter(|(name, _)| *name != group).map(|(_, m)| m.len());
        full(others.sum::<usize>() + members.len())?;
        let all: Vec<&str> = members.iter().map(String::as_str).collect();
        let said = format!("members of {group}: {}", all.join(", "));
        self.groups.insert(group.into(), members);
        Ok(said)
    }

    fn leave(&mut self, group: &str, clients: &[String]) -> anyhow::Result<String> {
        let Some(members) = self.groups.get_mut(group) else {
            return Err(failure(Code::Usage, format!("there is no group {group}")));
        };
        if let Some(other) = clients.iter().find(|c| !members.contains(*c)) {
            return Err(failure(Code::Usage, format!("{other} is not of {group}")));
        }
        members.retain(|m| !clients.contains(m));
        if clients.is_empty() || members.is_empty() {
            self.groups.remove(group);
            self.exits.groups.remove(group);
            return Ok(format!("there is no group {group} any more"));
        }
        Ok(format!("{} left {group}", clients.join(", ")))
    }

    /// Takes all that a client was granted. Says whether there was anything.
    pub(crate) fn forget(&mut self, client: &str) -> bool {
        let had = self.concerns(client);
        self.end(|f| f.client == client);
        self.groups.values_mut().for_each(|m| m.retain(|member| member != client));
        self.groups.retain(|_, members| !members.is_empty());
        self.exits.groups.retain(|group, _| self.groups.contains_key(group));
        self.limits.remove(client);
        self.exits.clients.remove(client);
        had
    }

    /// Something is granted to this client.
    pub(crate) fn concerns(&self, client: &str) -> bool {
        self.forwards.iter().any(|f| f.client == client)
            || self.groups.values().any(|m| m.contains(client))
            || self.limits.contains_key(client)
            || self.exits.clients.contains_key(client)
    }

    /// What each client is granted, for those who want to know.
    fn by_client(&self) -> BTreeMap<String, Granted> {
        let mut all = BTreeMap::<String, Granted>::new();
        for f in &self.forwards {
            let port = Port { protocol: f.protocol.name().into(), port: f.port.get(), to: f.to.get() };
            all.entry(f.client.clone()).or_default().ports.push(port);
        }
        for (group, members) in &self.groups {
            for member in members {
                all.entry(member.clone()).or_default().groups.push(group.clone());
            }
        }
        for (client, limit) in &self.limits {
            let granted = all.entry(client.clone()).or_default();
            (granted.down_bps, granted.up_bps) = (limit.down.map(|r| r.0), limit.up.map(|r| r.0));
            granted.share = limit.share.map(Share::get);
        }
        for client in self.exits.clients.keys() {
            all.entry(client.clone()).or_default();
        }
        for (client, granted) in &mut all {
            granted.exit = self.exit_of(client).map(|exit| exit.interface.clone());
        }
        all
    }

    /// The same by addresses, for those who have some, with the networks `behind` them; without
    /// ports of the gateway's own.
    pub(crate) fn by_addresses(
        &self,
        device: &str,
        clients: &[KnownClient],
        behind: &BTreeMap<String, Vec<IpNet>>,
        own: &BTreeSet<(Protocol, u16)>,
    ) -> setup::Grants {
        let inside: BTreeMap<&str, &[IpAddr]> =
            clients.iter().map(|c| (c.name.as_str(), &c.inside[..])).collect();
        let of = |name: &str| inside.get(name).copied().unwrap_or_default();
        let leads = |f: &&Forward| !own.contains(&(f.protocol, f.port.get())) && !of(&f.client).is_empty();
        // A port that leads nowhere now may have led to an address that its client had.
        let waiting = self.forwards.iter().filter(|f| !leads(f)).map(Ended::from);
        let ended = self.ended.iter().copied().chain(waiting);
        let forward = |f: &Forward| {
            let (protocol, port, to, masquerade) = (f.protocol, f.port.get(), f.to.get(), f.masquerade);
            let by = |address| setup::Forward { protocol, port, address, to, masquerade };
            of(&f.client).iter().copied().map(by).collect::<Vec<_>>()
        };
        let group = |m: &BTreeSet<String>| m.iter().flat_map(|name| of(name)).copied().collect::<Vec<_>>();
        let limit = |(name, limit): (&String, &Limit)| limit.of(networks_of(name, of(name), behind));
        setup::Grants {
            device: device.into(),
            forwards: self.forwards.iter().filter(leads).flat_map(forward).collect(),
            ended: ended.map(|e| (e.protocol, e.port.get(), e.to.get())).collect(),
            groups: self.groups.values().map(group).collect(),
            limits: self.limits.iter().map(limit).filter(|l| !l.networks.is_empty()).collect(),
            inside: behind.values().flatten().copied().collect(),
            line_bps: None,
            closed: [false; 2],
            global: None,
        }
    }
}

/// Takes all that a client was granted by a gateway that does not run.
pub(crate) fn forget_in(dir: &StateDir, client: &str) -> anyhow::Result<()> {
    let mut grants: Grants = dir.read_json(FILE)?.unwrap_or_default();
    if grants.forget(client) { dir.write_json(FILE, &grants) } else { Ok(()) }
}

fn known(client: &str, here: &Circumstances) -> anyhow::Result<()> {
    if here.clients.iter().any(|c| c.name == client) {
        return Ok(());
    }
    let words = format!("there is no client named `{client}`; `ropewalk clients` lists them");
    Err(failure(Code::Usage, words))
}

fn full(number: usize) -> anyhow::Result<()> {
    let words = format!("there may be {MOST} at most");
    if number > MOST { Err(failure(Code::Usage, words)) } else { Ok(()) }
}
