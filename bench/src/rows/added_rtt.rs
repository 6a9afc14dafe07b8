//! `added-rtt`: what a tunnel that does nothing else takes for a packet there and back.

use std::time::Duration;

use anyhow::{Result, ensure};
use ropewalk_lab::Ping;

use super::Outcome;
use super::compare::{BARE, Comparison};
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit};
use crate::system::System;

const SYSTEMS: [System; 3] = [System::Path(1), System::Wireguard, System::Ropewalk];
const REPEATS: u32 = 5;
/// Apart so far that each finds everything asleep.
const INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * plan.systems(&SYSTEMS).len() as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let (count, repeats) = (bench.plan.pick(1000, 300), bench.plan.repeats(REPEATS));
    let label = "added-rtt".to_owned();
    let comparison = Comparison { bench, label, links: &[], systems: &SYSTEMS, repeats, unit: Unit::Us };
    let values = comparison.run(|site, open| {
        let seen = Ping::new(open.target).count(count).interval(INTERVAL).run(&site.lab.client)?;
        ensure!(
            seen.received * 10 > seen.sent * 9,
            "only {} of {} pings came back",
            seen.received,
            seen.sent
        );
        Ok(Sample::of(seen.median().as_secs_f64() * 1e6))
    })?;
    let figure = |name: &str| values.iter().find(|value| value.name == name)?.figure;
    let added = |system: System| figure(&system.name()).zip(figure(BARE)).map(|(system, bare)| system - bare);
    let (peer, ours) = ((System::Wireguard.name(), added(System::Wireguard)), added(System::Ropewalk));
    let figures = vec![Figure::new("added", Unit::Us, ours, [peer], Goal::at_most(150.0, 60.0))];
    let method = format!(
        "{count} pings, {} ms apart, over a veth pair and through an idle tunnel over it: medians. Median of {repeats}.",
        INTERVAL.as_millis()
    );
    Ok(Outcome { method, cases: vec![Case { name: "one path".to_owned(), values, figures }] })
}
