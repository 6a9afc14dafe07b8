//! Every scenario and every paper of the repository passes the checks, as a plan with all its runs.

use ropewalk_scenario::Document;
use ropewalk_scenario::paper::{FILE_NAME, Paper};
use ropewalk_scenario::sweep::Plan;
use std::path::{Path, PathBuf};

fn all(directory: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, out);
        } else if path.extension().is_some_and(|e| e == "toml") && !path.ends_with(FILE_NAME) {
            out.push(path);
        }
    }
}

#[test]
fn every_file_passes() {
    let mut files = Vec::new();
    all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut files);
    files.sort();
    assert!(files.len() > 12, "{files:?}");
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|f| Document::read(f).and_then(|d| Plan::of(&d)).err().map(|e| e.to_string()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Also as `--quick` cuts them short.
#[test]
fn every_paper_passes() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(scenarios).unwrap().map(|entry| entry.unwrap().path());
    let papers: Vec<PathBuf> = entries.filter(|path| path.join(FILE_NAME).is_file()).collect();
    assert!(!papers.is_empty());
    for directory in papers {
        for quick in [false, true] {
            let paper = Paper::read(&directory, quick).unwrap_or_else(|e| panic!("{e}"));
            assert!(paper.file.claim.len() > 20, "{}", directory.display());
        }
    }
}
