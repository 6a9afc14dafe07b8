//! The demonstration: what a bond does, shown on this machine in a minute.
//!
//! ```text
//!   client                                              gateway
//!   wan1 ───── link A (40 Mb/s, 10 ms one way) ───────── wan1
//!   wan2 ───── link B (20 Mb/s, 30 ms one way) ───────── wan2
//!   rw0  ═══════════════ the bond ══════════════════════ rw0
//! ```
//! It is `scenarios/demo.toml`, run as `ropewalk lab run` does it, with the real client and gateway: one TCP flow over link A alone, over link B
//! alone, over the bond, each with a ping beside it; then a longer flow over the bond, during which link A goes dead without anybody
//! being told, and comes back. What is here shows it: what goes on, a table, and a picture. Nothing outside the two namespaces is
//! touched, and nothing is left of them.

mod acts;
mod plot;
mod record;
mod show;
mod stage;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ropewalk_scenario::report::{FlowRow, Report};
use ropewalk_scenario::{Document, Scenario};

use crate::live::{self, Run};
use crate::{LabError, Result, Topology};
use acts::Acts;
use record::Record;
pub use record::Sample;
use stage::Stage;

/// The scenario and its file.
const SCENARIO: (&str, &str) = ("scenarios/demo.toml", include_str!("../../../../scenarios/demo.toml"));
/// A flow's first seconds are its start and say nothing of the bond.
const SETTLED_S: f64 = 2.0;
/// A path that died or came back has settled after so many seconds.
const AFTERWARDS_S: f64 = 1.0;
/// The bond is back where it was when half a second carries this share of what it carried before the cut.
const AS_BEFORE: f64 = 0.9;

/// A link as the command line has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Mb/s (10⁶ bit/s of IP packets), the same in both directions.
    pub mbps: f64,
    /// Delay one way, ms.
    pub delay_ms: f64,
}

/// What to show, and where to leave the picture.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `ropewalk` program.
    pub ropewalk: PathBuf,
    /// The SVG file to write.
    pub out: PathBuf,
    /// Other links than the scenario's A and B.
    pub links: Option<[Link; 2]>,
}

impl Options {
    /// The usual demonstration, with the links of the scenario.
    pub fn new(ropewalk: PathBuf, out: PathBuf) -> Options {
        Options { ropewalk, out, links: None }
    }

    /// The scenario with these links.
    fn scenario(&self) -> Result<Scenario> {
        let refused = |e: ropewalk_scenario::Problems| LabError::Refused(e.to_string());
        let mut document = Document::parse(SCENARIO.0, SCENARIO.1).map_err(refused)?;
        for (link, name) in self.links.iter().flatten().zip(["a", "b"]) {
            for setting in [
                format!("link.{name}.rate={}Mbit/s", link.mbps),
                format!("link.{name}.delay={}ms", link.delay_ms),
            ] {
                document.set_text(&setting).map_err(refused)?;
            }
        }
        document.scenario().map_err(refused)
    }
}

/// Round trips of a ping, ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrips {
    /// Their mean.
    pub mean_ms: f64,
    /// 99 of 100 are shorter.
    pub p99_ms: f64,
}

impl RoundTrips {
    /// None if nothing came back.
    fn of(ping: Option<&FlowRow>) -> Option<RoundTrips> {
        let ping = ping?;
        Some(RoundTrips { mean_ms: ping.rtt_ms?, p99_ms: ping.rtt_p99_ms? })
    }
}

/// One flow over one way, and the pings beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Mb/s (10⁶ bit/s) that arrived at the receiver's application.
    pub goodput_mbps: f64,
    /// Round trips with nothing else on the way; none if no echo came back.
    pub idle: Option<RoundTrips>,
    /// Round trips beside the flow, once it has settled; none if no echo came back.
    pub loaded: Option<RoundTrips>,
}

/// The flow that loses a link.
#[derive(Debug, Clone)]
pub struct Cut {
    /// What came through over time.
    pub samples: Vec<Sample>,
    /// When link A went dead, in seconds since the flow began.
    pub cut_s: f64,
    /// When it came back.
    pub back_s: f64,
    /// The longest time without anything delivered, from the cut on.
    pub pause: Duration,
    /// Mb/s delivered before the cut, while link A was dead, and in the end.
    pub mbps: [f64; 3],
    /// How long after link A's return the flow was as fast as before, if it was.
    pub recovered_s: Option<f64>,
}

/// All that was measured.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the links are like, in words.
    pub links: [String; 2],
    /// Link A alone, link B alone, the bond.
    pub ways: [Measured; 3],
    /// The flow that loses link A.
    pub cut: Cut,
    /// Why these figures may not be used, a sentence each; none if they may.
    pub invalid: Vec<String>,
}

/// Runs the demonstration: shows what goes on and what came out on the terminal, and leaves a picture. Needs root. None: it was interrupted.
///
/// # Errors
/// If this is not root, the links are none, or the tunnel does not come up.
pub fn run(options: &Options, interrupted: &AtomicBool) -> Result<Option<Outcome>> {
    Topology::cleanup_stale();
    let scenario = options.scenario()?;
    let acts = Acts::of(&scenario)?;
    let Some(report) = play(&scenario, &acts, options, interrupted)? else { return Ok(None) };
    let outcome = outcome(&scenario, &acts, &report);
    plot::write(&outcome, &options.out)?;
    show::outcome(&outcome, &options.out);
    Ok(Some(outcome))
}

fn play(
    scenario: &Scenario,
    acts: &Acts,
    options: &Options,
    interrupted: &AtomicBool,
) -> Result<Option<Report>> {
    let stage = Stage::new(scenario.duration.as_secs());
    show::begin(&stage, SCENARIO.0, &links(scenario));
    stage.begin("starting the gateway and the client");
    let directory = Path::new(SCENARIO.0).parent().unwrap_or(Path::new("."));
    let run = Run::prepare(scenario, &live::Options::new(directory), &options.ropewalk)?;
    let mut told = 0;
    let report = run.finish(interrupted, |moment| {
        let now_s = moment.elapsed.as_secs_f64();
        let ended = acts.ended_by(now_s);
        if ended > told {
            let flows = moment.flows();
            (told..ended).for_each(|i| tell(&stage, acts, i, &flows));
            told = ended;
        }
        let (name, flow) = acts.present(now_s);
        let mbps = flow.map(|f| Record::of(moment.series, &f, now_s).mean_of_late());
        stage.show(now_s, name, mbps);
    })?;
    if let Some(report) = &report {
        (told..acts.ways.len()).for_each(|i| tell(&stage, acts, i, &report.flow));
        stage.say(&show::cut(&cut(acts, report)));
    }
    stage.finish();
    Ok(report)
}

fn tell(stage: &Stage, acts: &Acts, way: usize, flows: &[FlowRow]) {
    let act = &acts.ways[way];
    stage.say(&show::way(act.title, &measured(act, flows)));
}

/// What a way showed.
fn measured(act: &acts::Way, flows: &[FlowRow]) -> Measured {
    let row = |name: &str| flows.iter().find(|f| f.name == name);
    let bytes = row(&act.flow.name).map_or(0, |f| f.bytes);
    Measured {
        goodput_mbps: bytes as f64 * 8.0 / act.flow.seconds() / 1e6,
        idle: RoundTrips::of(row(&act.idle)),
        loaded: RoundTrips::of(row(&act.loaded)),
    }
}

/// What the flow showed that lost link A.
fn cut(acts: &Acts, report: &Report) -> Cut {
    let flow = &acts.cut.flow;
    let record = Record::of(&report.series, flow, flow.end_s);
    let (cut_s, back_s, end_s) =
        (acts.cut.cut_s - flow.start_s, acts.cut.back_s - flow.start_s, flow.seconds());
    let before = record.mean_between(SETTLED_S, cut_s);
    let recovered = record.first_as_fast(back_s, AS_BEFORE * before);
    Cut {
        pause: record.longest_pause(cut_s, end_s),
        mbps: [
            before,
            record.mean_between(cut_s + AFTERWARDS_S, back_s),
            record.mean_between(end_s - 2.0 * AFTERWARDS_S, end_s),
        ],
        recovered_s: recovered.map(|at| at - back_s),
        samples: record.samples(end_s),
        cut_s,
        back_s,
    }
}

fn outcome(scenario: &Scenario, acts: &Acts, report: &Report) -> Outcome {
    let way = |i: usize| measured(&acts.ways[i], &report.flow);
    let invalid = report.provenance.lab.as_ref().map(|lab| lab.invalid.clone()).unwrap_or_default();
    Outcome { links: links(scenario), ways: [way(0), way(1), way(2)], cut: cut(acts, report), invalid }
}

/// Links as a user calls them: "40 Mb/s, 10 ms one way".
fn links(scenario: &Scenario) -> [String; 2] {
    [0, 1].map(|i| {
        let Some(link) = scenario.link.get(i) else { return String::new() };
        let rate = link.rate.map_or("any rate".to_owned(), |r| format!("{} Mb/s", r.bps as f64 / 1e6));
        format!("{rate}, {} ms one way", link.delay.as_secs_f64() * 1e3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_has_all_acts_in_order_and_takes_other_links() {
        let options = Options::new(PathBuf::new(), PathBuf::new());
        let scenario = options.scenario().unwrap();
        let acts = Acts::of(&scenario).unwrap();
        assert_eq!(links(&scenario), ["40 Mb/s, 10 ms one way", "20 Mb/s, 30 ms one way"]);
        let ends: Vec<f64> = acts.ways.iter().map(|w| w.flow.end_s).collect();
        assert!(ends.is_sorted() && ends[2] < acts.cut.flow.start_s);
        assert!(acts.cut.flow.start_s < acts.cut.cut_s && acts.cut.cut_s < acts.cut.back_s);
        assert_eq!(acts.present(acts.cut.cut_s + 1.0).0, "the bond, link A dead");
        let links_wanted = [Link { mbps: 300.0, delay_ms: 2.5 }, Link { mbps: 80.0, delay_ms: 30.0 }];
        let other = Options { links: Some(links_wanted), ..options.clone() }.scenario().unwrap();
        assert_eq!(links(&other), ["300 Mb/s, 2.5 ms one way", "80 Mb/s, 30 ms one way"]);
        let none = Link { mbps: 0.0, delay_ms: 1.0 };
        let refused = Options { links: Some([none, none]), ..options }.scenario().unwrap_err().to_string();
        assert!(refused.contains("link.a.rate"), "{refused}");
    }
}
