//! `ropewalk lab run`: a scenario's own flows and events on real kernels in real or virtual time, and the report that `sim run` prints.

use super::controllers::Controllers;
use super::machine;
use super::up::no_namespaces;
use crate::exit::{Code, failure, kind_of};
use crate::reproduce::origin::BUILD;
use crate::sim::driver::Driver;
use crate::sim::{Which, figure, interrupt, once, output, show};
use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_lab::LabError;
use ropewalk_lab::live::daemon::own_namespaces;
use ropewalk_lab::live::{self, Forecast, Options};
use ropewalk_lab::machine::Source;
use ropewalk_scenario::report::Report;
use ropewalk_scenario::{Document, Scenario, verdict};
use serde::Serialize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// `ropewalk lab run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub which: Which,
    /// Write report.json, a CSV file for each table, and charts into this directory; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Refuse a scenario that is too fast for this machine, instead of warning of it
    #[arg(long)]
    pub strict: bool,
    /// Run it in virtual time: in an emulated machine with a kernel of its own, which a busy host makes slower and not wrong;
    /// needs QEMU and no root
    #[arg(long = "virtual", conflicts_with = "strict")]
    pub in_virtual_time: bool,
    /// With `--virtual`: where the machine's kernel is, a directory with boot/vmlinuz-* and lib/modules
    /// [default: VM_ROOT, or /]
    #[arg(long, value_name = "DIR", requires = "in_virtual_time")]
    pub kernel: Option<PathBuf>,
}

/// `ropewalk lab check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The scenario files
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Runs a scenario once.
pub(crate) fn run(args: &Run) -> Result<()> {
    let document = args.which.document()?;
    let scenario = document.scenario()?;
    if !args.in_virtual_time && !rustix::process::geteuid().is_root() {
        refuse(&document, &scenario)?;
        return again_inside();
    }
    if let Some(directory) = &args.out {
        output::prepare(directory)?;
    }
    let interrupted = interrupt::watch()?;
    let report = match args.in_virtual_time {
        true => {
            let kernel = Source::find(args.kernel.as_deref())?;
            machine::shown_report_of(&document, &scenario, &kernel, &interrupted)?
        }
        false => report_of(&document, &scenario, &interrupted, args.strict)?,
    };
    let Some(report) = report else {
        return Err(failure(Code::Interrupted, "interrupted; nothing is written of an unfinished run"));
    };
    conclude(&scenario, &report, (&report, ""), args.out.as_deref(), args.json)
}

/// Writes and prints what a run left; an error if its figures are not valid or not as expected.
/// `whole` is the report as JSON has it, `more` stands after its tables.
pub(super) fn conclude(
    scenario: &Scenario,
    report: &Report,
    (whole, more): (&impl Serialize, &str),
    out: Option<&Path>,
    json: bool,
) -> Result<()> {
    let verdicts = verdict::judge(&scenario.expect, report);
    if let Some(directory) = out {
        output::write_json(&directory.join("report.json"), whole)?;
        output::write_tables(directory, std::slice::from_ref(report))?;
        figure::write_of_time(directory, scenario, report)?;
    }
    match json {
        true => println!("{}", serde_json::to_string_pretty(whole)?),
        false => {
            let open = show::left_to_sweeps(&scenario.expect);
            print!("{}{more}{open}", show::render(report, &verdicts));
        }
    }
    let invalid = report.provenance.lab.as_ref().map(|lab| lab.invalid.as_slice()).unwrap_or_default();
    if !invalid.is_empty() {
        return Err(invalid_run(invalid));
    }
    once::complain(&verdicts, "")
}

/// Without root this program becomes itself once more, in namespaces of its own.
pub(super) fn again_inside() -> Result<()> {
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    own_namespaces(&mut command);
    Err(no_namespaces(&command.exec()))
}

/// Runs a checked scenario in real time; none: it was interrupted. Everything that was made is gone afterwards.
///
/// # Errors
/// What cannot run live, all of it with file, line and key; what the machine lacks; if `strict`, that the machine is too slow.
pub(crate) fn report_of(
    document: &Document,
    scenario: &Scenario,
    interrupted: &AtomicBool,
    strict: bool,
) -> Result<Option<Report>> {
    let _controllers = Controllers::load(scenario);
    refuse(document, scenario)?;
    ropewalk_lab::Topology::cleanup_stale();
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    let mut options = Options::new(&document.directory());
    let told = |error: LabError| located(document, error);
    let forecast = Forecast::of(scenario, &options.directory).map_err(told)?;
    if let Some(warning) = too_fast(&forecast, strict)? {
        eprintln!("ropewalk: {warning}");
    }
    options.forecast = Some(forecast);
    let run = live::Run::prepare(scenario, &options, &program).map_err(told)?;
    let bar = bar(scenario);
    let whole = scenario.duration.as_secs_f64();
    let report = run.finish(interrupted, |now| {
        bar.set_position((now.elapsed.as_secs_f64() / whole * 1000.0) as u64);
    });
    bar.finish_and_clear();
    let report = report?.map(|mut report| {
        report.provenance.file = document.file().to_owned();
        // By the build a paper's page and a sweep know their runs.
        report.provenance.version = BUILD.to_owned();
        report
    });
    Ok(report)
}

/// What cannot run, with file and line.
pub(super) fn located(document: &Document, error: LabError) -> anyhow::Error {
    match error {
        LabError::Build(build) => document.problem(&build.key, build.sentence).into(),
        other => other.into(),
    }
}

/// How often a run is made whose figures may not be used, because something else had the processor.
const TRIES: u32 = 3;

/// What to say before a scenario starts that is too fast for this machine; if `strict` that is an error.
pub(crate) fn too_fast(forecast: &Forecast, strict: bool) -> Result<Option<String>> {
    match forecast.warning() {
        Some(warning) if strict => Err(failure(Code::Invalid, warning)),
        warning => Ok(warning),
    }
}

/// Real time, as a driver of papers and sweeps. A run whose figures may not be used is made again, and is an error if that does not help.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live;

impl Driver for Live {
    fn name(&self) -> &'static str {
        "lab"
    }

    /// Runs share the processor, and with it their time.
    fn jobs(&self) -> usize {
        1
    }

    fn run(
        &self,
        document: &Document,
        scenario: &Scenario,
        interrupted: &AtomicBool,
    ) -> Result<Option<Report>> {
        let mut last = None;
        for _ in 0..TRIES {
            let report = match report_of(document, scenario, interrupted, false) {
                // A daemon that got no processor in time, say.
                Err(error) if kind_of(&error) == Code::Failure => {
                    last = Some(failed_run(&error));
                    continue;
                }
                other => other?,
            };
            let lab = report.as_ref().and_then(|r| r.provenance.lab.as_ref());
            let why = lab.map(|lab| lab.invalid.as_slice()).unwrap_or_default();
            if why.is_empty() {
                return Ok(report);
            }
            last = Some(invalid_run(why));
            if lab.is_some_and(|lab| lab.forecast.is_some_and(|share| share > 1.0)) {
                // It was said before that this machine is too slow for it.
                break;
            }
        }
        Err(last.unwrap_or_else(|| invalid_run(&[])))
    }
}

/// A run whose last try failed, too. `Invalid`: the others of its sweep go on.
fn failed_run(error: &anyhow::Error) -> anyhow::Error {
    failure(Code::Invalid, format!("{error:#}\nit was tried {TRIES} times, and there are no figures"))
}

pub(super) fn invalid_run(why: &[String]) -> anyhow::Error {
    failure(Code::Invalid, format!("the figures may not be used\n{}", why.join("\n")))
}

/// Says all that cannot run live, with file and line.
pub(super) fn refuse(document: &Document, scenario: &Scenario) -> Result<()> {
    let mut problems = live::refusals(scenario).into_iter().map(|e| document.problem(&e.key, e.sentence));
    let Some(mut first) = problems.next() else { return Ok(()) };
    problems.for_each(|more| first.list.extend(more.list));
    Err(first.into())
}

/// A bar of the scenario's time, which is real time here; nothing is drawn where nobody looks.
pub(super) fn bar(scenario: &Scenario) -> ProgressBar {
    let bar = ProgressBar::new(1000);
    let template =
        format!("{{bar:40}} {{percent}} % of {} s, {{elapsed}} so far", scenario.duration.as_secs_f64());
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// Says of each file whether it runs live, and if not, why.
pub(crate) fn check(args: &Check) -> Result<()> {
    let mut wrong = Vec::new();
    for file in &args.files {
        let document = Document::read(file);
        match document.and_then(|d| d.scenario().map(|s| (d, s))) {
            Err(problems) => wrong.push(problems.to_string()),
            Ok((_, scenario)) => {
                let refused = live::refusals(&scenario);
                let said = match &refused[..] {
                    [] => format!("runs live, {} s", scenario.duration.as_secs_f64()),
                    some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
                };
                println!("{}: {said}", file.display());
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(failure(Code::Usage, wrong.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_failed_each_time_says_its_error_first() {
        let error = anyhow::anyhow!("the gateway ended").context("`gw` cannot be started");
        let said = failed_run(&error);
        assert_eq!(kind_of(&said), Code::Invalid, "the other runs go on");
        let want =
            "`gw` cannot be started: the gateway ended\nit was tried 3 times, and there are no figures";
        assert_eq!(said.to_string(), want);
    }
}
