//! Access points of a bunch that die together.

use crate::common::{each, flow, run};
use std::fmt::Write;

/// One upload over six uplinks of 10 Mbit/s. Three neighbours die at 3 s, or none: the receiver's
/// longest wait, ms, and what it got, Mbit/s.
fn upload(die: bool) -> (f64, f64) {
    let mut text = "duration = \"5s\"\nwarmup = \"2s\"\n[node.sender]\n[node.receiver]\n\
         [node.gateway]\nforward = true\n[node.ap1]\nforward = true\n"
        .to_owned();
    (2..=6).for_each(|n| writeln!(text, "[node.ap{n}]").unwrap());
    text += "[[link]]\nname = \"home\"\nends = [\"sender:wlan0\", \"ap1:lan0\"]\n\
         rate = \"1Gbit/s\"\ndelay = \"1ms\"\n\
         [[link]]\nname = \"server\"\nends = [\"gateway:eth0\", \"receiver:eth0\"]\n\
         rate = \"1Gbit/s\"\ndelay = \"100us\"\n";
    for n in 1..=6 {
        write!(
            text,
            "[[link]]\nname = \"up{n}\"\nends = [\"ap{n}:wan0\", \"gateway:wan{n}\"]\noverhead = \"14B\"\n\
             delay = \"16ms\"\nforward.rate = \"10Mbit/s\"\nback.rate = \"50Mbit/s\"\n"
        )
        .unwrap();
    }
    text += "[bunch.street]\ngateway = \"gateway\"\nhome = \"ap1\"\nreceiver = \"receiver\"\n\
         neighbours = [\"ap2\", \"ap3\", \"ap4\", \"ap5\", \"ap6\"]\n\
         [[flow]]\nname = \"up\"\nkind = \"tcp\"\nfrom = \"sender\"\nto = \"receiver\"\nmss = 1350\n";
    for n in (2..=4).filter(|_| die) {
        write!(text, "[[event]]\nat = \"3s\"\nwhat = \"ap-down\"\nnode = \"ap{n}\"\n").unwrap();
    }
    let report = run(&text);
    let row = flow(&report, "up");
    (row.gap_ms.unwrap_or_default(), row.goodput_mbps)
}

#[test]
fn neighbours_that_die_together_hold_an_upload_up_for_two_overdue_times_at_most() {
    let rows = each([false, true], upload);
    println!("longest gap and rate, nobody dies and three do: {rows:.1?}");
    // A packet is overdue after 200 ms, or four round trips of some 50, and the next tick of 50 ms
    // sees it. The tunnels of the dead end after 1.5 s: until then they were asked again and again.
    let overdue = 250.0;
    assert!(rows[0].0 < overdue, "the null case, in which nothing is overdue: {:?}", rows[0]);
    assert!(rows[1].0 < 2.0 * overdue, "{:?}", rows[1]);
    // It goes on: a wait until the end would be no gap. Three uplinks carry 28.5.
    assert!(rows[1].1 > 20.0, "{:?}", rows[1]);
}
