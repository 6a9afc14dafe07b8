//! The units of systemd: what they grant is enough, and no more than two capabilities. Some tests need root; without it, they pass and say so.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::backhaul::routed::{AP, BEHIND, REPEATER, SERVER, addresses};
use crate::common::backhaul::{Site, pings};
use crate::common::{BINARY, SOON, States, eventually, root, ropewalk};
use ropewalk_lab::{End, Namespace, Ping, Process, Topology};

/// Some user who owns nothing.
const USER: u32 = 54_321;

fn unit(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../packaging/systemd/ropewalk-{name}.service"))
}

/// Those of a bond's two ends, of a backhaul's, and of a bunch's.
fn units() -> [PathBuf; 6] {
    ["client@", "gateway@", "repeater@", "ap@", "bunch-gateway@", "bunch-ap@"].map(unit)
}

/// And all that there are.
fn all_units() -> impl Iterator<Item = PathBuf> {
    units().into_iter().chain(["web@", "roam", "mptcp-cc@"].map(unit))
}

/// The value of a setting that stands once in a unit.
fn setting(unit: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(unit).unwrap();
    let mut values = text.lines().filter_map(|l| l.strip_prefix(name)?.strip_prefix('='));
    let value = values.next().unwrap_or_else(|| panic!("{name} in {}", unit.display()));
    assert_eq!(values.next(), None, "{name} stands twice");
    value.to_owned()
}

#[test]
fn a_unit_is_a_user_s_with_two_capabilities_and_a_limit_on_memory() {
    for unit in units() {
        assert_eq!(setting(&unit, "User"), "ropewalk");
        for sets in ["CapabilityBoundingSet", "AmbientCapabilities"] {
            assert_eq!(setting(&unit, sets), "CAP_NET_ADMIN CAP_NET_RAW");
        }
        assert!(setting(&unit, "MemoryMax").ends_with(['M', 'G']));
        assert_eq!((setting(&unit, "MemorySwapMax"), setting(&unit, "LimitCORE")), ("0".into(), "0".into()));
    }
}

/// What systemd says of how exposed a unit is, 0 to 10: whether it is below 3.
fn is_below_three(unit: &Path) -> bool {
    let arguments = ["security", "--offline=true", "--threshold=30", "--no-pager"];
    Command::new("systemd-analyze").args(arguments).arg(unit).output().unwrap().status.success()
}

#[test]
fn the_unit_of_a_congestion_controller_may_load_bpf_and_no_more() {
    let unit = unit("mptcp-cc@");
    let may = "CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_ADMIN CAP_DAC_OVERRIDE";
    assert_eq!(setting(&unit, "CapabilityBoundingSet"), may);
    assert_eq!(setting(&unit, "SystemCallFilter"), "@system-service bpf");
}

#[test]
fn a_unit_grants_little() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        ropewalk_skip::skip("there is no systemd-analyze here");
        return;
    }
    for unit in all_units() {
        assert!(is_below_three(&unit), "{}", unit.display());
    }
    // The null case: one without any of it.
    let bare = std::env::temp_dir().join(format!("ropewalk-bare-{}.service", std::process::id()));
    std::fs::write(&bare, "[Service]\nExecStart=/bin/true\n").unwrap();
    assert!(!is_below_three(&bare));
    std::fs::remove_file(bare).unwrap();
}

#[test]
fn a_page_has_no_right_at_all_and_prints_no_link_into_the_journal() {
    let page = unit("web@");
    assert_eq!(setting(&page, "User"), "ropewalk");
    assert_eq!(setting(&page, "CapabilityBoundingSet"), "");
    assert!(setting(&page, "ExecStart").ends_with(" --no-link"), "{}", setting(&page, "ExecStart"));
    let neighbours = setting(&page, "IPAddressAllow");
    assert_eq!((setting(&page, "IPAddressDeny").as_str(), neighbours.as_str()), ("any", "localhost"));
    let roam = unit("roam");
    assert_eq!(setting(&roam, "CapabilityBoundingSet"), "CAP_NET_ADMIN CAP_NET_RAW");
    // A client's service may ask it, and change nothing there.
    assert_eq!(setting(&roam, "Group"), setting(&unit("client@"), "Group"));
    assert_eq!(setting(&roam, "RuntimeDirectoryMode"), "0750");
    for unit in [page, roam] {
        assert_eq!((setting(&unit, "MemorySwapMax"), setting(&unit, "LimitCORE")), ("0".into(), "0".into()));
    }
}

#[test]
fn systemd_understands_the_units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        ropewalk_skip::skip("there is no systemd-analyze here");
        return;
    }
    // It looks for the program where the unit says that it is.
    let root = std::env::temp_dir().join(format!("ropewalk-units-{}", std::process::id()));
    let etc = root.join("etc/systemd/system");
    for directory in [&root.join("usr/bin"), &root.join("bin"), &etc] {
        std::fs::create_dir_all(directory).unwrap();
    }
    for program in ["usr/bin/ropewalk", "bin/sh"] {
        std::fs::copy("/bin/true", root.join(program)).unwrap();
    }
    for unit in all_units() {
        let home = unit.file_name().unwrap().to_str().unwrap().replace("@.", "@home.");
        std::fs::copy(&unit, etc.join(&home)).unwrap();
        let arguments = ["verify", "--man=no", "--recursive-errors=no"];
        let root = format!("--root={}", root.display());
        let said = Command::new("systemd-analyze").args(arguments).args([&root, &home]).output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr);
        assert!(!words.lines().any(|l| l.contains(&home)), "{words}");
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// What systemd says of the unit of a congestion controller on a machine whose cloud-init waits for
/// network-pre.target, and sysinit.target for cloud-init.
fn said_beside_cloud_init(unit: &str) -> String {
    let root = std::env::temp_dir().join(format!("ropewalk-cloud-{}", std::process::id()));
    let etc = root.join("etc/systemd/system");
    for directory in [&root.join("usr/bin"), &etc] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::copy("/bin/true", root.join("usr/bin/ropewalk")).unwrap();
    let cloud = "After=network-pre.target\nBefore=sysinit.target\n[Service]\nExecStart=/usr/bin/ropewalk\n";
    for (name, text) in [
        ("cloud-init.service", cloud),
        ("sysinit.target", "Wants=cloud-init.service\nAfter=cloud-init.service\n"),
        ("basic.target", "Requires=sysinit.target\nAfter=sysinit.target\n"),
        ("network-pre.target", ""),
        ("shutdown.target", ""),
    ] {
        let text = format!("[Unit]\nDefaultDependencies=no\n{text}");
        std::fs::write(etc.join(name), text).unwrap();
    }
    let olia = "ropewalk-mptcp-cc@olia.service";
    std::fs::write(etc.join(olia), unit).unwrap();
    let at = format!("--root={}", root.display());
    let said = Command::new("systemd-analyze").args(["verify", "--man=no", &at, olia]).output().unwrap();
    std::fs::remove_dir_all(root).unwrap();
    String::from_utf8_lossy(&said.stderr).into_owned()
}

#[test]
fn a_congestion_controller_does_not_keep_cloud_init_from_starting() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        ropewalk_skip::skip("there is no systemd-analyze here");
        return;
    }
    let unit = std::fs::read_to_string(unit("mptcp-cc@")).unwrap();
    let said = said_beside_cloud_init(&unit);
    assert!(!said.contains("ordering cycle"), "{said}");
    let late = said_beside_cloud_init(&unit.replace("DefaultDependencies=no\n", ""));
    assert!(late.contains("ordering cycle"), "the null case: {late}");
}

/// Whether a pattern with stars is one for a name.
fn is_for(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(head).is_some_and(|rest| (0..=rest.len()).any(|n| is_for(tail, &rest[n..])))
}

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// The units of the package, each template as an instance.
fn instances() -> impl Iterator<Item = String> {
    let all = std::fs::read_dir(packaging().join("systemd")).unwrap();
    let names = all.map(|unit| unit.unwrap().file_name().to_str().unwrap().replace("@.", "@home."));
    names.filter(|name| name.ends_with(".service"))
}

/// What a script of the package calls on a machine with systemd where daemons were killed, a line
/// for each call.
fn calls(script: &str, arguments: &str) -> String {
    let states = States::new(script);
    let (tools, said) = (states.of("tools"), states.of("said"));
    std::fs::create_dir(&tools).unwrap();
    for tool in ["systemctl", "systemd-sysusers", "setpriv"] {
        let file = Path::new(&tools).join(tool);
        let script = format!("#!/bin/sh\nprintf '%s ' {tool} \"$@\" >>{said}\necho >>{said}\n");
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = packaging().join("deb").join(script).display().to_string();
    // /run and /var/lib of its own: the machine's are left alone.
    let line = "mount -t tmpfs none /run && mount -t tmpfs none /var/lib && mkdir -p /run/systemd/system && \
                for dir in /run/ropewalk/roam /var/lib/ropewalk/home; do \
                mkdir -p $dir && : >$dir/changes.json || exit; done && PATH=$1:$PATH exec sh \"$2\" $3";
    let arguments = ["--mount", "sh", "-c", line, "sh", &tools, &script, arguments];
    let out = Command::new("unshare").args(arguments).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    std::fs::read_to_string(said).unwrap()
}

#[test]
fn a_package_that_is_removed_stops_each_unit_and_takes_back_what_a_killed_one_left() {
    if !root() {
        return;
    }
    let said = calls("prerm", "remove");
    for state in ["/run/ropewalk/roam", "/var/lib/ropewalk/home"] {
        let restore = format!("ropewalk restore --state {state}");
        assert!(said.lines().any(|l| l.trim_end().ends_with(&restore)), "{restore}: {said}");
    }
    let stop = said.lines().find_map(|l| l.strip_prefix("systemctl stop ")).unwrap();
    for name in instances() {
        assert!(stop.split_whitespace().any(|p| is_for(p, &name)), "{name}: {stop}");
    }
}

#[test]
fn a_package_that_is_upgraded_starts_each_daemon_anew_that_runs() {
    if !root() {
        return;
    }
    let said = calls("postinst", "configure 0.0.1");
    let anew = said.lines().find_map(|l| l.strip_prefix("systemctl --no-block try-restart ")).unwrap();
    // A congestion controller is no daemon: connections go on with the one that is loaded.
    for name in instances().filter(|name| !name.starts_with("ropewalk-mptcp-cc@")) {
        assert!(anew.split_whitespace().any(|p| is_for(p, &name)), "{name}: {anew}");
    }
    let first = calls("postinst", "configure");
    assert!(first.contains("systemctl daemon-reload") && !first.contains("restart"), "{first}");
}

/// At a boot a daemon may be there before its address: a lease that comes late, one that floats.
#[test]
fn an_address_that_may_come_yet_does_not_end_a_unit_for_good() {
    if !root() {
        return;
    }
    let states = States::new("units-early");
    let topology = Topology::new().unwrap();
    let gateway = topology.namespace("gateway").unwrap();
    for (name, line) in [
        ("gateway@", "serve --listen 192.0.2.77:4500"),
        ("gateway@", "serve --metrics 192.0.2.77:9477"),
        ("bunch-gateway@", "bunch gateway --listen 192.0.2.77:4500"),
        ("bunch-gateway@", "bunch gateway --listen 0.0.0.0:4520 --metrics 192.0.2.77:9477"),
    ] {
        let mut command = gateway.command(BINARY);
        command.args(line.split(' ')).args(["--state", &states.of(name)]);
        is_tried_again(name, &command.output().unwrap(), "192.0.2.77");
    }
}

/// A daemon that said this ended so that its unit starts it again.
fn is_tried_again(name: &str, ended: &Output, words: &str) {
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains(words), "{said}");
    let code = ended.status.code().unwrap().to_string();
    let for_good = setting(&unit(name), "RestartPreventExitStatus");
    assert!(!for_good.split(' ').any(|c| c == code), "{name}: {code}, {said}");
}

/// At a boot a daemon may be there before its bridge. For its radios it waits (`repeater.rs`).
#[test]
fn a_bridge_that_may_come_yet_does_not_end_a_unit_for_good() {
    if !root() {
        return;
    }
    let states = States::new("units-bridge");
    let topology = Topology::new().unwrap();
    let machine = topology.namespace("machine").unwrap();
    let file = |end: &str| states.of(&format!("{end}.toml"));
    for (end, clients) in [("ap", ""), ("repeater", "lan = \"eth0\"\n")] {
        let link = format!("[[{end}.link]]\ninterface = \"wlan0\"\n");
        let text = format!("[{end}]\nlayer = 2\nbridge = \"br9\"\n{clients}{link}");
        std::fs::write(file(end), text).unwrap();
    }
    let run = |end: &str, more: &[&str]| {
        let mut command = machine.command(BINARY);
        command.arg(end).args(more).args(["--config", &file(end), "--state", &states.of(end)]);
        command.output().unwrap()
    };
    let token = run("ap", &["invite", "attic", "--endpoint", "192.0.2.1:4500"]).stdout;
    let token = String::from_utf8(token).unwrap();
    for (end, token) in [("repeater", &[token.trim()][..]), ("ap", &[])] {
        is_tried_again(&format!("{end}@"), &run(end, token), "there is no bridge named `br9`");
    }
}

/// The program, a TUN device for everybody, and for each end a state directory that is the user's.
fn prepare(states: &States, ends: [&str; 2]) -> PathBuf {
    let place = PathBuf::from(states.of(""));
    let program = place.join("ropewalk");
    std::fs::hard_link(BINARY, &program).or_else(|_| std::fs::copy(BINARY, &program).map(drop)).unwrap();
    let tun = place.join("tun").display().to_string();
    Command::new("mknod").args(["--mode=666", &tun, "c", "10", "200"]).status().unwrap();
    for end in ends {
        let state = place.join(end);
        std::fs::create_dir(&state).unwrap();
        std::os::unix::fs::chown(&state, Some(USER), Some(USER)).unwrap();
    }
    place
}

/// Starts the program as the units do: as the user, with the two capabilities. Both ends' files belong to that user.
fn start(at: &Namespace, place: &Path, arguments: &str) -> Process {
    let caps = "-all,+net_admin,+net_raw";
    let user = format!("--reuid {USER} --regid {USER} --clear-groups --no-new-privs");
    let sets = format!("--bounding-set {caps} --inh-caps {caps} --ambient-caps {caps}");
    let (program, tun) = (place.join("ropewalk"), place.join("tun"));
    // udev lets everybody open the device (50-udev-default.rules); without udev it is root's.
    let device = format!("mount --bind {} /dev/net/tun", tun.display());
    let line = format!("{device} && exec setpriv {user} {sets} {} {arguments}", program.display());
    at.start("unshare", ["--mount", "sh", "-c", &line]).unwrap()
}

#[test]
fn two_capabilities_are_enough_for_everything() {
    if !root() {
        return;
    }
    let states = States::new("units");
    let place = prepare(&states, ["client", "gateway"]);
    let program = place.join("ropewalk");
    let topology = Topology::new().unwrap();
    let (client, gateway) = (topology.namespace("client").unwrap(), topology.namespace("gateway").unwrap());
    let ends = (End::new("wan1", ["10.1.1.1/24"]), End::new("wan1", ["10.1.1.2/24"]));
    topology.veth((&client, ends.0), (&gateway, ends.1)).unwrap();
    gateway.ip(&["address add 192.0.2.1/32 dev lo"]).unwrap();
    client.ip(&["route add default via 10.1.1.2 dev wan1"]).unwrap();
    let changes = "ip rule; nft list ruleset; sysctl -n net.ipv4.ip_forward net.ipv4.conf.wan1.rp_filter";
    client.sysctl("net.ipv4.conf.wan1.rp_filter", "1").unwrap();
    let before = [&client, &gateway].map(|ns| ns.shell(changes).unwrap());

    let [cs, gs] = ["client", "gateway"].map(|end| states.of(end));
    let mut serving =
        start(&gateway, &place, &format!("serve --state {gs} --address 10.77.0.1/24 --masquerade"));
    serving.wait_for_line("gateway ready", SOON).unwrap();
    // Root talks to the daemon, and does not write among its files.
    let invite = |name: &str| {
        Command::new(BINARY)
            .args(["invite", name, "--state", &gs, "--endpoint", "10.1.1.2:4500"])
            .output()
            .unwrap()
    };
    let token = states.of("token");
    std::fs::write(&token, invite("alice").stdout).unwrap();
    std::os::unix::fs::chown(&token, Some(USER), Some(USER)).unwrap();
    let everything = "--route 0.0.0.0/0 --kill-switch";
    let mut up =
        start(&client, &place, &format!("up --state {cs} --token-file {token} --path wan1 {everything}"));
    up.wait_for_line("connected", SOON).unwrap();
    for process in [&serving, &up] {
        let owner = std::fs::metadata(format!("/proc/{}/environ", process.id())).unwrap().uid();
        assert_eq!(owner, 0, "who leaves a core dump belongs to its user (proc(5), PR_SET_DUMPABLE)");
    }
    eventually("the world through the bond", || {
        Ping::new("192.0.2.1".parse().unwrap()).count(3).run(&client).is_ok_and(|r| r.received > 0)
    });
    // A page needs none, and root gets a link to it.
    let none = "--bounding-set -all --inh-caps -all --ambient-caps -all";
    let user = format!("--reuid {USER} --regid {USER} --clear-groups --no-new-privs {none}");
    let page = format!("web --state {cs} --listen 127.0.0.1:0 --no-link");
    let line = format!("exec setpriv {user} {} {page}", program.display());
    let mut page = client.start("sh", ["-c", &line]).unwrap();
    let link = || ropewalk(&["web", "--link", "--state", &cs]).1;
    eventually("a link to the page", || link().starts_with("http://127.0.0.1:"));
    page.stop();
    assert_eq!(link(), "", "the null case: there is no page any more");
    up.stop();
    serving.stop();
    assert!(
        !up.stderr().contains("WARN") && !serving.stderr().contains("WARN"),
        "{}{}",
        up.stderr(),
        serving.stderr()
    );
    let refused = String::from_utf8(invite("bob").stderr).unwrap();
    assert!(refused.contains("belongs to user 54321") && refused.contains("sudo -u"), "{refused}");
    assert_eq!([&client, &gateway].map(|ns| ns.shell(changes).unwrap()), before);
    let left = std::fs::read_dir(place.join("client")).unwrap().map(|e| e.unwrap().metadata().unwrap());
    assert!(
        left.into_iter().all(|m| m.uid() == USER && m.mode() & 0o077 == 0),
        "files are their user's only"
    );
}

#[test]
fn two_capabilities_are_enough_for_a_backhaul() {
    if !root() {
        return;
    }
    let site = Site::new("units-backhaul", [20.0, 20.0]);
    addresses(&site);
    let place = prepare(&site.states, ["ap", "repeater"]);
    let changes = || {
        let line = "ip rule; nft list ruleset; sysctl -n net.ipv4.ip_forward";
        [&site.ap, &site.repeater].map(|ns| ns.shell(line).unwrap())
    };
    let before = changes();
    let file = site.file("ap", &format!("{AP}\nmasquerade = true"), BEHIND);
    let mut ap = start(&site.ap, &place, &format!("ap --config {file}"));
    ap.wait_for_line("access point ready", SOON).unwrap();
    let token = site.states.of("token");
    std::fs::write(&token, site.invite(&file, "attic")).unwrap();
    let file = site.file("repeater", REPEATER, "");
    let mut repeater =
        start(&site.repeater, &place, &format!("repeater --config {file} --token-file {token}"));
    repeater.wait_for_line("connected", SOON).unwrap();
    eventually("the server over the backhaul", || pings(&site.client, SERVER));
    repeater.stop();
    ap.stop();
    for end in [&ap, &repeater] {
        let said = end.stderr();
        assert!(!["ermission", "ermitted", "CAP_"].iter().any(|word| said.contains(word)), "{said}");
    }
    assert_eq!(changes(), before, "it is taken back");
}
