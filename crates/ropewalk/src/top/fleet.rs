//! `ropewalk top --store`: the gateways of a fleet, live.

use crate::report::table::{bits, bytes};
use crate::store::{Standing, StoreSettings};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::text::Text;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two looks. Gateways write what was used every 5 s.
const EVERY: Duration = Duration::from_secs(5);
/// Looks that rates are taken of: the last so many.
const LOOKS: usize = 4;

/// A gateway, as it is shown.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    endpoints: Vec<String>,
    draining: bool,
    /// How long it counts as alive if it says nothing from now on, seconds.
    lease_s: i64,
    clients: usize,
    used_bytes: u64,
    /// Bits per second of all clients, as far as gateways have written what was used.
    from_clients_bps: f64,
    to_clients_bps: f64,
}

/// The last looks.
#[derive(Debug, Default)]
struct Looks(VecDeque<(Duration, Vec<Standing>)>);

impl Looks {
    fn add(&mut self, at: Duration, gateways: Vec<Standing>) {
        self.0.push_back((at, gateways));
        if self.0.len() > LOOKS {
            self.0.pop_front();
        }
    }

    fn rows(&self) -> Vec<Row> {
        let Some((now, gateways)) = self.0.back() else { return Vec::new() };
        let row = |g: &Standing| {
            // A gateway that came later is counted from when it was first seen.
            let first =
                self.0.iter().find_map(|(at, all)| Some((at, all.iter().find(|o| o.name == g.name)?)));
            let per_second = |of: fn(&Standing) -> u64| match first {
                Some((at, old)) if at < now => {
                    of(g).saturating_sub(of(old)) as f64 * 8.0 / now.saturating_sub(*at).as_secs_f64()
                }
                _ => 0.0,
            };
            Row {
                name: g.name.clone(),
                endpoints: g.endpoints.clone(),
                draining: g.draining,
                lease_s: g.lease_s,
                clients: g.clients,
                used_bytes: g.used.total(),
                from_clients_bps: per_second(|g| g.used.from_client),
                to_clients_bps: per_second(|g| g.used.to_client),
            }
        };
        gateways.iter().map(row).collect()
    }
}

/// Shows it until `q` is pressed; once where there is no terminal, or as JSON.
pub(super) fn run(store: &StoreSettings, json: bool) -> anyhow::Result<()> {
    let (begun, mut looks) = (Instant::now(), Looks::default());
    looks.add(begun.elapsed(), store.overview()?);
    if json || !std::io::stdout().is_terminal() {
        // Rates need two looks, and what was used has to be written between them.
        std::thread::sleep(EVERY + Duration::from_secs(3));
        looks.add(begun.elapsed(), store.overview()?);
        let rows = looks.rows();
        if json {
            println!("{}", serde_json::to_string_pretty(&rows)?);
        } else {
            print!("{}", table(&rows));
        }
        return Ok(());
    }
    let mut terminal = ratatui::try_init()?;
    let outcome = watch(&mut terminal, store, &mut looks, begun);
    ratatui::restore();
    outcome
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    store: &StoreSettings,
    looks: &mut Looks,
    begun: Instant,
) -> anyhow::Result<()> {
    let (mut next, mut trouble) = (Instant::now() + EVERY, String::new());
    loop {
        let shown = format!("q: quit    fleet in {store}{trouble}\n\n{}", table(&looks.rows()));
        terminal.draw(|frame| frame.render_widget(Text::raw(shown.as_str()), frame.area()))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            if let Event::Key(key) = event::read()?
                && key.kind == KeyEventKind::Press
            {
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                    _ => {}
                }
            }
            continue;
        }
        next = Instant::now() + EVERY;
        trouble = match store.overview() {
            Ok(gateways) => {
                looks.add(begun.elapsed(), gateways);
                String::new()
            }
            // Above the table, which may be longer than the screen.
            Err(error) => format!("\nthese figures are old: {error:#}"),
        };
    }
}

fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0).max("gateway".len());
    let mut out = format!(
        "{:<width$}  {:>7}  {:>5}  {:>12}  {:>12}  {:>10}  endpoints\n",
        "gateway", "clients", "lease", "from clients", "to clients", "in all"
    );
    for r in rows {
        let (from, to) = (bits(r.from_clients_bps), bits(r.to_clients_bps));
        let state = if r.draining { "draining  " } else { "" };
        let _ = writeln!(
            out,
            "{:<width$}  {:>7}  {:>3} s  {from:>12}  {to:>12}  {:>10}  {state}{}",
            r.name,
            r.clients,
            r.lease_s,
            bytes(r.used_bytes),
            r.endpoints.join(" ")
        );
    }
    if rows.is_empty() {
        out.push_str("no gateway of this fleet runs\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_fleet::Usage;

    fn standing(name: &str, from_client: u64, to_client: u64) -> Standing {
        let used = Usage { from_client, to_client };
        Standing { name: name.into(), clients: 2, lease_s: 5, used, ..Standing::default() }
    }

    #[test]
    fn rates_are_of_what_was_used_between_the_looks() {
        let mut looks = Looks::default();
        let at = Duration::from_secs;
        looks.add(at(0), vec![standing("g1", 1000, 0)]);
        assert_eq!(looks.rows()[0].from_clients_bps, 0.0, "one look says nothing");
        looks.add(at(10), vec![standing("g1", 6000, 500), standing("g2", 9999, 0)]);
        let rows = looks.rows();
        assert_eq!((rows[0].from_clients_bps, rows[0].to_clients_bps), (4000.0, 400.0));
        assert_eq!(rows[1].from_clients_bps, 0.0, "it was not seen before");
        looks.add(at(20), vec![standing("g2", 9999, 1000)]);
        let shown = table(&looks.rows());
        assert!(!shown.contains("g1") && shown.contains("g2"), "{shown}");
        assert!(table(&[]).ends_with("no gateway of this fleet runs\n"));
        (0..20).for_each(|n| looks.add(at(30 + n), Vec::new()));
        assert_eq!(looks.0.len(), LOOKS);
    }
}
