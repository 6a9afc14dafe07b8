//! Answering for addresses of others: neighbour proxies (RFC 4389 §4.1 has the idea,
//! `ip-neighbour(8)` the kernel's entries).
//!
//! A network that is on a link of this machine, and not routed to it, has its addresses asked for
//! there one by one. The kernel answers for those that it has an entry for.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv6Addr;

use ipnet::Ipv6Net;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use super::{Change, Journal, SetupError, sysctl};
use crate::links;
use crate::netlink::Netlink;

/// Entries of an interface for addresses of a network. The journal has these two, by which all
/// entries are found again: it must not grow with every client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourProxies {
    /// The interface at which others ask.
    pub interface: String,
    /// The network.
    pub network: Ipv6Net,
}

/// Gets ready to answer at an interface for addresses of a network; none are answered for so far.
///
/// # Errors
/// There is no such interface, it is on the very network, or the kernel refuses.
pub fn prepare_answers(journal: &mut Journal, proxies: &NeighbourProxies) -> Result<(), SetupError> {
    let NeighbourProxies { interface, network } = proxies;
    let links = links::list().map_err(|e| SetupError::system("listing interfaces", io::Error::other(e)))?;
    let link = links.iter().find(|l| l.name == *interface);
    let link = link.ok_or_else(|| SetupError::NoInterface(interface.clone()))?;
    for address in &link.addresses {
        let around = ipnet::IpNet::new(address.ip, address.prefix_len).ok();
        let Some(ipnet::IpNet::V6(around)) = around.filter(|n| n.prefix_len() < n.max_prefix_len()) else {
            continue;
        };
        // Two routes to one network: half of the clients would be looked for at the interface.
        if network.contains(&around.trunc()) {
            return Err(SetupError::SameNetwork { interface: interface.clone(), network: around.trunc() });
        }
    }
    journal.make(Change::NeighbourProxies(proxies.clone()))?;
    // The second is for questions to an address itself, which come to be forwarded first
    // (net/ipv6/ip6_output.c, `ip6_forward`).
    sysctl::plan(journal, format!("ipv6/conf/{interface}/proxy_ndp"), "1")?;
    sysctl::plan(journal, "ipv6/conf/all/proxy_ndp".into(), "1")
}

/// Which addresses are answered for now, as far as that is known.
#[derive(Debug)]
pub struct Answers {
    proxies: NeighbourProxies,
    /// The interface's index when they were made: they go with it.
    index: Option<u32>,
    stand: BTreeSet<Ipv6Addr>,
}

impl Answers {
    /// None is answered for so far, or it is not known.
    pub fn new(proxies: NeighbourProxies) -> Answers {
        Answers { proxies, index: None, stand: BTreeSet::new() }
    }

    /// Answers for `addresses` of the network, and for no others. The kernel is asked for those
    /// that stand where the interface is another, or `anew`.
    ///
    /// # Errors
    /// The interface is gone, or the kernel refuses; some may be answered for then.
    pub fn keep(&mut self, addresses: &BTreeSet<Ipv6Addr>, anew: bool) -> Result<(), SetupError> {
        let failed = |e| SetupError::system(format!("answering neighbours at {}", self.proxies.interface), e);
        let index = self.proxies.index()?;
        let index = index.ok_or_else(|| SetupError::NoInterface(self.proxies.interface.clone()))?;
        let mut netlink = Netlink::open().map_err(failed)?;
        if anew || self.index != Some(index) {
            self.stand = self.proxies.entries(&mut netlink, index).map_err(failed)?;
        }
        // Until all is done it is not known what stands.
        self.index = None;
        for address in self.stand.difference(addresses) {
            remove(&mut netlink, index, *address).map_err(failed)?;
        }
        for address in addresses.difference(&self.stand) {
            let message = RouteNetlinkMessage::NewNeighbour(entry(index, Some(*address)));
            netlink.change(message, NLM_F_CREATE | NLM_F_REPLACE).map_err(failed)?;
        }
        (self.index, self.stand) = (Some(index), addresses.clone());
        Ok(())
    }

    /// The interface went, or another of its name came, since the last time: nobody is answered
    /// for.
    pub fn are_lost(&self) -> bool {
        !self.proxies.index().is_ok_and(|now| now.is_some() && now == self.index)
    }
}

impl NeighbourProxies {
    /// Entries come one by one; there is nothing to do before.
    pub(super) fn add(&self) -> Result<(), SetupError> {
        Ok(())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        // They went with the interface.
        if self.index()?.is_none() {
            return Ok(());
        }
        Answers::new(self.clone()).keep(&BTreeSet::new(), true)
    }

    fn index(&self) -> Result<Option<u32>, SetupError> {
        let links =
            links::list().map_err(|e| SetupError::system("listing interfaces", io::Error::other(e)))?;
        Ok(links.iter().find(|l| l.name == self.interface).map(|l| l.index))
    }

    /// The entries that there are.
    fn entries(&self, netlink: &mut Netlink, index: u32) -> io::Result<BTreeSet<Ipv6Addr>> {
        let all = netlink.dump(RouteNetlinkMessage::GetNeighbour(entry(index, None)))?;
        let own = all.iter().filter_map(|message| match message {
            // Old kernels tell of all interfaces, whichever is named.
            RouteNetlinkMessage::NewNeighbour(m) if m.header.ifindex == index => address(m),
            _ => None,
        });
        Ok(own.filter(|a| self.network.contains(a)).collect())
    }
}

fn remove(netlink: &mut Netlink, index: u32, address: Ipv6Addr) -> io::Result<()> {
    match netlink.change(RouteNetlinkMessage::DelNeighbour(entry(index, Some(address))), 0) {
        Err(e) if e.raw_os_error() != Some(libc::ENOENT) => Err(e),
        _ => Ok(()),
    }
}

fn entry(index: u32, address: Option<Ipv6Addr>) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Inet6;
    message.header.ifindex = index;
    message.header.flags = NeighbourFlags::Proxy;
    message.attributes.extend(address.map(|a| NeighbourAttribute::Destination(NeighbourAddress::Inet6(a))));
    message
}

/// Whom a proxy's entry is for.
fn address(message: &NeighbourMessage) -> Option<Ipv6Addr> {
    if !message.header.flags.contains(NeighbourFlags::Proxy) {
        return None;
    }
    message.attributes.iter().find_map(|a| match a {
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => Some(*address),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_the_kernel_met_are_no_proxies() {
        let one = "2001:db8::2".parse().unwrap();
        let mut message = entry(7, Some(one));
        assert_eq!(address(&message), Some(one));
        message.header.flags = NeighbourFlags::empty();
        assert_eq!(address(&message), None);
        assert_eq!(address(&entry(7, None)), None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let network = "2001:db8::/112".parse().unwrap();
        let proxies = NeighbourProxies { interface: "none-such".into(), network };
        let mut answers = Answers::new(proxies.clone());
        let error = answers.keep(&BTreeSet::new(), false).unwrap_err();
        assert!(matches!(&error, SetupError::NoInterface(name) if name == "none-such"), "{error}");
        assert!(answers.are_lost());
        proxies.delete().unwrap();
    }
}
