//! `lab map`: who is where and who hears whom.

use super::Name;
use crate::exit::{Code, failure};
use ropewalk_lab::live::daemon::{Map, Place, Request, Response};
use std::fmt::Write;

/// The drawing's size in characters.
const COLUMNS: usize = 72;
const ROWS: usize = 18;

pub(super) fn run(name: &Name) -> anyhow::Result<()> {
    match name.open()?.ask(&Request::Map)? {
        Response::Map(map) => {
            print!("{}", draw(&map));
            Ok(())
        }
        _ => Err(failure(Code::Failure, "the lab answered something else; is it of another version?")),
    }
}

/// Where nodes are, seen from above, and a line for each radio and each link.
fn draw(map: &Map) -> String {
    let mut out = String::new();
    if !map.radios.is_empty() {
        out.push_str(&plane(&map.radios));
        out.push_str("\nradio            channel       hears (dBm, = joined, ~ too weak to understand)\n");
    }
    for radio in &map.radios {
        let heard = radio.hears.iter().map(|heard| {
            // Both for a while: a station notices late that its access point is out of reach.
            let joined = if radio.joined.contains(&heard.name) { "=" } else { "" };
            let weak = if heard.dbm < radio.sensitivity_dbm { "~" } else { "" };
            format!("{joined}{weak}{} {:.0}", heard.name, heard.dbm)
        });
        let heard: Vec<String> = heard.collect();
        let heard = if heard.is_empty() { "nobody".to_owned() } else { heard.join(", ") };
        let _ = writeln!(out, "{:<16} {:<13} {heard}", radio.name, radio.channel);
    }
    for (name, a, b) in &map.links {
        let _ = writeln!(out, "{a} ── {name} ── {b}");
    }
    out
}

/// Nodes by their positions, the first letters of their names at the place.
fn plane(radios: &[Place]) -> String {
    let bounds = |k: usize| {
        let all = || radios.iter().map(|r| r.position[k]);
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (bottom, top)) = (bounds(0), bounds(1));
    // Metres per column; a row is as high as two columns are wide.
    let scale = ((right - left) / (COLUMNS - 12) as f64).max((top - bottom) / (ROWS - 1) as f64 / 2.0);
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let rows = ((top - bottom) / scale / 2.0).round() as usize + 1;
    let mut canvas = vec![vec![' '; COLUMNS]; rows];
    let mut seen: Vec<&str> = Vec::new();
    for radio in radios {
        let node = radio.name.split(':').next().unwrap_or_default();
        if seen.contains(&node) {
            continue;
        }
        seen.push(node);
        let row = rows - 1 - (((radio.position[1] - bottom) / scale / 2.0).round() as usize).min(rows - 1);
        let column = ((radio.position[0] - left) / scale).round() as usize;
        let label = std::iter::once('●').chain(node.chars().take(10));
        for (i, c) in label.enumerate() {
            if let Some(place) = canvas[row].get_mut(column + i).filter(|p| **p == ' ') {
                *place = c;
            }
        }
    }
    let lines = canvas.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n");
    let mut out: String = lines.collect();
    let _ = writeln!(out, "{}╌ {:.3} m", "╌".repeat(9), scale * 10.0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_lab::live::daemon::Heard;

    fn radio(name: &str, x: f64, y: f64, hears: &[(&str, f64)]) -> Place {
        Place {
            name: name.into(),
            position: [x, y, 0.0],
            channel: "36 (20 MHz)".into(),
            sensitivity_dbm: -82.0,
            hears: hears.iter().map(|(n, dbm)| Heard { name: (*n).into(), dbm: *dbm }).collect(),
            joined: vec!["ap:r0".into()],
        }
    }

    #[test]
    fn places_and_powers_are_told() {
        let radios = vec![
            radio("ap:r0", 0.0, 0.0, &[("near:r0", -50.0), ("far:r0", -90.0)]),
            radio("near:r0", 5.0, 5.0, &[("ap:r0", -50.0)]),
            radio("far:r0", 60.0, 0.0, &[]),
            radio("lost:r0", 60.0, 5.0, &[("ap:r0", -90.0)]),
        ];
        let text = draw(&Map { radios, links: vec![("wan".into(), "ap:eth0".into(), "s:eth0".into())] });
        let row = |label: &str| text.lines().position(|l| l.contains(label)).unwrap();
        assert!(row("●near") < row("●ap"), "{text}");
        assert_eq!(row("●far"), row("●ap"));
        assert!(text.contains("near:r0 -50, ~far:r0 -90") && text.contains("=ap:r0 -50"), "{text}");
        assert!(
            text.contains("nobody")
                && text.contains("=~ap:r0 -90")
                && text.contains("ap:eth0 ── wan ── s:eth0")
        );
    }

    #[test]
    fn one_place_is_no_division_by_zero() {
        let text = draw(&Map { radios: vec![radio("a:r0", 3.0, 3.0, &[])], links: Vec::new() });
        assert!(text.contains("●a"));
    }
}
