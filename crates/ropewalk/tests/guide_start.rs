//! The commands of docs/guide/start.md, in their order, each as it stands there, on two machines
//! without systemd: namespaces whose /etc and /var/lib are overlays. Needs root; without it the
//! test passes and says so.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{BINARY, SOON, States, listed, root};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};

/// A machine: a network namespace, and a process that holds its view of the files.
struct Machine {
    network: Namespace,
    files: Process,
}

impl Machine {
    fn new(network: Namespace, place: &str) -> Machine {
        let overlay = |dir: &str| {
            let (upper, work) = (format!("{place}{dir}/upper"), format!("{place}{dir}/work"));
            format!(
                "mkdir -p {upper} {work}; mount -t overlay overlay -o lowerdir={dir},upperdir={upper},workdir={work} {dir}"
            )
        };
        let hide = "if [ -d /run/systemd ]; then mount -t tmpfs tmpfs /run/systemd; fi";
        let line = format!(
            "set -e; {}; {}; {hide}; echo ready; exec sleep 600",
            overlay("/etc"),
            overlay("/var/lib")
        );
        let mut files = network.start("unshare", ["--mount", "sh", "-c", &line]).unwrap();
        files.wait_for_line("ready", SOON).unwrap();
        Machine { network, files }
    }

    fn line(&self, command: &str) -> [String; 4] {
        let place = format!("--mount=/proc/{}/ns/mnt", self.files.id());
        let program = Path::new(BINARY).parent().unwrap().display().to_string();
        [place, "sh".into(), "-c".into(), format!("PATH={program}:$PATH; exec {command}")]
    }

    /// A command that ends, with answers on its standard input.
    fn run(&self, command: &str, answers: &str) -> Output {
        let mut all = self.network.command("nsenter");
        all.args(self.line(command)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = all.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// A daemon.
    fn start(&self, command: &str, until: &str) -> Process {
        let mut daemon = self.network.start("nsenter", self.line(command)).unwrap();
        daemon.wait_for_line(until, SOON).unwrap();
        daemon
    }
}

/// A client and a gateway with two cables between them.
fn machines(topology: &Topology, states: &States) -> [Machine; 2] {
    let [client, gateway] = ["client", "gateway"].map(|n| topology.namespace(n).unwrap());
    for n in [1, 2] {
        let end = |host| End::new(&format!("wan{n}"), [format!("10.1.{n}.{host}/24")]);
        topology.veth((&client, end(1)), (&gateway, end(2))).unwrap();
    }
    client
        .ip(&[
            "route add default via 10.1.1.2 dev wan1",
            "route add default via 10.1.2.2 dev wan2 metric 200",
        ])
        .unwrap();
    [Machine::new(client, &states.of("client")), Machine::new(gateway, &states.of("gateway"))]
}

/// The commands of the page's shell blocks, by section.
fn commands() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/start.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (mut section, mut inside, mut all) = (String::new(), false, Vec::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.to_owned();
        } else if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            all.push((section.clone(), line.to_owned()));
        }
    }
    all
}

#[test]
fn the_page_s_commands_do_what_it_says() {
    if !root() {
        return;
    }
    let topology = Topology::new().unwrap();
    let states = States::new("guide-start");
    let [client, gateway] = machines(&topology, &states);
    let (mut token, mut daemons) = (String::new(), Vec::new());
    let mut seen = Vec::new();
    for (section, command) in commands() {
        let at = if section == "Gateway" { &gateway } else { &client };
        if command.starts_with("ropewalk serve") {
            daemons.push(gateway.start(&command, "gateway ready"));
        } else if command.starts_with("ropewalk up") {
            daemons.push(client.start(&command, "connected"));
        } else if let Some(host) = command.strip_prefix("ping -c 1 ") {
            // The lab's own, where iputils are missing.
            let ping = Ping::new(host.parse().unwrap()).count(1);
            assert_eq!(ping.run(&client.network).unwrap().received, 1, "{command}");
        } else {
            // As one who presses Enter, and pastes the token when asked.
            let answers =
                if command == "ropewalk setup client" { format!("{token}\n\n\n\n") } else { "\n".repeat(6) };
            if command == "ropewalk setup undo" || command == "ropewalk restore" {
                daemons.drain(..).rev().for_each(|mut d: Process| d.stop());
            }
            let out = at.run(&command, &answers);
            let [said, words] = [out.stdout, out.stderr].map(|s| String::from_utf8(s).unwrap());
            // What was set up is taken back by then, so there is nothing to restore.
            let expected = if command == "ropewalk restore" { Some(7) } else { Some(0) };
            assert_eq!(out.status.code(), expected, "{command}\n{said}\n{words}");
            match command.as_str() {
                "ropewalk setup gateway" => token = said.trim().to_owned(),
                "ropewalk invite phone --qr" => {
                    assert!(said.starts_with("rw1_") && said.contains('█'), "{said}")
                }
                "ropewalk setup client" => assert!(words.contains("wan2             used"), "{words}"),
                "ropewalk status" => {
                    assert!(said.contains("connected, 10.77.0.2") && said.contains("wan2"), "{said}")
                }
                "ropewalk doctor" => assert!(said.contains("ok       path wan1"), "{said}"),
                _ => {}
            }
        }
        seen.push(command);
    }
    assert!(seen.len() >= 10 && seen.iter().any(|c| c.starts_with("ping ")), "{seen:?}");
}

/// What a command prints, which has to succeed.
fn well(command: &str, out: Output) -> String {
    let [said, words] = [out.stdout, out.stderr].map(|s| String::from_utf8(s).unwrap());
    assert!(out.status.success(), "{command}\n{said}\n{words}");
    said
}

/// What stands beside the steps of the page, for scripts and for those who do without `setup`.
#[test]
fn its_other_commands_do_what_it_says() {
    if !root() {
        return;
    }
    let topology = Topology::new().unwrap();
    let states = States::new("guide-start-others");
    let [client, gateway] = machines(&topology, &states);
    let token = states.of("token");
    let home = "--state /var/lib/ropewalk/home --config /etc/ropewalk/home.toml";
    let steps = commands();
    let mut daemons: Vec<Process> = Vec::new();
    for command in listed::commands("start.md").iter().filter(|c| steps.iter().all(|(_, step)| step != *c)) {
        let line = command
            .replace("gw.example.org", "10.1.1.2")
            .replace("HOST:PORT", "10.1.1.2:4500")
            .replace(">token", &format!(">{token}"))
            .replace("<token", &format!("<{token}"))
            .replace("-file token", &format!("-file {token}"));
        let of = |end: &str| line.replace("DIR", &states.of(&format!("{end}-state")));
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        match words[..] {
            ["setup", "gateway", ..] => {
                well(command, gateway.run(&line, ""));
                daemons.push(gateway.start(&format!("ropewalk serve {home}"), "gateway ready"));
            }
            ["setup", "client", "--yes", ..] => {
                well(command, client.run(&line, ""));
                daemons.push(client.start(&format!("ropewalk up {home}"), "connected"));
                let rules = well("ip rule", client.run("ip rule", ""));
                assert!(rules.contains("2930"), "everything goes through the bond: {rules}");
                daemons.drain(..).rev().for_each(|mut d| d.stop());
                well(command, client.run("ropewalk setup undo", ""));
            }
            ["setup", "client", ..] => {
                let answers = std::fs::read_to_string(&token).unwrap() + "\n\n\n\n";
                well(command, client.run(&line, &answers));
                let file = well("cat", client.run("cat /etc/ropewalk/home.toml", ""));
                assert!(file.contains("kill-switch = true"), "{file}");
            }
            ["serve", ..] => daemons.push(gateway.start(&of("gateway"), "gateway ready")),
            ["invite", ..] => std::fs::write(&token, well(command, gateway.run(&of("gateway"), ""))).unwrap(),
            ["up", ..] => daemons.push(client.start(&of("client"), "connected")),
            _ => panic!("no rule for {command:?}: say what it does"),
        }
    }
    assert_eq!(daemons.len(), 2, "the last gateway and its client");
}

#[test]
fn the_readme_shows_no_other_commands() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let known = commands();
    let shown: Vec<&str> = text
        .lines()
        .filter_map(|l| l.strip_prefix("gateway$ ").or_else(|| l.strip_prefix("client$  ")))
        .map(|l| l.split(" #").next().unwrap_or(l).trim())
        .collect();
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(shown.iter().all(|s| known.iter().any(|(_, c)| c == s)), "{shown:?}");
}
