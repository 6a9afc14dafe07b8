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
//! 4. [`Lab::counters`] at the end of the warm-up and at the end; [`Lab::report`] of both gives the tables `station`, `radio`, `interface`, `link`, `bond`
//!    and `path` as the simulator's report has them. `flow` and `subflow` are yours.
//! 5. [`Lab::stop`] ends it and gives the [`Summary`]: how late packets were, and whether the figures may be used. Dropping it cleans up too.
//!
//! A [`Lab`] may be shared between threads by reference. [`Lab::change`] does at once what an event of the file would do.

mod bonds;
mod bunches;
mod capture;
mod counters;
pub mod daemon;
mod engine;
mod ether;
mod feedback;
pub mod flows;
mod forecast;
pub mod hwsim;
mod kernel;
mod node;
mod plan;
mod prepared;
mod radio;
mod run;
mod setup;
mod tap;
mod transport;
mod weighted;

pub use capture::{Capture, Monitor};
pub use counters::Counters;
pub use forecast::Forecast;
pub use node::Node;
pub use run::{Moment, Run, refusals};
pub(crate) use tap::open_monitor;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use std::sync::Arc;

use ropewalk_air::Time;
use ropewalk_air::wifi::Command;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Event, MediumModel, What};
use ropewalk_scenario::report::Report;
use ropewalk_scenario::units::Db;
use ropewalk_sim::BuildError;
use ropewalk_sim::build::{Action, Built};
use ropewalk_sim::net::NodeId;

use crate::realtime::Keeper;
use crate::site::Site;
use crate::{LabError, Lateness, Result, Rounds, Timing};
use bonds::Bonds;
use bunches::Bunches;
use engine::Engine;
use plan::Plan;
use prepared::PreparedLab;

/// How a lab is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where files that the scenario names are looked for: the directory of its file.
    pub directory: PathBuf,
    /// How it keeps time.
    pub timing: Timing,
    /// What was forecast of the load, for the report of a run.
    pub forecast: Option<Forecast>,
}

impl Options {
    /// The usual, for a scenario whose file is in `directory`.
    pub fn new(directory: &Path) -> Options {
        let (spin, rest) = (Duration::from_micros(50), Duration::from_micros(50));
        let timing = Timing { spin, rest, punctual: true, ..Timing::default() };
        Options { directory: directory.to_owned(), timing, forecast: None }
    }
}

/// How a lab kept time.
#[derive(Debug, Clone)]
pub struct Summary {
    /// How late packets were written, after they were due.
    pub lateness: Lateness,
    /// What 99 % of them may be late for the run to count.
    pub bound: Duration,
    /// Where the thread's time went.
    pub rounds: Rounds,
    /// Of the time that was measured, what the thread worked.
    pub load: f64,
}

/// A packet this late means that the lab did not run, however many were in time before and after: flows see an outage that the scenario has not.
const STANDSTILL: Duration = Duration::from_millis(500);

impl Summary {
    /// Why the figures of this run may not be used; none if they may.
    pub fn invalid(&self) -> Option<String> {
        let (p99, longest) = (self.lateness.quantile(0.99), self.lateness.max());
        if longest > STANDSTILL {
            return Some(format!(
                "the lab stood still: a packet was {:.1} s late; the program was stopped, or got no processor",
                longest.as_secs_f64()
            ));
        }
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
    directory: PathBuf,
    plan: Arc<Plan>,
    timing: Timing,
    // The order in which they go: daemons, the thread with its devices, who lets readers in, then the nodes.
    bunches: Bunches,
    bonds: Bonds,
    keeper: Keeper<Engine>,
    doors: feedback::Server,
    nodes: Vec<Node>,
    site: Site,
}

impl Lab {
    /// Makes a checked scenario live. Its seed is [`Scenario::seed`]. Everything is set up when this returns, and packets pass.
    ///
    /// # Errors
    /// What the models refuse, with the scenario's key; what the machine cannot do, with the remedy.
    pub fn start(scenario: &Scenario, options: &Options) -> Result<Lab> {
        PreparedLab::new(scenario, options)?.start(scenario, options)
    }

    /// Starts the scenario's bonds with `program` (the `ropewalk` binary) and waits until each carries a ping.
    ///
    /// # Errors
    /// What the daemons do not do, with its key; what they say when they do not start.
    pub fn start_bonds(&mut self, program: &Path) -> Result<()> {
        if let Some(first) = bonds::refusals(&self.scenario).into_iter().next() {
            return Err(first.into());
        }
        self.bonds = Bonds::start(self, program)?;
        Ok(())
    }

    /// Starts the scenario's bunches with `program` (the `ropewalk` binary) and waits until their
    /// access points are connected.
    ///
    /// # Errors
    /// What the daemons say when they do not start.
    pub fn start_bunches(&mut self, program: &Path) -> Result<()> {
        self.bunches = Bunches::start(self, program)?;
        Ok(())
    }

    /// Switches access points of bunches whose time has come, `elapsed` after the scenario's
    /// beginning; gives the time of the next.
    pub(super) fn switch_bunches(&mut self, elapsed: Duration) -> Result<Option<Duration>> {
        self.bunches.step(elapsed)?;
        Ok(self.bunches.next())
    }

    /// The daemons of the bonds and bunches that run: bond or bunch, node, and state directory of
    /// each.
    pub fn daemons(&self) -> Vec<(&str, &str, &Path)> {
        [self.bonds.states(), self.bunches.states()].concat()
    }

    /// What routes of a node end in, so that they say its congestion control; empty where its default does.
    fn route_suffix(&self, node: &str) -> &str {
        let index = self.plan.nodes.iter().position(|n| n == node);
        index.map_or("", |i| &self.plan.commands[i].route_suffix)
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
    /// simulator. Works the network out anew (milliseconds): ask once.
    ///
    /// # Errors
    /// There is no such node or interface.
    pub fn addresses(&self, from: &str, to: &str) -> Result<[Ipv4Addr; 2]> {
        Ok(self.built()?.addresses(from, to)?)
    }

    /// The address of an interface, `node:interface`.
    ///
    /// # Errors
    /// There is no such interface, or it has none.
    pub fn address_of(&self, interface: &str) -> Result<Ipv4Addr> {
        let port = self.plan.ports.iter().find(|p| p.name == interface);
        let address = port.and_then(|p| p.address).map(|(address, _)| address);
        address.ok_or_else(|| LabError::NoAddress(interface.to_owned()))
    }

    /// The interfaces of a node that have an address, in the scenario's order, devices of bonds that run last: name in the node, and address.
    pub fn interfaces_of(&self, node: &str) -> Vec<(&str, Ipv4Addr)> {
        let mine = self.plan.ports.iter().filter(|p| self.plan.nodes[p.node] == node);
        let own = mine.filter_map(|p| Some((p.short.as_str(), p.address?.0)));
        own.chain(self.bonds.devices_of(node)).collect()
    }

    /// What the kernel calls an interface, `node:interface`; none if there is no such.
    pub fn device_of(&self, interface: &str) -> Option<&str> {
        self.plan.ports.iter().find(|p| p.name == interface).map(|p| p.short.as_str())
    }

    /// Whether a node's routes lead to an address. If those of a flow's `from` do not (address translation hides its `to`), `to` must open
    /// the connection. Works the network out anew.
    pub fn reaches(&self, node: &str, address: Ipv4Addr) -> bool {
        let Ok(built) = self.built() else { return false };
        let net = &built.world.net;
        let reaches = |id: NodeId| net.is_local(id, address) || net.route(id, address, None).is_some();
        built.nodes.get(node).is_some_and(|id| reaches(*id))
    }

    fn needs_802_11(&self, key: &str, sentence: &str) -> Result<()> {
        match self.scenario.medium.model {
            MediumModel::Wifi => Ok(()),
            MediumModel::WeightedFair => Err(BuildError::new(key, sentence).into()),
        }
    }

    /// The simulator's view of the network. It holds what cannot cross threads, so it is not kept.
    fn built(&self) -> Result<Built> {
        Ok(Built::network(&self.scenario, &self.directory)?)
    }

    /// Time zero: events and walks of the scenario happen from now on, and interferers start and stop by it; those from the beginning are there already.
    /// Gives the instant.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn begin(&self) -> Result<Instant> {
        self.keeper.ask(|engine| {
            let now = engine.now();
            engine.zero = Some(now);
            engine.reactor.start() + (now - Time::ZERO)
        })
    }

    /// Does at once what an event of the file would do; its `at` means nothing. A blockage without a duration stays until one of 0 dB.
    ///
    /// # Errors
    /// What it names is not there, or the model refuses it.
    pub fn change(&self, event: &Event) -> Result<()> {
        if !event.what.name().starts_with("link-") {
            self.needs_802_11(
                "event.what",
                "the weighted-fair medium knows nothing of this; change links only",
            )?;
        }
        let built = self.built()?;
        let actions = built.actions(&self.scenario, event)?;
        let mut ends = Vec::new();
        if let Some(duration) = event.duration.filter(|_| event.what == What::Blockage) {
            let gone = Event { loss: Some(Db(0.0)), ..event.clone() };
            ends.extend(built.actions(&self.scenario, &gone)?.into_iter().map(|action| (duration, action)));
        }
        self.keeper.ask(move |engine| {
            let now = Time::ZERO + engine.zero.map_or(Duration::ZERO, |zero| engine.now() - zero);
            ends.into_iter().for_each(|(after, action)| engine.agenda.add(now + after, action));
            actions.into_iter().for_each(|action| engine.perform(action));
        })
    }

    /// Figures count from here: forgets lateness and waits so far. Gives the counters.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn start_measuring(&self) -> Result<Counters> {
        let counters = self.keeper.ask(|engine| {
            engine.start_measuring();
            Counters::take(engine)
        })?;
        Ok(Counters { bonds: self.bonds.counts(), bunches: self.bunches.counts(), ..counters })
    }

    /// All counters now.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn counters(&self) -> Result<Counters> {
        Ok(Counters {
            bonds: self.bonds.counts(),
            bunches: self.bunches.counts(),
            ..self.counters_without_bonds()?
        })
    }

    /// The same without those of bonds and bunches, of which a report has no rows then.
    fn counters_without_bonds(&self) -> Result<Counters> {
        self.keeper.ask(|engine| Counters::take(engine))
    }

    /// The tables `station`, `radio`, `interface`, `link`, `bond`, `path` and `bunch` of what
    /// happened between two times; those of flows are empty.
    pub fn report(&self, from: &Counters, to: &Counters) -> Report {
        let seconds = to.at.saturating_sub(from.at).as_secs_f64();
        let (bond, path) = self.bonds.tables(&from.bonds, &to.bonds, seconds);
        let bunch = self.bunches.table(&from.bunches, &to.bunches, seconds);
        Report { bond, path, bunch, ..to.tables(&self.plan, from) }
    }

    /// What the radio of an interface on air (`node:interface`, or a radio as `node:radio`) decodes, from now on, whoever it is for.
    ///
    /// # Errors
    /// There is no such interface or radio.
    pub fn capture(&self, name: &str) -> Result<Capture> {
        let sentence = "the weighted-fair medium has no frames to hear; see packets with `ropewalk lab exec NODE -- tcpdump -i IFACE`";
        self.needs_802_11("medium.model", sentence)?;
        let radio = capture::radio_of(&self.plan, name).ok_or_else(|| LabError::NotOnAir(name.to_owned()))?;
        let (sender, heard) = std::sync::mpsc::channel();
        let wall = std::time::SystemTime::now();
        let now = self.keeper.ask(move |engine| {
            engine.listen(radio, sender);
            engine.now()
        })?;
        Ok(Capture::new(heard, wall, now))
    }

    /// A monitor interface called `name` in a node, for [`Capture::feed`].
    ///
    /// # Errors
    /// There is no such node, or its kernel refuses the name: there is an interface of this name, say.
    pub fn monitor(&self, node: &str, name: &str) -> Result<Monitor> {
        Monitor::new(self.node(node)?, name)
    }

    /// How late packets were so far.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn lateness(&self) -> Result<Lateness> {
        self.keeper.ask(|engine| engine.lateness.clone())
    }

    /// Ends it: processes in its nodes, devices, namespaces.
    ///
    /// # Errors
    /// The thread was gone already: the figures are worth nothing.
    pub fn stop(self) -> Result<Summary> {
        self.summary()
    }

    /// Switches an interferer of the scenario on or off. One whose `start` is still to come starts at once.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn set_interferer(&self, name: &str, on: bool) -> Result<()> {
        let all = &self.scenario.interferer;
        let known = || all.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(", ");
        let index = all.iter().position(|i| i.name == name);
        let index = index.ok_or_else(|| LabError::NoInterferer { name: name.to_owned(), known: known() })?;
        let command = Command::SetInterferer { interferer: index as u16, on };
        self.keeper.ask(move |engine| engine.perform(Action::Air(Box::new(command))))
    }

    /// Takes everything down while handles are left; they fail from then on.
    pub(crate) fn clean(&self) {
        self.keeper.stop();
        self.doors.stop();
        self.site.clean();
    }

    /// How it kept time so far.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn summary(&self) -> Result<Summary> {
        // On slower air all takes longer, so the same share of it is a longer time.
        let bound = self.timing.bound * u32::from(self.scenario.medium.time_dilation);
        self.keeper.ask(move |engine| {
            let (lateness, rounds) = (engine.lateness.clone(), engine.rounds.clone());
            let measured = (engine.now() - engine.measured_since).as_secs_f64().max(1e-9);
            let load = (rounds.reading.total() + rounds.working.total()).as_secs_f64() / measured;
            Summary { lateness, bound, rounds, load }
        })
    }

    /// The names of its namespaces begin with this: `rw-<process>-<number>`.
    pub fn name(&self) -> &str {
        self.site.name()
    }

    /// Where processes leave their output while it lives.
    pub fn logs(&self) -> &Path {
        self.site.logs()
    }
}

/// Puts starts and stops of interferers on the agenda, whose zero is the run's beginning and not the air's: daemons start between them.
fn hold_interferers(built: &mut Built) {
    let Some((air, _)) = &mut built.air else { return };
    for (number, placed) in air.interferers.iter_mut().enumerate() {
        let mut switch = |at: Time, on: bool| {
            let command = Command::SetInterferer { interferer: number as u16, on };
            built.agenda.add(at, Action::Air(Box::new(command)));
        };
        let spec = &mut placed.spec;
        if spec.start > Time::ZERO {
            switch(std::mem::replace(&mut spec.start, Time::NEVER), true);
        }
        if spec.stop < Time::NEVER {
            switch(std::mem::replace(&mut spec.stop, Time::NEVER), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(late: &[(Duration, u64)]) -> Option<String> {
        let mut lateness = Lateness::default();
        for (late, packets) in late {
            lateness.record_all(*late, *packets);
        }
        let bound = Duration::from_millis(1);
        Summary { lateness, bound, rounds: Rounds::default(), load: 0.0 }.invalid()
    }

    #[test]
    fn a_run_that_was_late_or_stood_still_is_invalid() {
        let usual = (Duration::from_micros(30), 10_000);
        assert_eq!(said(&[usual, (Duration::from_millis(3), 20)]), None);
        assert!(said(&[usual, (Duration::from_millis(3), 200)]).unwrap().contains("did not keep time"));
        // A program that was stopped for 42 s has few packets that were late, and figures that mean nothing.
        assert!(said(&[usual, (Duration::from_secs(42), 1)]).unwrap().contains("stood still"));
    }

    #[test]
    fn interferers_start_and_stop_by_the_clock_of_the_run() {
        let text = "duration = \"9s\"\n[node.a]\nradio.r0 = { standard = \"11a\", channel = 36 }\n\
             interface.wlan0 = { radio = \"r0\", mode = \"ap\", ssid = \"x\" }\n\
             [[interferer]]\nname = \"always\"\nchannel = 36\non = \"1ms\"\noff = \"1ms\"\n\
             [[interferer]]\nname = \"later\"\nchannel = 36\non = \"1ms\"\noff = \"1ms\"\nstart = \"2s\"\nstop = \"5s\"\n";
        let scenario = ropewalk_scenario::Document::parse("test", text).unwrap().scenario().unwrap();
        let mut built = Built::network(&scenario, Path::new(".")).unwrap();
        hold_interferers(&mut built);
        // The air's own clock runs while daemons start: nothing of the later one hangs on it.
        let spans: Vec<_> =
            built.air.unwrap().0.interferers.iter().map(|i| (i.spec.start, i.spec.stop)).collect();
        assert_eq!(spans, [(Time::ZERO, Time::NEVER), (Time::NEVER, Time::NEVER)]);
        let mut switches = Vec::new();
        while let Some(at) = built.agenda.next() {
            if let Some(Action::Air(command)) = built.agenda.take(at)
                && let Command::SetInterferer { interferer, on } = *command
            {
                switches.push((at, interferer, on));
            }
        }
        assert_eq!(switches, [(Time::from_secs(2), 1, true), (Time::from_secs(5), 1, false)]);
    }
}
