//! The package for OpenWrt: its init script, with a stub of OpenWrt's functions, makes files that
//! this program takes.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::States;

fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file)
}

/// Writes a shell script.
fn program(at: &str, lines: &str) {
    std::fs::write(at, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_init_script_makes_files_that_the_program_takes() {
    let check = packaging("openwrt/check");
    // A router's shell is busybox's.
    let busybox = Command::new("busybox").arg("true").output().is_ok();
    let shells: &[&[&str]] = if busybox { &[&["sh"], &["busybox", "sh"]] } else { &[&["sh"]] };
    for shell in shells {
        let said = Command::new(&check).arg(env!("CARGO_BIN_EXE_ropewalk")).args(*shell).output().unwrap();
        assert!(said.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

/// What a package does when it is installed, on a router and into an image.
#[test]
fn a_package_shows_its_page_at_once() {
    let states = States::new("openwrt");
    let (place, said) = (states.of(""), states.of("said"));
    let mut build = Command::new(packaging("openwrt/build"));
    build.args(["/bin/true", "all", "0", &place]).env("SOURCE_DATE_EPOCH", "0");
    assert!(build.status().unwrap().success());
    let line = "cd \"$1\" && mkdir lib bin && tar -xzOf *.ipk ./control.tar.gz | tar -xz ./postinst";
    assert!(Command::new("sh").args(["-c", line, "sh", &place]).status().unwrap().success());
    let functions = states.of("lib/functions.sh");
    let default = format!("default_postinst() {{ echo installed >>{said}; return 3; }}\n");
    std::fs::write(functions, default).unwrap();
    program(&states.of("bin/killall"), &format!("echo \"$@\" >>{said}; exit 1"));
    // OpenWrt's functions and LuCI's caches are in that directory, not in this machine's.
    let postinst = std::fs::read_to_string(states.of("postinst")).unwrap();
    let here = postinst.replace("}/lib/", &format!("}}{place}/lib/"));
    let here = here.replace("/tmp/luci", &states.of("luci"));
    let install = |script: &str, image: &str| {
        let path = format!("{}:{}", states.of("bin"), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("PATH", path).env("IPKG_INSTROOT", image);
        let code = shell.status().unwrap().code();
        let heard = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        (code, heard)
    };
    std::fs::write(states.of("luci-indexcache.1.json"), "").unwrap();
    std::fs::create_dir(states.of("luci-modulecache")).unwrap();
    assert_eq!(install(&postinst, &place), (Some(3), "installed\n".to_owned()), "into an image");
    assert_eq!(install(&here, ""), (Some(3), "installed\n-HUP rpcd\n".to_owned()), "on a router");
    let caches = ["luci-indexcache.1.json", "luci-modulecache"].map(|c| Path::new(&states.of(c)).exists());
    assert_eq!(caches, [false; 2], "LuCI reads its menu anew");
}
