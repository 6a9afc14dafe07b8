//! The binary over the real Linux Wi-Fi stack, in a virtual machine. Without QEMU, a kernel image and hostapd it says so and passes.

use std::path::Path;
use std::process::Command;

#[test]
fn link_feedback_and_a_bond_over_mac80211() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vm/run");
    let binary = Path::new(env!("CARGO_BIN_EXE_ropewalk"));
    let mut command = Command::new(script);
    command.arg(binary);
    // Built beside it by `cargo test --workspace`.
    let example = binary.with_file_name("examples").join("wifi_status");
    if example.exists() {
        command.arg(example);
    }
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let results: Vec<&str> = said.lines().filter(|line| line.starts_with("vm:")).collect();
    assert!(done.status.success() && !results.is_empty(), "{said}");
    eprintln!("{}", results.join("\n"));
}
