//! `throughput`: as fast as the machine.

use anyhow::Result;
use ropewalk_lab::Iperf;

use super::Outcome;
use super::compare::{Comparison, figure_of, ratio};
use crate::bench::{Bench, WARM_UP};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit};
use crate::system::System;

const SYSTEMS: [System; 4] = [System::Path(1), System::Wireguard, System::WireguardFirst, System::Ropewalk];
const REPEATS: u32 = 5;

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * plan.systems(&SYSTEMS).len() as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let (seconds, repeats) = (bench.plan.pick(12, 6), bench.plan.repeats(REPEATS));
    let label = "throughput".to_owned();
    let comparison = Comparison { bench, label, links: &[], systems: &SYSTEMS, repeats, unit: Unit::Mbps };
    let values = comparison.run(|site, open| {
        let run = Iperf::tcp(open.target).seconds(seconds).run(&site.lab.client, &site.lab.gateway)?;
        Ok(Sample::of(run.mean_between(WARM_UP.as_secs_f64(), f64::from(seconds))))
    })?;
    let over = ratio(figure_of(&values, System::Ropewalk), figure_of(&values, System::Wireguard));
    let figures = vec![Figure::new("over wireguard-go", Unit::Times, over, [], Goal::at_least(2.5, 5.0))];
    let method = format!(
        "iperf3, one flow under CUBIC, {seconds} s, of which the first {} do not count. Both ends and the load share the \
         machine: the ratio matters. Ropewalk's daemons go before other programs (niceness -10), as they always do. The \
         systems take turns. Median of {repeats}.",
        WARM_UP.as_secs()
    );
    Ok(Outcome { method, cases: vec![Case { name: "one path".to_owned(), values, figures }] })
}
