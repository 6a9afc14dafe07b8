//! What a client changes on its machine once it is connected.

use ipnet::IpNet;
use ropewalk_bond::session::Accept;
use ropewalk_net::links::Link;
use ropewalk_net::setup::{DeviceConfig, Journal, Routes, SetupError, configure, reverse_path};
use ropewalk_net::tun::Tun;
use ropewalk_net::{dns, setup};
use std::net::IpAddr;

/// Packets that wait in the device for us; super-packets count as one.
const DEVICE_QUEUE: u32 = 500;

/// Addresses, routes and the resolver.
#[derive(Debug)]
pub struct Network {
    journal: Journal,
    routes: Routes,
    wanted: Vec<IpNet>,
    dns: Vec<IpAddr>,
    addresses: Vec<IpNet>,
    mtu: u32,
}

impl Network {
    /// Nothing is changed yet.
    pub fn new(journal: Journal, tun: &Tun, wanted: Vec<IpNet>, dns: Vec<IpAddr>, mtu: u32) -> Network {
        Network { journal, routes: Routes::new(tun.index()), wanted, dns, addresses: Vec::new(), mtu }
    }

    /// The gateway let us in: the device gets its addresses, and the routes lead into it.
    pub fn connect(&mut self, tun: &Tun, accept: &Accept, links: &[Link]) -> Result<(), SetupError> {
        let addresses = addresses(accept);
        if addresses == self.addresses {
            return Ok(());
        }
        let first = self.addresses.is_empty();
        for gone in self.addresses.iter().filter(|a| !addresses.contains(a)) {
            setup::remove_address(tun.index(), *gone)?;
        }
        configure(&DeviceConfig {
            index: tun.index(),
            name: tun.name(),
            mtu: self.mtu,
            queue: Some(DEVICE_QUEUE),
            addresses: &addresses,
        })?;
        self.addresses = addresses;
        if first {
            for network in &self.wanted {
                self.routes.add(&mut self.journal, *network)?;
            }
            self.follow(links);
            if !self.dns.is_empty() {
                dns::set(&mut self.journal, tun.name(), &self.dns)?;
            }
        }
        Ok(())
    }

    /// Other networks than before go through the bond.
    pub fn set_routes(&mut self, wanted: &[IpNet]) -> Result<(), SetupError> {
        let old = std::mem::replace(&mut self.wanted, wanted.to_vec());
        if self.addresses.is_empty() {
            return Ok(());
        }
        for gone in old.iter().filter(|n| !wanted.contains(n)) {
            self.routes.remove(&mut self.journal, *gone)?;
        }
        wanted.iter().filter(|n| !old.contains(n)).try_for_each(|n| self.routes.add(&mut self.journal, *n))
    }

    /// Answers of this machine to those who reach it by these interfaces leave as before.
    pub fn follow(&mut self, links: &[Link]) {
        for address in links.iter().flat_map(|l| &l.addresses).filter(|a| a.usable) {
            if let Err(error) = self.routes.keep_replies(&mut self.journal, address.ip) {
                tracing::warn!(address = %address.ip, "{error}");
            }
        }
    }

    /// The address is no longer this machine's.
    pub fn forget(&mut self, address: IpAddr) {
        if let Err(error) = self.routes.forget_replies(&mut self.journal, address) {
            tracing::warn!(%address, "{error}");
        }
    }

    /// A path goes by this interface: answers have to get in by it.
    pub fn admit_answers(&mut self, interface: &str) {
        if let Err(error) = reverse_path(&mut self.journal, interface) {
            tracing::warn!(
                interface,
                "{error}: answers on this path may be dropped by the kernel's reverse path filter"
            );
        }
    }

    /// The addresses inside.
    pub fn addresses(&self) -> &[IpNet] {
        &self.addresses
    }

    /// Takes everything back.
    pub fn restore(self) -> Result<(), SetupError> {
        self.journal.restore()
    }
}

/// A gateway without IPv4 inside says so with zeros.
fn addresses(accept: &Accept) -> Vec<IpNet> {
    let v4 = Some(accept.ipv4).filter(|v4| !v4.client.is_unspecified());
    let v4 = v4.and_then(|v4| IpNet::new(v4.client.into(), v4.prefix).ok());
    let v6 = accept.ipv6.and_then(|v6| IpNet::new(v6.client.into(), v6.prefix).ok());
    v4.into_iter().chain(v6).collect()
}
