//! The picture in an SVG file: what each link carried and what the bond delivered while link A was cut.

use std::io;
use std::path::Path;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::show::bounds;
use super::{Outcome, Sample};
use crate::{LabError, Result};

const SIZE: (u32, u32) = (960, 480);
const MARGIN: u32 = 16;
const Y_LABELS: u32 = 56;
const LINK_A: RGBColor = RGBColor(230, 159, 0);
const LINK_B: RGBColor = RGBColor(86, 180, 233);
const BOND: RGBColor = RGBColor(0, 90, 70);
const CUT: RGBColor = RGBColor(190, 30, 45);
const INK: RGBColor = RGBColor(60, 60, 60);

type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Graph<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn<T = ()> = std::result::Result<T, DrawingAreaErrorKind<io::Error>>;

/// Draws the outcome into `file`.
pub(super) fn write(outcome: &Outcome, file: &Path) -> Result<()> {
    let what = || format!("draw {}", file.display());
    if let Some(directory) = file.parent().filter(|d| !d.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(LabError::kernel(what()))?;
    }
    let mut svg = String::new();
    draw(outcome, &SVGBackend::with_string(&mut svg, SIZE).into_drawing_area())
        .map_err(|error| LabError::Kernel { what: what(), source: io::Error::other(error.to_string()) })?;
    std::fs::write(file, svg).map_err(LabError::kernel(what()))
}

fn draw(outcome: &Outcome, canvas: &Canvas<'_>) -> Drawn {
    canvas.fill(&WHITE)?;
    let cut = &outcome.cut;
    let (end, top) = bounds(cut);
    let mut graph = ChartBuilder::on(canvas)
        .margin(MARGIN)
        .margin_top(64)
        .x_label_area_size(44)
        .y_label_area_size(Y_LABELS)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    axes(&mut graph)?;
    areas(&mut graph, &cut.samples)?;
    graph
        .draw_series(LineSeries::new(
            cut.samples.iter().map(|s| (s.at_s, s.delivered_mbps)),
            BOND.stroke_width(3),
        ))?
        .label("delivered by the bond")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], BOND.stroke_width(3)));
    marks(&mut graph, [(cut.cut_s, "link A goes dead"), (cut.back_s, "link A is back")], top)?;
    graph
        .configure_series_labels()
        .position(between_the_marks(cut.cut_s / end))
        .background_style(WHITE.mix(0.85))
        .label_font(("sans-serif", 14).into_font().color(&INK))
        .margin(10)
        .draw()?;
    titles(outcome, canvas)?;
    canvas.present()
}

/// Where there is nothing to hide: beside the first mark, above what one link carries.
fn between_the_marks(cut: f64) -> SeriesLabelPosition {
    let width = f64::from(SIZE.0 - 2 * MARGIN - Y_LABELS);
    SeriesLabelPosition::Coordinate((width * cut) as i32 + 8, 36)
}

fn axes(graph: &mut Graph<'_, '_>) -> Drawn {
    let small = ("sans-serif", 14).into_font().color(&INK);
    graph
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.1))
        .axis_style(INK)
        .x_desc("seconds since the flow began")
        .y_desc("Mb/s")
        .x_labels(10)
        .y_labels(8)
        .x_label_formatter(&|s| format!("{s:.0}"))
        .y_label_formatter(&|rate| format!("{rate:.0}"))
        .label_style(small.clone())
        .axis_desc_style(small)
        .draw()
}

/// What the links carried, one upon the other.
fn areas(graph: &mut Graph<'_, '_>, samples: &[Sample]) -> Drawn {
    let both = samples.iter().map(|s| (s.at_s, s.links_mbps[0] + s.links_mbps[1]));
    let b = samples.iter().map(|s| (s.at_s, s.links_mbps[1]));
    // The lower area covers the upper one's foot, which reaches down to zero.
    let swatch = |colour: RGBColor| {
        move |(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], colour.mix(0.7).filled())
    };
    graph
        .draw_series(AreaSeries::new(both, 0.0, mixed(LINK_A)))?
        .label("carried by link A, headers included")
        .legend(swatch(LINK_A));
    graph
        .draw_series(AreaSeries::new(b, 0.0, mixed(LINK_B)))?
        .label("carried by link B, headers included")
        .legend(swatch(LINK_B));
    Ok(())
}

/// A light shade that hides what lies below it.
fn mixed(colour: RGBColor) -> RGBColor {
    let light = |c: u8| 255 - ((255 - u16::from(c)) * 6 / 10) as u8;
    RGBColor(light(colour.0), light(colour.1), light(colour.2))
}

fn marks(graph: &mut Graph<'_, '_>, marks: [(f64, &str); 2], top: f64) -> Drawn {
    let style = ("sans-serif", 14).into_font().color(&CUT);
    for (at, text) in marks {
        graph.draw_series(DashedLineSeries::new([(at, 0.0), (at, top)], 6, 4, CUT.stroke_width(2)))?;
        graph
            .draw_series([EmptyElement::at((at, top)) + Text::new(text.to_owned(), (6, 4), style.clone())])?;
    }
    Ok(())
}

fn titles(outcome: &Outcome, canvas: &Canvas<'_>) -> Drawn {
    let [a, b, bond] = [0, 1, 2].map(|i| outcome.ways[i].goodput_mbps);
    let title = format!(
        "One TCP flow over two links, one of which goes dead and comes back: {:.2} s without data",
        outcome.cut.pause.as_secs_f64()
    );
    let below = format!(
        "Link A: {}, one flow alone {a:.1} Mb/s.  Link B: {}, one flow alone {b:.1} Mb/s.  The bond: {bond:.1} Mb/s.",
        outcome.links[0], outcome.links[1]
    );
    canvas.draw(&Text::new(title, (16, 14), ("sans-serif", 20).into_font().color(&BLACK)))?;
    canvas.draw(&Text::new(below, (16, 40), ("sans-serif", 14).into_font().color(&INK)))
}
