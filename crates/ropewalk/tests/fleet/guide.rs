//! The commands of docs/guide/fleet.md, in their order, each as it stands there, beside an etcd on the
//! same machine.

use super::*;
use crate::common::listed::commands;
use crate::common::page::{run, shell};

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    let _alone = alone();
    if !can() {
        return;
    }
    let world = World::new("fleet-page");
    let (hub, state) = (&world.hub, world.states.of("g1"));
    let _etcd = hub.start("etcd", ["--data-dir", &world.states.of("etcd")]).unwrap();
    let (mut gateways, mut revocation): (Vec<Process>, _) = (Vec::new(), None);
    for command in commands("fleet.md").iter().filter(|c| c.starts_with("ropewalk ")) {
        let line = command.replace("/var/lib/ropewalk/g1", &state);
        let says = |what: &str| {
            let mut said = String::new();
            eventually(command, || {
                said = run(hub, &line);
                said.contains(what)
            });
        };
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        match words[..] {
            ["serve", ..] => {
                let mut gateway = hub.start("sh", shell(&line)).unwrap();
                gateway.wait_for_line("gateway ready", LONG).unwrap();
                gateways.push(gateway);
            }
            ["invite", "alice", ..] => assert!(run(hub, &line).starts_with("rw1_")),
            ["clients", ..] => says("alice  has not come yet"),
            ["status", ..] => says("fleet: g1 in etcd://127.0.0.1:2379/fleet\n"),
            // The page has more to do with alice.
            ["revoke", ..] => revocation = Some(line),
            ["drain" | "limit", ..] | ["quota", "set", ..] | ["forward", "add", ..] => drop(run(hub, &line)),
            ["top", ..] => says("g1 "),
            ["quota", "list", ..] => says("alice"),
            ["forward", "list", ..] => says("8080"),
            _ => panic!("no rule for {command:?}: say what it does"),
        }
    }
    run(hub, &revocation.unwrap());
    let status = format!("ropewalk status --state {state}");
    assert!(run(hub, &status).contains(", draining"), "it was told to");
}
