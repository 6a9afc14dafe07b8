//! Every key of the scenario file changes something. A key that does nothing would be a promise not kept, so each is set to another value
//! in a scenario where it matters, and the run has to come out differently.

use ropewalk_scenario::document::form;
use ropewalk_scenario::field::Form;
use ropewalk_scenario::{Document, Report};
use ropewalk_sim::Simulation;
use std::collections::BTreeSet;
use std::path::Path;

/// Keys with another value each, by the scenario that they are tried in.
const CASES: &str = include_str!("honoured.txt");

/// Keys that do not change a run, and who honours them.
const ELSEWHERE: [(&str, &str); 11] = [
    ("title", "the head of what is printed; tests/sim.rs"),
    ("measure", "the time series; tests/sim.rs"),
    ("sweep", "which runs there are; crates/scenario/tests/sweeps.rs"),
    ("expect", "what is judged; tests/sim.rs"),
    ("figure", "what is drawn; tests/sim.rs"),
    ("compare", "what is judged of two reports; crates/scenario/src/compare.rs"),
    ("node.*.radio.*.monitor", "what is captured; tests of ropewalk-sim"),
    ("node.*.interface.*.ssid", "who belongs together; crates/scenario/tests/problems.rs"),
    ("bond.*.address", "what the ends are called inside; seen in captures"),
    ("interferer.*.name", "what keys and messages call it"),
    ("bunch.*.custody", "who has to hold what is acknowledged; tests of ropewalk-pep"),
];

fn keys(form: &Form, path: &str, out: &mut BTreeSet<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match form {
        Form::Section { keys: all, .. } => all.iter().for_each(|key| keys(&key.form, &below(&key.name), out)),
        Form::Named(form) => keys(form, &below("*"), out),
        Form::Many(form) => match &**form {
            Form::One(_) => drop(out.insert(path.to_owned())),
            form => keys(form, &below("*"), out),
        },
        Form::Either(..) | Form::One(_) => drop(out.insert(path.to_owned())),
    }
}

/// What came out, without what only says where it comes from.
fn outcome(document: &Document) -> Result<Report, String> {
    let scenario = document.scenario().map_err(|e| e.to_string())?;
    let mut simulation = Simulation::new(&scenario, &document.directory()).map_err(|e| e.to_string())?;
    simulation.run();
    let mut report = simulation.report();
    let (trace, events) = (std::mem::take(&mut report.provenance.trace), report.provenance.events);
    report.provenance = Default::default();
    (report.provenance.trace, report.provenance.events) = (trace, events);
    Ok(report)
}

/// A line of the list: the schema's key, the key in the scenario, its value.
struct Case<'a> {
    base: &'a str,
    key: String,
    setting: &'a str,
}

fn cases() -> Vec<Case<'static>> {
    let mut base = "";
    let mut out = Vec::new();
    for line in CASES.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        match line.strip_prefix("in ") {
            Some(file) => base = file,
            None => {
                let (key, setting) = line.split_once(" : ").unwrap_or_else(|| panic!("{line}"));
                out.push(Case { base, key: key.trim().to_owned(), setting: setting.trim() });
            }
        }
    }
    out
}

#[test]
fn every_key_is_tried() {
    let mut all = BTreeSet::new();
    keys(form(), "", &mut all);
    let tried: BTreeSet<String> = cases().into_iter().map(|c| c.key).collect();
    let elsewhere = |key: &str| ELSEWHERE.iter().any(|(k, _)| key == *k || key.starts_with(&format!("{k}.")));
    let missing: Vec<&String> = all.iter().filter(|k| !tried.contains(*k) && !elsewhere(k)).collect();
    assert!(missing.is_empty(), "no case for {missing:#?}");
    let gone: Vec<&String> = tried.iter().filter(|k| !all.contains(*k)).collect();
    assert!(gone.is_empty(), "there are no such keys: {gone:?}");
}

#[test]
fn every_key_changes_the_run() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut wrong = Vec::new();
    let (mut base, mut before) = ("", None);
    for case in cases() {
        let document = Document::read(&directory.join(case.base)).unwrap_or_else(|e| panic!("{e}"));
        if base != case.base {
            before = Some(outcome(&document).unwrap_or_else(|e| panic!("{e}")));
            base = case.base;
        }
        let mut changed = document;
        let (setting, refused) = match case.setting.strip_prefix('!') {
            Some(setting) => (setting, true),
            None => (case.setting, false),
        };
        if let Err(error) = changed.set_text(setting) {
            wrong.push(error.to_string());
            continue;
        }
        match outcome(&changed) {
            Err(_) if refused => {}
            Err(error) => wrong.push(error),
            Ok(_) if refused => wrong.push(format!("{}: {setting} is possible", case.base)),
            Ok(report) if Some(&report) == before.as_ref() => {
                wrong.push(format!("{}: {} changes nothing", case.base, case.setting))
            }
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
