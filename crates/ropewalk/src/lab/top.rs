//! `lab top`: stations, radios, paths of bonds and links of a lab, live.

use super::Name;
use crate::exit::{Code, failure};
use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Row, Table};
use ropewalk_lab::live::daemon::{Client, Report, Request, Response};
use std::time::{Duration, Instant};

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Shows it until `q` is pressed.
pub(super) fn run(name: &Name) -> anyhow::Result<()> {
    let mut client = name.open()?;
    let title = client.about()?.name;
    let mut report = look(&mut client)?;
    // Also restores the terminal when something panics.
    let mut terminal = ratatui::try_init().context("this is no terminal")?;
    let outcome = (|| -> anyhow::Result<()> {
        let mut next = Instant::now() + EVERY;
        loop {
            terminal.draw(|frame| draw(frame, &title, &report))?;
            if event::poll(next.saturating_duration_since(Instant::now()))? {
                match event::read()? {
                    Event::Key(key) if ends(key) => return Ok(()),
                    _ => continue,
                }
            }
            next = Instant::now() + EVERY;
            report = look(&mut client)?;
        }
    })();
    ratatui::restore();
    outcome
}

fn ends(key: KeyEvent) -> bool {
    let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}

fn look(client: &mut Client) -> anyhow::Result<Report> {
    match client.ask(&Request::Report)? {
        Response::Report(report) => Ok(*report),
        _ => Err(failure(Code::Failure, "the lab answered something else; is it of another version?")),
    }
}

fn table<'a>(title: &'a str, head: &[&'a str], widths: &[u16], rows: Vec<Vec<String>>) -> Table<'a> {
    let widths = widths.iter().map(|w| Constraint::Length(*w)).collect::<Vec<_>>();
    Table::new(rows.into_iter().map(Row::new), widths)
        .header(Row::new(head.iter().map(|h| Line::from(*h).bold()).collect::<Vec<_>>()))
        .block(Block::bordered().title(title))
}

fn draw(frame: &mut Frame<'_>, name: &str, report: &Report) {
    let t = &report.tables;
    let height = |rows: usize| Constraint::Length(rows as u16 + 3);
    // A table of which the lab has nothing takes no room; links take what is left.
    let shown = |rows: usize| if rows == 0 { Constraint::Length(0) } else { height(rows) };
    let parts = [
        Constraint::Length(1),
        shown(t.station.len()),
        shown(t.radio.len()),
        shown(t.path.len()),
        Constraint::Min(3),
    ];
    let [head, stations, radios, paths, links] = Layout::vertical(parts).areas(frame.area());
    let (trouble, colour) = match &report.invalid {
        Some(why) => (why.as_str(), Color::Red),
        None => (report.lateness.as_str(), Color::Reset),
    };
    frame.render_widget(
        Line::from(format!("{name}: {trouble}  (q ends)")).style(Style::new().fg(colour)),
        head,
    );
    let number = |n: Option<f64>, digits: usize| n.map_or("-".to_owned(), |n| format!("{n:.digits$}"));
    let rows = t.station.iter().map(|s| {
        vec![
            s.name.clone(),
            format!("{:.2}", s.goodput_mbps),
            format!("{:.1}", s.airtime_percent),
            number(s.rate_mbps, 1),
            number(s.signal_dbm, 0),
            format!("{:.2}", s.attempts),
            (s.failed + s.dropped + s.expired).to_string(),
        ]
    });
    let columns = ["from > to", "Mbit/s", "airtime %", "rate", "dBm", "attempts", "lost"];
    frame.render_widget(table("Stations", &columns, &[36, 10, 10, 8, 6, 9, 8], rows.collect()), stations);
    let rows = t.radio.iter().map(|r| {
        let percent = |p: f64| format!("{p:.1}");
        let frames = r.frames.to_string();
        vec![
            r.name.clone(),
            r.channel.clone(),
            percent(r.sending_percent),
            percent(r.busy_percent),
            frames,
            r.unanswered.to_string(),
        ]
    });
    let columns = ["radio", "channel", "sends %", "busy %", "frames", "unanswered"];
    frame.render_widget(table("Radios", &columns, &[24, 14, 9, 9, 10, 11], rows.collect()), radios);
    let rows = t.path.iter().map(|p| {
        vec![
            p.name.clone(),
            p.state.clone(),
            format!("{:.2}", p.sent_mbps),
            number(p.rtt_ms, 1),
            p.lost.to_string(),
        ]
    });
    let columns = ["path", "state", "Mbit/s", "rtt ms", "lost"];
    frame.render_widget(table("Paths of bonds", &columns, &[36, 12, 10, 9, 9], rows.collect()), paths);
    let rows = t.link.iter().map(|l| {
        let dropped = (l.dropped_full + l.dropped_aqm).to_string();
        vec![
            l.name.clone(),
            format!("{:.2}", l.carried_mbps),
            number(l.wait_ms, 1),
            dropped,
            l.lost.to_string(),
        ]
    });
    let columns = ["link", "Mbit/s", "wait ms", "dropped", "lost"];
    frame.render_widget(table("Links", &columns, &[36, 10, 9, 9, 9], rows.collect()), links);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ropewalk_scenario::report;

    #[test]
    fn stations_and_a_run_that_does_not_count_are_shown() {
        let station = report::StationRow {
            name: "ap:wlan0>sta:wlan0".into(),
            goodput_mbps: 42.5,
            ..report::StationRow::default()
        };
        let path = report::PathRow {
            name: "rw0:client:wan1".into(),
            state: "suspect".into(),
            sent_mbps: 17.25,
            ..report::PathRow::default()
        };
        let tables = report::Report { station: vec![station], path: vec![path], ..report::Report::default() };
        let report = Report {
            seconds: 1.0,
            tables,
            lateness: "late by".into(),
            invalid: Some("did not keep time".into()),
        };
        let mut terminal = Terminal::new(TestBackend::new(110, 24)).unwrap();
        terminal.draw(|frame| draw(frame, "cell", &report)).unwrap();
        let text: String = terminal.backend().buffer().content().iter().map(|c| c.symbol()).collect();
        assert!(text.contains("ap:wlan0>sta:wlan0") && text.contains("42.50"));
        assert!(text.contains("rw0:client:wan1") && text.contains("suspect") && text.contains("17.25"));
        assert!(text.contains("cell: did not keep time") && !text.contains("Radios"));
    }
}
