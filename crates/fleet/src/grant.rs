//! What a fleet grants to clients: ports that lead to one, groups, caps of rates, shares of a line,
//! interfaces by which they leave. What may be granted is judged by those who ask; here it is
//! written and read.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

/// What has ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A port of the gateway that serves the client: it leads to the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardedPort {
    /// Of which protocol.
    pub protocol: Transport,
    /// The gateway's port.
    pub port: NonZeroU16,
    /// The client's.
    pub to: NonZeroU16,
    /// The client sees the gateway's inner address, not the visitor's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masquerade: bool,
}

/// All that one client is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientGrants {
    /// Ports that lead to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<ForwardedPort>,
    /// Groups that it is of.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// Its cap to the client, bits a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_bps: Option<u64>,
    /// The same from the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_bps: Option<u64>,
    /// Its share of what a gateway's line carries to clients, against 1 of a client without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u8>,
    /// The interface by which it leaves.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_interface")]
    pub exit: Option<String>,
}

/// The interface of grants that cannot be read. No machine has it, so their clients leave by
/// nothing, not by the default route, until somebody sets or removes the exit.
const DAMAGED: &str = "damaged-record";

impl ClientGrants {
    /// What stands for a record that cannot be read.
    pub(crate) fn damaged() -> ClientGrants {
        ClientGrants { exit: Some(DAMAGED.into()), ..ClientGrants::default() }
    }

    /// Nothing is granted.
    pub fn is_empty(&self) -> bool {
        *self == ClientGrants::default()
    }
}

/// The interface by which members of a group leave that have none of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupExit {
    /// Its name.
    #[serde(deserialize_with = "interface")]
    pub interface: String,
}

impl GroupExit {
    /// What stands for a record that cannot be read.
    pub(crate) fn damaged() -> GroupExit {
        GroupExit { interface: DAMAGED.into() }
    }
}

/// All that a fleet grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetGrants {
    /// By clients.
    pub clients: BTreeMap<String, ClientGrants>,
    /// Exits of groups.
    pub group_exits: BTreeMap<String, GroupExit>,
}

/// A name that is written into a firewall's rules is held to what the kernel takes for one.
fn interface<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    let name = String::deserialize(d)?;
    let is_odd = |c: char| c == '/' || c == '"' || c.is_whitespace() || c.is_control();
    if !(1..=15).contains(&name.len()) || name.contains(is_odd) {
        return Err(serde::de::Error::custom("no name of an interface"));
    }
    Ok(name)
}

fn some_interface<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    interface(d).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_come_back_and_names_of_interfaces_are_such() {
        let port = |n| NonZeroU16::new(n).unwrap();
        let forward =
            ForwardedPort { protocol: Transport::Udp, port: port(8080), to: port(80), masquerade: true };
        let all = ClientGrants {
            forwards: vec![forward],
            groups: ["home".into()].into(),
            down_bps: Some(1_000_000),
            up_bps: None,
            share: Some(4),
            exit: Some("wan2".into()),
        };
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<ClientGrants>(&text).unwrap(), all);
        assert!(serde_json::from_str::<ClientGrants>("{}").unwrap().is_empty());
        for bad in ["", "a b", "wan2\\\" accept", "wan2/0", "sixteen-letters-", "a\\nb"] {
            let text = format!(r#"{{"exit":"{bad}"}}"#);
            assert!(serde_json::from_str::<ClientGrants>(&text).is_err(), "{text}");
            let text = format!(r#"{{"interface":"{bad}"}}"#);
            assert!(serde_json::from_str::<GroupExit>(&text).is_err(), "{text}");
        }
        assert!(
            serde_json::from_str::<ClientGrants>(r#"{"forwards":[{"protocol":"tcp","port":0,"to":1}]}"#)
                .is_err()
        );
    }
}
