//! The network behind this client: the gateway gives it a prefix, and hosts at an interface of this
//! machine hear of it from here.

use super::network::change;
use crate::firewall::TakesBack;
use crate::report::LanStatus;
use crate::state::pool::network_behind;
use anyhow::{Context, ensure};
use ipnet::{IpNet, Ipv6Net};
use ropewalk_net::advertise::{Advertisement, RouterSocket};
use ropewalk_net::links::Link;
use ropewalk_net::setup::{Change, LanAddress, LanRoutes, SetupError, hear_routers};
use ropewalk_session::Accept;
use ropewalk_time::{Duration, Time};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

/// How soon what failed is tried again at first, and at last: a new link-local address cannot be used
/// for a second or two, and the loop waits for `nft`.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// The least MTU of IPv6.
const MTU_MIN: u32 = 1280;

/// What hosts behind this client have from the gateway.
#[derive(Debug)]
pub(crate) struct Lan {
    interface: String,
    /// Name servers that hosts are told.
    servers: Vec<Ipv6Addr>,
    /// MTU of the bond's device here, and at the gateway.
    mtu: [u32; 2],
    /// The gateway has said which addresses there are.
    connected: bool,
    /// The network that it gives, and the address inside, which is of that network.
    given: Option<(Ipv6Net, Ipv6Addr)>,
    /// It leads here.
    routes: Option<LanRoutes>,
    advertiser: Option<Advertiser>,
    /// Uplinks that hear routers though this machine passes IPv6 on, by their indexes.
    uplinks: BTreeSet<u32>,
    /// Why hosts do not have it.
    why: Option<String>,
    /// When it is tried again.
    again: Time,
    /// How long that waits the next time.
    pause: Duration,
}

/// Who tells hosts of a network.
#[derive(Debug)]
struct Advertiser {
    socket: RouterSocket,
    /// The interface's index.
    index: u32,
    /// Its link-local address, from which hosts are told.
    source: Ipv6Addr,
    address: LanAddress,
    advertisement: Advertisement,
    pace: Pace,
}

/// When advertisements are sent (RFC 4861 §6.2.4 and §6.2.6, whose constants these are).
#[derive(Clone, Copy, Debug)]
struct Pace {
    sent: u32,
    last: Option<Time>,
    due: Time,
}

impl Pace {
    const MAX_INITIAL_ADVERTISEMENTS: u32 = 3;
    const MAX_INITIAL_INTERVAL: Duration = Duration::from_secs(16);
    const MIN_INTERVAL: Duration = Duration::from_secs(200);
    const MAX_INTERVAL: Duration = Duration::from_secs(600);
    const MIN_DELAY_BETWEEN_RAS: Duration = Duration::from_secs(3);
    const MAX_RA_DELAY_TIME: Duration = Duration::from_millis(500);

    fn new(now: Time) -> Pace {
        Pace { sent: 0, last: None, due: now }
    }

    /// One was sent. `random` is from 0 to 1.
    fn sent(&mut self, random: f64, now: Time) {
        (self.sent, self.last) = (self.sent.saturating_add(1), Some(now));
        let pause = Pace::MIN_INTERVAL + (Pace::MAX_INTERVAL - Pace::MIN_INTERVAL).mul_f64(random);
        let is_initial = self.sent < Pace::MAX_INITIAL_ADVERTISEMENTS;
        self.due = now + if is_initial { pause.min(Pace::MAX_INITIAL_INTERVAL) } else { pause };
    }

    /// A host asks. All hosts hear one answer, some time after the last.
    fn asked(&mut self, random: f64, now: Time) {
        let soon = now + Pace::MAX_RA_DELAY_TIME.mul_f64(random);
        let least = self.last.map_or(soon, |last| soon.max(last + Pace::MIN_DELAY_BETWEEN_RAS));
        self.due = self.due.min(least);
    }
}

impl Advertiser {
    fn begin(lan: &Lan, network: Ipv6Net, link: &Link, now: Time) -> anyhow::Result<Advertiser> {
        let is_own = |ip: &Ipv6Addr| ip.is_unicast_link_local();
        let own = link.addresses.iter().find_map(|a| match a.ip {
            IpAddr::V6(ip) => Some(ip).filter(is_own),
            IpAddr::V4(_) => None,
        });
        let own = own.context("the interface has no link-local address of IPv6")?;
        let socket = RouterSocket::open(link.index, own)
            .with_context(|| format!("the interface's address {own} cannot be used yet"))?;
        let mtu = lan.mtu[0].min(lan.mtu[1]).min(link.mtu).max(MTU_MIN);
        let advertisement = Advertisement { network, mtu, servers: lan.servers.clone() };
        let address = LanAddress::first_of(network, &lan.interface);
        let (index, pace) = (link.index, Pace::new(now));
        Ok(Advertiser { socket, index, source: own, address, advertisement, pace })
    }

    /// This is its interface, with the address from which hosts are told.
    fn is_at(&self, link: &Link) -> bool {
        link.index == self.index && has(link, self.source)
    }

    /// Gives the interface its address again, where others took it away.
    fn keep_address(&self, journal: &TakesBack, link: &Link) {
        if has(link, self.address.address.addr()) {
            return;
        }
        if let Err(error) = change(journal, |journal| self.address.give(journal)) {
            tracing::debug!("the hosts' interface does not get its address again: {error:#}");
        }
    }

    /// Sends what is due.
    fn drive(&mut self, now: Time) {
        if now < self.pace.due {
            return;
        }
        match self.socket.send(&self.advertisement.message()) {
            Ok(()) => self.pace.sent(rand::random(), now),
            Err(error) => {
                tracing::debug!(%error, "hosts are not told of their network");
                self.pace.due = now + AGAIN[0];
            }
        }
    }

    /// Hosts are to use the network no more.
    fn take_back(&self) {
        if let Err(error) = self.socket.send(&self.advertisement.final_advertisement()) {
            tracing::debug!(%error, "hosts are not told that their network ends");
        }
    }
}

impl Lan {
    /// A network at `interface`, once a gateway gives one. The bond's device has this MTU.
    pub(super) fn new(interface: String, servers: Vec<Ipv6Addr>, mtu: u32) -> Lan {
        Lan {
            interface,
            servers,
            mtu: [mtu; 2],
            connected: false,
            given: None,
            routes: None,
            advertiser: None,
            uplinks: BTreeSet::new(),
            why: None,
            again: Time::NEVER,
            pause: AGAIN[0],
        }
    }

    /// The interface.
    pub(super) fn interface(&self) -> &str {
        &self.interface
    }

    /// The network, while packets from anywhere come by the bond for it.
    pub(super) fn network(&self) -> Option<Ipv6Net> {
        self.routes.as_ref().map(|routes| routes.network)
    }

    /// Where hosts ask.
    pub(super) fn socket(&self) -> Option<&RouterSocket> {
        self.advertiser.as_ref().map(|advertiser| &advertiser.socket)
    }

    /// The gateway let us in. A network of before that it no longer gives ends.
    pub(super) fn on_accept(&mut self, accept: &Accept, journal: &TakesBack) {
        let given = accept.ipv6.as_ref().and_then(|told| Some((network_behind(told)?, told.client)));
        let mtu = [self.mtu[0], accept.tun_mtu.into()];
        if given != self.given {
            self.withdraw(journal);
        }
        if (given, mtu) != (self.given, self.mtu) {
            (self.advertiser, self.again, self.pause) = (None, Time::NEVER, AGAIN[0]);
        }
        (self.connected, self.given, self.mtu) = (true, given, mtu);
    }

    /// Gives hosts the network where they do not have it. Says whether something has changed that
    /// the engine, or the loop, has to know.
    pub(super) fn follow(
        &mut self,
        journal: &TakesBack,
        (index, device): (u32, &str),
        links: &[Link],
        now: Time,
    ) -> bool {
        let link = links.iter().find(|l| l.name == self.interface && l.up);
        if let Some((advertiser, link)) = self.advertiser.as_ref().zip(link).filter(|(a, l)| a.is_at(l)) {
            advertiser.keep_address(journal, link);
            return false;
        }
        // What failed waits, whatever else happens to links.
        if link.is_some() && self.again != Time::NEVER && now < self.again {
            return false;
        }
        (self.advertiser, self.again) = (None, Time::NEVER);
        if !self.connected {
            return false;
        }
        let led = self.network();
        let begun = self.begin(journal, (index, device), (links, link), now);
        let why = begun.err().map(|error| format!("{error:#}"));
        if let Some(why) = why.as_ref().filter(|why| self.why.as_ref() != Some(*why)) {
            tracing::warn!(interface = self.interface, "hosts at this interface have no network: {why}");
        }
        self.why = why;
        if self.why.is_some() && self.given.is_some() && link.is_some() {
            self.again = now + self.pause;
            self.pause = (self.pause * 2).min(AGAIN[1]);
        } else {
            self.pause = AGAIN[0];
        }
        self.advertiser.is_some() || led != self.network()
    }

    fn begin(
        &mut self,
        journal: &TakesBack,
        (index, device): (u32, &str),
        (links, link): (&[Link], Option<&Link>),
        now: Time,
    ) -> anyhow::Result<()> {
        let (network, inside) = self.given.context("the gateway gives none (`serve --delegate`)")?;
        if self.routes.is_none() {
            let own = LanAddress::first_of(network, &self.interface);
            check(&own, device, links).map_err(anyhow::Error::msg)?;
            let (device, interface) = (device.to_owned(), self.interface.clone());
            let routes = LanRoutes { index, device, interface, network, inside };
            let is_too_many = change(journal, |journal| Ok::<_, SetupError>(routes.is_too_many(journal)))?;
            ensure!(
                !is_too_many,
                "the gateway gives one network after the other: stop this client and start it again"
            );
            change(journal, |journal| routes.add(journal))?;
            self.routes = Some(routes);
        }
        let link = link.context("the interface is not there, or off")?;
        let advertiser = Advertiser::begin(self, network, link, now)?;
        change(journal, |journal| advertiser.address.give(journal))?;
        tracing::info!(interface = self.interface, %network, "hosts at this interface have a network from the gateway");
        self.advertiser = Some(advertiser);
        Ok(())
    }

    /// Uplinks that have come since this machine passes IPv6 on hear routers all the same.
    pub(super) fn hear_routers(&mut self, journal: &TakesBack, uplinks: &[&Link]) {
        self.uplinks.retain(|index| uplinks.iter().any(|link| link.index == *index));
        for link in uplinks {
            if self.uplinks.contains(&link.index) {
                continue;
            }
            match change(journal, |journal| hear_routers(journal, &link.name)) {
                Ok(()) => self.uplinks.extend([link.index]),
                Err(error) => {
                    tracing::warn!(interface = link.name, "no IPv6 router is heard here: {error:#}");
                }
            }
        }
    }

    /// When [`Lan::follow`], or [`Lan::drive`], is due.
    pub(super) fn due(&self) -> Time {
        self.advertiser.as_ref().map_or(self.again, |advertiser| advertiser.pace.due)
    }

    /// Tells hosts what is due.
    pub(super) fn drive(&mut self, now: Time) {
        self.advertiser.iter_mut().for_each(|advertiser| advertiser.drive(now));
    }

    /// Hosts may have asked.
    pub(super) fn hear(&mut self, now: Time) {
        let Some(advertiser) = &mut self.advertiser else { return };
        match advertiser.socket.was_asked() {
            Ok(true) => advertiser.pace.asked(rand::random(), now),
            Ok(false) => {}
            // What becomes of the interface is told by itself.
            Err(error) => tracing::debug!(%error, "hosts are not heard"),
        }
    }

    /// Puts back what others took away; says how many routes that were.
    pub(super) fn keep_routes(&self) -> anyhow::Result<usize> {
        let kept = self.routes.as_ref().map(LanRoutes::keep).transpose()?;
        Ok(usize::from(kept == Some(true)))
    }

    /// Hosts are told that their network ends.
    pub(super) fn end(&mut self) {
        self.advertiser.take().iter().for_each(Advertiser::take_back);
    }

    /// The network is not the gateway's any more.
    fn withdraw(&mut self, journal: &TakesBack) {
        self.end();
        let Some(routes) = self.routes.take() else { return };
        let gone = change(journal, |journal| {
            let is_address = |c: &&Change| matches!(c, Change::LanAddress(_));
            let address = journal.changes().iter().find(is_address).cloned();
            let gone = address.map_or(Ok(()), |address| journal.undo(&address));
            routes.remove(journal).and(gone)
        });
        if let Err(error) = gone {
            tracing::warn!("the hosts' earlier network could not be removed: {error:#}");
        }
    }

    /// For people.
    pub(super) fn status(&self) -> LanStatus {
        let network = self.advertiser.as_ref().map(|a| IpNet::V6(a.advertisement.network));
        LanStatus { interface: self.interface.clone(), network, why: self.why.clone() }
    }
}

fn has(link: &Link, address: Ipv6Addr) -> bool {
    link.addresses.iter().any(|a| a.ip == IpAddr::V6(address))
}

/// A gateway may give only a network that hosts may have, and that is nobody else's here. `device` is
/// the bond's.
fn check(own: &LanAddress, device: &str, links: &[Link]) -> Result<(), String> {
    let network = own.address.trunc();
    let first = network.addr().segments()[0];
    // Global unicast (RFC 4291 §2.4), or unique local (RFC 4193).
    if first & 0xe000 != 0x2000 && first & 0xfe00 != 0xfc00 {
        return Err(format!("the gateway gives {network}, which is no network for hosts"));
    }
    let (network, own) = (IpNet::V6(network), (own.interface.as_str(), IpNet::V6(own.address)));
    let of = |link: &Link| {
        let mut all = link.addresses.iter().filter_map(|a| IpNet::new(a.ip, a.prefix_len).ok());
        let is_met = |n: &IpNet| n.contains(&network.addr()) || network.contains(&n.addr());
        all.find(|n| is_met(n) && (link.name.as_str(), *n) != own)
    };
    let mut others = links.iter().filter(|link| link.name != device);
    match others.find_map(|link| Some((&link.name, of(link)?))) {
        Some((name, other)) => {
            Err(format!("the gateway gives {network}, which is also the network of {name} here ({other})"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_net::links::Address;

    #[test]
    fn a_network_that_is_somebodys_here_or_nobodys_anywhere_is_not_taken() {
        let link = |name: &str, address: &str, bits: u8| {
            let addresses = vec![Address::new(address.parse().unwrap(), bits)];
            Link { name: name.into(), up: true, addresses, ..Link::default() }
        };
        let links = [
            link("rw0", "2001:db8:100:5::7277", 56),
            link("br-lan", "192.168.1.1", 24),
            link("eth0", "2001:db8:1::5", 64),
            link("eth1", "2001:db8:200::5", 48),
            link("br-lan", "2001:db8:100:6::1", 64),
        ];
        let check =
            |network: &str| check(&LanAddress::first_of(network.parse().unwrap(), "br-lan"), "rw0", &links);
        // The last was given before.
        for good in ["2001:db8:100:5::/64", "2001:db8:1:1::/64", "fd77:0:0:5::/64", "2001:db8:100:6::/64"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, words) in [
            ("2001:db8:1::/64", "of eth0 here (2001:db8:1::5/64)"),
            ("2001:db8:200:9::/64", "of eth1 here"),
            ("fe80::/64", "no network for hosts"),
            ("ff02::/64", "no network for hosts"),
            ("::/64", "no network for hosts"),
        ] {
            let said = check(bad).unwrap_err();
            assert!(said.contains(words), "{bad}: {said}");
        }
    }

    #[test]
    fn advertisements_are_frequent_at_first_and_answers_are_rare() {
        let at = Time::from_secs;
        let mut pace = Pace::new(at(100));
        assert_eq!(pace.due, at(100), "at once");
        for second in [100, 116] {
            pace.sent(1.0, at(second));
            assert_eq!(pace.due, at(second + 16));
        }
        pace.sent(0.0, at(132));
        assert_eq!(pace.due, at(332));
        pace.asked(1.0, at(200));
        assert_eq!(pace.due, at(200) + Duration::from_millis(500));
        pace.sent(1.0, at(201));
        assert_eq!(pace.due, at(801), "and the longest pause");
        for random in [1.0, 0.0] {
            pace.asked(random, at(202));
            assert_eq!(pace.due, at(204), "three seconds after the last");
        }
        pace.asked(0.0, at(203));
        assert_eq!(pace.due, at(204), "one answer for all");
    }
}
