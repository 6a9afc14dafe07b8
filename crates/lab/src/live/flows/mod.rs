//! A scenario's traffic on the kernel's sockets.
//!
//! What an application does (which segment a player asks for, when a request is over, which frames of a video are good) and what is
//! kept of a flow are the simulator's own: [`ropewalk_sim::app`], [`ropewalk_sim::measure`]. Here are their sockets, their clock
//! and their bytes, one thread for each flow.
//!
//! 1. [`refusals`] names what no kernel can do as a scenario asks.
//! 2. [`Traffic::prepare`] opens every socket in its namespace, so that what is missing shows before anything runs.
//! 3. [`Traffic::begin`] starts the threads; each waits for its flow's start.
//! 4. [`Traffic::begin_measuring`] at the end of the warm-up; [`Traffic::counts`] at any time; [`Traffic::tables`] of two of them.
//! 5. [`Traffic::end`] stops the threads. [`Traffic::faults`] says what makes the figures worth nothing.
//!
//! # What is measured how
//! Bytes, delays, loss, order, responses, frames and stalls: by the applications, as in the simulator. Segments, repetitions and timeouts: the
//! kernel's `TCP_INFO`. Round trips of TCP: the kernel's smoothed one, looked at every 10 ms at the end that sends data. Arrival is when the
//! application's thread reads, so a busy machine adds its own delay.

mod clock;
mod content;
mod datagram;
mod echo;
mod hosts;
mod paths;
mod plan;
mod record;
mod refuse;
mod socket;
mod steering;
mod stream;
mod window;

pub use hosts::Hosts;
pub use refuse::refusals;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use ropewalk_air::Time;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::Flow;
use ropewalk_scenario::report::{FlowRow, SubflowRow};
use ropewalk_sim::measure::{FlowCounts, rows};

use self::clock::Clock;
use self::plan::{Plan, Planned};
use self::record::{Shared, SubflowCounts};
use crate::{LabError, Result};

/// Counters of all flows at one time.
#[derive(Clone, Debug)]
pub struct TrafficCounts {
    at: Time,
    flows: Vec<FlowCounts>,
    subflows: Vec<Vec<SubflowCounts>>,
}

/// All flows of a scenario.
pub struct Traffic {
    flows: Vec<Running>,
    clock: Clock,
    quit: Arc<AtomicBool>,
}

/// A flow and its thread.
struct Running {
    flow: Flow,
    shared: Arc<Shared>,
    /// Before the start.
    plan: Option<Plan>,
    thread: Option<JoinHandle<()>>,
    /// MPTCP: the machine whose interfaces tell subflows apart, each with its address.
    homes: Vec<(String, std::net::Ipv4Addr)>,
}

impl Traffic {
    /// Opens the sockets of all flows.
    ///
    /// # Errors
    /// A flow that no kernel can carry, with its key; what the kernel refuses.
    pub fn prepare(scenario: &Scenario, hosts: &impl Hosts) -> Result<Traffic> {
        if let Some(first) = refusals(scenario).into_iter().next() {
            return Err(first.into());
        }
        let offers = scenario.flow.iter().map(|flow| plan::offer(scenario, flow, hosts));
        let offers: Vec<Option<paths::Offer>> = offers.collect::<Result<_>>()?;
        paths::tell(scenario, offers.into_iter().flatten())?;
        let flows = scenario.flow.iter().enumerate().map(|(i, flow)| {
            let Planned { plan, homes } = plan::plan(scenario, i, hosts)?;
            Ok(Running { flow: flow.clone(), shared: Arc::default(), plan: Some(plan), thread: None, homes })
        });
        let flows = flows.collect::<Result<_>>()?;
        Ok(Traffic { flows, clock: Clock::new(Instant::now()), quit: Arc::default() })
    }

    /// Starts the threads; the scenario's time zero is `begin`.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn begin(&mut self, begin: Instant) -> Result<()> {
        self.clock = Clock::new(begin);
        for running in &mut self.flows {
            let Some(plan) = running.plan.take() else { continue };
            let (shared, quit, clock) = (running.shared.clone(), self.quit.clone(), self.clock);
            let (start, stop) = (running.flow.start, running.flow.stop);
            let span = stream::Span { start: Time::ZERO + start, stop: stop.map(|s| Time::ZERO + s) };
            let work = move || plan.run(clock, span, &quit, &shared);
            let name = format!("rw-{}", running.flow.name);
            let thread = std::thread::Builder::new().name(name).spawn(work);
            running.thread = Some(thread.map_err(LabError::kernel("start a flow's thread"))?);
        }
        Ok(())
    }

    /// The warm-up is over: spans of time count from here.
    pub fn begin_measuring(&self) {
        let now = self.clock.now();
        self.flows.iter().for_each(|f| f.shared.lock().record.start_measuring(now));
    }

    /// All counters now.
    pub fn counts(&self) -> TrafficCounts {
        let each = self.flows.iter().map(|f| {
            let figures = f.shared.lock();
            (figures.counts(), figures.subflows.clone())
        });
        let (flows, subflows) = each.unzip();
        TrafficCounts { at: self.clock.now(), flows, subflows }
    }

    /// The tables `flow` and `subflow` of what happened between two times. Percentiles are since [`Traffic::begin_measuring`].
    pub fn tables(&self, from: &TrafficCounts, to: &TrafficCounts) -> (Vec<FlowRow>, Vec<SubflowRow>) {
        let seconds = (to.at - from.at).as_secs_f64();
        let row = |(i, running): (usize, &Running)| {
            let counts = to.flows[i].since(&from.flows[i]);
            rows::flow_row(&running.flow, &running.shared.lock().record, &counts, seconds)
        };
        let flows = self.flows.iter().enumerate().map(row).collect();
        let subflows = self.flows.iter().enumerate().flat_map(|(i, running)| {
            let now = to.subflows[i].iter();
            now.map(|s| paths::row(running, s, &from.subflows[i], seconds)).collect::<Vec<_>>()
        });
        (flows, subflows.collect())
    }

    /// What makes the figures worth nothing, each with its flow.
    pub fn faults(&self) -> Vec<String> {
        let of = |f: &Running| {
            let key = format!("flow.{}", f.flow.name);
            f.shared.lock().faults.iter().map(|fault| format!("{key}: {fault}")).collect::<Vec<_>>()
        };
        self.flows.iter().flat_map(of).collect()
    }

    /// The largest receive window, bytes, that the sender of each flow saw lately, where the scenario gives it one (trap T-19).
    pub fn windows(&self) -> Vec<Option<u32>> {
        self.flows.iter().map(|f| f.shared.lock().window).collect()
    }

    /// After the end: adds to counters what was only judged then.
    pub fn judge(&self, counts: &mut TrafficCounts) {
        for (running, counts) in self.flows.iter().zip(&mut counts.flows) {
            let judged = running.shared.lock().record.counts;
            (counts.frames, counts.frames_good) = (judged.frames, judged.frames_good);
        }
    }

    /// Stops all threads; what is judged at the end is judged.
    pub fn end(&mut self) {
        self.quit.store(true, Ordering::Relaxed);
        for running in &mut self.flows {
            if let Some(Err(_)) = running.thread.take().map(JoinHandle::join) {
                running
                    .shared
                    .lock()
                    .fault("its thread panicked; what it said is on standard error".to_owned());
            }
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.end();
    }
}
