//! A run: a scenario's world from beginning to end, and the report that it leaves.
//!
//! ```no_run
//! use ropewalk_scenario::Document;
//! use ropewalk_sim::Simulation;
//! use std::path::Path;
//!
//! let document = Document::read(Path::new("scenarios/bench/11a-54-n10.toml")).unwrap();
//! let scenario = document.scenario().unwrap();
//! let mut simulation = Simulation::new(&scenario, &document.directory()).unwrap();
//! while !simulation.advance() {}
//! println!("{:?}", simulation.report().flow[0].goodput_mbps);
//! ```

use crate::build::{Action, BuildError, Built};
use crate::measure::{CaptureError, Snapshot, rows};
use crate::walk::Walks;
use ropewalk_air::Time;
use ropewalk_air::wifi::RadioId;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::report::{Band, Provenance, Report, Series};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Simulated time that [`Simulation::advance`] lets pass at most: often enough for a progress bar and for Ctrl-C.
const SLICE: Duration = Duration::from_millis(100);

/// A scenario that is being simulated.
#[derive(Debug)]
pub struct Simulation {
    built: Built,
    scenario: Scenario,
    end: Time,
    walks: Walks,
    /// What there was at the end of the warm-up; the start, before it is over.
    base: Snapshot,
    warm: bool,
    sampler: Option<Sampler>,
    finished: bool,
}

/// Takes a row of the time series each so often.
#[derive(Debug)]
struct Sampler {
    every: Duration,
    next: Time,
    last: Snapshot,
    series: Series,
}

impl Simulation {
    /// Builds the world of a checked scenario. Files that it names are looked for in `directory`.
    ///
    /// # Errors
    /// What the models refuse, with the scenario's key.
    pub fn new(scenario: &Scenario, directory: &Path) -> Result<Simulation, BuildError> {
        let built = Built::new(scenario, directory)?;
        let base = Snapshot::take(&built);
        let sampler = scenario.measure.interval.filter(|i| !i.is_zero()).map(|every| {
            let columns = rows::series_columns(&rows::tables(&built, scenario, &base, &base));
            let series = Series { interval_s: every.as_secs_f64(), columns, rows: Vec::new() };
            Sampler { every, next: Time::ZERO + every, last: base.clone(), series }
        });
        Ok(Simulation {
            walks: Walks::new(scenario, &built),
            end: Time::ZERO + scenario.duration,
            warm: scenario.warmup.is_zero(),
            scenario: scenario.clone(),
            built,
            base,
            sampler,
            finished: false,
        })
    }

    /// Lets at most a tenth of a second pass, and says whether the end is reached.
    pub fn advance(&mut self) -> bool {
        self.advance_by(SLICE)
    }

    /// Lets at most so much time pass, and says whether the end is reached.
    pub fn advance_by(&mut self, span: Duration) -> bool {
        let slice = (self.now() + span).min(self.end);
        while self.now() < slice || !self.finished && self.is_due() {
            let until = self.next_stop().min(slice);
            self.built.world.run_until(until);
            self.act();
        }
        if self.now() >= self.end && !std::mem::replace(&mut self.finished, true) {
            self.built.world.finish();
        }
        self.finished
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        while !self.advance() {}
    }

    /// Present time of the simulation.
    pub fn now(&self) -> Time {
        self.built.world.net.now
    }

    /// When it ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Events worked through so far.
    pub fn events(&self) -> u64 {
        self.built.world.events()
    }

    /// The world and who is who in it.
    pub fn built(&self) -> &Built {
        &self.built
    }

    /// The same, to be changed: captures are asked for by it.
    pub fn built_mut(&mut self) -> &mut Built {
        &mut self.built
    }

    /// Writes what an interface (`node:interface`) sends and receives to `out` as a pcap file of IP packets, or what a
    /// radio (`node:radio`) that monitors decodes, as one of 802.11 frames with radiotap headers. Ask before the run begins.
    ///
    /// # Errors
    /// There is no such interface or radio, the radio does not monitor, or nothing can be written.
    pub fn capture(&mut self, name: &str, out: Box<dyn Write>) -> Result<(), CaptureError> {
        let net = &mut self.built.world.net;
        if let Some(&interface) = self.built.interfaces.get(name) {
            return net.captures.add_interface(interface, out);
        }
        let Some(radio) = self.built.radios.iter().position(|r| r == name) else {
            return Err(CaptureError::Unknown(name.to_owned()));
        };
        let (node, radio_name) = name.split_once(':').unwrap_or((name, ""));
        let spec = self.scenario.node.get(node).and_then(|n| n.radio.get(radio_name));
        if spec.is_none_or(|r| !r.monitor) {
            return Err(CaptureError::Deaf(name.to_owned()));
        }
        net.captures.add_radio(RadioId(radio as u16), out)
    }

    /// Ends the capture files.
    ///
    /// # Errors
    /// The first thing that could not be written, now or during the run.
    pub fn end_captures(&mut self) -> Result<(), CaptureError> {
        self.built.world.net.captures.end()
    }

    /// Figures from the end of the warm-up until now.
    pub fn report(&self) -> Report {
        let now = Snapshot::take(&self.built);
        let mut report = rows::tables(&self.built, &self.scenario, &self.base, &now);
        let world = &self.built.world;
        report.provenance = Provenance {
            title: self.scenario.title.clone(),
            scenario: self.scenario.hash(),
            seed: self.scenario.seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            duration_s: self.now().as_secs_f64(),
            warmup_s: self.scenario.warmup.as_secs_f64(),
            trace: format!("{:016x}", world.net.trace.hash()),
            events: world.events(),
            ..Provenance::default()
        };
        report.bands = Band::of(&self.scenario);
        report.series = self.sampler.as_ref().map(|s| s.series.clone()).unwrap_or_default();
        report
    }

    /// When something has to be done from outside the world.
    fn next_stop(&self) -> Time {
        let warm = (!self.warm).then_some(Time::ZERO + self.scenario.warmup);
        let sample = self.sampler.as_ref().map(|s| s.next);
        let stops = [self.built.agenda.next(), self.walks.next(), warm, sample];
        stops.into_iter().flatten().min().unwrap_or(Time::NEVER)
    }

    fn is_due(&self) -> bool {
        self.next_stop() <= self.now()
    }

    fn act(&mut self) {
        let now = self.now();
        for step in self.walks.due(now) {
            // A position is finite, which is all that a radio asks of it.
            let _ = self.built.world.net.command_air(step);
        }
        while let Some(action) = self.built.agenda.take(now) {
            self.do_action(action);
        }
        if !self.warm && now >= Time::ZERO + self.scenario.warmup {
            self.warm = true;
            self.built.world.start_measuring();
            self.base = Snapshot::take(&self.built);
        }
        if let Some(sampler) = self.sampler.as_mut().filter(|s| s.next <= now) {
            let snapshot = Snapshot::take(&self.built);
            let tables = rows::tables(&self.built, &self.scenario, &sampler.last, &snapshot);
            rows::add_row(&mut sampler.series, &tables);
            sampler.last = snapshot;
            sampler.next += sampler.every;
        }
    }

    fn do_action(&mut self, action: Action) {
        let world = &mut self.built.world;
        match action {
            Action::Start(endpoint, flow) => {
                if flow != crate::packet::FlowId::NONE {
                    world.flows[flow.0 as usize].started.get_or_insert(world.net.now);
                }
                world.start(endpoint);
            }
            Action::Stop(endpoint) => world.stop(endpoint),
            Action::Cable { cable, up } => world.net.set_cable_up(cable, up),
            Action::Change { cable, rate, delay, loss } => {
                let first = world.net.cables[cable].first;
                for direction in [first, first + 1] {
                    world.net.change_direction(direction, |link, now| {
                        // Values were checked with the scenario; a link that refuses one stays as it is.
                        let _ = rate.clone().map(|r| link.set_rate(now, r));
                        let jitter = link.spec().jitter;
                        delay.into_iter().for_each(|d| link.set_delay(now, d, jitter));
                        let _ = loss.map(|l| link.set_loss(now, l));
                    });
                }
            }
            Action::Air(command) => {
                // Refused is what makes no sense at the moment, such as leaving an access point that was lost: nothing to do.
                let _ = world.net.command_air(*command);
            }
        }
    }
}
