//! `ropewalk compare`: two or three reports of a scenario side by side, and whether they agree.

use crate::exit::{Code, failure};
use crate::sim::show::aligned;
use anyhow::Result;
use clap::Args;
use ropewalk_scenario::compare::{Pair, pairs};
use ropewalk_scenario::report::Report;
use ropewalk_scenario::verdict::round;
use std::path::{Path, PathBuf};

/// `ropewalk compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The first report: report.json, or the directory that `--out` wrote it to
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// The second; it is judged by the bands that A's scenario gives
    #[arg(value_name = "B")]
    pub second: PathBuf,
    /// A third, judged in the same way
    #[arg(value_name = "C")]
    pub third: Option<PathBuf>,
    /// Show also figures that no band is about
    #[arg(long)]
    pub all: bool,
}

/// What reports are called.
const NAMES: [&str; 3] = ["A", "B", "C"];

/// Prints the comparison.
pub(crate) fn run(args: &Compare) -> Result<()> {
    let paths = [&args.first, &args.second].into_iter().chain(&args.third);
    let reports: Vec<Report> = paths.map(|path| read(path)).collect::<Result<_>>()?;
    let rows = rows(&reports);
    print!("{}", render(&reports, &rows, args.all));
    let invalid = reports.iter().filter_map(|r| r.provenance.lab.as_ref());
    let invalid: Vec<&str> = invalid.flat_map(|lab| lab.invalid.iter().map(String::as_str)).collect();
    if !invalid.is_empty() {
        return Err(failure(Code::Invalid, format!("figures that may not be used\n{}", invalid.join("\n"))));
    }
    let apart: Vec<&str> = rows.iter().filter(|r| !r.apart().is_empty()).map(|r| r.metric.as_str()).collect();
    match apart.len() {
        0 => Ok(()),
        n => Err(failure(Code::Unexpected, format!("{n} of the figures are apart: {}", apart.join(", ")))),
    }
}

/// A figure of the first report beside that of each other one; none where neither of the two has it.
struct Row {
    metric: String,
    pairs: Vec<Option<Pair>>,
}

impl Row {
    /// The reports that are farther from the first than the band allows.
    fn apart(&self) -> Vec<&'static str> {
        let is_apart = |pair: &Option<Pair>| pair.as_ref().and_then(Pair::agrees) == Some(false);
        NAMES[1..].iter().zip(&self.pairs).filter(|(_, p)| is_apart(p)).map(|(name, _)| *name).collect()
    }

    fn is_judged(&self) -> bool {
        self.pairs.iter().flatten().any(|pair| pair.agrees().is_some())
    }
}

/// All figures of the first two, then what only the third has.
fn rows(reports: &[Report]) -> Vec<Row> {
    let [first, others @ ..] = reports else { return Vec::new() };
    let mut rows: Vec<Row> = Vec::new();
    for (place, other) in others.iter().enumerate() {
        for pair in pairs(first, other) {
            let known = rows.iter().position(|row| row.metric == pair.metric);
            let known = known.unwrap_or_else(|| {
                rows.push(Row { metric: pair.metric.clone(), pairs: vec![None; others.len()] });
                rows.len() - 1
            });
            rows[known].pairs[place] = Some(pair);
        }
    }
    rows
}

/// A report from its file or its directory.
fn read(path: &Path) -> Result<Report> {
    let file = if path.is_dir() { path.join("report.json") } else { path.to_owned() };
    let cannot = |why: String| failure(Code::Usage, format!("{} is no report: {why}", file.display()));
    let bytes = std::fs::read(&file)
        .map_err(|e| cannot(format!("{e}; `ropewalk sim run` and `lab run` write one with --out DIR")))?;
    serde_json::from_slice(&bytes).map_err(|e| cannot(e.to_string()))
}

/// How a report is called: what made it, and of which seed.
fn name(report: &Report) -> String {
    let p = &report.provenance;
    let driver = match &p.lab {
        None => "simulator",
        Some(lab) if lab.machine.is_some() => "lab in virtual time",
        Some(_) => "lab",
    };
    format!("{driver}, seed {}", p.seed)
}

fn render(reports: &[Report], rows: &[Row], all: bool) -> String {
    let first = &reports[0].provenance;
    let title = if first.title.is_empty() { &first.file } else { &first.title };
    let is = |(letter, report): (&&str, &Report)| format!("{letter} is {}", name(report));
    let names: Vec<String> = NAMES.iter().zip(reports).map(is).collect();
    let mut out = format!("{title}: {}\n", names.join("; "));
    for (letter, report) in NAMES.iter().zip(reports).skip(1) {
        if report.provenance.scenario != first.scenario {
            out.push_str(&format!(
                "A and {letter} are not of the same scenario, or of other settings of it.\n"
            ));
        }
    }
    let letters = &NAMES[..reports.len()];
    let ratios = letters[1..].iter().map(|letter| format!("{letter}/A"));
    let head =
        std::iter::once("figure".to_owned()).chain(letters.iter().map(|l| (*l).to_owned())).chain(ratios);
    let head: Vec<String> = head.chain(["band".to_owned(), String::new()]).collect();
    let shown = rows.iter().filter(|row| all || row.is_judged());
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(shown.map(line)).collect();
    out.push('\n');
    out.push_str(&aligned(&lines));
    out
}

fn line(row: &Row) -> Vec<String> {
    let value = |v: Option<f64>| v.map_or("-".to_owned(), round);
    let apart = row.apart();
    let verdict = match (row.is_judged(), &apart[..]) {
        (false, _) => String::new(),
        (_, []) => "agrees".to_owned(),
        (_, _) if row.pairs.len() == 1 => "APART".to_owned(),
        (_, some) => format!("{} APART", some.join(", ")),
    };
    let first = row.pairs.iter().flatten().next();
    let second = |pair: &Option<Pair>| value(pair.as_ref().and_then(|p| p.values[1]));
    let ratio = |pair: &Option<Pair>| {
        pair.as_ref().and_then(Pair::ratio).map_or(String::new(), |r| format!("{r:.3}"))
    };
    let mut cells = vec![row.metric.clone(), value(first.and_then(|p| p.values[0]))];
    cells.extend(row.pairs.iter().map(second));
    cells.extend(row.pairs.iter().map(ratio));
    cells.extend([first.map(Pair::band_text).unwrap_or_default(), verdict]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::report::{Band, FlowRow, LabTime, Provenance};

    fn report(goodput_mbps: f64, lab: Option<LabTime>) -> Report {
        Report {
            provenance: Provenance { title: "two".into(), seed: 7, lab, ..Provenance::default() },
            bands: vec![Band { metric: "flow.*.goodput_mbps".into(), tolerance: 0.1, slack: 0.0 }],
            flow: vec![FlowRow {
                name: "down".into(),
                goodput_mbps,
                rtt_ms: Some(4.0),
                ..FlowRow::default()
            }],
            ..Report::default()
        }
    }

    #[test]
    fn a_comparison_reads_like_this() {
        let reports = [report(20.0, None), report(17.5, Some(LabTime::default()))];
        let text = render(&reports, &rows(&reports), true);
        let want = "\
two: A is simulator, seed 7; B is lab, seed 7

figure                   A      B    B/A      band
flow.down.goodput_mbps  20  17.50  0.875  18 to 22  APART
flow.down.rtt_ms         4      4  1.000
";
        assert_eq!(trimmed(&text), trimmed(want), "\n{text}");
    }

    fn trimmed(text: &str) -> String {
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_third_report_is_held_against_the_first() {
        let machine = LabTime { machine: Some("Linux 6.1".into()), ..LabTime::default() };
        let mut reports =
            [report(20.0, None), report(17.5, Some(LabTime::default())), report(19.0, Some(machine))];
        // What only the third has.
        reports[2].flow[0].stalls = Some(2);
        let text = render(&reports, &rows(&reports), true);
        let want = "\
two: A is simulator, seed 7; B is lab, seed 7; C is lab in virtual time, seed 7

figure                   A      B   C    B/A    C/A      band
flow.down.goodput_mbps  20  17.50  19  0.875  0.950  18 to 22  B APART
flow.down.rtt_ms         4      4   4  1.000  1.000
flow.down.stalls         -      -   2
";
        assert_eq!(trimmed(&text), trimmed(want), "\n{text}");
    }
}
