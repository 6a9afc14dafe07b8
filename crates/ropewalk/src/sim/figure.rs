//! Charts: a figure over an axis of a sweep, or over time.

use super::output;
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use ropewalk_scenario::Scenario;
use ropewalk_scenario::document::fits;
use ropewalk_scenario::file::Figure;
use ropewalk_scenario::paper::formula::label_number;
use ropewalk_scenario::report::{Aggregate, Metric, Report};
use ropewalk_scenario::sweep::Plan;
use std::path::Path;

/// Of the plot; the names of its lines stand to its right.
const SIZE: (u32, u32) = (800, 480);
/// From one name to the next, and above the first.
const NAME: i32 = 18;
const ABOVE: i32 = 50;
/// Where a name begins, behind its mark; a letter's width at most.
const BEHIND: i32 = 44;
const LETTER: u32 = 7;
const INK: RGBColor = RGBColor(60, 60, 60);
/// Colours that the colour-blind tell apart (Okabe and Ito).
static COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

/// A value with the least and the largest of its seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dot {
    /// Where to the right.
    pub x: f64,
    /// The value.
    pub mean: f64,
    /// The least of its seeds.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// What the legend calls it.
    pub name: String,
    /// Its places, from left to right.
    pub dots: Vec<Dot>,
    /// Which of the colours.
    pub colour: usize,
    /// Whose figures they are.
    pub stroke: Stroke,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// Solid, with dots: the simulator's, or the only ones.
    Solid,
    /// In long dashes, with triangles: the lab's.
    Long,
    /// In long dashes, with crosses: a kernel's in virtual time.
    Crossed,
    /// In short dashes, with open circles: not measured here.
    Short,
}

/// A chart before it is drawn.
pub(crate) struct Chart<'a> {
    /// What it says above.
    pub title: &'a str,
    /// What goes to the right.
    pub x: &'a str,
    /// What goes up.
    pub y: String,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Names along the x axis where they are no numbers.
    pub names: Option<Vec<String>>,
}

/// Draws the charts over time of a run.
pub(crate) fn write_of_time(directory: &Path, scenario: &Scenario, report: &Report) -> Result<()> {
    for figure in scenario.figure.iter().filter(|f| f.x == "time") {
        let lines = over_time(figure, report);
        write(
            directory,
            figure,
            scenario,
            Chart { title: "", x: "seconds", y: String::new(), lines, names: None },
        )?;
    }
    Ok(())
}

/// Draws the charts over axes of a sweep; returns the files' names.
pub(crate) fn write_of_sweep(directory: &Path, plan: &Plan, reports: &[Report]) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for figure in plan.base.figure.iter().filter(|f| f.x != "time") {
        let Some(scale) = plan.scales.iter().find(|s| s.name == figure.x) else { continue };
        let labels: Vec<String> = scale.steps.iter().map(|s| s.0.clone()).collect();
        let numbers = places(&labels);
        let by = figure.by.as_ref().and_then(|by| plan.scales.iter().find(|s| s.name == *by));
        let by: Vec<Option<&str>> =
            by.map_or(vec![None], |s| s.steps.iter().map(|s| Some(s.0.as_str())).collect());
        let mut lines = Vec::new();
        for metric in &figure.y {
            for label in &by {
                let place = |i: usize| numbers.as_ref().map_or(i as f64, |n| n[i]);
                let at = |(i, x): (usize, &String)| dot(figure, reports, metric, (x, *label), place(i));
                let dots = labels.iter().enumerate().filter_map(at).collect();
                let colour = lines.len();
                lines.push(Line { name: name(figure, metric, *label), dots, colour, stroke: Stroke::Solid });
            }
        }
        let names = numbers.is_none().then_some(labels);
        write(
            directory,
            figure,
            &plan.base,
            Chart { title: "", x: &figure.x, y: String::new(), lines, names },
        )?;
        written.push(format!("{}.svg", figure.name));
    }
    Ok(written)
}

/// Where labels are on a scale: their numbers, if all have the same unit. `500us` and `1ms`, or
/// `11a` and `11n`, are names.
pub(crate) fn places(labels: &[String]) -> Option<Vec<f64>> {
    let is_alike = labels.windows(2).all(|two| unit(&two[0]) == unit(&two[1]));
    let numbers: Option<Vec<f64>> = labels.iter().map(|label| label_number(label)).collect();
    numbers.filter(|_| is_alike)
}

/// What is behind the number that a label begins with.
fn unit(label: &str) -> &str {
    label.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

fn name(figure: &Figure, metric: &str, by: Option<&str>) -> String {
    match (by, figure.y.len()) {
        (None, _) => metric.to_owned(),
        (Some(label), 1) => label.to_owned(),
        (Some(label), _) => format!("{metric}, {label}"),
    }
}

/// One place of a line: all runs with these labels, whatever their seeds and other axes.
fn dot(
    figure: &Figure,
    reports: &[Report],
    metric: &str,
    (x_label, by): (&str, Option<&str>),
    x: f64,
) -> Option<Dot> {
    let metric: Metric = metric.parse().ok()?;
    let has = |report: &Report, axis: &str, label: &str| {
        report.provenance.point.iter().any(|(a, l)| a == axis && l == label)
    };
    let fits = |report: &&Report| {
        has(report, &figure.x, x_label)
            && by.is_none_or(|label| has(report, figure.by.as_deref().unwrap_or_default(), label))
    };
    let values: Vec<f64> = reports.iter().filter(fits).filter_map(|report| metric.value(report)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (least, most) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
    Some(Dot { x, mean, least, most })
}

fn over_time(figure: &Figure, report: &Report) -> Vec<Line> {
    let wanted: Vec<Metric> = figure.y.iter().filter_map(|text| text.parse().ok()).collect();
    let is = |column: &str| {
        let Ok(metric) = column.parse::<Metric>() else { return false };
        wanted
            .iter()
            .any(|w| w.table == metric.table && w.column == metric.column && fits(&w.row, &metric.row))
    };
    let line = |(i, column): (usize, &String)| {
        let x = |row: usize| output::end_of(row, report.series.interval_s);
        let dot = |(row, values): (usize, &Vec<Option<f64>>)| {
            values.get(i).copied().flatten().map(|v| Dot { x: x(row), mean: v, least: v, most: v })
        };
        let dots = report.series.rows.iter().enumerate().filter_map(dot).collect();
        Line { name: column.clone(), dots, colour: 0, stroke: Stroke::Solid }
    };
    let mut lines: Vec<Line> =
        report.series.columns.iter().enumerate().filter(|(_, column)| is(column)).map(line).collect();
    lines.iter_mut().enumerate().for_each(|(i, line)| line.colour = i);
    lines
}

fn write(directory: &Path, figure: &Figure, scenario: &Scenario, chart: Chart<'_>) -> Result<()> {
    let title = figure.title.as_deref().unwrap_or(&scenario.title);
    write_chart(directory, &figure.name, &Chart { title, y: upwards(figure), ..chart })
}

/// What goes up: the columns, whose names say their units, each once.
fn upwards(figure: &Figure) -> String {
    let mut columns: Vec<String> = Vec::new();
    for metric in figure.y.iter().filter_map(|text| text.parse::<Metric>().ok()) {
        // An index of fairness has no unit. Over time it is the single rows that are drawn.
        let is_index = metric.aggregate == Some(Aggregate::Jain) && figure.x != "time";
        let column = if is_index { "jain".to_owned() } else { metric.column };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns.join(", ")
}

/// Draws a chart into `NAME.svg`.
pub(crate) fn write_chart(directory: &Path, name: &str, chart: &Chart<'_>) -> Result<()> {
    let mut svg = String::new();
    draw(chart, &mut svg).map_err(|e| anyhow!("the chart {name} cannot be drawn: {e}"))?;
    output::write(&directory.join(format!("{name}.svg")), svg.as_bytes())
}

type Graph<'a, 's> = ChartContext<'a, SVGBackend<'s>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A line with its marks, and bars where seeds differ.
fn draw_line(graph: &mut Graph<'_, '_>, line: &Line) -> Drawn {
    let colour = COLOURS[line.colour % COLOURS.len()];
    let places = line.dots.iter().map(|d| (d.x, d.mean));
    let (thick, thin) = (colour.stroke_width(2), colour.stroke_width(1));
    // Over time there are too many dots to mark; seeds that differ show as a bar.
    let marked = line.dots.iter().filter(|_| line.dots.len() <= 40).map(|d| (d.x, d.mean));
    match line.stroke {
        Stroke::Solid => {
            graph.draw_series(LineSeries::new(places, thick))?;
            graph.draw_series(marked.map(|at| Circle::new(at, 3, colour.filled())))?;
        }
        Stroke::Long => {
            graph.draw_series(DashedLineSeries::new(places, 10, 5, thick))?;
            graph.draw_series(marked.map(|at| TriangleMarker::new(at, 5, colour.filled())))?;
        }
        Stroke::Crossed => {
            graph.draw_series(DashedLineSeries::new(places, 10, 5, thin))?;
            graph.draw_series(marked.map(|at| Cross::new(at, 4, thick)))?;
        }
        Stroke::Short => {
            graph.draw_series(DashedLineSeries::new(places, 5, 4, thin))?;
            graph.draw_series(marked.map(|at| Circle::new(at, 3, thin)))?;
        }
    }
    let apart = line.dots.iter().filter(|d| d.most > d.least);
    graph.draw_series(
        apart.map(|d| PathElement::new([(d.x, d.least), (d.x, d.most)], colour.stroke_width(1))),
    )?;
    Ok(())
}

/// A number as axes have room for: three decimals at most, and large ones in thousands or millions.
fn short(number: f64) -> String {
    let (unit, suffix) = match number.abs() {
        large if large >= 1e6 => (1e6, "M"),
        large if large >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{}{suffix}", (number / unit * 1000.0).round() / 1000.0)
}

/// The names of all lines, each behind its mark.
fn draw_names(area: &DrawingArea<SVGBackend<'_>, Shift>, lines: &[Line]) -> Drawn {
    let font = ("sans-serif", 14).into_font().color(&INK);
    for (line, y) in lines.iter().zip((ABOVE..).step_by(NAME as usize)) {
        let colour = COLOURS[line.colour % COLOURS.len()];
        let (thick, thin) = (colour.stroke_width(2), colour.stroke_width(1));
        let (style, dashes): (_, &[(i32, i32)]) = match line.stroke {
            Stroke::Solid => (thick, &[(0, 36)]),
            Stroke::Long => (thick, &[(0, 11), (25, 36)]),
            Stroke::Crossed => (thin, &[(0, 11), (25, 36)]),
            Stroke::Short => (thin, &[(0, 4), (7, 11), (25, 29), (32, 36)]),
        };
        for (from, to) in dashes {
            area.draw(&PathElement::new([(*from, y), (*to, y)], style))?;
        }
        match line.stroke {
            Stroke::Solid => area.draw(&Circle::new((18, y), 3, colour.filled()))?,
            Stroke::Long => area.draw(&TriangleMarker::new((18, y), 5, colour.filled()))?,
            Stroke::Crossed => area.draw(&Cross::new((18, y), 4, thick))?,
            Stroke::Short => area.draw(&Circle::new((18, y), 3, thin))?,
        }
        area.draw(&Text::new(line.name.as_str(), (BEHIND, y - 6), font.clone()))?;
    }
    Ok(())
}

/// The whole picture: as wide as the longest name asks, and as high as their number.
fn size(lines: &[Line]) -> (u32, u32) {
    let letters = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0) as u32;
    let names = (ABOVE + NAME * lines.len() as i32).unsigned_abs();
    (SIZE.0 + BEHIND.unsigned_abs() + LETTER * letters, SIZE.1.max(names))
}

fn draw(chart: &Chart<'_>, svg: &mut String) -> Drawn {
    let canvas = SVGBackend::with_string(svg, size(&chart.lines)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let (plot, names) = canvas.split_horizontally(SIZE.0);
    let dots = || chart.lines.iter().flat_map(|line| &line.dots);
    let (left, right) = dots().fold((f64::MAX, f64::MIN), |(a, b), d| (a.min(d.x), b.max(d.x)));
    let top = dots().map(|d| d.most).fold(0.0, f64::max);
    let bottom = dots().map(|d| d.least).fold(0.0, f64::min);
    let span = if top > bottom { top - bottom } else { 1.0 };
    let head = bottom + span * 1.05;
    let pad = if right > left { (right - left) * 0.03 } else { 0.5 };
    let (left, right) = if left > right { (0.0, 1.0) } else { (left - pad, right + pad) };
    let mut graph = ChartBuilder::on(&plot)
        .caption(chart.title, ("sans-serif", 18).into_font().color(&INK))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(left..right, bottom..head)?;
    let small = ("sans-serif", 14).into_font().color(&INK);
    let text = |x: &f64| match &chart.names {
        Some(names) if x.fract() == 0.0 => names.get(*x as usize).cloned().unwrap_or_default(),
        Some(_) => String::new(),
        None => short(*x),
    };
    graph
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.1))
        .axis_style(INK)
        .x_desc(if chart.x == "time" { "time, s" } else { chart.x })
        .y_desc(&chart.y)
        .x_labels(chart.names.as_ref().map_or(10, |n| 2 * n.len()))
        .x_label_formatter(&text)
        .y_label_formatter(&|y| short(*y))
        .label_style(small.clone())
        .axis_desc_style(small)
        .draw()?;
    for line in &chart.lines {
        draw_line(&mut graph, line)?;
    }
    drop(graph);
    draw_names(&names, &chart.lines)?;
    canvas.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(labels: &[&str]) -> Option<Vec<f64>> {
        places(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn labels_are_on_a_scale_if_they_have_one_unit() {
        assert_eq!(placed(&["10ms", "50ms", "2.5ms"]), Some(vec![10.0, 50.0, 2.5]));
        assert_eq!(placed(&["1", "3", "11"]), Some(vec![1.0, 3.0, 11.0]));
        // 500 µs would be to the right of 20 ms, and all standards of 802.11 at one place.
        assert_eq!(placed(&["500us", "20ms"]), None);
        assert_eq!(placed(&["11a-54", "11n-MCS7", "11ac-80MHz-MCS9"]), None);
        assert_eq!(placed(&["off", "on"]), None);
    }

    #[test]
    fn numbers_on_axes_are_short() {
        let numbers = [0.0, 2.5, 0.1 + 0.2, -30.0, 9_500.0, 250_000.0, 4_500_000.0];
        assert_eq!(numbers.map(short), ["0", "2.5", "0.3", "-30", "9500", "250k", "4.5M"]);
    }

    #[test]
    fn every_name_has_a_place_beside_the_plot() {
        let line = |name: String| Line { name, dots: Vec::new(), colour: 0, stroke: Stroke::Solid };
        let lines: Vec<Line> = (0..40).map(|n| line(format!("line number {n}"))).collect();
        let (mut few, mut many) = (String::new(), String::new());
        let chart = |lines| Chart { title: "title", x: "x", y: "y".into(), lines, names: None };
        draw(&chart(vec![line("alone".into())]), &mut few).unwrap();
        draw(&chart(lines), &mut many).unwrap();
        assert!(few.contains("width=\"879\" height=\"480\"") && few.contains("alone"), "{few}");
        assert!(many.contains("width=\"942\" height=\"770\"") && many.contains("line number 39"), "{many}");
    }

    #[test]
    fn an_axis_names_every_column_that_goes_up() {
        let figure = |x: &str, y: &[&str]| Figure {
            name: "f".into(),
            title: None,
            x: x.into(),
            y: y.iter().map(|text| (*text).to_owned()).collect(),
            by: None,
        };
        let both = ["flow.load.goodput_mbps", "flow.ping.rtt_ms", "sum(flow.*.goodput_mbps)"];
        assert_eq!(upwards(&figure("hops", &both)), "goodput_mbps, rtt_ms");
        assert_eq!(upwards(&figure("hops", &["jain(flow.*.goodput_mbps)"])), "jain");
        assert_eq!(upwards(&figure("time", &["jain(flow.*.goodput_mbps)"])), "goodput_mbps");
    }
}
