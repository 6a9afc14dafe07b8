//! `ropewalk setup`, as scripts use it and as a person answers it. What it prints is run as it is
//! printed. Needs root; without it the tests pass and say so.
//!
//! ```text
//!   client                          gateway
//!   wan1 10.1.1.1 ───────── 10.1.1.2 wan1
//!   wan2 10.1.2.1 ───────── 10.1.2.2 wan2      192.0.2.1 lo: the world
//! ```

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{BINARY, SOON, States, eventually, root};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};

struct Net {
    client: Namespace,
    gateway: Namespace,
    states: States,
    _topology: Topology,
}

fn net(name: &str) -> Net {
    let topology = Topology::new().unwrap();
    let (client, gateway) = (topology.namespace("client").unwrap(), topology.namespace("gateway").unwrap());
    for n in [1, 2] {
        let end = |host| End::new(&format!("wan{n}"), [format!("10.1.{n}.{host}/24")]);
        topology.veth((&client, end(1)), (&gateway, end(2))).unwrap();
    }
    gateway.ip(&["address add 192.0.2.1/32 dev lo"]).unwrap();
    client
        .ip(&[
            "route add default via 10.1.1.2 dev wan1",
            "route add default via 10.1.2.2 dev wan2 metric 200",
        ])
        .unwrap();
    Net { client, gateway, states: States::new(&format!("setup-{name}")), _topology: topology }
}

/// Runs `ropewalk` with a line of arguments and something on standard input.
fn run(at: &Namespace, line: &str, input: &str) -> Output {
    run_with(at, line, input, None)
}

/// The same with a directory of programs that goes before the machine's.
fn run_with(at: &Namespace, line: &str, input: &str, programs: Option<&Path>) -> Output {
    let mut command = at.command(BINARY);
    command.args(line.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(programs) = programs {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", programs.display()));
    }
    let mut child = command.spawn().unwrap();
    // Who needs no answer may have ended before.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What it says on standard error, having succeeded.
fn said(out: &Output) -> String {
    assert!(out.status.success(), "{}\n{}", text(&out.stdout), text(&out.stderr));
    text(&out.stderr)
}

/// Starts the command that was printed on a line of its own.
fn start(at: &Namespace, printed: &str, what: &str) -> Process {
    let line =
        printed.lines().map(str::trim).find(|l| l.starts_with(what)).unwrap_or_else(|| panic!("{printed}"));
    let arguments = line.strip_prefix("ropewalk ").unwrap();
    at.start(BINARY, arguments.split_whitespace()).unwrap()
}

/// All files and directories below.
fn files(root: &str) -> Vec<String> {
    let out = Command::new("find").args([root, "-mindepth", "1"]).output().unwrap();
    text(&out.stdout).lines().map(str::to_owned).collect()
}

fn reaches(from: &Namespace, to: &str) -> bool {
    Ping::new(to.parse().unwrap()).count(3).run(from).is_ok_and(|r| r.received > 0)
}

#[test]
fn both_ends_by_setup_and_back() {
    if !root() {
        return;
    }
    let net = net("both");
    let [gateway_root, client_root] = ["gateway", "client"].map(|e| net.states.of(e));
    let made =
        run(&net.gateway, &format!("setup gateway --yes --root {gateway_root} --endpoint 10.1.1.2"), "");
    let words = said(&made);
    let token = text(&made.stdout);
    assert!(token.starts_with("rw1_") && token.lines().count() == 1, "{token}");
    assert!(words.contains('█') && !words.contains("rw1_"), "a code to scan:\n{words}");
    let mut serving = start(&net.gateway, &words, "ropewalk serve");
    serving.wait_for_line("gateway ready", SOON).unwrap();

    let line = format!("setup client --yes --root {client_root} --token-file - --full-tunnel yes");
    let words = said(&run(&net.client, &line, &token));
    for link in ["wan1", "wan2"] {
        let shown = words.lines().find(|l| l.contains(link)).unwrap();
        assert!(shown.contains(" used ") && !shown.contains("not used"), "{words}");
    }
    assert!(!words.contains("rw1_"), "the token is a secret:\n{words}");
    let mut up = start(&net.client, &words, "ropewalk up");
    up.wait_for_line("connected", SOON).unwrap();
    eventually("the world through the bond", || reaches(&net.client, "192.0.2.1"));
    let route = net.client.shell("ip route get 192.0.2.1").unwrap();
    assert!(route.contains("rw0"), "{route}");

    // Another setup asks the gateway for some names only.
    let other = net.states.of("other");
    let line = format!("setup client --yes --root {other} --token-file - --dns-domain corp.example");
    let refused = run(&net.client, &line, &token);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    said(&run(&net.client, &format!("{line} --dns 10.77.0.1"), &token));
    let file = std::fs::read_to_string(Path::new(&other).join("etc/ropewalk/home.toml")).unwrap();
    assert!(file.contains("dns = [\"10.77.0.1\"]\ndns-domains = [\"corp.example\"]\n"), "{file}");

    // Nothing is taken from under a running daemon.
    let undo =
        |at: &Namespace, root: &str, more: &str| run(at, &format!("setup undo --root {root} {more}"), "");
    let early = undo(&net.client, &client_root, "");
    assert!(!early.status.success() && text(&early.stderr).contains("stop it first"), "{early:?}");
    up.kill();
    up.wait(SOON).unwrap();
    // Nor is the list thrown away of what a killed one left on the machine.
    let early = undo(&net.client, &client_root, "--all");
    assert!(!early.status.success() && text(&early.stderr).contains("ropewalk restore"), "{early:?}");
    said(&run(&net.client, &format!("restore --state {client_root}/var/lib/ropewalk/home"), ""));
    said(&undo(&net.client, &client_root, ""));
    assert_eq!(files(&client_root), Vec::<String>::new());
    serving.stop();
    // Somebody has come in: the key is theirs too.
    let kept = undo(&net.gateway, &gateway_root, "");
    assert!(!kept.status.success() && text(&kept.stderr).contains("--all removes it"), "{kept:?}");
    assert!(Path::new(&gateway_root).join("var/lib/ropewalk/home/key").exists());
    said(&undo(&net.gateway, &gateway_root, "--all"));
    assert_eq!(files(&gateway_root), Vec::<String>::new());
    let again = undo(&net.gateway, &gateway_root, "");
    assert!(text(&again.stderr).contains("nothing to undo"), "{again:?}");
}

#[test]
fn a_person_is_asked_and_may_err() {
    if !root() {
        return;
    }
    let net = net("asked");
    let place = net.states.of("gateway");
    let line = format!("setup gateway --root {place} --name office --device phone");
    // A port that is none, then one; the outside address; a network that is here; then good ones.
    let answers = "seventy\n4555\ngw.example.org\ny\n10.1.2.9/16\n10.44.0.1/24\nperhaps\nn\n";
    let made = run(&net.gateway, &line, answers);
    let words = said(&made);
    assert!(words.contains("is a private address"), "{words}");
    assert!(words.contains("  seventy: "), "{words}");
    assert!(words.contains("collides with 10.1.") && words.contains("answer y or n"), "{words}");
    let file = std::fs::read_to_string(Path::new(&place).join("etc/ropewalk/office.toml")).unwrap();
    for line in [
        "0.0.0.0:4555",
        "0.0.0.0:443",
        "[\"10.44.0.1/24\"]",
        "[\"gw.example.org:4555\"]",
        "masquerade = false",
    ] {
        assert!(file.contains(line), "{file}");
    }
    let second = run(&net.gateway, &line, answers);
    assert_eq!(second.status.code(), Some(4));
    assert!(text(&second.stderr).contains("setup undo office"), "{second:?}");
    said(&run(&net.gateway, &format!("setup undo office --root {place}"), ""));
    assert_eq!(files(&place), Vec::<String>::new());

    // Nobody is there.
    let silent = run(&net.gateway, &line, "");
    assert!(silent.status.code() == Some(2) && text(&silent.stderr).contains("--yes"), "{silent:?}");
    assert_eq!(files(&place), Vec::<String>::new(), "nothing was begun");
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_written() {
    if !root() {
        return;
    }
    let net = net("refused");
    let place = net.states.of("root");
    let holder = net.gateway.run(|| std::net::UdpSocket::bind("0.0.0.0:4500").unwrap()).unwrap();
    net.gateway
        .ip(&[
            "route add 10.78.0.0/16 via 10.1.1.1",
            "route add fd78::/48 dev wan1",
            // Another VPN's, to which a rule leads before the main table.
            "route add 10.77.0.0/16 dev wan2 table 52",
            "route add fd79::/48 dev wan2 table 52",
        ])
        .unwrap();
    let refused = |line: &str, input: &str, code: i32, words: &str| {
        let out = run(&net.gateway, &format!("setup {line} --yes --root {place}"), input);
        assert_eq!(out.status.code(), Some(code), "{line}: {out:?}");
        assert!(text(&out.stderr).contains(words), "{line}: {out:?}");
        assert_eq!(files(&place), Vec::<String>::new(), "{line}");
    };
    refused("gateway --port 4500", "", 4, "4500 is taken");
    refused("gateway --address 10.1.1.7/24", "", 2, "collides with 10.1.1.");
    refused("gateway --address 10.78.1.1/24", "", 2, "collides with 10.78.0.0/16");
    refused("gateway --address fd78::1/64", "", 2, "collides with fd78::/48");
    refused("gateway --address 10.77.3.1/24", "", 2, "collides with 10.77.0.0/16");
    refused("gateway --address fd79::1/64", "", 2, "collides with fd79::/48");
    refused("gateway --endpoint not/a/name", "", 2, "--endpoint");
    refused("gateway --service yes", "", 2, "systemd does not run");
    refused("client", "", 2, "--token-file");
    refused("client --token-file -", "hello", 5, "not a Ropewalk token");
    // The next free port and network are taken, and the port is said.
    let words =
        said(&run(&net.gateway, &format!("setup gateway --yes --root {place} --endpoint gw.example"), ""));
    assert!(words.contains("4500 is taken"), "{words}");
    let file = std::fs::read_to_string(Path::new(&place).join("etc/ropewalk/home.toml")).unwrap();
    for line in ["0.0.0.0:4501", "gw.example:4501", "[\"172.27.0.1/24\"]"] {
        assert!(file.contains(line), "{file}");
    }
    drop(holder);
}

#[test]
fn a_file_of_wg_quick_becomes_routes() {
    if !root() {
        return;
    }
    let net = net("wg");
    let [gateway_root, client_root, wg] = ["gateway", "client", "wg0.conf"].map(|e| net.states.of(e));
    let made =
        run(&net.gateway, &format!("setup gateway --yes --root {gateway_root} --endpoint 10.1.1.2"), "");
    let secret = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
    let file = format!(
        "[Interface]\nPrivateKey = {secret}\nAddress = 10.9.0.2/32\nMTU = 1380\nPostUp = true\n[Peer]\nPublicKey = {secret}\nAllowedIPs = 192.0.2.0/24\nEndpoint = x.example:1\n"
    );
    std::fs::write(&wg, file).unwrap();
    let line = format!("setup client --yes --root {client_root} --token-file - --from-wg {wg}");
    let words = said(&run(&net.client, &line, &text(&made.stdout)));
    for line in [
        "AllowedIPs: taken",
        "PrivateKey: left out",
        "PostUp: left out",
        "Endpoint: left out",
        "MTU 1380: taken",
    ] {
        assert!(words.contains(line), "{line}:\n{words}");
    }
    assert!(!words.contains(secret), "{words}");
    let config = std::fs::read_to_string(Path::new(&client_root).join("etc/ropewalk/home.toml")).unwrap();
    assert!(config.contains("route = [\"192.0.2.0/24\"]") && config.contains("tun-mtu = 1380"), "{config}");
    let mut serving = start(&net.gateway, &said(&made), "ropewalk serve");
    serving.wait_for_line("gateway ready", SOON).unwrap();
    let mut up = start(&net.client, &words, "ropewalk up");
    up.wait_for_line("connected", SOON).unwrap();
    eventually("the network of AllowedIPs", || reaches(&net.client, "192.0.2.1"));
    up.stop();
    serving.stop();
}

/// Programs that stand for the system's: they note what they are told, and do what their body says.
fn fake(root: &Path, programs: &[(&str, &str)]) -> PathBuf {
    let (bin, log) = (root.join("programs"), root.join("log"));
    std::fs::create_dir_all(&bin).unwrap();
    for (name, body) in programs {
        let path = bin.join(name);
        let text = format!("#!/bin/sh\necho \"{name} $*\" >>{}\n{body}\n", log.display());
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    bin
}

/// systemd's and the users': `systemctl` starts and stops the daemon.
fn fake_systemd(root: &Path, daemon: &str) -> PathBuf {
    std::fs::create_dir_all(root.join("run/systemd/system")).unwrap();
    let pid = root.join("pid");
    let pid = pid.display();
    let systemctl = format!(
        "case \"$*\" in\n'start --no-block '*) {daemon} >/dev/null 2>&1 & echo $! >{pid};;\n'disable --now '*) kill $(cat {pid}); while kill -0 $(cat {pid}) 2>/dev/null; do sleep 0.05; done;;\nesac"
    );
    fake(
        root,
        &[("systemctl", &systemctl), ("useradd", ""), ("userdel", ""), ("chgrp", ""), ("id", "exit 1")],
    )
}

#[test]
fn a_firewall_is_spoken_of_and_told_only_when_asked() {
    if !root() {
        return;
    }
    let net = net("firewall");
    let place = net.states.of("gateway");
    std::fs::create_dir_all(&place).unwrap();
    // As ufw is, whose words depend on the language.
    let ufw = "[ \"$1\" != status ] || if [ \"$LC_ALL$LANGUAGE\" = C ]; then echo 'Status: active'; else echo 'Status: Aktiv'; fi";
    let programs = fake(Path::new(&place), &[("ufw", ufw)]);
    let line = format!("setup gateway --yes --root {place} --endpoint 10.1.1.2");
    let undo = format!("setup undo --root {place}");
    let log = || std::fs::read_to_string(Path::new(&place).join("log")).unwrap();
    let words = said(&run_with(&net.gateway, &line, "", Some(&programs)));
    assert!(words.contains("Open the port:\n  ufw allow 4500/udp"), "{words}");
    said(&run_with(&net.gateway, &undo, "", Some(&programs)));
    assert!(!log().contains("allow"), "{}", log());
    said(&run_with(&net.gateway, &format!("{line} --open-firewall yes"), "", Some(&programs)));
    assert!(log().contains("ufw allow 4500/udp"), "{}", log());
    said(&run_with(&net.gateway, &undo, "", Some(&programs)));
    assert!(log().contains("ufw delete allow 4500/udp"), "{}", log());
    // Rules of somebody's own are not touched.
    let block =
        "nft add table inet f; nft 'add chain inet f in { type filter hook input priority 0; policy drop; }'";
    net.gateway.shell(block).unwrap();
    let before = net.gateway.shell("nft list ruleset").unwrap();
    let quiet = fake(Path::new(&place), &[("ufw", "exit 1")]);
    let words = said(&run_with(&net.gateway, &format!("{line} --open-firewall yes"), "", Some(&quiet)));
    assert!(words.contains("nft add rule inet"), "{words}");
    assert_eq!(net.gateway.shell("nft list ruleset").unwrap(), before);
}

#[test]
fn a_port_that_the_administrator_opened_stays_open() {
    if !root() {
        return;
    }
    let net = net("opened");
    let place = net.states.of("gateway");
    let added =
        "case \"$*\" in status) echo 'Status: active';; 'show added') echo 'ufw allow 4500/udp';; esac";
    for (firewall, body, asked) in [
        ("ufw", added, "ufw show added"),
        ("firewall-cmd", "[ \"$1\" != --state ] || echo running", "--permanent --query-port=4500/udp"),
    ] {
        let programs = fake(Path::new(&place), &[("ufw", "exit 1"), (firewall, body)]);
        let line = format!("setup gateway --yes --root {place} --endpoint 10.1.1.2 --open-firewall yes");
        said(&run_with(&net.gateway, &line, "", Some(&programs)));
        said(&run_with(&net.gateway, &format!("setup undo --root {place}"), "", Some(&programs)));
        let log = std::fs::read_to_string(Path::new(&place).join("log")).unwrap();
        assert!(log.contains(asked), "{log}");
        assert!(!["allow", "--add", "--remove"].iter().any(|change| log.contains(change)), "{log}");
    }
}

#[test]
fn a_token_that_was_there_before_is_used_and_stays() {
    if !root() {
        return;
    }
    let net = net("kept");
    let [gateway_root, place] = ["gateway", "client"].map(|e| net.states.of(e));
    let made =
        run(&net.gateway, &format!("setup gateway --yes --root {gateway_root} --endpoint 10.1.1.2"), "");
    let mut serving = start(&net.gateway, &said(&made), "ropewalk serve");
    serving.wait_for_line("gateway ready", SOON).unwrap();
    let (etc, state) = (format!("{place}/etc/ropewalk"), format!("{place}/var/lib/ropewalk/home"));
    let programs =
        fake_systemd(Path::new(&place), &format!("{BINARY} up --state {state} --config {etc}/home.toml"));
    let own = format!("{etc}/home.token");
    std::fs::create_dir_all(&etc).unwrap();
    std::fs::write(&own, &made.stdout).unwrap();
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o600)).unwrap();
    let mode = || std::fs::metadata(&own).unwrap().permissions().mode() & 0o777;
    let before = files(&place);

    // Another one is not put in its place.
    let line = format!("setup client --yes --root {place} --token-file");
    let refused = run_with(&net.client, &format!("{line} -"), &text(&made.stdout), Some(&programs));
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused.stderr).contains("home.token exists"), "{refused:?}");
    assert_eq!(files(&place), before);

    let words = said(&run_with(&net.client, &format!("{line} {own}"), "", Some(&programs)));
    assert!(words.contains("Connected"), "{words}");
    assert_eq!(mode(), 0o640, "the daemon's group reads it at each start");
    said(&run_with(&net.client, &format!("setup undo --root {place}"), "", Some(&programs)));
    assert_eq!((std::fs::read(&own).unwrap(), mode()), (made.stdout, 0o600));
    let left: Vec<String> = files(&place).into_iter().filter(|f| !before.contains(f)).collect();
    assert!(left.iter().all(|f| f.ends_with("/log") || f.ends_with("/pid")), "{left:?}");
    serving.stop();
}

#[test]
fn a_setup_that_fails_on_the_way_leaves_nothing() {
    if !root() {
        return;
    }
    let net = net("fails");
    let place = net.states.of("gateway");
    let root = Path::new(&place);
    std::fs::create_dir_all(root.join("run/systemd/system")).unwrap();
    let systemctl = "case \"$1\" in start) echo 'the unit is masked' >&2; exit 1;; esac";
    let programs = fake(
        root,
        &[("systemctl", systemctl), ("useradd", ""), ("userdel", ""), ("chgrp", ""), ("id", "exit 1")],
    );
    let before = files(&place);
    let line = format!("setup gateway --yes --root {place} --endpoint 10.1.1.2");
    let out = run_with(&net.gateway, &line, "", Some(&programs));
    let words = text(&out.stderr);
    assert!(!out.status.success() && words.contains("the unit is masked"), "{words}");
    assert!(out.stdout.is_empty() && words.contains("taking back what was done"), "{words}");
    let left: Vec<String> = files(&place).into_iter().filter(|f| !before.contains(f)).collect();
    assert_eq!(left, [format!("{place}/log")]);
    let log = std::fs::read_to_string(root.join("log")).unwrap();
    assert!(log.contains("systemctl disable --now") && log.contains("userdel ropewalk"), "{log}");
}

#[test]
fn where_systemd_runs_the_unit_is_installed_started_and_taken_back() {
    if !root() {
        return;
    }
    let net = net("systemd");
    let place = net.states.of("gateway");
    let (etc, state) = (format!("{place}/etc/ropewalk/home.toml"), format!("{place}/var/lib/ropewalk/home"));
    let daemon = format!("{BINARY} serve --state {state} --config {etc}");
    let programs = fake_systemd(Path::new(&place), &daemon);
    let before = files(&place);
    let made = run_with(
        &net.gateway,
        &format!("setup gateway --yes --root {place} --endpoint 10.1.1.2"),
        "",
        Some(&programs),
    );
    let words = said(&made);
    assert!(words.contains("The gateway runs: ropewalk-gateway@home.service"), "{words}");
    assert!(text(&made.stdout).starts_with("rw1_"));
    let unit =
        std::fs::read_to_string(format!("{place}/etc/systemd/system/ropewalk-gateway@.service")).unwrap();
    let program = unit.lines().find_map(|l| l.strip_prefix("ExecStart=")).unwrap().split(' ').next().unwrap();
    assert!(Path::new(program).exists() && unit.contains(" serve --state /var/lib/ropewalk/%i"), "{unit}");
    let log = || std::fs::read_to_string(Path::new(&place).join("log")).unwrap();
    for line in [
        "useradd --system",
        "chgrp ropewalk",
        "systemctl daemon-reload",
        "systemctl enable ropewalk-gateway@home.service",
    ] {
        assert!(log().contains(line), "{line}: {}", log());
    }

    // A client by the same means.
    let client_place = net.states.of("client");
    let (etc, state) =
        (format!("{client_place}/etc/ropewalk/home.toml"), format!("{client_place}/var/lib/ropewalk/home"));
    let programs_there =
        fake_systemd(Path::new(&client_place), &format!("{BINARY} up --state {state} --config {etc}"));
    let clients_before = files(&client_place);
    let line = format!("setup client --yes --root {client_place} --token-file -");
    let words = said(&run_with(&net.client, &line, &text(&made.stdout), Some(&programs_there)));
    assert!(words.contains("Connected: rw0 is 10.77.0.2 there, over wan1"), "{words}");
    assert!(!Path::new(&client_place).join("etc/ropewalk/home.token").exists(), "it is remembered");
    let undo = |at: &Namespace, place: &str, programs: &Path, more: &str| {
        said(&run_with(at, &format!("setup undo --root {place} {more}"), "", Some(programs)))
    };
    undo(&net.client, &client_place, &programs_there, "");
    undo(&net.gateway, &place, &programs, "--all");
    assert!(
        log().contains("systemctl disable --now ropewalk-gateway@home.service")
            && log().contains("userdel ropewalk")
    );
    for (place, before) in [(&place, before), (&client_place, clients_before)] {
        let left: Vec<String> = files(place).into_iter().filter(|f| !before.contains(f)).collect();
        assert!(left.iter().all(|f| f.ends_with("/log") || f.ends_with("/pid")), "{left:?}");
    }
}

#[test]
fn what_serves_one_unit_goes_with_its_setup() {
    if !root() {
        return;
    }
    let net = net("one-unit");
    let place = net.states.of("gateway");
    let (etc, state) = (format!("{place}/etc/ropewalk/home.toml"), format!("{place}/var/lib/ropewalk/home"));
    let daemon = format!("{BINARY} serve --state {state} --config {etc}");
    let programs = fake_systemd(Path::new(&place), &daemon);
    let before = files(&place);
    let at_gateway = |line: &str| {
        said(&run_with(&net.gateway, &format!("setup {line} --root {place}"), "", Some(&programs)))
    };
    let units = Path::new(&place).join("etc/systemd/system");
    let own = units.join("ropewalk-gateway@home.service.d");
    // The second time finds nothing of the first in its way.
    for round in [1, 2] {
        at_gateway("gateway --yes --endpoint 10.1.1.2 --tls yes");
        assert!(own.join("tls.conf").exists());
        if round == 1 {
            at_gateway("gateway --yes --endpoint 10.1.1.2 --name office --service no");
        }
        at_gateway("undo");
        assert!(!own.exists(), "it is handed to nobody");
        assert!(units.join("ropewalk-gateway@.service").exists(), "the other setup's too");
    }
    at_gateway("undo office");
    let left: Vec<String> = files(&place).into_iter().filter(|f| !before.contains(f)).collect();
    assert!(left.iter().all(|f| f.ends_with("/log") || f.ends_with("/pid")), "{left:?}");
}
