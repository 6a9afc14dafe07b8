//! `cores`: what a gateway's second loop gives, and what a loop that is full does to the other's clients.
//!
//! ```text
//!   client 1 ─ wan1 ─┐             ┌─ loop 0: the first thread,  a quota of its own
//!      …             ├─ gateway ───┤
//!   client 8 ─ wan8 ─┘             └─ loop 1: `worker-1`,        a quota of its own
//! ```

use std::net::Ipv4Addr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ropewalk_lab::{Iperf, Namespace, Ping, PingReport, RunningIperf};

use super::Outcome;
use super::compare::ratio;
use crate::bench::{Bench, WARM_UP};
use crate::plan::Plan;
use crate::quota::Quota;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::{Gateway, Open};
use crate::usage;

const CLIENTS: u64 = 8;
const REPEATS: u32 = 5;
/// A loop that is limited gets so much of each [`PERIOD`]: little enough for all clients to keep up.
const QUOTA: Duration = Duration::from_millis(2);
const PERIOD: Duration = Duration::from_millis(10);
/// The loop that is flooded gets it once in so long: the flood leaves most of this machine to the others.
const FLOODED: Duration = Duration::from_millis(40);
/// Clients that fill the first loop.
const FLOODING: usize = 2;
/// How often a ping goes out.
const INTERVAL: Duration = Duration::from_millis(10);
/// What a ping took that did not come back: as long as it was waited for.
const LOST: Duration = Duration::from_secs(2);

/// What is measured with one loop and with two: how many clients, and which way their flows go.
const LOADS: [(&str, usize, Way); 3] = [
    ("eight clients, downloads", CLIENTS as usize, Way::Down),
    ("eight clients, uploads", CLIENTS as usize, Way::Up),
    ("one client, a download", 1, Way::Down),
];
const RATES: [(&str, Unit); 6] = [
    ("one loop", Unit::Mbps),
    ("two loops", Unit::Mbps),
    ("one loop, cost", Unit::NsPerByte),
    ("two loops, cost", Unit::NsPerByte),
    ("one loop, of its quota", Unit::Percent),
    ("two loops, of their quotas", Unit::Percent),
];
const NEIGHBOURS: [(&str, Unit); 6] = [
    ("other loop's client, alone", Unit::Us),
    ("other loop's client, beside the flood", Unit::Us),
    ("same loop's client, alone", Unit::Us),
    ("same loop's client, beside the flood", Unit::Us),
    ("the flood", Unit::Mbps),
    ("the flood's loop, of its quota", Unit::Percent),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The gateway seals.
    Down,
    /// The gateway opens.
    Up,
}

/// With one loop, with two, and neighbours.
pub(super) fn measurements(plan: &Plan) -> u64 {
    3 * u64::from(plan.repeats(REPEATS))
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let (seconds, repeats) = (bench.plan.pick(10, 5), bench.plan.repeats(REPEATS));
    let mut loads = LOADS.map(|_| RATES.map(|(name, unit)| Value::new(name, unit)));
    let mut neighbours = NEIGHBOURS.map(|(name, unit)| Value::new(name, unit));
    for round in bench.plan.rounds(repeats) {
        let (site, namespaces) = Site::veths(CLIENTS)?;
        for workers in if round % 2 == 1 { [1, 2] } else { [2, 1] } {
            let label = if workers == 1 { "cores, one loop" } else { "cores, two loops" };
            bench.progress.begin(label);
            bench.wait_for_quiet(label);
            let seen = Stand::start(bench, &site, &namespaces, workers).and_then(|s| s.loads(seconds));
            // Of each pair the first is of one loop.
            for (number, values) in loads.iter_mut().enumerate() {
                for (kind, value) in values.iter_mut().skip(workers as usize - 1).step_by(2).enumerate() {
                    value.push(sample(&seen, number + kind == 0, |seen| seen[number][kind]));
                }
            }
            let latest = loads
                .iter()
                .zip(LOADS)
                .map(|(values, (name, ..))| format!("{name}: {}", values[workers as usize - 1].latest()));
            bench.progress.end(&latest.collect::<Vec<_>>().join(", "));
        }
        let label = "cores, neighbours";
        bench.progress.begin(label);
        bench.wait_for_quiet(label);
        let seen = Stand::start(bench, &site, &namespaces, 2).and_then(|s| s.neighbours(seconds));
        for (at, value) in neighbours.iter_mut().enumerate() {
            value.push(sample(&seen, at == 0, |seen| seen[at]));
        }
        bench.progress.end(&neighbours.each_ref().map(Value::latest).join(", "));
    }
    let mut cases: Vec<Case> =
        LOADS.into_iter().zip(loads).map(|(load, values)| case(load, values)).collect();
    cases.push(neighbours_case(neighbours));
    Ok(Outcome { method: method(seconds, repeats), cases })
}

/// One figure of what was seen, with the remark if it `has_remark`; or why nothing was seen.
fn sample<T>(seen: &Result<(T, String)>, has_remark: bool, pick: impl Fn(&T) -> f64) -> Sample {
    match seen {
        Ok((seen, remark)) if has_remark && !remark.is_empty() => {
            Sample::of(pick(seen)).note(remark.as_str())
        }
        Ok((seen, _)) => Sample::of(pick(seen)),
        Err(error) => Sample::none(format!("{error:#}")),
    }
}

fn case((name, clients, _): (&str, usize, Way), values: [Value; 6]) -> Case {
    let over = ratio(values[1].figure, values[0].figure);
    let figure = |what, goal| Figure::new(what, Unit::Times, over, [], goal);
    let figures = if clients == 1 {
        // One client has one loop, whatever there is besides.
        vec![
            figure("two over one with one client, at least", Goal::at_least(0.9, 0.95)),
            figure("two over one with one client, at most", Goal::at_most(1.1, 1.05)),
        ]
    } else {
        vec![figure("two over one", Goal::at_least(1.8, 1.9))]
    };
    Case { name: name.to_owned(), values: values.into(), figures }
}

fn neighbours_case(values: [Value; 6]) -> Case {
    let over = |at: usize| ratio(values[at + 1].figure, values[at].figure);
    let figures = vec![
        Figure::new("other loop, p99 over p99 alone", Unit::Times, over(0), [], Goal::at_most(1.5, 1.1)),
        // If this is not much worse, there was no flood.
        Figure::new("same loop, p99 over p99 alone", Unit::Times, over(2), [], Goal::at_least(3.0, 10.0)),
    ];
    Case { name: "a neighbour that floods its loop".to_owned(), values: values.into(), figures }
}

fn method(seconds: u32, repeats: u32) -> String {
    format!(
        "`ropewalk serve --workers` 1 and 2 in turn, {CLIENTS} clients, each in a namespace with a bare \
         veth pair to the gateway; of two loops each has four. Quotas stand for processors that this \
         machine lacks: each loop is a thread in a cgroup of its own, with {} ms of each {} ms of a \
         processor, and nothing else is limited. That leaves out what loops on real processors share: \
         caches, memory bandwidth, and the kernel's work for the network card on other processors; what \
         the kernel does in a loop's thread counts as the loop's. iperf3, one flow under CUBIC for each \
         client, all at once, {seconds} s; what counts is the time from {} s on to a second before the \
         end. Cost: processor time of all loops for each byte (1 ns/B is 1 s per GB). A loop that does \
         not use up its quota was not what limits. With one client the others are connected and idle: \
         the null case. Neighbours: two loops, of which the first has {} ms of each {} ms, so that the \
         flood does not fill the machine, and the second has no quota; \
         {FLOODING} clients of the first download, while one more of its clients and one of the \
         second's ping the gateway each {} ms; p99, a lost ping counts as {} s; alone is before the \
         flood, with the same quota. The client on the flooded loop is the null case, and has to be \
         much worse. Median of {repeats}.",
        QUOTA.as_millis(),
        PERIOD.as_millis(),
        WARM_UP.as_secs(),
        QUOTA.as_millis(),
        FLOODED.as_millis(),
        INTERVAL.as_millis(),
        LOST.as_secs()
    )
}

/// A gateway with its clients. What comes first ends first: a gateway with a quota would be slow to end.
struct Stand<'a> {
    quotas: Vec<Quota>,
    clients: Vec<Open>,
    /// Its loops.
    threads: Vec<u32>,
    gateway: Gateway,
    site: &'a Site,
    namespaces: &'a [Namespace],
}

/// What flows did while all of them went on.
struct Load {
    mbps: f64,
    /// Processor time of each loop, s.
    processor_s: Vec<f64>,
    span_s: f64,
}

impl Load {
    fn ns_per_byte(&self) -> f64 {
        let bytes = self.mbps * 1e6 / 8.0 * self.span_s;
        self.processor_s.iter().sum::<f64>() * 1e9 / bytes.max(1.0)
    }

    /// What these loops used of their quotas together.
    fn percent_of_quotas(&self, loops: usize, period: Duration) -> f64 {
        let quotas = loops as f64 * self.span_s * QUOTA.as_secs_f64() / period.as_secs_f64();
        100.0 * self.processor_s.iter().take(loops).sum::<f64>() / quotas
    }
}

impl<'a> Stand<'a> {
    fn start(bench: &Bench, site: &'a Site, namespaces: &'a [Namespace], workers: u32) -> Result<Stand<'a>> {
        let program = bench.programs.ropewalk.as_ref().context("there is no ropewalk binary")?;
        let gateway = Gateway::start_workers(program, site, workers)?;
        let clients = gateway.clients(site, namespaces)?;
        let pid = gateway.process.id();
        let others = (1..workers).map(|number| {
            let name = format!("worker-{number}");
            usage::thread_named(pid, &name).with_context(|| format!("the gateway has no thread {name}"))
        });
        // The first loop is the process's first thread, which has its number.
        let threads = std::iter::once(Ok(pid)).chain(others).collect::<Result<Vec<_>>>()?;
        Ok(Stand { quotas: Vec::new(), clients, threads, gateway, site, namespaces })
    }

    /// From now on these loops have their quotas.
    fn limit(&mut self, loops: usize, period: Duration) -> Result<()> {
        for thread in self.threads.iter().take(loops) {
            self.quotas.push(Quota::new(*thread, QUOTA, period)?);
        }
        Ok(())
    }

    /// Rate, cost and share of the quotas of each of [`LOADS`], and a remark.
    fn loads(mut self, seconds: u32) -> Result<([[f64; 3]; 3], String)> {
        let loops = self.threads.len();
        let halves = self.clients_by_loop()?;
        let is_even = halves.iter().all(|clients| clients.len() * loops == self.clients.len());
        ensure!(is_even, "the loops have not as many clients each: {halves:?}");
        self.limit(loops, PERIOD)?;
        let mut seen = [[0.0; 3]; 3];
        for (seen, (_, clients, way)) in seen.iter_mut().zip(LOADS) {
            let clients = (0..clients).collect::<Vec<_>>();
            let load = self.load(&clients, way, seconds)?;
            *seen = [load.mbps, load.ns_per_byte(), load.percent_of_quotas(loops, PERIOD)];
        }
        Ok((seen, self.handed_on()?))
    }

    /// What [`NEIGHBOURS`] names, and a remark.
    fn neighbours(mut self, seconds: u32) -> Result<([f64; 6], String)> {
        self.limit(1, FLOODED)?;
        let by_loop = self.clients_by_loop()?;
        let (full, free) = (&by_loop[0], &by_loop[1]);
        ensure!(full.len() > FLOODING && !free.is_empty(), "a loop has too few clients: {by_loop:?}");
        let (flooding, same, other) = (&full[..FLOODING], full[FLOODING], free[0]);
        let span = steady(seconds);
        let ask = |after| [other, same].map(|client| self.ask(client, after, span));
        let [other_alone, same_alone] = ask(Duration::ZERO).map(p99_us);
        let asked = ask(WARM_UP);
        let load = self.load(flooding, Way::Down, seconds)?;
        let [other_beside, same_beside] = asked.map(p99_us);
        let seen = [
            other_alone?,
            other_beside?,
            same_alone?,
            same_beside?,
            load.mbps,
            load.percent_of_quotas(1, FLOODED),
        ];
        Ok((seen, self.handed_on()?))
    }

    /// Flows of these clients, all at once.
    fn load(&self, clients: &[usize], way: Way, seconds: u32) -> Result<Load> {
        let start = |client: &usize| {
            let flow = Iperf::tcp(self.clients[*client].target).seconds(seconds);
            let flow = if way == Way::Down { flow.reverse() } else { flow };
            flow.start(&self.namespaces[*client], &self.site.lab.gateway)
        };
        let flows = clients.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        std::thread::sleep(WARM_UP);
        let (begun, before) = (Instant::now(), self.processor_s()?);
        std::thread::sleep(steady(seconds));
        let (span_s, after) = (begun.elapsed().as_secs_f64(), self.processor_s()?);
        let reports = flows.into_iter().map(RunningIperf::finish).collect::<Result<Vec<_>, _>>()?;
        let until = WARM_UP + steady(seconds);
        let rates = reports.iter().map(|flow| flow.mean_between(WARM_UP.as_secs_f64(), until.as_secs_f64()));
        let rates = rates.collect::<Vec<_>>();
        ensure!(rates.iter().all(|rate| *rate > 0.0), "a client got nothing: {rates:.1?} Mb/s");
        let processor_s = after.iter().zip(before).map(|(after, before)| after - before).collect();
        Ok(Load { mbps: rates.iter().sum(), processor_s, span_s })
    }

    /// Processor time of each loop so far.
    fn processor_s(&self) -> Result<Vec<f64>> {
        let pid = self.gateway.process.id();
        let of =
            |thread: &u32| usage::thread_seconds(pid, *thread).context("a loop of the gateway has ended");
        self.threads.iter().map(of).collect()
    }

    /// The pings of a client, which begin after so long and last for `span`.
    fn ask(&self, client: usize, after: Duration, span: Duration) -> JoinHandle<Result<PingReport>> {
        let count = (span.as_millis() / INTERVAL.as_millis()) as u16;
        let ping = Ping::new(self.clients[client].target).count(count).interval(INTERVAL).timeout(LOST);
        let namespace = self.namespaces[client].clone();
        std::thread::spawn(move || {
            std::thread::sleep(after);
            ping.run(&namespace).context("a client cannot ping")
        })
    }

    /// Which clients each loop has: a client's address inside says whose it is.
    fn clients_by_loop(&self) -> Result<Vec<Vec<usize>>> {
        let status = self.gateway.status(self.site)?;
        let peers = status["peers"].as_array().context("the gateway says nothing of its clients")?;
        let loops = self.threads.len();
        let mut all = vec![Vec::new(); loops];
        for peer in peers {
            let number =
                peer["name"].as_str().and_then(|name| name.strip_prefix("client-")?.parse::<usize>().ok());
            let mut inside = peer["inside"].as_array().into_iter().flatten();
            let address = inside.find_map(|address| address.as_str()?.parse::<Ipv4Addr>().ok());
            let (number, address) =
                number.zip(address).context("a client has no number or no address inside")?;
            all[u32::from(address) as usize % loops].push(number - 1);
        }
        all.iter_mut().for_each(|clients| clients.sort_unstable());
        // A gateway with one loop does not count them by loop.
        let told = status["workers"].as_array().into_iter().flatten();
        let told = told.map(|worker| worker["sessions"].as_u64()).collect::<Vec<_>>();
        let ours = all.iter().map(|clients| Some(clients.len() as u64)).collect::<Vec<_>>();
        ensure!(loops == 1 || told == ours, "the loops have {told:?} clients, and should have {ours:?}");
        Ok(all)
    }

    /// What loops handed each other, in words; nothing where there is one.
    fn handed_on(&self) -> Result<String> {
        let status = self.gateway.status(self.site)?;
        let workers = status["workers"].as_array().cloned().unwrap_or_default();
        let sum = |what: &str| workers.iter().filter_map(|worker| worker[what].as_u64()).sum::<u64>();
        let words =
            || format!("{} packets handed on, {} lost there", sum("handed_on"), sum("handed_on_lost"));
        Ok(if workers.is_empty() { String::new() } else { words() })
    }
}

/// How long all flows go on after [`WARM_UP`], though one began a little later than another.
fn steady(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into()) - WARM_UP - Duration::from_secs(1)
}

/// The time in µs that 99 of 100 pings took no longer than.
fn p99_us(asked: JoinHandle<Result<PingReport>>) -> Result<f64> {
    let report = asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let rank = (report.sent * 99).div_ceil(100) as usize;
    let trip = report.round_trips.get(rank.saturating_sub(1)).copied().unwrap_or(LOST);
    Ok(trip.as_secs_f64() * 1e6)
}
