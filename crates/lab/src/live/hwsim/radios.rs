//! Simulated radios for a scenario's: made in a namespace of their own, and moved into their nodes.

use ropewalk_net::hwsim::{Hwsim, NewRadio};
use ropewalk_net::wifi::{self, WifiError};

use crate::live::plan::{Joint, Plan, Port};
use crate::live::prepared::PreparedLab;
use crate::{Namespace, Result};

/// The namespace in which radios are made: no name of a node, which has letters, digits and `-_.`.
const MADE_IN: &str = "+air";

/// The radios, and the socket that is their medium.
pub(super) struct Radios {
    pub(super) hwsim: Hwsim,
    /// Permanent address of each.
    pub(super) addresses: Vec<[u8; 6]>,
    /// Where they were made: other radios of the machine keep the kernel's own medium.
    pub(super) made_in: Namespace,
}

impl Radios {
    /// Makes each radio, moves it into its node, and adds an interface with the scenario's address.
    pub(super) fn make(prepared: &mut PreparedLab) -> Result<Radios> {
        let made_in = prepared.site.namespace(MADE_IN)?;
        let mut hwsim = made_in.run(Hwsim::open)??;
        let addresses: Vec<[u8; 6]> = (0..prepared.plan.radios.len()).map(address).collect();
        for (number, address) in addresses.iter().enumerate() {
            let Some(port) = port_of(&prepared.plan, number) else { continue };
            let name = format!("{}-{number}", prepared.site.name());
            let node = prepared.nodes[port.node].namespace();
            hwsim.new_radio(&NewRadio { name: &name, address: *address })?;
            let radio = made_in.run(|| move_into(&name, node))??;
            node.run(|| wifi::add_station(&port.short, radio))??;
            node.ip(&[format!("link set {} address {}", port.short, port.mac)])?;
        }
        forget_addresses(&mut prepared.plan);
        Ok(Radios { hwsim, addresses, made_in })
    }
}

/// The permanent address of a radio: none of a scenario's or the module's, unique to the process.
fn address(radio: usize) -> [u8; 6] {
    let ([_, a, b, c], [.., d, e]) = (std::process::id().to_be_bytes(), (radio as u32).to_be_bytes());
    [6, a, b, c, d, e]
}

/// The interface of a radio. Each has one, as `refusals` has seen.
fn port_of(plan: &Plan, radio: usize) -> Option<&Port> {
    let iface = plan.radio_of.iter().position(|r| usize::from(r.0) == radio)?;
    plan.ports.get(*plan.on_air.get(iface)?)
}

fn move_into(name: &str, node: &Namespace) -> std::result::Result<u32, WifiError> {
    let all = wifi::Radio::all()?;
    let radio = all.iter().find(|r| r.name == name).ok_or(WifiError::NoWifi)?.number;
    wifi::move_radio(radio, node.as_fd())?;
    Ok(radio)
}

/// Removes the setting of MAC addresses on air: they are set already, and an interface that is up
/// takes none.
fn forget_addresses(plan: &mut Plan) {
    let on_air = plan.ports.iter().filter(|p| matches!(p.joint, Joint::Radio(_)));
    let set: Vec<String> = on_air.map(|p| format!("link set {} address {} ", p.short, p.mac)).collect();
    for command in plan.commands.iter_mut().flat_map(|node| &mut node.ip) {
        if let Some(rest) = set.iter().find_map(|set| command.strip_prefix(set.as_str())) {
            let device = command.split(' ').nth(2).unwrap_or_default();
            *command = format!("link set {device} {rest}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::hwsim::refuse::tests::{CELL, scenario};
    use ropewalk_sim::build::Built;
    use std::path::Path;

    #[test]
    fn an_interface_on_air_is_not_given_an_address_of_layer_2_when_it_is_up() {
        let scenario = scenario(CELL);
        let built = Built::network(&scenario, Path::new(".")).unwrap();
        let mut plan = Plan::new(&scenario, &built);
        let lines = |plan: &Plan, word: &str| {
            plan.commands.iter().flat_map(|n| &n.ip).filter(|line| line.contains(word)).count()
        };
        assert_eq!((lines(&plan, "link set wlan0 address "), lines(&plan, "link set wlan0 mtu ")), (2, 0));
        forget_addresses(&mut plan);
        assert_eq!((lines(&plan, "link set wlan0 address "), lines(&plan, "link set wlan0 mtu ")), (0, 2));
        assert_eq!(port_of(&plan, 1).unwrap().name, "sta:wlan0");
    }

    #[test]
    fn addresses_are_no_groups_and_differ() {
        let all: std::collections::BTreeSet<_> = (0..300).map(address).collect();
        assert!(all.len() == 300 && all.iter().all(|a| a[0] & 3 == 2));
    }
}
