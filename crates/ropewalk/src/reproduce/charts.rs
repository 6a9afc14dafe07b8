//! The charts of a paper: what was reported beside what came out, each driver in a stroke of its own.

use super::{Results, page};
use crate::sim::figure::{self, Chart, Dot, Line, Stroke};
use anyhow::Result;
use ropewalk_scenario::paper::formula::{self, Value, label_number};
use ropewalk_scenario::paper::{LAB, Paper, VIRTUAL, file};
use std::path::Path;

/// Draws all charts.
pub(super) fn write(paper: &Paper, results: &Results, directory: &Path) -> Result<()> {
    for plot in &paper.file.plot {
        let mut drawing = Drawing { labels: labels(paper, plot), lines: Vec::new() };
        for (colour, line) in plot.line.iter().enumerate() {
            drawing.reported(paper, line, colour);
            for driver in page::DRIVERS.iter().filter(|d| results.any(d.name)) {
                let series = |name: &str| {
                    let value = paper.series(name, driver.name, &|run| results.of(driver.name, run))?;
                    Ok(undilated(paper, driver.name, name, value))
                };
                if let Ok(Value::Many(values)) = formula::evaluate(&line.value, &series) {
                    let name = format!("{}, {}", line.title, driver.title);
                    drawing.line(name, &values, colour, stroke(driver.name));
                }
            }
        }
        let names = drawing.places().is_none().then(|| drawing.labels.clone());
        let chart = Chart { title: &plot.title, x: &plot.x, y: plot.y.clone(), lines: drawing.lines, names };
        figure::write_chart(directory, &plot.name, &chart)?;
    }
    Ok(())
}

/// Times of a run whose air is slower are told as of one that is not, as its figures are.
fn undilated(paper: &Paper, driver: &str, name: &str, value: Value) -> Value {
    let series = paper.file.series.iter().find(|s| s.name == name && s.over.as_deref() == Some("time"));
    let run = series.and_then(|series| paper.runs_of(driver).iter().find(|r| r.name == series.run));
    let dilation = run.map_or(1.0, |run| f64::from(run.plan.base.medium.time_dilation));
    match value {
        Value::Many(values) if dilation > 1.0 => {
            Value::Many(values.into_iter().map(|(label, y)| (earlier(label, dilation), y)).collect())
        }
        value => value,
    }
}

/// So many times earlier, a label such as `0.8s`.
fn earlier(label: String, dilation: f64) -> String {
    label_number(&label).map_or(label, |seconds| format!("{}s", seconds / dilation))
}

/// The stroke of a driver's lines.
fn stroke(driver: &str) -> Stroke {
    match driver {
        LAB => Stroke::Long,
        VIRTUAL => Stroke::Crossed,
        _ => Stroke::Solid,
    }
}

/// Whether any chart has figures of the paper itself.
pub(super) fn has_reported(paper: &Paper) -> bool {
    paper.file.plot.iter().flat_map(|plot| &plot.line).any(|line| !line.reported.is_empty())
}

/// Whose lines have which stroke, in sentences.
pub(super) fn legend(has_reported: bool, results: &Results) -> String {
    if !results.any(LAB) && !results.any(VIRTUAL) {
        let reported = if has_reported { "Dashed, with open marks: the paper. " } else { "" };
        return format!("{reported}Solid: here.");
    }
    let drivers = page::DRIVERS.iter().filter(|driver| results.any(driver.name));
    let drivers = drivers.map(|driver| format!("{}: {}.", words(stroke(driver.name)), driver.place));
    let reported = has_reported.then(|| format!("{}: the paper.", words(Stroke::Short)));
    reported.into_iter().chain(drivers).collect::<Vec<String>>().join(" ")
}

fn words(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Solid => "Solid, with dots",
        Stroke::Long => "In long dashes, with triangles",
        Stroke::Crossed => "In long dashes, with crosses",
        Stroke::Short => "In short dashes, with open circles",
    }
}

struct Drawing {
    /// Labels along the x axis.
    labels: Vec<String>,
    lines: Vec<Line>,
}

impl Drawing {
    /// The labels as numbers, if all are, of one unit.
    fn places(&self) -> Option<Vec<f64>> {
        figure::places(&self.labels)
    }

    fn line(&mut self, name: String, values: &[(String, f64)], colour: usize, stroke: Stroke) {
        let is_scale = self.places().is_some();
        let dot = |(label, y): &(String, f64)| {
            // On a scale a driver that ran fewer points may have places of its own: shares of eight are no shares of thirty.
            let x = match is_scale {
                true => label_number(label)?,
                false => self.labels.iter().position(|l| l == label)? as f64,
            };
            Some(Dot { x, mean: *y, least: *y, most: *y })
        };
        let dots = values.iter().filter_map(dot).collect();
        self.lines.push(Line { name, dots, colour, stroke });
    }

    fn reported(&mut self, paper: &Paper, line: &file::Line, colour: usize) {
        let number = |(label, id): (&String, &String)| {
            let claim = paper.file.claim.iter().find(|c| c.id == *id)?;
            Some((label.clone(), claim.reported()?.number()?))
        };
        let values: Vec<(String, f64)> = line.reported.iter().filter_map(number).collect();
        if !values.is_empty() {
            self.line(format!("{}, paper", line.title), &values, colour, Stroke::Short);
        }
    }
}

/// All labels that any line of a plot has, in the order of their axes.
fn labels(paper: &Paper, plot: &file::Plot) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for line in &plot.line {
        for label in paper.labels(&line.value) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::report::Report;

    #[test]
    fn times_of_a_slower_air_are_told_as_of_full_rate() {
        assert_eq!(earlier("0.8s".to_owned(), 8.0), "0.1s");
        assert_eq!(earlier("80s".to_owned(), 8.0), "10s");
    }

    #[test]
    fn only_times_of_a_slower_air_become_others() {
        let paper = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/004");
        let paper = Paper::read(Path::new(paper), true).unwrap();
        let many = |label: &str| Value::Many(vec![(label.to_owned(), 1.0)]);
        assert_eq!(undilated(&paper, LAB, "ideal_mbps_60", many("0.8s")), many("0.1s"));
        assert_eq!(undilated(&paper, "sim", "ideal_mbps_60", many("0.8s")), many("0.8s"));
        // What the receiver takes is no time.
        assert_eq!(undilated(&paper, LAB, "buffer_mptcp", many("2MB")), many("2MB"));
    }

    #[test]
    fn the_legend_names_the_stroke_of_each_driver_that_ran() {
        let of = |has_reported: bool, drivers: &[&'static str]| {
            let mut results = Results::default();
            for driver in drivers {
                results.0.insert((*driver, "run".to_owned()), vec![Report::default()]);
            }
            // A directory without a finished run is no run.
            results.0.insert((VIRTUAL, "other".to_owned()), Vec::new());
            legend(has_reported, &results)
        };
        assert_eq!(of(true, &["sim"]), "Dashed, with open marks: the paper. Solid: here.");
        assert_eq!(of(false, &["sim"]), "Solid: here.");
        assert_eq!(
            of(true, &["sim", LAB]),
            "In short dashes, with open circles: the paper. Solid, with dots: in the simulator. \
             In long dashes, with triangles: in the lab."
        );
        assert_eq!(
            of(false, &["sim", VIRTUAL]),
            "Solid, with dots: in the simulator. \
             In long dashes, with crosses: on a kernel in virtual time."
        );
    }
}
