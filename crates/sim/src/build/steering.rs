//! What a receiver that steers knows of its access points.

use super::{BuildError, Built};
use crate::app::{Steered, Steering};
use crate::roam::Station;
use crate::seed;
use ropewalk_roam::mark::Law;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Flow, Interface, MarkLaw, Mode, Radio};
use std::collections::BTreeMap;
use std::time::Duration;

/// How a flow's receiver steers, if it does.
pub(super) fn of(
    built: &Built,
    scenario: &Scenario,
    flow: &Flow,
    seed: u64,
) -> Result<Option<Steering>, BuildError> {
    let Some(steering) = &flow.steering else { return Ok(None) };
    let name = flow.to.split(':').next().unwrap_or(&flow.to);
    let key = format!("flow.{}.steering", flow.name);
    let law = steering.marks.map(|law| match law {
        MarkLaw::Corrected => Law::Corrected,
        MarkLaw::Printed => Law::Printed,
    });
    let seed = seed::of(seed, "steering", 0);
    if let Some(client) = built.roaming.get(name) {
        let steered = |s: &Station| Steered { address: s.address, packet_time: None };
        let stations: Vec<Steered> = client.borrow().stations().iter().map(steered).collect();
        let steered = Steering::new(&stations, law, steering.priority, seed);
        return Ok(Some(steered.measured_by(client.clone()).heeds_fading(steering.fade)));
    }
    let mut by_channel: BTreeMap<u16, Vec<Steered>> = BTreeMap::new();
    for (interface, spec) in scenario.node.get(name).into_iter().flat_map(|node| &node.interface) {
        let Some((channel, Some(packet_time))) = access_point(scenario, spec) else { continue };
        let index = built.interface(&key, &format!("{name}:{interface}"))?;
        let address = built.world.net.interfaces[index.index()].address.map(|a| a.0);
        let steered = address.map(|address| Steered { address, packet_time: Some(packet_time) });
        by_channel.entry(channel).or_default().extend(steered);
    }
    let stations = by_channel.pop_first().map(|(_, stations)| stations).unwrap_or_default();
    if stations.len() < 2 || !by_channel.is_empty() {
        let sentence = "this takes a receiver that is a station of two or more access points, all of one channel; take it out";
        return Err(BuildError::new(key, sentence));
    }
    Ok(Some(Steering::new(&stations, law, steering.priority, seed)))
}

/// Channel of a station's access point, and its packet time where the medium is given it.
pub(super) fn access_point(scenario: &Scenario, station: &Interface) -> Option<(u16, Option<Duration>)> {
    if station.mode != Some(Mode::Station) {
        return None;
    }
    let serves = |i: &&Interface| i.mode == Some(Mode::Ap) && i.ssid == station.ssid;
    scenario.node.values().find_map(|node| {
        let radio: &Radio =
            node.interface.values().find(serves)?.radio.as_ref().and_then(|r| node.radio.get(r))?;
        Some((radio.channel, radio.packet_time))
    })
}
