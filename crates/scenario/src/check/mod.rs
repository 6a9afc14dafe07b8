//! What types cannot say: names that nothing has, settings that contradict each other or that no radio can have.

mod abstract_medium;
mod bunch;
mod cpu;
mod figures;
mod names;
mod radios;
mod roam;
mod traffic;
mod transport;
mod wires;

use crate::file::Scenario;
use crate::problem::remedy;
use std::time::Duration;

pub use names::Names;

/// Most changes of a kind that are drawn before a run begins: all of them are in memory then.
const MOST_CHANGES: u128 = 100_000;

/// Everything that is wrong: the key, and the sentence.
/// `point`: the labels of the axes, if the scenario is a point of a sweep.
pub fn check(scenario: &Scenario, point: &[(String, String)]) -> Vec<(String, String)> {
    let mut judge = Judge { scenario, point, names: Names::of(scenario), found: Vec::new() };
    judge.times();
    names::check(&mut judge);
    radios::check(&mut judge);
    abstract_medium::check(&mut judge);
    roam::check(&mut judge);
    wires::check(&mut judge);
    cpu::check(&mut judge);
    bunch::check(&mut judge);
    traffic::check(&mut judge);
    transport::check(&mut judge);
    figures::check(&mut judge);
    judge.found
}

/// A scenario being judged.
pub struct Judge<'a> {
    scenario: &'a Scenario,
    point: &'a [(String, String)],
    names: Names<'a>,
    found: Vec<(String, String)>,
}

impl Judge<'_> {
    fn fail(&mut self, key: impl Into<String>, sentence: impl Into<String>) {
        self.found.push((key.into(), sentence.into()));
    }

    fn fail_if(&mut self, wrong: bool, key: impl Into<String>, sentence: impl FnOnce() -> String) {
        if wrong {
            self.fail(key, sentence());
        }
    }

    /// How often something changes in the run that is as it is for so long, on average.
    fn changes(&self, spell: Duration) -> u128 {
        self.scenario.duration.as_nanos() / spell.as_nanos().max(1)
    }

    /// Says that a run would have so many changes, if those are too many.
    fn refuse_many(&mut self, changes: u128, key: impl Into<String>) {
        self.fail_if(changes > MOST_CHANGES, key, || {
            format!("this makes {changes} changes; {MOST_CHANGES} are the most, so write longer times or a shorter run")
        });
    }

    /// Says that there is no `what` called `name`, unless there is.
    fn known<'b>(
        &mut self,
        key: &str,
        what: &str,
        name: &str,
        all: impl IntoIterator<Item = &'b str> + Clone,
    ) -> bool {
        let known = all.clone().into_iter().any(|n| n == name);
        self.fail_if(!known, key, || format!("there is no {what} `{name}`; {}", remedy(name, all)));
        known
    }

    fn times(&mut self) {
        let s = self.scenario;
        self.fail_if(s.duration == Duration::ZERO, "duration", || {
            "a run of no time shows nothing; write more than \"0s\"".into()
        });
        self.fail_if(s.warmup >= s.duration, "warmup", || {
            "the run ends before figures count; make the warm-up shorter than the duration".into()
        });
        let interval = s.measure.interval;
        self.fail_if(interval.is_some_and(|i| i < Duration::from_millis(1)), "measure.interval", || {
            "a row this often would be nothing but rows; write at least \"1ms\"".into()
        });
        let rows = interval.filter(|i| !i.is_zero()).map_or(0, |i| s.duration.as_nanos() / i.as_nanos());
        self.fail_if(rows > 1_000_000, "measure.interval", || {
            format!("this makes {rows} rows; a million is the most, so write a longer interval")
        });
    }
}
