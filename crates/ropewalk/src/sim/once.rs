//! `ropewalk sim run`.

use super::{Run, figure, interrupt, output, runner, show};
use crate::exit::{Code, failure};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::verdict::{self, Verdict};
use ropewalk_sim::Simulation;
use std::fs::File;
use std::io::BufWriter;

/// Runs a scenario once.
pub(crate) fn run(args: &Run) -> Result<()> {
    let document = args.which.document()?;
    let mut scenario = document.scenario()?;
    // What is written of a run does not make it another.
    let hash = scenario.hash();
    listen(&mut scenario, &args.pcap);
    if let Some(directory) = &args.out {
        output::prepare(directory)?;
    }
    let mut simulation = runner::build(&document, &scenario)?;
    capture(args, &mut simulation)?;
    let interrupted = interrupt::watch()?;
    let bar = bar();
    let report = runner::finish(&mut simulation, &document, &interrupted, |share| {
        bar.set_position((share * 1000.0) as u64)
    });
    bar.finish_and_clear();
    let Some(mut report) = report else {
        return Err(failure(Code::Interrupted, "interrupted; nothing is written of an unfinished run"));
    };
    report.provenance.scenario = hash;
    simulation
        .end_captures()
        .map_err(|e| failure(Code::Unwritable, format!("{e}; choose another directory with --out")))?;
    let verdicts = verdict::judge(&scenario.expect, &report);
    if let Some(directory) = &args.out {
        output::write_json(&directory.join("report.json"), &report)?;
        args.format.write(directory, std::slice::from_ref(&report), &[0])?;
        figure::write_of_time(directory, &scenario, &report)?;
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => {
            let open = show::left_to_sweeps(&scenario.expect);
            print!("{}{open}", show::render(&report, &verdicts));
        }
    }
    complain(&verdicts, "")
}

/// Radios that are to be captured report what they hear.
fn listen(scenario: &mut Scenario, names: &[String]) {
    for (node, radio) in names.iter().filter_map(|name| name.split_once(':')) {
        if let Some(radio) = scenario.node.get_mut(node).and_then(|node| node.radio.get_mut(radio)) {
            radio.monitor = true;
        }
    }
}

/// Opens a file for each capture that is asked for.
fn capture(args: &Run, simulation: &mut Simulation) -> Result<()> {
    for name in &args.pcap {
        let path = args.out.clone().unwrap_or_default().join(format!("{}.pcap", name.replace(':', "-")));
        let cannot = |e| failure(Code::Unwritable, format!("{} cannot be written: {e}", path.display()));
        let file = BufWriter::new(File::create(&path).map_err(cannot)?);
        let asked = simulation.capture(name, Box::new(file));
        if let Err(error) = asked {
            let _ = std::fs::remove_file(&path);
            return Err(failure(Code::Usage, format!("--pcap {name}: {error}")));
        }
    }
    Ok(())
}

/// What did not come out as expected, as an error.
pub(crate) fn complain(verdicts: &[Verdict], place: &str) -> Result<()> {
    let failed: Vec<String> = verdicts.iter().filter(|v| !v.holds).map(|v| format!("{place}{v}")).collect();
    match failed.len() {
        0 => Ok(()),
        1 => Err(failure(Code::Unexpected, format!("an expectation does not hold\n{}", failed.join("\n")))),
        n => Err(failure(Code::Unexpected, format!("{n} expectations do not hold\n{}", failed.join("\n")))),
    }
}

/// A bar of simulated time; nothing is drawn where nobody looks.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new(1000);
    let style = ProgressStyle::with_template("{bar:40} {percent} %, {elapsed} so far, {eta} to go");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
