//! Who hears whom.

use ropewalk_air::wifi::RadioId;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::live::Lab;

/// Radios, where they are, and how strongly they hear each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Radios, in the scenario's order.
    pub radios: Vec<Place>,
    /// Cables: name, and the interfaces at their ends as `node:interface`.
    pub links: Vec<(String, String, String)>,
}

/// A radio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// `node:radio`.
    pub name: String,
    /// Metres.
    pub position: [f64; 3],
    /// Number of its primary channel, and width.
    pub channel: String,
    /// The weakest preamble that it notices, dBm.
    pub sensitivity_dbm: f64,
    /// The others on its channel.
    pub hears: Vec<Heard>,
    /// The radios of its access points or stations.
    pub joined: Vec<String>,
}

/// How a radio hears another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// The other, as `node:radio`.
    pub name: String,
    /// Received power without fading, dBm.
    pub dbm: f64,
}

impl Map {
    pub(super) fn of(lab: &Lab) -> Result<Map> {
        let plan = &lab.plan;
        let links = plan
            .links
            .iter()
            .map(|(name, [a, b])| (name.clone(), plan.ports[*a].name.clone(), plan.ports[*b].name.clone()));
        let names = plan.radios.clone();
        let radios = lab.keeper.ask(move |engine| {
            let Some(radios) = &engine.radios else { return Vec::new() };
            let place = |(i, name): (usize, &String)| {
                let me = RadioId(i as u16);
                let heard = names.iter().enumerate().filter(|(j, _)| *j != i);
                let heard = heard.filter_map(|(j, name)| {
                    let dbm = radios.air.received_dbm(RadioId(j as u16), me)?;
                    Some(Heard { name: name.clone(), dbm })
                });
                let spec = radios.air.radio_spec(me)?;
                Some(Place {
                    name: name.clone(),
                    position: spec.position,
                    channel: radios.channel(i),
                    sensitivity_dbm: spec.preamble_min_dbm,
                    hears: heard.collect(),
                    joined: radios.joined(me).into_iter().map(|r| names[usize::from(r.0)].clone()).collect(),
                })
            };
            names.iter().enumerate().filter_map(place).collect()
        })?;
        Ok(Map { radios, links: links.collect() })
    }
}
