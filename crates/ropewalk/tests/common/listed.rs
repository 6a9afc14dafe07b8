//! What documents have people type, and what of it no test runs as it stands there.
//!
//! `docs` fails where a command of README.md or the guide is neither run nor listed here.

use std::path::Path;

/// `./run vm` has machines with simulated ones.
const RADIO: &str = "it needs radios";
/// `./run vm debian` has such a machine.
const SYSTEMD: &str = "it needs systemd, and the files of the package";
const LONG: &str = "it takes minutes of all processors";

/// Pages, as seen from the guide, with a reason and with commands that are not run for it.
pub(crate) const NOT_RUN: &[(&str, &str, &[&str])] = &[
    (
        "../../README.md",
        "start.md has it, and `guide_start` compares",
        &["ropewalk setup gateway", "ropewalk setup client", "ropewalk status"],
    ),
    (
        "../../README.md",
        "lab.md and probe.md have the like, which `lab` and `probe` run",
        &[
            "ropewalk lab run scenarios/quickstart.toml",
            "ropewalk lab up scenarios/single-cell.toml",
            "ropewalk compare SIM LAB",
            "ropewalk probe HOST --key KEY",
        ],
    ),
    (
        "../../README.md",
        "it shows what the machine has: `link` runs it on machines that it makes",
        &["ropewalk link"],
    ),
    (
        "../../README.md",
        LONG,
        &["ropewalk lab run --virtual scenarios/quickstart.toml", "ropewalk reproduce 003"],
    ),
    ("../../README.md", RADIO, &["ropewalk lab hwsim FILE"]),
    (
        "bunch.md",
        RADIO,
        &[
            "ropewalk bunch ap --token-file anna.token --state /var/lib/ropewalk/bunch --home wlan0 --monitor mon0 --uplink wan0",
            "ropewalk bunch ap --token-file bert.token --state /var/lib/ropewalk/bunch --monitor wlan1 --uplink wan0",
        ],
    ),
    (
        "bunch.md",
        "it needs etcd: `fleet/bunch.rs` has one, and two gateways",
        &[
            "ropewalk bunch gateway --state /var/lib/ropewalk/bunch --listen 0.0.0.0:4520 --store etcd://127.0.0.1:2379/street --name g1",
        ],
    ),
    (
        "bunch.md",
        "it draws on a terminal, which the tests beside src/bunch/top.rs have",
        &["ropewalk bunch top --state /var/lib/ropewalk/bunch"],
    ),
    (
        "fleet.md",
        "it needs three machines with etcd: `fleet` has one, with certificates",
        &[
            "ropewalk serve --state /var/lib/ropewalk/g1 --store etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/fleet --store-ca ca.pem --store-cert g1.pem --store-key g1.key --address 10.77.0.1/16 --address fd77::1/64",
        ],
    ),
    (
        "gateway.md",
        SYSTEMD,
        &[
            "systemd-sysusers",
            "install -D -m 640 -g ropewalk home.toml /etc/ropewalk/home.toml",
            "ropewalk check /etc/ropewalk/home.toml",
            "systemctl enable --now ropewalk-gateway@home",
        ],
    ),
    ("install.md", "it needs a router with OpenWrt", &["ropewalk status --state /etc/ropewalk/home"]),
    (
        "lab.md",
        "it is what `lab up` prints",
        &["ropewalk lab exec NODE -- CMD…, shell NODE, map, top, set …, down"],
    ),
    (
        "lab.md",
        "it needs nginx",
        &["ropewalk lab exec gateway -- nginx", "ropewalk lab exec client -- curl http://10.1.1.2/"],
    ),
    ("lab.md", RADIO, &["ropewalk lab hwsim cell.toml"]),
    (
        "lab.md",
        LONG,
        &[
            "ropewalk lab run --virtual scenarios/003/chain.toml --kernel ~/kernel --set duration=3s --out /tmp/virtual",
        ],
    ),
    (
        "mptcp.md",
        "it changes the kernel of the whole machine, beside other tests: `live` of ropewalk-kern does so",
        &["ropewalk mptcp cc load olia", "ropewalk mptcp cc status", "ropewalk mptcp cc unload"],
    ),
    ("notebooks.md", LONG, &["ropewalk sim sweep scenarios/003/streams.toml --out streams --format parquet"]),
    ("repeater.md", SYSTEMD, &["ropewalk ap invite attic --config /etc/ropewalk/backhaul.toml"]),
    ("reproduce.md", LONG, &["ropewalk reproduce 003"]),
    (
        "roam.md",
        RADIO,
        &[
            "ropewalk roam scan",
            "ropewalk roam",
            "ropewalk roam status",
            "ropewalk up --token-file token --state /var/lib/ropewalk/home --route 0.0.0.0/0",
            "ropewalk roam --monitor auto",
            "ropewalk roam --hooks /etc/ropewalk/hooks",
        ],
    ),
    (
        "start.md",
        "it needs systemd-resolved",
        &[
            "ropewalk up --state DIR --dns ADDR",
            "ropewalk up --state DIR --dns ADDR --dns-domain corp.example",
        ],
    ),
    (
        "web.md",
        SYSTEMD,
        &[
            "systemctl enable --now ropewalk-web@home",
            "sudo ropewalk web --link --state /var/lib/ropewalk/home",
        ],
    ),
];

/// Whether a command of a page is listed.
pub(crate) fn is_listed(page: &str, command: &str) -> bool {
    NOT_RUN.iter().any(|(of, _, commands)| *of == page && commands.contains(&command))
}

/// A page's text, by its name as seen from the guide.
pub(crate) fn text(page: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page);
    std::fs::read_to_string(page).unwrap()
}

/// What a page has people type, but for what is listed as not run.
pub(crate) fn commands(page: &str) -> Vec<String> {
    typed(&text(page)).into_iter().filter(|command| !is_listed(page, command)).collect()
}

/// What a document has people type, without prompts and remarks: all lines of its `sh` blocks, and the
/// commands of `ropewalk` in its other blocks.
pub(crate) fn typed(text: &str) -> Vec<String> {
    let (mut language, mut all) = (None, Vec::new());
    for line in text.lines() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = if language.is_none() { Some(fence) } else { None };
            continue;
        }
        let is_block = language.is_some() || line.starts_with("    ");
        let command = bare(line.trim());
        if language == Some("sh") || (is_block && command.starts_with("ropewalk ")) {
            all.push(command.to_owned());
        }
    }
    all
}

/// A line as it is typed.
fn bare(line: &str) -> &str {
    let prompts = ["gateway$ ", "client$ ", "$ ", "# "];
    let line = prompts.iter().find_map(|prompt| line.strip_prefix(prompt)).unwrap_or(line);
    line.split(" #").next().unwrap_or(line).trim()
}
