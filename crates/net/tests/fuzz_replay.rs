//! Every input in `tests/fuzz/corpus` and `tests/fuzz/regressions` of the targets whose bodies are
//! in `ropewalk_net::fuzzing`.

use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let mut count = 0;
    for kind in ["corpus", "regressions"] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz").join(kind).join(target);
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            // The last line before a panic names the culprit.
            println!("{}", path.display());
            let bytes = std::fs::read(path).unwrap();
            // Cut anywhere, it is as good a start.
            (0..=bytes.len()).rev().step_by(7).for_each(|n| body(&bytes[..n]));
            count += 1;
        }
    }
    assert!(count > 0, "no corpus for {target}: see tests/fuzz/README.md");
}

#[test]
fn segments() {
    replay("segments", ropewalk_net::fuzzing::segments);
}

#[test]
fn netlink() {
    replay("netlink", ropewalk_net::fuzzing::netlink);
}

#[test]
fn cmsg() {
    replay("cmsg", ropewalk_net::fuzzing::cmsg);
}

#[test]
fn journal() {
    replay("journal", ropewalk_net::fuzzing::journal);
}

#[test]
fn monitor() {
    replay("monitor", ropewalk_net::fuzzing::monitor);
}
