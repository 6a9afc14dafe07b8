//! What rows share: their plan, the programs, the progress, and how one measurement is made.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::flow::{Flow, FlowReport, Subflows};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::sample::{self, Sample, Unit};
use crate::site::Site;
use crate::system::{Open, Programs, System};
use crate::usage;

/// How often a measurement is made whose cables do not keep time, before it is given up.
const TRIES: u32 = 3;
/// Others that take nothing for so long are done, or between two steps.
const QUIET: Duration = Duration::from_secs(2);
/// Where in a flow its sockets are looked at, as shares of its time: a path may be out for a moment.
const LOOKS: [f64; 3] = [0.4, 0.6, 0.8];
/// A flow that is used in the first place has settled by then.
pub const WARM_UP: Duration = Duration::from_secs(2);

/// A run of the program.
pub struct Bench {
    /// How long and how often.
    pub plan: Plan,
    /// The contenders' programs.
    pub programs: Programs,
    /// This program, which is also sender and receiver.
    pub own: PathBuf,
    /// What a user sees.
    pub progress: Progress,
    /// Where output of contenders goes.
    pub logs: Option<PathBuf>,
    /// How long each measurement waits for other programs on the machine to be done; one that they disturb all the
    /// same is made again.
    pub wait: Duration,
}

impl Bench {
    /// Makes one measurement over an open system. If the cables were late, once more; if it fails, the sample says why.
    pub fn sample(
        &self,
        site: &Site,
        system: System,
        what: &str,
        unit: Unit,
        measure: impl Fn(&Open) -> Result<Sample>,
    ) -> Sample {
        let label = format!("{what}: {}", system.name());
        self.progress.begin(&label);
        let mut sample = Sample::none("the cables did not keep time");
        for try_number in 1..=TRIES {
            self.wait_for_quiet(&label);
            let (tried, kept) = self.try_once(site, system, &label, &measure);
            let undisturbed = self.wait.is_zero() || !tried.is_disturbed();
            if kept && (sample.value.is_none() || tried.others < sample.others) {
                sample = tried;
            }
            if kept && undisturbed {
                break;
            }
            let why = if kept { "others were at work" } else { "the cables did not keep time" };
            self.progress.say(&format!("{label}: {why}, run {try_number} of {TRIES}"));
        }
        let figure = sample.value.map_or("none".to_owned(), |value| unit.text(value));
        let mut notes = sample.notes.iter().map(|note| format!("  ({note})")).collect::<String>();
        if sample.is_disturbed() {
            notes += &format!("  (others took {:.0} % of a processor)", 100.0 * sample.others);
        }
        self.progress.end(&format!("{label}: {figure}{notes}"));
        sample
    }

    /// Waits until others leave the machine alone for a moment, as long as it may.
    pub(crate) fn wait_for_quiet(&self, label: &str) {
        let until = Instant::now() + self.wait;
        while Instant::now() < until {
            let before = usage::cpu_seconds_of_others();
            std::thread::sleep(QUIET);
            let others = (usage::cpu_seconds_of_others() - before) / QUIET.as_secs_f64();
            if others < sample::DISTURBANCE {
                break;
            }
            let percent = 100.0 * others;
            self.progress.begin(&format!("{label}: waiting, others take {percent:.0} % of a processor"));
        }
        self.progress.begin(label);
    }

    fn try_once(
        &self,
        site: &Site,
        system: System,
        label: &str,
        measure: &impl Fn(&Open) -> Result<Sample>,
    ) -> (Sample, bool) {
        let open = match self.programs.open(system, site) {
            Ok(open) => open,
            Err(error) => return (Sample::none(format!("{}: {error:#}", system.name())), true),
        };
        let (began, others) = (Instant::now(), usage::cpu_seconds_of_others());
        let clean = site.lab.topology.reset_lateness();
        let sample = clean.map_err(Into::into).and_then(|()| measure(&open));
        let mut sample = sample.unwrap_or_else(|error| Sample::none(format!("{}: {error:#}", system.name())));
        sample.others = (usage::cpu_seconds_of_others() - others) / began.elapsed().as_secs_f64();
        self.keep_log(label, &open);
        (sample, site.lab.topology.kept_time().unwrap_or(false))
    }

    /// Keeps what a contender said, if asked to.
    fn keep_log(&self, label: &str, open: &Open) {
        let Some(folder) = self.logs.as_ref().filter(|_| !open.processes.is_empty()) else { return };
        let name: String =
            label.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(folder.join(format!("{name}.log")), open.said()));
        if let Err(error) = written {
            self.progress.say(&format!("cannot keep the output of {label}: {error}"));
        }
    }

    /// Runs a bulk flow through an open system, and makes sure that it is what it is said to be.
    ///
    /// # Errors
    /// If it fails, is not under CUBIC, or is to be MPTCP and has not two subflows.
    pub fn flow(&self, site: &Site, open: &Open, seconds: u32) -> Result<FlowReport> {
        let running = self.start_flow(site, open, seconds)?;
        let mut seen = Subflows::default();
        let mut slept = 0.0;
        for share in LOOKS {
            std::thread::sleep(Duration::from_secs_f64(f64::from(seconds) * (share - slept)));
            slept = share;
            let now = running.subflows().unwrap_or_default();
            seen = Subflows { tcp: seen.tcp.max(now.tcp), mptcp: seen.mptcp.max(now.mptcp) };
        }
        let report = running.finish()?;
        let wanted = if open.mptcp { Subflows { tcp: 2, mptcp: 2 } } else { Subflows { tcp: 1, mptcp: 0 } };
        let enough = seen.tcp >= wanted.tcp && seen.mptcp >= wanted.mptcp;
        anyhow::ensure!(enough, "the flow should have been {wanted:?} under CUBIC and was {seen:?}");
        Ok(report)
    }

    /// Starts a bulk flow through an open system.
    ///
    /// # Errors
    /// If its processes do not start.
    pub fn start_flow(&self, site: &Site, open: &Open, seconds: u32) -> Result<crate::flow::RunningFlow> {
        Flow::tcp(open.target, seconds)
            .mptcp(open.mptcp)
            .start(&self.own, &site.lab.client, &site.lab.gateway)
            .context("cannot start a flow")
    }
}
