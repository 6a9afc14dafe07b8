//! The lab of a user who is not root. The tests need root to become one: each has a mount namespace of its own in which `/dev/net/tun` is as it says, and
//! drops to a user who owns nothing. They say so and pass without root.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const CELL: &str = r#"
duration = "1500ms"
warmup = "500ms"
[node.ap]
[node.ap.radio.r0]
standard = "11n"
channel = 36
[node.ap.interface.wlan0]
radio = "r0"
mode = "ap"
ssid = "cell"
[node.sta]
position = [2.0, 0.0]
[node.sta.radio.r0]
standard = "11n"
channel = 36
[node.sta.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "cell"
[[flow]]
name = "up"
kind = "udp"
from = "sta"
to = "ap"
rate = "2Mbit/s"
"#;

/// A directory that the user may read, with the program and a scenario.
struct Place(PathBuf);

impl Place {
    /// None, with the reason on standard error, without root.
    fn new(name: &str) -> Option<Place> {
        if !rustix::process::geteuid().is_root() {
            ropewalk_skip::skip("without root there is nobody to give the rights of a user to");
            return None;
        }
        let path = std::env::temp_dir().join(format!("ropewalk-rootless-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("mine")).unwrap();
        // A link where it can be one: the program is large.
        let (program, copy) = (env!("CARGO_BIN_EXE_ropewalk"), path.join("ropewalk"));
        fs::hard_link(program, &copy).or_else(|_| fs::copy(program, &copy).map(drop)).unwrap();
        fs::write(path.join("cell.toml"), CELL).unwrap();
        Some(Place(path))
    }

    /// Runs `prepare` as root in a mount namespace of its own, then `lines` as the user, by way of `within`, `ropewalk` among the commands.
    fn run(&self, prepare: &str, within: &str, lines: &str) -> Output {
        let user = "setpriv --reuid 54321 --regid 54321 --clear-groups env ROPEWALK_LAB_DIR=$PWD/mine TMPDIR=$PWD/mine";
        let script = format!(
            "set -e; chown 54321:54321 mine; mount -t tmpfs tmpfs mine -o uid=54321,gid=54321,mode=0700; {prepare}; \
             export PATH=$PWD:/usr/sbin:/usr/bin:/sbin:/bin; {within} {user} sh -c '{lines}'"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        command.current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `/dev/net/tun` is open to all.
const OPEN: &str = "mkdir -p dev; mount -t tmpfs tmpfs dev; mknod dev/tun c 10 200; chmod 0666 dev/tun; chmod 755 dev; \
                    mount --bind dev/tun /dev/net/tun";

/// A function that runs a command in a user namespace in which nobody may make another.
const ALONE: &str = r#"alone() {
    mkfifo go
    unshare --user sh -c 'read _ <go; exec sh -c "echo 0 >/proc/sys/user/max_user_namespaces; exec \"\$@\"" sh "$@"' sh "$@" & p=$!
    until [ "$(readlink /proc/$p/ns/user)" != "$(readlink /proc/$$/ns/user)" ]; do sleep 0.05; done
    echo 0 0 65536 >/proc/$p/uid_map; echo 0 0 65536 >/proc/$p/gid_map
    echo >go; wait $p
}"#;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_lab_goes_up_and_down_without_root() {
    let Some(place) = Place::new("up") else { return };
    let lines = "trap \"ropewalk lab down 2>/dev/null\" EXIT; ropewalk lab up cell.toml && ropewalk lab map && \
                 ropewalk lab exec sta -- ip -br address && ropewalk lab down && echo gone; ropewalk lab map; echo code $?; id -u";
    let all = said(&place.run(OPEN, "", lines));
    for part in ["lab cell is up", "=sta:r0", "10.1.1.2/24", "gone", "no lab is up", "code 7", "54321"] {
        assert!(all.contains(part), "{part} in\n{all}");
    }
}

#[test]
fn a_run_without_root_carries_packets() {
    let Some(place) = Place::new("run") else { return };
    let done = place.run(OPEN, "", "ropewalk lab run cell.toml --json --out mine/out; ls mine/out >&2");
    let report: ropewalk_scenario::Report =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}\n{}", said(&done)));
    assert!(report.flow[0].bytes > 50_000, "{:?}", report.flow[0]);
    assert!(String::from_utf8_lossy(&done.stderr).contains("report.json"), "{}", said(&done));
}

#[test]
fn what_a_user_lacks_is_said_in_a_sentence_with_the_remedy() {
    let Some(place) = Place::new("lacks") else { return };
    let lines = "ropewalk lab up cell.toml; echo code $?; ropewalk lab run cell.toml; echo code $?";
    let closed = OPEN.replace("0666", "0600");
    let hidden = "mount -t tmpfs tmpfs /dev/net";
    let without_ip = format!("{OPEN}; mount --bind /dev/null $(command -v ip)");
    let forbidden = format!("{OPEN}; {ALONE}");
    for (prepare, within, sentence) in [
        (closed.as_str(), "", "chmod 0666 /dev/net/tun"),
        (hidden, "", "modprobe tun"),
        (without_ip.as_str(), "", "cannot run ip"),
        (forbidden.as_str(), "alone", "sysctl user.max_user_namespaces"),
    ] {
        let all = said(&place.run(prepare, within, lines));
        assert_eq!(all.matches(sentence).count(), 2, "{sentence} in\n{all}");
    }
}
