//! QR codes on a terminal.

use anyhow::Context;
use qrcode::{Color, EcLevel, QrCode};

/// Light modules around the code (ISO/IEC 18004 §9.1).
const QUIET: usize = 4;
/// Black on white, whatever the terminal's own colours.
const PAPER: (&str, &str) = ("\x1b[30;107m", "\x1b[0m");

/// A text as a QR code, two modules in each character; on a terminal, black on white.
pub(crate) fn render(text: &str, on_terminal: bool) -> anyhow::Result<String> {
    let paper = if on_terminal { PAPER } else { ("", "") };
    let code = QrCode::with_error_correction_level(text, EcLevel::L);
    let code = code.context("the token is too long for a QR code")?;
    let size = code.width() + 2 * QUIET;
    let dark = |x: usize, y: usize| {
        let inside = (QUIET..size - QUIET).contains(&x) && (QUIET..size - QUIET).contains(&y);
        inside && code[(x - QUIET, y - QUIET)] == Color::Dark
    };
    let mut out = String::new();
    for y in (0..size).step_by(2) {
        out.push_str(paper.0);
        out.extend((0..size).map(|x| match (dark(x, y), dark(x, y + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        }));
        out.push_str(paper.1);
        out.push('\n');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera's view of it: four pixels for each module.
    fn scan(drawn: &str) -> String {
        let rows: Vec<Vec<char>> = drawn.lines().map(|l| l.chars().collect()).collect();
        let dark = |x: usize, y: usize| match rows[y / 2][x] {
            '█' => true,
            '▀' => y.is_multiple_of(2),
            '▄' => y % 2 == 1,
            _ => false,
        };
        let (width, height) = (rows[0].len() * 4, rows.len() * 8);
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| {
            if dark(x / 4, y / 4) { 0 } else { 255 }
        });
        image.detect_grids()[0].decode().unwrap().1
    }

    #[test]
    fn what_is_drawn_can_be_scanned() {
        for text in ["rw1_x".to_owned(), format!("rw1_{}", "Z5pZxJmeJzD8ilATKGzdftzxav5QHrj_".repeat(5))] {
            let drawn = render(&text, false).unwrap();
            assert_eq!(scan(&drawn), text);
            assert!(drawn.lines().all(|l| l.chars().count() <= 80), "it fits a terminal");
        }
        assert!(render(&"x".repeat(4096), false).is_err());
    }
}
