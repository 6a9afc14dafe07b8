//! Several ways through the same site, several times.

use anyhow::Result;
use ropewalk_air::wired::LinkSpec;

use crate::bench::Bench;
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::way::{Open, Way};

/// What tables call path A where it is a veth pair.
pub(super) const BARE: &str = "bare veth";

/// What is compared under which conditions.
pub(super) struct Comparison<'a> {
    pub bench: &'a Bench,
    /// What progress calls it.
    pub label: String,
    /// The paths; none for a bare veth pair.
    pub links: &'a [LinkSpec],
    pub ways: &'a [Way],
    pub repeats: u32,
    pub unit: Unit,
}

impl Comparison<'_> {
    /// Measures each way once, then each again, and so on: what drifts on the machine then drifts for all. Each round
    /// has a new site with another seed.
    pub(super) fn run(&self, measure: impl Fn(&Site, &Open) -> Result<Sample>) -> Result<Vec<Value>> {
        let ways = self.bench.plan.ways(self.ways);
        let mut values: Vec<Value> = ways.iter().map(|way| Value::new(self.name(*way), self.unit)).collect();
        for round in self.bench.plan.rounds(self.repeats) {
            let site = if self.links.is_empty() { Site::veth()? } else { Site::emulated(self.links, round)? };
            for (way, value) in ways.iter().zip(&mut values) {
                value.push(
                    self.bench.sample(&site, *way, &self.label, self.unit, |open| measure(&site, open)),
                );
            }
        }
        Ok(values)
    }

    fn name(&self, way: Way) -> String {
        if self.links.is_empty() && way == Way::Path(1) { BARE.to_owned() } else { way.name() }
    }
}

/// The figure of the value of this way.
pub(super) fn figure_of(values: &[Value], way: Way) -> Option<f64> {
    let name = way.name();
    values.iter().find(|value| value.name == name)?.figure
}

/// One figure over another.
pub(super) fn ratio(figure: Option<f64>, over: Option<f64>) -> Option<f64> {
    figure.zip(over).filter(|(_, over)| *over > 0.0).map(|(figure, over)| figure / over)
}
