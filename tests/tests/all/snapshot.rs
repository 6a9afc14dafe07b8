//! What the bond makes of two paths, in simulated time: goodput by loss, difference of delay and scheduler.
//!
//! The tables in `tests/snapshots` are what a reviewer reads: a change of an algorithm shows as a diff. To take new ones:
//! `SNAPSHOT=write cargo test -p ropewalk-tests snapshot`.

use ropewalk_air::wired::LinkSpec;
use ropewalk_bond::config::Config;
use ropewalk_bond::schedule::Kind;
use ropewalk_bond::vnet::Vnet;
use ropewalk_tests::pair::{End, Pair, number, udp};
use ropewalk_time::{Duration, Time};
use std::fmt::Write;
use std::path::Path;

const MBPS: f64 = 20.0;
const DELAY_MS: u64 = 10;
const PACKET: usize = 1400;
/// Packets offered before the measurement, and how long that and the measurement take.
const WARM_UP: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(4);

/// What came of a run.
struct Row {
    /// Mb/s of inner packets.
    goodput: f64,
    /// Packets that came after a later one of their flow, per thousand.
    late: f64,
    /// Longest pause between two deliveries, ms.
    pause: u64,
}

/// A flow that offers somewhat more than both paths carry: the queue at the entrance drops the rest.
fn backlogged(links: &[LinkSpec], scheduler: Kind) -> Row {
    let mut p = Pair::new(links, Config { scheduler, ..Config::default() }, 3);
    p.run_for(Duration::from_secs(1));
    let gap = Duration::from_secs_f64(PACKET as f64 * 8.0 / (1.1 * MBPS * 1e6 * links.len() as f64));
    let (mut n, mut next) = (0, p.now);
    let begin = p.now + WARM_UP;
    let end = begin + MEASURED;
    while next < end {
        p.run_until(next);
        p.device(End::Client, &udp(End::Client, 7, n, PACKET), Vnet::default());
        (n, next) = (n + 1, next + gap);
    }
    p.run_until(end);
    row(&p, begin)
}

fn row(p: &Pair, begin: Time) -> Row {
    let got: Vec<(Time, u32)> =
        p.at_gateway.iter().filter(|g| g.0 >= begin).map(|g| (g.0, number(&g.1))).collect();
    let mut newest = 0;
    let mut late = 0;
    for (_, n) in &got {
        late += usize::from(*n < newest);
        newest = newest.max(*n);
    }
    let pause = got.windows(2).map(|w| w[1].0.since(w[0].0)).max().unwrap_or(MEASURED);
    Row {
        goodput: (got.len() * PACKET * 8) as f64 / MEASURED.as_secs_f64() / 1e6,
        late: late as f64 * 1000.0 / got.len().max(1) as f64,
        pause: pause.as_millis() as u64,
    }
}

fn table() -> String {
    let mut out = format!(
        "Two paths of {MBPS} Mb/s, the first {DELAY_MS} ms one way; one flow that offers 110 % of both.\n\
         Goodput in Mb/s of inner packets; packets out of order per thousand; longest pause in ms.\n\n"
    );
    writeln!(
        out,
        "{:<18} {:>6} {:>9} {:>9} {:>9} {:>7}",
        "scheduler", "loss %", "extra ms", "Mb/s", "late ‰", "pause"
    )
    .unwrap();
    for scheduler in [Kind::EarliestArrival, Kind::MinRtt, Kind::RoundRobin] {
        for loss in [0.0, 2.0] {
            for extra in [0, 20, 60] {
                let link = |ms| LinkSpec::new(MBPS, Duration::from_millis(ms)).loss_percent(loss);
                let r = backlogged(&[link(DELAY_MS), link(DELAY_MS + extra)], scheduler);
                let (goodput, late, pause) = (r.goodput, r.late, r.pause);
                let name = scheduler.name();
                writeln!(out, "{name:<18} {loss:>6.1} {extra:>9} {goodput:>9.1} {late:>9.1} {pause:>7}")
                    .unwrap();
            }
        }
    }
    out
}

#[test]
fn goodput_by_loss_delay_and_scheduler() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/goodput.txt");
    let now = table();
    if std::env::var("SNAPSHOT").is_ok_and(|v| v == "write") {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory for snapshots");
        std::fs::write(&path, &now).expect("a snapshot that can be written");
        return;
    }
    let then = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<String> =
        then.lines().zip(now.lines()).filter(|(a, b)| a != b).map(|(a, b)| format!("- {a}\n+ {b}")).collect();
    assert!(then == now, "the snapshot changed; SNAPSHOT=write takes the new one\n{}", changed.join("\n"));
}
