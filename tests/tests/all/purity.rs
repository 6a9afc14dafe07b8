//! The pure crates stay pure, and dependencies between crates point one way (`docs`: ARCHITECTURE.md).
//!
//! `./run check` asks clippy the same with types resolved; this reads text, so it also sees what is behind `cfg` and in tests of other
//! platforms, and it says which rule a file breaks.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a pure source may not say, and why.
const FORBIDDEN: [(&str, &str); 22] = [
    ("UdpSocket", "sockets are the driver's"),
    ("TcpStream", "sockets are the driver's"),
    ("TcpListener", "sockets are the driver's"),
    ("UnixStream", "sockets are the driver's"),
    ("UnixDatagram", "sockets are the driver's"),
    ("ToSocketAddrs", "names are resolved by the driver"),
    ("Instant", "time is handed in"),
    ("SystemTime", "time is handed in"),
    ("std::thread", "an engine has no threads"),
    ("std::sync::mpsc", "an engine has no threads"),
    ("std::fs", "files are the driver's"),
    ("std::io", "nothing is read or written here"),
    ("std::process", "nothing is started here"),
    ("std::env", "settings are handed in"),
    ("thread_rng", "randomness is handed in"),
    ("rand::rng()", "randomness is handed in"),
    ("OsRng", "randomness is handed in"),
    ("getrandom", "randomness is handed in"),
    ("SystemRandom", "randomness is handed in"),
    ("HashMap", "its order differs from run to run"),
    ("HashSet", "its order differs from run to run"),
    ("unsafe ", "unsafe lives in net, kern and lab"),
];

/// The pure crates.
const PURE: [&str; 9] = ["time", "cc", "session", "bond", "air", "packet", "pep", "roam", "bunch"];

/// Which members of the workspace a crate may depend on, outside tests.
const ARROWS: [(&str, &[&str]); 17] = [
    ("time", &[]),
    ("cc", &["ropewalk-time"]),
    ("session", &["ropewalk-time"]),
    ("bond", &["ropewalk-cc", "ropewalk-session", "ropewalk-time"]),
    ("air", &["ropewalk-time"]),
    ("scenario", &[]),
    ("packet", &[]),
    ("pep", &["ropewalk-packet", "ropewalk-time"]),
    ("roam", &[]),
    ("bunch", &["ropewalk-packet", "ropewalk-pep", "ropewalk-time"]),
    (
        "sim",
        &[
            "ropewalk-bond",
            "ropewalk-cc",
            "ropewalk-session",
            "ropewalk-time",
            "ropewalk-bunch",
            "ropewalk-air",
            "ropewalk-packet",
            "ropewalk-pep",
            "ropewalk-roam",
            "ropewalk-scenario",
        ],
    ),
    ("net", &["ropewalk-bond", "ropewalk-session", "ropewalk-time", "ropewalk-packet", "ropewalk-pep"]),
    ("kern", &[]),
    ("table", &["ropewalk-scenario"]),
    ("fleet", &["ropewalk-session"]),
    (
        "lab",
        &[
            "ropewalk-air",
            "ropewalk-kern",
            "ropewalk-net",
            "ropewalk-roam",
            "ropewalk-scenario",
            "ropewalk-sim",
        ],
    ),
    (
        "ropewalk",
        &[
            "ropewalk-bond",
            "ropewalk-bunch",
            "ropewalk-cc",
            "ropewalk-fleet",
            "ropewalk-session",
            "ropewalk-time",
            "ropewalk-net",
            "ropewalk-kern",
            "ropewalk-lab",
            "ropewalk-air",
            "ropewalk-packet",
            "ropewalk-pep",
            "ropewalk-roam",
            "ropewalk-scenario",
            "ropewalk-sim",
            "ropewalk-table",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// A line without its comment. Strings with two slashes in them are cut too, which hides nothing that compiles.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or("")
}

/// Names of the files that a source has for its tests.
fn test_modules(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut out = Vec::new();
    for (n, _) in lines.iter().enumerate().filter(|(_, l)| **l == "#[cfg(test)]") {
        for line in lines[n + 1..].iter().take(2) {
            let path = line.strip_prefix("#[path = \"").and_then(|l| l.strip_suffix(".rs\"]"));
            let module =
                line.trim_start_matches("pub(crate) ").strip_prefix("mod ").and_then(|l| l.strip_suffix(';'));
            out.extend(path.or(module).map(str::to_owned));
            if !line.starts_with("#[") {
                break;
            }
        }
    }
    out
}

#[test]
fn pure_crates_name_no_socket_clock_thread_file_or_hash_map() {
    let mut found = Vec::new();
    for krate in PURE {
        let mut files = Vec::new();
        sources(&root().join("crates").join(krate).join("src"), &mut files);
        assert!(files.iter().any(|f| f.ends_with("lib.rs")), "the sources of {krate}");
        let texts: Vec<(PathBuf, String)> =
            files.into_iter().map(|f| (f.clone(), std::fs::read_to_string(f).expect("a source"))).collect();
        let tests: Vec<String> = texts.iter().flat_map(|(_, t)| test_modules(t)).collect();
        for (file, text) in texts {
            if file.iter().any(|part| {
                tests.iter().any(|t| part.to_str().is_some_and(|p| p.trim_end_matches(".rs") == t))
            }) {
                continue;
            }
            for (n, line) in text.lines().enumerate() {
                let hits = FORBIDDEN.iter().filter(|(word, _)| code(line).contains(word));
                found.extend(hits.map(|(word, why)| format!("{}:{}: {word}: {why}", file.display(), n + 1)));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn pure_crates_forbid_unsafe_code() {
    for krate in PURE {
        let lib =
            std::fs::read_to_string(root().join("crates").join(krate).join("src/lib.rs")).expect("lib.rs");
        assert!(lib.contains("#![forbid(unsafe_code)]"), "{krate}");
    }
}

/// The members of the workspace that a manifest names in `[dependencies]`.
fn members(manifest: &str) -> Vec<&str> {
    let mut section = "";
    let mut out = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && !section.contains("dev-") {
            let name = line.split(['=', '.', ' ']).next().unwrap_or("");
            if name.starts_with("ropewalk") {
                out.push(name);
            }
        }
    }
    out
}

#[test]
fn dependencies_point_one_way() {
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let dir = entry.expect("a crate").path();
        let name = dir.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
        let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).expect("a manifest");
        let (_, allowed) = ARROWS
            .iter()
            .find(|a| a.0 == name)
            .unwrap_or_else(|| panic!("{name}: say in ARROWS what it knows"));
        for member in members(&manifest) {
            assert!(allowed.contains(&member), "crates/{name} may not know {member}");
        }
    }
}

#[test]
fn a_section_of_a_manifest_is_read() {
    let manifest = "[package]\nname = \"ropewalk-x\"\n[dependencies]\nropewalk-bond = { path = \"\" }\n[dev-dependencies]\nropewalk-lab = 1";
    assert_eq!(members(manifest), ["ropewalk-bond"]);
}

/// As quinn does with its core: what builds for a machine without an operating system asks nothing of one.
#[test]
fn the_models_build_for_wasm() {
    const TARGET: &str = "wasm32-unknown-unknown";
    let installed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let there = installed.is_ok_and(|o| Path::new(String::from_utf8_lossy(&o.stdout).trim()).is_dir());
    if !there {
        ropewalk_skip::skip(format_args!(
            "this Rust has no {TARGET}; `rustup target add {TARGET}` gives it one"
        ));
        return;
    }
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let status = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--locked", "--package", "ropewalk-air", "--target", TARGET])
        .env("CARGO_TARGET_DIR", target_dir)
        .current_dir(root())
        .status()
        .expect("cargo");
    assert!(status.success(), "air needs an operating system");
}
