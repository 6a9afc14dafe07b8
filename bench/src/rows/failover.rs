//! `failover`: a path dies, nobody says so, and one flow goes on.

use std::time::Duration;

use anyhow::{Result, ensure};
use ropewalk_air::wired::LinkSpec;

use super::Outcome;
use super::compare::{Comparison, figure_of};
use crate::bench::Bench;
use crate::clock;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::{Open, System};

const SYSTEMS: [System; 2] = [System::Mptcp, System::Ropewalk];
const REPEATS: u32 = 3;
/// The rate is that of half a fast home line; the delay makes a round trip of 20 ms.
const RATE_MBPS: f64 = 50.0;
const DELAY: Duration = Duration::from_millis(10);
/// When the path dies, and how long the flow goes on.
const CUT: Duration = Duration::from_secs(5);
const AFTER: Duration = Duration::from_secs(6);

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * 2 * plan.systems(&SYSTEMS).len() as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let repeats = bench.plan.repeats(REPEATS);
    let links = [LinkSpec::new(RATE_MBPS, DELAY), LinkSpec::new(RATE_MBPS, DELAY)];
    let mut cases = Vec::new();
    for (name, cable) in [("path A dies", 0), ("path B dies", 1)] {
        let label = format!("failover, {name}");
        let comparison =
            Comparison { bench, label, links: &links, systems: &SYSTEMS, repeats, unit: Unit::Ms };
        let values = comparison.run(|site, open| stall(bench, site, open, cable))?;
        let values: Vec<Value> = values.into_iter().map(Value::into_largest).collect();
        let peer = (System::Mptcp.name(), figure_of(&values, System::Mptcp));
        let goal = Goal::at_most(300.0, 100.0);
        let figure =
            Figure::new("longest stall", Unit::Ms, figure_of(&values, System::Ropewalk), [peer], goal);
        cases.push(Case { name: name.to_owned(), values, figures: vec![figure] });
    }
    let method = format!(
        "Both directions of the path go silent {} s after the flow began. The longest time between two arrivals at the \
         receiver from then on, for {} s. The longest of {repeats}.",
        CUT.as_secs(),
        AFTER.as_secs()
    );
    Ok(Outcome { method, cases })
}

fn stall(bench: &Bench, site: &Site, open: &Open, cable: usize) -> Result<Sample> {
    let flow = bench.start_flow(site, open, (CUT + AFTER).as_secs() as u32)?;
    std::thread::sleep(CUT);
    let subflows = flow.subflows()?;
    let full = if open.mptcp { subflows.mptcp >= 2 } else { subflows.tcp >= 1 };
    let cut = clock::now();
    site.lab.cables[cable].set_up(false)?;
    let report = flow.finish();
    site.lab.cables[cable].set_up(true)?;
    let arrivals = report?.arrivals;
    ensure!(full, "the flow was not what it should have been: {subflows:?}");
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let before = arrivals.longest_gap_between(CUT / 2, CUT - Duration::from_millis(100));
    let (full, after) =
        (arrivals.mbps_between(CUT / 2, CUT), arrivals.mbps_between(CUT + AFTER / 2, CUT + AFTER));
    let note = format!(
        "{full:.0} Mb/s before, {after:.0} Mb/s from {} s after; longest silence before {:.0} ms",
        (AFTER / 2).as_secs(),
        ms(before)
    );
    Ok(Sample::of(ms(arrivals.longest_gap_after(cut))).note(note))
}
