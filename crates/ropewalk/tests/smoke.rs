//! The real binary at both ends, in namespaces. Needs root; without it the tests pass and say so.
//!
//! ```text
//!   client                          gateway
//!   wan1 10.1.1.1 ──── 20 Mb/s ──── 10.1.1.2 wan1
//!   wan2 10.1.2.1 ──── 20 Mb/s ──── 10.1.2.2 wan2
//!                                   10.9.0.1 lo, reached by both
//!   rw0  10.77.0.2 ══════ bond ════ 10.77.0.1 rw0
//! ```

use crate::common::{States, invite, lab, root, ropewalk, serve, up};
use ropewalk_lab::{Iperf, Ping};

/// Field 19 of proc_pid_stat(5).
fn niceness(pid: u32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(16).unwrap().parse().unwrap()
}

/// CAP_SYS_NICE is number 23 (linux/capability.h).
fn may_raise() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let held = status.lines().find_map(|l| l.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(held.trim(), 16).unwrap() >> 23 & 1 == 1
}

#[test]
fn a_ping_and_a_flow_pass_through_the_bond() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("bond"));
    let mut gateway = serve(&lab, &states, &[]);
    let token = invite(&states, "alice");
    let mut client = up(&lab, &states, &token, &["--path", "wan1", "--path", "wan2"]);
    let inside = "10.77.0.1".parse().unwrap();
    let (ours, theirs) = (niceness(std::process::id()), [client.id(), gateway.id()].map(niceness));
    // In a container without CAP_SYS_NICE they stay where they are, and work.
    let expected = if ours == 0 && may_raise() { -10 } else { ours };
    assert_eq!(theirs, [expected; 2], "a daemon goes before the programs it works for");
    let ping = Ping::new(inside).run(&lab.client).unwrap();
    assert_eq!(ping.received, ping.sent, "{ping:?}\n{}", client.stderr());
    let flow = Iperf::tcp(inside).seconds(5).start(&lab.client, &lab.gateway).unwrap().finish().unwrap();
    println!("{}", ropewalk(&["status", "--state", &states.of("client")]).1);
    println!("{}", ropewalk(&["status", "--state", &states.of("gateway")]).1);
    println!("{:.1} Mb/s, ping {:?}", flow.received_mbps, ping.median());
    assert!(flow.received_mbps > 25.0, "{:.1} Mb/s: not more than one path", flow.received_mbps);
    let (code, out, err) = ropewalk(&["flows", "--state", &states.of("gateway"), "--json"]);
    let flows: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{code} {err}"));
    let bytes = |f: &serde_json::Value| ["sent_bytes", "received_bytes"].map(|k| f[k].as_u64().unwrap());
    let all = flows["flows"].as_array().unwrap();
    let heaviest = all.iter().max_by_key(|f| bytes(f)[0] + bytes(f)[1]).unwrap();
    let words = ["peer", "protocol", "class"].map(|k| heaviest[k].as_str().unwrap());
    assert_eq!(words, ["alice", "tcp", "bulk"], "whose it is: {heaviest}");
    let carried = (bytes(heaviest)[0] + bytes(heaviest)[1]) as f64;
    assert!(carried > flow.received_mbps * 1e6 / 8.0 * 4.0, "of five seconds: {heaviest}");
    assert!(heaviest["there"].as_str().unwrap().starts_with("10.77.0.2:"), "{heaviest}");
    println!("{}", ropewalk(&["flows", "--state", &states.of("client")]).1);
    client.stop();
    gateway.stop();
    println!("{}\n{}", client.stderr(), gateway.stderr());
}
