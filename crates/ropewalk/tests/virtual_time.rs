//! `ropewalk lab run --virtual` as a user meets it: real kernels in virtual time. No root needed, but QEMU and a kernel under
//! `VM_ROOT`; without them it says so and passes. `./run test` gets both.
//!
//! Each run takes some twelve seconds of processor time, most of it for booting.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use ropewalk_lab::machine::Source;
use ropewalk_scenario::Report;

/// A directory that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ropewalk-virtual-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
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
    let lacks_emulator = Command::new("qemu-system-x86_64").arg("--version").output().err();
    let why = Source::find(None).err().map(|e| e.to_string());
    let why = why.or_else(|| lacks_emulator.map(|e| format!("qemu-system-x86_64: {e}")));
    why.map(ropewalk_skip::skip).is_none()
}

/// A cable that loses packets by chance.
fn lossy(scratch: &Scratch) -> String {
    let scenario = "title = \"a cable\"\nduration = \"600ms\"\nwarmup = \"100ms\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\n\
                    ends = [\"a:eth0\", \"b:eth0\"]\nrate = \"20Mbit/s\"\ndelay = \"5ms\"\nloss = \"2%\"\n\
                    [measure]\ninterval = \"100ms\"\n[[flow]]\nname = \"up\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\n";
    let file = scratch.path("cable.toml");
    fs::write(&file, scenario).unwrap();
    file
}

/// The files of a directory of results.
fn files(directory: &str) -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_dir(directory).unwrap().map(|e| e.unwrap());
    all.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

fn report(directory: &str) -> Report {
    serde_json::from_slice(&files(directory)["report.json"]).unwrap()
}

#[test]
fn runs_of_one_seed_are_equal_to_the_byte_and_of_two_are_not() {
    if !possible() {
        return;
    }
    let scratch = Scratch::new("equal");
    let file = lossy(&scratch);
    let run = |name: &str, seed: &str| {
        let out = scratch.path(name);
        let run = ropewalk(&["lab", "run", "--virtual", &file, "--seed", seed, "--out", &out]);
        assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
        let said = text(&run.stdout);
        assert!(said.contains("in virtual time: late by") && said.contains("in QEMU "), "{said}");
        out
    };
    let (first, again, other) = (run("first", "7"), run("again", "7"), run("other", "8"));
    assert_eq!(files(&first), files(&again));
    // The null case: what is equal there differs here, and not in the seed's number alone.
    let (one, two) = (report(&first), report(&other));
    assert_ne!(one.flow, two.flow);
    assert_ne!(one.series.rows, two.series.rows);
    let (a, b) = (one.provenance.lab.unwrap(), two.provenance.lab.unwrap());
    assert_ne!(a.late_us, b.late_us);
    assert!(a.idle.is_some_and(|share| (0.1..=1.0).contains(&share)), "{a:?}");
    assert!(one.flow[0].goodput_mbps > 1.0, "{:?}", one.flow);
    // Two columns of one kind and the simulator's, as a user puts them side by side.
    let sim = scratch.path("sim");
    assert_eq!(ropewalk(&["sim", "run", &file, "--seed", "7", "--out", &sim]).status.code(), Some(0));
    let said = text(&ropewalk(&["compare", &sim, &first, &other, "--all"]).stdout);
    assert!(said.contains("A is simulator, seed 7; B is lab in virtual time, seed 7; C is"), "{said}");
}

/// The machine's kernel has a shorter `struct tcp_info` than the one that the lab asks for.
#[test]
fn subflows_carry_what_their_cables_can() {
    if !possible() {
        return;
    }
    let scratch = Scratch::new("subflows");
    let file = lossy(&scratch);
    let mut scenario =
        fs::read_to_string(&file).unwrap().replace("\"2%\"", "\"0%\"").replace("\"tcp\"", "\"mptcp\"");
    scenario +=
        "[[link]]\nname = \"lte\"\nends = [\"a:eth1\", \"b:eth1\"]\nrate = \"10Mbit/s\"\ndelay = \"10ms\"\n";
    fs::write(&file, scenario).unwrap();
    let out = scratch.path("out");
    let run = ropewalk(&["lab", "run", "--virtual", &file, "--out", &out]);
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    let report = report(&out);
    let [wan, lte] = &report.subflow[..] else { panic!("{:?}", report.subflow) };
    for (subflow, rate) in [(wan, 20.0), (lte, 10.0)] {
        assert!((0.5..=rate).contains(&subflow.goodput_mbps) && subflow.cwnd_bytes > 0, "{subflow:?}");
    }
    let sum = wan.bytes + lte.bytes;
    assert!(report.flow[0].bytes.abs_diff(sum) * 50 <= sum, "{report:?}");
}

#[test]
fn what_is_too_fast_for_the_machine_is_refused() {
    if !possible() {
        return;
    }
    let scratch = Scratch::new("fast");
    let file = lossy(&scratch);
    let out = scratch.path("out");
    let set = ["--set", "link.wan.rate=8Gbit/s", "--set", "link.wan.loss=0%"];
    let run = ropewalk(&[&["lab", "run", "--virtual", &file, "--out", &out], &set[..]].concat());
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(10), "{said}");
    assert!(said.contains("in the machine: this scenario is too fast"), "{said}");
    assert!(!PathBuf::from(out).join("report.json").exists());
}

#[test]
fn without_a_kernel_it_says_where_to_get_one() {
    let scratch = Scratch::new("kernel");
    let file = lossy(&scratch);
    let run = ropewalk(&["lab", "run", "--virtual", &file, "--kernel", &scratch.path("none")]);
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("apt-get download") && said.contains("--kernel DIR"), "{said}");
}

/// Each point of a sweep is run, not its base, and a page has a column of it.
#[test]
fn a_paper_has_a_column_of_a_kernel_in_virtual_time() {
    if !possible() {
        return;
    }
    let scratch = Scratch::new("paper");
    lossy(&scratch);
    let mut scenario = fs::read_to_string(scratch.path("cable.toml")).unwrap();
    scenario =
        scenario.replace("kind = \"tcp\"", "kind = \"udp\"\nrate = \"1Mbit/s\"").replace("\"2%\"", "\"0%\"");
    scenario += "[sweep]\nseeds = 1\n[[sweep.axis]]\nname = \"load\"\n[sweep.axis.cases]\n2 = { \"flow.up.rate\" = \"2Mbit/s\" }\n4 = { \"flow.up.rate\" = \"4Mbit/s\" }\n";
    let paper = "title = \"On cables\"\ncitation = \"Nobody, 1999.\"\n[[run]]\nname = \"cable\"\nscenario = \"cable.toml\"\n\
                 [[series]]\nname = \"udp\"\nrun = \"cable\"\nmetric = \"flow.up.goodput_mbps\"\nover = \"load\"\n\
                 [[claim]]\nid = \"C-1\"\nplace = \"here\"\nwhat = \"twice the load\"\nreported = 2\nvalue = \"udp[4] / udp[2]\"\ntolerance = \"2%\"\n";
    fs::write(scratch.path("cable.toml"), scenario).unwrap();
    fs::write(scratch.path("paper.toml"), paper).unwrap();
    let (directory, out, runs) = (scratch.path(""), scratch.path("out"), scratch.path("runs"));
    let run = ropewalk(&["reproduce", &directory, "--virtual", "--out", &out, "--runs", &runs]);
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    let name = scratch.0.file_name().unwrap().to_string_lossy().into_owned();
    let page = fs::read_to_string(format!("{out}/{name}.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| C-1 |")).unwrap();
    assert!(page.contains("| simulator | lab | kernel, virtual time |"), "{page}");
    assert!(row.contains("| not run | not run | ") && row.ends_with("| reproduced |"), "{row}");
    assert!(page.contains("in QEMU "), "{page}");
}
