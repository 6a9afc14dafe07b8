//! The commands of docs/guide/questions.md, paths.md and dual-band.md, in their order, each as it stands
//! there, on a client with a gateway; their files are files that `check` takes. Needs root; without it
//! only the files are tried.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::common::backhaul::eventually;
use crate::common::listed::commands;
use crate::common::page::blocks;
use crate::common::{BINARY, SOON, States, invite, lab, root, ropewalk, serve, up};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Paths, Ping, Process};

#[test]
fn files_of_the_pages_are_well() {
    let states = States::new("guide-files");
    let files = [blocks("questions.md", "toml"), blocks("paths.md", "toml")].concat();
    assert!(files.len() >= 3, "{files:?}");
    for text in files {
        let file = states.of("home.toml");
        std::fs::write(&file, &text).unwrap();
        let (code, _, words) = ropewalk(&["check", &file]);
        assert_eq!(code, 0, "{text}\n{words}");
        let wrong = text.replace("scheduler = \"", "scheduler = \"not-").replace("flows = ", "flows = not-");
        std::fs::write(&file, wrong).unwrap();
        assert_ne!(ropewalk(&["check", &file]).0, 0, "the null case");
    }
}

/// A client and its gateway.
struct Bond {
    lab: Paths,
    states: States,
}

impl Bond {
    fn json(&self) -> serde_json::Value {
        let (code, said, words) = ropewalk(&["status", "--json", "--state", &self.states.of("client")]);
        assert_eq!(code, 0, "{words}");
        serde_json::from_str(&said).unwrap()
    }

    /// Class and state of a path; empty if it is not there.
    fn path(&self, name: &str) -> String {
        let status = self.json();
        let mut paths = status["peers"][0]["paths"].as_array().unwrap().iter();
        let path = paths.find(|p| p["name"] == name);
        path.map_or(String::new(), |p| {
            format!("{} {}", p["class"].as_str().unwrap(), p["state"].as_str().unwrap())
        })
    }

    fn becomes(&self, path: &str, what: &str) {
        eventually(&format!("{path} is {what}"), || self.path(path) == what);
    }

    /// Runs a command in the namespace of the end that it is for, and gives what it says.
    fn run(&self, command: &str) -> String {
        let out = self.output(command);
        let [said, complaint] = [out.stdout, out.stderr].map(|s| String::from_utf8(s).unwrap());
        assert!(out.status.success(), "{command}\n{said}\n{complaint}");
        said
    }

    fn output(&self, command: &str) -> std::process::Output {
        let words: Vec<&str> = command.strip_prefix("ropewalk ").expect(command).split(' ').collect();
        let at_gateway = matches!(words[0], "invite" | "revoke");
        let (end, at) =
            if at_gateway { ("gateway", &self.lab.gateway) } else { ("client", &self.lab.client) };
        let state = self.states.of(end);
        at.command(BINARY).args(&words).args(["--state", &state]).output().unwrap()
    }

    /// What the page says of a command.
    fn holds(&self, command: &str, said: &str) {
        match command {
            "ropewalk status" => assert!(said.contains("  order ") && said.contains("  wan1 "), "{said}"),
            "ropewalk status --json" => {
                let metered = &self.json()["uplinks"];
                let left = metered.as_array().unwrap().iter().find_map(|u| u["left"].as_u64());
                assert!(left.is_some_and(|l| l > 9_000_000_000), "{metered}");
            }
            "ropewalk path set wan2 --class backup" => self.becomes("wan2", "backup active"),
            "ropewalk path set wan2 --class active" => self.becomes("wan2", "active active"),
            "ropewalk path remove wan2" => self.becomes("wan2", ""),
            "ropewalk path add wan2" => self.becomes("wan2", "active active"),
            "ropewalk doctor" => assert!(said.contains("ok       path wan1"), "{said}"),
            _ if command.starts_with("ropewalk invite ") => assert!(said.starts_with("rw1_"), "{said}"),
            _ if command.starts_with("ropewalk revoke ") => {
                let name = command.rsplit(' ').next().unwrap();
                let again = String::from_utf8(self.output(command).stderr).unwrap();
                assert_eq!(again, format!("{name} is revoked\n"));
                let nobody = self.output("ropewalk revoke nobody");
                assert!(!nobody.status.success(), "nobody was never let in");
            }
            _ => {}
        }
    }
}

#[test]
fn the_commands_of_questions_do_what_it_says() {
    if !root() {
        return;
    }
    let bond = Bond { lab: lab(), states: States::new("questions") };
    let _gateway = serve(&bond.lab, &bond.states, &[]);
    let token = invite(&bond.states, "alice");
    let _client = up(&bond.lab, &bond.states, &token, &[]);
    ["wan1", "wan2"].iter().for_each(|p| bond.becomes(p, "active active"));
    let mut seen = Vec::new();
    for command in commands("questions.md") {
        if let Some(host) = command.strip_prefix("ping -c 5 ") {
            let host = host.parse().unwrap();
            let ping = || Ping::new(host).count(1).run(&bond.lab.client);
            eventually(&command, || ping().is_ok_and(|p| p.received == 1));
        } else if let Some(words) = command.strip_prefix("ip ") {
            bond.lab.client.ip(&[words]).unwrap();
            if command.ends_with(" down") {
                bond.becomes("wan2", "active down");
            }
            if command.ends_with(" up") {
                // What a DHCP client does.
                let route = format!("route add {} via 10.1.2.2 dev wan2 metric 2", Paths::SHARED);
                bond.lab.client.ip(&[route]).unwrap();
                bond.becomes("wan2", "active active");
            }
        } else {
            let said = bond.run(&command);
            bond.holds(&command, &said);
        }
        seen.push(command);
    }
    assert!(seen.len() >= 15 && seen.iter().any(|c| c.contains("--cap")), "{seen:?}");
}

/// The machines of paths.md: a client with two uplinks and a phone, a gateway with two addresses.
fn phone_and_two_addresses() -> Paths {
    let link = || LinkSpec::new(20.0, Duration::from_millis(10));
    let lab = Paths::symmetric([link(), link(), link()]).unwrap();
    let phone = ["link set wan3 down", "link set wan3 name wwan0", "link set wwan0 up"];
    lab.client.ip(&phone).unwrap();
    lab.gateway.ip(&["address add 192.0.2.1/32 dev lo", "address add 198.51.100.1/32 dev lo"]).unwrap();
    let shared = format!("route add {} via 10.1.3.2 dev wwan0 metric 3", Paths::SHARED);
    let routes = [
        "route add 192.0.2.1 via 10.1.1.2 dev wan1",
        "route add 198.51.100.1 via 10.1.2.2 dev wan2",
        &shared,
    ];
    lab.client.ip(&routes).unwrap();
    lab
}

#[test]
fn the_commands_of_paths_do_what_it_says() {
    if !root() {
        return;
    }
    let bond = Bond { lab: phone_and_two_addresses(), states: States::new("guide-paths") };
    let _gateway = serve(&bond.lab, &bond.states, &[]);
    let token = invite(&bond.states, "alice");
    // The token is remembered from then on.
    up(&bond.lab, &bond.states, &token, &[]).stop();
    let (hooks, heard) = (bond.states.of("hooks"), bond.states.of("heard"));
    std::fs::create_dir(&hooks).unwrap();
    let hook = format!("{hooks}/note");
    std::fs::write(&hook, format!("#!/bin/sh\necho $ROPEWALK_EVENT >>{heard}\n")).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let mut client: Option<Process> = None;
    for command in commands("paths.md") {
        if command.starts_with("ropewalk up ") {
            client.iter_mut().for_each(Process::stop);
            let line =
                command.replace("DIR", &bond.states.of("client")).replace("/etc/ropewalk/hooks", &hooks);
            let mut daemon = bond.lab.client.start(BINARY, line.split(' ').skip(1)).unwrap();
            daemon.wait_for_line("connected", SOON).unwrap();
            client = Some(daemon);
            ["wan1", "wan2"].iter().for_each(|p| bond.becomes(p, "active active"));
        } else {
            if command.contains(" set wwan0 ") && bond.path("wwan0").is_empty() {
                bond.run("ropewalk path add wwan0");
                bond.becomes("wwan0", "active active");
            }
            bond.run(&command);
        }
        match command.strip_prefix("ropewalk ").expect(&command) {
            "path add wwan0" | "path set wwan0 --class active" => bond.becomes("wwan0", "active active"),
            "path remove wwan0" => bond.becomes("wwan0", ""),
            "path reset wwan0" => {
                let said = std::fs::read_to_string(bond.states.of("client") + "/paths.json").unwrap();
                assert!(!said.contains("wwan0"), "{said}");
                bond.becomes("wwan0", "active active");
            }
            "path set wwan0 --class backup" => bond.becomes("wwan0", "backup active"),
            set if set.contains("--cap") => bond.becomes("wwan0", "metered active"),
            hooked if hooked.contains("--hooks") => eventually("the hook has run", || {
                std::fs::read_to_string(&heard).is_ok_and(|h| h.lines().any(|l| l == "connected"))
            }),
            "flows" => {
                let gateway = "10.77.0.1".parse().unwrap();
                let ping = || Ping::new(gateway).count(1).run(&bond.lab.client);
                eventually("a ping passes", || ping().is_ok_and(|p| p.received == 1));
                let said = bond.run(&command);
                let is_it = |l: &str| l.contains(" icmp ") && l.contains(" 10.77.0.1 ");
                assert!(said.lines().any(is_it), "{said}");
            }
            only => assert!(only.starts_with("up ") && bond.path("wwan0").is_empty(), "{only}"),
        }
    }
}

#[test]
fn the_command_of_dual_band_takes_both_radios() {
    if !root() {
        return;
    }
    let bond = Bond { lab: lab(), states: States::new("guide-dual-band") };
    for (n, name) in [(1, "wlan0"), (2, "wlan1")] {
        let named = [
            format!("link set wan{n} down"),
            format!("link set wan{n} name {name}"),
            format!("link set {name} up"),
            format!("route add {} via 10.1.{n}.2 dev {name} metric {n}", Paths::SHARED),
        ];
        bond.lab.client.ip(&named).unwrap();
    }
    let _gateway = serve(&bond.lab, &bond.states, &[]);
    let token = invite(&bond.states, "alice");
    up(&bond.lab, &bond.states, &token, &[]).stop();
    let all = commands("dual-band.md");
    // The others are the kernel's own MPTCP.
    let ours: Vec<&String> = all.iter().filter(|c| c.starts_with("ropewalk ")).collect();
    let [command] = ours[..] else { panic!("no rule for {ours:?}: say what they do") };
    let line = command.replace("DIR", &bond.states.of("client"));
    let mut client = bond.lab.client.start(BINARY, line.split(' ').skip(1)).unwrap();
    client.wait_for_line("connected", SOON).unwrap();
    ["wlan0", "wlan1"].iter().for_each(|p| bond.becomes(p, "active active"));
}
