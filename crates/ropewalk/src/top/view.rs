//! What the screen looks like; 80 columns and 24 rows are enough.
//!
//! ```text
//! ropewalk client rw0 · up 2 min 3 s · AES-128-GCM · 10.77.0.2
//!  up 38.2 Mb/s  ▂▃▅▇▇▇   down 0.9 Mb/s  ▁▁▁
//! path   state   rtt       up                     down                   loss
//! wan1   active  21.0 ms   19.0 Mb/s ▃▅▇▇▇▇▇▇     0.4 Mb/s ▁▁▁▁▁▁▁▁      0.00 %
//! …
//! connection                        up          down        class        idle
//! 192.0.2.7:443                     0.4 Mb/s    19.0 Mb/s   tcp, bulk    0 s
//! …
//! queue … order … resent …
//! ```

use super::App;
use super::live::{Rates, foot as last_line, rate_cell, spark};
use crate::report::flows::Flow;
use crate::report::table::{bits, bytes, time};
use crate::report::{Path, Peer};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

/// Most connections that are shown.
const FLOWS: usize = 6;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, trouble: Option<&str>) {
    let of = |is: fn(&Path) -> bool| app.peer().map_or(0, |p| p.paths.iter().filter(|path| is(path)).count());
    let links = of(|path| path.link.is_some()) + of(|path| path.air.is_some());
    let one = |is: fn(&Peer) -> bool| usize::from(app.peer().is_some_and(is));
    let more = links + one(|p| p.backhaul.is_some()) + one(|p| p.granted.is_some());
    let more = more + usize::from(app.peer().is_some_and(|p| gateway(app, p).is_some()));
    let foot = Constraint::Length(5 + more as u16);
    // Connections have what room the rest leaves, and no more than a few lines of it.
    let (shown, others) = app.peer().map_or((0, 0), |p| (app.flows(p).len(), p.paths.len()));
    let taken = 2 + 1 + others + 5 + more + 1;
    let room = usize::from(frame.area().height).saturating_sub(taken);
    let flows = if shown > 0 && room > 2 { room.min(shown + 2).min(FLOWS + 2) } else { 0 };
    let rows = [
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(flows as u16),
        foot,
        Constraint::Length(1),
    ];
    let [head, middle, connections, foot, keys] = Layout::vertical(rows).areas(frame.area());
    header(frame, head, app);
    if let Some(peer) = app.peer() {
        paths(frame, middle, app, peer);
        if flows > 0 {
            self::flows(frame, connections, &app.flows(peer));
        }
        queues(frame, foot, app, peer);
    } else {
        frame.render_widget(Paragraph::new("nobody is connected"), middle);
    }
    let words = if app.now.peers.len() > 1 { "q quits · ↑ ↓ another client" } else { "q quits" };
    frame.render_widget(last_line(trouble, words), keys);
}

fn header(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let now = &app.now;
    let mut words = vec![
        Span::from(format!("ropewalk {} {}", now.role, now.device)).bold(),
        Span::from(format!(" · running {}", time(now.uptime_s))),
    ];
    let mut second = Line::default();
    if let Some(peer) = app.peer() {
        if app.now.role == "gateway" || app.now.role == "ap" {
            words.push(format!(" · {} ({} of {})", peer.name, app.selected + 1, now.peers.len()).into());
        }
        let inside: Vec<String> = peer.inside.iter().map(ToString::to_string).collect();
        words.push(format!(" · {}", inside.join(" ")).into());
        words.extend(peer.cipher.iter().map(|c| Span::from(format!(" · {c}"))));
        if !peer.up {
            words.push(Span::from(" · not connected").fg(Color::Red));
        }
        if let Some(quota) = &peer.quota {
            let span = Span::from(format!(" · {}", quota.line()));
            words.push(if quota.is_over() { span.fg(Color::Red) } else { span });
        }
        let all = app.total(peer);
        let last = all.back().copied().unwrap_or_default();
        let room = (usize::from(area.width) / 2).saturating_sub(22);
        let half = |name: &str, rate: f64, of: fn(&Rates) -> f64| {
            format!("{name} {:<10} {} ", bits(rate), spark(&all, of, room))
        };
        second = Line::from(vec![
            half("up", last.up, |r| r.up).fg(Color::Cyan),
            half("down", last.down, |r| r.down).fg(Color::Green),
        ]);
    }
    frame.render_widget(Paragraph::new(vec![Line::from(words), second]), area);
}

fn paths(frame: &mut Frame<'_>, area: Rect, app: &App, peer: &Peer) {
    let names = peer.paths.iter().map(|p| p.shown().chars().count());
    let longest = names.max().unwrap_or(4).clamp(4, 24) as u16;
    let fixed = longest + 10 + 9 + 8 + 6;
    let wide = (area.width.saturating_sub(fixed) / 2).clamp(10, 60);
    let titles = Row::new(["path", "state", "rtt", "up", "down", "loss"])
        .style(Style::new().add_modifier(Modifier::UNDERLINED));
    let rows = peer.paths.iter().map(|p| row(app, peer, p, wide));
    let widths = [longest, 10, 9, wide, wide, 7].map(Constraint::Length);
    frame.render_widget(Table::new(rows, widths).header(titles).column_spacing(1), area);
}

/// The fastest connections, below an empty line.
fn flows(frame: &mut Frame<'_>, area: Rect, flows: &[&Flow]) {
    let titles = Row::new(["connection", "up", "down", "class", "idle"])
        .style(Style::new().add_modifier(Modifier::UNDERLINED))
        .top_margin(1);
    let row = |f: &&Flow| {
        Row::new([
            Cell::from(f.there.clone()),
            Cell::from(bits(f.sent_bps as f64)).fg(Color::Cyan),
            Cell::from(bits(f.received_bps as f64)).fg(Color::Green),
            Cell::from(format!("{}, {}", f.protocol, f.class)),
            Cell::from(time(f.idle_s)),
        ])
    };
    let rows = flows.iter().take(FLOWS).map(row);
    let widths = [
        Constraint::Min(15),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(17),
        Constraint::Length(8),
    ];
    frame.render_widget(Table::new(rows, widths).header(titles).column_spacing(1), area);
}

fn row<'a>(app: &App, peer: &Peer, p: &Path, wide: u16) -> Row<'a> {
    let rates = app.rates(peer, p);
    let color = match p.state.as_str() {
        "active" => Color::Green,
        "down" => Color::Red,
        _ => Color::Yellow,
    };
    let state = if p.class == "active" || p.state != "active" { p.state.clone() } else { p.class.clone() };
    Row::new([
        Cell::from(p.shown()),
        Cell::from(state).fg(color),
        Cell::from(p.rtt_ms.map_or("-".into(), |ms| format!("{ms:.1} ms"))),
        rate_cell(rates, |r| r.up, wide, Color::Cyan),
        rate_cell(rates, |r| r.down, wide, Color::Green),
        Cell::from(crate::report::table::loss(p)),
    ])
}

/// Where a client's gateway is.
fn gateway(app: &App, p: &Peer) -> Option<Line<'static>> {
    Some(Line::from(format!("gateway {}", app.now.gateways.as_ref()?.line(p.up)?)))
}

fn queues(frame: &mut Frame<'_>, area: Rect, app: &App, p: &Peer) {
    let io = &app.now.io;
    let mut lines = vec![
        Line::default(),
        Line::from(format!(
            "queue   {:>9}  {:>6} packets  waits {:>6.1} ms   dropped {}  marked {}",
            bytes(p.queue.queue_bytes),
            p.queue.queue_packets,
            p.queue.queue_wait_ms,
            p.queue.codel_drops + p.queue.overflow_drops,
            p.queue.codel_marks
        )),
        Line::from(format!(
            "order   {:>9}  {:>6} gaps     waits {:>6.1} ms   late {}  given up {}",
            bytes(p.order.held_bytes),
            p.order.gaps,
            p.order.wait_median_ms.unwrap_or(0.0),
            p.order.late,
            p.order.abandoned + p.given_up
        )),
        Line::from(format!("again   {:>9} sent again   {} duplicates", p.resent, p.order.duplicates)),
        Line::from(format!(
            "kernel  {:>9} not sent     {} overruns   memory {} of {}",
            io.send_full + io.send_too_big + io.send_unreachable,
            io.overruns,
            bytes(app.now.memory_used),
            bytes(app.now.memory_limit)
        )),
    ];
    let links = p.paths.iter().filter_map(|path| Some((&path.name, path.link.as_ref()?)));
    lines.extend(
        links.map(|(name, link)| Line::from(format!("link {name} ({})  {}", link.source, link.line()))),
    );
    let airs = p.paths.iter().filter_map(|path| Some((&path.name, p.air_of(path)?)));
    lines.extend(airs.map(|(name, air)| Line::from(format!("air {name}  {air}"))));
    lines.extend(gateway(app, p));
    lines.extend(p.backhaul.iter().map(|backhaul| Line::from(format!("clients {}", backhaul.line()))));
    lines.extend(p.granted.iter().map(|granted| Line::from(format!("granted {}", granted.line()))));
    frame.render_widget(Paragraph::new(lines), area);
}
