//! Clients of several access points.

use super::{Action, BuildError, Built};
use crate::packet::{FlowId, IfIndex};
use crate::roam::{Client, Driver, Policy, Settings, Shared, Station};
use ropewalk_air::Time;
use ropewalk_air::wifi::IfaceId;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Interface, Join, Mode, NodeSpec, Roam, RoamPolicy};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Most access points at once, if nothing is said (paper 001, §6.3).
const MOST: u16 = 3;
/// From association to an address, if nothing is said.
const LEASE: Duration = Duration::from_secs(1);
/// A scan of eleven channels at 100 ms each, if nothing is said.
const SCAN: Duration = Duration::from_secs(1);

pub(super) fn add(built: &mut Built, scenario: &Scenario) -> Result<(), BuildError> {
    for (name, node) in &scenario.node {
        let Some(roam) = &node.roam else { continue };
        let client: Shared = Rc::new(RefCell::new(client(built, scenario, name, node, roam)?));
        built.world.net.roaming.push(client.clone());
        let at = built.node(&format!("node.{name}"), name)?;
        let driver = built.world.add_endpoint(at, FlowId::NONE, Box::new(Driver::new(client.clone())))?;
        built.agenda.add(Time::ZERO, Action::Start(driver, FlowId::NONE));
        built.roaming.insert(name.clone(), client);
    }
    Ok(())
}

fn client(
    built: &Built,
    scenario: &Scenario,
    name: &str,
    node: &NodeSpec,
    roam: &Roam,
) -> Result<Client, BuildError> {
    let key = format!("node.{name}.roam");
    let mut stations = Vec::new();
    let mut radio = None;
    for (interface, spec) in node.interface.iter().filter(|(_, i)| i.mode == Some(Mode::Station)) {
        let station = on_air(built, &key, &format!("{name}:{interface}"))?;
        let access_point = access_point(built, scenario, &key, spec)?;
        let address = built.world.net.interfaces[station.0.index()].address;
        let address = address.ok_or_else(|| BuildError::new(&key, "a station has no address"))?.0;
        let joined = spec.join == Join::Associated && roam.policy == RoamPolicy::Fixed;
        radio = built.world.net.radios.as_ref().map(|r| r.radio_of_iface(station.1));
        stations.push(Station::new(station, access_point, address, joined));
    }
    let air = built.air.as_ref().map(|(air, _)| air);
    let spec = radio.zip(air).and_then(|(radio, air)| air.radios.get(usize::from(radio.0)));
    let (Some(radio), Some(spec)) = (radio, spec) else {
        return Err(BuildError::new(key, "it has no station"));
    };
    let settings = Settings {
        policy: match roam.policy {
            RoamPolicy::Best => Policy::Best,
            RoamPolicy::Handover => Policy::Handover,
            RoamPolicy::Fixed => Policy::Fixed,
        },
        most: usize::from(roam.most.unwrap_or(MOST)),
        lease: roam.lease.unwrap_or(LEASE),
        scan: roam.scan.unwrap_or(SCAN),
    };
    Ok(Client::new(settings, radio, spec, stations))
}

fn on_air(built: &Built, key: &str, name: &str) -> Result<(IfIndex, IfaceId), BuildError> {
    let index = built.interface(key, name)?;
    let iface = built.world.net.iface_of(index);
    Ok((index, iface.ok_or_else(|| BuildError::new(key, format!("`{name}` is on no radio")))?))
}

/// The access point of a station's network, and the time between its beacons.
fn access_point(
    built: &Built,
    scenario: &Scenario,
    key: &str,
    station: &Interface,
) -> Result<((IfIndex, IfaceId), Duration), BuildError> {
    let serves = |i: &Interface| i.mode == Some(Mode::Ap) && i.ssid == station.ssid;
    let mut all = scenario.node.iter().flat_map(|(node, n)| n.interface.iter().map(move |i| (node, i)));
    let ssid = station.ssid.as_deref().unwrap_or_default();
    let (node, (name, spec)) = all
        .find(|(_, (_, i))| serves(i))
        .ok_or_else(|| BuildError::new(key, format!("no access point has the ssid `{ssid}`")))?;
    let interval = spec.beacon_interval * u32::from(scenario.medium.time_dilation);
    Ok((on_air(built, key, &format!("{node}:{name}"))?, interval))
}
