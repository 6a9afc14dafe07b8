//! The commands of docs/guide/gateway.md, in their order, each as it stands there, at a gateway
//! with two invited clients. Needs root.

use crate::common::listed::{commands, text};
use crate::common::page::{run, start};
use crate::common::{BINARY, SOON, States, eventually, invite, lab, note, root, serve, up};
use ropewalk_lab::Paths;

const PAGE: &str = "gateway.md";

/// Interfaces and ways out that the page names.
fn machine() -> Paths {
    let lab = lab();
    lab.gateway
        .ip(&[
            "link add eth0 type veth peer name eth0-far",
            "link set eth0-far up",
            "link set eth0 up",
            "address add 198.51.100.2/24 dev wan2",
            "route add default via 198.51.100.1 dev wan2 metric 500",
        ])
        .unwrap();
    lab
}

#[test]
fn each_way_to_serve_starts_a_gateway() {
    if !root() {
        return;
    }
    let (lab, states) = (machine(), States::new("guide-serve"));
    let (hooks, _) = note(&states);
    let all = commands(PAGE);
    let lines: Vec<_> = all.iter().filter_map(|c| c.strip_prefix("ropewalk serve ")).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    for (number, line) in lines.into_iter().enumerate() {
        let state = states.of(&format!("gateway-{number}"));
        let line = line.replace("DIR", &state).replace("/etc/ropewalk/hooks", &hooks);
        let mut gateway = lab.gateway.start(BINARY, ["serve"].into_iter().chain(line.split(' '))).unwrap();
        gateway.wait_for_line("gateway ready", SOON).unwrap_or_else(|e| panic!("{line}: {e}"));
        gateway.stop();
    }
}

/// A gateway whose device alice is connected; bob is only invited.
struct Gateway {
    lab: Paths,
    states: States,
}

impl Gateway {
    /// What a command prints, and what it says beside that on standard error.
    fn run(&self, command: &str) -> [String; 2] {
        let words = command.strip_prefix("ropewalk ").unwrap_or_else(|| panic!("no rule for {command:?}"));
        let state = self.states.of("gateway");
        let words = words.split(' ').chain(["--state", &state]);
        let out = self.lab.gateway.command(BINARY).args(words).output().unwrap();
        let [said, beside] = [out.stdout, out.stderr].map(|s| String::from_utf8(s).unwrap());
        assert!(out.status.success(), "{command}\n{said}\n{beside}");
        [said, beside]
    }

    /// What a list has to say, or must not, after this command of the page.
    fn holds(&self, command: &str, said: &str) {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let is_listed = |what: &str, how: &[&str]| {
            let [list, _] = self.run(&format!("ropewalk {what} list"));
            list.lines().any(|line| how.iter().all(|word| line.contains(word)))
        };
        match words[..] {
            ["forward", "add", ..] => assert!(is_listed("forward", &["tcp", "8080", "alice"])),
            ["forward", "remove", ..] => assert!(!is_listed("forward", &["8080"])),
            ["group", "add", name, ..] => assert!(is_listed("group", &[name, "alice", "bob"])),
            ["group", "remove", name, who] => assert!(!is_listed("group", &[name, who])),
            ["limit", "set", who, "--share", share] => {
                assert!(is_listed("limit", &[who, &format!("share {share}")]));
            }
            ["limit", "set" | "remove", ..] => {
                let classes = self.lab.gateway.shell("tc class show dev rw0").unwrap();
                assert_eq!(classes.contains("20Mbit"), words[1] == "set", "{classes}");
            }
            ["exit", "set", who, interface] => assert!(is_listed("exit", &[who, interface])),
            ["exit", "remove", who] => assert!(!is_listed("exit", &[who])),
            ["quota", "set", who, ..] => assert!(is_listed("quota", &[who, " of "])),
            ["quota", "remove", who] => assert!(!is_listed("quota", &[who])),
            ["audit"] => {
                let came = |l: &str| l.contains("  came  alice  from ");
                assert!(said.contains("  invited  alice  by user 0") && said.lines().any(came), "{said}");
            }
            ["audit", "alice", "--json"] => {
                let entry = |l: &str| serde_json::from_str::<serde_json::Value>(l).unwrap();
                let all: Vec<_> = said.lines().map(entry).collect();
                assert!(!all.is_empty() && all.iter().all(|e| e["client"] == "alice"), "{said}");
            }
            [_, "list"] => assert!(!said.trim().is_empty(), "{command} says nothing"),
            _ => panic!("no rule for {command:?}: say what it does"),
        }
    }
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    if !root() {
        return;
    }
    let gateway = Gateway { lab: machine(), states: States::new("guide-gateway") };
    let global6 = ["--address", "2001:db8:100::1/56", "--global6", "--delegate"];
    let more = [&["--masquerade", "--down-rate", "450Mbit"], &global6[..]].concat();
    let _daemon = serve(&gateway.lab, &gateway.states, &more);
    let token = invite(&gateway.states, "alice");
    invite(&gateway.states, "bob");
    let mut client = up(&gateway.lab, &gateway.states, &token, &["--route", "::/0"]);
    let page = text(PAGE);
    let mut answers = 0;
    for command in commands(PAGE) {
        if command.starts_with("ropewalk serve ") {
            continue;
        }
        if command.starts_with("ropewalk up ") {
            client.stop();
            let at = &gateway.lab.client;
            let up = [
                "link add br-lan type veth peer name br-lan-far",
                "link set br-lan-far up",
                "link set br-lan up",
            ];
            at.ip(&up).unwrap();
            let state = gateway.states.of("client");
            client = start(at, &command.replace("DIR", &state), "connected");
            let status = || run(at, &format!("ropewalk status --state {state}"));
            eventually("hosts have a network", || status().contains("network 2001:db8:100:1::/64 at br-lan"));
            continue;
        }
        let [said, beside] = gateway.run(&command);
        let answer = beside.trim();
        answers += usize::from(!answer.is_empty() && page.contains(&format!("`{answer}`")));
        gateway.holds(&command, &said);
    }
    // Those that the page quotes, word by word.
    assert!(answers >= 3, "the page has {answers} of the answers");
}
