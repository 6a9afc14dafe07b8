//! What of the scenario is which act: its flows by their names, its events by what they do.

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::What;

use crate::{LabError, Result};

/// A bulk flow and its time, seconds of the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) start_s: f64,
    pub(super) end_s: f64,
}

impl Span {
    /// How long it lasts.
    pub(super) fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// A flow over one way, and the pings before and beside it.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) title: &'static str,
    pub(super) flow: Span,
    pub(super) idle: String,
    pub(super) loaded: String,
}

/// The flow that loses link A.
#[derive(Debug)]
pub(super) struct CutAct {
    pub(super) flow: Span,
    pub(super) cut_s: f64,
    pub(super) back_s: f64,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Acts {
    pub(super) ways: [Way; 3],
    pub(super) cut: CutAct,
}

impl Acts {
    /// Finds them.
    ///
    /// # Errors
    /// One is missing.
    pub(super) fn of(scenario: &Scenario) -> Result<Acts> {
        let missing =
            |what: &str| LabError::Refused(format!("the scenario of the demonstration has no {what}"));
        let span = |name: &str| {
            let flow = scenario.flow.iter().find(|f| f.name == name);
            let flow = flow.ok_or_else(|| missing(&format!("flow {name}")))?;
            let end = flow.stop.unwrap_or(scenario.duration);
            Ok::<_, LabError>(Span {
                name: name.to_owned(),
                start_s: flow.start.as_secs_f64(),
                end_s: end.as_secs_f64(),
            })
        };
        let way = |title, name: &str| {
            let [idle, loaded] = ["idle", "loaded"].map(|when| format!("{name}-{when}"));
            Ok::<_, LabError>(Way { title, flow: span(name)?, idle, loaded })
        };
        let event = |what: What| {
            let event = scenario.event.iter().find(|e| e.what == what);
            event.map(|e| e.at.as_secs_f64()).ok_or_else(|| missing(&format!("event {}", what.name())))
        };
        let ways = [way("link A alone", "a")?, way("link B alone", "b")?, way("the bond", "bond")?];
        let cut = CutAct { flow: span("cut")?, cut_s: event(What::LinkDown)?, back_s: event(What::LinkUp)? };
        Ok(Acts { ways, cut })
    }

    /// How many ways are through by then.
    pub(super) fn ended_by(&self, now_s: f64) -> usize {
        self.ways.iter().filter(|w| w.flow.end_s < now_s).count()
    }

    /// What goes on then, and the flow that is on its way.
    pub(super) fn present(&self, now_s: f64) -> (String, Option<Span>) {
        if let Some(way) = self.ways.iter().find(|w| now_s < w.flow.end_s) {
            return match now_s < way.flow.start_s {
                true => (format!("{}: ping", way.title), None),
                false => (format!("{}: one TCP flow", way.title), Some(way.flow.clone())),
            };
        }
        let CutAct { flow, cut_s, back_s } = &self.cut;
        let what = match now_s {
            now if now < *cut_s => "the bond: one TCP flow",
            now if now < *back_s => "the bond, link A dead",
            _ => "the bond, link A back",
        };
        (what.to_owned(), (flow.start_s..flow.end_s).contains(&now_s).then(|| flow.clone()))
    }
}
