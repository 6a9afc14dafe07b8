//! Where a gateway can be reached, when nobody says.

use crate::address::is_public;
use crate::exit::{Code, failure};
use ropewalk_net::links::{self, Unusable};
use ropewalk_net::setup::Protocol;
use ropewalk_session::{ENDPOINTS_MAX, Endpoint, Host, TLS_ENDPOINTS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// The file in the state directory.
pub(crate) const FILE: &str = "gateway.json";

/// Where the gateway listened when it last ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Listening {
    /// Its sockets.
    pub listen: Vec<SocketAddr>,
    /// What tokens name instead, if the configuration says.
    #[serde(default)]
    pub endpoints: Vec<String>,
    /// The port of its TLS, if it offers that.
    #[serde(default)]
    pub tls: Option<u16>,
    /// What tokens name for TLS instead of their other hosts with that port.
    #[serde(default)]
    pub tls_endpoints: Vec<String>,
    /// Its device, which is no way to reach it.
    #[serde(default)]
    pub device: String,
    /// The store of its fleet, if it has one: its clients are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl Listening {
    /// The ports that are the gateway's own.
    pub(crate) fn ports(&self) -> BTreeSet<(Protocol, u16)> {
        let udp = self.listen.iter().map(|a| (Protocol::Udp, a.port()));
        udp.chain(self.tls.map(|port| (Protocol::Tcp, port))).collect()
    }

    /// Whether the clients are in the state directory, as a command needs it that works on the
    /// files.
    pub(crate) fn check_own(&self) -> anyhow::Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let words = format!(
            "the gateway with this state directory is of a fleet, and does not run: start it, or name the store, as in `ropewalk clients --store {store}`"
        );
        Err(failure(Code::Usage, words))
    }
}

/// Endpoints for a token: the addresses listened on, or where that is any address, those of this machine's interfaces, public ones first.
pub(crate) fn of(listening: &Listening) -> anyhow::Result<Vec<Endpoint>> {
    if !listening.endpoints.is_empty() {
        return Ok(listening.endpoints.iter().map(|e| e.parse()).collect::<Result<_, _>>()?);
    }
    let mut found: Vec<SocketAddr> = Vec::new();
    for listen in &listening.listen {
        if listen.ip().is_unspecified() {
            let own =
                own_addresses(&listening.device)?.into_iter().filter(|a| a.is_ipv4() == listen.is_ipv4());
            found.extend(own.map(|a| SocketAddr::new(a, listen.port())));
        } else {
            found.push(*listen);
        }
    }
    let mut found = in_turn(found);
    found.truncate(ENDPOINTS_MAX);
    Ok(found.into_iter().map(|a| Endpoint { host: Host::Address(a.ip()), port: a.port() }).collect())
}

/// Public addresses first, each with all of its ports and the IP versions in turn: a limit leaves out the last addresses.
fn in_turn(mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut seen = BTreeSet::new();
    found.retain(|a| seen.insert(*a));
    found.sort_by_key(|a| !is_public(a.ip()));
    let mut order: Vec<IpAddr> = Vec::new();
    for ip in found.iter().map(SocketAddr::ip) {
        if !order.contains(&ip) {
            order.push(ip);
        }
    }
    let rank =
        |a: &SocketAddr| order.iter().filter(|ip| ip.is_ipv4() == a.is_ipv4()).position(|ip| *ip == a.ip());
    found.sort_by_key(|a| (!is_public(a.ip()), rank(a), a.is_ipv6()));
    found
}

/// The same for TLS, beside the `endpoints` of a token: none where TLS is not offered.
pub(crate) fn by_tls(listening: &Listening, endpoints: &[Endpoint]) -> anyhow::Result<Vec<Endpoint>> {
    let Some(port) = listening.tls else { return Ok(Vec::new()) };
    if !listening.tls_endpoints.is_empty() {
        return Ok(listening.tls_endpoints.iter().map(|e| e.parse()).collect::<Result<_, _>>()?);
    }
    let mut found: Vec<Endpoint> = Vec::new();
    for Endpoint { host, .. } in endpoints {
        if !found.iter().any(|e| e.host == *host) && found.len() < TLS_ENDPOINTS_MAX {
            found.push(Endpoint { host: host.clone(), port });
        }
    }
    Ok(found)
}

fn own_addresses(device: &str) -> anyhow::Result<Vec<IpAddr>> {
    let reachable = |link: &links::Link| {
        // A service address on the loopback interface is as good as any.
        matches!(link.unusable(&[device]), None | Some(Unusable::Loopback))
    };
    let links = links::list()?;
    let addresses = links.iter().filter(|l| reachable(l)).flat_map(links::Link::lasting_addresses);
    Ok(addresses.filter(|ip| !ip.is_loopback()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_each_address_with_all_ports() {
        let at = |port: u16| (1..=5).map(move |n: u8| SocketAddr::from(([192, 0, 2, n], port)));
        let listen = [4500, 443].into_iter().flat_map(at).collect();
        let found = of(&Listening { listen, ..Listening::default() }).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found[..3], ["192.0.2.1:4500", "192.0.2.1:443", "192.0.2.2:4500"]);
        assert_eq!(found.len(), ENDPOINTS_MAX);
        assert_eq!(found.iter().filter(|e| e.ends_with(":443")).count(), ENDPOINTS_MAX / 2);
    }

    #[test]
    fn a_token_names_both_ip_versions_and_nothing_twice() {
        let v4 = |port: u16| (1..=5).map(move |n: u8| SocketAddr::from(([192, 0, 2, n], port)));
        let v6: SocketAddr = "[2001:db8::1]:4500".parse().unwrap();
        let listen = v4(4500).chain([v6]).chain(v4(443)).chain(v4(4500)).collect();
        let found = of(&Listening { listen, ..Listening::default() }).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found[..4], ["192.0.2.1:4500", "192.0.2.1:443", "[2001:db8::1]:4500", "192.0.2.2:4500"]);
        assert_eq!(found.len(), ENDPOINTS_MAX);
    }

    #[test]
    fn a_public_address_behind_private_ones_is_named() {
        let v4 = (1..=4).map(|n: u8| IpAddr::from([10, 0, 0, n])).chain([IpAddr::from([203, 0, 114, 1])]);
        let v6 = (1..=4).map(|n: u16| IpAddr::from([0x2a00, 0, 0, 0, 0, 0, 0, n]));
        let all: Vec<IpAddr> = v4.chain(v6).collect();
        let listen =
            [4500, 443].into_iter().flat_map(|port| all.iter().map(move |ip| SocketAddr::new(*ip, port)));
        let found = of(&Listening { listen: listen.collect(), ..Listening::default() }).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found[..3], ["203.0.114.1:4500", "203.0.114.1:443", "[2a00::1]:4500"]);
    }

    #[test]
    fn tls_is_at_the_same_hosts_unless_it_is_said_where() {
        let endpoints: Vec<Endpoint> =
            ["gw.example.org:4500", "gw.example.org:443", "192.0.2.1:4500", "192.0.2.2:4500"]
                .map(|e| e.parse().unwrap())
                .into();
        let found = |listening: &Listening| -> Vec<String> {
            by_tls(listening, &endpoints).unwrap().iter().map(ToString::to_string).collect()
        };
        let mut listening = Listening::default();
        assert!(found(&listening).is_empty());
        listening.tls = Some(8443);
        assert_eq!(found(&listening), ["gw.example.org:8443", "192.0.2.1:8443"]);
        listening.tls_endpoints = vec!["www.example.org:443".into()];
        assert_eq!(found(&listening), ["www.example.org:443"]);
    }
}
