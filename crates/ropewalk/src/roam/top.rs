//! `ropewalk roam top`: the access points that are used, live; 80 columns and 24 rows are enough.

use super::report::{AccessPoint, RoamStatus};
use crate::control::ask::Line;
use crate::control::protocol::{Request, Response};
use crate::report::table::time;
use crate::top::live::{RATE, Series, View, foot, rate_cell, rate_text, wrapped_words};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{self, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

/// Columns besides rates: interface, address, signal, packet and state, and a space before each but
/// the first.
const FIXED: u16 = 9 + 17 + 7 + 9 + 7 + 6;
/// Those of the address, which goes where there is no room: the interface says which one it is.
const ADDRESS: u16 = 17 + 1;

/// What is shown.
#[derive(Debug, Default)]
pub(super) struct App {
    now: RoamStatus,
    /// Rates of each access point, by interface and address.
    series: Series<(String, String)>,
}

impl View for App {
    type Status = RoamStatus;

    fn ask(daemon: &mut Line) -> anyhow::Result<RoamStatus> {
        match daemon.ask(&Request::Roam {})? {
            Response::Roam { status } => Ok(*status),
            other => anyhow::bail!("the daemon gave an answer to another question: {other:?}"),
        }
    }

    fn take(&mut self, now: RoamStatus) {
        let counters = now.access_points.iter().filter(|a| a.state != "left");
        let counters = counters.map(|a| (key(a), [a.sent_bytes, a.received_bytes]));
        self.series.take(now.uptime_s, counters);
        self.now = now;
    }

    fn draw(&self, frame: &mut Frame<'_>, trouble: Option<&str>) {
        let now = &self.now;
        let [all, keys] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
        let lines = now.notes.iter().flat_map(|note| wrapped_words(&format!("note: {note}"), all.width));
        let lines: Vec<text::Line<'_>> = lines.collect();
        let rows = [Constraint::Length(3), Constraint::Min(3), Constraint::Length(lines.len() as u16)];
        let [head, middle, notes] = Layout::vertical(rows).areas(all);
        let channel = now.channel.as_ref().map_or_else(
            || Span::from(" · with no access point").fg(Color::Red),
            |channel| Span::from(format!(" · channel {channel}")),
        );
        let first = vec![
            Span::from(format!("ropewalk roam {}", now.radio)).bold(),
            Span::from(format!(" · running {}", time(now.uptime_s))),
            channel,
        ];
        // One that was left and joined again is there twice for a while.
        let all: Vec<(String, String)> =
            now.access_points.iter().filter(|a| a.state != "left").map(key).collect();
        let (all, wide) = (self.series.sum(&all), usize::from(head.width / 2).saturating_sub(6));
        let second = text::Line::from(vec![
            Span::from(format!("up {} ", rate_text(Some(&all), |r| r.up, wide))).fg(Color::Cyan),
            Span::from(format!("down {}", rate_text(Some(&all), |r| r.down, wide))).fg(Color::Green),
        ]);
        frame.render_widget(Paragraph::new(vec![text::Line::from(first), second]), head);
        let has_address = middle.width >= FIXED + 2 * RATE;
        let fixed = if has_address { FIXED } else { FIXED - ADDRESS };
        let wide = (middle.width.saturating_sub(fixed) / 2).clamp(RATE, 60);
        let mut titles = vec!["interface", "access point", "signal", "packet", "up", "down", "state"];
        let mut widths = [9, 17, 7, 9, wide, wide].map(Constraint::Length).to_vec();
        widths.push(Constraint::Min(7));
        if !has_address {
            titles.remove(1);
            widths.remove(1);
        }
        let titles = Row::new(titles).style(Style::new().add_modifier(Modifier::UNDERLINED));
        let rows = now.access_points.iter().map(|a| self.row(a, has_address, wide));
        frame.render_widget(Table::new(rows, widths).header(titles).column_spacing(1), middle);
        frame.render_widget(Paragraph::new(lines), notes);
        frame.render_widget(foot(trouble, "q quits"), keys);
    }
}

fn key(a: &AccessPoint) -> (String, String) {
    (a.interface.clone(), a.bssid.clone())
}

impl App {
    fn row<'a>(&self, a: &AccessPoint, has_address: bool, wide: u16) -> Row<'a> {
        let rates = self.series.of(&key(a)).filter(|_| a.state != "left");
        let color = match a.state.as_str() {
            "active" => Color::Green,
            "left" => Color::Red,
            _ => Color::Yellow,
        };
        let packet = |us: u64| format!("{}{us} us", if a.measured { "" } else { "~" });
        let why = if a.why.is_empty() { String::new() } else { format!(": {}", a.why) };
        let address = has_address.then(|| Cell::from(a.bssid.clone()));
        let others = [
            Cell::from(a.signal_dbm.map_or("-".into(), |dbm| format!("{dbm:.0} dBm"))),
            Cell::from(a.packet_time_us.map_or("-".into(), packet)),
            rate_cell(rates, |r| r.up, wide, Color::Cyan),
            rate_cell(rates, |r| r.down, wide, Color::Green),
            Cell::from(format!("{}{why}", a.state)).fg(color),
        ];
        Row::new([Cell::from(a.interface.clone())].into_iter().chain(address).chain(others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::live::{assert_shows, screen};

    #[test]
    fn access_points_are_seen_on_a_small_terminal() {
        let ap = |n: u64, state: &str, at: u64| AccessPoint {
            interface: format!("roam{n}"),
            bssid: format!("02:00:00:00:0{n}:00"),
            state: state.into(),
            why: if state == "left" { "lost".into() } else { String::new() },
            signal_dbm: Some(-52.0),
            packet_time_us: Some(206),
            measured: n == 0,
            received_bytes: at * 125_000 * (n + 1),
            sent_bytes: at * 1_250,
            ..AccessPoint::default()
        };
        let mut app = App::default();
        for at in 0..10 {
            app.take(RoamStatus {
                radio: "phy0".into(),
                channel: (at > 1).then(|| "6".into()),
                uptime_s: at as f64,
                access_points: vec![ap(0, "active", at), ap(1, "backup", at), ap(2, "left", at)],
                notes: vec!["something is missing".into()],
                ..RoamStatus::default()
            });
        }
        let text = screen(&app, 80, 24);
        let words = [
            "ropewalk roam phy0 · running 9 s · channel 6",
            "3.0 Mb/s",
            "1.0 Mb/s",
            "2.0 Mb/s",
            "10.0 kb/s",
            "-52 dBm",
            "~206 us",
            "backup",
            "left",
            "note: something is missing",
            "q quits",
        ];
        assert_shows(&text, &words);
        let narrow = screen(&app, 60, 24);
        let words = [
            "roam0     -52 dBm 206 us    10.0 kb/s",
            "3.0 Mb/s",
            "backup",
            "note: something is missing",
            "q quits",
        ];
        assert_shows(&narrow, &words);
        for (w, h) in [(1, 1), (20, 5), (200, 60)] {
            screen(&app, w, h);
        }
        screen(&App::default(), 80, 24);
    }
}
