//! What a receiver that steers knows of its access points.

use super::{BuildError, Built};
use crate::app::{Steered, Steering};
use crate::roam::Station;
use crate::seed;
use ropewalk_roam::mark::Law;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{self, Flow, Interface, MarkLaw, Mode, Radio};
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
    let law = mark_law(steering);
    let seed = seed::of(seed, "steering", 0);
    if let Some(client) = built.roaming.get(name) {
        let steered = |s: &Station| Steered { address: s.address, packet_time: None };
        let stations: Vec<Steered> = client.borrow().stations().iter().map(steered).collect();
        let steered = Steering::new(&stations, law, steering.priority, seed);
        return Ok(Some(steered.measured_by(client.clone()).heeds_fading(steering.fade)));
    }
    let steered = |(interface, packet_time): (String, Duration)| {
        let index = built.interface(&key, &interface)?;
        let address = built.world.net.interfaces[index.index()].address.map(|a| a.0);
        Ok::<_, BuildError>(address.map(|address| Steered { address, packet_time: Some(packet_time) }))
    };
    let stations = steered_stations(scenario, flow)?.into_iter().map(steered);
    let stations: Vec<Steered> = stations.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok(Some(Steering::new(&stations, law, steering.priority, seed)))
}

/// The equation of a flow's marks, if there are any.
pub fn mark_law(steering: &file::Steering) -> Option<Law> {
    steering.marks.map(|law| match law {
        MarkLaw::Corrected => Law::Corrected,
        MarkLaw::Printed => Law::Printed,
    })
}

/// The stations of a flow's receiver that it steers by, as `node:interface`, with the packet times
/// that the medium is given.
///
/// # Errors
/// It is no station of two or more access points, all of one channel.
pub fn steered_stations(scenario: &Scenario, flow: &Flow) -> Result<Vec<(String, Duration)>, BuildError> {
    let name = flow.to.split(':').next().unwrap_or(&flow.to);
    let mut by_channel: BTreeMap<u16, Vec<(String, Duration)>> = BTreeMap::new();
    for (interface, spec) in scenario.node.get(name).into_iter().flat_map(|node| &node.interface) {
        let Some((channel, Some(packet_time))) = access_point(scenario, spec) else { continue };
        by_channel.entry(channel).or_default().push((format!("{name}:{interface}"), packet_time));
    }
    let stations = by_channel.pop_first().map(|(_, stations)| stations).unwrap_or_default();
    if stations.len() < 2 || !by_channel.is_empty() {
        let sentence = "this takes a receiver that is a station of two or more access points, all of one channel; take it out";
        return Err(BuildError::new(format!("flow.{}.steering", flow.name), sentence));
    }
    Ok(stations)
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
