//! A bond of two paths, one of which somebody else's flows share.

use crate::common::{each, flow, run};

const RATE_MBPS: f64 = 50.0;
const OTHER_MBPS: f64 = 20.0;

struct Shared {
    /// What the bond sent on the shared path, over a fair share of it.
    share: f64,
    /// What it sent on the other, Mb/s.
    other_mbps: f64,
    /// Mean wait in the shared path's queue, ms.
    wait_ms: f64,
}

/// The bond beside `rivals` CUBIC flows on the first path, whose queue holds so many bytes.
fn beside(rivals: u32, queue: u32, seed: u64) -> Shared {
    let rival = match rivals {
        0 => String::new(),
        n => format!(
            "[[flow]]\nname = \"rival\"\nkind = \"tcp\"\nfrom = \"other\"\nto = \"gateway:wan1\"\nstart = \"5s\"\nstreams = {n}\n"
        ),
    };
    let report = run(&format!(
        "seed = {seed}\nduration = \"40s\"\nwarmup = \"10s\"\n[node.client]\n[node.gateway]\n[node.other]\n[node.isp]\nforward = true\n\
         [[link]]\nname = \"a\"\nends = [\"isp:a\", \"gateway:wan1\"]\nrate = \"{RATE_MBPS}Mbit/s\"\ndelay = \"20ms\"\nqueue.limit = \"{queue}B\"\n\
         [[link]]\nname = \"b\"\nends = [\"client:wan2\", \"gateway:wan2\"]\nrate = \"{OTHER_MBPS}Mbit/s\"\ndelay = \"20ms\"\n\
         [[link]]\nname = \"client\"\nends = [\"client:wan1\", \"isp:client\"]\n\
         [[link]]\nname = \"other\"\nends = [\"other:eth0\", \"isp:other\"]\n\
         [bond.rw0]\nclient = \"client\"\ngateway = \"gateway\"\npaths = [\"wan1\", \"wan2\"]\n\
         [[flow]]\nname = \"bond\"\nkind = \"tcp\"\nfrom = \"client:rw0\"\nto = \"gateway:rw0\"\nstart = \"1s\"\n{rival}"
    ));
    assert!(flow(&report, "bond").goodput_mbps > 1.0);
    let sent = |interface: &str| {
        let name = format!("rw0:client:{interface}");
        report.path.iter().find(|p| p.name == name).map_or(0.0, |p| p.sent_mbps)
    };
    let link = report.link.iter().find(|l| l.name == "a:forward").unwrap();
    Shared {
        share: sent("wan1") * f64::from(rivals + 1) / RATE_MBPS,
        other_mbps: sent("wan2"),
        wait_ms: link.wait_ms.unwrap_or_default(),
    }
}

/// It had 0.3 to 0.5 of a fair share: Tidal gave way whenever the queue was short for a moment, and
/// the bond's own queue was too short for a path that is slower in one direction only.
#[test]
fn a_bond_holds_its_share_beside_cubic_and_its_other_path_is_not_touched() {
    for (rivals, queue) in [(1, 125_000), (1, 250_000), (4, 250_000)] {
        let runs = each(1..=3, |seed| beside(rivals, queue, seed));
        let share = runs.iter().map(|r| r.share).sum::<f64>() / runs.len() as f64;
        println!("{rivals} beside it, queue of {queue} bytes: {share:.2} of a fair share");
        assert!((0.75..1.45).contains(&share), "{share}");
        assert!(runs.iter().all(|r| r.other_mbps > 0.97 * OTHER_MBPS));
    }
}

/// The null case: without anybody the queue is short and the path full.
#[test]
fn a_bond_alone_keeps_the_queue_short() {
    let alone = beside(0, 250_000, 1);
    assert!(alone.share > 0.97 && alone.wait_ms < 2.0, "{} {}", alone.share, alone.wait_ms);
}
