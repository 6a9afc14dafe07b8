//! The commands of docs/guide/bunch.md, in their order, each as it stands there.

use super::*;
use crate::common::listed::commands;
use crate::common::note;
use crate::common::page::{run, start};

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    if !root() {
        return;
    }
    let net = net("bunch-page");
    let (hooks, heard) = note(&net.states);
    let [token, harvest] = ["token", "harvest"].map(|name| net.states.of(name));
    let home = &net.aps[0];
    let mut daemons: Vec<Process> = Vec::new();
    for command in commands("bunch.md").iter().filter(|c| c.starts_with("ropewalk ")) {
        let words: Vec<&str> = command.split(' ').skip(2).collect();
        let end = if matches!(words[0], "gateway" | "invite") { "page-gateway" } else { "page-home" };
        let line = command
            .replace("/var/lib/ropewalk/bunch", &net.states.of(end))
            .replace("/var/lib/ropewalk/harvest", &harvest)
            .replace("/etc/ropewalk/hooks", &hooks)
            .replace("anna.token", &token)
            .replace("gw.example.org", "10.10.0.1");
        match words[..] {
            ["gateway", ..] => daemons.push(start(&net.gateway, &line, "gateway ready")),
            ["invite", ..] => std::fs::write(&token, run(&net.gateway, &line)).unwrap(),
            ["ap", ..] => {
                // In place of the one before.
                daemons.drain(1..).for_each(|mut ap| ap.stop());
                daemons.push(start(home, &line, "access point ready"));
            }
            ["status", ..] => assert!(run(home, &line).contains(" helped; "), "{line}"),
            // `accounts` does it with the records of an upload.
            ["accounts", "verify", ..] => {}
            // Nothing was carried.
            ["accounts", ..] => drop(run(home, &line)),
            ["harvest", "record", ..] => {
                let mut recorder = start(home, &line, "recording");
                recorder.signal(Signal::TERM).unwrap();
                assert!(recorder.wait(SOON).unwrap().success());
            }
            ["harvest", "report", ..] => {
                let said = run(home, &line);
                assert!(said.contains("wan0") && said.contains("of an uplink of 4 Mbit/s"), "{said}");
            }
            _ => panic!("no rule for {command:?}: say what it does"),
        }
    }
    assert_eq!(daemons.len(), 2);
    let is_heard = || std::fs::read_to_string(&heard).is_ok_and(|t| t.contains("ROPEWALK_EVENT=connected"));
    eventually("a program hears that it is connected", is_heard);
    daemons.iter_mut().rev().for_each(Process::stop);
}
