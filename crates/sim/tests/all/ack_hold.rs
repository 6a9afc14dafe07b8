//! A receiver that acknowledges seldom: what it does to one connection, and what it leaves alone.

use crate::common::{flow, run};

/// 200 Mbit/s and round trips of 2 ms; the queue takes 50 kB, what a round trip holds. The receiver's buffer is never half full, so that no
/// window has to be told of.
fn report(more: &str) -> ropewalk_scenario::report::Report {
    run(&format!(
        "duration = \"4s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:y\"]\nrate = \"200Mbit/s\"\ndelay = \"1ms\"\nqueue = {{ limit = \"50kB\" }}\n\
         [[flow]]\nname = \"f\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nreceive-buffer = \"24MB\"\n{more}"
    ))
}

#[test]
fn held_acknowledgements_wait_for_the_timer_and_cost_throughput() {
    let held = "ack-hold = { clear = \"0s\", held = \"100s\", segments = 10000 }\n";
    let (plain, held) = (report(""), report(held));
    let (plain, held) = (flow(&plain, "f"), flow(&held, "f"));
    // What the queue and the link hold, 100 kB, is 20 Mbit/s once every 40 ms.
    assert!(
        plain.goodput_mbps > 180.0 && held.goodput_mbps < 40.0,
        "{} {}",
        plain.goodput_mbps,
        held.goodput_mbps
    );
    assert!(plain.rtt_p99_ms < Some(10.0) && held.rtt_p99_ms > Some(40.0), "{plain:?} {held:?}");
}

#[test]
fn a_spell_that_never_comes_changes_nothing() {
    let never = report("ack-hold = { clear = \"1000000s\", held = \"1s\", segments = 10000 }\n");
    assert_eq!(report("").provenance.trace, never.provenance.trace);
}
