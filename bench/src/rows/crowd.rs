//! `crowd`: ten thousand clients of one gateway, and what a start of it costs then.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Outcome;
use super::memory::{MIB, invites};
use crate::bench::Bench;
use crate::crowd::{self, Crowd};
use crate::plan::Plan;
use crate::report::{Case, Figure, Goal};
use crate::sample::{Sample, Unit, Value};
use crate::site::Site;
use crate::system::Gateway;
use crate::usage;

const REPEATS: u32 = 3;
/// How long all of them may take to come in.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bits of the inner network: room for all of them.
const PREFIX: u8 = 16;
/// One of those who carry something sends so much, bytes of an IP packet.
const PACKET: usize = 1250;
/// And that often: 1 Mb/s.
const EVERY: Duration = Duration::from_millis(10);

pub(super) fn measurements(plan: &Plan) -> u64 {
    u64::from(plan.repeats(REPEATS))
}

/// What one gateway showed, in the order of [`NAMES`].
type Seen = [f64; 9];

const NAMES: [(&str, Unit); 9] = [
    ("empty", Unit::MiB),
    ("with all", Unit::MiB),
    ("processor when empty", Unit::Percent),
    ("processor with all at rest", Unit::Percent),
    ("all back: processor", Unit::Ms),
    ("all back: time", Unit::Ms),
    ("sent by a tenth", Unit::Mbps),
    ("arrived", Unit::Mbps),
    ("processor with a tenth", Unit::Percent),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut values = NAMES.map(|(name, unit)| Value::new(name, unit));
    for _ in 0..bench.plan.repeats(REPEATS) {
        bench.progress.begin("crowd");
        let seen = one_gateway(bench);
        for (at, value) in values.iter_mut().enumerate() {
            value.push(match &seen {
                Ok(seen) => Sample::of(seen[at]),
                Err(error) => Sample::none(format!("{error:#}")),
            });
        }
        bench.progress.end(&values.each_ref().map(Value::latest).join(", "));
    }
    let clients = clients(&bench.plan);
    // In a hurry there are fewer, and less is to be taken.
    let share = clients as f64 / 10_000.0;
    let figures = vec![
        Figure::new("memory", Unit::MiB, values[1].figure, [], Goal::at_most(200e6 / MIB, 100e6 / MIB)),
        Figure::new("at rest", Unit::Percent, values[3].figure, [], Goal::at_most(2.0, 1.0)),
        Figure::new(
            "all back",
            Unit::Ms,
            values[4].figure,
            [],
            Goal::at_most(10_000.0 * share, 5_000.0 * share),
        ),
        // Of what they want to send, whoever is too slow for it.
        Figure::new(
            "a tenth with 1 Mb/s each",
            Unit::Mbps,
            values[7].figure,
            [],
            Goal::at_least(990.0 * share, 999.0 * share),
        ),
    ];
    let method = format!(
        "{clients} engines with a socket and an address each. Resident memory of `ropewalk serve`, and its processor \
         time in {} s at rest, before anybody came and with all of them. Then the gateway is killed and started again, and \
         all come back at once with the keys that they had: until the last is in, and the gateway's processor time for it. Then one in \
         ten sends a UDP packet of {PACKET} bytes each {} ms for {} s. One processor is 100 %. Median of {}.",
        span(&bench.plan).as_secs(),
        EVERY.as_millis(),
        span(&bench.plan).as_secs(),
        bench.plan.repeats(REPEATS)
    );
    let name = if bench.plan.quick { "1,000 clients" } else { "10,000 clients" };
    Ok(Outcome { method, cases: vec![Case { name: name.to_owned(), values: values.into(), figures }] })
}

fn clients(plan: &Plan) -> usize {
    plan.pick(10_000, 1000)
}

fn span(plan: &Plan) -> Duration {
    // Longer than the 20 s after which idle paths are kept alive.
    plan.pick(Duration::from_secs(30), Duration::from_secs(5))
}

fn one_gateway(bench: &Bench) -> Result<Seen> {
    let program = bench.programs.ropewalk.as_ref().context("there is no ropewalk binary")?;
    let (count, span) = (clients(&bench.plan), span(&bench.plan));
    let site = Site::veth()?;
    crowd::prepare(&site)?;
    let mut gateway = Gateway::start_for(program, &site, PREFIX, count)?;
    let resident =
        |gateway: &Gateway| usage::resident_mib(gateway.process.id()).context("the gateway is gone");
    let cpu = |gateway: &Gateway| usage::cpu_seconds(gateway.process.id()).context("the gateway is gone");
    let percent = |seconds: f64, of: Duration| 100.0 * seconds / of.as_secs_f64();

    let empty_mib = resident(&gateway)?;
    let before = cpu(&gateway)?;
    std::thread::sleep(span);
    let empty_percent = percent(cpu(&gateway)? - before, span);

    let tokens = invites(bench, &site, &gateway, count)?;
    bench.progress.begin("crowd");
    let mut crowd = Crowd::new(&site.lab.client, &tokens, Gateway::endpoint(1))?;
    crowd.connect(PATIENCE)?;
    // All has settled: each path's MTU is known.
    crowd.stay(span)?;
    let before = cpu(&gateway)?;
    crowd.stay(span)?;
    let rest_percent = percent(cpu(&gateway)? - before, span);
    let full_mib = resident(&gateway)?;

    gateway.process.kill();
    let mut gateway = gateway.again(&site)?;
    let before = cpu(&gateway)?;
    let begun = Instant::now();
    crowd.come_back()?;
    crowd.connect(PATIENCE)?;
    let back = begun.elapsed();
    let back_cpu = cpu(&gateway)? - before;
    crowd.stay(span)?;

    // What is sent arrives somewhere, and nobody says that it does not.
    let _sink = site.lab.gateway.run(|| std::net::UdpSocket::bind(("0.0.0.0", crowd::DISCARD)))??;
    let (before, arrived) = (cpu(&gateway)?, gateway.delivered_packets(&site)?);
    let sent = crowd.send(count / 10, PACKET, EVERY, span)?;
    let busy_percent = percent(cpu(&gateway)? - before, span);
    crowd.stay(Duration::from_secs(1))?;
    let arrived = gateway.delivered_packets(&site)? - arrived;
    gateway.process.stop();
    let mbps = |packets: u64| (packets * PACKET as u64 * 8) as f64 / span.as_secs_f64() / 1e6;
    Ok([
        empty_mib,
        full_mib,
        empty_percent,
        rest_percent,
        back_cpu * 1e3,
        back.as_secs_f64() * 1e3,
        mbps(sent),
        mbps(arrived),
        busy_percent,
    ])
}
