//! `million`: a million clients in a fleet's store, and what its gateways' calls cost then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use ropewalk_fleet::pool::Pool;
use ropewalk_fleet::{
    ClientRecord, Evict, Join, Ledger, LedgerError, Member, Reach, StoreError, Usage, block_on,
};
use ropewalk_session::{InviteId, InviteSecret, PublicKey, StaticKey};

use super::Outcome;
use crate::bench::Bench;
use crate::fleet::etcd::Cluster;
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::usage;

/// Lines that fill the store beside each other.
const LANES: u32 = 4;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(1200);
/// New clients, one after the other, and at once: as many as wait in a gateway's lane.
const ALONE: u32 = 100;
const AT_ONCE: u32 = 256;
/// Revocations, one after the other.
const REVOKED: u32 = 20;
/// Admissions of known clients.
const KNOWN: u32 = 10_000;
/// What each of them uses.
const USED: Usage = Usage { from_client: 1000, to_client: 1000 };

pub(super) fn measurements(_: &Plan) -> u64 {
    1
}

const NAMES: [(&str, Unit); 13] = [
    ("filled in", Unit::Ms),
    ("etcd's database", Unit::MiB),
    ("etcd's memory", Unit::MiB),
    ("a gateway's start", Unit::Ms),
    ("a gateway's memory", Unit::MiB),
    ("a known client", Unit::Us),
    ("a new client", Unit::Ms),
    ("new clients at once", Unit::PerSecond),
    ("serving written", Unit::PerSecond),
    ("usage written", Unit::PerSecond),
    ("a known client meanwhile, the slowest", Unit::Ms),
    ("another gateway's start", Unit::Ms),
    ("a revocation seen there, the slowest", Unit::Ms),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let count = bench.plan.pick(1_000_000, 20_000);
    let mut values = NAMES.map(|(name, unit)| Value::new(name, unit));
    bench.progress.begin("million");
    for (value, seen) in values.iter_mut().zip(one_store(count)?) {
        value.push(Sample::of(seen));
    }
    bench.progress.end(&values.each_ref().map(Value::latest).join(", "));
    let figures = vec![
        Figure::new("start", Unit::Ms, values[3].figure, [], Goal::none()),
        Figure::new("memory", Unit::MiB, values[4].figure, [], Goal::none()),
        Figure::new("known", Unit::Us, values[5].figure, [], Goal::at_most(1000.0, 10.0)),
        Figure::new("revocation", Unit::Ms, values[12].figure, [], Goal::at_most(1000.0, 100.0)),
    ];
    let method = format!(
        "One node of etcd with its data in memory. Simulated: {count} clients that came (each with invite, device and IPv4 \
         address), written {} at a time by {LANES} lines (`Ledger::import`); there are no devices and no sessions. Then one gateway's \
         part in the fleet (`Member`, in this program) joins, which reads all. What it takes of resident memory is its memory. \
         {KNOWN} known clients are admitted, {ALONE} new ones are invited and come one after the other, and {AT_ONCE} at once. Then \
         all are served by this one gateway, and use something: how many records a second are written of each, and how long the \
         slowest of a known client's admissions takes meanwhile, asked for every millisecond. Then another gateway joins, with these records there too, and \
         hears of {REVOKED} revocations that a command makes.",
        Ledger::IMPORT
    );
    let name = format!("{count} clients");
    Ok(Outcome { method, cases: vec![Case { name, values: values.into(), figures }] })
}

/// What looks like chance, and is the same each time.
fn bytes<const N: usize>(n: u32) -> [u8; N] {
    let mut bytes = [0; N];
    for (place, some) in bytes.chunks_mut(8).enumerate() {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        let mut z = (u64::from(n) << 8 | place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        some.copy_from_slice(&(z ^ (z >> 31)).to_be_bytes()[..some.len()]);
    }
    bytes
}

fn name(n: u32) -> String {
    format!("client{n:07}")
}

fn hello(n: u32) -> (InviteId, InviteSecret) {
    (InviteId(bytes(n)), InviteSecret(bytes(n)))
}

fn client(n: u32) -> (String, ClientRecord) {
    let first = u32::from(std::net::Ipv4Addr::new(10, 0, 0, 2));
    let record = ClientRecord {
        invite: bytes(n),
        fingerprint: hello(n).1.fingerprint(),
        key: Some(PublicKey(bytes(n))),
        ipv4: Some((first + n).into()),
        ipv6: None,
        revoked: false,
    };
    (name(n), record)
}

/// Writes every fourth batch.
fn fill(cluster: &Cluster, lane: u32, count: u32) -> Result<()> {
    let mut ledger = cluster.ledger()?;
    let size = Ledger::IMPORT as u32;
    let until = Instant::now() + PATIENCE;
    let done = block_on(async {
        for first in (lane * size..count).step_by((LANES * size) as usize) {
            let some: Vec<(String, ClientRecord)> = (first..count.min(first + size)).map(client).collect();
            loop {
                match ledger.import(&some).await {
                    Ok(true) => break,
                    Ok(false) => return Ok(false),
                    // etcd is slow for a moment; twice is once.
                    Err(LedgerError::Store(StoreError::Gone(_))) if Instant::now() < until => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(true)
    })?;
    ensure!(done, "the store was not empty");
    Ok(())
}

fn fill_all(cluster: &Cluster, count: u32) -> Result<()> {
    std::thread::scope(|s| {
        let lanes: Vec<_> = (0..LANES).map(|lane| s.spawn(move || fill(cluster, lane, count))).collect();
        lanes.into_iter().try_for_each(|lane| lane.join().map_err(|_| anyhow!("a thread failed"))?)
    })
}

fn join(cluster: &Cluster, name: &str) -> Result<(Member, Receiver<Evict>)> {
    let (tell, told) = channel();
    let join = Join {
        address: cluster.address()?,
        tls: None,
        name: name.into(),
        instance: name.into(),
        pool: Pool::new(&["10.0.0.1/8".parse()?])?,
        new_key: StaticKey::generate(&mut rand::rng())?,
        evict: Box::new(move |evict| {
            let _ = tell.send(evict);
        }),
    };
    let (member, _) = Member::join(join)?;
    member.start(Reach::default())?;
    Ok((member, told))
}

/// A device asks until the store has said whether it may come in.
fn come(member: &Member, n: u32) -> Result<()> {
    wait(|| Ok(is_ready(member, n)), Duration::from_micros(200))?;
    admit(member, n)
}

fn is_ready(member: &Member, n: u32) -> bool {
    let (id, secret) = hello(n);
    member.is_ready(&PublicKey(bytes(n)), (id, &secret))
}

fn admit(member: &Member, n: u32) -> Result<()> {
    let (id, secret) = hello(n);
    member.admit(&PublicKey(bytes(n)), (id, &secret)).map(drop).context("a client is refused")
}

fn wait(mut is_so: impl FnMut() -> Result<bool>, every: Duration) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while !is_so()? {
        ensure!(Instant::now() < until, "not within {} s", PATIENCE.as_secs());
        std::thread::sleep(every);
    }
    Ok(())
}

fn ms(of: Duration) -> f64 {
    of.as_secs_f64() * 1e3
}

fn one_store(count: u32) -> Result<[f64; 13]> {
    let cluster = Cluster::alone()?;
    let begun = Instant::now();
    fill_all(&cluster, count)?;
    let filled = ms(begun.elapsed());
    let etcd_mib = cluster.pid().and_then(usage::resident_mib).context("etcd is gone")?;
    let own_mib = || usage::resident_mib(std::process::id()).context("there is no /proc");

    let (before, begun) = (own_mib()?, Instant::now());
    let (a, _told) = join(&cluster, "a")?;
    let (start, memory) = (ms(begun.elapsed()), own_mib()? - before);
    let begun = Instant::now();
    for n in (0..count).step_by((count / KNOWN).max(1) as usize).take(KNOWN as usize) {
        ensure!(is_ready(&a, n), "a client that is there is not known");
        admit(&a, n)?;
    }
    let known = begun.elapsed().as_secs_f64() * 1e6 / f64::from(KNOWN);
    let (alone, rate) = newcomers(&a, count)?;
    let (serving, used, slowest) = everybody(&cluster, &a, count)?;

    let begun = Instant::now();
    let (b, told) = join(&cluster, "b")?;
    let second = ms(begun.elapsed());
    let revoked = revocations(&cluster, &told)?;
    let database = cluster.database_mib()?;
    // Nothing is to be written any more: the records of a million clients go with a lease.
    drop(cluster);
    drop((a, b));
    Ok([
        filled, database, etcd_mib, start, memory, known, alone, rate, serving, used, slowest, second,
        revoked,
    ])
}

/// What a new client waits for, alone, and how many a second come at once.
fn newcomers(member: &Member, count: u32) -> Result<(f64, f64)> {
    let invite = |n: u32| {
        let (id, secret) = hello(n);
        member.invite(&name(n), id, &secret)
    };
    let mut all = Vec::new();
    for n in count..count + ALONE {
        invite(n)?;
        let begun = Instant::now();
        come(member, n)?;
        all.push(ms(begun.elapsed()));
    }
    all.sort_by(f64::total_cmp);
    let group = count + ALONE..count + ALONE + AT_ONCE;
    group.clone().try_for_each(invite)?;
    let is_there = |n: u32| member.read(|copy| copy.client(&name(n)).is_some());
    wait(|| Ok(group.clone().all(is_there)), Duration::from_millis(1))?;
    let begun = Instant::now();
    wait(
        || Ok(group.clone().filter(|n| is_ready(member, *n)).count() == group.len()),
        Duration::from_micros(200),
    )?;
    let rate = f64::from(AT_ONCE) / begun.elapsed().as_secs_f64();
    group.clone().try_for_each(|n| admit(member, n))?;
    Ok((all[all.len() / 2], rate))
}

/// Everybody is served here, and uses something: records a second of each, and the slowest
/// admission of a known client meanwhile.
fn everybody(cluster: &Cluster, member: &Member, count: u32) -> Result<(f64, f64, f64)> {
    let (stop, mut ledger) = (AtomicBool::new(false), cluster.ledger()?);
    std::thread::scope(|s| {
        let slowest = s.spawn(|| slowest_admission(member, count, &stop));
        let mut work = || -> Result<(f64, f64)> {
            let begun = Instant::now();
            (0..count).for_each(|n| member.came(&PublicKey(bytes(n))));
            let served = |member: &Member| member.report().gateways.iter().map(|g| g.clients).sum::<usize>();
            wait(|| Ok(served(member) >= count as usize), Duration::from_millis(10))?;
            let serving = f64::from(count) / begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            let all: Vec<(PublicKey, Usage)> = (0..count).map(|n| (PublicKey(bytes(n)), USED)).collect();
            all.chunks(1000).for_each(|some| member.used(some));
            let total = u64::from(count) * USED.total();
            // A gateway's sum is written when all of its records are.
            wait(
                || Ok(block_on(ledger.overview())?.iter().any(|gateway| gateway.used.total() >= total)),
                Duration::from_millis(100),
            )?;
            Ok((serving, f64::from(count) / begun.elapsed().as_secs_f64()))
        };
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let slowest = slowest.join().map_err(|_| anyhow!("a thread failed"))??;
        let (serving, used) = done?;
        Ok((serving, used, slowest))
    })
}

fn slowest_admission(member: &Member, count: u32, stop: &AtomicBool) -> Result<f64> {
    let (mut slowest, mut n) = (Duration::ZERO, 0);
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        ensure!(is_ready(member, n), "a client that is there is not known");
        admit(member, n)?;
        slowest = slowest.max(begun.elapsed());
        n = (n + 7919) % count;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(ms(slowest))
}

/// The longest from a revocation's order to its arrival at a gateway.
fn revocations(cluster: &Cluster, told: &Receiver<Evict>) -> Result<f64> {
    let mut ledger = cluster.ledger()?;
    let mut slowest = Duration::ZERO;
    for n in 0..REVOKED {
        let begun = Instant::now();
        block_on(ledger.revoke(&name(n)))?;
        let evicted = told.recv_timeout(PATIENCE)?;
        ensure!(evicted == Evict::Revoked(PublicKey(bytes(n))), "another session ended: {evicted:?}");
        slowest = slowest.max(begun.elapsed());
    }
    Ok(ms(slowest))
}
