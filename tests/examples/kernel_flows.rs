//! The TCP and MPTCP models beside the kernel's, by scenario files: each point of a file's sweep runs once in the lab, in real time between namespaces,
//! and in the simulator; what the file's `[[compare]]` tables name is held side by side.
//!
//! ```text
//! cargo run --release -p ropewalk-tests --example kernel_flows -- kernel OUT.csv SCENARIO…   (root) adds the kernel's figures to OUT.csv
//! cargo run --release -p ropewalk-tests --example kernel_flows -- table OUT.csv              runs the model for them, and compares
//! cargo run --release -p ropewalk-tests --example kernel_flows -- page PAGE OUT.csv          the same, into a page
//! ```
//! Points that are in OUT.csv already are not run again.

use ropewalk_lab::live::{Options, Run};
use ropewalk_scenario::file::Compare;
use ropewalk_scenario::report::{Metric, Report};
use ropewalk_scenario::sweep::{Plan, Point};
use ropewalk_scenario::{Document, Scenario};
use ropewalk_sim::Simulation;
use ropewalk_tests::models::page::put_kernel;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

type R<T> = Result<T, Box<dyn std::error::Error>>;

/// The points of a scenario file's sweep.
struct Points {
    document: Document,
    plan: Plan,
}

impl Points {
    fn read(file: &str) -> R<Points> {
        let document = Document::read(Path::new(file))?;
        let plan = Plan::of(&document)?;
        Ok(Points { document, plan })
    }

    fn each(&self) -> impl Iterator<Item = (String, &Point)> {
        let name =
            |p: &Point| p.labels.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ");
        self.plan.points.iter().map(move |p| (name(p), p))
    }
}

fn live(points: &Points, scenario: &Scenario) -> R<Report> {
    let program = std::env::current_exe()?;
    let run = Run::prepare(scenario, &Options::new(&points.document.directory()), &program)?;
    let report = run.finish(&AtomicBool::new(false), |_| ())?.ok_or("nobody interrupts it")?;
    let invalid = report.provenance.lab.iter().flat_map(|lab| lab.invalid.clone()).collect::<Vec<_>>();
    if invalid.is_empty() { Ok(report) } else { Err(invalid.join("\n").into()) }
}

fn simulated(points: &Points, scenario: &Scenario) -> R<Report> {
    let mut simulation = Simulation::new(scenario, &points.document.directory())?;
    simulation.run();
    Ok(simulation.report())
}

/// The figures that the scenario wants compared, by name.
fn figures(scenario: &Scenario, report: &Report) -> R<Vec<(String, f64)>> {
    let mut all = Vec::new();
    for compare in &scenario.compare {
        for metric in compare.metric.parse::<Metric>()?.each(report) {
            all.extend(metric.value(report).map(|value| (metric.to_string(), value)));
        }
    }
    Ok(all)
}

fn kernel(out: &str, files: &[String]) -> R<()> {
    ropewalk_lab::clean_on_interrupt()?;
    ropewalk_lab::Topology::cleanup_stale();
    let done = std::fs::read_to_string(out).unwrap_or_default();
    let mut csv = std::fs::OpenOptions::new().create(true).append(true).open(out)?;
    for file in files {
        let points = Points::read(file)?;
        for (name, point) in points.each() {
            if done.contains(&format!("{file};{name};")) {
                continue;
            }
            let scenario = points.plan.scenario(point)?;
            for (metric, value) in figures(&scenario, &live(&points, &scenario)?)? {
                writeln!(csv, "{file};{name};{metric};{value:.4}")?;
            }
            println!("{file}: {name}");
        }
    }
    Ok(())
}

/// Kernel figures by file and point, in the order of the names.
type Rows = BTreeMap<(String, String), Vec<(String, f64)>>;

fn rows(path: &str) -> R<Rows> {
    let mut rows = Rows::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let cells: Vec<&str> = line.split(';').collect();
        let [file, name, metric, value] = cells[..] else {
            return Err(format!("{path}: `{line}` has not four cells").into());
        };
        let row = rows.entry((file.to_owned(), name.to_owned())).or_default();
        row.push((metric.to_owned(), value.parse()?));
    }
    Ok(rows)
}

/// How far the model may be from a kernel's figure, by the scenario's `[[compare]]`.
fn room(scenario: &Scenario, report: &Report, metric: &str, kernel: f64) -> Option<f64> {
    let about = |c: &&Compare| {
        let named = c.metric.parse::<Metric>().map(|m| m.each(report)).unwrap_or_default();
        named.iter().any(|m| m.to_string() == metric)
    };
    let compare = scenario.compare.iter().find(about)?;
    Some((kernel.abs() * compare.tolerance.0).max(compare.slack))
}

fn table(path: &str) -> R<String> {
    let mut out = String::from(
        "| scenario | point | figure | kernel | model | off | band |\n|---|---|---|---|---|---|---|\n",
    );
    let (mut inside, mut all) = (0, 0);
    for ((file, name), kernel) in rows(path)? {
        let points = Points::read(&file)?;
        let (_, point) = points.each().find(|(n, _)| *n == name).ok_or("a point of the table has gone")?;
        let scenario = points.plan.scenario(point)?;
        let report = simulated(&points, &scenario)?;
        let stem = Path::new(&file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (metric, theirs) in kernel {
            let ours = metric.parse::<Metric>()?.value(&report).ok_or("the model has no such figure")?;
            let room = room(&scenario, &report, &metric, theirs).ok_or("the scenario has no band for it")?;
            let holds = (ours - theirs).abs() <= room;
            (inside, all) = (inside + usize::from(holds), all + 1);
            let off = if theirs == 0.0 {
                String::new()
            } else {
                format!("{:+.1} %", 100.0 * (ours / theirs - 1.0))
            };
            let mark = if holds { "" } else { " **out**" };
            out += &format!(
                "| {stem} | {name} | {metric} | {theirs:.2} | {ours:.2} | {off}{mark} | ±{room:.2} |\n"
            );
        }
    }
    out += &format!("\n{inside} of {all} comparisons are within their bands.\n");
    Ok(out)
}

fn main() -> R<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["kernel", out, _, ..] => kernel(out, &args[2..]),
        ["table", out] => {
            print!("{}", table(out)?);
            Ok(())
        }
        ["page", page, out] => {
            let old = std::fs::read_to_string(page)?;
            let new = put_kernel(&old, "tcp-flows", &table(out)?).ok_or("the page has no place for it")?;
            Ok(std::fs::write(page, new)?)
        }
        _ => Err("say `kernel OUT.csv SCENARIO…`, `table OUT.csv` or `page PAGE OUT.csv`".into()),
    }
}
