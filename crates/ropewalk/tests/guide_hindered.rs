//! The commands of docs/guide/hindered.md, in their order, each as it stands there, at a gateway and a
//! client whose second network drops UDP; its file is one that `check` takes. nginx's lines are tried by
//! `hindered`. Needs root; without it only the file is tried.

use crate::common::backhaul::eventually;
use crate::common::certificate::certificate;
use crate::common::listed::commands;
use crate::common::page::{blocks, run, start};
use crate::common::{SOON, States, drop_at, lab, root, ropewalk, up};
use ropewalk_lab::{Paths, Process};
use rustix::process::Signal;

const PAGE: &str = "hindered.md";
/// Where the page has the certificate of the gateway's owner.
const LIVE: &str = "/etc/letsencrypt/live/gw.example.org";

#[test]
fn the_file_of_the_page_is_well() {
    let states = States::new("guide-hindered-file");
    let (file, all) = (states.of("home.toml"), blocks(PAGE, "toml"));
    assert!(!all.is_empty());
    for text in all {
        std::fs::write(&file, &text).unwrap();
        let (code, _, words) = ropewalk(&["check", &file]);
        assert_eq!(code, 0, "{text}\n{words}");
        std::fs::write(&file, text.replace(":443", ":https")).unwrap();
        assert_ne!(ropewalk(&["check", &file]).0, 0, "the null case");
    }
}

/// A gateway, and a client of it once somebody is invited.
struct Bond {
    client: Option<Process>,
    gateway: Option<Process>,
    lab: Paths,
    states: States,
}

impl Bond {
    /// The client's status as the page shows it: the second path goes by TLS.
    fn goes_by_tls(&self) {
        let shown = blocks(PAGE, "text");
        let command = shown[0].lines().next().unwrap().strip_prefix("$ ").unwrap();
        let command = command.replace("DIR", &self.states.of("client"));
        eventually("one path by UDP, one by TLS", || {
            let said = run(&self.lab.client, &command);
            let is_active = |path: &str| {
                let rest = said.lines().find_map(|l| l.trim_start().strip_prefix(path));
                rest.is_some_and(|rest| rest.split_whitespace().take(2).eq(["active", "active"]))
            };
            said.contains("gateway: connected, 10.77.0.2") && is_active("wan1 ") && is_active("wan2 by TLS ")
        });
    }

    /// Starts a gateway by a command of the page, in place of the one before.
    fn serve(&mut self, command: &str) {
        self.gateway.iter_mut().for_each(Process::stop);
        let (cert, key) = certificate(&self.states);
        let state = self.states.of("gateway");
        // What the page leaves out is what stands above it.
        let line = command
            .replace('…', "--state DIR --tls-listen 0.0.0.0:443")
            .replace("DIR", &state)
            .replace(&format!("{LIVE}/fullchain.pem"), &cert)
            .replace(&format!("{LIVE}/privkey.pem"), &key);
        let mut gateway = start(&self.lab.gateway, &line, "gateway ready");
        if line.contains(&cert) {
            // It is renewed.
            certificate(&self.states);
            gateway.signal(Signal::HUP).unwrap();
            gateway.wait_for_line("the certificate was read again", SOON).unwrap();
        }
        self.gateway = Some(gateway);
    }
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    if !root() {
        return;
    }
    let (lab, states) = (lab(), States::new("guide-hindered"));
    let mut bond = Bond { client: None, gateway: None, lab, states };
    drop_at(&bond.lab.gateway, &["iifname wan2 udp dport 4500"]);
    let mut seen = Vec::new();
    for command in commands(PAGE) {
        let of = |end: &str| command.replace("DIR", &bond.states.of(end));
        let what = command.split(' ').nth(1).unwrap_or_default().to_owned();
        match what.as_str() {
            "serve" => bond.serve(&command),
            "invite" => {
                let token = run(&bond.lab.gateway, &of("gateway"));
                let paths = ["--path", "wan1", "--path", "wan2"];
                bond.client = Some(up(&bond.lab, &bond.states, token.trim(), &paths));
            }
            "doctor" => {
                let said = run(&bond.lab.client, &of("client"));
                let is_said = |words: &[&str]| said.lines().any(|l| words.iter().all(|w| l.contains(*w)));
                assert!(is_said(&["path wan2", "UDP blocked, TLS works"]), "{said}");
                assert!(is_said(&["ok ", "path wan1"]), "{said}");
            }
            // It is looked at after each.
            "status" => {}
            _ => panic!("no rule for {command:?}: say what it does"),
        }
        if bond.client.is_some() {
            bond.goes_by_tls();
        }
        seen.push(what);
    }
    assert_eq!(seen, ["serve", "invite", "serve", "status", "doctor"]);
}
