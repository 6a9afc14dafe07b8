//! Several systems through the same site, several times.

use anyhow::Result;
use ropewalk_air::wired::LinkSpec;

use crate::bench::Bench;
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::{Open, System};

/// What tables call path A where it is a veth pair.
pub(super) const BARE: &str = "bare veth";

/// What is compared under which conditions.
pub(super) struct Comparison<'a> {
    pub bench: &'a Bench,
    /// What progress calls it.
    pub label: String,
    /// The paths; none for a bare veth pair.
    pub links: &'a [LinkSpec],
    pub systems: &'a [System],
    pub repeats: u32,
    pub unit: Unit,
}

impl Comparison<'_> {
    /// Measures each system once, then each again, and so on: what drifts on the machine then drifts for all. Each round
    /// has a new site with another seed.
    pub(super) fn run(&self, measure: impl Fn(&Site, &Open) -> Result<Sample>) -> Result<Vec<Value>> {
        let systems = self.bench.plan.systems(self.systems);
        let mut values: Vec<Value> =
            systems.iter().map(|system| Value::new(self.name(*system), self.unit)).collect();
        for round in self.bench.plan.rounds(self.repeats) {
            let site = if self.links.is_empty() { Site::veth()? } else { Site::emulated(self.links, round)? };
            for (system, value) in systems.iter().zip(&mut values) {
                value.push(
                    self.bench.sample(&site, *system, &self.label, self.unit, |open| measure(&site, open)),
                );
            }
        }
        Ok(values)
    }

    fn name(&self, system: System) -> String {
        if self.links.is_empty() && system == System::Path(1) { BARE.to_owned() } else { system.name() }
    }
}

/// The figure of the value of this system.
pub(super) fn figure_of(values: &[Value], system: System) -> Option<f64> {
    let name = system.name();
    values.iter().find(|value| value.name == name)?.figure
}

/// One figure over another.
pub(super) fn ratio(figure: Option<f64>, over: Option<f64>) -> Option<f64> {
    figure.zip(over).filter(|(_, over)| *over > 0.0).map(|(figure, over)| figure / over)
}
