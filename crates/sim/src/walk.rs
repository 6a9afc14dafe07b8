//! Nodes that walk: straight lines between the points of the scenario, in steps.

use crate::build::Built;
use ropewalk_air::Time;
use ropewalk_air::wifi::{Command, RadioId};
use ropewalk_scenario::Scenario;
use std::time::Duration;

/// How often a walking node is put to its new place: 14 cm at a person's 1.4 m/s, a quarter of a dB at 5 m.
const STEP: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
struct Point {
    at: Time,
    place: [f64; 3],
}

#[derive(Debug)]
struct Walk {
    radios: Vec<RadioId>,
    points: Vec<Point>,
    next: Option<Time>,
}

/// All walks of a scenario.
#[derive(Debug, Default)]
pub struct Walks(Vec<Walk>);

impl Walks {
    /// The walks of nodes that have radios; the others' places mean nothing.
    pub fn new(scenario: &Scenario, built: &Built) -> Walks {
        let walk = |(name, spec): (&String, &ropewalk_scenario::file::NodeSpec)| {
            let radios: Vec<RadioId> = built.radios_of(name).collect();
            let place = |p: ropewalk_scenario::units::Position| [p.x_m, p.y_m, p.z_m];
            let start = Point { at: Time::ZERO, place: place(spec.position) };
            let mut points = vec![start];
            points
                .extend(spec.walk.iter().map(|w| Point { at: Time::ZERO + w.at, place: place(w.position) }));
            let walks = !radios.is_empty() && points.len() > 1;
            walks.then(|| Walk { radios, points, next: Some(Time::ZERO + STEP) })
        };
        Walks(scenario.node.iter().filter_map(walk).collect())
    }

    /// When somebody takes the next step.
    pub fn next(&self) -> Option<Time> {
        self.0.iter().filter_map(|w| w.next).min()
    }

    /// The steps that are due, as commands to the air.
    pub fn due(&mut self, now: Time) -> Vec<Command> {
        let mut steps = Vec::new();
        for walk in self.0.iter_mut().filter(|w| w.next.is_some_and(|at| at <= now)) {
            let position = place(&walk.points, now);
            steps.extend(walk.radios.iter().map(|&radio| Command::Move { radio, position }));
            let arrived = walk.points.last().is_none_or(|p| p.at <= now);
            walk.next = (!arrived).then(|| now + STEP);
        }
        steps
    }
}

/// Where somebody is who walks from point to point.
fn place(points: &[Point], now: Time) -> [f64; 3] {
    let after = points.partition_point(|p| p.at <= now);
    let Some(from) = after.checked_sub(1).map(|i| points[i]) else { return points[0].place };
    let Some(to) = points.get(after) else { return from.place };
    let share = (now - from.at).as_secs_f64() / (to.at - from.at).as_secs_f64();
    std::array::from_fn(|i| from.place[i] + share * (to.place[i] - from.place[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_in_straight_lines_and_stays_at_the_end() {
        let at = |s: u64, x: f64| Point { at: Time::from_secs(s), place: [x, 0.0, -x] };
        let points = [at(0, 0.0), at(10, 20.0), at(12, 20.0), at(13, 0.0)];
        for (s, x) in [(0, 0.0), (5, 10.0), (10, 20.0), (11, 20.0), (13, 0.0), (99, 0.0)] {
            assert_eq!(place(&points, Time::from_secs(s)), [x, 0.0, -x], "at {s} s");
        }
    }
}
