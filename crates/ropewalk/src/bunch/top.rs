//! `ropewalk bunch top`: a running gateway or access point of a bunch, live; 80 columns and 24 rows
//! are enough.

use super::report::{ApStatus, BunchStatus, Contributor, GatewayStatus, Upload, allowance, share};
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::report::reasons;
use crate::report::table::{bytes, time};
use crate::top::live::{RATE, Series, View, foot, rate_cell, rate_text, wrapped};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{self, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};

/// Columns of an access point besides its name and its rate, and a space before each but the first.
const FIXED: u16 = 7 + 6 + 6 + 7 + 6 + 6;

/// What has a rate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// The daemon itself.
    All,
    Contributor(String),
    /// By protocol, sender and receiver.
    Upload(String, String, String),
}

/// What is shown.
#[derive(Debug, Default)]
pub(super) struct App {
    now: Option<BunchStatus>,
    series: Series<Key>,
}

impl View for App {
    type Status = BunchStatus;

    fn ask(daemon: &mut Line) -> anyhow::Result<BunchStatus> {
        match daemon.ask(&Request::Bunch {})? {
            Response::Bunch { status } => Ok(*status),
            other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
        }
    }

    fn take(&mut self, now: BunchStatus) {
        match &now {
            BunchStatus::Gateway(g) => {
                let all = [(Key::All, [g.delivered_bytes, 0])];
                let of = |c: &Contributor| (Key::Contributor(c.name.clone()), [c.bytes, c.report_bytes]);
                let uploads = g.uploads.iter().map(|u| (key(u), [u.sent_bytes, 0]));
                let all = all.into_iter().chain(g.contributors.iter().map(of)).chain(uploads);
                self.series.take(g.uptime_s, all);
            }
            BunchStatus::Ap(a) => {
                self.series.take(a.uptime_s, [(Key::All, [a.data_bytes, a.report_bytes])]);
            }
        }
        self.now = Some(now);
    }

    fn draw(&self, frame: &mut Frame<'_>, trouble: Option<&str>) {
        let [all, keys] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
        match &self.now {
            Some(BunchStatus::Gateway(g)) => self.gateway(frame, all, g),
            Some(BunchStatus::Ap(a)) => self.ap(frame, all, a),
            None => {}
        }
        frame.render_widget(foot(trouble, "q quits"), keys);
    }
}

fn key(u: &Upload) -> Key {
    Key::Upload(u.protocol.clone(), u.sender.clone(), u.receiver.clone())
}

fn titles<const N: usize>(titles: [&str; N]) -> Row<'_> {
    Row::new(titles).style(Style::new().add_modifier(Modifier::UNDERLINED))
}

impl App {
    fn gateway(&self, frame: &mut Frame<'_>, area: Rect, g: &GatewayStatus) {
        let wide = usize::from(area.width).saturating_sub(16).min(60);
        let mut lines = vec![
            text::Line::from(vec![
                Span::from(format!("ropewalk bunch gateway {}", g.device)).bold(),
                Span::from(format!(" · running {} · {} connections", time(g.uptime_s), g.sessions)),
            ]),
            text::Line::from(format!(
                "to receivers  {}",
                rate_text(self.series.of(&Key::All), |r| r.up, wide)
            ))
            .fg(Color::Cyan),
        ];
        let counts = [
            format!("keeps {}", bytes(g.kept_bytes)),
            format!("resets {}", g.resets),
            format!("cut {}", g.cut_packets),
            format!("left alone{}", reasons::words(&g.bypassed)),
            format!("refused {} packets", g.refused_packets + g.unhelped_packets),
        ];
        lines.extend(wrapped(counts.iter().map(String::as_str), "   ", area.width));
        let above = lines.len() as u16 + 1;
        // Uploads have what contributors leave, and at least their titles and two rows.
        let most = area.height.saturating_sub(above + 5).max(2);
        let contributors = (g.contributors.len() as u16 + 2).clamp(2, most);
        let rows = [Constraint::Length(above), Constraint::Length(contributors), Constraint::Min(0)];
        let [head, middle, below] = Layout::vertical(rows).areas(area);
        frame.render_widget(Paragraph::new(lines), head);
        self.contributors(frame, middle, g);
        self.uploads(frame, below, g);
    }

    fn contributors(&self, frame: &mut Frame<'_>, area: Rect, g: &GatewayStatus) {
        let longest = g.contributors.iter().map(|c| c.name.len()).max().unwrap_or(0) as u16;
        let name = longest.clamp(12, area.width.saturating_sub(FIXED + RATE).max(12));
        let wide = area.width.saturating_sub(name + FIXED).clamp(RATE, 60);
        let rows = g.contributors.iter().map(|c| {
            let color = if c.remote.is_some() { Color::Green } else { Color::Red };
            Row::new([
                Cell::from(c.name.clone()).fg(color),
                rate_cell(self.series.of(&Key::Contributor(c.name.clone())), |r| r.up, wide, Color::Cyan),
                Cell::from(share(c.report_bytes, c.data_bytes)),
                Cell::from(c.failed.to_string()),
                Cell::from(c.late.to_string()),
                Cell::from(c.damaged.to_string()),
                Cell::from(format!("{:.0} %", c.score * 100.0)),
            ])
        });
        let widths = [name, wide, 7, 6, 6, 7, 6].map(Constraint::Length);
        let titles = titles(["access point", "brings", "reports", "failed", "late", "damaged", "trust"]);
        frame.render_widget(Table::new(rows, widths).header(titles).column_spacing(1), area);
    }

    fn uploads(&self, frame: &mut Frame<'_>, area: Rect, g: &GatewayStatus) {
        let rate = |u: &Upload| self.series.of(&key(u)).and_then(|r| r.back()).map_or(0.0, |r| r.up);
        let mut all: Vec<&Upload> = g.uploads.iter().collect();
        all.sort_by(|a, b| rate(b).total_cmp(&rate(a)).then_with(|| b.sent_bytes.cmp(&a.sent_bytes)));
        let shown = all.iter().take(area.height.saturating_sub(1).into());
        let rows = shown.map(|u| {
            Row::new([
                Cell::from(u.receiver.clone()),
                Cell::from(u.protocol.clone()),
                rate_cell(self.series.of(&key(u)), |r| r.up, 10, Color::Cyan),
                Cell::from(u.access_points.to_string()),
                Cell::from(bytes(u.kept_bytes)),
                Cell::from(u.state.clone()),
            ])
        });
        let widths = [21, 4, 10, 3, 8].map(Constraint::Length).into_iter().chain([Constraint::Min(10)]);
        let titles = titles(["upload to", "", "rate", "APs", "keeps", "state"]);
        frame.render_widget(Table::new(rows, widths).header(titles).column_spacing(1), area);
    }

    fn ap(&self, frame: &mut Frame<'_>, area: Rect, a: &ApStatus) {
        let wide = usize::from(area.width).saturating_sub(16).min(60);
        let rates = self.series.of(&Key::All);
        let mut head = vec![
            Span::from(format!("ropewalk bunch ap {}", a.device)).bold(),
            Span::from(format!(" · running {}", time(a.uptime_s))),
        ];
        head.push(match &a.gateway {
            Some(gateway) => Span::from(format!(" · connected to {gateway}")),
            None => Span::from(" · not connected").fg(Color::Red),
        });
        let home = if a.captures { "helped" } else { "not helped" };
        let lines = vec![
            text::Line::from(head),
            text::Line::default(),
            text::Line::from(format!("forwards      {}", rate_text(rates, |r| r.up, wide))).fg(Color::Cyan),
            text::Line::from(format!("reports       {}", rate_text(rates, |r| r.down, wide)))
                .fg(Color::Green),
            text::Line::from(format!(
                "reports are {} of what went to the gateway",
                share(a.report_bytes, a.data_bytes)
            )),
            text::Line::default(),
            text::Line::from(format!(
                "copies   {} of {} connections; {} packets so far, {} heard again, no memory for {}",
                bytes(a.held_bytes),
                a.sessions,
                a.captured,
                a.repeated,
                a.refused
            )),
            text::Line::from(format!(
                "home     {home}: {} connections, {} handed to the bunch; {} packets their ordinary way, {} dropped",
                a.flows, a.helped, a.native_packets, a.dropped_packets
            )),
            text::Line::from(neighbours(a)),
        ];
        let lines: Vec<_> = lines.into_iter().chain(a.cap.as_ref().map(|c| allowance(c).into())).collect();
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
    }
}

/// The line of what it and its neighbours hear of each other.
fn neighbours(a: &ApStatus) -> String {
    match &a.air {
        Some(air) => format!(
            "on air   {}: {} cells, {} uploads to listen for; {} packets overheard, {} frames dropped",
            air.interface, air.cells, air.uploads, air.overheard, air.dropped
        ),
        None => format!(
            "shared   {} neighbours: {} packets handed on, {} had, {} refused",
            a.neighbours, a.shares.sent, a.shares.received, a.shares.refused
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bunch::report::CapStatus;
    use crate::top::live::{assert_shows, screen};

    fn gateway(at: u64, uploads: u64) -> BunchStatus {
        let c = |name: &str, share: u64| Contributor {
            name: name.into(),
            remote: Some("192.0.2.1:4000".into()),
            bytes: at * share,
            data_bytes: 9_900,
            report_bytes: 100,
            score: 1.0,
            ..Contributor::default()
        };
        let upload = |n: u64| Upload {
            protocol: "tcp".into(),
            sender: format!("10.78.0.2:{n}"),
            receiver: format!("203.0.113.9:{n}"),
            state: "helped".into(),
            access_points: 3,
            sent_bytes: at * n * 100,
            kept_bytes: 12_345,
        };
        BunchStatus::Gateway(GatewayStatus {
            device: "bunch0".into(),
            uptime_s: 60.0 + at as f64 / 2.0,
            sessions: uploads as usize,
            delivered_bytes: at * 187_500,
            kept_bytes: 2_000_000,
            bypassed: [("mptcp".to_owned(), 4)].into(),
            contributors: vec![c("home", 62_500), c("anna", 125_000)],
            uploads: (1..=uploads).map(upload).collect(),
            ..GatewayStatus::default()
        })
    }

    #[test]
    fn a_gateway_is_seen_on_a_small_terminal_its_fastest_uploads_first() {
        let mut app = App::default();
        (0..20).for_each(|at| app.take(gateway(at, 40)));
        let text = screen(&app, 80, 24);
        let words = [
            "ropewalk bunch gateway bunch0 · running 1 min 9 s · 40 connections",
            "3.0 Mb/s",
            "1.0 Mb/s",
            "2.0 Mb/s",
            "1.0 %",
            "100 %",
            "keeps 2.0 MB",
            "left alone mptcp 4",
            "203.0.113.9:40",
            "12.3 kB",
            "helped",
            "q quits",
        ];
        assert_shows(&text, &words);
        assert!(!text.contains("203.0.113.9:2 "), "the slowest have no room\n{text}");
        let narrow = screen(&app, 60, 24);
        assert_shows(&narrow, &["2.0 Mb/s ", "100 %", "refused 0 packets", "203.0.113.9:40", "q quits"]);
        let mut many = gateway(20, 40);
        if let BunchStatus::Gateway(g) = &mut many {
            g.bypassed = ["mptcp", "fast-open", "no-room"].map(|why| (why.to_owned(), 123_456)).into();
        }
        app.take(many);
        let narrow = screen(&app, 60, 24);
        assert!(narrow.contains("refused 0 packets") && narrow.contains("203.0.113.9:40"), "{narrow}");
    }

    #[test]
    fn an_access_point_is_seen_and_odd_sizes_do_not_hurt() {
        let mut app = App::default();
        for at in 0..4u64 {
            let status = ApStatus {
                device: "bunch0".into(),
                uptime_s: at as f64 / 2.0,
                gateway: (at > 2).then(|| "192.0.2.1:4520".into()),
                data_bytes: at * 125_000,
                report_bytes: at * 1_250,
                held_bytes: 32_000,
                captures: true,
                cap: Some(Box::new(CapStatus { bytes: 5_000_000, ..CapStatus::default() })),
                ..ApStatus::default()
            };
            app.take(BunchStatus::Ap(status));
        }
        let text = screen(&app, 100, 24);
        let words = [
            "connected to 192.0.2.1:4520",
            "2.0 Mb/s",
            "20.0 kb/s",
            "1.0 %",
            "32.0 kB",
            "helped:",
            "for neighbours 5.0 MB a month",
        ];
        assert_shows(&text, &words);
        assert!(screen(&app, 60, 24).contains("no memory for 0"), "what is too long goes on below");
        for (w, h) in [(1, 1), (20, 5), (80, 8), (200, 60)] {
            screen(&app, w, h);
        }
        app.take(gateway(1, 3));
        for (w, h) in [(1, 1), (20, 5), (80, 8), (200, 60)] {
            screen(&app, w, h);
        }
        screen(&App::default(), 80, 24);
    }

    #[test]
    fn a_daemon_that_began_anew_has_no_rate_of_before() {
        let mut app = App::default();
        app.take(gateway(100, 0));
        app.take(gateway(1, 0));
        assert!(app.series.of(&Key::All).unwrap().is_empty());
        app.take(gateway(3, 0));
        assert_eq!(app.series.of(&Key::All).unwrap().back().unwrap().up, 3_000_000.0);
    }
}
