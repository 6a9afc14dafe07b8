//! `ropewalk sim run --seeds`: a scenario with several seeds, and what chance makes of each figure.

use super::{Run, driver, interrupt, show};
use crate::exit::{Code, failure};
use anyhow::Result;
use driver::{Driver, Simulator};
use ropewalk_scenario::report::{Report, Row, TableVisitor};
use ropewalk_scenario::verdict::{self, round};
use ropewalk_scenario::{Document, Scenario};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Runs a scenario with `seeds` seeds and prints mean and standard error of what every flow and
/// station got.
pub(super) fn run(args: &Run, seeds: u32) -> Result<()> {
    let document = args.which.document()?;
    let scenario = document.scenario()?;
    let interrupted = interrupt::watch()?;
    let reports = reports(&document, &scenario, seeds, &interrupted)?;
    let Some(reports) = reports else {
        return Err(failure(Code::Interrupted, "interrupted; nothing is printed of unfinished runs"));
    };
    print!("{}{}", render(&reports), show::left_to_sweeps(&scenario.expect));
    let judged = reports.iter().flat_map(|report| {
        let place = format!("seed {}: ", report.provenance.seed);
        verdict::judge(&scenario.expect, report).into_iter().map(move |v| (place.clone(), v))
    });
    let failed: Vec<String> =
        judged.filter(|(_, v)| !v.holds).map(|(place, v)| format!("{place}{v}")).collect();
    match failed.len() {
        0 => Ok(()),
        n => Err(failure(
            Code::Unexpected,
            format!("expectations that do not hold: {n}\n{}", failed.join("\n")),
        )),
    }
}

/// All runs in the order of their seeds, made on all cores; none if interrupted.
fn reports(
    document: &Document,
    scenario: &Scenario,
    seeds: u32,
    interrupted: &AtomicBool,
) -> Result<Option<Vec<Report>>> {
    let next = AtomicU32::new(0);
    let done: Mutex<Vec<(u32, Result<Option<Report>>)>> = Mutex::new(Vec::new());
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= seeds {
            return;
        }
        let seed = scenario.seed.wrapping_add(u64::from(number));
        let report = with_seed(document, scenario, seed)
            .and_then(|(document, own)| Simulator.run(&document, &own, interrupted));
        done.lock().unwrap_or_else(|broken| broken.into_inner()).push((number, report));
    };
    std::thread::scope(|scope| {
        for _ in 0..Simulator.jobs().min(seeds as usize) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|broken| broken.into_inner());
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, report)| report).collect()
}

/// The scenario with another seed, as `--seed` gives it: places that chance decides are drawn anew.
fn with_seed(document: &Document, scenario: &Scenario, seed: u64) -> Result<(Document, Scenario)> {
    if seed == scenario.seed {
        return Ok((document.clone(), scenario.clone()));
    }
    let mut document = document.clone();
    document.set_text(&format!("seed={seed}"))?;
    let scenario = document.scenario()?;
    Ok((document, scenario))
}

fn render(reports: &[Report]) -> String {
    let Some(first) = reports.first() else { return String::new() };
    let p = &first.provenance;
    let title = if p.title.is_empty() { &p.file } else { &p.title };
    let counted = p.duration_s - p.warmup_s;
    let last = reports.last().map_or(p.seed, |r| r.provenance.seed);
    let mut out = format!(
        "{title}: {counted} s counted of {} s, mean ± standard error of seeds {} to {last}\n",
        p.duration_s, p.seed
    );
    let mut names = Names(Vec::new());
    first.visit(&mut names);
    for table in 0..names.0.len() {
        let mut all = Vec::new();
        for report in reports {
            let mut numbers = Numbers { wanted: table, seen: 0, rows: Vec::new() };
            report.visit(&mut numbers);
            all.push(numbers.rows);
        }
        let _ = write!(out, "{}", of_table(&names.0[table], &all));
    }
    out
}

/// Name and columns of each table.
struct Names(Vec<(&'static str, Vec<&'static str>)>);

impl TableVisitor for Names {
    fn table<R: Row>(&mut self, _: &[R]) {
        self.0.push((R::TABLE, R::NUMBERS.iter().map(|c| c.name).collect()));
    }
}

/// A row's name and its figures.
type Figures = (String, Vec<Option<f64>>);

/// The figures of one table of a report, by row.
struct Numbers {
    wanted: usize,
    seen: usize,
    rows: Vec<Figures>,
}

impl TableVisitor for Numbers {
    fn table<R: Row>(&mut self, rows: &[R]) {
        if self.seen == self.wanted {
            self.rows = rows.iter().map(|row| (row.name().to_owned(), row.numbers())).collect();
        }
        self.seen += 1;
    }
}

/// A table of all runs; a row that a run has not, or a figure, is left out of that mean.
fn of_table((name, columns): &(&'static str, Vec<&'static str>), runs: &[Vec<Figures>]) -> String {
    let Some(rows) = runs.first().filter(|rows| !rows.is_empty() && !show::QUIET.contains(name)) else {
        return String::new();
    };
    let of = |row: &str, column: usize| -> Vec<f64> {
        let same = runs.iter().filter_map(|run| run.iter().find(|(name, _)| name == row));
        same.filter_map(|(_, numbers)| numbers[column]).collect()
    };
    let says = |column: usize| rows.iter().any(|(row, _)| of(row, column).iter().any(|n| *n != 0.0));
    let shown: Vec<usize> = (0..columns.len()).filter(|column| says(*column)).collect();
    let head = [(*name).to_owned()].into_iter().chain(shown.iter().map(|c| columns[*c].to_owned()));
    let mut lines: Vec<Vec<String>> = vec![head.collect()];
    for (row, _) in rows {
        let cells = shown.iter().map(|column| mean_and_error(&of(row, *column)));
        lines.push([row.clone()].into_iter().chain(cells).collect());
    }
    format!("\n{}", show::aligned(&lines))
}

/// `27.9 ± 0.02`: the mean, and its standard error s/√n, where there is more than one.
fn mean_and_error(values: &[f64]) -> String {
    let n = values.len() as f64;
    if values.is_empty() {
        return "-".to_owned();
    }
    let mean = values.iter().sum::<f64>() / n;
    if values.len() == 1 {
        return round(mean);
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{} ± {}", round(mean), round((variance / n).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::{mean_and_error, with_seed};
    use ropewalk_scenario::Document;

    #[test]
    fn the_standard_error_is_the_samples_deviation_over_the_root_of_their_number() {
        // Mean 5, sample variance 20/3, error √(20/12).
        assert_eq!(mean_and_error(&[2.0, 4.0, 6.0, 8.0]), "5 ± 1.291");
        assert_eq!(mean_and_error(&[3.0, 3.0]), "3 ± 0");
        assert_eq!(mean_and_error(&[3.0]), "3");
        assert_eq!(mean_and_error(&[]), "-");
    }

    #[test]
    fn each_seed_draws_its_own_places() {
        let text = "duration = \"1s\"\n[node.a]\nwithin = [[0, 0], [100, 100]]\n";
        let document = Document::parse("s.toml", text).unwrap();
        let scenario = document.scenario().unwrap();
        let at = |seed: u64| {
            let (_, own) = with_seed(&document, &scenario, seed).unwrap();
            assert_eq!(own.seed, seed);
            let place = &own.node["a"].position;
            (place.x_m, place.y_m)
        };
        assert_eq!(at(scenario.seed), (scenario.node["a"].position.x_m, scenario.node["a"].position.y_m));
        assert_ne!(at(scenario.seed), at(scenario.seed + 1));
        assert_eq!(at(7), at(7));
    }
}
