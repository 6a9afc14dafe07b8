//! The outcome on a terminal: a table, a picture of the cut, and one sentence.

use std::path::Path;

use console::{Style, Term};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Stylize};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};

use super::stage::Stage;
use super::{Cut, Measured, Outcome, RoundTrips, Sample};

/// Rows of the picture, and its least and greatest width.
const HEIGHT: u16 = 17;
const WIDTH: std::ops::RangeInclusive<u16> = 60..=100;
/// Colours of link A, link B and the bond; of the cut.
const COLOURS: [Color; 3] = [Color::Yellow, Color::Blue, Color::Green];
const CUT_COLOUR: Color = Color::Red;

/// What is to be seen, before anything is measured.
pub(super) fn begin(stage: &Stage, file: &str, links: &[String; 2]) {
    stage.say(&format!("link A: {}\nlink B: {}", links[0], links[1]));
    stage.say(&format!("gateway$ ropewalk serve …    client$ ropewalk up TOKEN …    as {file} has it\n"));
}

/// Round trips in a table.
fn ms(of: Option<RoundTrips>, value: fn(RoundTrips) -> f64) -> String {
    of.map_or("none back".to_owned(), |r| format!("{:.0} ms", value(r)))
}

/// A line for one way.
pub(super) fn way(name: &str, way: &Measured) -> String {
    format!(
        "{name:<14}{:5.1} Mb/s   ping {:>6} idle, {:>6} beside the flow (99 % under {})",
        way.goodput_mbps,
        ms(way.idle, |r| r.mean_ms),
        ms(way.loaded, |r| r.mean_ms),
        ms(way.loaded, |r| r.p99_ms),
    )
}

/// A line for the flow that lost a link.
pub(super) fn cut(cut: &Cut) -> String {
    let [before, during, after] = cut.mbps;
    format!(
        "{:<14}{before:5.1} Mb/s, without link A {during:.1}, in the end {after:.1}; longest pause {:.2} s",
        "link A cut",
        cut.pause.as_secs_f64()
    )
}

/// All of it.
pub(super) fn outcome(outcome: &Outcome, svg: &Path) {
    println!("\n{}", table(outcome));
    println!("{}", picture(&outcome.cut));
    println!("{}\n", sentence(outcome));
    for why in &outcome.invalid {
        println!("These figures do not mean much: {why}.");
    }
    println!("The picture is in {}.", svg.display());
}

fn table(outcome: &Outcome) -> String {
    let bold = Style::new().bold();
    let mut rows = vec![["", "goodput", "ping: idle", "under load", "99 % of them"].map(String::from)];
    let names = [
        format!("link A alone ({})", outcome.links[0]),
        format!("link B alone ({})", outcome.links[1]),
        "the bond of both".to_owned(),
    ];
    rows.extend(names.into_iter().zip(&outcome.ways).map(|(name, way)| row(name, way)));
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let lines = rows.iter().enumerate().map(|(n, row)| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
        });
        let line: String = cells.collect();
        if n == 0 || n == 3 { bold.apply_to(line).to_string() } else { line }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn row(name: String, way: &Measured) -> [String; 5] {
    let goodput = format!("{:.1} Mb/s", way.goodput_mbps);
    let mean = |of| ms(of, |r| r.mean_ms);
    [name, goodput, mean(way.idle), mean(way.loaded), ms(way.loaded, |r| r.p99_ms)]
}

/// What it showed, in the figures of this run.
pub(super) fn sentence(outcome: &Outcome) -> String {
    let [a, b, bond] = [0, 1, 2].map(|i| outcome.ways[i].goodput_mbps);
    let cut = &outcome.cut;
    let back = match cut.recovered_s {
        Some(seconds) => format!("had its old speed again {seconds:.1} s after link A came back"),
        None => format!("was at {:.1} Mb/s in the end, after link A came back", cut.mbps[2]),
    };
    format!(
        "One TCP flow over the bond moved {bond:.1} Mb/s, {:.0} % of the {:.1} Mb/s that such a flow gets on the \
         two links one by one; when link A went dead in mid-transfer it paused for {:.2} s, went on at {:.1} Mb/s, \
         and {back}.",
        100.0 * bond / (a + b),
        a + b,
        cut.pause.as_secs_f64(),
        cut.mbps[1],
    )
}

/// The flow that lost a link, over time.
fn picture(cut: &Cut) -> String {
    let line = |of: fn(&Sample) -> f64| cut.samples.iter().map(|s| (s.at_s, of(s))).collect::<Vec<_>>();
    let curves = [line(|s| s.links_mbps[0]), line(|s| s.links_mbps[1]), line(|s| s.delivered_mbps)];
    let (end, top) = bounds(cut);
    let marks = [cut.cut_s, cut.back_s].map(|at| [(at, 0.0), (at, top)]);
    let mut sets: Vec<Dataset<'_>> = marks.iter().map(|mark| dataset(mark).fg(CUT_COLOUR)).collect();
    sets.extend(curves.iter().zip(COLOURS).map(|(curve, colour)| dataset(curve).fg(colour)));
    let seconds = |n: u32| format!("{:.0}", end * f64::from(n) / 6.0);
    let mbps = |n: u32| format!("{:.0}", top * f64::from(n) / 4.0);
    let x = Axis::default().bounds([0.0, end]).labels((0..=6).map(seconds)).title("s");
    let y = Axis::default().bounds([0.0, top]).labels((0..=4).map(mbps)).title("Mb/s");
    let area = Rect::new(0, 0, Term::stdout().size().1.clamp(*WIDTH.start(), *WIDTH.end()), HEIGHT);
    let mut buffer = Buffer::empty(area);
    Chart::new(sets).x_axis(x).y_axis(y).legend_position(None).render(area, &mut buffer);
    let rows = buffer.content().chunks(area.width.into());
    let rows = rows.map(|row| row.iter().map(coloured).collect::<String>().trim_end().to_owned());
    rows.chain([legend()]).map(|row| row + "\n").collect()
}

fn legend() -> String {
    let names = ["link A carries", "link B carries", "the bond delivers"].into_iter().zip(COLOURS);
    let all = names.chain([("link A goes dead and comes back", CUT_COLOUR)]);
    let entry = |(name, colour)| format!("{} {name}", style(colour).apply_to("━━"));
    format!("   {}", all.map(entry).collect::<Vec<_>>().join("   "))
}

/// The last second, and a round figure above the highest rate.
pub(super) fn bounds(cut: &Cut) -> (f64, f64) {
    let rates = cut.samples.iter().flat_map(|s| [s.delivered_mbps, s.links_mbps[0], s.links_mbps[1]]);
    let top = rates.fold(1.0, f64::max) * 1.1;
    let round = 4.0 * 10f64.powf((top / 4.0).log10().floor());
    (cut.samples.last().map_or(1.0, |s| s.at_s), (top / round).ceil() * round)
}

fn dataset(points: &[(f64, f64)]) -> Dataset<'_> {
    Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).data(points)
}

/// A cell as a terminal takes it.
fn coloured(cell: &Cell) -> String {
    match cell.fg {
        Color::Reset => cell.symbol().to_owned(),
        colour => style(colour).apply_to(cell.symbol()).to_string(),
    }
}

fn style(colour: Color) -> Style {
    match colour {
        Color::Yellow => Style::new().yellow(),
        Color::Blue => Style::new().blue(),
        Color::Green => Style::new().green(),
        Color::Red => Style::new().red(),
        _ => Style::new(),
    }
}
