//! How a test says that it cannot run here.
//!
//! `cargo test` shows nothing of a test that passes, so a skip is also written to the file that `SKIPPED` names; `./run` prints it in the end.
//! Where `CI=true`, everything has to be there, and a skip is a failure.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// This test, or a part of it, is skipped for this reason. The caller returns.
///
/// # Panics
/// Where `CI` is `true`.
#[track_caller]
pub fn skip(why: impl Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(|p| p.file_stem()).and_then(|n| n.to_str()).unwrap_or("?");
    let line = format!("skipped: {program} {test}: {why}");
    assert!(!is_ci(), "{line}, and CI has to have it");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("SKIPPED")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = writeln!(file, "{line}");
    }
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|v| v == "true")
}
