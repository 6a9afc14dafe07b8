//! Names the build by what decides figures: a hash of the sources of the model crates without their tests, which pages
//! of papers carry. The Python package is built with it too, and its runs carry the same name.

use std::fs;
use std::path::{Path, PathBuf};

/// What is tests alone, beside modules called `tests` and those that end in `_tests`: no figure comes from it.
const TESTS: [&str; 4] = ["cc/src/bands.rs", "cc/src/harness.rs", "cc/src/harness", "cc/src/laws.rs"];
/// Crates whose sources decide what a run gives.
const MODEL: [&str; 12] =
    ["air", "bond", "bunch", "cc", "lab", "packet", "pep", "roam", "scenario", "session", "sim", "time"];

fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let crates = package.ancestors().map(|a| a.join("crates")).find(|c| c.is_dir()).unwrap_or_default();
    let mut files = Vec::new();
    for name in MODEL {
        let source = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", source.display());
        collect(&source, &mut files);
    }
    files.sort();
    // FNV-1a: the same on every machine, and no dependency.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for file in &files {
        let name = file.strip_prefix(&crates).unwrap_or(file).display().to_string();
        for byte in name.bytes().chain(fs::read(file).unwrap_or_default()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=ROPEWALK_BUILD={hash:016x}");
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if name == "tests" || name.ends_with("_tests") || TESTS.iter().any(|part| path.ends_with(part)) {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "csv") {
            files.push(path);
        }
    }
}
