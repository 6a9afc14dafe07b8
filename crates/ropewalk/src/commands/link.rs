//! `ropewalk link`: what interfaces say of their queues, completions and neighbours.

use crate::cli::Show;
use crate::exit::{Code, failure};
use crate::report::link::{Link, LinkStation};
use crate::report::table::{bits, bytes};
use clap::Args;
use ropewalk_net::feedback::{FeedbackError, LinkFeedback, open};
use ropewalk_net::links;
use serde::Serialize;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

/// `ropewalk link`.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// The interfaces [default: all that have something to say]
    #[arg(value_name = "IFACE")]
    pub interfaces: Vec<String>,
    #[command(flatten)]
    pub show: Show,
}

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Without `--watch`, the load of the channel is measured over this long.
const APART: Duration = Duration::from_millis(250);
/// Clears a terminal and goes to its top.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// An interface.
#[derive(Serialize)]
struct Interface {
    interface: String,
    #[serde(flatten)]
    link: Link,
}

struct Watched {
    interface: String,
    feedback: Box<dyn LinkFeedback>,
    last: Option<Link>,
}

/// Shows it once, or until it is interrupted.
pub(super) fn run(args: &LinkArgs) -> anyhow::Result<()> {
    let mut all = watched(&args.interfaces)?;
    if args.show.json {
        loop {
            let now: Vec<Interface> = look(&mut all)?.into_iter().map(|(now, _)| now).collect();
            println!("{}", serde_json::to_string(&now)?);
            if !args.show.watch {
                return Ok(());
            }
            std::thread::sleep(EVERY);
        }
    }
    look(&mut all)?;
    std::thread::sleep(APART);
    loop {
        let text: Vec<String> =
            look(&mut all)?.iter().map(|(now, before)| table(now, before.as_ref())).collect();
        let clear = if args.show.watch && std::io::stdout().is_terminal() { CLEAR } else { "" };
        print!("{clear}{}", text.join("\n"));
        if !args.show.watch {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

/// The sources of the named interfaces, or of all that have one.
fn watched(names: &[String]) -> anyhow::Result<Vec<Watched>> {
    let source = |interface: String| -> Result<Watched, FeedbackError> {
        let opened = open(&interface, APART)?;
        Ok(Watched { interface, feedback: opened.feedback, last: None })
    };
    if !names.is_empty() {
        let all: Result<Vec<Watched>, FeedbackError> = names.iter().cloned().map(source).collect();
        return all.map_err(|e| failure(Code::Usage, e.to_string()));
    }
    let known = links::list()?.into_iter().filter(|l| !l.loopback).map(|l| l.name);
    let all: Vec<Watched> = known.filter_map(|name| source(name).ok()).collect();
    if all.is_empty() {
        return Err(failure(
            Code::Usage,
            "no interface here has link feedback; `ropewalk link IFACE` says of one why not",
        ));
    }
    Ok(all)
}

/// Each interface now, and as it was at the last look.
fn look(all: &mut [Watched]) -> anyhow::Result<Vec<(Interface, Option<Link>)>> {
    let one = |w: &mut Watched| -> anyhow::Result<(Interface, Option<Link>)> {
        let report = w.feedback.read()?;
        let link = Link::new(w.feedback.source(), &report);
        let before = w.last.replace(link.clone());
        Ok((Interface { interface: w.interface.clone(), link }, before))
    };
    all.iter_mut().map(one).collect()
}

fn table(now: &Interface, before: Option<&Link>) -> String {
    let (link, mut out) = (&now.link, String::new());
    let _ = write!(out, "{} ({})", now.interface, link.source);
    if let Some(mhz) = link.frequency_mhz {
        let _ = write!(out, ", {mhz} MHz");
    }
    if let Some(width) = link.width_mhz {
        let _ = write!(out, ", {width} MHz wide");
    }
    if let Some(busy) = before.and_then(|b| link.busy_percent(b)) {
        let _ = write!(out, ", {busy:.0} % busy");
    }
    let _ = writeln!(out, "\n  {}", link.line());
    if link.stations.is_empty() {
        return out;
    }
    let titles = [
        "station",
        "signal",
        "to it",
        "from it",
        "delivered",
        "failed",
        "retries",
        "wait BK/BE/VI/VO",
        "bytes",
        "airtime",
        "heard",
    ];
    let rows: Vec<[String; 11]> = link.stations.iter().map(row).collect();
    let titles = titles.map(String::from);
    let width = |i: usize| rows.iter().chain([&titles]).map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    for row in [&titles].into_iter().chain(&rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

fn row(s: &LinkStation) -> [String; 11] {
    let none = || "-".to_owned();
    let rate = |bps: Option<u64>| bps.map_or_else(none, |b| bits(b as f64));
    [
        if s.mac == "ff:ff:ff:ff:ff:ff" { "groups".to_owned() } else { s.mac.clone() },
        s.signal_dbm.map_or_else(none, |dbm| format!("{dbm:.0} dBm")),
        rate(s.tx_rate_bps),
        rate(s.rx_rate_bps),
        s.delivered.to_string(),
        s.failed.to_string(),
        s.retries.to_string(),
        s.backlog_packets.map(|n| n.to_string()).join("/"),
        bytes(s.backlog_bytes),
        s.airtime_tx_s.map_or_else(none, |t| format!("{t:.2} s")),
        s.inactive_ms.map_or_else(none, |ms| format!("{ms:.0} ms ago")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_reads_like_this() {
        let station = LinkStation {
            mac: "02:00:00:00:00:01".into(),
            signal_dbm: Some(-48.4),
            tx_rate_bps: Some(130_000_000),
            delivered: 1200,
            retries: 7,
            backlog_packets: [0, 12, 0, 1],
            backlog_bytes: 18_100,
            airtime_tx_s: Some(1.5),
            inactive_ms: Some(3.2),
            ..LinkStation::default()
        };
        let link = |channel_s: f64, channel_busy_s: f64| Link {
            source: "lab".into(),
            delivered: 1200,
            retries: 7,
            backlog_packets: 13,
            backlog_bytes: 18_100,
            tx_rate_bps: Some(130_000_000),
            frequency_mhz: Some(5180),
            width_mhz: Some(20),
            channel_s: Some(channel_s),
            channel_busy_s: Some(channel_busy_s),
            stations: vec![station.clone()],
            ..Link::default()
        };
        let now = Interface { interface: "wlan0".into(), link: link(2.0, 1.0) };
        let want = "\
wlan0 (lab), 5180 MHz, 20 MHz wide, 75 % busy
  13 packets (18.1 kB) wait; 1200 delivered, 0 failed, 7 retries; 130 Mb/s
  station            signal   to it     from it  delivered  failed  retries  wait BK/BE/VI/VO  bytes    airtime  heard
  02:00:00:00:00:01  -48 dBm  130 Mb/s  -        1200       0       7        0/12/0/1          18.1 kB  1.50 s   3 ms ago
";
        let text = table(&now, Some(&link(1.0, 0.25)));
        assert_eq!(text, want, "\n{text}");
        let wired = Link { source: "qdisc".into(), delivered: 5, ..Link::default() };
        let wired = Interface { interface: "eth0".into(), link: wired };
        assert_eq!(
            table(&wired, None),
            "eth0 (qdisc)\n  0 packets (0 B) wait; 5 delivered, 0 failed, 0 retries\n"
        );
    }
}
