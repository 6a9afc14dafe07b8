//! The machine by itself.

use super::{Finding, Patient};
use crate::config::File;
use ropewalk_net::{clock, locate, privileges};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The oldest kernel that this is tried on.
const KERNEL: (u32, u32) = (5, 15);
/// When this was written, 2026-11-01, seconds since 1970: no clock is right that is before.
const WRITTEN: u64 = 1_793_491_200;

pub(super) fn check(patient: &Patient) -> Vec<Finding> {
    vec![kernel(), tun(patient), rights(patient), nftables(patient), clock()]
}

fn kernel() -> Finding {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    judge_kernel(release.trim())
}

fn judge_kernel(release: &str) -> Finding {
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    let found = format!("Linux {release}");
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= KERNEL => Finding::ok("kernel", found),
        _ => {
            let advice = format!("update to {}.{} or later", KERNEL.0, KERNEL.1);
            Finding::failed("kernel", found, advice)
        }
    }
}

fn tun(patient: &Patient) -> Finding {
    match OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Finding::ok("tun", "/dev/net/tun can be opened"),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let advice = "modprobe tun; in a container, hand the device in (docker: --device /dev/net/tun)";
            Finding::failed("tun", "/dev/net/tun is not there", advice)
        }
        Err(e) if patient.status.is_some() => Finding::ok("tun", format!("the daemon has it ({e} for you)")),
        Err(e) => Finding::failed(
            "tun",
            format!("/dev/net/tun: {e}"),
            "run as root, or chmod 666 /dev/net/tun as udev does",
        ),
    }
}

fn rights(patient: &Patient) -> Finding {
    match privileges::check_network() {
        Ok(()) => Finding::ok("rights", "CAP_NET_ADMIN"),
        Err(_) if patient.status.is_some() => Finding::ok("rights", "the daemon has what it needs"),
        Err(_) => {
            Finding::warning("rights", "CAP_NET_ADMIN is missing here", "run this as root, as the daemon is")
        }
    }
}

fn nftables(patient: &Patient) -> Finding {
    let file = patient.file.as_ref();
    let needs = |f: &File| f.serve.masquerade || f.serve.global6 || f.up.kill_switch || f.up.lan.is_some();
    let needed = file.is_some_and(needs);
    let mut command = Command::new(locate("nft"));
    match command.args(["list", "tables"]).stdin(Stdio::null()).output() {
        Ok(out) if out.status.success() => Finding::ok("nftables", "works"),
        Ok(_) if privileges::check_network().is_err() => {
            Finding::ok("nftables", "is installed (not tried: rights are missing here)")
        }
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr);
            let found = format!("nft fails: {}", said.lines().next().unwrap_or("it does not say why"));
            Finding::failed("nftables", found, "load the kernel's nf_tables (modprobe nf_tables)")
        }
        Err(_) if needed => Finding::failed(
            "nftables",
            "`nft` is not installed, and the configuration needs it",
            "apt install nftables",
        ),
        Err(_) => Finding::warning(
            "nftables",
            "`nft` is not installed",
            "apt install nftables: masquerade, the kill switch and the guard of the tunnel's address need it",
        ),
    }
}

fn clock() -> Finding {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    judge_clock(now, clock::is_synchronised())
}

/// Handshakes do not depend on the clock. Monthly caps do, and so do the times in the log.
fn judge_clock(now: u64, synchronised: Option<bool>) -> Finding {
    let advice = "set it (timedatectl set-ntp true): monthly caps and the log go by it";
    match (now >= WRITTEN, synchronised) {
        (false, _) => Finding::failed("clock", "it is before this program was written", advice),
        (true, Some(false)) => {
            Finding::warning("clock", "the kernel says that nothing synchronises it", advice)
        }
        (true, Some(true)) => Finding::ok("clock", "synchronised"),
        (true, None) => {
            Finding::ok("clock", "plausible (the kernel does not say whether it is synchronised)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn kernels_are_told_apart() {
        for (release, level) in [
            ("6.18.44-fc", Level::Ok),
            ("5.15.0-91-generic", Level::Ok),
            ("5.14.21", Level::Failed),
            ("4.19", Level::Failed),
            ("", Level::Failed),
        ] {
            assert_eq!(judge_kernel(release).level, level, "{release}");
        }
    }

    #[test]
    fn a_clock_is_wrong_before_this_was_written() {
        assert_eq!(judge_clock(0, Some(true)).level, Level::Failed);
        assert_eq!(judge_clock(WRITTEN + 1, Some(false)).level, Level::Warning);
        assert_eq!(judge_clock(WRITTEN + 1, Some(true)).level, Level::Ok);
        assert_eq!(judge_clock(WRITTEN + 1, None).level, Level::Ok);
    }
}
