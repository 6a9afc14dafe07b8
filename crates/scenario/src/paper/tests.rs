//! A small paper, well and damaged.

use super::*;
use crate::report::{FlowRow, Provenance, Series};
use std::path::PathBuf;

const SCENARIO: &str = "duration = \"2s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\nends = [\"a:eth0\", \"b:eth0\"]\nrate = \"10Mbit/s\"\n\
     [[flow]]\nname = \"down\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"4Mbit/s\"\n\
     [sweep]\nseeds = 2\n[[sweep.axis]]\nname = \"load\"\nkey = \"flow.down.rate\"\nvalues = [\"2Mbit/s\", \"4Mbit/s\"]\n";

const PAPER: &str = "title = \"On cables\"\ncitation = \"Nobody, 1999\"\nquick = [\"duration=1s\"]\n\
     [[run]]\nname = \"cable\"\nscenario = \"cable.toml\"\n\
     [[series]]\nname = \"udp\"\nrun = \"cable\"\nmetric = \"flow.down.goodput_mbps\"\nover = \"load\"\n\
     [[series]]\nname = \"four\"\nrun = \"cable\"\nmetric = \"flow.down.goodput_mbps\"\nwhen = { load = \"4Mbit/s\" }\n\
     [[claim]]\nid = \"C-1\"\nplace = \"Table 1\"\nwhat = \"slope\"\nreported = 1.0\nvalue = \"slope(udp)\"\ntolerance = \"5%\"\n\
     [[claim]]\nid = \"C-2\"\nplace = \"Table 1\"\nwhat = \"rate\"\nreported = [4.5, 5]\nvalue = \"four\"\ntolerance = \"1%\"\nbecause = { sim = \"a reason\" }\n\
     [[claim]]\nid = \"C-3\"\nplace = \"text\"\nwhat = \"arithmetic\"\nreported = 3\nvalue = \"1 + 2\"\nmin = 3\n\
     [[claim]]\nid = \"C-4\"\nplace = \"text\"\nwhat = \"clock\"\nreported = \"fast\"\nsetting = \"nowhere\"\n\
     [[claim]]\nid = \"C-5\"\nplace = \"text\"\nwhat = \"wait\"\nreported = \"short\"\nmissing = \"nobody counts it\"\n\
     [[plot]]\nname = \"one\"\ntitle = \"one\"\nx = \"load\"\ny = \"Mbit/s\"\n\
     [[plot.line]]\ntitle = \"udp\"\nvalue = \"udp\"\nreported = { \"4Mbit/s\" = \"C-1\" }\n";

/// A paper's directory that goes away.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str, paper: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("ropewalk-paper-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(FILE_NAME), paper).unwrap();
        std::fs::write(path.join("cable.toml"), SCENARIO).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn report(load: &str, seed: u64, goodput_mbps: f64) -> Report {
    let provenance = Provenance { point: vec![("load".into(), load.into())], seed, ..Provenance::default() };
    let flow = vec![FlowRow { name: "down".into(), goodput_mbps, ..FlowRow::default() }];
    Report { provenance, flow, ..Report::default() }
}

#[test]
fn claims_are_judged_by_the_mean_over_seeds() {
    let directory = Directory::new("judged", PAPER);
    let paper = Paper::read(&directory.0, false).unwrap();
    let all = [("2Mbit/s", 1, 1.9), ("2Mbit/s", 2, 2.1), ("4Mbit/s", 1, 3.0), ("4Mbit/s", 2, 5.0)];
    let reports: Vec<Report> = all.map(|(load, seed, rate)| report(load, seed, rate)).to_vec();
    let outcome = |i: usize, reports: &[Report]| {
        let (paper, reports) = (&paper, reports.to_vec());
        paper.file.claim[i].outcome("sim", &move |name| paper.series(name, "sim", &|_| reports.clone()))
    };
    assert_eq!(outcome(0, &reports), Outcome::Reproduced(1.0));
    assert_eq!(outcome(1, &reports), Outcome::Differs(4.0, Some("a reason".into())));
    assert_eq!(outcome(3, &reports), Outcome::Setting("nowhere".into()));
    assert_eq!(outcome(4, &reports), Outcome::Missing("nobody counts it".into()));
    // A seed that is missing is not made up for by the others; arithmetic needs no run.
    assert_eq!(outcome(1, &reports[..3]), Outcome::NotRun);
    assert_eq!(outcome(2, &[]), Outcome::Reproduced(3.0));
    assert!(paper.file.claim[2].is_arithmetic() && !paper.file.claim[0].is_arithmetic());
}

#[test]
fn a_series_can_run_over_seeds_and_over_time() {
    let seeds = "[[series]]\nname = \"each\"\nrun = \"cable\"\nmetric = \"flow.down.goodput_mbps\"\nwhen = { load = \"4Mbit/s\" }\nover = \"seed\"\n";
    let time = seeds.replace("\"each\"", "\"rows\"").replace("\"seed\"", "\"time\"");
    let directory = Directory::new("over", &format!("{PAPER}{seeds}{time}"));
    let error = Paper::read(&directory.0, false).unwrap_err().to_string();
    assert!(error.contains("series.rows.over: its scenario has no time series"), "{error}");
    std::fs::write(directory.0.join("cable.toml"), format!("{SCENARIO}[measure]\ninterval = \"500ms\"\n"))
        .unwrap();
    let paper = Paper::read(&directory.0, false).unwrap();
    let with_rows = |load, seed, rate: f64| {
        let columns = vec!["flow.down.rtt_ms".into(), "flow.down.goodput_mbps".into()];
        let rows = (1..=4).map(|row| vec![None, (row != 2).then_some(rate * f64::from(row))]).collect();
        Report { series: Series { interval_s: 0.5, columns, rows }, ..report(load, seed, rate) }
    };
    let reports = [with_rows("4Mbit/s", 1, 3.0), with_rows("4Mbit/s", 2, 5.0), with_rows("2Mbit/s", 1, 9.0)];
    let number =
        |text: &str| formula::number(text, &|name| paper.series(name, "sim", &|_| reports.to_vec())).unwrap();
    assert_eq!([number("each[1]"), number("each[2]"), number("at_least(each, 4)")], [3.0, 5.0, 0.5]);
    assert_eq!([number("rows[0.5s]"), number("rows[2s]"), number("sum(rows[1.5s..2s])")], [4.0, 16.0, 28.0]);
    assert!(number("rows[1s]").is_nan());
}

#[test]
fn a_series_can_be_a_class_of_runs_and_of_one_seed() {
    let rule = "[[rule]]\nname = \"two\"\nflow = \"down\"\nfast = \"b:x\"\nslow = \"b:y\"\nalone = [10, 5]\ntakes = [0, 1]\nleft = [1, 2]\n";
    let of = |name: &str, metric: &str, more: &str| {
        format!(
            "[[series]]\nname = \"{name}\"\nrun = \"cable\"\nmetric = \"{metric}\"\nwhen = {{ load = \"4Mbit/s\" }}\n{more}"
        )
    };
    let ideal = of("ideal", "class.two.ideal", "");
    let second = of("second", "class.two.share", "seed = 2\n");
    let read = |name: &str, more: String| {
        let directory = Directory::new(name, &format!("{PAPER}{rule}{more}"));
        let measured = format!("{SCENARIO}[measure]\ninterval = \"500ms\"\n");
        std::fs::write(directory.0.join("cable.toml"), measured).unwrap();
        Paper::read(&directory.0, false).map_err(|e| e.to_string())
    };
    let paper = read("class", format!("{ideal}{second}")).unwrap();
    let report = |seed, share: f64| {
        let names = ["subflow.down:b:x.goodput_mbps", "subflow.down:b:y.goodput_mbps"];
        let names = names.into_iter().chain(["subflow.down:b:x.rtt_ms", "subflow.down:b:y.rtt_ms"]);
        let columns = names.chain(["flow.down.retransmissions"]).map(str::to_owned).collect();
        let row = [10.0 * share, 5.0 * share, 1.0, 1.0, 0.0].map(Some).to_vec();
        let series = Series { interval_s: 0.5, columns, rows: vec![row; 4] };
        Report { series, ..report("4Mbit/s", seed, 15.0 * share) }
    };
    let reports = [report(1, 1.0), report(2, 0.5)];
    let number =
        |text: &str| formula::number(text, &|name| paper.series(name, "sim", &|_| reports.to_vec())).unwrap();
    assert_eq!((number("ideal"), number("second")), (0.5, 0.5));
    for (name, more, said) in [
        ("rule", of("a", "class.tow.ideal", ""), "there is no rule `tow`; did you mean `two`?"),
        ("figure", of("a", "class.two.ideel", ""), "a rule has no figure `ideel`; did you mean `ideal`?"),
        ("time", of("a", "class.two.ideal", "over = \"time\"\n"), "a class is of a whole run"),
        ("seed", of("a", "class.two.ideal", "seed = 9\n"), "the sweep has no seed 9"),
    ] {
        let error = read(name, more).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let bare = Directory::new("bare", &format!("{PAPER}{rule}{ideal}"));
    let error = Paper::read(&bare.0, false).unwrap_err().to_string();
    assert!(error.contains("give the scenario `measure.interval`"), "{error}");
    let wrong = Directory::new("bounds", &format!("{PAPER}{}", rule.replace("[1, 2]", "[2, 1]")));
    let error = Paper::read(&wrong.0, false).unwrap_err().to_string();
    assert!(error.contains("rule.two.left: give two numbers"), "{error}");
}

#[test]
fn bands_and_what_was_reported_are_written_as_in_the_paper() {
    let directory = Directory::new("bands", PAPER);
    let paper = Paper::read(&directory.0, false).unwrap();
    let band = |i: usize| paper.file.claim[i].band().map(|b| b.to_string());
    let reported = |i: usize| paper.file.claim[i].reported().unwrap().to_string();
    assert_eq!((band(0).unwrap(), reported(0)), ("0.9500 to 1.050".into(), "1".into()));
    assert_eq!((band(1).unwrap(), reported(1)), ("4.455 to 5.050".into(), "4.5 to 5".into()));
    assert_eq!((band(2).unwrap(), reported(2)), ("at least 3".into(), "3".into()));
    assert_eq!((band(3), reported(3)), (None, "fast".into()));
}

#[test]
fn quick_shortens_every_run() {
    let directory = Directory::new("quick", PAPER);
    let seconds = |quick| Paper::read(&directory.0, quick).unwrap().runs[0].plan.base.duration.as_secs();
    assert_eq!((seconds(false), seconds(true)), (2, 1));
    let paper = PAPER.replacen(
        "scenario = \"cable.toml\"\n",
        "scenario = \"cable.toml\"\nquick = [\"duration=7s\"]\n",
        1,
    );
    let directory = Directory::new("quick-run", &paper);
    let seconds = |quick| Paper::read(&directory.0, quick).unwrap().runs[0].plan.base.duration.as_secs();
    assert_eq!((seconds(false), seconds(true)), (2, 7));
}

#[test]
fn the_lab_runs_a_part_of_a_sweep_set_as_it_needs_it() {
    let with = |lab: &str| {
        let own = format!("scenario = \"cable.toml\"\n{lab}\n");
        let paper = PAPER.replacen("scenario = \"cable.toml\"\n", &own, 1);
        let directory =
            Directory::new("lab-run", &format!("lab = [\"duration=3s\", \"sweep.seeds=1\"]\n{paper}"));
        Paper::read(&directory.0, false)
    };
    let paper = with("lab.only = { load = [\"4Mbit/s\"] }\nlab.set = [\"flow.down.rate=5Mbit/s\"]").unwrap();
    let rates = |run: &PaperRun| -> Vec<(u64, f64)> {
        let scenario = |point| run.plan.scenario(point).unwrap();
        let all = run.plan.points.iter().map(scenario);
        all.map(|s| (s.duration.as_secs(), s.flow[0].rate.unwrap().bps as f64 / 1e6)).collect()
    };
    // What the axis sets goes before what the file sets in all, and the run's own after it.
    assert_eq!(rates(&paper.live[0]), [(3, 5.0)]);
    assert_eq!(rates(&paper.runs[0]), [(2, 2.0), (2, 2.0), (2, 4.0), (2, 4.0)]);
    // A series has the places that were run, and a claim about another has none.
    let reports = [report("4Mbit/s", paper.live[0].plan.points[0].seed, 3.0)];
    let series = |name: &str, driver: &str| paper.series(name, driver, &|_| reports.to_vec());
    assert_eq!(series("udp", LAB).unwrap(), Value::Many(vec![("4Mbit/s".into(), 3.0)]));
    assert!(series("udp", "sim").is_err());
    // Of an air that is slower, rates are told as of one that is not.
    let slow = with("lab.only = { load = [\"4Mbit/s\"] }\nlab.set = [\"medium.time-dilation=8\"]").unwrap();
    let reports = [report("4Mbit/s", slow.live[0].plan.points[0].seed, 3.0)];
    let told = slow.series("udp", LAB, &|_| reports.to_vec()).unwrap();
    assert_eq!(told, Value::Many(vec![("4Mbit/s".into(), 24.0)]));
    let none = with("lab.skip = \"no daemon takes part\"").unwrap();
    assert_eq!((none.runs.len(), none.live.len()), (1, 0));
    for (lab, said) in [
        ("lab.only = { laod = [1] }", "run.cable.lab.only: there is no axis `laod`; did you mean `load`?"),
        ("lab.only = { load = [\"5Mbit/s\"] }", "the axis `load` has no `5Mbit/s`"),
        ("lab.only = { load = [] }", "nothing of the axis `load` is left"),
        ("lab.set = [\"flow.up.rate=5Mbit/s\"]", "flow.up.rate"),
    ] {
        let error = with(lab).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (from, to, said) in [
        ("scenario = \"cable.toml\"", "scenario = \"none.toml\"", "cannot be read"),
        (
            "run = \"cable\"",
            "run = \"cabel\"",
            "paper.toml:9: series.udp.run: there is no run `cabel`; did you mean `cable`?",
        ),
        ("metric = \"flow.down.goodput_mbps\"", "metric = \"flow.down.rate\"", "a flow has no figure `rate`"),
        ("when = { load = \"4Mbit/s\" }", "when = { load = \"5Mbit/s\" }", "has no `5Mbit/s`"),
        ("when = { load = \"4Mbit/s\" }\n", "", "does not say where on the axis `load`"),
        ("slope(udp)", "slope(upd)", "C-1: there is no series `upd`; did you mean `udp`?"),
        ("slope(udp)", "udp", "several numbers"),
        ("slope(udp)", "udp[3]", "has no `[3]`"),
        ("tolerance = \"5%\"\n", "", "needs a band"),
        ("setting = \"nowhere\"\n", "", "exactly one of"),
        (
            "setting = \"nowhere\"\n",
            "tolerance = \"1%\"\nsetting = \"nowhere\"\n",
            "needs a number to be around",
        ),
        ("because = { sim", "because = { simulator", "no driver `simulator`"),
        ("id = \"C-2\"", "id = \"C-1\"", "two called `C-1`"),
        ("\"4Mbit/s\" = \"C-1\"", "\"4Mbit/s\" = \"C-4\"", "no claim `C-4` with a number"),
        (
            "plot.line]]\ntitle = \"udp\"\nvalue = \"udp\"",
            "plot.line]]\ntitle = \"udp\"\nvalue = \"four\"",
            "a line needs a series",
        ),
        ("quick = [\"duration=1s\"]", "quick = \"duration=1s\"", "paper.toml:3: quick"),
        ("citation", "citaton", "did you mean `citation`?"),
    ] {
        assert!(PAPER.contains(from), "{from}");
        let directory = Directory::new("wrong", &PAPER.replacen(from, to, 1));
        let error = Paper::read(&directory.0, false).unwrap_err().to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
    let directory = Directory::new("gone", PAPER);
    std::fs::remove_file(directory.0.join(FILE_NAME)).unwrap();
    assert!(Paper::read(&directory.0, false).unwrap_err().to_string().contains("cannot be read"));
}
