//! Endpoints that a carrier may go to: their addresses, those that an interface leads to, and whose
//! turn it is.

use super::resolver::Resolver;
use ropewalk_session::Endpoint;
use std::net::{IpAddr, SocketAddr};

/// The endpoints of one uplink and carrier, in order of preference.
#[derive(Debug, Default)]
pub(super) struct Targets {
    endpoints: Vec<(Endpoint, Vec<SocketAddr>)>,
    /// Where datagrams are to go, and the place of the endpoint in the list.
    reached: Vec<(SocketAddr, usize)>,
    turn: usize,
}

impl Targets {
    /// No address is known yet.
    pub(super) fn new(endpoints: &[Endpoint]) -> Targets {
        let endpoints = endpoints.iter().map(|e| (e.clone(), Vec::new())).collect();
        Targets { endpoints, ..Targets::default() }
    }

    /// Asks for the addresses.
    pub(super) fn resolve(&mut self, resolver: &Resolver, interface: &str) {
        for (endpoint, addresses) in &mut self.endpoints {
            if let Some(address) = resolver.ask(endpoint, interface) {
                *addresses = vec![address];
            }
        }
    }

    /// A name was resolved. Without an answer the old addresses stay.
    pub(super) fn on_resolved(&mut self, endpoint: &Endpoint, found: &[SocketAddr]) {
        for (_, addresses) in self.endpoints.iter_mut().filter(|(e, _)| e == endpoint && !found.is_empty()) {
            *addresses = found.to_vec();
        }
    }

    /// `reached_as` says by which address the interface leads to one. `true` if others are reached
    /// now than before.
    pub(super) fn retarget(&mut self, reached_as: impl Fn(SocketAddr) -> Option<SocketAddr>) -> bool {
        let mut reached: Vec<(SocketAddr, usize)> = Vec::new();
        for (at, (_, found)) in self.endpoints.iter().enumerate() {
            for remote in found.iter().filter_map(|a| reached_as(*a)) {
                if reached.iter().all(|(other, _)| *other != remote) {
                    reached.push((remote, at));
                }
            }
        }
        let is_new = reached != self.reached;
        if is_new {
            (self.reached, self.turn) = (reached, 0);
        }
        is_new
    }

    /// The next in turn that `is_wanted`.
    pub(super) fn take(&mut self, is_wanted: impl Fn(SocketAddr) -> bool) -> Option<(SocketAddr, &Endpoint)> {
        let count = self.reached.len();
        let mut turns = (0..count).map(|i| (self.turn + i) % count);
        let at = turns.find(|at| is_wanted(self.reached[*at].0))?;
        self.turn = at + 1;
        let (remote, endpoint) = self.reached[at];
        Some((remote, &self.endpoints[endpoint].0))
    }

    /// The addresses that datagrams may go to.
    pub(super) fn reached(&self) -> impl Iterator<Item = SocketAddr> {
        self.reached.iter().map(|(remote, _)| *remote)
    }

    /// Where the endpoints are: addresses by which the interface leads there, else those that are
    /// known, else the name.
    pub(super) fn places(&self) -> impl Iterator<Item = String> {
        self.endpoints.iter().enumerate().flat_map(move |(place, (endpoint, found))| {
            let reached = self.reached.iter().filter(|(_, at)| *at == place).map(|(remote, _)| *remote);
            let mut all: Vec<SocketAddr> = reached.collect();
            if all.is_empty() {
                all.clone_from(found);
            }
            let name = all.is_empty().then(|| endpoint.to_string());
            all.into_iter().map(|remote| remote.to_string()).chain(name)
        })
    }

    /// The machine for which a captive portal would answer: most portals do so by IPv4 alone, and by
    /// no address that the interface does not lead to.
    pub(super) fn intercepted(&self) -> Option<IpAddr> {
        let reached = self.reached().map(|remote| remote.ip());
        reached.min_by_key(IpAddr::is_ipv6).or_else(|| self.known().next())
    }

    /// The endpoints.
    pub(super) fn names(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().map(|(endpoint, _)| endpoint)
    }

    /// The same as words.
    pub(super) fn names_as_words(&self) -> String {
        let names: Vec<String> = self.names().map(Endpoint::to_string).collect();
        names.join(" or ")
    }

    /// All addresses that are known of them, whether or not they are reached.
    pub(super) fn known(&self) -> impl Iterator<Item = IpAddr> {
        self.endpoints.iter().flat_map(|(_, found)| found).map(SocketAddr::ip)
    }

    /// The same as words; `None` if none is known.
    pub(super) fn known_as_words(&self) -> Option<String> {
        let known: Vec<String> = self.known().map(|ip| ip.to_string()).collect();
        (!known.is_empty()).then(|| known.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portal_is_looked_for_where_the_interface_leads_by_ipv4_if_it_does() {
        let endpoints = ["[2001:db8::1]:4500", "192.0.2.1:4500"].map(|e| e.parse::<Endpoint>().unwrap());
        let mut targets = Targets::new(&endpoints);
        assert_eq!(targets.intercepted(), None);
        for endpoint in &endpoints {
            targets.on_resolved(endpoint, &[endpoint.to_string().parse().unwrap()]);
        }
        let [six, four] = ["2001:db8::1", "192.0.2.1"].map(|ip| ip.parse::<IpAddr>().ok());
        assert_eq!(targets.intercepted(), six, "nothing is reached");
        targets.retarget(Some);
        assert_eq!(targets.intercepted(), four);
        targets.retarget(|a| a.is_ipv6().then_some(a));
        assert_eq!(targets.intercepted(), six);
    }

    #[test]
    fn targets_take_turns_and_one_address_is_one_target() {
        let endpoints = ["192.0.2.1:4500", "192.0.2.2:443", "gw.example.org:4500"];
        let endpoints = endpoints.map(|e| e.parse::<Endpoint>().unwrap());
        let mut targets = Targets::new(&endpoints);
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        targets.on_resolved(&endpoints[0], &[at("192.0.2.1:4500")]);
        targets.on_resolved(&endpoints[1], &[at("192.0.2.2:443")]);
        targets.on_resolved(&endpoints[2], &[at("192.0.2.1:4500"), at("[2001:db8::1]:4500")]);
        targets.on_resolved(&endpoints[2], &[]);
        assert_eq!(targets.known().count(), 4, "the old ones stay");
        assert!(targets.take(|_| true).is_none(), "nothing is reached");
        let v4 = ["192.0.2.1:4500", "192.0.2.2:443", "192.0.2.1:4500"];
        assert_eq!(targets.places().collect::<Vec<_>>(), [&v4[..], &["[2001:db8::1]:4500"]].concat());
        assert!(
            targets.retarget(|a| a.is_ipv4().then_some(a)) && !targets.retarget(|a| a.is_ipv4().then_some(a))
        );
        assert_eq!(targets.intercepted(), Some(at("192.0.2.1:4500").ip()));
        // Of the name no address is reached that another endpoint has not: what is known of it.
        assert_eq!(targets.places().count(), 4);
        assert_eq!(Targets::new(&endpoints[2..]).places().collect::<Vec<_>>(), ["gw.example.org:4500"]);
        let mut next = |is_wanted: fn(SocketAddr) -> bool| targets.take(is_wanted).map(|(a, _)| a);
        assert_eq!(next(|_| true), Some(at("192.0.2.1:4500")));
        assert_eq!(next(|_| true), Some(at("192.0.2.2:443")));
        assert_eq!(next(|_| true), Some(at("192.0.2.1:4500")));
        assert_eq!(next(|a| a.port() == 4500), Some(at("192.0.2.1:4500")), "the other is tried already");
        assert_eq!(next(|_| false), None);
    }
}
