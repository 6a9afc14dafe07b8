//! What a fleet grants, as its gateways and the commands judge it, and as one gateway sees it.
//!
//! The store has all of it. Forwards, groups and caps are in force at the gateway that serves the
//! client, and nowhere else; exits at all gateways, so that nothing of a client leaves by another
//! interface in the moment in which it comes.

use super::{Change, Circumstances, Ended, Exit, Forward, Grants, Limit, Share, Whose};
use crate::config::BitRate;
use crate::exit::{Code, failure};
use crate::state::clients::KnownClient;
use ropewalk_fleet::{
    ClientGrants, FleetGrants, ForwardedPort, GrantsHere, GrantsVersion, GroupExit, Transport,
};
use ropewalk_net::setup::Protocol;
use std::collections::{BTreeMap, BTreeSet};

/// The file in the state directory of what was known last: ports that led to clients here are to
/// lead nowhere after a restart, though the store has forgotten them meanwhile.
pub(crate) const FILE: &str = "fleet-grants.json";

/// Whom a fleet grants something, as one of its gateways knows it.
#[derive(Debug, Default)]
pub(super) struct View {
    /// When it was so.
    pub(super) version: Option<GrantsVersion>,
    /// All of them.
    pub(super) all: Vec<KnownClient>,
    /// Those who are served here.
    pub(super) here: Vec<KnownClient>,
}

impl View {
    pub(super) fn new(new: &GrantsHere) -> View {
        let all: Vec<KnownClient> = new.inside.iter().map(|(name, inside)| client(name, inside)).collect();
        let here = all.iter().filter(|c| new.here.contains(&c.name)).cloned().collect();
        View { version: Some(new.version), all, here }
    }

    /// This client is served here.
    pub(super) fn serves(&self, name: &str) -> bool {
        // In the order of their names.
        self.here.binary_search_by(|client| client.name.as_str().cmp(name)).is_ok()
    }
}

/// A client of which nothing else is asked.
pub(crate) fn client(name: &str, inside: &[std::net::IpAddr]) -> KnownClient {
    KnownClient { name: name.into(), inside: inside.to_vec(), ..KnownClient::default() }
}

impl Grants {
    /// Out of the store. Of what several claim the first by name has it, and what is out of range
    /// is not granted.
    pub(crate) fn of_fleet(all: &FleetGrants) -> Grants {
        let mut grants = Grants::default();
        let mut taken = BTreeSet::new();
        let rate = |bps: Option<u64>| bps.and_then(|bps| bps.to_string().parse::<BitRate>().ok());
        for (client, of) in &all.clients {
            for f in &of.forwards {
                let protocol = protocol(f.protocol);
                if taken.insert((protocol, f.port)) {
                    let (client, port, to, masquerade) = (client.clone(), f.port, f.to, f.masquerade);
                    grants.forwards.push(Forward { client, protocol, port, to, masquerade });
                }
            }
            for group in &of.groups {
                grants.groups.entry(group.clone()).or_default().insert(client.clone());
            }
            let share = of.share.and_then(|share| Share::try_from(share).ok());
            let limit = Limit { down: rate(of.down_bps), up: rate(of.up_bps), share };
            if limit != Limit::default() {
                grants.limits.insert(client.clone(), limit);
            }
            if let Some(interface) = of.exit.clone() {
                grants.exits.clients.insert(client.clone(), Exit { interface, global6: false });
            }
        }
        // The last member of a group may have been revoked.
        let exits = all.group_exits.iter().filter(|(group, _)| grants.groups.contains_key(*group));
        let exits = exits
            .map(|(group, exit)| (group.clone(), Exit { interface: exit.interface.clone(), global6: false }));
        grants.exits.groups = exits.collect();
        grants
    }

    /// As the store has it.
    fn to_fleet(&self) -> FleetGrants {
        let mut clients = BTreeMap::<String, ClientGrants>::new();
        for f in &self.forwards {
            let protocol = if f.protocol == Protocol::Tcp { Transport::Tcp } else { Transport::Udp };
            let (port, to, masquerade) = (f.port, f.to, f.masquerade);
            let of = clients.entry(f.client.clone()).or_default();
            of.forwards.push(ForwardedPort { protocol, port, to, masquerade });
        }
        for (group, members) in &self.groups {
            for member in members {
                clients.entry(member.clone()).or_default().groups.insert(group.clone());
            }
        }
        for (client, limit) in &self.limits {
            let of = clients.entry(client.clone()).or_default();
            (of.down_bps, of.up_bps) = (limit.down.map(|r| r.0), limit.up.map(|r| r.0));
            of.share = limit.share.map(Share::get);
        }
        for (client, exit) in &self.exits.clients {
            clients.entry(client.clone()).or_default().exit = Some(exit.interface.clone());
        }
        let exit = |(group, exit): (&String, &Exit)| {
            (group.clone(), GroupExit { interface: exit.interface.clone() })
        };
        FleetGrants { clients, group_exits: self.exits.groups.iter().map(exit).collect() }
    }

    /// These in place of those, which remember the ports that may have led to a client from here.
    pub(super) fn followed_by(&self, new: Grants, led: impl Fn(&Forward) -> bool) -> Grants {
        let mut old = self.clone();
        old.forwards.retain(led);
        old.end(|forward| !new.forwards.contains(forward));
        old.ended.retain(|ended| new.forwards.iter().all(|f| Ended::from(f) != *ended));
        Grants { ended: old.ended, ..new }
    }
}

fn protocol(of: Transport) -> Protocol {
    match of {
        Transport::Tcp => Protocol::Tcp,
        Transport::Udp => Protocol::Udp,
    }
}

impl Change {
    /// Clients that have to be known for it.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Change::ForwardAdd(forward) => vec![forward.client.clone()],
            Change::GroupAdd { clients, .. } => clients.clone(),
            Change::LimitSet { client, .. } | Change::ExitSet { whose: Whose::Client(client), .. } => {
                vec![client.clone()]
            }
            _ => Vec::new(),
        }
    }

    /// Where it counts, if that is not all that there is to know.
    fn where_it_counts(&self) -> &'static str {
        match self {
            Change::ForwardAdd(_) => ", at the gateway that serves it",
            Change::GroupAdd { .. } => "; they reach each other where one gateway serves them",
            Change::ExitSet { .. } => {
                ", where the gateway has that interface; where not, nothing leaves, and `ropewalk status` names the gateway"
            }
            Change::LimitSet { limit: Limit { share: Some(_), .. }, .. } => {
                "; shares count at gateways with --down-rate"
            }
            _ => "",
        }
    }
}

/// What is no matter of what is granted already. `gateways` are where the fleet's gateways are
/// reached: by UDP, and by TLS.
pub(crate) fn check(change: &Change, gateways: &[(Protocol, String)]) -> anyhow::Result<()> {
    match change {
        Change::ForwardAdd(f) => {
            let port = f.port.to_string();
            let is_it = |(protocol, endpoint): &&(Protocol, String)| {
                *protocol == f.protocol && endpoint.rsplit(':').next() == Some(port.as_str())
            };
            match gateways.iter().find(is_it) {
                Some((protocol, endpoint)) => {
                    let words = format!(
                        "a gateway of this fleet is reached at {endpoint}: choose another {} port",
                        protocol.name()
                    );
                    Err(failure(Code::Taken, words))
                }
                None => Ok(()),
            }
        }
        Change::ExitSet { exit, .. } if exit.global6 => {
            Err(failure(Code::Usage, "gateways of a fleet have no --global6, so no exit has"))
        }
        _ => Ok(()),
    }
}

/// What becomes of `now` by a change of clients that are known, and what there is to say.
pub(crate) fn judge(
    change: &Change,
    here: &Circumstances,
    now: &FleetGrants,
) -> anyhow::Result<(FleetGrants, String)> {
    let mut here = here.clone();
    here.clients = change.names().iter().map(|name| client(name, &[])).collect();
    if let Change::ExitSet { exit, .. } = change {
        // Gateways are asked one by one.
        here.interfaces.insert(exit.interface.clone());
    }
    let mut grants = Grants::of_fleet(now);
    let said = grants.change(change.clone(), &here)?;
    Ok((grants.to_fleet(), said + change.where_it_counts()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU16;

    fn forward(client: &str, port: u16) -> Change {
        let port = NonZeroU16::new(port).unwrap();
        let (client, protocol) = (client.into(), Protocol::Tcp);
        Change::ForwardAdd(Forward { client, protocol, port, to: port, masquerade: false })
    }

    fn exit(whose: Whose, global6: bool) -> Change {
        Change::ExitSet { whose, exit: Exit { interface: "wan2".into(), global6 } }
    }

    /// What comes of these changes, one after the other.
    fn after(changes: &[Change]) -> FleetGrants {
        let mut all = FleetGrants::default();
        for change in changes {
            all = judge(change, &Circumstances::default(), &all).unwrap().0;
        }
        all
    }

    #[test]
    fn what_is_judged_comes_back_out_of_the_store() {
        let limit =
            Limit { down: Some("20Mbit".parse().unwrap()), up: None, share: Some("4".parse().unwrap()) };
        let home = |names: &[&str]| Change::GroupAdd {
            group: "home".into(),
            clients: names.iter().map(ToString::to_string).collect(),
        };
        let all = after(&[
            forward("alice", 81),
            forward("bob", 80),
            forward("alice", 79),
            home(&["alice", "bob"]),
            Change::LimitSet { client: "bob".into(), limit },
            exit(Whose::Client("alice".into()), false),
            exit(Whose::Group("home".into()), false),
        ]);
        assert_eq!((all.clients.len(), all.group_exits.len()), (2, 1), "{all:?}");
        assert_eq!(Grants::of_fleet(&all).to_fleet(), all);
        let refused = judge(&forward("bob", 81), &Circumstances::default(), &all).unwrap_err();
        assert!(refused.to_string().contains("leads to alice already"), "{refused}");
        assert_eq!(crate::exit::kind_of(&refused), Code::Taken);
        let (_, said) = judge(&home(&["carol"]), &Circumstances::default(), &all).unwrap();
        assert!(said.ends_with("where one gateway serves them"), "{said}");
        // The last member is revoked, and another group of that name has not its exit.
        let left = FleetGrants { clients: BTreeMap::new(), ..all };
        assert!(Grants::of_fleet(&left).exits.is_empty());
        let (fresh, _) = judge(&home(&["dave"]), &Circumstances::default(), &left).unwrap();
        assert!(fresh.group_exits.is_empty() && fresh.clients.len() == 1);
    }

    #[test]
    fn what_the_store_has_against_the_rules_is_not_granted() {
        let mut all = after(&[forward("alice", 80), forward("bob", 81)]);
        let forwards = all.clients["alice"].forwards.clone();
        all.clients.get_mut("bob").unwrap().forwards.extend(forwards);
        let bob = all.clients.get_mut("bob").unwrap();
        (bob.up_bps, bob.share) = (Some(1), Some(0));
        let grants = Grants::of_fleet(&all);
        let of = |f: &Forward| (f.client.clone(), f.port.get());
        let expected = [("alice".to_owned(), 80), ("bob".to_owned(), 81)];
        assert_eq!(grants.forwards.iter().map(of).collect::<Vec<_>>(), expected);
        assert!(grants.limits.is_empty(), "a bit a second is no rate, and 0 no share");
    }

    #[test]
    fn a_port_that_leads_nowhere_any_more_is_remembered() {
        let first = Grants::of_fleet(&after(&[forward("alice", 80), forward("bob", 81)]));
        let second = first.followed_by(Grants::of_fleet(&after(&[forward("bob", 81)])), |_| true);
        assert_eq!(second.ended.iter().map(|e| e.port.get()).collect::<Vec<_>>(), [80]);
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), second, "also over a restart");
        let elsewhere = first.followed_by(Grants::default(), |f| f.client == "bob");
        assert_eq!(elsewhere.ended.iter().map(|e| e.port.get()).collect::<Vec<_>>(), [81]);
        let third = second.followed_by(first, |_| true);
        assert!(third.ended.is_empty() && third.forwards.len() == 2, "it leads to somebody again");
    }

    #[test]
    fn ports_of_gateways_and_global_exits_are_refused() {
        let gateways =
            [(Protocol::Udp, "192.0.2.1:4500".to_owned()), (Protocol::Tcp, "[2001:db8::1]:443".to_owned())];
        let refused = check(&forward("alice", 443), &gateways).unwrap_err();
        assert!(refused.to_string().contains("[2001:db8::1]:443"), "{refused}");
        check(&forward("alice", 4500), &gateways).unwrap();
        check(&forward("alice", 3), &gateways).unwrap();
        let alice = || Whose::Client("alice".into());
        assert!(check(&exit(alice(), true), &gateways).is_err());
        check(&exit(alice(), false), &gateways).unwrap();
    }
}
