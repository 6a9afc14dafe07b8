//! `fleet`: each part of a fleet is killed at each step of a client's life.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Outcome;
use crate::bench::Bench;
use crate::fleet::numbers::Numbers;
use crate::fleet::world::{Client, LONG, World, collisions, eventually, lastingly};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};

const REPEATS: u32 = 3;
/// How long a part is gone: longer than a gateway's lease.
const GONE: Duration = Duration::from_secs(7);
/// How long all has to stay as it should be: who starts anew is out for a moment, too.
const STAYS: Duration = Duration::from_secs(5);
/// When a part goes after a step began, ms: one after the other.
const AFTER_MS: [u64; 5] = [0, 10, 30, 80, 200];

/// What is killed, or cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Etcd,
    Gateway,
    OtherGateway,
    Client,
    LinkToEtcd,
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Claim,
    Serving,
    Drain,
    Revoke,
    Restore,
}

const PARTS: [Part; 5] = [Part::Etcd, Part::Gateway, Part::OtherGateway, Part::Client, Part::LinkToEtcd];
const STEPS: [Step; 5] = [Step::Claim, Step::Serving, Step::Drain, Step::Revoke, Step::Restore];

/// What went wrong, and how long connections stood still at most.
#[derive(Default)]
struct Seen {
    /// Invites by which two devices are in.
    double_spent: usize,
    /// Addresses that two clients have.
    colliding: usize,
    /// Connections that broke, though there was a gateway for them.
    lost: usize,
    /// Revoked clients that are in.
    revoked_in: usize,
    /// Clients that are not in, and should be.
    out: usize,
    stall: Duration,
}

/// Each part at each step; in a hurry each part once.
fn cells(plan: &Plan) -> Vec<(Part, Step)> {
    let all = PARTS.iter().flat_map(|part| STEPS.map(|step| (*part, step)));
    if plan.quick { PARTS.into_iter().zip(STEPS).collect() } else { all.collect() }
}

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS)) * cells(plan).len() as u64
}

const NAMES: [(&str, Unit); 6] = [
    ("invites spent twice", Unit::Count),
    ("addresses given twice", Unit::Count),
    ("connections lost", Unit::Count),
    ("revoked clients that are in", Unit::Count),
    ("clients that are out", Unit::Count),
    ("longest stall of a connection", Unit::Ms),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let program = bench.programs.ropewalk.as_ref().context("there is no ropewalk binary")?;
    let cells = cells(&bench.plan);
    let rounds = bench.plan.repeats(REPEATS) as usize;
    let mut world = World::new(program)?;
    let mut values = NAMES.map(|(name, unit)| Value::new(name, unit));
    let mut sums = [0.0; 6];
    let mut notes = Vec::new();
    for (number, (part, step)) in (0..rounds).flat_map(|_| cells.iter()).enumerate() {
        bench.progress.begin(&format!("fleet: {part:?} at {step:?}"));
        let line = match one_cell(&mut world, number, *part, *step) {
            Ok(seen) => {
                let counts = [seen.double_spent, seen.colliding, seen.lost, seen.revoked_in, seen.out];
                for (sum, count) in sums.iter_mut().zip(counts) {
                    *sum += count as f64;
                }
                sums[5] = f64::max(sums[5], seen.stall.as_secs_f64() * 1e3);
                let is_well = counts.iter().all(|count| *count == 0);
                let words = format!("{part:?} at {step:?}: {counts:?}, stall {} ms", seen.stall.as_millis());
                notes.extend((!is_well).then(|| words.clone()));
                words
            }
            Err(error) => {
                // What could not be looked at does not count as well.
                sums[4] += 1.0;
                let words = format!("{part:?} at {step:?}: {error:#}");
                notes.push(words.clone());
                words
            }
        };
        bench.progress.end(&line);
    }
    for (value, sum) in values.iter_mut().zip(sums) {
        value.push(Sample::of(sum));
    }
    values[0].notes = notes;
    let none =
        |at: usize, what| Figure::new(what, Unit::Count, values[at].figure, [], Goal::at_most(0.0, 0.0));
    let figures = vec![
        none(0, "invites spent twice"),
        none(1, "addresses given twice"),
        none(2, "connections lost"),
        none(3, "revoked clients in"),
        none(4, "clients out"),
    ];
    let name = format!("{} × {rounds}", cells.len());
    let method = format!(
        "Two gateways, an etcd of three nodes by TLS, clients and a server in namespaces. At each step a part is killed (the \
         gateway's link to etcd: cut off) {AFTER_MS:?} ms later in turn, for {} s. Steps: *claim*: two devices show one token at once, and a \
         third its own; *serving*: a connection goes on; *drain*, *revoke*: the command begins; *restore*: all nodes of etcd get \
         what they had before the last invite. A minute after the part is back at the latest each client is in, or out, as it should be, and stays so for {} s. \
         A connection counts unless its client was killed or revoked. A connection's longest stall counts all but those.",
        GONE.as_secs(),
        STAYS.as_secs()
    );
    Ok(Outcome { method, cases: vec![Case { name, values: values.into(), figures }] })
}

/// A client's life up to the step, the part's end, and what came of it.
fn one_cell(world: &mut World, number: usize, part: Part, step: Step) -> Result<Seen> {
    // What a cell that failed left is none of this one's.
    world.heal()?;
    for gateway in [0, 1] {
        world.drain(gateway, false)?;
    }
    let (alice, bob) = (format!("alice{number}"), format!("bob{number}"));
    let tokens = [world.invite(&alice)?, world.invite(&bob)?];
    let (mut clients, mut flow) = begin(world, number, step, &tokens)?;
    let serving = world.server_of(&alice)?.unwrap_or(number % 2);
    let mut revocation = None;
    match step {
        Step::Claim | Step::Serving => {}
        Step::Drain => world.drain(serving, true)?,
        Step::Revoke => revocation = Some(world.begin_to_revoke(&alice)?),
        Step::Restore => {
            world.cluster.back_up()?;
            world.invite(&format!("late{number}"))?;
        }
    }
    std::thread::sleep(Duration::from_millis(AFTER_MS[number % AFTER_MS.len()]));
    match part {
        Part::Etcd => world.cluster.kill(number % world.cluster.nodes()),
        Part::Gateway => world.kill_gateway(serving),
        Part::OtherGateway => world.kill_gateway(1 - serving),
        Part::Client => {
            flow = None;
            clients[0].process.kill();
        }
        Part::LinkToEtcd => world.cut_off(serving)?,
    }
    if step == Step::Restore {
        world.cluster.restore()?;
    }
    std::thread::sleep(GONE);
    world.heal()?;
    if part == Part::Client {
        world.up_again(&mut clients[0], &tokens[0])?;
    }
    if let Some(mut revocation) = revocation
        && !revocation.wait(LONG)?.success()
    {
        world.revoke(&alice)?;
    }
    if step == Step::Drain {
        // A gateway that was killed meanwhile drains no more.
        let _ = world.drain(serving, false);
    }
    let seen = judge(world, &mut clients, flow, step)?;
    clients.iter_mut().for_each(|client| client.process.stop());
    // After a restore the last invite is not there.
    for name in [alice, bob, format!("late{number}")] {
        let _ = world.revoke(&name);
    }
    Ok(seen)
}

/// Clients up to the step, and a connection of the first.
fn begin(
    world: &World,
    number: usize,
    step: Step,
    [alice, bob]: &[String; 2],
) -> Result<(Vec<Client>, Option<Numbers>)> {
    let up = |at: usize, token: &str| world.up(at, &format!("c{number}-{at}"), token);
    if step == Step::Claim {
        return Ok((vec![up(0, alice)?, up(1, alice)?, up(2, bob)?], None));
    }
    let mut client = up(0, alice)?;
    ensure!(eventually(|| world.inside(&mut client).is_some()), "the client does not get in");
    let flow = world.connect(&client)?;
    ensure!(flow.goes_on(), "nothing arrives, and nothing has happened");
    Ok((vec![client], Some(flow)))
}

/// What is wrong in the end.
fn judge(world: &World, clients: &mut [Client], flow: Option<Numbers>, step: Step) -> Result<Seen> {
    let wanted = if step == Step::Revoke { 0 } else { clients.len().min(2) };
    let mut insides = Vec::new();
    let is_right = lastingly(STAYS, || {
        insides = clients.iter_mut().map(|client| world.inside(client)).collect();
        insides.iter().flatten().count() == wanted && (step != Step::Claim || insides[2].is_some())
    });
    let is_in: Vec<&String> = insides.iter().flatten().collect();
    let different: BTreeSet<&&String> = is_in.iter().collect();
    let mut seen = Seen {
        colliding: collisions(&world.copy()?) + is_in.len() - different.len(),
        double_spent: usize::from(step == Step::Claim && insides[..2].iter().all(Option::is_some)),
        revoked_in: if step == Step::Revoke && !is_right { is_in.len().max(1) } else { 0 },
        out: usize::from(!is_right && wanted > 0 && is_in.len() <= wanted),
        ..Seen::default()
    };
    if let Some(flow) = flow.filter(|_| step != Step::Revoke) {
        seen.lost = usize::from(!flow.goes_on());
        seen.stall = flow.longest();
    }
    Ok(seen)
}
