//! `ropewalk reproduce` as a user meets it. No root needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ropewalk-reproduce-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("scenarios/cables")).unwrap();
        fs::create_dir_all(path.join("docs")).unwrap();
        fs::write(path.join("scenarios/cables/cable.toml"), SCENARIO).unwrap();
        fs::write(path.join("scenarios/cables/paper.toml"), PAPER).unwrap();
        Scratch(path)
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ropewalk"))
            .current_dir(&self.0)
            .arg("reproduce")
            .args(args)
            .output()
            .unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn change(&self, from: &str, to: &str) {
        let text = self.read("scenarios/cables/paper.toml");
        assert!(text.contains(from), "{from}");
        fs::write(self.0.join("scenarios/cables/paper.toml"), text.replacen(from, to, 1)).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SCENARIO: &str = "title = \"a cable\"\nduration = \"2s\"\nwarmup = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\n\
     ends = [\"a:eth0\", \"b:eth0\"]\nrate = \"10Mbit/s\"\ndelay = \"5ms\"\n[[flow]]\nname = \"down\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"b\"\n\
     rate = \"4Mbit/s\"\n[sweep]\nseeds = 2\n[[sweep.axis]]\nname = \"load\"\nkey = \"flow.down.rate\"\nvalues = [\"2Mbit/s\", \"4Mbit/s\", \"20Mbit/s\"]\n";

const PAPER: &str = "title = \"On cables\"\ncitation = \"Nobody, 1999.\"\nabout = \"Of cables.\"\nquick = [\"duration=1500ms\"]\n\
     [[run]]\nname = \"cable\"\nscenario = \"cable.toml\"\n\
     [[series]]\nname = \"udp\"\nrun = \"cable\"\nmetric = \"flow.down.goodput_mbps\"\nover = \"load\"\n\
     [[claim]]\nid = \"C-1\"\nplace = \"Table 1\"\nwhat = \"4 Mbit/s pass\"\nreported = 4.1\nunit = \"Mbit/s\"\nvalue = \"udp[4Mbit/s]\"\ntolerance = \"10%\"\n\
     [[claim]]\nid = \"C-2\"\nplace = \"Table 1\"\nwhat = \"20 pass\"\nreported = 20\nunit = \"Mbit/s\"\nvalue = \"udp[20Mbit/s]\"\ntolerance = \"10%\"\n\
     because.sim = \"A cable carries what it carries.\"\n\
     [[claim]]\nid = \"C-3\"\nplace = \"text\"\nwhat = \"arithmetic\"\nreported = 3\nvalue = \"1 + 2\"\nmin = 3\n\
     [[claim]]\nid = \"C-4\"\nplace = \"text\"\nwhat = \"clock\"\nreported = \"fast\"\nsetting = \"nowhere\"\n\
     [[claim]]\nid = \"C-5\"\nplace = \"Fig 1\"\nwhat = \"smell\"\nreported = \"none\"\nwithout-radios = \"There is no nose.\"\n\
     [[table]]\ntitle = \"All loads\"\nabout = \"Once and twice.\"\ncorner = \"of\"\n[[table.row]]\ntitle = \"nothing\"\nvalue = [\"udp - udp\", \"udp / udp\"]\n\
     [[plot]]\nname = \"one\"\ntitle = \"By load\"\nx = \"load\"\ny = \"Mbit/s\"\n\
     [[plot.line]]\ntitle = \"UDP\"\nvalue = \"udp\"\nreported = { \"4Mbit/s\" = \"C-1\" }\n";

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_paper_becomes_a_page() {
    let scratch = Scratch::new("page");
    let output = scratch.run(&["cables"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let page = scratch.read("docs/papers/cables.md");
    for part in [
        "Of 5 claims, in the simulator: 1 reproduced, 1 differ, 1 not reproducible without radios, 1 parts of the setup, 1 arithmetic. The lab was not run.",
        "## All loads\n\nOnce and twice.\n\n| of | 2Mbit/s | 4Mbit/s | 20Mbit/s |\n|---|---|---|---|\n| nothing | 0 / 1 | 0 / 1 | 0 / 1 |",
        "| C-3 | text | arithmetic | 3 | at least 3 | 3.00 (worked out) | – | arithmetic |",
        "not run | reproduced |",
        "not run | differs, see below |",
        "* **C-2**, 20 pass: 20 Mbit/s in the paper, ",
        "in the simulator. A cable carries what it carries.",
        "* **C-5**, smell: none in the paper, not reproducible without radios. There is no nose.",
        "| C-4 | text | clock | fast | nowhere |",
        "![By load](cables/one.svg)",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(scratch.read("docs/papers/cables/one.svg").contains("<svg"));
    // The same again from what is kept: the same bytes, and nothing runs.
    let first = fs::metadata(scratch.0.join("reproduce-cables/sim/cable/runs/000000.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(code(&scratch.run(&["cables"])), 4);
    assert_eq!(code(&scratch.run(&["scenarios/cables", "--resume"])), 0);
    assert_eq!(scratch.read("docs/papers/cables.md"), page);
    let again = fs::metadata(scratch.0.join("reproduce-cables/sim/cable/runs/000000.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(first, again);
}

#[test]
fn what_differs_without_a_reason_fails_and_a_reason_too_many_is_said() {
    let scratch = Scratch::new("reasons");
    scratch.change("because.sim = \"A cable carries what it carries.\"\n", "");
    scratch.change("tolerance = \"10%\"\n", "tolerance = \"10%\"\nbecause.sim = \"Old.\"\n");
    let output = scratch.run(&["cables", "--quick", "--out", "out", "--runs", "kept"]);
    assert_eq!(code(&output), 8, "{}", said(&output));
    assert!(said(&output).contains("C-2 (20 pass): simulator gives"), "{}", said(&output));
    assert!(
        said(&output).contains("C-1: it is reproduced, so its `because.sim` is no longer true"),
        "{}",
        said(&output)
    );
    let page = scratch.read("out/cables.md");
    assert!(page.contains("differs, unexplained") && page.contains("Nobody knows yet."), "{page}");
    assert!(page.contains("cut short") && page.contains("`ropewalk reproduce cables --quick`"), "{page}");
    assert!(Path::new(&scratch.0.join("kept/sim/cable/runs/000005.json")).is_file());
}

#[test]
fn what_cannot_be_run_is_refused() {
    let scratch = Scratch::new("refused");
    for (args, exit, words) in [
        (&["cabels"][..], 2, "there is no paper `cabels`"),
        (&["none"][..], 2, "known are cables"),
        (&["cables", "--both", "--sim"][..], 2, "cannot be used with"),
        (&["cables", "--out", "scenarios/cables/cable.toml"][..], 9, "choose another directory"),
    ] {
        let output = scratch.run(args);
        assert_eq!(code(&output), exit, "{args:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
    scratch.change("\"udp / udp\"", "\"max(udp)\"");
    let output = scratch.run(&["cables"]);
    assert!(said(&output).contains("`max(udp)` has not the labels of the other cells"), "{}", said(&output));
    scratch.change("\"max(udp)\"", "\"udp\"");
    scratch.change("udp[20Mbit/s]", "upd[20Mbit/s]");
    let output = scratch.run(&["cables"]);
    assert_eq!(code(&output), 2);
    assert!(
        said(&output).contains("paper.toml:") && said(&output).contains("did you mean `udp`?"),
        "{}",
        said(&output)
    );
}
