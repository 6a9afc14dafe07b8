//! The page of a paper.

use super::origin::Origin;
use super::{Results, charts, outcomes};
use ropewalk_scenario::paper::file::{Claim, ClaimKind, Run};
use ropewalk_scenario::paper::formula::{self, Value};
use ropewalk_scenario::paper::{LAB, Outcome, Paper, Reported, VIRTUAL};
use ropewalk_scenario::sweep::label_of;
use std::fmt::Write;

/// A column of figures.
pub(super) struct Column {
    /// The driver's name, by which its results are kept.
    pub name: &'static str,
    /// What the page calls it.
    pub title: &'static str,
    /// Where its figures are from, in a sentence.
    pub place: &'static str,
}

/// What can make figures.
pub(super) const DRIVERS: [Column; 3] = [
    Column { name: "sim", title: "simulator", place: "in the simulator" },
    Column { name: LAB, title: "lab", place: "in the lab" },
    Column { name: VIRTUAL, title: "kernel, virtual time", place: "on a kernel in virtual time" },
];

/// The columns of a page: virtual time has one only where it was run.
pub(super) fn columns(results: &Results) -> Vec<&'static Column> {
    DRIVERS.iter().filter(|column| column.name != VIRTUAL || results.any(VIRTUAL)).collect()
}

/// Who made a page, when, where, and whether in a hurry.
pub(super) struct Made {
    origin: Origin,
    date: String,
    machine: String,
    quick: bool,
}

impl Made {
    /// A page of today.
    pub(super) fn now(origin: Origin, quick: bool) -> Made {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(": "));
        let machine = format!("{cores} cores, {}", model.map_or("unknown processor", |m| m.1));
        Made { origin, date: jiff::Zoned::now().date().to_string(), machine, quick }
    }
}

/// One row for each formula: rows that say the same of the same figure are one piece of evidence. A
/// row that differs stands for its equals.
fn distinct<'a>(all: Vec<(&'a Claim, Outcome)>) -> Vec<(&'a Claim, Outcome)> {
    let mut kept: Vec<(&'a Claim, Outcome)> = Vec::new();
    for (claim, outcome) in all {
        let same = kept.iter_mut().find(|(c, _)| claim.value.is_some() && c.value == claim.value);
        match same {
            None => kept.push((claim, outcome)),
            Some(known) if matches!(outcome, Outcome::Differs(..)) => *known = (claim, outcome),
            Some(_) => {}
        }
    }
    kept
}

/// The page, in Markdown.
pub(super) fn render(paper: &Paper, name: &str, results: &Results, made: &Made) -> String {
    let (file, quick) = (&paper.file, made.quick);
    let how = if quick { " --quick" } else { "" };
    let mut out = format!(
        "<!-- Made by `ropewalk reproduce {name}{how}`; do not edit. What is said beside figures stands in scenarios/{name}/paper.toml. -->\n\
         <!-- Origin: {}, {}, {} -->\n\n\
         # {name}: {}\n\n{}\n\n",
        made.origin,
        made.date,
        made.machine,
        file.title,
        file.citation.trim()
    );
    let _ = write!(
        out,
        "{}\n\nAll figures are made by `ropewalk reproduce {name}{how}`",
        summary(paper, results)
    );
    let _ = writeln!(
        out,
        ", version {}, on {} on a machine with {}.{}{}",
        made.origin.build,
        made.date,
        made.machine,
        lab(paper, results),
        rough(quick)
    );
    if !file.about.trim().is_empty() {
        let _ = write!(out, "\n{}\n", file.about.trim());
    }
    tables(&mut out, paper, results);
    claims(&mut out, paper, results);
    past(&mut out, paper, results);
    reasons(&mut out, paper, results);
    settings(&mut out, paper);
    plots(&mut out, paper, name, results);
    scenarios(&mut out, paper, name);
    out
}

/// How the lab's runs were set, and in what machine its time was virtual.
fn lab(paper: &Paper, results: &Results) -> String {
    let mut said = String::new();
    if !paper.file.lab.is_empty() && (results.any(LAB) || results.any(VIRTUAL)) {
        let settings = paper.file.lab.join("`, `");
        let _ = write!(said, " Runs of the lab take real time: they had `{settings}`");
        said.push_str(if results.any(VIRTUAL) { ", and so had those in virtual time." } else { "." });
    }
    if let Some(machine) = results.machine() {
        let _ = write!(said, " Virtual time is that of {machine}.");
    }
    said
}

fn rough(quick: bool) -> &'static str {
    if quick { " **Runs were cut short: figures are rough.**" } else { "" }
}

/// How many of the paper's claims turned out how, a sentence for each driver.
pub(super) fn summary(paper: &Paper, results: &Results) -> String {
    let sentence = |column: &&Column| {
        if !results.any(column.name) {
            return format!("The {} was not run.", column.title);
        }
        let claims = paper.file.claim.iter().zip(outcomes(paper, results, column.name));
        let all: Vec<(&Claim, Outcome)> = claims.filter(|(claim, _)| !claim.own).collect();
        let rows = all.len();
        let all = distinct(all);
        let count = |of: fn(&Outcome) -> bool| all.iter().filter(|(_, o)| of(o)).count();
        // What could not have come out otherwise is no evidence, and is counted apart.
        let holds = |word: &str| {
            let is = |(c, o): &&(&Claim, Outcome)| matches!(o, Outcome::Reproduced(_)) && holding(c) == word;
            all.iter().filter(is).count()
        };
        let parts = [
            (holds(REPRODUCED), REPRODUCED),
            (count(|o| matches!(o, Outcome::Differs(..))), "differ"),
            (count(|o| matches!(o, Outcome::NotRun)), "not run"),
            (count(|o| matches!(o, Outcome::Missing(_))), "not possible here yet"),
            (count(|o| matches!(o, Outcome::WithoutRadios(_))), "not reproducible without radios"),
            (count(|o| matches!(o, Outcome::Setting(_))), "parts of the setup"),
            (holds(FITTED), FITTED),
            (holds(ARITHMETIC), ARITHMETIC),
            (holds(CONTROL), "controls that hold"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|p| p.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let repeated = match rows - all.len() {
            0 => String::new(),
            n => format!(" ({n} more rows repeat a formula)"),
        };
        format!("Of {} claims{repeated}, {}: {}.", all.len(), column.place, parts.join(", "))
    };
    columns(results).iter().map(sentence).collect::<Vec<_>>().join(" ")
}

const REPRODUCED: &str = "reproduced";
const FITTED: &str = "fitted";
const ARITHMETIC: &str = "arithmetic";
const CONTROL: &str = "control, holds";

/// What it is worth that a claim's figure is in its band.
fn holding(claim: &Claim) -> &'static str {
    match claim.kind {
        _ if claim.is_arithmetic() => ARITHMETIC,
        ClaimKind::Measured => REPRODUCED,
        ClaimKind::Fitted => FITTED,
        ClaimKind::Control => CONTROL,
    }
}

/// A figure as the page writes it.
pub(super) fn figure(value: f64) -> String {
    if value.is_nan() {
        // A mean over runs of a kind that never came.
        return "no such run".into();
    }
    // Three digits are what a measurement is worth.
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize };
    format!("{value:.digits$}")
}

fn cell(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Reproduced(value) => figure(*value),
        Outcome::Differs(value, _) => format!("**{}**", figure(*value)),
        Outcome::NotRun => "not run".into(),
        Outcome::Setting(_) | Outcome::Missing(_) | Outcome::WithoutRadios(_) => "–".into(),
    }
}

fn word(claim: &Claim, outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Reproduced(_) => holding(claim),
        Outcome::Differs(_, Some(_)) => "differs, see below",
        Outcome::Differs(_, None) => "differs, unexplained",
        Outcome::NotRun => "not run",
        Outcome::Missing(_) => "not possible here yet",
        Outcome::Setting(_) => "setup",
        Outcome::WithoutRadios(_) => "not reproducible without radios",
    }
}

/// One verdict of all drivers that ran.
fn verdict(claim: &Claim, outcomes: &[Outcome]) -> String {
    let word = |outcome: &Outcome| word(claim, outcome);
    let ran: Vec<(&Column, &Outcome)> =
        DRIVERS.iter().zip(outcomes).filter(|(_, o)| !matches!(o, Outcome::NotRun)).collect();
    match &ran[..] {
        [] => "not run".into(),
        [first, rest @ ..] if rest.iter().all(|(_, o)| word(o) == word(first.1)) => word(first.1).into(),
        all => all.iter().map(|(c, o)| format!("{}: {}", c.title, word(o))).collect::<Vec<_>>().join("; "),
    }
}

/// A text in a cell of a table.
fn safe(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// What was reported, with its unit if it is a number.
fn reported(claim: &Claim) -> String {
    match claim.reported() {
        Some(Reported::Words(text)) => safe(&text),
        Some(number) => format!("{number} {}", claim.unit).trim_end().to_owned(),
        None => String::new(),
    }
}

/// All claims with the outcome under each driver.
fn each<'a>(paper: &'a Paper, results: &Results) -> Vec<(&'a Claim, Vec<Outcome>)> {
    let by: Vec<Vec<Outcome>> = columns(results).iter().map(|d| outcomes(paper, results, d.name)).collect();
    let claims = paper.file.claim.iter().enumerate();
    claims.map(|(i, claim)| (claim, by.iter().map(|all| all[i].clone()).collect())).collect()
}

/// A whole number as it is: most are counts of runs.
fn counted(value: f64) -> String {
    let is_whole = (value - value.round()).abs() < 1e-9;
    if is_whole { format!("{:.0}", value.round()) } else { figure(value) }
}

/// Tables are of the simulator: each seed and each case is cheap there.
fn tables(out: &mut String, paper: &Paper, results: &Results) {
    let driver = DRIVERS[0].name;
    let series = |name: &str| paper.series(name, driver, &|run| results.of(driver, run));
    for table in &paper.file.table {
        let first = table.row.iter().flat_map(|row| &row.value).next();
        let labels = first.map(|value| paper.labels(value)).unwrap_or_default();
        let _ = write!(out, "\n## {}\n\n", table.title.trim());
        if !table.about.trim().is_empty() {
            let _ = write!(out, "{}\n\n", table.about.trim());
        }
        let _ = writeln!(out, "| {} | {} |", safe(&table.corner), labels.join(" | "));
        let _ = writeln!(out, "|{}", "---|".repeat(labels.len() + 1));
        for row in &table.row {
            let values: Vec<_> = row.value.iter().map(|v| formula::evaluate(v, &series).ok()).collect();
            let cell = |place: usize| {
                let figures = values.iter().map(|value| match value {
                    Some(Value::Many(many)) => many.get(place).map_or("–".into(), |m| counted(m.1)),
                    _ => "not run".into(),
                });
                figures.collect::<Vec<String>>().join(" / ")
            };
            let cells: Vec<String> = (0..labels.len()).map(cell).collect();
            let _ = writeln!(out, "| {} | {} |", safe(&row.title), cells.join(" | "));
        }
    }
}

fn claims(out: &mut String, paper: &Paper, results: &Results) {
    out.push_str("\n## Claims\n\nA figure in bold is outside its band.\n\n");
    head(out, results, ["where", "reported"]);
    rows(out, paper, results, false);
}

/// What the paper does not say.
fn past(out: &mut String, paper: &Paper, results: &Results) {
    if paper.file.claim.iter().any(|c| c.own) {
        out.push_str(
            "\n## Past the paper\n\nWhat the paper does not say, and is asked of what is built here.\n\n",
        );
        head(out, results, ["asked by", "asked"]);
        rows(out, paper, results, true);
    }
}

/// The head of a table of claims; `words` say where a claim stands and what a figure is held against.
fn head(out: &mut String, results: &Results, [place, reported]: [&str; 2]) {
    let columns: Vec<&str> = columns(results).iter().map(|column| column.title).collect();
    let _ =
        writeln!(out, "| claim | {place} | what | {reported} | band | {} | verdict |", columns.join(" | "));
    let _ = writeln!(out, "|{}", "---|".repeat(6 + columns.len()));
}

fn rows(out: &mut String, paper: &Paper, results: &Results, own: bool) {
    for (claim, mut outcomes) in each(paper, results) {
        if claim.setting.is_some() || claim.own != own {
            continue;
        }
        let mut cells: Vec<String> = outcomes.iter().map(cell).collect();
        if claim.is_arithmetic() {
            // What is worked out is no figure of the lab.
            outcomes[1..].fill(Outcome::NotRun);
            cells[0].push_str(" (worked out)");
            cells[1..].fill("–".to_owned());
        }
        let reported = reported(claim);
        let band = claim.band().map(|b| b.to_string()).unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {reported} | {band} | {} | {} |",
            claim.id,
            safe(&claim.place),
            safe(&claim.what),
            cells.join(" | "),
            verdict(claim, &outcomes)
        );
    }
}

fn reasons(out: &mut String, paper: &Paper, results: &Results) {
    let mut lines = String::new();
    for (claim, outcomes) in each(paper, results) {
        // What is worked out is no figure of the lab.
        let drivers = if claim.is_arithmetic() { 1 } else { DRIVERS.len() };
        for (column, outcome) in DRIVERS.iter().zip(&outcomes).take(drivers) {
            let (said, reason) = match outcome {
                Outcome::Differs(value, reason) => (
                    format!("{} {}", figure(*value), column.place),
                    reason.as_deref().unwrap_or("Nobody knows yet."),
                ),
                Outcome::Missing(what) if column.name == "sim" => {
                    ("not possible here yet".into(), what.as_str())
                }
                Outcome::WithoutRadios(reason) if column.name == "sim" => {
                    ("not reproducible without radios".into(), reason.as_str())
                }
                _ => continue,
            };
            let (id, what, reported) = (&claim.id, &claim.what, reported(claim));
            let by = if claim.own { "asked" } else { "in the paper" };
            let _ = writeln!(lines, "* **{id}**, {what}: {reported} {by}, {said}. {}", reason.trim());
        }
    }
    if !lines.is_empty() {
        let _ = write!(out, "\n## What differs, and why\n\n{lines}");
    }
}

fn settings(out: &mut String, paper: &Paper) {
    let all: Vec<&Claim> = paper.file.claim.iter().filter(|c| c.setting.is_some()).collect();
    if all.is_empty() {
        return;
    }
    out.push_str("\n## What is part of the setup\n\n| claim | where | what | in the paper | here |\n|---|---|---|---|---|\n");
    for claim in all {
        let reported = reported(claim);
        let setting = safe(claim.setting.as_deref().unwrap_or_default());
        let (place, what) = (safe(&claim.place), safe(&claim.what));
        let _ = writeln!(out, "| {} | {place} | {what} | {reported} | {setting} |", claim.id);
    }
}

fn plots(out: &mut String, paper: &Paper, name: &str, results: &Results) {
    if !paper.file.plot.is_empty() {
        let _ = writeln!(out, "\n## Charts\n\n{}", charts::legend(charts::has_reported(paper), results));
    }
    for plot in &paper.file.plot {
        let _ = write!(out, "\n![{}]({name}/{}.svg)\n", plot.title, plot.name);
    }
}

fn scenarios(out: &mut String, paper: &Paper, name: &str) {
    out.push_str("\n## Scenarios\n\n");
    // Where the lab makes the simulator's runs there is nothing to say of it.
    let differs = paper.file.run.iter().any(|run| !run.lab.only.is_empty() || run.lab.skip.is_some());
    out.push_str(match differs {
        true => "| run | file | runs | in the lab | title |\n|---|---|---|---|---|\n",
        false => "| run | file | runs | title |\n|---|---|---|---|\n",
    });
    for (run, said) in paper.runs.iter().zip(&paper.file.run) {
        let (file, runs, title) = (&said.scenario, run.plan.points.len(), safe(&run.plan.base.title));
        let live = paper.live.iter().find(|live| live.name == run.name).map(|live| live.plan.points.len());
        let live = live.map_or("–".to_owned(), |runs| runs.to_string());
        let live = if differs { format!(" {live} |") } else { String::new() };
        let _ = writeln!(
            out,
            "| {} | [`{file}`](../../scenarios/{name}/{file}) | {runs} |{live} {title} |",
            run.name
        );
    }
    out.push_str("\nThe formulas by which claims are worked out of these runs stand beside the claims in ");
    let _ = writeln!(out, "[`paper.toml`](../../scenarios/{name}/paper.toml).");
    for run in &paper.file.run {
        if let Some(said) = in_the_lab(run) {
            let _ = write!(out, "\n* **{}** in the lab: {said}", run.name);
        }
    }
    if differs {
        out.push('\n');
    }
}

/// What the lab does otherwise with a run; none if nothing.
fn in_the_lab(run: &Run) -> Option<String> {
    let lab = &run.lab;
    if let Some(reason) = &lab.skip {
        return Some(format!("not run. {}", reason.trim()));
    }
    let of = |(axis, labels): (&String, &Vec<_>)| {
        let labels: Vec<String> = labels.iter().map(label_of).collect();
        format!("`{axis}` {}", labels.join(", "))
    };
    let only: Vec<String> = lab.only.iter().map(of).collect();
    let only = (!only.is_empty()).then(|| format!("only {}.", only.join("; ")));
    let set = (!lab.set.is_empty()).then(|| format!("Set: `{}`.", lab.set.join("`, `")));
    let said: Vec<String> = only.into_iter().chain(set).chain(lab.note.clone()).collect();
    (!said.is_empty()).then(|| said.join(" "))
}
