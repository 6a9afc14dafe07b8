//! Counters of a live scenario, and the tables that their differences make.

use std::time::Duration;

use ropewalk_air::wifi::RadioStats;
use ropewalk_scenario::report::{LinkRow, Report, StationRow};
use ropewalk_sim::measure::rows::{self, WAYS};
use ropewalk_sim::measure::{LinkCounts, StationCounts};
use ropewalk_sim::net::{IfCounters, interface_of};

use super::bonds::BondCounts;
use super::bunches::BunchCounts;
use super::engine::Engine;
use super::plan::Plan;

/// All counters at one time: figures of a span are differences of two.
#[derive(Debug, Clone)]
pub struct Counters {
    /// Time since [`Lab::begin`](super::Lab::begin); zero before.
    pub at: Duration,
    /// Interfaces, in the simulator's order.
    pub(super) interfaces: Vec<IfCounters>,
    pub(super) links: Vec<LinkCounts>,
    /// Of each direction, the wait that 99 of 100 packets do not exceed, ms.
    pub(super) waits_ms: Vec<Option<f64>>,
    pub(super) radios: Vec<RadioStats>,
    pub(super) channels: Vec<String>,
    pub(super) stations: Vec<Vec<StationCounts>>,
    pub(super) bonds: BondCounts,
    pub(super) bunches: BunchCounts,
}

impl Counters {
    pub(super) fn take(engine: &Engine) -> Counters {
        let radios = engine.radios.as_ref();
        Counters {
            at: engine.zero.map_or(Duration::ZERO, |zero| engine.now() - zero),
            interfaces: engine.devices.iter().map(|d| d.counters).collect(),
            links: engine.link_counts(),
            waits_ms: engine.ways.iter().map(|w| w.wait.percentile_ms(99.0)).collect(),
            radios: radios.map_or(Vec::new(), |r| r.all_radio_stats()),
            channels: (0..engine.plan.radios.len())
                .map(|i| radios.map_or(String::new(), |r| r.channel(i)))
                .collect(),
            stations: radios.map_or(Vec::new(), |r| r.station_counts()),
            bonds: BondCounts::default(),
            bunches: BunchCounts::default(),
        }
    }

    /// The tables of what happened since `from`, without those of bonds.
    pub(super) fn tables(&self, plan: &Plan, from: &Counters) -> Report {
        let seconds = self.at.saturating_sub(from.at).as_secs_f64();
        let ports = plan.ports.iter().zip(from.interfaces.iter().zip(&self.interfaces));
        let radios = plan.radios.iter().zip(&self.channels).zip(from.radios.iter().zip(&self.radios));
        Report {
            station: self.stations(plan, from, seconds),
            radio: radios
                .map(|((name, channel), (a, b))| rows::radio_row(name, channel.clone(), [a, b], seconds))
                .collect(),
            interface: ports.map(|(port, (a, b))| rows::interface_row(&port.name, &b.since(a))).collect(),
            link: self.links(plan, from, seconds),
            ..Report::default()
        }
    }

    fn stations(&self, plan: &Plan, from: &Counters, seconds: f64) -> Vec<StationRow> {
        let mut all = Vec::new();
        for (i, now) in self.stations.iter().enumerate() {
            let sender = &plan.ports[plan.on_air[i]].name;
            for n in now {
                let before = from.stations.get(i).and_then(|b| b.iter().find(|b| b.to == n.to)).copied();
                let to = match n.to.is_group() {
                    true => Some("*"),
                    false => plan.ports.get(interface_of(n.to).0 as usize).map(|p| p.name.as_str()),
                };
                all.extend(to.and_then(|to| rows::station_row([sender, to], n, before, seconds)));
            }
        }
        all
    }

    fn links(&self, plan: &Plan, from: &Counters, seconds: f64) -> Vec<LinkRow> {
        let mut all = Vec::new();
        for (cable, (name, ends)) in plan.links.iter().enumerate() {
            for (way, word) in WAYS.into_iter().enumerate() {
                let d = 2 * cable + way;
                let counts = [&from.links[d], &self.links[d]];
                let sender = &plan.ports[ends[way]].name;
                all.push(rows::link_row(format!("{name}:{word}"), sender, counts, self.waits_ms[d], seconds));
            }
        }
        all
    }
}
