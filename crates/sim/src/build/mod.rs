//! From a checked scenario to a world that can run.
//!
//! The checks of crate `scenario` have been passed, so names are known and values possible. What only a model can refuse (a channel that
//! a radio's partner does not share, a trace file that cannot be read) is told with the scenario's own key.

mod air;
mod airtime;
mod bonds;
mod bunches;
mod events;
mod flows;
mod links;
mod nodes;
mod roam;
mod steering;

pub use air::weighted_sources;
pub use events::{Action, Agenda};
pub use flows::{BuiltFlow, FULL_PACKET, PING_PACKET, dscp, segments};
pub use links::link_specs;
pub use steering::{mark_law, steered_stations};

use crate::bunch::Bunch;
use crate::net::NodeId;
use crate::packet::IfIndex;
use crate::seed;
use crate::tunnel::{Bond, BondError};
use crate::world::{Full, World};
use ropewalk_air::wifi::{AirSpec, RadioId};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::Event;
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;

/// Why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key}: {sentence}")]
pub struct BuildError {
    /// The scenario's key, dotted.
    pub key: String,
    /// What is wrong with it, and what to do.
    pub sentence: String,
}

impl BuildError {
    /// Something is wrong with a key.
    pub fn new(key: impl Into<String>, sentence: impl fmt::Display) -> BuildError {
        BuildError { key: key.into(), sentence: sentence.to_string() }
    }
}

/// A world, and who is who in it.
#[derive(Debug)]
pub struct Built {
    /// The world.
    pub world: World,
    /// What the scenario lets happen, in order.
    pub agenda: Agenda,
    /// Nodes by name.
    pub nodes: BTreeMap<String, NodeId>,
    /// Interfaces, bridges' own included, by `node:interface`.
    pub interfaces: BTreeMap<String, IfIndex>,
    /// Names of interfaces, `node:interface`.
    pub names: Vec<String>,
    /// Names of cables.
    pub links: Vec<String>,
    /// Radios as `node:radio`, in the order of the air's.
    pub radios: Vec<String>,
    /// Flows in the scenario's order.
    pub flows: Vec<BuiltFlow>,
    /// Clients of several access points, by their nodes.
    pub roaming: BTreeMap<String, crate::roam::Shared>,
    /// Bonds by name, in the scenario's order.
    pub bonds: Vec<(String, Bond)>,
    /// Bunches, in the scenario's order.
    pub bunches: Vec<Bunch>,
    /// What the air was made of, and its seed; none without radios.
    pub air: Option<(AirSpec, u64)>,
}

impl Built {
    /// Builds the world of a scenario. Trace files are looked for in `directory`.
    ///
    /// # Errors
    /// What the models refuse.
    pub fn new(scenario: &Scenario, directory: &Path) -> Result<Built, BuildError> {
        let mut built = Built::wired(scenario, directory)?;
        bonds::add(&mut built, scenario)?;
        built.world.net.settle();
        nodes::route(&mut built, scenario);
        bonds::route(&mut built, scenario);
        roam::add(&mut built, scenario)?;
        airtime::add(&built, scenario)?;
        bunches::add(&mut built, scenario)?;
        flows::add(&mut built, scenario)?;
        events::add(&mut built, scenario)?;
        Ok(built)
    }

    /// Builds the network alone, with its routes and events, without flows and bonds: what the live lab makes of real parts.
    ///
    /// # Errors
    /// What the models refuse.
    pub fn network(scenario: &Scenario, directory: &Path) -> Result<Built, BuildError> {
        let mut built = Built::wired(scenario, directory)?;
        events::add(&mut built, scenario)?;
        Ok(built)
    }

    fn wired(scenario: &Scenario, directory: &Path) -> Result<Built, BuildError> {
        let mut built = Built {
            world: World::new(),
            agenda: Agenda::default(),
            nodes: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            names: Vec::new(),
            links: Vec::new(),
            radios: Vec::new(),
            flows: Vec::new(),
            roaming: BTreeMap::new(),
            bonds: Vec::new(),
            bunches: Vec::new(),
            air: None,
        };
        nodes::add(&mut built, scenario);
        links::add(&mut built, scenario, directory)?;
        air::add(&mut built, scenario)?;
        // Paths of bonds look for their gateways by the routes that there are without them.
        built.world.net.settle();
        nodes::route(&mut built, scenario);
        Ok(built)
    }

    /// The addresses by which two ends of a flow call each other, each `node` or `node:interface`: unless an interface is named, that of the
    /// interface that leads to the other.
    ///
    /// # Errors
    /// There is no such node or interface.
    pub fn addresses(&self, from: &str, to: &str) -> Result<[Ipv4Addr; 2], BuildError> {
        let ends = flows::addresses(self, "flow", from, to)?;
        Ok([ends[0].1, ends[1].1])
    }

    /// What an event does, at once and for good.
    ///
    /// # Errors
    /// It names what is not there.
    pub fn actions(&self, scenario: &Scenario, event: &Event) -> Result<Vec<Action>, BuildError> {
        events::actions(self, scenario, "event", event)
    }

    /// The seed of a cable's direction, 0 or 1.
    pub fn seed_of_direction(seed: u64, cable: usize, direction: usize) -> u64 {
        seed::of(links::seed_of(seed, cable), "cable", (2 * cable + direction) as u64)
    }

    /// The radios of a node.
    pub fn radios_of<'a>(&'a self, node: &'a str) -> impl Iterator<Item = RadioId> + 'a {
        air::radios_of(self, node)
    }

    /// The client that a flow's subflows follow: a receiver whose stations join and leave.
    fn follows(&self, flow: &ropewalk_scenario::file::Flow) -> Option<crate::roam::Shared> {
        self.roaming.get(&flow.to).filter(|client| client.borrow().moves()).cloned()
    }

    fn interface(&self, key: &str, name: &str) -> Result<IfIndex, BuildError> {
        let found = self.interfaces.get(name).copied();
        found.ok_or_else(|| BuildError::new(key, format!("there is no interface `{name}`")))
    }

    fn node(&self, key: &str, name: &str) -> Result<NodeId, BuildError> {
        let found = self.nodes.get(name).copied();
        found.ok_or_else(|| BuildError::new(key, format!("there is no node `{name}`")))
    }

    fn name_interface(&mut self, node: &str, interface: &str, index: IfIndex) {
        let name = format!("{node}:{interface}");
        self.interfaces.insert(name.clone(), index);
        debug_assert_eq!(self.names.len(), index.0 as usize, "interfaces are named as they are made");
        self.names.push(name);
    }
}

impl From<Full> for BuildError {
    fn from(e: Full) -> BuildError {
        BuildError::new("flow", e)
    }
}

impl From<BondError> for BuildError {
    fn from(e: BondError) -> BuildError {
        BuildError::new("bond", e)
    }
}
