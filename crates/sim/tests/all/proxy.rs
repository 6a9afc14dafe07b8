//! Nodes that are TCP proxies.

use crate::common::{flow, near, run};

/// A server behind a router: 20 ms, then 2 ms to the client.
fn report(pep: &str, hop: &str, flow_keys: &str) -> ropewalk_scenario::Report {
    run(&format!(
        "duration = \"6s\"\nwarmup = \"1s\"\n[node.server]\n[node.client]\n[node.router]\nforward = true\n{pep}\n\
         [[link]]\nname = \"wire\"\nends = [\"server:eth0\", \"router:wan\"]\nrate = \"50Mbit/s\"\ndelay = \"10ms\"\n\
         [[link]]\nname = \"hop\"\nends = [\"router:hop\", \"client:eth0\"]\nrate = \"20Mbit/s\"\ndelay = \"10ms\"\n{hop}\n\
         [[flow]]\nname = \"one\"\nkind = \"tcp\"\nfrom = \"server\"\nto = \"client\"\n{flow_keys}\n"
    ))
}

const SPLIT: &str = "pep.policy = \"split\"";
const SNOOP: &str = "pep.policy = \"snoop\"";
const SMALL: &str = "receive-buffer = \"16KiB\"";
const ENOUGH: &str = "receive-buffer = \"128KiB\"";

fn goodput(pep: &str, hop: &str, flow_keys: &str) -> f64 {
    flow(&report(pep, hop, flow_keys), "one").goodput_mbps
}

#[test]
fn split_halves_the_round_trip_of_a_small_window() {
    let (plain, split) = (goodput("", "", SMALL), goodput(SPLIT, "", SMALL));
    assert!(near(split / plain, 2.0, 0.1), "two halves of equal length: {split} of {plain}");
    let (plain, split) = (goodput("", "", ENOUGH), goodput(SPLIT, "", ENOUGH));
    assert!(near(split, plain, 0.02), "null case, a window that fills the path: {split} of {plain}");
}

#[test]
fn snoop_repairs_loss_behind_it_and_changes_nothing_without() {
    let lossy = "loss = \"1%\"";
    let (plain, snoop) = (goodput("", lossy, ENOUGH), goodput(SNOOP, lossy, ENOUGH));
    assert!(snoop > 2.0 * plain, "{snoop} of {plain}");
    let (plain, snoop) = (report("", "", ENOUGH), report(SNOOP, "", ENOUGH));
    assert_eq!(flow(&plain, "one"), flow(&snoop, "one"), "null case: not a figure differs");
}

#[test]
fn a_request_ends_well_through_proxies_in_a_row() {
    for policy in ["split", "snoop"] {
        let mut text = "duration = \"20s\"\n".to_owned();
        for i in 0..4 {
            let node = match i {
                0 | 3 => String::new(),
                _ => format!("forward = true\npep = {{ policy = \"{policy}\", window = \"16KiB\" }}\n"),
            };
            text += &format!("[node.n{i}]\n{node}");
        }
        for i in 0..3 {
            text += &format!(
                "[[link]]\nname = \"l{i}\"\nends = [\"n{i}:r\", \"n{}:l\"]\nrate = \"10Mbit/s\"\ndelay = \"3ms\"\nloss = \"3%\"\n",
                i + 1
            );
        }
        text +=
            "[[flow]]\nname = \"web\"\nkind = \"request\"\nfrom = \"n0\"\nto = \"n3\"\nbytes = \"200kB\"\n";
        let report = run(&text);
        let responses = flow(&report, "web").responses.unwrap_or(0);
        assert!(responses > 10, "{policy}: {responses} responses, each whole");
    }
}
