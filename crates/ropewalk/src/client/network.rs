//! What a client changes on its machine once it is connected.

use super::lan::Lan;
use crate::address::is_private;
use crate::config::BackhaulLink;
use crate::daemon::DEVICE_QUEUE;
use crate::exit::{Code, failure};
use crate::firewall::{self, Kept, TakesBack, with};
use crate::gateway::radios::protect_frames;
use ipnet::IpNet;
use ropewalk_bond::api::EVERYWHERE;
use ropewalk_net::links::Link;
use ropewalk_net::setup::{
    Change, DeviceConfig, Journal, Routes, SetupError, configure, guard, reverse_path,
};
use ropewalk_net::tun::Tun;
use ropewalk_net::{dns, setup};
use ropewalk_session::{Accept, Layer};
use ropewalk_time::{Duration, Time};
use std::net::IpAddr;

/// How soon a guard that failed is tried again at first, and at last: the loop waits for it.
const GUARD_AGAIN: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(300)];

/// Addresses, routes and the resolver.
#[derive(Debug)]
pub(crate) struct Network {
    journal: TakesBack,
    routes: Routes,
    /// The device's index and name.
    device: (u32, String),
    wanted: Vec<IpNet>,
    /// Name servers, and the domains that they are asked about; without any, all names are.
    dns: (Vec<IpAddr>, Vec<String>),
    addresses: Vec<IpNet>,
    mtu: u32,
    /// The device was refused an address of IPv6: it is switched off here.
    is_v4_only: bool,
    unguarded: Option<Unguarded>,
    /// The network behind this machine, if there is to be one.
    pub lan: Option<Lan>,
}

/// Why the address inside has no guard, and when it is tried again.
#[derive(Debug)]
struct Unguarded {
    why: String,
    due: Time,
    pause: Duration,
}

impl Network {
    /// Nothing is changed yet. What stands in the journal is kept from now on, and what follows: its
    /// tables come back at once, since without a kill switch all leaves in the clear.
    pub(crate) fn new(
        journal: Journal,
        tun: &Tun,
        wanted: Vec<IpNet>,
        dns: (Vec<IpAddr>, Vec<String>),
        mtu: u32,
        lan: Option<String>,
    ) -> anyhow::Result<Network> {
        let (routes, device) = (Routes::new(tun.index()), (tun.index(), tun.name().to_owned()));
        let journal = TakesBack::new(journal);
        let without_tables = "the kill switch, if there is one, and the guard of the address inside are off";
        firewall::keep(journal.shared(), Kept { device: None, without_rules: None, without_tables })?;
        let (addresses, is_v4_only, unguarded) = (Vec::new(), false, None);
        // Servers for some names only are no hosts' servers.
        let servers = dns.0.iter().filter(|_| dns.1.is_empty()).filter_map(|server| match server {
            IpAddr::V6(server) => Some(*server),
            IpAddr::V4(_) => None,
        });
        let lan = lan.map(|interface| Lan::new(interface, servers.collect(), mtu));
        Ok(Network { journal, routes, device, wanted, dns, addresses, mtu, is_v4_only, unguarded, lan })
    }

    /// The gateway let us in: what it gives to the network behind this machine counts.
    pub(crate) fn give_lan(&mut self, accept: &Accept) {
        self.lan.iter_mut().for_each(|lan| lan.on_accept(accept, &self.journal));
    }

    /// Gives the network behind this machine what it does not have yet; says whether something has
    /// changed.
    pub(crate) fn follow_lan(&mut self, links: &[Link], now: Time) -> bool {
        let Network { lan, journal, device: (index, name), .. } = self;
        lan.as_mut().is_some_and(|lan| lan.follow(journal, (*index, name.as_str()), links, now))
    }

    /// These uplinks are to hear IPv6 routers, whatever the network behind this machine needs.
    pub(crate) fn hear_routers(&mut self, uplinks: &[&Link]) {
        let Network { lan, journal, .. } = self;
        lan.iter_mut().for_each(|lan| lan.hear_routers(journal, uplinks));
    }

    /// The gateway let us in: the device gets its addresses, and the routes lead into it.
    pub(crate) fn connect(&mut self, accept: &Accept, links: &[Link], now: Time) -> anyhow::Result<()> {
        let all = addresses(accept);
        let v4 = without_ipv6(&all, &self.wanted);
        let does_without = v4.is_some();
        let addresses = v4.filter(|_| self.is_v4_only).unwrap_or(all);
        if addresses == self.addresses {
            return Ok(());
        }
        let others: Vec<&Link> = links.iter().filter(|l| l.name != self.device.1).collect();
        for inside in &addresses {
            check_inside(inside, &self.wanted, &others).map_err(|(code, words)| failure(code, words))?;
        }
        let first = self.addresses.is_empty();
        // First: no packet is to come before it.
        self.guard(&addresses, now);
        match self.configure(&addresses) {
            Err(SetupError::NoIpv6(_)) if does_without && !self.is_v4_only => {
                tracing::warn!(
                    "IPv6 is switched off on this machine (sysctl net.ipv6.conf.all.disable_ipv6): the bond has its IPv4 address alone"
                );
                self.is_v4_only = true;
                return self.connect(accept, links, now);
            }
            outcome => outcome?,
        }
        // Behind the new ones: with its last IPv4 address a device loses its routes.
        let old = std::mem::replace(&mut self.addresses, addresses);
        for gone in old.iter().filter(|a| !self.addresses.contains(a)) {
            setup::remove_address(self.device.0, *gone)?;
        }
        if first {
            for network in &self.wanted {
                let added = change(&self.journal, |journal| self.routes.add(journal, *network));
                added.map_err(|error| judge_route(error, &others))?;
            }
            self.follow(links);
            let (servers, domains) = &self.dns;
            if !servers.is_empty() {
                change(&self.journal, |journal| dns::set(journal, &self.device.1, servers, domains))?;
            }
        }
        Ok(())
    }

    /// Guards these addresses inside against whoever shares a network with this machine. What fails is
    /// tried again ([`Network::keep_guard`]).
    fn guard(&mut self, addresses: &[IpNet], now: Time) {
        let own = addresses.iter().map(IpNet::addr).collect();
        let guarded = change(&self.journal, |journal| guard(journal, &self.device.1, own));
        let before = self.unguarded.take();
        let Err(error) = guarded else {
            if before.is_some() {
                tracing::info!("the address inside is guarded now");
            }
            return;
        };
        let why = format!(
            "{error:#}: whoever shares a network with this machine may send packets to its address inside (CVE-2019-14899)"
        );
        if before.as_ref().is_none_or(|before| before.why != why) {
            tracing::warn!("{why}");
        }
        let pause = before.map_or(GUARD_AGAIN[0], |before| (before.pause * 2).min(GUARD_AGAIN[1]));
        self.unguarded = Some(Unguarded { why, due: now + pause, pause });
    }

    /// When [`Network::keep_guard`] is due.
    pub(crate) fn guard_due(&self) -> Time {
        self.unguarded.as_ref().map_or(Time::NEVER, |unguarded| unguarded.due)
    }

    /// Tries again to guard the addresses inside, where that has failed.
    pub(crate) fn keep_guard(&mut self, now: Time) {
        if now >= self.guard_due() {
            self.guard(&self.addresses.clone(), now);
        }
    }

    /// What is not as it should be, in a sentence.
    pub(crate) fn note(&self) -> Option<String> {
        self.unguarded.as_ref().map(|unguarded| unguarded.why.clone())
    }

    /// Gives the device these addresses, and brings it up.
    fn configure(&self, addresses: &[IpNet]) -> Result<(), SetupError> {
        configure(&DeviceConfig {
            layer: Layer::Three,
            index: self.device.0,
            name: &self.device.1,
            mtu: self.mtu,
            queue: Some(DEVICE_QUEUE),
            addresses,
        })
    }

    /// The networks behind the gateway: what the routes name, and the network inside. A network behind
    /// this machine speaks with all.
    pub(crate) fn behind(&self) -> Vec<IpNet> {
        let lan = self.lan.as_ref().and_then(Lan::network);
        let of_lan = EVERYWHERE.into_iter().filter(|n| n.addr().is_ipv6() && lan.is_some());
        self.wanted.iter().chain(&self.addresses).map(IpNet::trunc).chain(of_lan).collect()
    }

    /// Whether these routes leave a way where a kill switch leaves none but the bond.
    pub(crate) fn can_route(&self, wanted: &[IpNet]) -> bool {
        let is_kill_switch = |c: &Change| matches!(c, Change::KillSwitch(_));
        let has_kill_switch = |journal: &mut Journal| journal.changes().iter().any(is_kill_switch);
        wanted.iter().any(|n| n.prefix_len() == 0)
            || with(self.journal.shared(), has_kill_switch).is_ok_and(|has| !has)
    }

    /// Other networks than before go through the bond. What cannot be done keeps nothing else back,
    /// and is tried again the next time.
    pub(crate) fn set_routes(&mut self, wanted: &[IpNet]) -> anyhow::Result<()> {
        if self.addresses.is_empty() {
            self.wanted = wanted.to_vec();
            return Ok(());
        }
        let mut outcome = Ok(());
        for network in self.wanted.clone().iter().filter(|n| !wanted.contains(n)) {
            match change(&self.journal, |journal| self.routes.remove(journal, *network)) {
                Ok(()) => self.wanted.retain(|n| n != network),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        for network in wanted.iter().filter(|n| !self.wanted.contains(n)).copied().collect::<Vec<_>>() {
            match change(&self.journal, |journal| self.routes.add(journal, network)) {
                Ok(()) => self.wanted.push(network),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// Answers of this machine to those who reach it by these interfaces leave as before.
    pub(crate) fn follow(&mut self, links: &[Link]) {
        // Not the bond's own addresses, nor those of the network behind this machine: answers from them
        // go into the bond.
        let others = links.iter().filter(|l| l.name != self.device.1);
        let behind = self.lan.as_ref().and_then(Lan::network).map(IpNet::V6);
        let usable = others.flat_map(|l| &l.addresses).filter(|a| a.usable).map(|a| a.ip);
        let addresses: Vec<IpAddr> =
            usable.filter(|ip| behind.is_none_or(|network| !network.contains(ip))).collect();
        let kept = change(&self.journal, |journal| self.routes.keep_replies(journal, &addresses));
        if let Err(error) = kept {
            tracing::warn!("{error:#}");
        }
    }

    /// Puts back what others took away of rules and routes into the bond; says how many.
    pub(crate) fn keep_routes(&self) -> anyhow::Result<usize> {
        let of_lan = self.lan.as_ref().map_or(Ok(0), Lan::keep_routes);
        let kept = change(&self.journal, |journal| self.routes.keep(journal));
        Ok(kept? + of_lan?)
    }

    /// A path goes by this interface: answers have to get in by it.
    pub(crate) fn admit_answers(&mut self, interface: &str) {
        if let Err(error) = change(&self.journal, |journal| reverse_path(journal, interface)) {
            tracing::warn!(
                interface,
                "{error:#}: answers on this path may be dropped by the kernel's reverse path filter"
            );
        }
    }

    /// A radio that shares its channel with a repeater's clients has come: its longer frames are protected.
    pub(crate) fn protect_frames(&self, radio: &BackhaulLink) {
        if let Err(error) = with(self.journal.shared(), |journal| protect_frames(radio, journal)) {
            tracing::debug!("{error:#}");
        }
    }

    /// The addresses inside.
    pub(crate) fn addresses(&self) -> &[IpNet] {
        &self.addresses
    }

    /// Takes everything back.
    pub(crate) fn restore(self) -> Result<(), SetupError> {
        self.journal.restore()
    }
}

/// Does something with the journal.
pub(super) fn change<T, E: Into<anyhow::Error>>(
    journal: &TakesBack,
    work: impl FnOnce(&mut Journal) -> Result<T, E>,
) -> anyhow::Result<T> {
    with(journal.shared(), work)?.map_err(Into::into)
}

/// The shortest prefixes of a network inside that a gateway may choose by itself.
const SHORTEST: (u8, u8) = (16, 48);

/// The gateway chooses the network inside, and this machine sends there what it has for that network. So it may be none that is somebody else's, unless a
/// route says the same. A network that this machine is in now may be left: the service's manager has to try again.
fn check_inside(inside: &IpNet, routes: &[IpNet], others: &[&Link]) -> Result<(), (Code, String)> {
    let network = inside.trunc();
    if routes.iter().any(|r| r.trunc().contains(&network)) {
        return Ok(());
    }
    let shortest = if network.addr().is_ipv4() { SHORTEST.0 } else { SHORTEST.1 };
    // So long a prefix is private as a whole if its first address is.
    if network.prefix_len() < shortest || !is_private(network.addr()) {
        let words = format!(
            "the gateway says that {network} is its network inside, which is not a private one of /{shortest} or smaller: if that is right, say so with --route \
             {network}; if not, somebody wants to see where this machine's packets go"
        );
        return Err((Code::Usage, words));
    }
    let of = |link: &Link| {
        let mut all = link.addresses.iter().filter_map(|a| IpNet::new(a.ip, a.prefix_len).ok());
        all.find(|n| network.contains(&n.addr()) || n.contains(&network.addr()))
    };
    match others.iter().find_map(|l| of(l).map(|net| (&l.name, net))) {
        Some((name, net)) => {
            let words = format!(
                "the gateway's network inside, {network}, is also that of {name} here ({net}): leave that network, give the gateway another --address, or say with \
                 --route {network} that it goes into the bond"
            );
            Err((Code::Failure, words))
        }
        None => Ok(()),
    }
}

/// Why a route into the bond cannot be added. A network that this machine is in now may be left:
/// the service's manager has to try again.
fn judge_route(error: anyhow::Error, others: &[&Link]) -> anyhow::Error {
    let network = match error.downcast_ref::<SetupError>() {
        Some(SetupError::RouteTaken(network)) => *network,
        _ => return error,
    };
    let is_in = |link: &Link| {
        let mut own = link.addresses.iter().filter_map(|a| IpNet::new(a.ip, a.prefix_len).ok());
        own.any(|n| n.trunc() == network)
    };
    match others.iter().find(|link| is_in(link)) {
        Some(link) => {
            let words = format!(
                "{network}, which --route {network} sends into the bond, is also the network of {} here: leave that network, or leave out the route",
                link.name
            );
            failure(Code::Failure, words)
        }
        None => error,
    }
}

/// A gateway without IPv4 inside says so with zeros.
fn addresses(accept: &Accept) -> Vec<IpNet> {
    let v4 = Some(accept.ipv4).filter(|v4| !v4.client.is_unspecified());
    let v4 = v4.and_then(|v4| IpNet::new(v4.client.into(), v4.prefix).ok());
    let v6 = accept.ipv6.and_then(|v6| IpNet::new(v6.client.into(), v6.prefix).ok());
    v4.into_iter().chain(v6).collect()
}

/// The addresses of IPv4 alone, where there are others besides and no route needs those.
fn without_ipv6(addresses: &[IpNet], routes: &[IpNet]) -> Option<Vec<IpNet>> {
    let v4: Vec<IpNet> = addresses.iter().filter(|a| a.addr().is_ipv4()).copied().collect();
    let has_both = !v4.is_empty() && v4.len() < addresses.len();
    (has_both && routes.iter().all(|r| r.addr().is_ipv4())).then_some(v4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::kind_of;
    use ropewalk_net::links::Address;

    fn eth0() -> Link {
        let address = |ip: &str, prefix_len| Address::new(ip.parse().unwrap(), prefix_len);
        Link {
            index: 2,
            name: "eth0".into(),
            up: true,
            addresses: vec![address("192.168.1.5", 24), address("fd01::5", 64)],
            ..Link::default()
        }
    }

    fn check(inside: &str, routes: &[&str]) -> Result<(), (Code, String)> {
        let routes: Vec<IpNet> = routes.iter().map(|r| r.parse().unwrap()).collect();
        check_inside(&inside.parse().unwrap(), &routes, &[&eth0()])
    }

    #[test]
    fn a_route_to_the_network_that_this_machine_is_in_is_tried_again() {
        let judge = |error: SetupError| judge_route(error.into(), &[&eth0()]);
        let taken = |network: &str| SetupError::RouteTaken(network.parse().unwrap());
        for network in ["192.168.1.0/24", "fd01::/64"] {
            let error = judge(taken(network));
            assert_eq!(kind_of(&error), Code::Failure, "it may be left: {error}");
            assert!(error.to_string().contains("is also the network of eth0"), "{error}");
        }
        for network in ["192.168.0.0/16", "192.168.1.0/25", "10.1.0.0/16"] {
            let error = judge(taken(network));
            assert_eq!(kind_of(&error), Code::Taken, "somebody made it: {error}");
        }
        let other = judge(SetupError::RuleTaken);
        assert!(other.is::<SetupError>() && kind_of(&other) == Code::Taken, "{other}");
    }

    #[test]
    fn a_gateway_does_not_take_a_network_by_calling_it_its_own() {
        for inside in
            ["8.8.8.9/24", "1.2.3.4/0", "10.0.0.2/8", "172.16.0.1/12", "2606:4700:4700::2/64", "fd00::2/8"]
        {
            let (code, words) = check(inside, &["192.0.2.0/24"]).unwrap_err();
            assert_eq!(code, Code::Usage, "{inside}: {words}");
            assert!(words.contains("if that is right, say so with --route"), "{inside}: {words}");
        }
        for inside in ["192.168.1.77/24", "192.168.0.1/16", "192.168.1.5/32", "fd01::77/64"] {
            let (code, words) = check(inside, &[]).unwrap_err();
            assert_eq!(code, Code::Failure, "it may be left, and is no wrong file: {inside}");
            assert!(words.contains("is also that of eth0"), "{inside}: {words}");
        }
    }

    #[test]
    fn a_machine_without_ipv6_does_without_it_where_no_route_asks_for_it() {
        let nets = |list: &[&str]| list.iter().map(|n| n.parse().unwrap()).collect::<Vec<IpNet>>();
        let both = nets(&["10.77.0.2/24", "fd77::2/64"]);
        for routes in [&[][..], &["0.0.0.0/0"], &["192.0.2.0/24"]] {
            assert_eq!(without_ipv6(&both, &nets(routes)), Some(nets(&["10.77.0.2/24"])), "{routes:?}");
        }
        assert_eq!(without_ipv6(&both, &nets(&["0.0.0.0/0", "::/0"])), None, "it was asked for");
        assert_eq!(without_ipv6(&nets(&["fd77::2/64"]), &[]), None, "nothing would be left");
        assert_eq!(without_ipv6(&nets(&["10.77.0.2/24"]), &[]), None, "there is none");
    }

    #[test]
    fn a_dedicated_network_or_one_that_a_route_names_is_taken() {
        for inside in ["10.77.0.2/24", "172.20.0.2/16", "100.64.1.2/24", "192.168.2.2/30", "fd77::2/64"] {
            assert_eq!(check(inside, &[]), Ok(()), "{inside}");
        }
        assert_eq!(check("8.8.8.9/24", &["8.8.0.0/16"]), Ok(()));
        assert_eq!(check("192.168.1.77/24", &["0.0.0.0/0"]), Ok(()));
        assert_eq!(check("2606:4700:4700::2/64", &["::/0"]), Ok(()));
    }
}
