//! A run of a scenario in the lab: its bonds, its flows and its events from beginning to end, and the report that it leaves, in the
//! simulator's form.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ropewalk_scenario::Scenario;
use ropewalk_scenario::report::{Band, FlowRow, LabTime, Provenance, Report, Series};
use ropewalk_sim::BuildError;
use ropewalk_sim::measure::rows;

use super::bonds;
use super::flows::{self, Traffic, TrafficCounts};
use super::{Counters, Lab, Options, Summary, transport};
use crate::{LabError, Result};

/// How often somebody is told how far it is.
const TELL: Duration = Duration::from_millis(100);
/// Daemons of bonds are not asked more often than this: answering takes time that they need for packets.
const DAEMONS_AT_MOST: Duration = Duration::from_millis(50);

/// Everything of a scenario that the simulator can do and this machine cannot, with keys and remedies; empty: it runs in the lab.
pub fn refusals(scenario: &Scenario) -> Vec<BuildError> {
    let roams = scenario.node.iter().filter(|(_, node)| node.roam.is_some());
    let mut all: Vec<BuildError> = roams
        .map(|(name, _)| {
            let sentence = "the lab's stations stay with their access points; run this with `ropewalk sim`";
            BuildError::new(format!("node.{name}.roam"), sentence)
        })
        .collect();
    all.extend(transport::refusals(scenario));
    all.extend(flows::refusals(scenario));
    all.extend(bonds::refusals(scenario));
    all
}

/// A run that is ready to begin.
pub struct Run {
    // Flows end first, then the lab with its daemons.
    traffic: Traffic,
    lab: Lab,
    forecast: Option<f64>,
}

/// How a run goes, while it goes.
pub struct Moment<'a> {
    /// Time since its beginning.
    pub elapsed: Duration,
    /// The time series so far.
    pub series: &'a Series,
    run: &'a Run,
    base: &'a Snapshot,
}

impl Moment<'_> {
    /// What each flow has got so far.
    pub fn flows(&self) -> Vec<FlowRow> {
        self.run.traffic.tables(&self.base.traffic, &self.run.traffic.counts()).0
    }
}

/// All counters at one time.
struct Snapshot {
    lab: Counters,
    traffic: TrafficCounts,
}

impl Run {
    /// Makes the lab, starts the bonds with `program` (the `ropewalk` binary), and opens the sockets of all flows.
    ///
    /// # Errors
    /// What cannot run live, with its key; what the machine lacks, with the remedy.
    pub fn prepare(scenario: &Scenario, options: &Options, program: &Path) -> Result<Run> {
        if let Some(first) = refusals(scenario).into_iter().next() {
            return Err(first.into());
        }
        let mut lab = Lab::start(scenario, options)?;
        lab.start_bonds(program)?;
        lab.start_bunches(program)?;
        Run::over(lab, options)
    }

    /// A run over a lab whose daemons are there: opens the sockets of all flows.
    pub(super) fn over(lab: Lab, options: &Options) -> Result<Run> {
        let traffic = Traffic::prepare(lab.scenario(), &lab)?;
        Ok(Run { traffic, lab, forecast: options.forecast.map(|f| f.load()) })
    }

    /// How long flows run before figures count.
    pub(super) fn warmup(&self) -> Duration {
        self.lab.scenario().warmup
    }

    /// Runs it. None: it was interrupted. `progress` is shown how it goes, ten times a second.
    ///
    /// # Errors
    /// The lab's thread, or a flow's, is gone.
    pub fn finish(
        mut self,
        interrupted: &AtomicBool,
        progress: impl FnMut(&Moment<'_>),
    ) -> Result<Option<Report>> {
        self.go(interrupted, |_| Ok(()), progress)
    }

    /// The same, and it is there afterwards. `begun` is told the instant of its beginning.
    pub(super) fn go(
        &mut self,
        interrupted: &AtomicBool,
        begun: impl FnOnce(Instant) -> Result<()>,
        mut progress: impl FnMut(&Moment<'_>),
    ) -> Result<Option<Report>> {
        let scenario = self.lab.scenario().clone();
        let begin = self.lab.begin()?;
        begun(begin)?;
        self.traffic.begin(begin)?;
        let mut base = self.snapshot()?;
        let mut processors = Idle::now();
        let mut sampler = Sampler::new(self, &scenario, &base);
        let (warm, end) = (begin + scenario.warmup, begin + scenario.duration);
        let (mut cold, mut told) = (!scenario.warmup.is_zero(), Duration::ZERO);
        loop {
            let now = Instant::now();
            if interrupted.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if cold && now >= warm {
                cold = false;
                self.lab.start_measuring()?;
                self.traffic.begin_measuring();
                base = self.snapshot()?;
                processors = Idle::now();
            }
            let switch = self.lab.switch_bunches(now.saturating_duration_since(begin))?;
            sampler.step(self, begin, now.min(end))?;
            if now >= end {
                break;
            }
            let elapsed = now.saturating_duration_since(begin);
            if elapsed >= told {
                told = elapsed + TELL;
                progress(&Moment { elapsed, series: &sampler.series, run: self, base: &base });
            }
            let due = [end, sampler.next(begin), now + TELL].into_iter().min().unwrap_or(end);
            let due = if cold { due.min(warm) } else { due };
            let due = switch.map_or(due, |at| due.min(begin + at));
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let mut last = self.snapshot()?;
        let idle = Idle::now().zip(processors).map(|(now, from)| now.share_since(&from));
        self.traffic.end();
        self.traffic.judge(&mut last.traffic);
        let mut report = self.tables(&base, &last);
        let summary = self.lab.summary()?;
        report.provenance = provenance(&scenario, &summary, self.forecast, self.traffic.faults());
        if let Some(lab) = &mut report.provenance.lab {
            lab.idle = idle;
        }
        report.bands = Band::of(&scenario);
        report.series = sampler.series;
        Ok(Some(report))
    }

    fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot { lab: self.lab.counters()?, traffic: self.traffic.counts() })
    }

    /// For a row of the time series; daemons are asked for theirs only where rows are far apart.
    fn snapshot_for_series(&self, every: Duration) -> Result<Snapshot> {
        let lab = match every >= DAEMONS_AT_MOST {
            true => self.lab.counters()?,
            false => self.lab.counters_without_bonds()?,
        };
        Ok(Snapshot { lab, traffic: self.traffic.counts() })
    }

    fn tables(&self, from: &Snapshot, to: &Snapshot) -> Report {
        let mut report = self.lab.report(&from.lab, &to.lab);
        (report.flow, report.subflow) = self.traffic.tables(&from.traffic, &to.traffic);
        report
    }
}

fn provenance(
    scenario: &Scenario,
    summary: &Summary,
    forecast: Option<f64>,
    faults: Vec<String>,
) -> Provenance {
    let us = |d: Duration| d.as_nanos() as f64 / 1e3;
    let late = &summary.lateness;
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| us(late.quantile(q)));
    let lab = LabTime {
        packets: late.count(),
        late_us: [p50, p99, p999, us(late.max())],
        bound_us: us(summary.bound),
        load: summary.load,
        forecast,
        invalid: summary.invalid().into_iter().chain(faults).collect(),
        ..LabTime::default()
    };
    Provenance {
        title: scenario.title.clone(),
        scenario: scenario.hash(),
        seed: scenario.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        duration_s: scenario.duration.as_secs_f64(),
        warmup_s: scenario.warmup.as_secs_f64(),
        lab: Some(lab),
        ..Provenance::default()
    }
}

/// For how long processors had nothing to do, since the machine started.
struct Idle {
    idle: Duration,
    processors: usize,
    at: Instant,
}

impl Idle {
    /// From /proc/stat: user, nice, system, idle, iowait, in hundredths of a second, then a line for each processor (proc(5)).
    /// The kernel counts the last two exactly, and work only where its clock ticks.
    fn now() -> Option<Idle> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let processors = text.lines().filter(|line| line.starts_with("cpu")).count().checked_sub(1)?;
        let ticks: Vec<u64> =
            text.lines().next()?.split_whitespace().skip(4).take(2).flat_map(str::parse).collect();
        let idle = Duration::from_millis(10 * ticks.iter().sum::<u64>());
        (ticks.len() == 2).then(|| Idle { idle, processors, at: Instant::now() })
    }

    /// Share of all processors' time since `from`.
    fn share_since(&self, from: &Idle) -> f64 {
        let whole = (self.at - from.at).as_secs_f64() * self.processors as f64;
        (self.idle.saturating_sub(from.idle).as_secs_f64() / whole.max(1e-3)).min(1.0)
    }
}

/// Takes a row of the time series each so often.
struct Sampler {
    every: Duration,
    taken: u32,
    last: Snapshot,
    series: Series,
}

impl Sampler {
    fn new(run: &Run, scenario: &Scenario, base: &Snapshot) -> Sampler {
        let every = scenario.measure.interval.unwrap_or(Duration::ZERO);
        let last = Snapshot { lab: base.lab.clone(), traffic: base.traffic.clone() };
        let columns = match every.is_zero() {
            true => Vec::new(),
            false if every < DAEMONS_AT_MOST => rows::series_columns(&Report {
                path: Vec::new(),
                bunch: Vec::new(),
                ..run.tables(base, base)
            }),
            false => rows::series_columns(&run.tables(base, base)),
        };
        Sampler {
            every,
            taken: 0,
            last,
            series: Series { interval_s: every.as_secs_f64(), columns, rows: Vec::new() },
        }
    }

    /// When the next row is due; a day from the beginning if none is wanted.
    fn next(&self, begin: Instant) -> Instant {
        match self.every.is_zero() {
            true => begin + Duration::from_secs(86_400),
            false => begin + self.every * (self.taken + 1),
        }
    }

    fn step(&mut self, run: &Run, begin: Instant, now: Instant) -> Result<(), LabError> {
        let due = (0..).take_while(|n| self.next(begin) + self.every * *n <= now).count();
        if due > 0 {
            // A machine that was late has nothing to tell of the times between; the last row is the mean of all of them.
            self.series.rows.extend(std::iter::repeat_n(vec![None; self.series.columns.len()], due - 1));
            self.taken += due as u32;
            let snapshot = run.snapshot_for_series(self.every)?;
            let tables = run.tables(&self.last, &snapshot);
            rows::add_row(&mut self.series, &tables);
            self.last = snapshot;
        }
        Ok(())
    }
}
