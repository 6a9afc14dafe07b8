//! A lab whose namespaces are there and whose devices are not: `hwsim` adds its radios here.

use std::sync::Arc;

use ropewalk_scenario::Scenario;
use ropewalk_sim::build::Built;
use rustix::event::{EventfdFlags, eventfd};

use super::bonds::Bonds;
use super::bunches::Bunches;
use super::engine::Engine;
use super::feedback::{self, Readers};
use super::node::Node;
use super::plan::Plan;
use super::{Lab, Options, hold_interferers, setup, transport};
use crate::realtime::Keeper;
use crate::site::Site;
use crate::{LabError, Result};

/// Namespaces, and what is to be set up in them.
pub(super) struct PreparedLab {
    /// Without its air, if the radios are others: no devices are made for interfaces on air then.
    pub(super) built: Built,
    pub(super) plan: Plan,
    pub(super) nodes: Vec<Node>,
    pub(super) site: Site,
}

impl PreparedLab {
    pub(super) fn new(scenario: &Scenario, options: &Options) -> Result<PreparedLab> {
        if let Some(first) = transport::refusals(scenario).into_iter().next() {
            return Err(first.into());
        }
        let mut built = Built::network(scenario, &options.directory)?;
        hold_interferers(&mut built);
        let plan = Plan::new(scenario, &built);
        let site = Site::new()?;
        let nodes = setup::nodes(&plan, &site)?;
        Ok(PreparedLab { built, plan, nodes, site })
    }

    /// Devices, the thread, addresses, routes.
    pub(super) fn start(self, scenario: &Scenario, options: &Options) -> Result<Lab> {
        let PreparedLab { built, plan, nodes, site } = self;
        let (plan, has_air) = (Arc::new(plan), built.air.is_some());
        let devices = setup::devices(&plan, &nodes, has_air)?;
        let (joins, joining) = std::sync::mpsc::channel();
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = Arc::new(bell.map_err(LabError::kernel("make an eventfd"))?);
        let readers = Readers::new(joining, Arc::clone(&bell));
        let keeper = Keeper::start(site.name(), options.timing, |reactor| {
            Engine::new(reactor, &plan, scenario, &built, devices, readers)
        })?;
        let doors = if has_air { feedback::sockets(&plan, &nodes)? } else { Vec::new() };
        let doors = feedback::Server::start(site.name(), doors, joins, bell)?;
        setup::configure(&plan, &nodes)?;
        let (scenario, directory) = (scenario.clone(), options.directory.clone());
        let (bonds, bunches, timing) = (Bonds::default(), Bunches::default(), options.timing);
        Ok(Lab { scenario, directory, plan, timing, bunches, bonds, keeper, doors, nodes, site })
    }
}
