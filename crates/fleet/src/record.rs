//! What is kept in the store, and under which keys.
//!
//! | key | what |
//! |---|---|
//! | `key` | the fleet's static key, base64 |
//! | `network` | the networks inside, the same for all gateways |
//! | `client/NAME` | [`ClientRecord`] |
//! | `invite/ID` | NAME |
//! | `device/KEY` | NAME: a device is one client |
//! | `address/IP` | NAME: an address is one client's |
//! | `gateway/NAME` | [`GatewayRecord`], under the gateway's lease |
//! | `serving/NAME` | [`Serving`], under the lease of the gateway that serves the client |
//! | `usage/NAME/GATEWAY` | [`crate::Metered`] |
//! | `quota/NAME` | [`crate::Quota`] |
//! | `grant/NAME` | [`crate::ClientGrants`] |
//! | `exit/GROUP` | [`crate::GroupExit`] |
//! | `grants` | which change of these two was the last |
//! | `sum/GATEWAY` | [`Sum`] |
//! | `bunch-account/KEY/GATEWAY` | the last record that the access point of a bunch with this key and a gateway have signed |
//! | `compaction` | which gateway compacted last; the revision of this key is where the next compacts |

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ropewalk_session::{InviteId, PublicKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// The invite that it comes by.
    #[serde(with = "base64_text")]
    pub invite: [u8; 16],
    /// Proves the invite's secret without holding it.
    #[serde(with = "base64_text")]
    pub fingerprint: [u8; 32],
    /// Whose invite it became at first contact.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "key_text")]
    pub key: Option<PublicKey>,
    /// Its addresses inside, from first contact on; the unspecified one where the fleet has no IPv4
    /// inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Addr>,
    /// The same for IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Addr>,
    /// It may not come in any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

impl ClientRecord {
    /// Its addresses inside.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let v4 = self.ipv4.filter(|a| !a.is_unspecified()).map(IpAddr::from);
        v4.into_iter().chain(self.ipv6.map(IpAddr::from))
    }
}

/// A gateway that lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayRecord {
    /// Tells one run of a gateway from the next.
    pub instance: String,
    /// Where devices reach it.
    pub endpoints: Vec<String>,
    /// The same by TLS over TCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<String>,
    /// It takes no sessions.
    #[serde(default)]
    pub draining: bool,
    /// Exits that lead nowhere there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}

/// Who serves a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// The gateway.
    pub gateway: String,
    /// The client's addresses inside, for routers.
    pub inside: Vec<IpAddr>,
}

/// Bytes that a client has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Bytes that came from it, with all headers.
    pub from_client: u64,
    /// Bytes that went to it.
    pub to_client: u64,
}

impl Usage {
    /// Both directions.
    pub fn total(self) -> u64 {
        self.from_client.saturating_add(self.to_client)
    }

    pub(crate) fn add(&mut self, more: Usage) {
        self.from_client = self.from_client.saturating_add(more.from_client);
        self.to_client = self.to_client.saturating_add(more.to_client);
    }

    pub(crate) fn take(&mut self, less: Usage) {
        self.from_client = self.from_client.saturating_sub(less.from_client);
        self.to_client = self.to_client.saturating_sub(less.to_client);
    }
}

/// What a gateway has of its clients in all, so that whoever watches need not read each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    /// How many it serves.
    pub clients: usize,
    /// What all have used there since ever.
    #[serde(flatten)]
    pub used: Usage,
}

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Keys(pub String);

/// What a key of the store is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About<'a> {
    /// The fleet's key.
    Key,
    Client(&'a str),
    Gateway(&'a str),
    Serving(&'a str),
    Usage(&'a str, &'a str),
    Quota(&'a str),
    Grant(&'a str),
    GroupExit(&'a str),
    /// It stands among those, and has no name of theirs.
    Odd,
    Other,
}

impl Keys {
    pub(crate) fn fleet_key(&self) -> String {
        format!("{}key", self.0)
    }
    pub(crate) fn network(&self) -> String {
        format!("{}network", self.0)
    }
    pub(crate) fn compaction(&self) -> String {
        format!("{}compaction", self.0)
    }
    pub(crate) fn client(&self, name: &str) -> String {
        format!("{}client/{name}", self.0)
    }
    pub(crate) fn invite(&self, id: InviteId) -> String {
        format!("{}invite/{}", self.0, URL_SAFE_NO_PAD.encode(id.0))
    }
    pub(crate) fn device(&self, key: &PublicKey) -> String {
        format!("{}device/{}", self.0, URL_SAFE_NO_PAD.encode(key.as_bytes()))
    }
    pub(crate) fn address(&self, address: IpAddr) -> String {
        format!("{}address/{address}", self.0)
    }
    pub(crate) fn gateway(&self, name: &str) -> String {
        format!("{}gateway/{name}", self.0)
    }
    pub(crate) fn serving(&self, client: &str) -> String {
        format!("{}serving/{client}", self.0)
    }
    pub(crate) fn usage(&self, client: &str, gateway: &str) -> String {
        format!("{}usage/{client}/{gateway}", self.0)
    }
    pub(crate) fn sum(&self, gateway: &str) -> String {
        format!("{}sum/{gateway}", self.0)
    }
    /// Where the accounts of a bunch begin.
    pub(crate) fn bunch_accounts(&self) -> String {
        format!("{}bunch-account/", self.0)
    }
    pub(crate) fn bunch_account(&self, key: &PublicKey, gateway: &str) -> String {
        format!("{}{}/{gateway}", self.bunch_accounts(), URL_SAFE_NO_PAD.encode(key.as_bytes()))
    }
    pub(crate) fn quota(&self, client: &str) -> String {
        format!("{}quota/{client}", self.0)
    }

    pub(crate) fn grant(&self, client: &str) -> String {
        format!("{}grant/{client}", self.0)
    }
    pub(crate) fn group_exit(&self, group: &str) -> String {
        format!("{}exit/{group}", self.0)
    }
    pub(crate) fn grants(&self) -> String {
        format!("{}grants", self.0)
    }

    /// Where what a copy keeps begins. Who has which invite, device and address the clients' own
    /// records say, too.
    pub(crate) fn kept(&self) -> Vec<String> {
        let kinds = ["client/", "gateway/", "serving/", "usage/", "quota/", "grant/", "exit/"];
        [self.fleet_key()].into_iter().chain(kinds.map(|kind| format!("{}{kind}", self.0))).collect()
    }

    /// What `key` is about, as far as a copy keeps it.
    pub(crate) fn about<'a>(&self, key: &'a str) -> About<'a> {
        let rest = key.strip_prefix(&self.0);
        if rest == Some("key") {
            return About::Key;
        }
        match rest.and_then(|rest| rest.split_once('/')) {
            Some(("client", name)) if is_name(name) => About::Client(name),
            Some(("gateway", name)) if is_name(name) => About::Gateway(name),
            Some(("serving", name)) if is_name(name) => About::Serving(name),
            Some(("quota", name)) if is_name(name) => About::Quota(name),
            Some(("grant", name)) if is_name(name) => About::Grant(name),
            Some(("exit", group)) if is_name(group) => About::GroupExit(group),
            Some(("usage", rest)) => match rest.split_once('/') {
                Some((client, gateway)) if is_name(client) && is_name(gateway) => {
                    About::Usage(client, gateway)
                }
                _ => About::Odd,
            },
            Some(("client" | "gateway" | "serving" | "quota" | "grant" | "exit", _)) => About::Odd,
            _ => About::Other,
        }
    }
}

/// Whether a text can name a client, a group of them, or a gateway.
pub fn is_name(name: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && name.bytes().all(letter)
}

mod base64_text {
    use super::*;

    pub(super) fn serialize<S: Serializer, const N: usize>(bytes: &[u8; N], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(d: D) -> Result<[u8; N], D::Error> {
        let bytes = STANDARD.decode(String::deserialize(d)?).map_err(serde::de::Error::custom)?;
        bytes.try_into().map_err(|_| serde::de::Error::custom("a value has the wrong length"))
    }
}

mod key_text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(key: &Option<PublicKey>, s: S) -> Result<S::Ok, S::Error> {
        key.map(|k| k.to_string()).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<PublicKey>, D::Error> {
        let text = Option::<String>::deserialize(d)?;
        text.map(|t| t.parse().map_err(serde::de::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let record = ClientRecord {
            invite: [1; 16],
            fingerprint: [2; 32],
            key: Some(PublicKey([3; 32])),
            ipv4: Some(Ipv4Addr::UNSPECIFIED),
            ipv6: Some(Ipv6Addr::LOCALHOST),
            revoked: false,
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<ClientRecord>(&text).unwrap(), record);
        assert_eq!(record.addresses().collect::<Vec<_>>(), [IpAddr::from(Ipv6Addr::LOCALHOST)]);
        let fresh = ClientRecord { key: None, ipv4: None, ipv6: None, ..record };
        let text = serde_json::to_string(&fresh).unwrap();
        assert!(!text.contains("key"), "{text}");
        assert_eq!(serde_json::from_str::<ClientRecord>(&text).unwrap(), fresh);
    }

    #[test]
    fn keys_say_what_they_are_about() {
        let keys = Keys("/x/".into());
        assert_eq!(keys.about(&keys.client("a")), About::Client("a"));
        assert_eq!(keys.about(&keys.serving("a.b")), About::Serving("a.b"));
        assert_eq!(keys.about(&keys.usage("a", "g")), About::Usage("a", "g"));
        assert_eq!(keys.about(&keys.quota("a")), About::Quota("a"));
        assert_eq!(keys.about(&keys.grant("a")), About::Grant("a"));
        assert_eq!(keys.about(&keys.group_exit("home")), About::GroupExit("home"));
        assert_eq!(keys.about(&keys.fleet_key()), About::Key);
        for other in [
            keys.network(),
            keys.grants(),
            keys.bunch_account(&PublicKey([3; 32]), "g"),
            "/y/key".into(),
            keys.invite(InviteId([0; 16])),
            "/y/client/a".into(),
        ] {
            assert_eq!(keys.about(&other), About::Other, "{other}");
        }
        for odd in [
            "/x/client/a b",
            "/x/gateway/",
            "/x/serving/\u{fffd}",
            "/x/usage/a",
            "/x/usage/a/b/c",
            "/x/quota/a/b",
            "/x/grant/",
            "/x/exit/a b",
        ] {
            assert_eq!(keys.about(odd), About::Odd, "{odd}");
        }
        let kept = keys.kept();
        for odd in ["/x/client/a b", "/x/exit/"] {
            assert!(kept.iter().any(|prefix| odd.starts_with(prefix)), "{odd} is said to be odd");
        }
        assert!(is_name("alice-1.x_y") && !is_name("a/b") && !is_name("") && !is_name(&"a".repeat(65)));
    }
}
