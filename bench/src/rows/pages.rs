//! `pages`: web pages, and a call beside them.

use std::cell::RefCell;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ropewalk_lab::Paths;
use ropewalk_lab::env::Environment;

use super::Outcome;
use super::compare::{figure_of, ratio};
use crate::bench::{Bench, WARM_UP};
use crate::call::{Call, Heard};
use crate::clock;
use crate::page::{self, Ends, Server};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value, median, quantile};
use crate::site::Site;
use crate::system::{self, Open, System};

const SYSTEMS: [System; 4] = [System::Path(1), System::Path(2), System::Mptcp, System::Ropewalk];
/// Of the sixteen: like paths, paths of unlike delay, and unlike paths of which both jitter and one loses.
const ENVIRONMENTS: [&str; 3] = ["baseline", "rtt_70", "lte_starlink"];
const REPEATS: u32 = 3;
/// Between two pages: what the last one left in queues is gone.
const PAUSE: Duration = Duration::from_secs(1);

/// On the shared clock.
type Span = Range<Duration>;
/// What one run shows, in the order of [`KINDS`].
type Seen = [f64; 6];

/// The first two are of pages.
const KINDS: [(&str, Unit); 6] = [
    ("page, median", Unit::Ms),
    ("page, p95", Unit::Ms),
    ("call beside pages, delay p99", Unit::Ms),
    ("call alone, delay p99", Unit::Ms),
    ("call beside pages, lost", Unit::Percent),
    ("call alone, lost", Unit::Percent),
];

fn environments(plan: &Plan) -> impl Iterator<Item = &'static Environment> {
    plan.environments().filter(|one| ENVIRONMENTS.contains(&one.name.as_str()))
}

pub(super) fn measurements(plan: &Plan) -> u64 {
    let runs = environments(plan).count() * plan.systems(&SYSTEMS).len();
    u64::from(plan.repeats(REPEATS)) * runs as u64
}

/// How many pages a run has.
fn pages(plan: &Plan) -> u32 {
    plan.pick(20, 5)
}

/// For how long the call counts alone.
fn alone(plan: &Plan) -> Duration {
    Duration::from_secs(plan.pick(12, 5))
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut cases = Vec::new();
    for environment in environments(&bench.plan) {
        cases.extend(judged(&environment.name, measured(bench, environment)?));
    }
    Ok(Outcome { method: method(&bench.plan), cases })
}

fn method(plan: &Plan) -> String {
    format!(
        "A page of 80 objects, 2,652 KB (of 1,024 bytes), made up: the sum, the document, the styles, the scripts and \
         the fonts are those of the median desktop page (HTTP Archive, Web Almanac 2024, Page Weight), the rest are \
         images. Shaped as HTTP/1.1 without headers: first the document; when it is there, styles, scripts, fonts and \
         images in this order, by six connections to each of two hosts (ports of one address), each with one request \
         of 400 bytes after another; which connection has which object is the same in each run. No names to look up, \
         no TLS, no thinking at either end. {} pages, {} s apart, each by new connections under CUBIC with TCP_NODELAY \
         at both ends: from the first SYN to the last byte. MPTCP connects by path A, and hears of B then; the bond is \
         open all the time, and knows its paths. Beside them a call over UDP from the gateway to the client: an IP \
         packet of 1,200 bytes each 2.4 ms (4 Mb/s), not marked; sender and receiver read one clock. First it is alone \
         for {} s, of which {} do not count. Beside pages, those packets count that are sent while a page loads. Lost: \
         not there 1 s after the call's end. MPTCP has no UDP: beside its pages the call goes over the path on which \
         pages loaded faster. Medians of {}, of losses means.",
        pages(plan),
        PAUSE.as_secs(),
        (WARM_UP + alone(plan)).as_secs(),
        WARM_UP.as_secs(),
        plan.repeats(REPEATS)
    )
}

/// The values of all systems in an environment, for each of [`KINDS`].
fn measured(bench: &Bench, environment: &Environment) -> Result<[Vec<Value>; 6]> {
    let systems = bench.plan.systems(&SYSTEMS);
    let mut all = KINDS.map(|(_, unit)| -> Vec<Value> {
        let values = systems.iter().map(|system| Value::new(system.name(), unit));
        if unit == Unit::Percent { values.map(Value::into_mean).collect() } else { values.collect() }
    });
    let label = format!("pages {}", environment.name);
    for round in bench.plan.rounds(bench.plan.repeats(REPEATS)) {
        let site = Site::emulated(&environment.links, round)?;
        for (at, system) in systems.iter().enumerate() {
            let faster = Paths::gateway_address(faster(&all[0]));
            let (sample, seen) = one(bench, &site, *system, &label, faster);
            for (kind, values) in all.iter_mut().enumerate() {
                // What there is to say of a run is said once.
                let notes = if kind == 0 { sample.notes.clone() } else { Vec::new() };
                let value = seen.map(|seen| seen[kind]);
                values[at].push(Sample { value, notes, others: sample.others });
            }
        }
    }
    Ok(all)
}

/// The path on which pages have loaded faster so far.
fn faster(pages: &[Value]) -> u64 {
    let [a, b] = [1, 2].map(|n| figure_of(pages, System::Path(n)).unwrap_or(f64::INFINITY));
    if b < a { 2 } else { 1 }
}

/// One run through a system. Where that is MPTCP, the call goes to `faster`.
fn one(bench: &Bench, site: &Site, system: System, label: &str, faster: IpAddr) -> (Sample, Option<Seen>) {
    let tries = RefCell::new(Vec::new());
    let sample = bench.sample(site, system, label, Unit::Ms, |open| {
        let call_to = if open.mptcp { faster } else { open.target };
        let (seen, note) = visits(&bench.plan, site, open, call_to)?;
        tries.borrow_mut().push(seen);
        Ok(Sample::of(seen[0]).note(note))
    });
    // A run may have been made again: it is the one that the sample is of.
    let seen = tries.into_inner().into_iter().rfind(|seen: &Seen| sample.value == Some(seen[0]));
    (sample, seen)
}

/// Loads pages beside a call, which begins before them.
fn visits(plan: &Plan, site: &Site, open: &Open, call_to: IpAddr) -> Result<(Seen, String)> {
    let (client, gateway) = (&site.lab.client, &site.lab.gateway);
    let server = Server::open(gateway, open.mptcp)?;
    let call = Call::open(client, gateway, call_to)?;
    let joined = || if open.mptcp { system::joined_subflows(site) } else { Ok(0) };
    let before = joined()?;
    let over = AtomicBool::new(false);
    let (loaded, packets, served) = std::thread::scope(|scope| {
        let ends = Ends(&over);
        let serving = scope.spawn(|| server.serve(&over));
        let calling = scope.spawn(|| call.run(&over));
        let loaded = load(plan, site, open, &server);
        drop(ends);
        (loaded, ended(calling), ended(serving))
    });
    served.context("the page's server")?;
    let ((alone, pages), packets, joined) = (loaded?, packets?, joined()? - before);
    ensure!(!open.mptcp || joined > 0, "no connection of the pages had a second subflow");
    let (beside, alone) = (Heard::of(&packets, &pages), Heard::of(&packets, &[alone]));
    let took: Vec<f64> = pages.iter().map(|page| (page.end - page.start).as_secs_f64() * 1e3).collect();
    let page = |share| quantile(&took, share).context("no page was loaded");
    let delay = |heard: &Heard, share| quantile(&heard.delays_ms, share).context("nothing of the call came");
    let seen = [
        median(&took).context("no page was loaded")?,
        page(0.95)?,
        delay(&beside, 0.99)?,
        delay(&alone, 0.99)?,
        beside.lost_percent(),
        alone.lost_percent(),
    ];
    let mut note = format!(
        "pages {:.0} to {:.0} ms; the call's delay p50 {:.1} ms beside them, {:.1} alone",
        page(0.0)?,
        page(1.0)?,
        delay(&beside, 0.5)?,
        delay(&alone, 0.5)?
    );
    if open.mptcp {
        note += &format!("; {joined} further subflows");
    }
    Ok((seen, note))
}

/// Gives the time in which the call is alone, and then that of each page.
fn load(plan: &Plan, site: &Site, open: &Open, server: &Server) -> Result<(Span, Vec<Span>)> {
    let hosts = server.addresses(open.target)?;
    std::thread::sleep(WARM_UP);
    let began = clock::now();
    std::thread::sleep(alone(plan));
    let alone = began..clock::now();
    let mut loaded = Vec::new();
    for _ in 0..pages(plan) {
        loaded.push(site.lab.client.run(|| page::load(&hosts, open.mptcp))??);
        std::thread::sleep(PAUSE);
    }
    Ok((alone, loaded))
}

fn ended<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A case for each of [`KINDS`]. Pages are held against the better path's median.
fn judged(environment: &str, all: [Vec<Value>; 6]) -> Vec<Case> {
    let paths = [System::Path(1), System::Path(2)];
    let better = paths.into_iter().filter_map(|path| figure_of(&all[0], path)).reduce(f64::min);
    let case = |(kind, values): (usize, Vec<Value>)| {
        let over = |system| ratio(figure_of(&values, system), better);
        // As short downloads are to have it; of the slowest pages nothing is asked.
        let goal = if kind == 0 { Goal::at_most(1.05, 1.0) } else { Goal::none() };
        let (ours, mptcp) = (over(System::Ropewalk), (System::Mptcp.name(), over(System::Mptcp)));
        let figure = Figure::new("over the better path's median", Unit::Times, ours, [mptcp], goal);
        let figures = if kind < 2 { vec![figure] } else { Vec::new() };
        Case { name: format!("{environment}, {}", KINDS[kind].0), values, figures }
    };
    all.into_iter().enumerate().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;

    /// A value of each system.
    fn values(figures: &[f64]) -> Vec<Value> {
        let value = |(system, figure): (System, &f64)| {
            let mut value = Value::new(system.name(), Unit::Ms);
            value.push(Sample::of(*figure));
            value
        };
        SYSTEMS.into_iter().zip(figures).map(value).collect()
    }

    #[test]
    fn pages_are_held_against_the_better_paths_median() {
        let calls = || values(&[20.0, 30.0, 20.0, 21.0]);
        let medians = values(&[200.0, 100.0, 90.0, 104.0]);
        let slowest = values(&[300.0, 150.0, 120.0, 130.0]);
        let cases = judged("here", [medians, slowest, calls(), calls(), calls(), calls()]);
        let figure = |case: &Case| case.figures.first().map(|f| (f.ours, f.peers[0].1, f.verdict));
        assert_eq!(figure(&cases[0]), Some((Some(1.04), Some(0.9), Verdict::Pass)));
        assert_eq!(figure(&cases[1]), Some((Some(1.3), Some(1.2), Verdict::Free)));
        assert!(cases[2..].iter().all(|case| case.figures.is_empty()));
        assert_eq!((cases.len(), cases[3].name.as_str()), (6, "here, call alone, delay p99"));
    }

    #[test]
    fn the_call_beside_mptcp_takes_the_faster_path() {
        let all = [vec![], values(&[1.0]), values(&[1.0, 2.0]), values(&[2.0, 1.0]), values(&[1.0, 1.0])];
        assert_eq!(all.map(|pages| faster(&pages)), [1, 1, 1, 2, 1]);
    }

    #[test]
    fn its_environments_are_among_the_sixteen() {
        let plan = |only: &[&str]| {
            let only = only.iter().map(|name| (*name).to_owned()).collect();
            Plan { only, ..Plan::default() }
        };
        let names = |plan: &Plan| environments(plan).map(|one| one.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(&plan(&[])), ENVIRONMENTS);
        assert_eq!(names(&plan(&["jit_5", "rtt_70"])), ["rtt_70"]);
        assert_eq!(measurements(&plan(&[])), 36);
    }
}
