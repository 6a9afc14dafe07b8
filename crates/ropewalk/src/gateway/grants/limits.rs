//! Caps of clients' rates, and shares of the line.

use super::{Circumstances, Grants, MOST, full, known, networks_of};
use crate::config::BitRate;
use crate::exit::{Code, failure};
use crate::state::clients::KnownClient;
use ipnet::IpNet;
use ropewalk_net::setup;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What a client may send and receive at most, and its share of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limit {
    /// To the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<BitRate>,
    /// From the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<BitRate>,
    /// Of what goes to all clients, when that is all that the line carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// How much of a full line a client gets, where a client to whom no share is given gets 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub(crate) struct Share(u8);

impl Share {
    pub(crate) fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Share {
    type Error = &'static str;

    fn try_from(share: u8) -> Result<Share, &'static str> {
        if (1..=100).contains(&share) { Ok(Share(share)) } else { Err("a share is a number from 1 to 100") }
    }
}

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Share, &'static str> {
        // No number is as wrong as one out of range.
        Share::try_from(text.parse::<u8>().unwrap_or(0))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Limit {
    /// The same for the kernel, of a client with these networks.
    pub(super) fn of(&self, networks: Vec<IpNet>) -> setup::Limit {
        setup::Limit {
            networks,
            down_bps: self.down.map(|r| r.0),
            up_bps: self.up.map(|r| r.0),
            share: self.share.map_or(1, Share::get),
            class: 0,
        }
    }
}

impl Grants {
    pub(super) fn set_limit(
        &mut self,
        client: String,
        limit: Limit,
        here: &Circumstances,
    ) -> anyhow::Result<String> {
        let usage = |words: &str| Err(failure(Code::Usage, words));
        known(&client, here)?;
        let has_cap = limit.down.is_some() || limit.up.is_some();
        let said = match (has_cap, limit.share) {
            (false, None) => {
                return usage("name a cap or a share: --down RATE, --up RATE or --share N");
            }
            (_, Some(_)) if here.has_no_down_rate => {
                return usage(
                    "the gateway does not know what its line carries: start it with --down-rate RATE (an access point has no shares)",
                );
            }
            (true, None) => "a cap".to_owned(),
            (false, Some(share)) => format!("a share of {share}"),
            (true, Some(share)) => format!("a cap and a share of {share}"),
        };
        full(self.limits.len() + usize::from(!self.limits.contains_key(&client)))?;
        let said = format!("{client} has {said}");
        self.limits.insert(client, limit);
        Ok(said)
    }

    pub(super) fn remove_limit(&mut self, client: &str) -> anyhow::Result<String> {
        match self.limits.remove(client) {
            Some(Limit { share: Some(_), .. }) => Ok(format!("{client} has no cap, and a share of 1")),
            Some(_) => Ok(format!("{client} has no cap")),
            None => Err(failure(Code::Usage, format!("{client} has no cap and no share"))),
        }
    }

    /// Divides the line among all `clients` that have an address: those with a limit have a class
    /// already, and others get one as long as there are some.
    pub(super) fn divide(
        &self,
        line: BitRate,
        clients: &[KnownClient],
        behind: &BTreeMap<String, Vec<IpNet>>,
        wanted: &mut setup::Grants,
    ) {
        let others = clients.iter().filter(|c| !c.inside.is_empty() && !self.limits.contains_key(&c.name));
        let limit = |c: &KnownClient| Limit::default().of(networks_of(&c.name, &c.inside, behind));
        let room = MOST.saturating_sub(wanted.limits.len());
        wanted.limits.extend(others.take(room).map(limit));
        wanted.line_bps = Some(line.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn client(name: &str, inside: &[&str]) -> KnownClient {
        let inside = inside.iter().map(|a| a.parse().unwrap()).collect();
        KnownClient { name: name.into(), inside, ..KnownClient::default() }
    }

    fn share(n: u8) -> Limit {
        Limit { share: Some(Share(n)), ..Limit::default() }
    }

    #[test]
    fn a_share_is_from_1_to_100_wherever_it_comes_from() {
        for (text, is) in [("1", true), ("100", true), ("0", false), ("101", false), ("257", false)] {
            assert_eq!(text.parse::<Share>().is_ok(), is, "{text}");
            let limit = serde_json::from_str::<Limit>(&format!(r#"{{"share":{text}}}"#));
            assert_eq!(limit.is_ok(), is, "{text}");
        }
        assert!("half".parse::<Share>().is_err() && "-1".parse::<Share>().is_err());
        let text = serde_json::to_string(&share(4)).unwrap();
        assert_eq!(text, r#"{"share":4}"#);
        assert_eq!(serde_json::from_str::<Limit>(&text).unwrap(), share(4));
        assert_eq!(serde_json::from_str::<Limit>("{}").unwrap(), Limit::default(), "as older ones wrote it");
    }

    #[test]
    fn a_share_needs_a_line_whose_rate_is_known() {
        let here = Circumstances { clients: vec![client("alice", &[])], ..Circumstances::default() };
        let mut grants = Grants::default();
        let without = Circumstances { has_no_down_rate: true, ..here.clone() };
        let error = grants.set_limit("alice".into(), share(4), &without).unwrap_err();
        assert!(error.to_string().contains("start it with --down-rate"), "{error}");
        assert!(grants.set_limit("alice".into(), Limit::default(), &here).is_err());
        assert_eq!(grants, Grants::default(), "a refusal changes nothing");
        let said = grants.set_limit("alice".into(), share(4), &here).unwrap();
        assert_eq!(said, "alice has a share of 4");
        let both = Limit { down: Some("20Mbit".parse().unwrap()), ..share(2) };
        let said = grants.set_limit("alice".into(), both, &here).unwrap();
        assert_eq!(said, "alice has a cap and a share of 2");
        assert_eq!(grants.by_client()["alice"].line(), "cap 20Mbit down; share 2");
        assert_eq!(grants.remove_limit("alice").unwrap(), "alice has no cap, and a share of 1");
        assert!(grants.remove_limit("alice").is_err());
    }

    #[test]
    fn every_client_with_an_address_has_a_part_of_the_line() {
        let clients = [client("alice", &["10.77.0.2", "fd77::2"]), client("bob", &["10.77.0.3"])];
        let all: Vec<KnownClient> = clients.iter().cloned().chain([client("carol", &[])]).collect();
        let mut grants = Grants::default();
        grants.limits.insert("bob".into(), share(4));
        let behind = BTreeMap::from([("alice".to_owned(), vec!["192.168.8.0/24".parse().unwrap()])]);
        let mut wanted = grants.by_addresses("rw0", &all, &behind, &BTreeSet::new());
        grants.divide("50Mbit".parse().unwrap(), &all, &behind, &mut wanted);
        assert_eq!(wanted.line_bps, Some(50_000_000));
        let parts: Vec<(usize, u8)> = wanted.limits.iter().map(|l| (l.networks.len(), l.share)).collect();
        assert_eq!(parts, [(1, 4), (3, 1)], "carol has no address yet");
        assert!(!wanted.is_empty());
    }

    #[test]
    fn there_are_as_many_classes_as_caps() {
        let numbered = |n: u16| client(&format!("client{n}"), &[&format!("10.77.{}.{}", n / 250, n % 250)]);
        let all: Vec<KnownClient> = (0..2000).map(numbered).collect();
        let mut grants = Grants::default();
        grants.limits.insert("client1999".into(), share(4));
        let none = BTreeMap::new();
        let mut wanted = grants.by_addresses("rw0", &all, &none, &BTreeSet::new());
        grants.divide("50Mbit".parse().unwrap(), &all, &none, &mut wanted);
        assert_eq!((wanted.limits.len(), wanted.limits[0].share), (MOST, 4), "first who was given a share");
    }
}
