//! `latency`: how long a ping waits while a flow fills the bond.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ropewalk_lab::Ping;
use ropewalk_lab::env::Environment;

use super::Outcome;
use super::compare::{Comparison, figure_of};
use crate::bench::{Bench, WARM_UP};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit};
use crate::site::Site;
use crate::system::{Open, System};

const SYSTEMS: [System; 3] = [System::Path(1), System::Mptcp, System::Ropewalk];
const REPEATS: u32 = 3;
const CASES: [(&str, &str); 2] =
    [("20+20 Mb/s, 10 ms", "equal_20"), ("300 Mb/s 10 ms + 80 Mb/s 30 ms", "unequal_300_80")];
/// How often is asked under load.
const INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * (CASES.len() * plan.systems(&SYSTEMS).len()) as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let (seconds, repeats) = (bench.plan.pick(14, 8), bench.plan.repeats(REPEATS));
    let mut cases = Vec::new();
    for (name, environment) in CASES {
        let environment = Environment::named(environment).context("no such environment")?;
        let label = format!("latency {name}");
        let comparison = Comparison {
            bench,
            label,
            links: &environment.links,
            systems: &SYSTEMS,
            repeats,
            unit: Unit::Ms,
        };
        let values = comparison.run(|site, open| extra_delay(bench, site, open, seconds))?;
        let peers =
            [System::Path(1), System::Mptcp].map(|system| (system.name(), figure_of(&values, system)));
        let goal = Goal::at_most(30.0, 10.0);
        let figure = Figure::new("extra delay", Unit::Ms, figure_of(&values, System::Ropewalk), peers, goal);
        cases.push(Case { name: name.to_owned(), values, figures: vec![figure] });
    }
    let method = format!(
        "A ping each {} ms beside a flow of {seconds} s, from its {} s on: p99 less the median of pings before the \
         flow. Over path A for the bare path, which the flow fills, and for MPTCP, which fills both. Median of {repeats}.",
        INTERVAL.as_millis(),
        WARM_UP.as_secs()
    );
    Ok(Outcome { method, cases })
}

fn extra_delay(bench: &Bench, site: &Site, open: &Open, seconds: u32) -> Result<Sample> {
    let client = &site.lab.client;
    let idle = Ping::new(open.target).count(50).run(client)?;
    ensure!(
        idle.received > 40,
        "only {} of {} pings came back before there was load",
        idle.received,
        idle.sent
    );
    let asking = Duration::from_secs(seconds.into()) - WARM_UP - Duration::from_millis(500);
    let count = (asking.as_millis() / INTERVAL.as_millis()) as u16;
    let (loaded, flow) = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            std::thread::sleep(WARM_UP);
            Ping::new(open.target).count(count).interval(INTERVAL).run(client)
        });
        let flow = bench.flow(site, open, seconds);
        (asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), flow)
    });
    let (loaded, flow) = (loaded?, flow?);
    ensure!(loaded.received > 0, "no ping came back under load");
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let sample = Sample::of(ms(loaded.quantile(0.99)) - ms(idle.median()));
    let lost = loaded.sent - loaded.received;
    Ok(sample.note(format!(
        "idle {:.1} ms; under {:.0} Mb/s p50 {:.1}, p99 {:.1} ms, {lost} of {} lost",
        ms(idle.median()),
        flow.steady_mbps(WARM_UP),
        ms(loaded.median()),
        ms(loaded.quantile(0.99)),
        loaded.sent
    )))
}
