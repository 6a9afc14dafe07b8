//! `ropewalk lab hwsim`: a scenario over the kernel's own Wi-Fi and the simulator's air.

use super::run::{again_inside, bar, conclude, located};
use crate::exit::{Code, failure};
use crate::reproduce::origin::BUILD;
use crate::sim::{Which, interrupt, output};
use anyhow::Result;
use clap::Args;
use ropewalk_lab::LabError;
use ropewalk_lab::live::Options;
use ropewalk_lab::live::hwsim::{HwsimReport, HwsimRun, refusals};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// `ropewalk lab hwsim`.
#[derive(Debug, Args)]
pub(crate) struct Hwsim {
    #[command(flatten)]
    pub which: Which,
    /// Seconds for access points, and then stations, to come up; the report lists who joined nobody
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub join: u64,
    /// Write report.json, a CSV file for each table, and charts into this directory; made if it is
    /// not there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs a scenario once. Everything that was made is gone afterwards.
pub(crate) fn run(args: &Hwsim) -> Result<()> {
    let document = args.which.document()?;
    let scenario = document.scenario()?;
    let mut problems = refusals(&scenario).into_iter().map(|e| document.problem(&e.key, e.sentence));
    if let Some(mut first) = problems.next() {
        problems.for_each(|more| first.list.extend(more.list));
        return Err(first.into());
    }
    if !rustix::process::geteuid().is_root() {
        return again_inside();
    }
    if let Some(directory) = &args.out {
        output::prepare(directory)?;
    }
    let interrupted = interrupt::watch()?;
    ropewalk_lab::Topology::cleanup_stale();
    let options = Options::new(&document.directory());
    let with_file = |error: LabError| located(&document, error);
    let stopped = || failure(Code::Interrupted, "interrupted; nothing is written of an unfinished run");
    let patience = Duration::from_secs(args.join);
    let run = HwsimRun::prepare(&scenario, &options, patience, &interrupted);
    if interrupted.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    let run = run.map_err(with_file)?;
    for station in run.unjoined() {
        eprintln!("ropewalk: {station} joined no access point within {} s", args.join);
    }
    let bar = bar(&scenario);
    let whole = scenario.duration.as_secs_f64();
    let report = run.finish(&interrupted, |now| {
        bar.set_position((now.elapsed.as_secs_f64() / whole * 1000.0) as u64);
    });
    bar.finish_and_clear();
    let Some(mut left) = report? else {
        return Err(stopped());
    };
    left.report.provenance.file = document.file().to_owned();
    left.report.provenance.version = BUILD.to_owned();
    conclude(&scenario, &left.report, (&left, &rates(&left)), args.out.as_deref(), args.json)
}

/// The rates that the kernels chose, and stations without an access point.
fn rates(left: &HwsimReport) -> String {
    let mut text = String::new();
    if !left.rates.is_empty() {
        text.push_str("\nrates that the kernels chose\n");
    }
    for row in &left.rates {
        let share = 100.0 * row.acknowledged as f64 / row.tries.max(1) as f64;
        let link = format!("{}>{}", row.from, row.to);
        let _ = writeln!(
            text,
            "  {link:30} {:>5} Mbit/s {:>9} tries, {share:.1} % acknowledged",
            row.mbps, row.tries
        );
    }
    for station in &left.unjoined {
        let _ = writeln!(text, "{station} joined no access point");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_lab::live::hwsim::RateRow;

    #[test]
    fn rates_have_a_line_each_and_stations_that_joined_nobody_are_told() {
        let row = |mbps, tries, acknowledged| RateRow {
            from: "sta:wlan0".into(),
            to: "ap:wlan0".into(),
            mbps,
            tries,
            acknowledged,
        };
        let report = ropewalk_scenario::report::Report::default();
        let nothing = HwsimReport { report, rates: Vec::new(), unjoined: Vec::new() };
        assert_eq!(rates(&nothing), "");
        let left = HwsimReport {
            rates: vec![row(54.0, 200, 150), row(6.0, 0, 0)],
            unjoined: vec!["far:wlan0".into()],
            ..nothing
        };
        let text = rates(&left);
        assert!(text.contains("   54 Mbit/s       200 tries, 75.0 % acknowledged\n"), "{text}");
        assert!(text.contains("    6 Mbit/s         0 tries, 0.0 % acknowledged\n"), "{text}");
        assert!(text.ends_with("far:wlan0 joined no access point\n"));
    }
}
