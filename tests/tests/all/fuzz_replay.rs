//! Every input in `tests/fuzz/corpus` and `tests/fuzz/regressions`, through the body of its target.
//!
//! One that fails is run alone by `REPLAY=gateway/name cargo test -p ropewalk-tests fuzz_replay`.

use ropewalk_tests::fuzzing::{TARGETS, seeds};
use std::path::{Path, PathBuf};

fn inputs(kind: &str, target: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(kind).join(target);
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a directory that can be read").path()).collect();
    paths.sort();
    paths
}

fn replay(target: &str) {
    let (name, body) = TARGETS.iter().find(|t| t.0 == target).expect("a target of this name");
    let only = std::env::var("REPLAY").ok();
    let paths: Vec<PathBuf> = ["corpus", "regressions"].iter().flat_map(|k| inputs(k, name)).collect();
    assert!(!paths.is_empty(), "no corpus for {name}: see tests/fuzz/README.md");
    for path in paths {
        if only.as_deref().is_none_or(|o| path.ends_with(o)) {
            // The last line before a panic names the culprit.
            println!("{}", path.display());
            body(&std::fs::read(&path).expect("a corpus file that can be read"));
        }
    }
}

#[test]
fn frames() {
    replay("frames");
}

#[test]
fn handshake() {
    replay("handshake");
}

#[test]
fn order() {
    replay("order");
}

#[test]
fn inner() {
    replay("inner");
}

#[test]
fn ethernet() {
    replay("ethernet");
}

#[test]
fn gateway() {
    replay("gateway");
}

#[test]
fn client() {
    replay("client");
}

#[test]
fn network() {
    replay("network");
}

#[test]
fn seeds_pass() {
    seeds::all().iter().for_each(|(target, _, bytes)| ropewalk_tests::fuzzing::run(target, bytes));
}

#[test]
fn the_corpus_is_small() {
    let all = TARGETS.iter().flat_map(|t| ["corpus", "regressions"].map(|k| inputs(k, t.0))).flatten();
    let sizes: Vec<u64> = all.map(|p| p.metadata().expect("a file").len()).collect();
    assert!(sizes.len() < 300 && sizes.iter().sum::<u64>() < 1 << 20, "{} files", sizes.len());
}
