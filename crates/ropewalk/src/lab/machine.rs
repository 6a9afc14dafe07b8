//! `ropewalk lab run --virtual`: a live scenario on a real kernel whose time is counted in instructions.

use super::run::{invalid_run, refuse};
use crate::exit::{Code, failure};
use crate::sim::driver::Driver;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_lab::machine::{self, Ended, Machine, Source};
use ropewalk_scenario::report::Report;
use ropewalk_scenario::{Document, Scenario};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The scenario's name in the machine.
const SCENARIO: &str = "scenario.toml";
/// Below the directory of results: where the run writes.
const RESULTS: &str = "report";
/// A machine without a tenth of its time to spare is too slow for the scenario, though its packets be in time: programs
/// that send wait for the processor.
const IDLE: f64 = 0.1;
/// Time of the host for each second of the scenario, and for the rest. A busy second takes 4 to 9 s of an idle host.
const PATIENCE: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(600)];

/// Real kernels in virtual time, as a driver of papers and sweeps. Machines do not disturb each other.
#[derive(Clone, Debug)]
pub(crate) struct Virtual(pub(crate) Source);

impl Driver for Virtual {
    fn name(&self) -> &'static str {
        ropewalk_scenario::paper::VIRTUAL
    }

    fn jobs(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn run(
        &self,
        document: &Document,
        scenario: &Scenario,
        interrupted: &AtomicBool,
    ) -> Result<Option<Report>> {
        let report = report_of(document, scenario, &self.0, interrupted)?;
        let lab = report.as_ref().and_then(|r| r.provenance.lab.as_ref());
        match lab.map(|lab| &lab.invalid[..]).unwrap_or_default() {
            [] => Ok(report),
            why => Err(invalid_run(why)),
        }
    }
}

/// The same, and a line on the terminal that says for how long it has been at it.
pub(crate) fn shown_report_of(
    document: &Document,
    scenario: &Scenario,
    source: &Source,
    interrupted: &AtomicBool,
) -> Result<Option<Report>> {
    let line = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template(
        "{spinner} in virtual time, for {elapsed}; an idle host takes about half a minute and 10 s a second",
    ) {
        line.set_style(style);
    }
    line.enable_steady_tick(Duration::from_millis(200));
    let report = report_of(document, scenario, source, interrupted);
    line.finish_and_clear();
    report
}

/// Runs a checked scenario in a machine of its own; none: it was interrupted.
///
/// # Errors
/// What cannot run live, with file and line; the emulator or a kernel is not there; what the lab inside says.
pub(crate) fn report_of(
    document: &Document,
    scenario: &Scenario,
    source: &Source,
    interrupted: &AtomicBool,
) -> Result<Option<Report>> {
    refuse(document, scenario)?;
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    // What is run is the scenario: a point of a sweep, say, of which the document has the base only.
    let mut files = vec![(SCENARIO.to_owned(), scenario.canonical().into_bytes())];
    for (name, path) in document.files() {
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        files.push((name, bytes));
    }
    let (file, out) = (format!("{}/{SCENARIO}", machine::FILES), format!("{}/{RESULTS}", machine::OUT));
    let words = ["lab", "run", &file, "--strict", "--out", &out].map(str::to_owned).to_vec();
    let patience = PATIENCE[0].mul_f64(scenario.duration.as_secs_f64()) + PATIENCE[1];
    let machine = Machine { source: source.clone(), program, files, words, seed: scenario.seed, patience };
    let Some(ended) = machine.run(interrupted)? else { return Ok(None) };
    let mut report = read(&ended)?;
    report.provenance.file = document.file().to_owned();
    if let Some(lab) = &mut report.provenance.lab {
        lab.invalid.extend(too_slow(lab.idle));
        lab.machine = Some(ended.machine);
    }
    Ok(Some(report))
}

/// The report that a machine left, or what it said instead.
fn read(ended: &Ended) -> Result<Report> {
    if let Some(bytes) = ended.files.get(&Path::new(RESULTS).join("report.json")) {
        return serde_json::from_slice(bytes).context("the machine's report cannot be read");
    }
    let [_, said] = &ended.said;
    let said = said.trim().trim_start_matches("ropewalk: ");
    let code = u8::try_from(ended.status).map_or(Code::Failure, Code::from_number);
    Err(failure(code, format!("in the machine: {said} (exit code {})", ended.status)))
}

/// Why figures may not be used although packets were in time.
fn too_slow(idle: Option<f64>) -> Option<String> {
    match idle {
        Some(idle) if idle >= IDLE => None,
        Some(idle) => Some(format!(
            "the machine is too slow: {:.0} % of its processor's time was left, and {:.0} % are asked; lower the rates (one TCP flow over a cable may have some 200 Mbit/s), or \
             run this with `ropewalk sim`",
            idle * 100.0,
            IDLE * 100.0
        )),
        None => Some("the machine does not say how busy it was".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_full_gives_no_figures() {
        assert_eq!(too_slow(Some(0.3)), None);
        assert!(too_slow(Some(0.05)).unwrap().contains("5 % of its processor"));
        assert!(too_slow(None).is_some());
    }

    #[test]
    fn a_machine_without_a_report_fails_as_the_lab_inside_did() {
        let said = [String::new(), "ropewalk: this scenario is too fast for this machine\n".to_owned()];
        let ended = Ended { status: 10, machine: String::new(), files: Default::default(), said };
        let error = read(&ended).unwrap_err();
        assert_eq!(crate::exit::kind_of(&error), Code::Invalid);
        assert_eq!(
            error.to_string(),
            "in the machine: this scenario is too fast for this machine (exit code 10)"
        );
    }
}
