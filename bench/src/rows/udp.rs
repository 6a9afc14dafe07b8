//! `udp`: datagrams at nine tenths of what all paths carry.

use std::cell::RefCell;

use anyhow::{Context, Result};
use ropewalk_lab::env::Environment;
use ropewalk_lab::{Iperf, UdpReport};

use super::Outcome;
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::{Open, System};

const SYSTEMS: [System; 2] = [System::Path(1), System::Ropewalk];
const REPEATS: u32 = 3;
const CASES: [(&str, &str); 2] =
    [("20+20 Mb/s, 10 ms", "equal_20"), ("300 Mb/s 10 ms + 80 Mb/s 30 ms", "unequal_300_80")];
/// Bytes in a datagram: fits a tunnel in a tunnel.
const PAYLOAD: u32 = 1350;
/// The same load for so many seconds before it counts.
const WARM_UP_S: u32 = 4;
/// Share of the sum of rates.
const SHARE: f64 = 0.9;

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * (plan.systems(&SYSTEMS).len() * CASES.len()) as u64
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let repeats = bench.plan.repeats(REPEATS);
    let cases = CASES.iter().map(|(name, environment)| {
        let environment = Environment::named(environment).context("no such environment")?;
        case(bench, name, environment, repeats)
    });
    let cases = cases.collect::<Result<Vec<_>>>()?;
    let method = format!(
        "iperf3 -u with {PAYLOAD} bytes of payload, {:.0} % of the sum of rates (path A: of its rate, to see what the \
         measurement itself loses), {} s after {WARM_UP_S} s of the same load. Median of {repeats}.",
        SHARE * 100.0,
        seconds(&bench.plan)
    );
    Ok(Outcome { method, cases })
}

fn seconds(plan: &Plan) -> u32 {
    plan.pick(10, 5)
}

fn case(bench: &Bench, name: &str, environment: &Environment, repeats: u32) -> Result<Case> {
    let systems = bench.plan.systems(&SYSTEMS);
    let all = |what: &str, unit| -> Vec<Value> {
        systems.iter().map(|system| Value::new(format!("{} {what}", system.name()), unit)).collect()
    };
    let (mut losses, mut late) = (all("lost", Unit::Percent), all("reordered", Unit::Count));
    let [a, b] = environment.rates_mbps();
    for round in bench.plan.rounds(repeats) {
        let site = Site::emulated(&environment.links, round)?;
        for (i, system) in systems.iter().copied().enumerate() {
            let rate = if system == System::Ropewalk { a + b } else { a };
            let reordered = RefCell::new(Sample::default());
            let lost = bench.sample(&site, system, &format!("udp {name}"), Unit::Percent, |open| {
                let seen = load(bench, &site, open, rate * SHARE)?;
                *reordered.borrow_mut() = Sample::of(seen.1.out_of_order as f64);
                Ok(seen.0)
            });
            losses[i].push(lost);
            late[i].push(reordered.into_inner());
        }
    }
    let figure = |what, unit, values: &[Value], goal| {
        let of = |system| systems.iter().position(|w| *w == system).and_then(|i| values[i].figure);
        Figure::new(what, unit, of(System::Ropewalk), [(System::Path(1).name(), of(System::Path(1)))], goal)
    };
    let figures = vec![
        figure("lost", Unit::Percent, &losses, Goal::at_most(0.1, 0.0)),
        figure("reordered", Unit::Count, &late, Goal::at_most(0.0, 0.0)),
    ];
    let values = losses.into_iter().chain(late).collect();
    Ok(Case { name: name.to_owned(), values, figures })
}

fn load(bench: &Bench, site: &Site, open: &Open, mbps: f64) -> Result<(Sample, UdpReport)> {
    let run = |seconds| -> Result<UdpReport> {
        let iperf = Iperf::udp(open.target, mbps, PAYLOAD).seconds(seconds);
        iperf.run(&site.lab.client, &site.lab.gateway)?.udp.context("iperf3 says nothing of datagrams")
    };
    let lost = |seen: &UdpReport| 100.0 * seen.lost as f64 / seen.packets.max(1) as f64;
    let (first, seen) = (run(WARM_UP_S)?, run(seconds(&bench.plan))?);
    let sample = Sample::of(lost(&seen)).note(format!(
        "{mbps:.0} Mb/s; {} of {} lost, {} reordered; in the first {WARM_UP_S} s {:.2} % and {}",
        seen.lost,
        seen.packets,
        seen.out_of_order,
        lost(&first),
        first.out_of_order
    ));
    Ok((sample, seen))
}
