//! What was found, for people.

use super::client::Findings;
use super::diagnose::{Direction, Finding, Limit, Load};
use super::echo::Echoes;
use super::mptcp::{Both, Run, Sample, State, Verdict};
use std::fmt::Write;

/// The report.
pub(super) fn render(f: &Findings) -> String {
    let mut out = String::new();
    let hops = f.hops.map_or(String::new(), |n| format!(", {n} {}", if n == 1 { "hop" } else { "hops" }));
    let _ = writeln!(out, "{}{hops}", f.host);
    let _ = writeln!(out, "  idle        {}", echoes(&f.idle));
    let trains = [(f.train_mbps, "there"), (f.train_down_mbps, "back")];
    let trains = trains.iter().filter_map(|(mbps, way)| Some(format!("{:.1} Mbit/s {way}", (*mbps)?)));
    let trains: Vec<String> = trains.collect();
    if !trains.is_empty() {
        let _ = writeln!(out, "  trains      {}", trains.join(", "));
    }
    direction(&mut out, "up", &f.up);
    direction(&mut out, "down", &f.down);
    let _ = writeln!(out, "  both ways   {:.1} Mbit/s together", f.both_mbps);
    if let Some(Both { up, down }) = &f.mptcp {
        connection(&mut out, "up", up, &up.client);
        connection(&mut out, "down", down, &down.server.clone().unwrap_or_default());
    }
    finding(&mut out, "up", &f.limit_up);
    finding(&mut out, "down", &f.limit_down);
    match &f.mptcp {
        Some(Both { up, down }) if up.verdict == down.verdict => verdict(&mut out, "mptcp", &up.verdict),
        Some(Both { up, down }) => {
            verdict(&mut out, "mptcp up", &up.verdict);
            verdict(&mut out, "mptcp down", &down.verdict);
        }
        None => {}
    }
    out
}

fn echoes(e: &Echoes) -> String {
    if e.received == 0 {
        return "no echo came back: UDP does not pass".into();
    }
    let lost = e.sent - e.received;
    let lost = if lost == 0 { String::new() } else { format!(", {lost} of {} lost", e.sent) };
    format!("{:.2} ms, least {:.2}, 99 of 100 under {:.2}{lost}", e.median_ms, e.min_ms, e.p99_ms)
}

fn direction(out: &mut String, name: &str, direction: &Direction) {
    for load in [&direction.one, &direction.several] {
        let Load { streams, mbps, loss, .. } = load;
        let many = if *streams == 1 { "connection" } else { "connections" };
        let _ = writeln!(
            out,
            "  {name:<5} {streams:>2} {many:<12} {mbps:>8.1} Mbit/s, {:.3} % sent again; echoes {}",
            loss * 100.0,
            echoes(&load.echoes)
        );
    }
}

/// A connection of MPTCP, as its sender sees it: the sender's controller and scheduler count.
fn connection(out: &mut String, name: &str, run: &Run, sender: &Sample) {
    let _ = write!(out, "  mptcp {name:<5}           {:>8.1} Mbit/s", run.mbps);
    if run.verdict.state == State::Fallback {
        out.push_str(" by TCP");
    }
    if let Some(controller) = &sender.controller {
        let _ = write!(out, "; controller {controller}");
    }
    if let Some(scheduler) = sender.scheduler.as_ref().filter(|_| run.verdict.state == State::Mptcp) {
        let _ = write!(out, "; its network namespace has the scheduler {scheduler}");
    }
    out.push('\n');
    for subflow in &sender.subflows {
        let megabytes = subflow.bytes as f64 / 1e6;
        let _ = writeln!(out, "    {} to {}: {megabytes:.1} MB", subflow.local, subflow.remote);
    }
}

fn verdict(out: &mut String, name: &str, verdict: &Verdict) {
    let state = match verdict.state {
        State::Mptcp => "in use",
        State::Fallback => "fell back to TCP",
        State::Unknown => "nobody knows whether it is in use",
    };
    let _ = writeln!(out, "\n{name}: {state}: {}.", verdict.because);
    if let Some(set) = verdict.set {
        let _ = writeln!(out, "  set: {set}.");
    }
}

fn finding(out: &mut String, name: &str, finding: &Finding) {
    let limit = match finding.limit {
        Limit::Window => "the window",
        Limit::Loss => "loss",
        Limit::Airtime => "airtime",
        Limit::Queue => "the link, with a long queue,",
        Limit::Link => "the link",
        Limit::Nothing => "something that lets nothing pass",
    };
    let _ = write!(out, "\n{name}: {limit} binds: {}.\n  set: {}.\n", finding.because, finding.set);
    if finding.gain > 1.0 {
        let _ = writeln!(
            out,
            "  then: about {:.0} Mbit/s, {:.1} times as much",
            finding.predicted_mbps, finding.gain
        );
    }
}
