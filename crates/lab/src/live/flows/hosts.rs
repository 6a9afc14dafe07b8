//! Where the ends of flows are.

use std::net::Ipv4Addr;

use crate::live::Lab;
use crate::{Namespace, Result};

/// Machines with namespaces and addresses: a [`Lab`], or a few namespaces of a test.
pub trait Hosts {
    /// The namespace of a machine.
    ///
    /// # Errors
    /// There is no such machine.
    fn namespace(&self, node: &str) -> Result<Namespace>;

    /// The addresses by which the two ends of a flow, each `node` or `node:interface`, call each other: `[of from, of to]`.
    ///
    /// # Errors
    /// There is no such machine or interface.
    fn addresses(&self, from: &str, to: &str) -> Result<[Ipv4Addr; 2]>;

    /// Whether a machine's routes lead to an address.
    fn reaches(&self, node: &str, address: Ipv4Addr) -> bool;

    /// What the kernel calls an interface `node:interface` of the scenario.
    fn device(&self, interface: &str) -> String {
        interface.split_once(':').map_or(interface, |(_, name)| name).to_owned()
    }
}

impl Hosts for Lab {
    fn namespace(&self, node: &str) -> Result<Namespace> {
        Ok(self.node(node)?.namespace().clone())
    }

    fn addresses(&self, from: &str, to: &str) -> Result<[Ipv4Addr; 2]> {
        Lab::addresses(self, from, to)
    }

    fn reaches(&self, node: &str, address: Ipv4Addr) -> bool {
        Lab::reaches(self, node, address)
    }

    fn device(&self, interface: &str) -> String {
        self.device_of(interface).unwrap_or(interface).to_owned()
    }
}
