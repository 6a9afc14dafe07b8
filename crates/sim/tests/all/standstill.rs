//! Two paths, one of which stands still for 20 ms now and then without losing anything, as Wi-Fi
//! does when an acknowledgement collides.

use crate::common::{flow, run};
use std::fmt::Write;

/// Mbit/s of one TCP flow, and the share of its chunks that went out again.
fn carried(pauses: bool, seed: u64) -> (f64, f64) {
    let mut text =
        format!("seed = {seed}\nduration = \"8s\"\nwarmup = \"2s\"\n[node.client]\n[node.gateway]\n");
    for name in ["a", "b"] {
        write!(
            text,
            "[[link]]\nname = \"{name}\"\nends = [\"client:{name}\", \"gateway:{name}\"]\nrate = \"100Mbit/s\"\ndelay = \"2ms\"\n"
        )
        .unwrap();
    }
    text += "[bond.rw0]\nclient = \"client\"\ngateway = \"gateway\"\npaths = [\"a\", \"b\"]\n\
             [[flow]]\nname = \"one\"\nkind = \"tcp\"\nfrom = \"gateway:rw0\"\nto = \"client:rw0\"\n";
    for at in (1000..8000).step_by(500).filter(|_| pauses) {
        for (at, mbps) in [(at, 1), (at + 20, 100)] {
            write!(
                text,
                "[[event]]\nat = \"{at}ms\"\nwhat = \"link-set\"\nlink = \"a\"\nrate = \"{mbps}Mbit/s\"\n"
            )
            .unwrap();
        }
    }
    let report = run(&text);
    let row = report.bond.iter().find(|b| b.from == "gateway").unwrap();
    (flow(&report, "one").goodput_mbps, row.resent_chunks as f64 / row.delivered as f64)
}

#[test]
fn a_path_that_stood_still_is_used_again_at_once() {
    // The mean is 171 Mbit/s of 188, by when a pause meets TCP's swing.
    let runs: Vec<_> = (1..=4).map(|seed| carried(true, seed)).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let (goodput, again) = (mean(|r| r.0), mean(|r| r.1));
    // The null case, which has nothing to send again.
    let (undisturbed, nothing) = carried(false, 1);
    println!("{goodput:.1} Mb/s, {again:.4} again; undisturbed {undisturbed:.1}, {nothing:.4}");
    assert!(again < 0.005 && nothing < 0.0005, "{again} {nothing}");
    // The delay of the last packets before a pause once kept the path out for seconds: 0.53. With
    // pauses in the controller's rate it had 0.77, and with rates of when acknowledgements came 0.84.
    assert!(goodput > undisturbed * 0.86, "{goodput} {undisturbed}");
}
