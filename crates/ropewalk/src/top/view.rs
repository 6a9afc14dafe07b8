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
//! worker           sessions busy    handed on    dropped
//! 0                4        38 %    70           0
//! …
//! queue … order … resent …
//! ```

use super::App;
use super::live::{RATE, Rates, foot as last_line, rate_cell, spark, wrapped, wrapped_words};
use crate::report::flows::Flow;
use crate::report::table::{bits, bytes, time, width};
use crate::report::workers::WorkerStatus;
use crate::report::{Path, Peer};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

/// Most connections that are shown.
const FLOWS: usize = 6;
/// Most workers that are shown.
const WORKERS: usize = 8;
/// Columns besides names and rates: state, round trip, loss, and a space before each but the first.
const FIXED: u16 = 10 + 9 + 7 + 5;

/// Draws everything. Where there is no room for all, paths go first, then the lines at the bottom,
/// then workers.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, trouble: Option<&str>) {
    let [all, keys] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
    let words = if app.now.peers.len() > 1 { "q quits · ↑ ↓ another client" } else { "q quits" };
    frame.render_widget(last_line(trouble, words), keys);
    let [head, below] = Layout::vertical([Constraint::Length(2), Constraint::Min(0)]).areas(all);
    header(frame, head, app);
    let Some(peer) = app.peer() else {
        frame.render_widget(Paragraph::new("nobody is connected"), below);
        return;
    };
    let (flows, lines) = (app.flows(peer), lines(app, peer, below.width));
    let room = usize::from(below.height).saturating_sub((1 + peer.paths.len()).max(3));
    let foot = lines.len().min(room);
    let workers = table_height(app.now.workers.len().min(WORKERS), room - foot);
    let shown = table_height(flows.len().min(FLOWS), room - foot - workers);
    let [shown, workers, foot] = [shown, workers, foot].map(|lines| Constraint::Length(lines as u16));
    let rows = [Constraint::Min(0), shown, workers, foot];
    let [middle, connections, workers, foot] = Layout::vertical(rows).areas(below);
    paths(frame, middle, app, peer);
    if connections.height > 0 {
        self::flows(frame, connections, &flows);
    }
    if workers.height > 0 {
        self::workers(frame, workers, app);
    }
    frame.render_widget(Paragraph::new(lines), foot);
}

/// Lines for a table of so many rows, below an empty line and its titles; none without a row or room.
fn table_height(rows: usize, room: usize) -> usize {
    if rows > 0 && room > 2 { room.min(rows + 2) } else { 0 }
}

fn header(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let now = &app.now;
    let mut words = vec![
        Span::from(format!("ropewalk {} {}", now.role, now.device)).bold(),
        Span::from(format!(" · running {}", time(now.uptime_s))),
    ];
    let mut second = Line::default();
    if let Some(peer) = app.peer() {
        // What matters most first: a name may be long.
        if !peer.up {
            words.push(Span::from(" · not connected").fg(Color::Red));
        }
        if app.now.role == "gateway" || app.now.role == "ap" {
            words.push(format!(" · {} of {}: {}", app.place() + 1, now.peers.len(), peer.name).into());
        }
        let inside: Vec<String> = peer.inside.iter().map(ToString::to_string).collect();
        words.push(format!(" · {}", inside.join(" ")).into());
        words.extend(peer.cipher.iter().map(|c| Span::from(format!(" · {c}"))));
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
    let longest = peer.paths.iter().map(|p| width(&p.shown())).max().unwrap_or(0) as u16;
    let longest = longest.clamp(4, area.width.saturating_sub(FIXED + 2 * RATE).max(4));
    let wide = (area.width.saturating_sub(FIXED + longest) / 2).clamp(RATE, 60);
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

/// A gateway's workers, below an empty line.
fn workers(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let (all, shown) = (app.now.workers.len(), usize::from(area.height).saturating_sub(2));
    let first = if shown < all { format!("worker ({shown} of {all})") } else { "worker".into() };
    let titles = Row::new([first.as_str(), "sessions", "busy", "handed on", "dropped"])
        .style(Style::new().add_modifier(Modifier::UNDERLINED))
        .top_margin(1);
    let row = |(number, worker): (usize, &WorkerStatus)| {
        Row::new([
            number.to_string(),
            worker.sessions.to_string(),
            app.busy.get(number).map_or_else(|| "-".into(), |busy| format!("{busy:.0} %")),
            worker.handed_on.to_string(),
            worker.handed_on_lost.to_string(),
        ])
    };
    let rows = app.now.workers.iter().enumerate().take(shown).map(row);
    let widths = [16, 8, 7, 12, 12].map(Constraint::Length);
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

/// What is said below paths and connections.
fn lines(app: &App, p: &Peer, columns: u16) -> Vec<Line<'static>> {
    let (queue, order, io) = (&p.queue, &p.order, &app.now.io);
    let figures = [
        vec![
            format!("queue   {:>9}", bytes(queue.queue_bytes)),
            format!("{:>6} packets", queue.queue_packets),
            format!("waits {:>6.1} ms", queue.queue_wait_ms),
            format!("dropped {}", queue.codel_drops + queue.overflow_drops),
            format!("marked {}", queue.codel_marks),
        ],
        vec![
            format!("order   {:>9}", bytes(order.held_bytes)),
            format!("{:>6} gaps   ", order.gaps),
            format!("waits {:>6.1} ms", order.wait_median_ms.unwrap_or(0.0)),
            format!("late {}", order.late),
            format!("given up {}", order.abandoned + p.given_up),
        ],
        vec![format!("again   {:>9} sent again", p.resent), format!("{} duplicates", order.duplicates)],
        vec![
            format!("kernel  {:>9} not sent", io.send_full + io.send_too_big + io.send_unreachable),
            format!("{} overruns", io.overruns),
            format!("memory {} of {}", bytes(app.now.memory_used), bytes(app.now.memory_limit)),
        ],
    ];
    let mut lines = vec![Line::default()];
    lines.extend(figures.iter().flat_map(|f| wrapped(f.iter().map(String::as_str), "  ", columns)));
    let links = p.paths.iter().filter_map(|path| Some((&path.name, path.link.as_ref()?)));
    let links = links.map(|(name, link)| format!("link {name} ({})  {}", link.source, link.line()));
    let airs = p.paths.iter().filter_map(|path| Some((&path.name, p.air_of(path)?)));
    let airs = airs.map(|(name, air)| format!("air {name}  {air}"));
    let gateway = app.now.gateways.as_ref().and_then(|gateways| gateways.line(p.up));
    let gateway = gateway.map(|line| format!("gateway {line}"));
    let clients = p.backhaul.iter().map(|backhaul| format!("clients {}", backhaul.line()));
    let granted = p.granted.iter().map(|granted| format!("granted {}", granted.line()));
    let sentences = links.chain(airs).chain(gateway).chain(clients).chain(granted);
    lines.extend(sentences.flat_map(|sentence| wrapped_words(&sentence, columns)));
    lines
}
