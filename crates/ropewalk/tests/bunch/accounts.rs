//! What contributors carried, signed by both ends.

use super::*;
use crate::common::listed::commands;
use crate::common::page::run;

/// The account of an access point in a state directory, once it has records.
fn account(net: &Net, state: &str, name: Option<&str>) -> Option<serde_json::Value> {
    let (code, out, err) = ropewalk(&["bunch", "accounts", "--json", "--state", &net.states.of(state)]);
    assert_eq!(code, 0, "{err}");
    let all: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    all.into_iter().find(|a| name.is_none_or(|n| a["name"] == n))
}

#[test]
fn a_contributor_and_its_gateway_sign_what_was_carried() {
    if !root() {
        return;
    }
    let net = net("bunch-accounts");
    let _gateway = net.start_gateway();
    let aps: Vec<Process> = (0..2)
        .map(|ap| {
            let state = net.states.of(APS[ap]);
            let args = ["bunch", "ap", &net.tokens[ap], "--state", &state, "--uplink", "wan0"];
            let more = ["--share", "mesh0", "--account-every", "1"];
            let own: &[&str] = if ap == 0 { &["--home", "lan0"] } else { &[] };
            let args = args.iter().chain(&more).chain(own);
            let mut process = net.aps[ap].start(BINARY, args).unwrap();
            process.wait_for_line("access point ready", SOON).unwrap();
            process
        })
        .collect();
    eventually("neighbours know each other", || net.status("home")["neighbours"] == 1);
    assert!(account(&net, "gateway", None).is_none(), "nothing was carried yet");
    let start = net.sent(1);
    assert!(net.upload(3_000_000).ends());
    let left = net.sent(1) - start;
    let forwarded = || net.status("anna")["forwarded"].as_u64().unwrap();
    let all_of_it = || {
        let account = account(&net, "gateway", Some("anna"));
        account.filter(|a| a["totals"]["carried_packets"] == forwarded())
    };
    eventually("all that anna carried is signed", || all_of_it().is_some());
    let there = all_of_it().unwrap();
    let of = |name: &str| there["totals"][name].as_u64().unwrap();
    println!("{there}; left by the uplink: {left}");
    assert!(of("carried_bytes") < left && of("delivered_bytes") > of("carried_bytes") / 2);
    assert!(of("delivered_packets") <= of("carried_packets"));
    eventually("she has the same", || {
        account(&net, "anna", None).is_some_and(|here| here["totals"] == there["totals"])
    });
    assert_eq!(net.status("anna")["account"]["refused"], 0);
    drop(aps);
    // Files alone prove it.
    let here = account(&net, "anna", None).unwrap();
    let file = |a: &serde_json::Value| a["file"].as_str().unwrap().to_owned();
    let key = there["gateway"].as_str().unwrap();
    let verify = |args: &[&str]| ropewalk(&[&["bunch", "accounts", "verify"], args].concat());
    let (code, out, err) = verify(&[&file(&here), &file(&there), "--gateway", key]);
    assert!(code == 0 && out.contains("proved") && !out.contains("missing"), "{out}{err}");
    let command = commands("bunch.md").into_iter().find(|c| c.contains(" accounts verify ")).unwrap();
    let command = command.replace("account-8d41f0c2a97be6a0.json", &file(&here)).replace("KEY", key);
    let said = run(&net.gateway, &command);
    assert!(said.contains("proved"), "{command}: {said}");
    let (code, _, err) = verify(&[&file(&here), "--gateway", there["contributor"].as_str().unwrap()]);
    assert!(code == 1 && err.contains("signatures are of"), "{code} {err}");
    let text = std::fs::read_to_string(file(&here)).unwrap();
    std::fs::write(file(&here), &text[..text.len() - 40]).unwrap();
    let (code, _, err) = verify(&[&file(&here)]);
    assert!(code == 1 && err.contains("proves nothing"), "{code} {err}");
}
