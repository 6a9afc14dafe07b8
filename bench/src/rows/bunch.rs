//! `bunch-gateway`: how many packets of how many homes one core of a bunch's gateway puts together.

use anyhow::Result;

use super::Outcome;
use crate::bench::Bench;
use crate::homes::{PER_SECOND, packets_per_second};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};

const REPEATS: u32 = 5;
/// Uploads at once: one, a street, and what a gateway's 1,024 access points make.
const HOMES: [usize; 3] = [1, 30, 300];
/// Packets of all homes in a measurement.
const PACKETS: usize = 240_000;

pub(super) fn measurements(plan: &Plan) -> u64 {
    HOMES.len() as u64 * u64::from(plan.repeats(REPEATS))
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let packets = bench.plan.pick(PACKETS, PACKETS / 10);
    let mut cases = Vec::new();
    for homes in HOMES {
        let mut value = Value::new("packets", Unit::PerSecond);
        for _ in 0..bench.plan.repeats(REPEATS) {
            bench.progress.begin(&format!("bunch-gateway, {homes}"));
            // A burst of eight each in a round.
            let speed = packets_per_second(homes, (packets / 8 / homes).max(10));
            value.push(speed.map_or_else(|error| Sample::none(format!("{error:#}")), Sample::of));
            let last = value.samples.last().map_or("none".into(), |v| value.unit.text(*v));
            bench.progress.end(&last);
        }
        let per_core = value.figure;
        let uploads = per_core.map(|packets| packets / PER_SECOND as f64);
        let figures = vec![
            Figure::new("packets per core", Unit::PerSecond, per_core, [], Goal::none()),
            Figure::new("uploads per core", Unit::Count, uploads, [], Goal::none()),
        ];
        let name = if homes == 1 { "1 home".to_owned() } else { format!("{homes} homes") };
        cases.push(Case { name, values: vec![value], figures });
    }
    let method = format!(
        "The crate's state machine in this program: no sockets, no seals, no device. Each home uploads {PER_SECOND} datagrams of 1,350 bytes a second, \
         which two neighbours hear, too; access points and tunnels take no time. Packets that came by access points and were put together, over the processor \
         time of the gateway; an upload is {PER_SECOND} of them a second. Median of {}.",
        bench.plan.repeats(REPEATS)
    );
    Ok(Outcome { method, cases })
}
