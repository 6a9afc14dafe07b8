//! What the daemons of a bunch tell each other besides the bunch protocol: JSON in a record of its
//! own.

use super::accounts;
use crate::address::is_public;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::Ipv4Net;
use ropewalk_bunch::{Flow, Mac};
use ropewalk_net::wifi::mac_text;
use ropewalk_session::PublicKey;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};
use zeroize::Zeroizing;

/// Most neighbours of an access point: those of a session.
pub(crate) const NEIGHBOURS: usize = 31;

/// Most uploads that an access point is told to listen for: as many as it has sessions.
pub(crate) const AUDIBLE: usize = ropewalk_bunch::ap::MAX_SESSIONS;
/// Most cells that an access point says it hears.
pub(crate) const CELLS: usize = 64;

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Word {
    /// Gateway: what is helped.
    Setup {
        /// Drawn when it started: another one knows nothing of connections.
        boot: u64,
        /// Destinations.
        serve: Vec<Ipv4Net>,
        /// UDP too.
        udp: bool,
    },
    /// Access point: where neighbours on this network reach it.
    Lan {
        /// Its address with the network.
        network: Ipv4Net,
        /// UDP port.
        port: u16,
    },
    /// Gateway: those that are on the same network.
    Neighbours {
        /// All of them; others are none any more.
        all: Vec<Neighbour>,
    },
    /// Access point: it overhears, and these cells are in its reach.
    Hears {
        /// All of them; others are out of reach.
        cells: Vec<Address>,
    },
    /// Gateway: uploads in these cells that are helped.
    Listen {
        /// All of them; nothing else is to be kept.
        all: Vec<Audible>,
    },
    /// Both: what was carried, and who has signed it.
    Account {
        /// Its own words.
        about: Box<accounts::Words>,
    },
}

/// An address on the air; as text, six bytes in hexadecimal with colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Address(pub Mac);

impl From<Address> for String {
    fn from(address: Address) -> String {
        mac_text(address.0)
    }
}

impl TryFrom<String> for Address {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Address, &'static str> {
        let is_hex = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let byte = |part: &str| is_hex(part).then(|| u8::from_str_radix(part, 16).ok()).flatten();
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        let mac = bytes.and_then(|b| b.try_into().ok());
        mac.map(Address).ok_or("an address on the air is six bytes with colons")
    }
}

/// An upload that may be overheard: a flow of the bunch protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Audible {
    /// The cell.
    pub bssid: Address,
    /// Who transmits.
    pub station: Address,
    /// 802.11 traffic identifier.
    pub tid: u8,
    /// IP protocol.
    pub protocol: u8,
    /// From, as it says in its home.
    pub source: SocketAddrV4,
    /// To.
    pub destination: SocketAddrV4,
}

impl From<Flow> for Audible {
    fn from(flow: Flow) -> Audible {
        let Flow { bssid, station, tid, protocol, source, destination } = flow;
        Audible { bssid: Address(bssid), station: Address(station), tid, protocol, source, destination }
    }
}

impl From<&Audible> for Flow {
    fn from(of: &Audible) -> Flow {
        let Audible { bssid, station, tid, protocol, source, destination } = *of;
        Flow { bssid: bssid.0, station: station.0, tid, protocol, source, destination }
    }
}

/// Another access point on the same network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Neighbour {
    /// Names the pair; never used again by a gateway.
    pub id: u32,
    /// Where it listens.
    pub at: SocketAddrV4,
    /// Its cell: it hands on packets of no other.
    pub cell: Mac,
    /// What the pair's keys are made of.
    pub secret: Secret,
    /// Which of the two this access point is.
    pub first: bool,
}

/// 32 bytes, wiped when they go, never printed.
#[derive(Clone, PartialEq)]
pub(crate) struct Secret(pub Zeroizing<[u8; 32]>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&Zeroizing::new(STANDARD.encode(*self.0)))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Secret, D::Error> {
        let text = Zeroizing::new(String::deserialize(d)?);
        let bytes = Zeroizing::new(STANDARD.decode(&*text).map_err(serde::de::Error::custom)?);
        let secret = bytes.as_slice().try_into().map_err(|_| serde::de::Error::custom("32 bytes"))?;
        Ok(Secret(Zeroizing::new(secret)))
    }
}

impl Word {
    /// Its bytes.
    pub(crate) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // These types have no way to fail.
        Zeroizing::new(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Reads one; none if it is none that this version knows.
    pub(crate) fn read(bytes: &[u8]) -> Option<Word> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Stands for the address of an access point's cell: the same for as long as its key is, and nobody
/// else's.
pub(crate) fn cell(key: &PublicKey) -> Mac {
    let mut mac: Mac = key.0[..6].try_into().unwrap_or_default();
    // A locally administered one of a single station (IEEE 802-2014 §8.4).
    mac[0] = mac[0] & 0xfc | 2;
    mac
}

/// Whether uploads to an address are helped. Where everything is, what is near is not: private
/// networks and groups, as in the firewall's rules.
pub(crate) fn serves(all: &[Ipv4Net], to: Ipv4Addr) -> bool {
    let near = !is_public(to.into()) || to.octets()[0] >= 224;
    all.iter().any(|net| net.contains(&to) && !(net.prefix_len() == 0 && near))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audible() -> Audible {
        Audible {
            bssid: Address([2, 0, 0, 0, 0, 10]),
            station: Address([2, 0, 0, 0, 0, 11]),
            tid: 5,
            protocol: 6,
            source: "192.168.1.2:40000".parse().unwrap(),
            destination: "203.0.113.9:443".parse().unwrap(),
        }
    }

    /// What is said at once fits a record, at its longest.
    #[test]
    fn all_that_may_be_heard_fits_a_record() {
        let longest = Audible {
            source: "192.168.100.200:40000".parse().unwrap(),
            destination: "203.100.113.100:40000".parse().unwrap(),
            protocol: 17,
            ..audible()
        };
        let listen = Word::Listen { all: vec![longest; AUDIBLE] };
        let hears = Word::Hears { cells: vec![Address([255; 6]); CELLS] };
        for word in [listen, hears] {
            assert!(word.to_bytes().len() <= super::super::record::RECORD_MAX, "{}", word.to_bytes().len());
        }
    }

    #[test]
    fn words_come_back_and_nonsense_is_none() {
        let secret = Secret(Zeroizing::new([7; 32]));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        let neighbour =
            Neighbour { id: 3, at: "10.0.0.2:4521".parse().unwrap(), cell: [2; 6], secret, first: true };
        for word in [
            Word::Setup { boot: u64::MAX, serve: vec!["0.0.0.0/0".parse().unwrap()], udp: true },
            Word::Lan { network: "10.0.0.1/24".parse().unwrap(), port: 4521 },
            Word::Neighbours { all: vec![neighbour] },
            Word::Hears { cells: vec![Address([2, 0, 0, 0, 0x1f, 0xff])] },
            Word::Listen { all: vec![audible()] },
        ] {
            assert_eq!(Word::read(&word.to_bytes()), Some(word));
        }
        let text = String::from_utf8(Word::Listen { all: vec![audible()] }.to_bytes().to_vec()).unwrap();
        assert!(text.contains(r#""bssid":"02:00:00:00:00:0a""#), "{text}");
        assert_eq!(Audible::from(Flow::from(&audible())), audible());
        for address in ["02:00:00:00:00", "02:00:00:00:00:00:00", "02:00:00:00:00:+1", "2:0:0:0:0:0", ""] {
            let text = format!(r#"{{"say":"hears","cells":["{address}"]}}"#);
            assert_eq!(Word::read(text.as_bytes()), None, "{text}");
        }
        for text in ["", "{}", "[]", r#"{"say":"lan"}"#, r#"{"say":"setup","boot":-1,"serve":[],"udp":1}"#] {
            assert_eq!(Word::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn everything_means_everything_far() {
        let all = ["0.0.0.0/0".parse().unwrap(), "10.9.0.0/16".parse().unwrap()];
        let is = |a: &str| serves(&all, a.parse().unwrap());
        assert!(is("203.0.113.1") && is("10.9.1.1"));
        assert!(
            !is("10.8.0.1")
                && !is("192.168.1.1")
                && !is("100.64.0.1")
                && !is("224.0.0.1")
                && !is("127.0.0.1")
        );
    }
}
