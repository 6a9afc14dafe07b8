//! `ropewalk compare`: two reports of a scenario side by side, and whether they agree.

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
    /// Show also figures that no band is about
    #[arg(long)]
    pub all: bool,
}

/// Prints the comparison.
pub(crate) fn run(args: &Compare) -> Result<()> {
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let pairs = pairs(&first, &second);
    print!("{}", render([&first, &second], &pairs, args.all));
    let invalid = [&first, &second].into_iter().filter_map(|r| r.provenance.lab.as_ref());
    let invalid: Vec<&str> = invalid.flat_map(|lab| lab.invalid.iter().map(String::as_str)).collect();
    if !invalid.is_empty() {
        return Err(failure(Code::Invalid, format!("figures that may not be used\n{}", invalid.join("\n"))));
    }
    let apart: Vec<&str> =
        pairs.iter().filter(|p| p.agrees() == Some(false)).map(|p| p.metric.as_str()).collect();
    match apart.len() {
        0 => Ok(()),
        n => Err(failure(Code::Unexpected, format!("{n} of the figures are apart: {}", apart.join(", ")))),
    }
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
    format!("{}, seed {}", if p.lab.is_some() { "lab" } else { "simulator" }, p.seed)
}

fn render(reports: [&Report; 2], pairs: &[Pair], all: bool) -> String {
    let [a, b] = reports.map(|r| &r.provenance);
    let title = if a.title.is_empty() { &a.file } else { &a.title };
    let mut out = format!("{title}: A is {}; B is {}\n", name(reports[0]), name(reports[1]));
    if a.scenario != b.scenario {
        out.push_str("A and B are not of the same scenario, or of other settings of it.\n");
    }
    let head = ["figure", "A", "B", "B/A", "band", ""].map(str::to_owned).to_vec();
    let shown = pairs.iter().filter(|p| all || p.agrees().is_some());
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(shown.map(line)).collect();
    out.push('\n');
    out.push_str(&aligned(&lines));
    out
}

fn line(pair: &Pair) -> Vec<String> {
    let value = |v: Option<f64>| v.map_or("-".to_owned(), round);
    let verdict = match pair.agrees() {
        Some(true) => "agrees",
        Some(false) => "APART",
        None => "",
    };
    let ratio = pair.ratio().map_or(String::new(), |r| format!("{r:.3}"));
    let [a, b] = pair.values.map(value);
    vec![pair.metric.clone(), a, b, ratio, pair.band_text(), verdict.to_owned()]
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
        let (a, b) = (report(20.0, None), report(17.5, Some(LabTime::default())));
        let text = render([&a, &b], &pairs(&a, &b), true);
        let want = "\
two: A is simulator, seed 7; B is lab, seed 7

figure                   A      B    B/A      band
flow.down.goodput_mbps  20  17.50  0.875  18 to 22  APART
flow.down.rtt_ms         4      4  1.000
";
        let trimmed = |t: &str| t.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&text), trimmed(want), "\n{text}");
    }
}
