//! `hop`: two Wi-Fi links between an access point and a repeater under backpressure, over the sum of each alone (Multifacet, section 5.4, figure 10). In
//! simulated time: the figures are the same on every machine.

use std::path::Path;

use anyhow::{Result, anyhow};
use ropewalk_scenario::Document;
use ropewalk_scenario::report::Metric;
use ropewalk_scenario::sweep::{Plan as Points, Point};
use ropewalk_sim::Simulation;

use super::Outcome;
use super::compare::ratio;
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
    (RADIOS.len() * TRAFFIC.len() * SYSTEMS.len()) as u64 * u64::from(plan.repeats(SEEDS))
}

struct Hop {
    document: Document,
    points: Points,
    metric: Metric,
}

impl Hop {
    fn read() -> Result<Hop> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/000/desktop.toml");
        let document = Document::read(&file).map_err(|problems| anyhow!("{problems}"))?;
        let points = Points::of(&document).map_err(|problems| anyhow!("{problems}"))?;
        let metric = "flow.down.goodput_mbps".parse().map_err(|e| anyhow!("{e}"))?;
        Ok(Hop { document, points, metric })
    }

    /// The points with these labels, one for each seed.
    fn points(&self, labels: [&str; 3]) -> impl Iterator<Item = &Point> {
        let is = move |p: &&Point| labels.iter().all(|label| p.labels.iter().any(|(_, l)| l == label));
        self.points.points.iter().filter(is)
    }

    /// Goodput, Mb/s.
    fn goodput(&self, point: &Point) -> Result<f64> {
        let scenario = self.points.scenario(point).map_err(|problems| anyhow!("{problems}"))?;
        let mut simulation = Simulation::new(&scenario, &self.document.directory())?;
        simulation.run();
        self.metric.value(&simulation.report()).ok_or_else(|| anyhow!("the report has no goodput"))
    }

    fn case(&self, bench: &Bench, radios: (&str, &str), traffic: (&str, &str)) -> Case {
        let name = format!("{}, {}", radios.1, traffic.1);
        let mut values = SYSTEMS.map(|(_, called)| Value::new(called, Unit::Mbps));
        for (value, system) in values.iter_mut().zip(SYSTEMS) {
            let points = self.points([radios.0, traffic.0, system.0]);
            for point in points.take(bench.plan.repeats(SEEDS) as usize) {
                bench.progress.begin(&format!("hop: {name}, {}", system.1));
                let sample = self.goodput(point).map_or_else(|e| Sample::none(format!("{e:#}")), Sample::of);
                let line = format!("hop: {name}, {}: {:.1} Mb/s", system.1, sample.value.unwrap_or(f64::NAN));
                bench.progress.end(&line);
                value.push(sample);
            }
        }
        let [a, b, both] = &values;
        let over = ratio(both.figure, a.figure.zip(b.figure).map(|(a, b)| a + b));
        let figures = vec![Figure::new("over the sum", Unit::Times, over, [], Goal::at_least(0.93, 0.98))];
        Case { name, values: values.into(), figures }
    }
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let hop = Hop::read()?;
    let each = RADIOS.into_iter().flat_map(|radios| TRAFFIC.map(|traffic| (radios, traffic)));
    let cases = each.map(|(radios, traffic)| hop.case(bench, radios, traffic)).collect();
    let method = format!(
        "scenarios/000/desktop.toml in the simulator: one flow from a server behind the access point to a client on a wire behind the repeater, over each \
         of two radio links alone, without a bond, and over both by backpressure. Median of {} seeds.",
        bench.plan.repeats(SEEDS)
    );
    Ok(Outcome { method, cases })
}
