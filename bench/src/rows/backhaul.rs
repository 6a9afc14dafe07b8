//! `backhaul`: two Wi-Fi links between an access point and a repeater under backpressure, over the
//! sum of each alone (Multifacet, section 5.4, figure 10). In simulated time: the figures are the
//! same on every machine.

use anyhow::Result;

use super::Outcome;
use super::compare::ratio;
use super::simulated::Simulated;
use crate::bench::Bench;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};

/// Names of the scenario's axes for radios and traffic, with what tables call them.
const RADIOS: [(&str, &str); 3] = [("11a", "11a"), ("11n-20", "11n 20 MHz"), ("11n-40", "11n 40 MHz")];
const TRAFFIC: [(&str, &str); 2] = [("tcp", "TCP"), ("udp", "UDP")];
/// Each link without a bond, and the bond over both.
const SYSTEMS: [(&str, &str); 3] = [("a", "link A"), ("b", "link B"), ("both", "ropewalk")];
const SEEDS: u32 = 3;

pub(super) fn measurements(plan: &Plan) -> u64 {
    (RADIOS.len() * TRAFFIC.len() * systems(plan).len()) as u64 * u64::from(plan.repeats(SEEDS))
}

/// Those of [`SYSTEMS`] that are to be simulated: the last is Ropewalk.
fn systems(plan: &Plan) -> &'static [(&'static str, &'static str)] {
    &SYSTEMS[if plan.alone { 2 } else { 0 }..]
}

struct Backhaul(Simulated);

impl Backhaul {
    fn case(&self, bench: &Bench, radios: (&str, &str), traffic: (&str, &str)) -> Case {
        let name = format!("{}, {}", radios.1, traffic.1);
        let systems = systems(&bench.plan);
        let mut values: Vec<Value> = systems.iter().map(|s| Value::new(s.1, Unit::Mbps)).collect();
        for (value, system) in values.iter_mut().zip(systems) {
            for round in bench.plan.rounds(bench.plan.repeats(SEEDS)) {
                bench.progress.begin(&format!("backhaul: {name}, {}", system.1));
                let goodput =
                    self.0.value(bench, &[radios.0, traffic.0, system.0], round, "flow.down.goodput_mbps");
                let sample = goodput.map_or_else(|e| Sample::none(format!("{e:#}")), Sample::of);
                let line =
                    format!("backhaul: {name}, {}: {:.1} Mb/s", system.1, sample.value.unwrap_or(f64::NAN));
                bench.progress.end(&line);
                value.push(sample);
            }
        }
        let of = |system: usize| values.iter().find(|v| v.name == SYSTEMS[system].1)?.figure;
        let over = ratio(of(2), of(0).zip(of(1)).map(|(a, b)| a + b));
        let figures = vec![Figure::new("over the sum", Unit::Times, over, [], Goal::at_least(0.93, 0.98))];
        Case { name, values, figures }
    }
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let links = Backhaul(Simulated::read("000/desktop.toml")?);
    let each = RADIOS.into_iter().flat_map(|radios| TRAFFIC.map(|traffic| (radios, traffic)));
    let cases = each.map(|(radios, traffic)| links.case(bench, radios, traffic)).collect();
    let method = format!(
        "scenarios/000/desktop.toml in the simulator: one flow from a server behind the access point to a client on a wire behind the repeater, over each \
         of two radio links alone, without a bond, and over both by backpressure. Median of {} seeds.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}
