//! `ceiling`: what a bare relay carries, and how near the bond comes to it.

use std::time::Duration;

use anyhow::{Context, Result};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::Iperf;

use super::Outcome;
use super::compare::{Comparison, figure_of, ratio};
use crate::bench::{Bench, WARM_UP};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit};
use crate::site::Site;
use crate::system::{Open, System};
use crate::usage;

const SYSTEMS: [System; 3] = [System::WireguardFirst, System::Relay, System::Ropewalk];
const REPEATS: u32 = 5;
/// A path that all of them fill.
const MBPS: f64 = 300.0;
const DELAY: Duration = Duration::from_millis(5);

pub(super) fn measurements(plan: &Plan) -> u64 {
    2 * u64::from(plan.repeats(REPEATS)) * plan.systems(&SYSTEMS).len() as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let (seconds, repeats) = (bench.plan.pick(12, 6), bench.plan.repeats(REPEATS));
    let label = "ceiling, veth".to_owned();
    let fast = Comparison { bench, label, links: &[], systems: &SYSTEMS, repeats, unit: Unit::Mbps };
    let rates = fast.run(|site, open| Ok(load(site, open, seconds)?.0))?;
    let links = [LinkSpec::new(MBPS, DELAY)];
    let label = format!("ceiling, {MBPS:.0} Mb/s");
    let full = Comparison { bench, label, links: &links, systems: &SYSTEMS, repeats, unit: Unit::NsPerByte };
    let costs = full.run(|site, open| Ok(load(site, open, seconds)?.1))?;
    let of = |values, system, over| ratio(figure_of(values, system), figure_of(values, over));
    let fast = vec![
        Figure::new(
            "over the relay",
            Unit::Times,
            of(&rates, System::Ropewalk, System::Relay),
            [],
            Goal::at_least(0.75, 0.9),
        ),
        Figure::new(
            "over wireguard-go",
            Unit::Times,
            of(&rates, System::Ropewalk, System::WireguardFirst),
            [],
            Goal::at_least(3.5, 5.0),
        ),
    ];
    let relay = of(&costs, System::Ropewalk, System::Relay);
    let full = vec![Figure::new("cost over the relay's", Unit::Times, relay, [], Goal::at_most(1.34, 1.11))];
    let method = format!(
        "iperf3, one flow under CUBIC, {seconds} s, of which the first {} do not count, through a bare relay (the same device and socket, one seal for each \
         datagram, nothing else), through Ropewalk and through wireguard-go, all at the niceness -10 and with an MTU of 1420 inside. On a bare veth pair: rates. Over a path of {MBPS:.0} Mb/s \
         and {} ms: processor time of both ends' processes for each byte carried, the kernel's part in their name included. Median of {repeats}.",
        WARM_UP.as_secs(),
        DELAY.as_millis()
    );
    let cases = vec![
        Case { name: "veth, rate".to_owned(), values: rates, figures: fast },
        Case { name: "a path that is full, processor time".to_owned(), values: costs, figures: full },
    ];
    Ok(Outcome { method, cases })
}

/// The rate in Mb/s, and the processor time in ns for each byte.
fn load(site: &Site, open: &Open, seconds: u32) -> Result<(Sample, Sample)> {
    let spent =
        || open.processes.iter().map(|(_, process)| usage::cpu_seconds(process.id())).sum::<Option<f64>>();
    let before = spent().context("a process of the system has ended")?;
    let run = Iperf::tcp(open.target).seconds(seconds).run(&site.lab.client, &site.lab.gateway)?;
    let spent = spent().context("a process of the system has ended")? - before;
    let rate = run.mean_between(WARM_UP.as_secs_f64(), f64::from(seconds));
    let bytes = run.mean_between(0.0, f64::from(seconds)) * 1e6 / 8.0 * f64::from(seconds);
    Ok((Sample::of(rate), Sample::of(spent * 1e9 / bytes.max(1.0))))
}
