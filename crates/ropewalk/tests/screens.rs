//! `ropewalk top` in a real terminal, of a bond that carries a flow: what it shows, and that it
//! gives the terminal back. Needs root.
//!
//! `SCREENSHOTS=docs/guide cargo test -p ropewalk --test program screens::` makes the guide's pictures.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::common::backhaul::eventually;
use crate::common::flow::Flow;
use crate::common::{BINARY, States, invite, lab, root, ropewalk, serve, up};
use vt100::{Color, Parser, Screen};

/// Lines and columns of the terminal.
const SIZE: (u16, u16) = (14, 96);
/// How long a flow goes on before its picture is taken: the bars are full then.
const COURSE: Duration = Duration::from_secs(20);
/// A character's box in a picture, px.
const BOX: (f64, f64) = (8.4, 18.0);

/// A program in a terminal of its own (script(1) makes one), and what it draws.
struct Terminal {
    child: Child,
    bytes: Receiver<Vec<u8>>,
    parser: Parser,
}

impl Terminal {
    fn start(line: &str) -> Terminal {
        let all = format!("stty rows {} cols {}; exec {line}", SIZE.0, SIZE.1);
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--command", &all, "/dev/null"]);
        command.env("TERM", "xterm-256color").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (to, bytes) = channel();
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut some) {
                if to.send(some[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { child, bytes, parser: Parser::new(SIZE.0, SIZE.1, 0) }
    }

    /// The screen as it is now.
    fn screen(&mut self) -> &Screen {
        self.bytes.try_iter().for_each(|some| self.parser.process(&some));
        self.parser.screen()
    }

    fn press(&mut self, key: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(key.as_bytes()).unwrap();
        input.flush().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As a picture: each run of like characters at its place.
fn svg(screen: &Screen, title: &str) -> String {
    let last = (0..SIZE.0).rev().find(|&y| !screen.contents_between(y, 0, y, SIZE.1).trim().is_empty());
    let lines = last.map_or(1, |y| y + 1);
    let (width, height) = (f64::from(SIZE.1) * BOX.0 + 24.0, f64::from(lines) * BOX.1 + 24.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" \
         fill=\"#1c1f24\"/>\n<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\">\n"
    );
    for y in 0..lines {
        let mut runs: Vec<(u16, String, &str)> = Vec::new();
        for x in 0..SIZE.1 {
            let Some(cell) = screen.cell(y, x) else { continue };
            let text = cell.contents();
            let style = style(cell);
            match runs.last_mut() {
                Some((_, run, before)) if *before == style => {
                    run.push_str(if text.is_empty() { " " } else { text })
                }
                _ if text.trim().is_empty() => runs.push((x, " ".into(), style)),
                _ => runs.push((x, text.into(), style)),
            }
        }
        for (x, run, style) in runs {
            let kept = run.trim_end();
            if kept.trim().is_empty() {
                continue;
            }
            let escaped = kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let (left, base) = (12.0 + f64::from(x) * BOX.0, 12.0 + f64::from(y) * BOX.1 + 13.5);
            let long = kept.chars().count() as f64 * BOX.0;
            let _ = writeln!(
                out,
                "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{long:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
                 xml:space=\"preserve\" {style}>{escaped}</text>"
            );
        }
    }
    out + "</g>\n</svg>\n"
}

/// Colours that are read well on a dark ground.
fn style(cell: &vt100::Cell) -> &'static str {
    match (cell.fgcolor(), cell.bold()) {
        (Color::Idx(1 | 9), _) => "fill=\"#ff7b72\"",
        (Color::Idx(2 | 10), _) => "fill=\"#7ee787\"",
        (Color::Idx(3 | 11), _) => "fill=\"#e3b341\"",
        (Color::Idx(6 | 14), _) => "fill=\"#76d9e6\"",
        (_, true) => "fill=\"#ffffff\" font-weight=\"bold\"",
        _ => "fill=\"#d5dae0\"",
    }
}

fn keep(pictures: &Path, name: &str, picture: &str) {
    // Relative to the workspace, where people run cargo.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::write(root.join(pictures).join(name), picture).unwrap();
}

#[test]
fn top_shows_a_flow_and_gives_the_terminal_back() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("screens"));
    let _gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let _client = up(&lab, &states, &token, &[]);
    let flow = Flow::start(&lab.gateway, &lab.client, "10.77.0.2");
    let state = states.of("client");
    let mut top = Terminal::start(&format!("{BINARY} top --state {state}"));
    eventually("both paths carry the download", || {
        let screen = top.screen();
        let rows: Vec<String> = screen.rows(0, SIZE.1).filter(|r| r.starts_with("wan")).collect();
        screen.alternate_screen() && rows.len() == 2 && rows.iter().all(|r| r.contains("Mb/s"))
    });
    if let Some(pictures) = std::env::var_os("SCREENSHOTS") {
        std::thread::sleep(COURSE);
        let pictures = Path::new(&pictures);
        keep(pictures, "terminal-top.svg", &svg(top.screen(), "ropewalk top beside a download"));
        let (_, said, _) = ropewalk(&["status", "--state", &state]);
        let mut parser = Parser::new(SIZE.0, SIZE.1, 0);
        parser.process(format!("$ ropewalk status\r\n{}", said.replace('\n', "\r\n")).as_bytes());
        keep(pictures, "terminal-status.svg", &svg(parser.screen(), "ropewalk status beside a download"));
    }
    flow.ends_whole();
    top.press("q");
    let mut ended = None;
    eventually("q ends it", || {
        ended = top.child.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success());
    eventually("the terminal is as it was", || {
        !top.screen().alternate_screen() && !top.screen().hide_cursor()
    });
}

#[test]
fn a_picture_has_what_the_screen_has() {
    let mut parser = Parser::new(SIZE.0, SIZE.1, 0);
    parser.process(b"plain \x1b[32mgreen\x1b[m <&>\r\n\x1b[1mbold\x1b[m");
    let picture = svg(parser.screen(), "a test");
    assert!(picture.contains("fill=\"#7ee787\">green</text>"), "{picture}");
    assert!(picture.contains("&lt;&amp;&gt;</text>") && picture.contains("font-weight=\"bold\">bold</text>"));
    assert!(!picture.contains('\x1b'));
}
