//! `memory`: a thousand clients of one gateway, and how fast it lets them in.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ropewalk_lab::Paths;
use ropewalk_session::Token;

use super::Outcome;
use crate::bench::Bench;
use crate::crowd::{self, Crowd};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::Gateway;
use crate::usage;

const CLIENTS: usize = 1000;
const REPEATS: u32 = 3;
/// How long all of them may take to come in.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bits of the inner network: room for all of them.
const PREFIX: u8 = 16;

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS))
}

/// What one gateway showed.
struct Seen {
    empty_mib: f64,
    crowded_mib: f64,
    /// Clients let in, with all that follows, per second of processor time.
    admissions: f64,
    /// Handshakes alone.
    handshakes: Option<f64>,
}

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut memory = ["empty", "1,000 clients"].map(|name| Value::new(name, Unit::MiB));
    // The last is the engine in this program, whatever binary is measured.
    let names = ["clients let in", "handshakes", "handshakes, engine alone"];
    let names = &names[..if bench.plan.alone { 2 } else { 3 }];
    let mut rates: Vec<Value> = names.iter().map(|name| Value::new(*name, Unit::PerSecond)).collect();
    for _ in 0..bench.plan.repeats(REPEATS) {
        bench.progress.begin("memory");
        let seen = one_gateway(bench);
        let sample = |pick: fn(&Seen) -> Option<f64>| match &seen {
            Ok(seen) => pick(seen).map_or(Sample::none("no handshakes"), Sample::of),
            Err(error) => Sample::none(format!("{error:#}")),
        };
        memory[0].push(sample(|seen| Some(seen.empty_mib)));
        memory[1].push(sample(|seen| Some(seen.crowded_mib)));
        rates[0].push(sample(|seen| Some(seen.admissions)));
        rates[1].push(sample(|seen| seen.handshakes));
        if let Some(engine) = rates.get_mut(2) {
            engine.push(
                crowd::handshakes_per_second(CLIENTS as u32)
                    .map_or_else(|error| Sample::none(format!("{error:#}")), Sample::of),
            );
        }
        bench.progress.end(&memory.iter().chain(&rates).map(Value::latest).collect::<Vec<_>>().join(", "));
    }
    let figures = vec![
        Figure::new("memory", Unit::MiB, memory[1].figure, [], Goal::at_most(100e6 / MIB, 30e6 / MIB)),
        Figure::new(
            "handshakes per core",
            Unit::PerSecond,
            rates[1].figure,
            [],
            Goal::at_least(2000.0, 5000.0),
        ),
    ];
    let values = memory.into_iter().chain(rates).collect();
    let method = format!(
        "{CLIENTS} engines with a socket and an address each, let in by {CLIENTS} invites, then idle for {} s; resident \
         memory of `ropewalk serve`. Handshakes from INIT to RESPONSE of {CLIENTS} more, over the processor time (user \
         and system) that the gateway's process took for them. Median of {}.",
        idle(&bench.plan).as_secs(),
        bench.plan.repeats(REPEATS)
    );
    Ok(Outcome { method, cases: vec![Case { name: "1,000 clients".to_owned(), values, figures }] })
}

pub(super) const MIB: f64 = 1_048_576.0;

fn idle(plan: &Plan) -> Duration {
    // Longer than the 20 s after which idle paths are kept alive.
    plan.pick(Duration::from_secs(25), Duration::from_secs(5))
}

fn one_gateway(bench: &Bench) -> Result<Seen> {
    let program = bench.programs.ropewalk.as_ref().context("there is no ropewalk binary")?;
    let site = Site::veth()?;
    crowd::prepare(&site)?;
    let gateway = Gateway::start(program, &site, PREFIX)?;
    let (pid, client, to) = (gateway.process.id(), &site.lab.client, Gateway::endpoint(1));
    debug_assert_eq!(to.ip(), Paths::gateway_address(1));
    let resident = || usage::resident_mib(pid).context("the gateway is gone");
    let cpu = || usage::cpu_seconds(pid).context("the gateway is gone");
    let empty_mib = resident()?;
    let tokens = invites(bench, &site, &gateway, 2 * CLIENTS)?;
    let (regulars, others) = tokens.split_at(CLIENTS);

    let mut crowd = Crowd::new(client, regulars, to)?;
    let before = cpu()?;
    crowd.connect(PATIENCE)?;
    crowd.stay(Duration::from_secs(1))?;
    let admissions = CLIENTS as f64 / (cpu()? - before).max(0.01);
    crowd.stay(idle(&bench.plan))?;
    let crowded_mib = resident()?;

    drop(crowd);
    let before = cpu()?;
    let accepted = crowd::flood(client, others, to)?;
    let spent = (cpu()? - before).max(0.01);
    let handshakes = (accepted == others.len()).then(|| accepted as f64 / spent);
    Ok(Seen { empty_mib, crowded_mib, admissions, handshakes })
}

/// So many invites, one after the other.
pub(super) fn invites(bench: &Bench, site: &Site, gateway: &Gateway, count: usize) -> Result<Vec<Token>> {
    let begun = Instant::now();
    let one = |number| -> Result<Token> {
        if number % 50 == 0 {
            let rate = number as f64 / begun.elapsed().as_secs_f64().max(1e-3);
            bench.progress.begin(&format!("invite {number} of {count}, {rate:.0} per second"));
        }
        Ok(gateway.invite(site, &format!("client-{number}"))?.parse()?)
    };
    (0..count).map(one).collect()
}
