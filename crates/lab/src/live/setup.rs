//! From a plan to namespaces, devices and what their kernels are told.

use std::fs::File;

use super::node::Node;
use super::plan::{Joint, Plan, Port};
use super::tap;
use crate::Result;
use crate::site::Site;

/// A namespace for each node.
pub(super) fn nodes(plan: &Plan, site: &Site) -> Result<Vec<Node>> {
    let node = |(number, name): (usize, &String)| {
        // A file name for `ip netns`; a scenario may call its nodes what it likes.
        let plain =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        let label = if plain { name.clone() } else { format!("node{number}") };
        let namespace = site.namespace(&label)?;
        namespace.sysctls(&plan.commands[number].sysctls)?;
        Ok(Node::new(name, namespace))
    };
    plan.nodes.iter().enumerate().map(node).collect()
}

/// A device for each interface that is no bridge; for those on air only if the lab has the air.
pub(super) fn devices(plan: &Plan, nodes: &[Node], has_air: bool) -> Result<Vec<Option<File>>> {
    let elsewhere = |port: &Port| !has_air && matches!(port.joint, Joint::Radio(_));
    let device = |port: &Port| match port.is_bridge || elsewhere(port) {
        true => Ok(None),
        false => tap::open(nodes[port.node].namespace(), &port.short).map(Some),
    };
    plan.ports.iter().map(device).collect()
}

/// Addresses, neighbours, routes, bridges, address translation.
pub(super) fn configure(plan: &Plan, nodes: &[Node]) -> Result<()> {
    for (node, commands) in nodes.iter().zip(&plan.commands) {
        node.namespace().ip(&commands.ip)?;
        if !commands.nft.is_empty() {
            node.namespace().feed("nft", &["-f", "-"], &commands.nft)?;
        }
    }
    Ok(())
}
