//! `ropewalk sim run`.

use super::{Run, figure, interrupt, output, runner, show};
use crate::exit::{Code, failure};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::verdict::{self, Verdict};
use ropewalk_sim::Simulation;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

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
    let interrupted = interrupt::watch()?;
    let directory = args.out.as_deref().unwrap_or(Path::new(""));
    let captures = Captures::begin(&args.pcap, directory, &mut simulation)?;
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
    captures.keep()?;
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

/// Capture files of a run, each beside its place until the run has ended. Those of an unfinished run go.
#[derive(Default)]
struct Captures {
    /// Where each is now, and its place.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Captures {
    /// Opens a file for each capture that is asked for.
    fn begin(names: &[String], directory: &Path, simulation: &mut Simulation) -> Result<Captures> {
        let mut captures = Captures::default();
        // A name that is given twice is one file.
        for name in names.iter().collect::<BTreeSet<_>>() {
            let file = format!("{}.pcap", name.replace(':', "-"));
            let (beside, place) = (directory.join(format!("{file}.part")), directory.join(file));
            if captures.files.iter().any(|(_, taken)| *taken == place) {
                let sentence = format!(
                    "--pcap {name}: another capture goes to {}; ask for it in another run",
                    place.display()
                );
                return Err(failure(Code::Usage, sentence));
            }
            let cannot = |e| failure(Code::Unwritable, format!("{} cannot be written: {e}", place.display()));
            let out = BufWriter::new(File::create(&beside).map_err(cannot)?);
            captures.files.push((beside, place));
            let asked = simulation.capture(name, Box::new(out));
            asked.map_err(|e| failure(Code::Usage, format!("--pcap {name}: {e}")))?;
        }
        Ok(captures)
    }

    /// Puts whole files in their places.
    fn keep(self) -> Result<()> {
        self.files.iter().try_for_each(|(beside, place)| output::rename(beside, place))
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        for (beside, _) in &self.files {
            let _ = std::fs::remove_file(beside);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;

    #[test]
    fn a_capture_is_in_its_place_once_its_run_has_ended() {
        let directory = std::env::temp_dir().join(format!("ropewalk-captures-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let text = "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\nrate = \"1Mbit/s\"\n";
        let document = Document::parse("s.toml", text).unwrap();
        let begun = |names: &[&str]| {
            let mut simulation = runner::build(&document, &document.scenario().unwrap()).unwrap();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let captures = Captures::begin(&names, &directory, &mut simulation)?;
            simulation.end_captures()?;
            anyhow::Ok(captures)
        };
        let there = || {
            let entries = std::fs::read_dir(&directory).unwrap().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let unfinished = begun(&["a:x", "b:x", "a:x"]).unwrap();
        assert_eq!(there(), ["a-x.pcap.part", "b-x.pcap.part"]);
        drop(unfinished);
        assert!(there().is_empty(), "{:?}", there());
        begun(&["a:x"]).unwrap().keep().unwrap();
        assert_eq!(there(), ["a-x.pcap"]);
        assert!(begun(&["b:x", "c:x"]).is_err(), "there is no c");
        assert_eq!(there(), ["a-x.pcap"]);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
