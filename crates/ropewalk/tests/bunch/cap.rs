//! A contributor with a cap: what it gives, and what becomes of uploads then.

use super::*;
use crate::common::note;

#[test]
fn a_contributor_gives_its_cap_and_no_more_and_the_upload_goes_on() {
    if !root() {
        return;
    }
    let net = net("bunch-cap");
    let _gateway = net.start_gateway();
    let _home = net.start_ap(0);
    let (hooks, log) = note(&net.states);
    let told = "ROPEWALK_CAP=500000 ROPEWALK_DEVICE=bunch0 ROPEWALK_EVENT=cap-reached ROPEWALK_INTERFACE=wan0 ROPEWALK_RESET_DAY=1 ";
    let programs_are_told = |times: usize| {
        eventually("programs are told", || {
            std::fs::read_to_string(&log).is_ok_and(|text| text.matches(told).count() == times)
        });
    };
    let state = net.states.of(APS[1]);
    let start = || {
        let args = ["bunch", "ap", &net.tokens[1], "--state", &state, "--share", "mesh0", "--uplink", "wan0"];
        let more = ["--cap", "500kB", "--hooks", &hooks];
        let mut anna = net.aps[1].start(BINARY, args.into_iter().chain(more)).unwrap();
        anna.wait_for_line("access point ready", SOON).unwrap();
        eventually("neighbours know each other", || net.status("home")["neighbours"] == 1);
        anna
    };
    let mut anna = start();
    assert_eq!(net.status("anna")["cap"]["left_bytes"], 500_000);
    let before = net.sent(1);
    // At an upload's end some packets may lie there that nobody asks for any more: the next one
    // takes what was kept for them.
    for _ in 0..5 {
        assert!(net.upload(4_000_000).ends());
        if net.status("anna")["cap"]["is_used_up"] == true {
            break;
        }
    }
    let (sent, status) = (net.sent(1) - before, net.status("anna"));
    println!("{sent} bytes left by the uplink; {status}");
    // Each packet counts as more than it takes, and signs of life come on top.
    assert!((250_000..600_000).contains(&sent), "{sent} {status}");
    assert!(status["cap"]["is_used_up"] == true, "{status}");
    assert!(status["cap"]["refused_packets"].as_u64() > Some(0), "{status}");
    assert_eq!(net.status("gateway")["resets"], 0);
    let (code, out, err) = ropewalk(&["bunch", "status", "--state", &state]);
    assert!(code == 0 && out.contains("for neighbours 500 kB a month: used up"), "{out}{err}");
    assert_eq!(anna.stderr().matches("the uplink's allowance is used up").count(), 1, "{}", anna.stderr());
    programs_are_told(1);
    // Another start gives nothing anew, and tells programs so.
    anna.signal(Signal::TERM).unwrap();
    assert!(anna.wait(SOON).unwrap().success());
    let _anna = start();
    programs_are_told(2);
    let before = net.sent(1);
    assert!(net.upload(1_000_000).ends());
    let (sent, status) = (net.sent(1) - before, net.status("anna"));
    assert!(sent < 50_000 && status["cap"]["is_used_up"] == true, "{sent} {status}");
}
