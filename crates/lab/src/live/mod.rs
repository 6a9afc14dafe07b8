//! Scenarios on real kernels: any scenario file, live.
//!
//! ```text
//!   node "sta" (a namespace)            one real-time thread                  node "ap" (a namespace)
//!  ┌──────────────────────┐      ┌──────────────────────────────┐      ┌──────────────────────────┐
//!  │ programs   kernel    │      │  air::wifi::Air              │      │ kernel     kernel        │
//!  │ (iperf3…)  TCP  wlan0┼─TAP──┤  (all radios, all channels)  ├─TAP──┼─wlan0  IP    eth0 ┐      │
//!  └──────────────────────┘      │  air::wired::Link per way    │      │       NAT, bridge │      │
//!                                └──────────────────────────────┘      └───────────────────┼──────┘
//! ```
//! # For who writes traffic
//! 1. [`Lab::start`] makes nodes, devices, addresses, routes and address translation as the simulator has them, and the thread. Packets pass from
//!    now on; the scenario's events wait.
//! 2. [`Lab::node`] gives a [`Node`]; [`Node::enter`] runs a closure inside (sockets made there stay there), [`Node::spawn`] a thread,
//!    [`Node::command`] a program. [`Lab::addresses`] says by which addresses two ends of a flow call each other, [`Lab::reaches`] who must open the
//!    connection.
//! 3. [`Lab::begin`] is time zero of the run: events and walks happen from then on. Start flows by the same [`Instant`].
//! 4. [`Lab::counters`] at the end of the warm-up and at the end; [`Lab::report`] of both gives the tables `station`, `radio`, `interface` and `link` as
//!    the simulator's report has them. `flow` and `subflow` are yours.
//! 5. [`Lab::stop`] ends it and gives the [`Summary`]: how late packets were, and whether the figures may be used. Dropping it cleans up too.
//!
//! A [`Lab`] may be shared between threads by reference. [`Lab::change`] does at once what an event of the file would do.

pub mod flows;
mod node;

pub use node::Node;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::Event;
use ropewalk_scenario::report::Report;
use ropewalk_sim::build::Built;

use crate::{LabError, Lateness, Result, Timing, Topology};

/// How a lab is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where files that the scenario names are looked for: the directory of its file.
    pub directory: PathBuf,
    /// How it keeps time.
    pub timing: Timing,
}

impl Options {
    /// The usual, for a scenario whose file is in `directory`.
    pub fn new(directory: &Path) -> Options {
        let timing = Timing { rest: Duration::from_micros(50), ..Timing::default() };
        Options { directory: directory.to_owned(), timing }
    }
}

/// All counters at one time: figures of a span are differences of two.
#[derive(Debug, Clone)]
pub struct Counters {
    /// Time since [`Lab::begin`]; zero before.
    pub at: Duration,
}

/// How a lab kept time.
#[derive(Debug, Clone)]
pub struct Summary {
    /// How late packets were written, after they were due.
    pub lateness: Lateness,
    /// What 99 % of them may be late for the run to count.
    pub bound: Duration,
}

impl Summary {
    /// Why the figures of this run may not be used; none if they may.
    pub fn invalid(&self) -> Option<String> {
        let p99 = self.lateness.quantile(0.99);
        (!self.lateness.is_within(self.bound)).then(|| {
            format!(
                "the lab did not keep time: 99 % of packets were up to {:.0} µs late, more than {:.0} µs; the scenario is too fast for this machine, \
                 or the machine was busy",
                p99.as_secs_f64() * 1e6,
                self.bound.as_secs_f64() * 1e6
            )
        })
    }
}

/// A scenario that is live.
pub struct Lab {
    scenario: Scenario,
    built: Built,
    nodes: Vec<Node>,
    topology: Topology,
    timing: Timing,
}

impl Lab {
    /// Makes a checked scenario live. Its seed is [`Scenario::seed`].
    ///
    /// # Errors
    /// What the models refuse, with the scenario's key; what the machine cannot do, with the remedy.
    pub fn start(scenario: &Scenario, options: &Options) -> Result<Lab> {
        let built = Built::network(scenario, &options.directory)?;
        let topology = Topology::with(options.timing)?;
        let nodes = scenario.node.keys().map(|name| Ok(Node::new(name, topology.namespace(name)?)));
        let nodes = nodes.collect::<Result<_>>()?;
        Ok(Lab { scenario: scenario.clone(), built, nodes, topology, timing: options.timing })
    }

    /// The scenario that is live.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// All nodes, in the scenario's order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node by name.
    ///
    /// # Errors
    /// There is none.
    pub fn node(&self, name: &str) -> Result<&Node> {
        let found = self.nodes.iter().find(|n| n.name() == name);
        found.ok_or_else(|| LabError::NoNode {
            name: name.to_owned(),
            known: self.nodes.iter().map(Node::name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The addresses by which the two ends of a flow, each `node` or `node:interface`, call each other: `[of from, of to]`, as in the
    /// simulator.
    ///
    /// # Errors
    /// There is no such node or interface.
    pub fn addresses(&self, from: &str, to: &str) -> Result<[Ipv4Addr; 2]> {
        Ok(self.built.addresses(from, to)?)
    }

    /// Whether a node's routes lead to an address. If those of a flow's `from` do not (address translation hides its `to`), `to` must open
    /// the connection.
    pub fn reaches(&self, node: &str, address: Ipv4Addr) -> bool {
        let id = self.built.nodes.get(node);
        id.is_some_and(|id| {
            self.built.world.net.is_local(*id, address)
                || self.built.world.net.route(*id, address, None).is_some()
        })
    }

    /// Time zero: events and walks of the scenario happen from now on. Gives the instant.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn begin(&self) -> Result<Instant> {
        Ok(Instant::now())
    }

    /// Does at once what an event of the file would do; its `at` means nothing.
    ///
    /// # Errors
    /// What it names is not there, or the model refuses it.
    pub fn change(&self, _event: &Event) -> Result<()> {
        Ok(())
    }

    /// All counters now.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn counters(&self) -> Result<Counters> {
        Ok(Counters { at: Duration::ZERO })
    }

    /// The tables `station`, `radio`, `interface` and `link` of what happened between two times.
    pub fn report(&self, _from: &Counters, _to: &Counters) -> Report {
        Report::default()
    }

    /// How late packets were so far.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn lateness(&self) -> Result<Lateness> {
        self.topology.lateness()
    }

    /// Ends it: processes in its nodes, devices, namespaces.
    ///
    /// # Errors
    /// The thread was gone already: the figures are worth nothing.
    pub fn stop(self) -> Result<Summary> {
        Ok(Summary { lateness: self.lateness()?, bound: self.timing.bound })
    }
}
