//! The compiled objects that are shipped are those of the sources beside them.

use aws_lc_rs::digest::{SHA256, digest};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Of the files that `bpf/build` compiles, in its order: the script, headers, programs.
fn sources() -> String {
    let mut all: Vec<PathBuf> = fs::read_dir(here("bpf")).unwrap().map(|e| e.unwrap().path()).collect();
    let rank = |p: &PathBuf| p.extension().map_or(0, |e| if e == "h" { 1 } else { 2 });
    all.sort_by_key(|p| (rank(p), p.clone()));
    let bytes: Vec<u8> = all.iter().flat_map(|p| fs::read(p).unwrap()).collect();
    digest(&SHA256, &bytes).as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn objects_are_as_new_as_their_sources() {
    let made_of = fs::read_to_string(here("objects/SOURCES.sha256")).unwrap();
    let advice = "the objects in crates/kern/objects are older than their sources: run crates/kern/bpf/build (needs clang)";
    assert_eq!(made_of.trim(), sources(), "{advice}");
}

#[test]
fn sources_compile_and_their_objects_load() {
    if Command::new("clang").arg("--version").output().is_err() {
        return ropewalk_skip::skip("there is no clang to compile the BPF programs with");
    }
    let to = std::env::temp_dir().join(format!("ropewalk-kern-{}", std::process::id()));
    let built = Command::new(here("bpf/build")).arg(&to).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for law in ropewalk_kern::Law::ALL {
        let object = fs::read(to.join(format!("{}.bpf.o", law.name()))).unwrap();
        match ropewalk_kern::trial::Trial::of_object(law, &object) {
            Ok(_) => {}
            Err(e @ (ropewalk_kern::KernError::NotRoot | ropewalk_kern::KernError::Refused(_))) => {
                ropewalk_skip::skip(e);
            }
            Err(e) => panic!("{}: {e}", law.name()),
        }
    }
    let marks = fs::read(to.join("mark.bpf.o")).unwrap();
    match ropewalk_kern::marks::Marks::of_object(&marks) {
        Ok(_) => {}
        Err(
            e @ (ropewalk_kern::KernError::NotRoot
            | ropewalk_kern::KernError::Refused(_)
            | ropewalk_kern::KernError::NoTcx(_)),
        ) => ropewalk_skip::skip(e),
        Err(e) => panic!("marks: {e}"),
    }
    fs::remove_dir_all(&to).unwrap();
}
