//! `ropewalk lab run --virtual`: a live scenario on a real kernel whose time is counted in instructions.

use super::run::invalid_run;
use crate::exit::{Code, failure};
use crate::sim::driver::Driver;
use anyhow::{Context, Result};
use ropewalk_lab::machine::{self, Machine, Source};
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
        "virtual"
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

/// Runs a checked scenario in a machine of its own; none: it was interrupted.
///
/// # Errors
/// The emulator or a kernel is not there; what the lab inside says.
pub(crate) fn report_of(
    document: &Document,
    scenario: &Scenario,
    source: &Source,
    interrupted: &AtomicBool,
) -> Result<Option<Report>> {
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files = vec![(SCENARIO.to_owned(), document.text().into_bytes())];
    for (name, path) in document.files() {
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        files.push((name, bytes));
    }
    let words = ["lab", "run", &format!("{}/{SCENARIO}", machine::FILES), "--out"].map(str::to_owned);
    let words = [name].into_iter().chain(words).chain([format!("{}/{RESULTS}", machine::OUT)]).collect();
    let patience = PATIENCE[0].mul_f64(scenario.duration.as_secs_f64()) + PATIENCE[1];
    let machine =
        Machine { source: source.clone(), programs: vec![program], files, words, seed: scenario.seed, patience };
    let Some(ended) = machine.run(interrupted)? else { return Ok(None) };
    let Some(bytes) = ended.files.get(&Path::new(RESULTS).join("report.json")) else {
        let said = ended.said.map(|said| said.trim().to_owned()).join("\n");
        return Err(failure(Code::Failure, format!("the lab in the machine ended with {}:\n{said}", ended.status)));
    };
    let mut report: Report =
        serde_json::from_slice(bytes).context("the machine's report cannot be read")?;
    report.provenance.file = document.file().to_owned();
    if let Some(lab) = &mut report.provenance.lab {
        lab.machine = Some(format!("Linux {}, {}", ended.kernel, machine::PROCESSOR));
        lab.invalid.extend(too_slow(lab.idle, lab.forecast));
    }
    Ok(Some(report))
}

/// Why figures may not be used although packets were in time.
fn too_slow(idle: Option<f64>, forecast: Option<f64>) -> Option<String> {
    match (idle, forecast) {
        (_, Some(load)) if load > 1.0 => Some(format!(
            "the machine is too slow: moving packets alone would take {load:.1} times what its processor can do; lower the \
             rates, or run this with `ropewalk sim`"
        )),
        (Some(idle), _) if idle < IDLE => Some(format!(
            "the machine is too slow: {:.0} % of its processor's time was left, and {:.0} % are asked; lower the rates, or run \
             this with `ropewalk sim`",
            idle * 100.0,
            IDLE * 100.0
        )),
        (None, _) => Some("the machine does not say how busy it was".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_full_gives_no_figures() {
        assert_eq!(too_slow(Some(0.3), Some(0.6)), None);
        assert_eq!(too_slow(Some(0.3), None), None);
        assert!(too_slow(Some(0.05), Some(0.6)).unwrap().contains("5 % of its processor"));
        assert!(too_slow(Some(0.3), Some(1.2)).unwrap().contains("1.2 times"));
        assert!(too_slow(None, Some(0.1)).is_some());
    }
}
