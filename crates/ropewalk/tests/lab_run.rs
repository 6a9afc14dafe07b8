//! `ropewalk lab run`, `lab check` and `compare` as a user meets them. Runs need root, and say so
//! and pass otherwise.
//!
//! Figures of rate and time are not asserted: a busy machine has others.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use ropewalk_lab::{LabError, Topology};
use ropewalk_scenario::Report;

/// A directory that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ropewalk-lab-run-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ropewalk(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ropewalk")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn possible() -> bool {
    let refused = matches!(Topology::new(), Err(LabError::NotRoot));
    if refused {
        ropewalk_skip::skip(LabError::NotRoot);
    }
    !refused
}

fn cable(flow: &str) -> String {
    format!(
        "title = \"a cable\"\nduration = \"1500ms\"\nwarmup = \"500ms\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\nends = [\"a:eth0\", \"b:eth0\"]\n\
         rate = \"10Mbit/s\"\ndelay = \"5ms\"\n[measure]\ninterval = \"500ms\"\n[[flow]]\nname = \"down\"\nfrom = \"a\"\nto = \"b\"\n{flow}"
    )
}

#[test]
fn the_same_file_gives_reports_of_the_same_form() {
    if !possible() {
        return;
    }
    let scratch = Scratch::new("form");
    let file = scratch.file("cable.toml", &cable("kind = \"udp\"\nrate = \"2Mbit/s\"\n"));
    let (lab, sim) = (scratch.path("lab"), scratch.path("sim"));
    let live = ropewalk(&["lab", "run", &file, "--seed", "5", "--out", &lab]);
    let said = text(&live.stdout);
    assert!(
        said.starts_with("a cable: 1 s counted of 1.5 s, seed 5\nin real time: late by p50 "),
        "{said}{}",
        text(&live.stderr)
    );
    assert_eq!(ropewalk(&["sim", "run", &file, "--seed", "5", "--out", &sim]).status.code(), Some(0));
    let read = |directory: &str| -> Report {
        serde_json::from_slice(&fs::read(format!("{directory}/report.json")).unwrap()).unwrap()
    };
    let (live, simulated) = (read(&lab), read(&sim));
    assert_eq!(live.provenance.scenario, simulated.provenance.scenario);
    let names = |r: &Report| {
        let flows = r.flow.iter().map(|f| f.name.clone());
        flows
            .chain(r.link.iter().map(|l| l.name.clone()))
            .chain(r.interface.iter().map(|i| i.name.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&live), names(&simulated));
    assert_eq!((live.series.rows.len(), live.series.columns.is_empty()), (3, false));
    let files = |directory: &str| {
        let all = fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut all: Vec<String> = all.collect();
        all.sort();
        all
    };
    assert_eq!(files(&lab), files(&sim));
    let kept = live.provenance.lab.as_ref().unwrap();
    assert!(kept.packets > 100 && kept.load > 0.0 && kept.forecast.is_some_and(|f| f > 0.0), "{kept:?}");
    assert!(simulated.provenance.lab.is_none());
    let compared = ropewalk(&["compare", &sim, &format!("{lab}/report.json")]);
    let said = text(&compared.stdout);
    assert!(
        said.contains("A is simulator, seed 5; B is lab, seed 5") && said.contains("flow.down.goodput_mbps"),
        "{said}"
    );
}

#[test]
fn reports_that_are_apart_end_with_a_code_of_their_own() {
    let scratch = Scratch::new("apart");
    let file = scratch.file("cable.toml", &cable("kind = \"udp\"\nrate = \"2Mbit/s\"\n"));
    let (a, b) = (scratch.path("a"), scratch.path("b"));
    for (out, rate) in [(&a, "2Mbit/s"), (&b, "3Mbit/s")] {
        let set = format!("flow.down.rate={rate}");
        assert_eq!(ropewalk(&["sim", "run", &file, "--set", &set, "--out", out]).status.code(), Some(0));
    }
    let same = ropewalk(&["compare", &a, &a]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    let apart = ropewalk(&["compare", &a, &b]);
    assert_eq!(apart.status.code(), Some(8));
    assert!(
        text(&apart.stdout).contains("APART") && text(&apart.stdout).contains("not of the same scenario")
    );
    assert_eq!(text(&apart.stderr), "ropewalk: 1 of the figures are apart: flow.down.goodput_mbps\n");
    assert_eq!(ropewalk(&["compare", &a, &scratch.path("none")]).status.code(), Some(2));
}

#[test]
fn what_cannot_run_live_is_refused_with_file_line_key_and_remedy() {
    let scratch = Scratch::new("refused");
    let file = scratch.file("cable.toml", &cable("kind = \"mptcp\"\ncongestion = \"tidal\"\n"));
    let refused = ropewalk(&["lab", "run", &file]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains(&format!("{file}:18: flow.down.congestion: Linux has no tidal")), "{said}");
    let checked = ropewalk(&["lab", "check", &file]);
    assert_eq!(checked.status.code(), Some(0));
    assert!(text(&checked.stdout).contains("flow.down.congestion: Linux has no tidal"));
}

#[test]
fn the_abstract_medium_runs_live() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/weighted.toml");
    let checked = ropewalk(&["lab", "check", file]);
    assert_eq!(text(&checked.stdout), format!("{file}: runs live, 1 s\n"));
}

#[test]
fn a_scenario_that_is_too_fast_is_told_before_it_starts() {
    if !possible() {
        return;
    }
    let scratch = Scratch::new("fast");
    let flow = "kind = \"udp\"\nrate = \"40Gbit/s\"\npacket = \"100B\"\n";
    let text = cable(flow).replace("rate = \"10Mbit/s\"\ndelay", "rate = \"100Gbit/s\"\ndelay");
    let (file, out) = (scratch.file("fast.toml", &text), scratch.path("out"));
    let refused = ropewalk(&["lab", "run", &file, "--strict", "--out", &out]);
    let said = self::text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(10), "{said}");
    assert!(said.contains("too fast for this machine") && said.contains("`ropewalk sim`"), "{said}");
    assert!(!fs::exists(format!("{out}/report.json")).unwrap(), "nothing has run");
    let name = format!("fast-{}", std::process::id());
    let refused = ropewalk(&["lab", "up", &file, "--strict", "--name", &name]);
    assert_eq!(refused.status.code(), Some(10), "{}", self::text(&refused.stderr));
    // Its traffic is the user's own: the lab goes up.
    let up = ropewalk(&["lab", "up", &file, "--name", &name]);
    let down = ropewalk(&["lab", "down", "--lab", &name]);
    assert!(up.status.success() && down.status.success(), "{}", self::text(&up.stderr));
    assert!(self::text(&up.stderr).contains("too fast for this machine"));
}

#[test]
fn a_reader_that_reads_no_further_ends_it_without_a_panic() {
    let scratch = Scratch::new("pipe");
    let file = scratch.file("cable.toml", &cable("kind = \"udp\"\nrate = \"2Mbit/s\"\n"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    let done = command.args(["lab", "check", &file]).stdout(writer).output().unwrap();
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(141), String::new()));
}

/// The Multifacet paper's repeater with the real `ap` and `repeater`: a server behind the access point answers the client, by both links.
#[test]
fn a_bond_on_a_shared_radio_is_an_access_point_and_a_repeater() {
    if !possible() {
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/000/figure2.toml");
    let scratch = Scratch::new("backhaul");
    let paths = "bond.rw0.paths=[{ interface = \"wlan0\", to = \"wlan0\" }, { interface = \"wlan1\", to = \"wlan1\", shared = true }]";
    for ordered in ["true", "false"] {
        let (out, ordered) = (scratch.path(ordered), format!("bond.rw0.ordered={ordered}"));
        let mut args = vec!["lab", "run", file, "--out", &out];
        let set = [
            "duration=4s",
            "warmup=1s",
            "flow.down.congestion=cubic",
            "bond.rw0.scheduler=backpressure",
            "bond.rw0.congestion=none",
            "bond.rw0.queue-packets=200",
            "bond.rw0.limiter=balance",
            paths,
            &ordered,
        ];
        set.iter().for_each(|s| args.extend(["--set", s]));
        let run = ropewalk(&args);
        // A busy machine may be late (10); every byte is looked at on arrival.
        assert!(matches!(run.status.code(), Some(0 | 10)), "{}{}", text(&run.stdout), text(&run.stderr));
        let report: Report =
            serde_json::from_slice(&fs::read(format!("{out}/report.json")).unwrap()).unwrap();
        let flow = report.flow.iter().find(|f| f.name == "down").unwrap();
        assert!(flow.bytes > 0, "{flow:?}");
        let carried = |name: &str| report.path.iter().find(|p| p.name == name).map_or(0, |p| p.sent_bytes);
        for path in ["rw0:gateway:wlan0", "rw0:gateway:wlan1", "rw0:client:wlan0"] {
            assert!(carried(path) > 0, "{path}: {:?}", report.path);
        }
    }
}

/// Routes do not lead to the client of a repeater that translates addresses: it has to speak first, with datagrams as with TCP.
#[test]
fn datagrams_reach_a_sink_behind_address_translation() {
    if !possible() {
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/000/controlled.toml");
    let scratch = Scratch::new("hidden");
    let out = scratch.path("out");
    let mut args = vec!["lab", "run", file, "--out", &out];
    let set = [
        "duration=3s",
        "warmup=1s",
        "interferer.rival.start=1000h",
        "bond.rw0.route=[\"10.99.0.0/24\"]",
        "flow.down.kind=udp",
        "flow.down.rate=2Mbit/s",
    ];
    set.iter().for_each(|s| args.extend(["--set", s]));
    let run = ropewalk(&args);
    assert!(matches!(run.status.code(), Some(0 | 10)), "{}{}", text(&run.stdout), text(&run.stderr));
    let report: Report = serde_json::from_slice(&fs::read(format!("{out}/report.json")).unwrap()).unwrap();
    let flow = &report.flow[0];
    assert!(flow.bytes > 0, "{flow:?}");
}

#[test]
fn a_bunch_is_its_daemons() {
    let paper = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/002");
    let checked = ropewalk(&["lab", "check", &format!("{paper}/release.toml")]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    if !possible() {
        return;
    }
    let scratch = Scratch::new("bunch");
    let (file, lab) = (format!("{paper}/tcp.toml"), scratch.path("lab"));
    let down = "{ at = \"500ms\", what = \"ap-down\", node = \"ap2\" }";
    let up = "{ at = \"1s\", what = \"ap-up\", node = \"ap2\" }";
    // Whoever stays switched off brings nothing; whoever comes again does.
    for (events, duration, comes_again) in [
        (format!("event=[{down}]"), "duration=4s", false),
        (format!("event=[{down}, {up}]"), "duration=8s", true),
    ] {
        let short = ["--set", duration, "--set", "warmup=2s", "--set", &events];
        let run = ["lab", "run", &file, "--out", &lab, "--set", "bunch.street.neighbours=[\"ap2\"]"];
        let live = ropewalk(&[&run[..], &short].concat());
        let report = fs::read(format!("{lab}/report.json"));
        let report = report.unwrap_or_else(|e| panic!("{e}: {}", text(&live.stderr)));
        let report: Report = serde_json::from_slice(&report).unwrap();
        let rows: Vec<_> =
            report.bunch.iter().map(|r| (r.name.as_str(), r.bytes > 0, r.damaged, r.resets)).collect();
        // Where nobody else hears the sender its packets go their ordinary way.
        let all = [("street", true), ("street:ap1", comes_again), ("street:ap2", comes_again)];
        assert_eq!(rows, all.map(|(name, brings)| (name, brings, 0, 0)), "{}", text(&live.stderr));
        assert!(report.flow[0].bytes > 100_000, "{:?}", report.flow[0]);
    }
}

fn cell(standard: &str) -> String {
    let node = |name: &str, mode: &str| {
        format!(
            "[node.{name}]\nradio.r = {{ standard = \"{standard}\", channel = 6 }}\n\
             interface.wlan0 = {{ radio = \"r\", mode = \"{mode}\", ssid = \"air\" }}\n"
        )
    };
    format!("duration = \"2s\"\n{}{}", node("ap", "ap"), node("sta", "station"))
}

/// With the module tests/vm/hwsim-air looks at the rest.
#[test]
fn the_kernels_radios_are_asked_for_once_the_file_is_known_to_run_on_them() {
    let scratch = Scratch::new("hwsim");
    let aggregates = ropewalk(&["lab", "hwsim", &scratch.file("n.toml", &cell("11n"))]);
    let said = text(&aggregates.stderr);
    assert_eq!(aggregates.status.code(), Some(2), "{said}");
    assert!(said.contains("n.toml:") && said.contains("take 11a, 11b or 11g"), "{said}");
    if !possible() || std::path::Path::new("/sys/module/mac80211_hwsim").exists() {
        return;
    }
    let without = ropewalk(&["lab", "hwsim", &scratch.file("g.toml", &cell("11g"))]);
    let said = text(&without.stderr);
    assert_eq!(without.status.code(), Some(3), "{said}");
    assert!(said.contains("modprobe mac80211_hwsim"), "{said}");
}
