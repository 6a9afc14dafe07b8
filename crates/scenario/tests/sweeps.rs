//! Sweeps: the runs, their order, what they set, and what is refused.

use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::Plan;

const GOOD: &str = include_str!("good.toml");

fn plan(more: &str) -> Result<Plan, String> {
    let document = Document::parse("s.toml", &format!("{GOOD}{more}")).map_err(|e| e.to_string())?;
    Plan::of(&document).map_err(|e| e.to_string())
}

#[test]
fn every_combination_runs_with_every_seed_the_last_axis_fastest() {
    let plan = plan(
        r#"
        [sweep]
        seeds = 2
        [[sweep.axis]]
        key = "node.sta.count"
        values = [1, 3]
        [[sweep.axis]]
        name = "rts"
        cases = { off = {}, on = { "node.*.radio.r0.rts-threshold" = "0B" } }
        "#,
    )
    .unwrap();
    let said: Vec<String> =
        plan.points.iter().map(|p| format!("{} {:?} {}", p.index, p.labels, p.seed)).collect();
    assert_eq!(said.len(), 8);
    assert_eq!(said[0], r#"0 [("count", "1"), ("rts", "off")] 1"#);
    assert_eq!(said[1], r#"1 [("count", "1"), ("rts", "off")] 2"#);
    assert_eq!(said[2], r#"2 [("count", "1"), ("rts", "on")] 1"#);
    assert_eq!(said[7], r#"7 [("count", "3"), ("rts", "on")] 2"#);
    let last = plan.scenario(&plan.points[7]).unwrap();
    assert_eq!((last.flow.len(), last.seed), (3, 2));
    assert!(
        last.node["sta3"].radio["r0"].rts_threshold.is_some()
            && last.node["ap"].radio["r0"].rts_threshold.is_some()
    );
    let hashes: std::collections::BTreeSet<String> =
        plan.points.iter().map(|p| plan.scenario(p).unwrap().hash()).collect();
    assert_eq!(hashes.len(), 8, "each run is another scenario");
}

#[test]
fn what_an_axis_makes_impossible_is_said_before_anything_runs() {
    let channels = plan("[[sweep.axis]]\nkey = \"node.*.radio.*.channel\"\nvalues = [40, 41]");
    assert_eq!(
        channels.unwrap_err(),
        "s.toml, with channel = 41: node.ap.radio.r0.channel: 11n has no channel 41; it has 1 to 13 and 36 to 64, 100 to \
         144 and 149 to 177 in steps of 4; 40 is the nearest"
    );
    let unknown = plan("[[sweep.axis]]\nkey = \"node.sta.radio.r0.chanel\"\nvalues = [40]");
    assert_eq!(
        unknown.unwrap_err(),
        "s.toml, with chanel = 40: node.sta.radio.r0.chanel: there is no key `chanel`; did you mean `channel`?"
    );
    let unknown = plan("[[sweep.axis]]\nkey = \"node.stab.radio.r0.channel\"\nvalues = [40]");
    assert_eq!(
        unknown.unwrap_err(),
        "s.toml, with channel = 40: node.stab.radio.r0.channel: nothing here is called `stab`; did you mean `sta`?"
    );
    let neither = plan("[[sweep.axis]]\nkey = \"seed\"");
    assert_eq!(
        neither.unwrap_err(),
        "s.toml:32: sweep.axis.0: an axis has either `key` and `values`, or `cases`\ns.toml:32: sweep.axis.0: `seed` cannot be varied; `sweep.seeds` varies the seed"
    );
    // The last ones as a list would take 34 GB.
    for seeds in ["100001", "4294967295"] {
        let many = plan(&format!("[sweep]\nseeds = {seeds}"));
        assert_eq!(
            many.unwrap_err(),
            "s.toml:32: sweep: these are more than 100000 runs; take values or seeds out"
        );
    }
}

#[test]
fn options_of_the_command_line_go_the_same_way() {
    let mut document = Document::parse("s.toml", GOOD).unwrap();
    for option in [
        "duration=3s",
        "flow.down.congestion=newreno",
        "link.0.rate=\"2Mbit/s\"",
        "medium.path-loss.exponent = 2.5",
    ] {
        document.set_text(option).unwrap();
    }
    let scenario = document.scenario().unwrap();
    assert_eq!(scenario.duration.as_secs(), 3);
    assert_eq!(scenario.link[0].rate.unwrap().bps, 2_000_000);
    assert_eq!(scenario.medium.path_loss.exponent, 2.5);
    for (option, sentence) in [
        ("duration", "--set duration: this sets nothing; write KEY=VALUE, such as seed=7"),
        (
            "flow.up.bytes=1MB",
            "--set flow.up.bytes=1MB: flow.up.bytes: nothing here is called `up`; known are down",
        ),
        ("duration.x=1", "--set duration.x=1: duration.x: there is no key `x` below a single value"),
    ] {
        let error = document.set_text(option).unwrap_err().to_string();
        assert_eq!(error, sentence);
    }
    document.set_text("duration=3").unwrap();
    let error = document.scenario().unwrap_err().to_string();
    assert_eq!(error, "--set duration=3: duration: 3 has no unit; write a time as a text, such as \"20ms\"");
}
