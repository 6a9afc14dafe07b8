//! What the thread drives: devices, cables, the air, and what the scenario lets happen.
//!
//! ```text
//!  device ──▶ read ──▶ pieces ──▶ transmit ──▶ cable or air ──▶ arrive ──▶ runs of pieces ──▶ flush ──▶ device
//!                                     ▲            (access points pass on what is for their stations)
//!                                     └────────────────┘
//! ```

use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use ropewalk_air::Time;
use ropewalk_air::wifi::{Command, RadioId};
use ropewalk_air::wired::{self, Link};
use ropewalk_scenario::Scenario;
use ropewalk_sim::build::{Action, Agenda, Built, weighted_sources};
use ropewalk_sim::measure::{LinkCounts, Spans};
use ropewalk_sim::net::IfCounters;
use ropewalk_sim::walk::Walks;

use super::capture::Heard;
use super::ether::{Frame, LONGEST, Piece, Train};
use super::feedback::Readers;
use super::plan::{Joint, Plan};
use super::radio::Radios;
use crate::lateness::Lateness;
use crate::realtime::{Driven, Reactor};
use crate::rounds::Rounds;
use crate::{LabError, Result};

/// What is read from one device before the next has its turn: less than 100 µs of work.
const READ_FRAMES: usize = 64;
const READ_BYTES: usize = 256 * 1024;
/// The mark of the bell that rings when somebody wants to read what a radio tells; devices are counted from 0.
const JOINING: u64 = 1 << 32;
/// Long buffers kept for the next frames; more are given back to the allocator.
const SPARE_BUFFERS: usize = 256;

/// A device, and what waits to be written to it.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) file: Option<File>,
    pub(super) counters: IfCounters,
    waiting: Train,
    /// When the first piece that waits was due, and how many there are.
    due: Time,
    pieces: u64,
}

/// A direction of a cable.
pub(super) struct Way {
    pub(super) link: Link<Piece>,
    pub(super) to: usize,
    pub(super) wait_ns: u64,
    pub(super) wait: Spans,
}

/// Everything the thread owns.
pub(super) struct Engine {
    pub(super) reactor: Arc<Reactor>,
    pub(super) plan: Arc<Plan>,
    pub(super) devices: Vec<Device>,
    pub(super) ways: Vec<Way>,
    pub(super) radios: Option<Radios>,
    pub(super) agenda: Agenda,
    pub(super) walks: Walks,
    /// When the run began, if it has.
    pub(super) zero: Option<Time>,
    pub(super) lateness: Lateness,
    pub(super) rounds: Rounds,
    pub(super) measured_since: Time,
    /// Runs that the kernel did not take: an interface that is down.
    pub(super) refused: u64,
    pub(super) scratch: Box<[u8]>,
    pub(super) spare: Vec<Box<[u8]>>,
    /// Devices that something waits for.
    pub(super) dirty: Vec<usize>,
    /// Who listens to a radio.
    pub(super) monitors: Vec<(RadioId, Sender<Heard>)>,
    /// Who reads what radios tell.
    pub(super) readers: Readers,
}

impl Driven for Engine {
    fn next_due(&self) -> Option<Time> {
        let ways = self.ways.iter().filter_map(|w| w.link.next_timeout()).min();
        let air = self.radios.as_ref().and_then(Radios::next_timeout);
        let planned = [self.agenda.next(), self.walks.next()].into_iter().flatten().min();
        let planned = planned.zip(self.zero).map(|(at, zero)| zero + (at - Time::ZERO));
        [ways, air, planned, self.readers.next()].into_iter().flatten().min()
    }

    fn read(&mut self, mark: u64) {
        if mark == JOINING {
            return self.hear_callers();
        }
        let index = mark as usize;
        let mut bytes = 0;
        for _ in 0..READ_FRAMES {
            let Some(file) = &self.devices[index].file else { return };
            // Nothing left, or the interface is down; either way there is no frame.
            let Ok(len) = rustix::io::read(file, &mut *self.scratch) else { return };
            let spare = &mut self.spare;
            let fresh = || spare.pop().unwrap_or_else(|| vec![0; LONGEST].into());
            if let Some(frame) = Frame::new(&mut self.scratch, len, fresh) {
                frame.pieces().for_each(|piece| self.transmit(index, piece));
            }
            bytes += len;
            if len == 0 || bytes > READ_BYTES {
                return;
            }
        }
    }

    fn run(&mut self, written: &mut Vec<u64>) {
        self.act();
        for index in 0..self.ways.len() {
            self.run_way(index);
        }
        self.run_air();
        for i in 0..self.dirty.len() {
            let index = self.dirty[i];
            self.flush(index);
            written.push(index as u64);
        }
        self.dirty.clear();
        self.tell_readers();
    }

    fn rounds(&mut self) -> Option<&mut Rounds> {
        Some(&mut self.rounds)
    }
}

impl Engine {
    /// An engine over these devices, one for each interface of the plan.
    pub(super) fn new(
        reactor: &Arc<Reactor>,
        plan: &Arc<Plan>,
        scenario: &Scenario,
        built: &Built,
        files: Vec<Option<File>>,
        readers: Readers,
    ) -> Result<Engine> {
        let mut ways = Vec::new();
        for (i, direction) in built.world.net.directions.iter().enumerate() {
            let seed = Built::seed_of_direction(scenario.seed, i / 2, i % 2);
            let mut link = Link::new(direction.link.spec().clone(), seed)?;
            link.set_up(Time::ZERO, scenario.link[i / 2].up);
            ways.push(Way { link, to: direction.to.0 as usize, wait_ns: 0, wait: Spans::default() });
        }
        let dilation = scenario.medium.time_dilation.into();
        let sources = weighted_sources(scenario);
        let radios = built.air.clone().map(|air| Radios::new(air, dilation, plan.on_air.clone(), sources));
        for (mark, file) in files.iter().enumerate() {
            let watched = file.iter().try_for_each(|file| reactor.watch(file, mark as u64));
            watched.map_err(LabError::kernel("watch a device"))?;
        }
        reactor.watch(readers.bell(), JOINING).map_err(LabError::kernel("watch an eventfd"))?;
        let engine = Engine {
            reactor: Arc::clone(reactor),
            plan: Arc::clone(plan),
            devices: files.into_iter().map(|file| Device { file, ..Device::default() }).collect(),
            ways,
            radios: radios.transpose()?,
            agenda: built.agenda.clone(),
            walks: Walks::new(scenario, built),
            zero: None,
            lateness: Lateness::default(),
            rounds: Rounds::default(),
            measured_since: Time::ZERO,
            refused: 0,
            scratch: vec![0; LONGEST].into(),
            spare: Vec::new(),
            dirty: Vec::new(),
            monitors: Vec::new(),
            readers,
        };
        engine.set_carriers();
        Ok(engine)
    }

    pub(super) fn now(&self) -> Time {
        self.reactor.now()
    }

    /// Puts a piece on what its interface is joined to.
    pub(super) fn transmit(&mut self, index: usize, piece: Piece) {
        let now = self.reactor.now();
        let counters = &mut self.devices[index].counters;
        counters.sent += 1;
        counters.sent_bytes += u64::from(piece.len());
        let taken = match self.plan.ports[index].joint {
            Joint::Nothing => false,
            Joint::Cable(direction) => {
                self.ways[direction].link.enqueue(now, on_cable(piece));
                true
            }
            Joint::Radio(iface) => self.radios.as_mut().is_some_and(|r| r.send(now, iface, piece)),
        };
        if !taken {
            self.devices[index].counters.dropped += 1;
        }
    }

    fn run_way(&mut self, index: usize) {
        while let Some(delivery) = self.ways[index].link.poll(self.reactor.now()) {
            let way = &mut self.ways[index];
            way.wait.record(delivery.waited);
            way.wait_ns += delivery.waited.as_nanos() as u64;
            let to = way.to;
            for _ in 1..delivery.copies {
                self.arrive(to, delivery.payload.clone(), delivery.marked, delivery.at);
            }
            self.arrive(to, delivery.payload, delivery.marked, delivery.at);
        }
    }

    /// A piece has come to a device.
    pub(super) fn arrive(&mut self, index: usize, piece: Piece, marked: bool, at: Time) {
        let device = &mut self.devices[index];
        device.counters.received += 1;
        device.counters.received_bytes += u64::from(piece.len());
        let was_empty = device.waiting.is_empty();
        if let Err(piece) = device.waiting.couple(piece, marked) {
            self.flush(index);
            // Into an empty train anything goes.
            let _ = self.devices[index].waiting.couple(piece, marked);
            (self.devices[index].due, self.devices[index].pieces) = (at, 1);
            return;
        }
        if was_empty {
            self.dirty.push(index);
            (device.due, device.pieces) = (at, 0);
        }
        device.pieces += 1;
    }

    /// Writes what waits for a device.
    fn flush(&mut self, index: usize) {
        let Device { file, waiting, due, pieces, .. } = &mut self.devices[index];
        if waiting.is_empty() {
            return;
        }
        let (begin, spare) = (self.reactor.now(), &mut self.spare);
        let written = waiting.write(file.as_ref(), |run| {
            if spare.len() < SPARE_BUFFERS {
                spare.extend(run.reclaim());
            }
        });
        // Counted after the write, because that is when the packets are there.
        let end = self.reactor.now();
        self.refused += u64::from(written.is_err());
        self.rounds.writing.record(end - begin);
        self.lateness.record_all(end - *due, *pieces);
    }

    /// What the scenario lets happen.
    fn act(&mut self) {
        let Some(zero) = self.zero else { return };
        let now = Time::ZERO + (self.reactor.now() - zero);
        if self.walks.next().is_some_and(|at| at <= now) {
            self.walks.due(now).into_iter().for_each(|step| self.command(step));
        }
        while let Some(action) = self.agenda.take(now) {
            self.perform(action);
        }
    }

    /// Does one thing that a scenario can let happen.
    pub(super) fn perform(&mut self, action: Action) {
        let now = self.reactor.now();
        match action {
            // Flows are not the engine's.
            Action::Start(..) | Action::Stop(..) => {}
            Action::Cable { cable, up } => {
                self.ways[2 * cable..][..2].iter_mut().for_each(|w| w.link.set_up(now, up));
            }
            Action::Change { cable, rate, delay, loss } => {
                for way in &mut self.ways[2 * cable..][..2] {
                    // Values were checked with the scenario; a link that refuses one stays as it is.
                    let _ = rate.clone().map(|r| way.link.set_rate(now, r));
                    let jitter = way.link.spec().jitter;
                    delay.into_iter().for_each(|d| way.link.set_delay(now, d, jitter));
                    let _ = loss.map(|l| way.link.set_loss(now, l));
                }
            }
            Action::Air(command) => self.command(*command),
        }
    }

    fn command(&mut self, command: Command) {
        let now = self.reactor.now();
        if let Command::SetRadioUp { radio, up } = command {
            self.on_switched(radio, up);
        }
        if let Some(radios) = &mut self.radios {
            // Refused is what makes no sense at the moment, such as leaving an access point that was lost: nothing to do.
            let _ = radios.air.command(now, command);
        }
    }

    pub(super) fn link_counts(&self) -> Vec<LinkCounts> {
        self.ways.iter().map(|w| LinkCounts { link: w.link.counters(), wait_ns: w.wait_ns }).collect()
    }

    /// Percentiles count from here.
    pub(super) fn start_measuring(&mut self) {
        self.lateness = Lateness::default();
        self.rounds = Rounds::default();
        self.measured_since = self.now();
        self.ways.iter_mut().for_each(|w| w.wait = Spans::default());
    }
}

fn on_cable(piece: Piece) -> wired::Packet<Piece> {
    let d = piece.description();
    wired::Packet {
        len: piece.len(),
        flow: d.flow,
        class: d.class(),
        ecn_capable: d.ecn_capable,
        payload: piece,
    }
}
