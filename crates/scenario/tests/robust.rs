//! Whatever a file holds, it is read or refused with reasons; nothing panics. What is read can be written and read again.

use proptest::prelude::*;
use ropewalk_scenario::Document;
use ropewalk_scenario::sweep::Plan;
use std::path::{Path, PathBuf};

const GOOD: &str = include_str!("good.toml");

/// Every step that a file goes through.
fn all(text: &str) {
    let Ok(document) = Document::parse("s.toml", text) else { return };
    match Plan::of(&document) {
        Ok(plan) => drop(plan.base.hash()),
        Err(problems) => assert!(!problems.list.is_empty() && !problems.to_string().is_empty()),
    }
}

fn scenario_files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect()
}

#[test]
fn what_is_written_is_read_as_the_same() {
    for file in scenario_files() {
        let scenario = Document::read(&file).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
        let text = scenario.canonical();
        let again = Document::parse("again.toml", &text).and_then(|d| d.scenario());
        let again = again.unwrap_or_else(|e| panic!("{}: {e}\n{text}", file.display()));
        assert_eq!(again, scenario, "{}", file.display());
        assert_eq!(again.hash(), scenario.hash());
    }
}

/// Lines of good files, put together at random: mostly TOML, mostly nonsense.
fn lines() -> impl Strategy<Value = String> {
    let all: Vec<String> = scenario_files()
        .iter()
        .flat_map(|f| std::fs::read_to_string(f).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    prop::collection::vec(prop::sample::select(all), 0..60).prop_map(|lines| lines.join("\n"))
}

/// A good file with one piece of it replaced.
fn damaged() -> impl Strategy<Value = String> {
    let junk = prop_oneof![
        Just("\"\"".to_owned()),
        Just("-1".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("1e308".to_owned()),
        Just("[[]]".to_owned()),
        Just("{}".to_owned()),
        Just("\"99999999h\"".to_owned()),
        Just("\"*\"".to_owned()),
        Just("\"a:b:c\"".to_owned()),
        ".{0,12}",
    ];
    (0..GOOD.len(), 0..24_usize, junk).prop_map(|(at, length, junk)| {
        let end = (at + length).min(GOOD.len());
        format!("{}{junk}{}", &GOOD[..at], &GOOD[end..])
    })
}

/// A good file with one value replaced by another kind of value.
fn other_values() -> impl Strategy<Value = String> {
    let values =
        GOOD.lines().enumerate().filter(|(_, l)| l.contains(" = ")).map(|(i, _)| i).collect::<Vec<_>>();
    let value = prop_oneof![
        Just("0"),
        Just("-5"),
        Just("1.5"),
        Just("nan"),
        Just("inf"),
        Just("true"),
        Just("[]"),
        Just("[1, 2, 3]"),
        Just("{}"),
        Just("\"0s\""),
        Just("\"100000h\""),
        Just("\"-3dBm\""),
        Just("\"\""),
        Just("\"{n}\""),
        Just("\"{n+4294967295}\""),
        Just("\"*:*\""),
        Just("1979-05-27"),
        Just("9223372036854775807"),
        Just("{ fixed = \"MCS99\" }"),
        Just("[[\"a\"]]"),
    ];
    (prop::sample::select(values), value).prop_map(|(at, value)| {
        let line = |(i, line): (usize, &str)| match line.split_once(" = ") {
            Some((key, _)) if i == at => format!("{key} = {value}"),
            _ => line.to_owned(),
        };
        GOOD.lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 2, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in ".{0,200}") {
        all(&text);
    }

    #[test]
    fn any_lines(text in lines()) {
        all(&text);
    }

    #[test]
    fn damaged_files(text in damaged()) {
        all(&text);
    }

    #[test]
    fn values_of_other_kinds(text in other_values()) {
        all(&text);
    }

    #[test]
    fn any_setting(key in "[a-z*.0-9-]{0,30}", value in ".{0,20}") {
        let mut document = Document::parse("s.toml", GOOD).unwrap();
        if document.set_text(&format!("{key}={value}")).is_ok() {
            let _ = document.scenario();
        }
    }
}
