//! What clients of bonds know of the air under their paths.

use super::{BuildError, Built, steering};
use crate::tunnel::AirSource;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Bond, MediumModel};

/// After bonds and clients of several access points are there.
pub(super) fn add(built: &Built, scenario: &Scenario) -> Result<(), BuildError> {
    for (i, (name, bond)) in scenario.bond.iter().enumerate().filter(|(_, (_, b))| b.airtime) {
        let Some((_, made)) = built.bonds.get(i) else { continue };
        let mut known = 0;
        for (position, channel, source) in sources(built, scenario, bond)? {
            made.air.borrow_mut().add(position, channel, source);
            known += 1;
        }
        if known < 2 {
            let sentence =
                "fewer than two of its paths are stations whose packet times are known; take this out";
            return Err(BuildError::new(format!("bond.{name}.airtime"), sentence));
        }
    }
    Ok(())
}

/// Of each path that begins at a station: its position, its channel, and who knows its packet time.
fn sources(
    built: &Built,
    scenario: &Scenario,
    bond: &Bond,
) -> Result<Vec<(usize, u8, AirSource)>, BuildError> {
    let Some(node) = scenario.node.get(&bond.client) else { return Ok(Vec::new()) };
    let measured = scenario.medium.model == MediumModel::Wifi;
    let client = built.roaming.get(&bond.client).filter(|_| measured);
    let mut all = Vec::new();
    for (position, path) in bond.paths.iter().enumerate() {
        let Some(spec) = node.interface.get(&path.interface) else { continue };
        let Some((channel, given)) = steering::access_point(scenario, spec) else { continue };
        let index = built.interface("bond", &format!("{}:{}", bond.client, path.interface))?;
        let address = built.world.net.interfaces[index.index()].address.map(|a| a.0);
        let source = match client {
            Some(client) => address.map(|address| AirSource::Measured(client.clone(), address)),
            None => given.map(AirSource::Given),
        };
        // Channels' numbers end at 233.
        let channel = u8::try_from(channel).unwrap_or(u8::MAX);
        all.extend(source.map(|source| (position, channel, source)));
    }
    Ok(all)
}
