//! The commands that try networks out: simulator, lab and papers. A router's program is built
//! without them (feature `lab`).

use crate::exit::Code;
use clap::Subcommand;
use ropewalk_lab::LabError;
use ropewalk_net::hwsim::HwsimError;
use ropewalk_net::wifi::WifiError;
use ropewalk_scenario::Problems;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Experiment {
    /// Simulate a scenario in virtual time
    Sim(crate::sim::Sim),
    /// Run a scenario live, in network namespaces
    Lab(crate::lab::Lab),
    /// Compare two or three reports of a scenario
    Compare(crate::compare::Compare),
    /// Run the scenarios of a paper and compare with its figures
    Reproduce(crate::reproduce::Reproduce),
}

/// Does what the command line says.
pub(crate) fn run(experiment: Experiment) -> anyhow::Result<()> {
    match experiment {
        Experiment::Sim(args) => crate::sim::run(&args),
        Experiment::Lab(args) => crate::lab::run(&args),
        Experiment::Compare(args) => crate::compare::run(&args),
        Experiment::Reproduce(args) => crate::reproduce::run(&args),
    }
}

/// Pages of the reference by file name.
pub(crate) fn pages() -> Vec<(&'static str, String)> {
    let mut pages = vec![
        ("paper.md", ropewalk_scenario::reference::paper_page()),
        ("scenario.md", ropewalk_scenario::reference::page()),
    ];
    pages.extend(tables());
    pages
}

/// The page of what `--format parquet` writes, where it is built in.
#[cfg(feature = "parquet")]
fn tables() -> Option<(&'static str, String)> {
    Some(("tables.md", ropewalk_table::page()))
}

#[cfg(not(feature = "parquet"))]
fn tables() -> Option<(&'static str, String)> {
    None
}

/// What kind of failure an error of theirs is.
pub(crate) fn code_of(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if error.is::<Problems>() {
        return Some(Code::Usage);
    }
    error.downcast_ref().map(lab_code)
}

fn lab_code(error: &LabError) -> Code {
    match error {
        LabError::NotRoot | LabError::NoTun | LabError::TunForbidden => Code::Rights,
        LabError::Hwsim(HwsimError::NoModule | HwsimError::NotPermitted(_)) => Code::Rights,
        LabError::LabRuns(_) | LabError::Hwsim(HwsimError::Taken) => Code::Taken,
        LabError::Wifi(WifiError::NotPermitted(_) | WifiError::Blocked(_)) => Code::Rights,
        LabError::NoLab | LabError::NoSuchLab { .. } => Code::NotRunning,
        LabError::Build(_)
        | LabError::LabName(_)
        | LabError::WhichLab(_)
        | LabError::NoNode { .. }
        | LabError::Refused(_)
        | LabError::InterfaceName(_) => Code::Usage,
        _ => Code::Failure,
    }
}
