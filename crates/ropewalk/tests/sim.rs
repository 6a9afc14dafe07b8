//! `ropewalk sim` as a user meets it: the real binary, its output, its files, its exit codes. No
//! root needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::label_of;

/// A directory that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ropewalk-sim-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
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

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.arg("sim").args(args);
    command
}

fn sim(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Two machines, a cable, a download; `more` at its end.
fn cable(more: &str) -> String {
    format!(
        "title = \"a cable\"\nduration = \"2s\"\nwarmup = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\nends = [\"a:eth0\", \"b:eth0\"]\n\
         rate = \"10Mbit/s\"\ndelay = \"5ms\"\n[[flow]]\nname = \"down\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"4Mbit/s\"\n{more}"
    )
}

const SWEEP: &str = "[sweep]\nseeds = 3\n[[sweep.axis]]\nname = \"rate\"\nkey = \"flow.down.rate\"\nvalues = [\"2Mbit/s\", \"4Mbit/s\", \"20Mbit/s\"]\n\
     [[figure]]\nname = \"rates\"\nx = \"rate\"\ny = [\"flow.down.goodput_mbps\"]\n";

/// Every file below a directory with what is in it.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            all.insert(name, fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn a_run_prints_what_each_flow_got_and_leaves_files() {
    let scratch = Scratch::new("run");
    let file = scratch.file("s.toml", &cable("[measure]\ninterval = \"100ms\"\n[[figure]]\nname = \"time\"\nx = \"time\"\ny = [\"flow.down.goodput_mbps\"]\n"));
    let directory = scratch.path("out");
    let output = sim(&["run", &file, "--out", &directory]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    assert!(text.starts_with("a cable: 1 s counted of 2 s, seed 1\n\nflow"), "{text}");
    assert!(text.contains("\ndown  "), "{text}");
    let names: Vec<String> = files(Path::new(&directory)).into_keys().collect();
    assert_eq!(names, ["flow.csv", "interface.csv", "link.csv", "report.json", "series.csv", "time.svg"]);
    let json = sim(&["run", &file, "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let goodput = report["flow"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((3.8..=4.0).contains(&goodput), "{goodput}");
    assert_eq!(report["provenance"]["seed"], 1);
}

#[test]
fn the_same_seed_gives_the_same_files_and_settings_change_them() {
    let scratch = Scratch::new("same");
    let file = scratch.file("s.toml", &cable(""));
    let report = |args: &[&str]| out(&sim(&[&["run", &file, "--json"], args].concat()));
    assert_eq!(report(&[]), report(&["--seed", "1"]));
    assert_ne!(report(&[]), report(&["--seed", "2"]));
    let slow: serde_json::Value =
        serde_json::from_str(&report(&["--set", "flow.down.rate=1Mbit/s", "--set", "link.wan.delay=1ms"]))
            .unwrap();
    let goodput = slow["flow"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((0.95..=1.0).contains(&goodput), "{goodput}");
}

#[test]
fn captures_are_written_and_unknown_names_refused() {
    let scratch = Scratch::new("pcap");
    let file = scratch.file("s.toml", &cable(""));
    let directory = scratch.path("out");
    let output = sim(&["run", &file, "--out", &directory, "--pcap", "a:eth0"]);
    assert!(output.status.success(), "{}", err(&output));
    let pcap = &files(Path::new(&directory))["a-eth0.pcap"];
    // 4 Mbit/s for 2 s in packets of 1500 bytes, each with its record's header.
    assert!(pcap.len() > 660 * 1500, "{} bytes", pcap.len());
    let output = sim(&["run", &file, "--out", &directory, "--pcap", "a:eth9"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).starts_with("ropewalk: --pcap a:eth9: "), "{}", err(&output));
}

#[test]
fn what_a_radio_hears_may_be_written_of_the_same_scenario() {
    let scratch = Scratch::new("heard");
    let cell = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/single-cell.toml");
    let scenario = |name: &str, more: &[&str]| {
        let directory = scratch.path(name);
        let short = ["--set", "duration=300ms", "--set", "warmup=100ms"];
        sim(&[&["run", cell, "--out", &directory], &short[..], more].concat());
        let made = files(Path::new(&directory));
        assert_eq!(made.contains_key("sta-r0.pcap"), !more.is_empty());
        let report: serde_json::Value = serde_json::from_slice(&made["report.json"]).unwrap();
        report["provenance"]["scenario"].as_str().unwrap().to_owned()
    };
    assert_eq!(scenario("with", &["--pcap", "sta:r0"]), scenario("without", &[]));
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let scratch = Scratch::new("wrong");
    let file = scratch.file("s.toml", &cable("[[expect]]\nmetric = \"flow.up.bytes\"\nmin = 1\n"));
    for command in ["run", "sweep", "check"] {
        let output = sim(&[command, &file]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            err(&output),
            format!("ropewalk: {file}:18: expect.0.metric: there is no flow `up`; known are down\n")
        );
    }
    let output = sim(&["run", &file, "--set", "duraton=3s"]);
    assert_eq!(
        err(&output),
        "ropewalk: --set duraton=3s: duraton: there is no key `duraton`; did you mean `duration`?\n"
    );
    let well = scratch.file("w.toml", &cable(SWEEP));
    let output = sim(&["check", &well]);
    assert_eq!(out(&output), format!("{well}: well; 2 machines, 1 flow, 9 runs in its sweep\n"));
    let output = sim(&["check", &well, &file, "/nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output)
            .ends_with("\n/nowhere.toml: the file cannot be read: No such file or directory (os error 2)\n")
    );
}

#[test]
fn an_expectation_that_does_not_hold_has_its_exit_code() {
    let scratch = Scratch::new("expect");
    let bands = "[[expect]]\nmetric = \"flow.down.goodput_mbps\"\nmin = 5\n[[expect]]\nmetric = \"flow.down.goodput_mbps\"\nwithin = { of = 4, tolerance = \"5%\" }\n";
    let file = scratch.file("s.toml", &cable(bands));
    let output = sim(&["run", &file]);
    assert_eq!(output.status.code(), Some(8));
    let (text, said) = (out(&output), err(&output));
    assert!(text.contains("\nholds: flow.down.goodput_mbps is 3.9"), "{text}");
    assert!(
        said.starts_with("ropewalk: an expectation does not hold\nFAILS: flow.down.goodput_mbps is 3.9"),
        "{said}"
    );
    assert!(said.ends_with(", expected at least 5\n"), "{said}");
}

#[test]
fn expectations_over_seeds_are_judged_by_a_sweep_and_left_open_by_a_run() {
    let scratch = Scratch::new("over");
    let over =
        "[[expect]]\nmetric = \"flow.down.goodput_mbps\"\nover = \"mean\"\nconfidence = \"95%\"\nmin = 1.5\n";
    let file = scratch.file("s.toml", &cable(&format!("{SWEEP}{over}")));
    let single = out(&sim(&["run", &file]));
    assert!(
        single.ends_with("\none expectation is over seeds: `ropewalk sim sweep` judges it\n"),
        "{single}"
    );
    let directory = scratch.path("out");
    let good = sim(&["sweep", &file, "--out", &directory]);
    assert_eq!(good.status.code(), Some(0), "{}", err(&good));
    let told = out(&good);
    let mean = "holds: the mean of flow.down.goodput_mbps over 3 seeds is 3.9";
    assert!(told.lines().any(|l| l.starts_with(mean) && l.ends_with("(rate = 4Mbit/s)")), "{told}");
    let summary: serde_json::Value =
        serde_json::from_slice(&files(Path::new(&directory))["sweep.json"]).unwrap();
    assert_eq!(summary["over_seeds"].as_array().unwrap().len(), 3);
    let strict = scratch.file("t.toml", &cable(&format!("{SWEEP}{}", over.replace("1.5", "2.5"))));
    let bad = sim(&["sweep", &strict, "--out", &scratch.path("bad")]);
    assert_eq!(bad.status.code(), Some(8));
    let said = err(&bad);
    let begin = "ropewalk: an expectation does not hold\nFAILS: rate = 2Mbit/s: the mean of flow.down.goodput_mbps over 3 seeds is 1.9";
    assert!(said.starts_with(begin) && said.ends_with(", expected at least 2.500\n"), "{said}");
}

#[test]
fn a_place_that_cannot_be_written_is_one_sentence() {
    let scratch = Scratch::new("unwritable");
    let file = scratch.file("s.toml", &cable(SWEEP));
    let taken = scratch.file("taken", "a file");
    for command in ["run", "sweep"] {
        let output = sim(&[command, &file, "--out", &taken]);
        assert_eq!(output.status.code(), Some(9));
        let want = format!(
            "ropewalk: results cannot be written to {taken}: File exists (os error 17); choose another directory with --out\n"
        );
        assert_eq!(err(&output), want);
    }
    assert_eq!(sim(&["run", &file, "--out", "/proc/nowhere"]).status.code(), Some(9));
}

#[cfg(feature = "parquet")]
#[test]
fn tables_are_parquet_where_that_is_asked_for() {
    let scratch = Scratch::new("parquet");
    let file = scratch.file("s.toml", &cable(&format!("[measure]\ninterval = \"500ms\"\n{SWEEP}")));
    let results = scratch.path("out");
    let ran = sim(&["sweep", &file, "--out", &results, "--format", "parquet"]);
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let made = files(Path::new(&results));
    let axes = ["rate".to_owned()];
    let rows = |name: &str| {
        let bytes = made[&format!("{name}.parquet")].clone();
        ropewalk_table::parquet::decode(name, &axes, bytes.into()).unwrap().rows()
    };
    // A row for each of nine runs; and four intervals of the same figures in each.
    assert_eq!((rows("runs"), rows("flow"), rows("link")), (9, 9, 18));
    assert!(rows("series") > 9 * 4 && rows("series") % (9 * 4) == 0, "{}", rows("series"));
    assert!(made.contains_key("sweep.json") && !made.keys().any(|name| name.ends_with(".csv")), "{made:?}");

    // What it was asked for with no place to put it.
    let ran = sim(&["run", &file, "--format", "parquet"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(err(&ran).contains("--out"), "{}", err(&ran));
    let ran = sim(&["run", &file, "--format", "parquet", "--out", &file]);
    assert_eq!(ran.status.code(), Some(9));
    assert!(err(&ran).contains("results cannot be written to"), "{}", err(&ran));
}

#[test]
fn a_disk_that_fills_up_is_one_sentence_and_leaves_no_half_file() {
    let scratch = Scratch::new("full");
    let file = scratch.file("s.toml", &cable(SWEEP));
    let directory = scratch.path("out");
    // The shell's limit on the size of files stands for the disk: blocks of 512 bytes, so that the probe fits and a report does not.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" sim sweep \"$1\" --out \"$2\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_ropewalk"), &file, &directory])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(9), "{}", err(&output));
    let said = err(&output);
    assert!(said.starts_with(&format!("ropewalk: {directory}/runs/0000")), "{said}");
    assert!(said.ends_with(".json cannot be written: File too large (os error 27)\n"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(files(Path::new(&directory)).is_empty(), "{:?}", files(Path::new(&directory)).keys());
}

#[test]
fn an_output_or_a_capture_for_which_there_is_no_room_is_one_sentence() {
    let scratch = Scratch::new("no-room");
    let file = scratch.file("s.toml", &cable(""));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&["run", &file]).stdout(full).output().unwrap();
    let want =
        "ropewalk: the output cannot be written: No space left on device (os error 28); send it elsewhere\n";
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(9), want));

    let directory = scratch.path("out");
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" sim run \"$1\" --pcap a:eth0 --out \"$2\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_ropewalk"), &file, &directory])
        .output()
        .unwrap();
    let want = "ropewalk: a capture file cannot be written: File too large (os error 27); choose another directory with --out\n";
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(9), want));
}

#[test]
fn a_sweep_leaves_tables_charts_and_a_summary() {
    let scratch = Scratch::new("sweep");
    let file = scratch.file("s.toml", &cable(SWEEP));
    let directory = scratch.path("out");
    let output = sim(&["sweep", &file, "--out", &directory, "--jobs", "2"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(out(&output), format!("9 runs: tables and charts are in {directory}\n"));
    let made = files(Path::new(&directory));
    assert_eq!(made.keys().filter(|n| n.starts_with("runs/")).count(), 9);
    let flows = String::from_utf8(made["flow.csv"].clone()).unwrap();
    assert!(flows.starts_with("rate,seed,name,kind,from,to,bytes,goodput_mbps,"), "{flows}");
    assert_eq!(flows.lines().count(), 10);
    assert!(flows.lines().nth(4).unwrap().starts_with("4Mbit/s,1,down,udp,a,b,"), "{flows}");
    assert!(String::from_utf8_lossy(&made["rates.svg"]).contains("a cable"));
    // Workers are not to be seen in what comes out.
    let alone = scratch.path("alone");
    assert!(sim(&["sweep", &file, "--out", &alone, "--jobs", "1"]).status.success());
    assert_eq!(files(Path::new(&alone)), made);
    // Both name the build.
    let version = |file: &str| -> String {
        let of: serde_json::Value = serde_json::from_slice(&made[file]).unwrap();
        of.get("version").unwrap_or(&of["provenance"]["version"]).to_string()
    };
    let run = made.keys().find(|name| name.starts_with("runs/")).unwrap();
    assert_eq!(version("sweep.json"), version(run));
    // A second sweep does not write over the first.
    let again = sim(&["sweep", &file, "--out", &directory]);
    assert_eq!(again.status.code(), Some(4));
    assert!(err(&again).contains("has runs already; add --resume"), "{}", err(&again));
}

#[test]
fn a_sweep_goes_on_with_what_is_missing_and_with_what_has_changed() {
    let scratch = Scratch::new("resume");
    let file = scratch.file("s.toml", &cable(SWEEP));
    let directory = scratch.path("out");
    assert!(sim(&["sweep", &file, "--out", &directory]).status.success());
    let (whole, run) =
        (files(Path::new(&directory)), |n: usize| Path::new(&directory).join(format!("runs/{n:06}.json")));
    let stamp = |n: usize| fs::metadata(run(n)).unwrap().modified().unwrap();
    fs::remove_file(run(2)).unwrap();
    fs::write(run(5), "{ half a").unwrap();
    let kept = stamp(0);
    assert!(sim(&["sweep", &file, "--out", &directory, "--resume"]).status.success());
    assert_eq!(files(Path::new(&directory)), whole);
    assert_eq!(stamp(0), kept, "a finished run is not run again");
    // Another scenario's runs do not count as this one's.
    scratch.file("s.toml", &cable(SWEEP).replace("5ms", "6ms"));
    assert!(sim(&["sweep", &file, "--out", &directory, "--resume"]).status.success());
    assert_ne!(stamp(0), kept);
}

#[test]
fn tables_and_charts_that_a_changed_file_does_not_make_go() {
    let scratch = Scratch::new("stale");
    let file = scratch.file("s.toml", &cable(&format!("[measure]\ninterval = \"500ms\"\n{SWEEP}")));
    let directory = scratch.path("out");
    assert!(sim(&["sweep", &file, "--out", &directory]).status.success());
    let names = || {
        let names = files(Path::new(&directory)).into_keys();
        names.filter(|name| !name.starts_with("runs/")).collect::<Vec<_>>()
    };
    let before =
        ["flow.csv", "interface.csv", "link.csv", "rates.svg", "series.csv", "sweep.json"].map(str::to_owned);
    assert_eq!(names(), before);
    // A table's name, but the user's file: this sweep has no stations.
    scratch.file("out/station.csv", "mine");
    scratch.file("s.toml", &cable(&SWEEP.replace("name = \"rates\"", "name = \"speeds\"")));
    assert!(sim(&["sweep", &file, "--out", &directory, "--resume"]).status.success());
    let after = ["flow.csv", "interface.csv", "link.csv", "speeds.svg", "station.csv", "sweep.json"];
    assert_eq!(names(), after);
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

#[test]
fn ctrl_c_keeps_what_is_finished() {
    let scratch = Scratch::new("interrupt");
    let many = SWEEP.replace("seeds = 3", "seeds = 400");
    let file = scratch.file("s.toml", &cable(&many));
    let directory = scratch.path("out");
    let child = command(&["sweep", &file, "--out", &directory, "--jobs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !Path::new(&directory).join("runs/000003.json").exists() {
        std::thread::yield_now();
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    let said = err(&output);
    assert!(
        said.starts_with("ropewalk: interrupted: ") && said.contains(" of 1200 runs are finished and in "),
        "{said}"
    );
    let made = files(Path::new(&directory));
    let finished = made.keys().filter(|n| n.starts_with("runs/")).count();
    assert!((4..1200).contains(&finished), "{finished}");
    assert_eq!(String::from_utf8_lossy(&made["flow.csv"]).lines().count(), finished + 1);
    assert!(made.contains_key("rates.svg") && made.contains_key("sweep.json"));
}

#[test]
fn ctrl_c_leaves_no_capture_of_an_unfinished_run() {
    let scratch = Scratch::new("interrupt-pcap");
    let file = scratch.file("s.toml", &cable(""));
    let directory = scratch.path("out");
    let child = command(&["run", &file, "--out", &directory, "--pcap", "a:eth0", "--set", "duration=10000s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has = |name: &str| fs::metadata(Path::new(&directory).join(name)).is_ok_and(|m| m.len() > 0);
    while !has("a-eth0.pcap") && !has("a-eth0.pcap.part") {
        std::thread::yield_now();
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert!(files(Path::new(&directory)).is_empty(), "{:?}", files(Path::new(&directory)).keys());
}

/// Every scenario that people are shown holds what it says of itself, at every point of its sweep.
#[test]
fn every_example_holds_its_expectations() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scratch = Scratch::new("examples");
    let mut all: Vec<PathBuf> = fs::read_dir(&scenarios).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    // Of those below, which are papers' and models', whatever expects something, where it does; with
    // one seed, as they are long, but for what is judged over seeds.
    let mut below = Vec::new();
    expecting(&scenarios, &mut below);
    below.retain(|path| !all.contains(path));
    assert!(!below.is_empty(), "scenarios/003/bond.toml expects something");
    all.sort();
    assert!(all.len() >= 12, "{all:?}");
    for file in &all {
        let expects = fs::read_to_string(file).unwrap().contains("[[expect]]");
        assert!(expects, "{} expects nothing", file.display());
    }
    let examples: BTreeSet<&PathBuf> = all.iter().collect();
    let sweep = |file: &PathBuf| {
        let path = file.display().to_string();
        let directory = scratch.path(&path.replace('/', "-"));
        let only = if examples.contains(file) { Vec::new() } else { judged(file) };
        let mut sweep = vec!["sweep", &path, "--out", &directory];
        sweep.extend(only.iter().flat_map(|setting| ["--set", setting.as_str()]));
        if !examples.contains(file) && !fs::read_to_string(file).unwrap().contains("\nover = ") {
            sweep.extend(["--set", "sweep.seeds=1"]);
        }
        let output = sim(&sweep);
        assert!(output.status.success(), "{path}\n{}", err(&output));
    };
    // The last runs of one sweep leave processors to the next one.
    let (files, next) = ([&all[..], &below[..]].concat(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    sweep(file);
                }
            });
        }
    });
}

/// What to set so that a sweep has of each axis only the cases that its expectations name. The others
/// are its paper's: nothing is judged there.
fn judged(file: &Path) -> Vec<String> {
    let scenario = Document::read(file).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
    let mut settings = Vec::new();
    for axis in scenario.sweep.axis.iter().filter(|axis| !axis.cases.is_empty()) {
        let name = axis.label();
        let named = scenario.expect.iter().map(|expect| expect.when.get(&name).map(label_of));
        // An expectation that names none is about them all.
        let Some(named) = named.collect::<Option<BTreeSet<String>>>() else { continue };
        let cases = axis.cases.iter().filter(|(label, _)| named.contains(*label));
        let cases = cases.map(|(label, case)| {
            let keys: Vec<String> = case.iter().map(|(key, value)| format!("{key:?} = {value}")).collect();
            format!("{label:?} = {{ {} }}", keys.join(", "))
        });
        let cases: Vec<String> = cases.collect();
        settings.push(format!("sweep.axis.{name}.cases={{ {} }}", cases.join(", ")));
    }
    settings
}

/// Scenario files below a directory that expect something.
fn expecting(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            expecting(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml")
            && fs::read_to_string(&path).unwrap().lines().any(|line| line == "[[expect]]")
        {
            found.push(path);
        }
    }
}
