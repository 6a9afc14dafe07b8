//! The package for OpenWrt: its init script, with a stub of OpenWrt's functions, makes files that
//! this program takes.

use std::path::Path;
use std::process::Command;

#[test]
fn the_init_script_makes_files_that_the_program_takes() {
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/openwrt/check");
    // A router's shell is busybox's.
    let busybox = Command::new("busybox").arg("true").output().is_ok();
    let shells: &[&[&str]] = if busybox { &[&["sh"], &["busybox", "sh"]] } else { &[&["sh"]] };
    for shell in shells {
        let said = Command::new(&check).arg(env!("CARGO_BIN_EXE_ropewalk")).args(*shell).output().unwrap();
        assert!(said.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&said.stderr));
    }
}
