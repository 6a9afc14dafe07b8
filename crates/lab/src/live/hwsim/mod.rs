//! A scenario over the kernel's own Wi-Fi: mac80211, hostapd, wpa_supplicant; the medium is ours.
//!
//! ```text
//!   node "sta" (a namespace)             one real-time thread              node "ap" (a namespace)
//!  ┌───────────────────────┐      ┌──────────────────────────┐      ┌───────────────────────┐
//!  │ TCP     wpa_supplicant│      │ air::wifi::FrameMedium   │      │ hostapd           TCP │
//!  │ IP      mac80211      │      │ contention, reception,   │      │ mac80211           IP │
//!  │         minstrel_ht  ─┼hwsim─┤ airtime, ACK, repetition ├hwsim─┼─ minstrel_ht          │
//!  └───────────────────────┘      └──────────────────────────┘      └───────────────────────┘
//! ```
//! 1. [`refusals`] names what a scenario has that cannot run here.
//! 2. [`HwsimRun::prepare`] makes the radios, starts the daemons and waits for the stations.
//! 3. [`HwsimRun::finish`] runs flows and events, and gives a [`HwsimReport`].

mod daemons;
mod medium;
mod radios;
mod refuse;

pub use refuse::refusals;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ropewalk_scenario::Scenario;
use ropewalk_scenario::report::Report;
use ropewalk_sim::walk::Walks;
use serde::Serialize;

use super::plan::Joint;
use super::prepared::PreparedLab;
use super::{Moment, Options, Run, Summary};
use crate::realtime::Keeper;
use crate::{LabError, Namespace, Result};
use daemons::Daemons;
use medium::{MediumThread, Names};
use radios::Radios;

/// Frames of one rate from one interface to another, of the whole time that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateRow {
    /// Who sent, `node:interface`.
    pub from: String,
    /// To whom.
    pub to: String,
    /// The rate, Mbit/s.
    pub mbps: f64,
    /// Transmissions.
    pub tries: u64,
    /// Of these, acknowledged.
    pub acknowledged: u64,
}

/// What a run leaves.
#[derive(Clone, Debug, Serialize)]
pub struct HwsimReport {
    /// The tables of `lab run`. Rows of interfaces on air are left out: the kernel counts those.
    #[serde(flatten)]
    pub report: Report,
    /// The rates that the kernel chose, and what came of them.
    pub rates: Vec<RateRow>,
    /// Stations that joined no access point in the time that they had, `node:interface`.
    pub unjoined: Vec<String>,
}

/// A run that is ready to begin.
pub struct HwsimRun {
    // The order in which they go: the medium with its radios, the daemons, then flows and nodes.
    medium: Keeper<MediumThread>,
    _made_in: Namespace,
    daemons: Daemons,
    run: Run,
    on_air: Vec<String>,
    bound: Duration,
}

impl HwsimRun {
    /// Makes nodes and radios, starts hostapd and wpa_supplicant, waits up to `patience` for access
    /// points and as long for stations, and opens the sockets of all flows. The report lists who
    /// joined nobody. Once `interrupted` it waits no longer.
    ///
    /// # Errors
    /// What cannot run here, with its key; what the machine lacks, with the remedy; an access point
    /// that does not start, or a daemon that ends, with its output.
    pub fn prepare(
        scenario: &Scenario,
        options: &Options,
        patience: Duration,
        interrupted: &AtomicBool,
    ) -> Result<HwsimRun> {
        if let Some(first) = refusals(scenario).into_iter().next() {
            return Err(first.into());
        }
        let mut prepared = PreparedLab::new(scenario, options)?;
        let walks = Walks::new(scenario, &prepared.built);
        // `refusals` has seen that there are radios.
        let Some((air, seed)) = prepared.built.air.take() else { return Err(LabError::EmulatorGone) };
        let Radios { hwsim, addresses, made_in } = Radios::make(&mut prepared)?;
        let names = Names::of(&prepared.plan, &air);
        let agenda = prepared.built.agenda.clone();
        let medium = Keeper::start(&format!("{}-hwsim", prepared.site.name()), options.timing, |reactor| {
            MediumThread::new(reactor, hwsim, (air, seed), (addresses, names), (agenda, walks))
        })?;
        let daemons = Daemons::start(scenario, &prepared, patience, interrupted)?;
        let on_radio = |p: &&super::plan::Port| matches!(p.joint, Joint::Radio(_));
        let on_air = prepared.plan.ports.iter().filter(on_radio).map(|p| p.name.clone()).collect();
        let run = Run::over(prepared.start(scenario, options)?, options)?;
        Ok(HwsimRun { medium, _made_in: made_in, daemons, run, on_air, bound: options.timing.bound })
    }

    /// Stations that have joined nobody, `node:interface`.
    pub fn unjoined(&self) -> &[String] {
        &self.daemons.unjoined
    }

    /// Runs it. None: it was interrupted. Everything that was made is gone afterwards.
    ///
    /// # Errors
    /// A thread of the lab, of the medium or of a flow is gone.
    pub fn finish(
        mut self,
        interrupted: &AtomicBool,
        progress: impl FnMut(&Moment<'_>),
    ) -> Result<Option<HwsimReport>> {
        let warmup = self.run.warmup();
        let medium = &self.medium;
        let begun = |begin: Instant| medium.ask(move |e| e.begin(begin, warmup));
        let Some(mut report) = self.run.go(interrupted, begun, progress)? else { return Ok(None) };
        let bound = self.bound;
        let (tables, summary, faults) =
            self.medium.ask(move |e| (e.tables(), e.summary(bound), e.faults()))?;
        report.interface.retain(|row| !self.on_air.contains(&row.name));
        (report.station, report.radio) = (tables.stations, tables.radios);
        add_time(&mut report, &summary, faults);
        let unjoined = self.daemons.unjoined.clone();
        Ok(Some(HwsimReport { report, rates: tables.rates, unjoined }))
    }
}

/// Adds how late the medium's thread was to the lab's.
fn add_time(report: &mut Report, summary: &Summary, faults: Vec<String>) {
    let Some(lab) = &mut report.provenance.lab else { return };
    let us = |d: Duration| d.as_nanos() as f64 / 1e3;
    let late = &summary.lateness;
    lab.packets += late.count();
    let own = [0.5, 0.99, 0.999].map(|q| us(late.quantile(q)));
    for (told, own) in lab.late_us.iter_mut().zip([own[0], own[1], own[2], us(late.max())]) {
        *told = told.max(own);
    }
    lab.load += summary.load;
    lab.invalid.extend(summary.invalid().into_iter().chain(faults));
}
