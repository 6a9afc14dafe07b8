//! What goes into a tunnel of this machine, a bond's say, and what an access point would take out of
//! it: the narrower route goes first, and a station's leads past the tunnel in the clear.

use super::daemon::PREFIX;
use ipnet::{IpNet, Ipv6Net};
use ropewalk_net::links::{Changes, Link, Route, routes};
use ropewalk_net::setup::{Journal, SetupError, TunnelRoutes};
use std::collections::BTreeMap;

/// Routes of less bits are ways to everywhere, in parts: a network on the link goes before them, as
/// before a default route.
const WIDEST: u8 = 8;

/// The main table, as of the last look, and what goes before it.
#[derive(Debug)]
pub(super) struct MainTable {
    routes: Vec<Route>,
    first: TunnelRoutes,
    is_stale: bool,
    has_failed: bool,
}

impl MainTable {
    /// Looked at by the first [`MainTable::follow`].
    pub(super) fn new(journal: &mut Journal) -> Result<MainTable, SetupError> {
        let first = TunnelRoutes::begin(journal)?;
        Ok(MainTable { routes: Vec::new(), first, is_stale: true, has_failed: false })
    }

    /// Looks again where something has changed, and where the last look failed.
    pub(super) fn follow(&mut self, changes: &Changes, links: &[Link]) {
        self.is_stale |= !changes.is_empty();
        if !self.is_stale {
            return;
        }
        match routes() {
            Ok(routes) => self.routes = routes,
            Err(error) => {
                tracing::debug!(%error, "the routes of this machine are not known");
                return;
            }
        }
        let set = self.first.set(into_tunnels(links, &self.routes));
        self.is_stale = set.is_err();
        let had_failed = std::mem::replace(&mut self.has_failed, self.is_stale);
        if let Err(error) = set.map_err(anyhow::Error::from)
            && !had_failed
        {
            tracing::warn!("{error:#}: routers of access points may take something out of it");
        }
    }

    pub(super) fn routes(&self) -> &[Route] {
        &self.routes
    }
}

fn is_tunnel(link: &Link) -> bool {
    matches!(link.kind.as_deref(), Some("tun" | "wireguard"))
}

/// It is one of ours.
pub(super) fn is_station(link: &Link) -> bool {
    link.name.strip_prefix(PREFIX).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The tunnel with an address whose network has this one as a part.
pub(super) fn tunnel_around(network: IpNet, links: &[Link]) -> Option<&str> {
    let takes_from = |link: &&Link| {
        let mut own = link.addresses.iter().filter_map(|a| IpNet::new(a.ip, a.prefix_len).ok());
        own.any(|own| own.contains(&network) && own.prefix_len() < network.prefix_len())
    };
    links.iter().filter(|link| is_tunnel(link)).find(takes_from).map(|link| link.name.as_str())
}

/// The tunnel with a route, as `--route` makes it, that this network is a part of, or all.
pub(super) fn tunnel_with<'a>(network: IpNet, links: &'a [Link], routes: &[Route]) -> Option<&'a str> {
    let is_around = |r: &&Route| r.network.prefix_len() >= WIDEST && r.network.contains(&network);
    let tunnel = |r: &Route| links.iter().find(|link| link.index == r.index && is_tunnel(link));
    routes.iter().filter(is_around).find_map(tunnel).map(|link| link.name.as_str())
}

/// Which IPv6 networks go into tunnels whatever stations have routes to, each with the index of its
/// tunnel. Without one are parts of them that another interface has: these go by the main table.
fn into_tunnels(links: &[Link], routes: &[Route]) -> BTreeMap<Ipv6Net, Option<u32>> {
    let (mut all, mut others) = (BTreeMap::new(), Vec::new());
    for route in routes {
        let link = links.iter().find(|link| link.index == route.index && !is_station(link));
        let (Some(link), IpNet::V6(network)) = (link, route.network) else { continue };
        // Each interface has this one for itself.
        if network.addr().is_unicast_link_local() || network.prefix_len() < WIDEST {
            continue;
        }
        if is_tunnel(link) {
            // The kernel tells first of the one that it prefers.
            all.entry(network).or_insert(Some(link.index));
        } else {
            others.push(network);
        }
    }
    others.retain(|other| all.keys().any(|network| network.contains(other)));
    all.extend(others.into_iter().map(|other| (other, None)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::links::Address;

    fn link(index: u32, name: &str, kind: Option<&str>, address: &str) -> Link {
        let address: IpNet = address.parse().unwrap();
        let address = Address::new(address.addr(), address.prefix_len());
        let kind = kind.map(str::to_owned);
        Link { index, name: name.into(), kind, addresses: vec![address], ..Link::default() }
    }

    fn links() -> [Link; 3] {
        [
            link(2, "eth0", None, "192.168.1.5/24"),
            link(3, "rw0", Some("tun"), "10.77.0.2/24"),
            link(4, "roam0", None, "fe80::4/64"),
        ]
    }

    fn route(network: &str, index: u32) -> Route {
        Route { network: network.parse().unwrap(), index }
    }

    #[test]
    fn a_lease_does_not_take_a_part_of_a_tunnel_s_network() {
        let links = links();
        let tunnel = |lease: &str| tunnel_around(lease.parse().unwrap(), &links);
        assert_eq!(tunnel("10.77.0.129/25"), Some("rw0"));
        assert_eq!(tunnel("10.77.0.9/24"), None, "the bond's own route is preferred");
        assert_eq!(tunnel("10.1.2.3/8"), None, "a wide network goes behind the bond's");
        assert_eq!(tunnel("192.168.1.130/25"), None, "a cable is no tunnel");
    }

    #[test]
    fn a_network_inside_a_tunnel_s_route_is_known() {
        let links = links();
        let by_rw0 = ["10.0.0.0/8", "0.0.0.0/1", "0.0.0.0/0"].map(|network| route(network, 3));
        let routes = [&by_rw0[..], &[route("172.16.0.0/12", 2)]].concat();
        let tunnel = |lease: &str| tunnel_with(lease.parse().unwrap(), &links, &routes);
        assert_eq!(tunnel("10.1.2.3/24"), Some("rw0"));
        assert_eq!(tunnel("10.0.0.1/8"), Some("rw0"));
        assert_eq!(tunnel("172.16.0.9/24"), None, "a cable is no tunnel");
        assert_eq!(tunnel("100.64.0.9/24"), None, "what is near goes before what leads everywhere");
        assert_eq!(tunnel_with("10.1.2.3/24".parse().unwrap(), &links[..1], &routes), None, "it is gone");
    }

    #[test]
    fn what_goes_into_tunnels_is_apart_from_what_routers_of_stations_announce() {
        let links = links();
        let routes = [
            route("fd77::/64", 3),
            route("fd00:1::/32", 3),
            route("2000::/3", 3),
            route("fe80::/64", 3),
            route("10.77.0.0/24", 3),
            route("fd77::/48", 4),
            route("fd77:0:0:0:8000::/65", 4),
            route("fd77::/64", 4),
            route("fe80::/64", 4),
            route("::/0", 4),
            route("fd00:1:2:3::/64", 2),
            route("fd00:2::/64", 2),
            route("fd00:1:7::/64", 9),
        ];
        let expected = [("fd00:1::/32", Some(3)), ("fd00:1:2:3::/64", None), ("fd77::/64", Some(3))];
        let expected = expected.map(|(network, by)| (network.parse().unwrap(), by));
        assert_eq!(into_tunnels(&links, &routes), BTreeMap::from(expected));
        let both = [route("fd77::/64", 3), route("fd77::/64", 2)];
        assert_eq!(into_tunnels(&links, &both).into_values().collect::<Vec<_>>(), [None], "as it was");
    }
}
