//! Scenario files of `scenarios/validation`, run by the simulator, against what ns-3 said of the same networks (`bench/ns3/results/ns3.csv`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ropewalk_scenario::Document;
use ropewalk_sim::Simulation;

use super::{Row, Table};

/// Bytes of an IP packet for each byte that a UDP application gets: reports count the application's, the stored figures IP's.
pub(super) const UDP_IP: f64 = 1500.0 / 1472.0;

/// A network that ns-3 was asked about.
struct Stored {
    case: String,
    /// Seeds that ns-3 ran it with.
    seeds: u64,
    /// Flows in the order of the scenario: name in ns-3's results, Mb/s, its standard error.
    flows: Vec<(String, f64, f64)>,
}

pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn stored() -> Vec<Stored> {
    let path = repository().join("bench/ns3/results/ns3.csv");
    let text = std::fs::read_to_string(&path).expect("the stored results can be read");
    let mut all: Vec<Stored> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("case,")) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |n: usize| fields[n].parse().expect("a stored figure is a number");
        if all.last().is_none_or(|last| last.case != fields[0]) {
            let seeds = fields[4].parse().expect("a number of seeds is stored");
            all.push(Stored { case: fields[0].to_owned(), seeds, flows: Vec::new() });
        }
        all.last_mut().expect("one was just added").flows.push((fields[1].to_owned(), number(2), number(3)));
    }
    all
}

/// What ns-3 said that all flows of a case carry, Mb/s.
pub(super) fn total(case: &str) -> Option<f64> {
    let stored = stored().into_iter().find(|stored| stored.case == case)?;
    stored.flows.iter().find(|flow| flow.0 == "total").map(|flow| flow.1)
}

/// What the flows of a scenario got in Mb/s, by name: mean over seeds.
fn run(case: &str, seeds: u64) -> BTreeMap<String, f64> {
    let path = repository().join("scenarios/validation").join(format!("{case}.toml"));
    let document = Document::read(&path).unwrap_or_else(|problems| panic!("{problems}"));
    let mut scenario = document.scenario().unwrap_or_else(|problems| panic!("{problems}"));
    let mut sum = BTreeMap::new();
    for seed in 1..=seeds {
        scenario.seed = seed;
        let mut simulation = Simulation::new(&scenario, &document.directory())
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        simulation.run();
        for flow in simulation.report().flow {
            *sum.entry(flow.name).or_insert(0.0) += flow.goodput_mbps / seeds as f64;
        }
    }
    sum
}

/// The name in our results of one of ns-3's flows.
fn our_name(theirs: &str, ours: &BTreeMap<String, f64>) -> String {
    let plain = theirs.replace(['>', ':'], "-");
    let station = theirs.split('>').next().unwrap_or_default();
    if ours.contains_key(&plain) { plain } else { format!("up-{station}") }
}

/// The bands: per cent of the total, and per cent of a fair share that a station may be off. Those of stations are wider than in
/// `bench/ns3/cases.py`: they see a starved station, not a small bias.
fn bands(case: &str) -> (f64, f64) {
    let aggregated = ["ampdu", "ht", "mixed"].iter().any(|part| case.contains(part));
    let total = match case {
        // The TCPs differ in how they treat a full queue of their own host and in when they acknowledge: see there, too.
        "tcp-down-54-n3" | "tcp-up-54-n3" => 5.0,
        // TCP up: the queue of its own host, as above.
        "tcp-up-ampdu-n3" => 5.0,
        _ if aggregated => 3.0,
        _ => 2.0,
    };
    let station = match case {
        // A queue shared by five stations turns some away more often than others: chance of arrival times, not of the medium.
        "down-54-n5" | "up-down-54-n3" => 30.0,
        _ if case.starts_with("tcp") || case.starts_with("crowd") || case.starts_with("lifetime") => 20.0,
        _ if case.starts_with("hidden") || case.starts_with("edca") || aggregated => 10.0,
        _ => 6.0,
    };
    (total, station)
}

fn rows(stored: &Stored, seeds: u64) -> Vec<Row> {
    let got = run(&stored.case, seeds);
    let udp = if stored.case.starts_with("tcp") { 1.0 } else { UDP_IP };
    let (total_band, station_band) = bands(&stored.case);
    let Some(total) = stored.flows.iter().find(|flow| flow.0 == "total") else { return Vec::new() };
    let share = total.1 / (stored.flows.len() - 1) as f64;
    let row = |(name, theirs, noise): &(String, f64, f64)| {
        // A station is measured against a fair share: a starved one's own figure is all noise.
        let (ours, band, whole) = if name == "total" {
            (got.values().sum::<f64>(), total_band, *theirs)
        } else {
            (got[&our_name(name, &got)], station_band, share)
        };
        let case = format!("{} {}", stored.case, name.replace('>', " → "));
        Row { whole: Some(whole), ..Row::new(case, *theirs, ours * udp, band / 100.0 + 3.0 * noise / whole) }
    };
    stored.flows.iter().map(row).collect()
}

/// Every stored network, every station of it, with as many seeds as ns-3 had, and three at least.
pub(super) fn all() -> Table {
    table("ns3", &|_| true, &|stored| stored.seeds.max(3))
}

/// Some that are quick and tell much: hidden stations, rate anomaly, a lossy link with aggregates, TCP up and down.
pub(super) fn quick() -> Table {
    const SOME: [&str; 6] =
        ["hidden-6", "hidden-54-rts", "anomaly-2", "ampdu-snr-23.5", "tcp-down-54-cubic", "tcp-down-ampdu"];
    table("ns3-quick", &|case| SOME.contains(&case), &|_| 2)
}

fn table(name: &'static str, wanted: &dyn Fn(&str) -> bool, seeds: &dyn Fn(&Stored) -> u64) -> Table {
    let chosen = stored().into_iter().filter(|stored| wanted(&stored.case));
    let rows = chosen.flat_map(|stored| rows(&stored, seeds(&stored))).collect();
    Table { name, unit: "ours, Mb/s", source: "ns-3 3.44, Mb/s", rows }
}
