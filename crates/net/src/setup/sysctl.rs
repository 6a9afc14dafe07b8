//! Kernel settings under `/proc/sys/net`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rule::{Rule, RuleKind};
use super::{Change, Journal, SetupError};

/// A setting, its value before and the value it gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sysctl {
    /// Path below `/proc/sys/net`, with slashes: interface names may contain dots.
    pub key: String,
    /// What it was.
    pub before: String,
    /// What it becomes.
    pub after: String,
}

impl Sysctl {
    /// The change that gives `key` the value `after`; `None` if it has it, or if this kernel has no such
    /// setting.
    fn plan(key: String, after: &str) -> Option<Sysctl> {
        let before = read(&key).ok()?;
        (before != after).then(|| Sysctl { key, before, after: after.into() })
    }

    pub(super) fn set(&self) -> Result<(), SetupError> {
        write(&self.key, &self.after)
            .map_err(|e| SetupError::system(format!("setting net/{} to {}", self.key, self.after), e))
    }

    /// Gives the old value back, unless somebody else has changed it since or the interface is gone.
    pub(super) fn restore(&self) -> Result<(), SetupError> {
        match read(&self.key) {
            Ok(now) if now == self.after => {}
            _ => return Ok(()),
        }
        write(&self.key, &self.before)
            .map_err(|e| SetupError::system(format!("setting net/{} to {}", self.key, self.before), e))
    }
}

/// Settings that this bond needs. Each has a lock until the bond ends; the last bond gives the old value
/// back. A lock is a byte of a file of each network namespace that only who may change it can open.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<(Sysctl, File)>);

/// Whether IPv6 is let through.
const FORWARDING_V6: &str = "ipv6/conf/all/forwarding";
/// The file with the locks, which is never written here.
const LOCKS: &str = "ipv4/route/flush";
/// Bonds that may need one setting at once.
const HOLDERS: u32 = 128;
/// Values before from 0 on that a lock can tell.
const VALUES: u32 = 8;

impl Held {
    /// A change was made.
    pub(super) fn begin(&mut self, change: &Change) {
        let Change::Sysctl(sysctl) = change else { return };
        if self.0.iter().any(|(other, _)| other == sysctl) {
            return;
        }
        self.0.extend(hold(sysctl).map(|file| (sysctl.clone(), file)));
    }

    /// Takes a change back, unless another bond needs it.
    pub(super) fn take_back(&mut self, change: &Change) -> Result<(), SetupError> {
        let Change::Sysctl(sysctl) = change else { return change.take_back() };
        self.0.retain(|(other, _)| other != sysctl);
        // Nobody else begins before this is over.
        let file = open();
        let all = first_place(&sysctl.key);
        if file.as_ref().is_some_and(|file| is_held(file, all, HOLDERS * VALUES)) {
            tracing::debug!(?change, "another bond needs it");
            return Ok(());
        }
        change.take_back()
    }
}

/// Takes a lock that says that a setting is needed, and what it was.
fn hold(sysctl: &Sysctl) -> Option<File> {
    let file = open()?;
    let before = sysctl.before.parse::<u32>().ok().filter(|before| *before < VALUES)?;
    let first = first_place(&sysctl.key) + before * HOLDERS;
    // Who takes the setting back has all places for a moment.
    for _ in 0..100 {
        if (first..first + HOLDERS).any(|place| lock(&file, place, 1).is_ok()) {
            return Some(file);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// What a setting was before the bonds that need it; `None` if there are none.
fn before_of_others(key: &str) -> Option<String> {
    let (file, first) = (open()?, first_place(key));
    let before = (0..VALUES).find(|before| is_held(&file, first + before * HOLDERS, HOLDERS));
    before.map(|before| before.to_string())
}

/// Where the locks of a setting begin: a hash of its name (FNV-1a). It fits 32 bits, as offsets may have to.
fn first_place(key: &str) -> u32 {
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    (key.bytes().fold(0x811c_9dc5, hash) >> 12) * HOLDERS * VALUES
}

fn open() -> Option<File> {
    OpenOptions::new().write(true).open(path(LOCKS)).ok()
}

/// Whether somebody holds one of these locks; else nobody else takes one until `file` is closed.
fn is_held(file: &File, first: u32, count: u32) -> bool {
    lock(file, first, count).is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
}

/// Locks bytes of an open file, for as long as it is open (`F_OFD_SETLK`, fcntl(2)).
fn lock(file: &File, first: u32, count: u32) -> io::Result<()> {
    // SAFETY: a C structure of numbers, for which zeroes are valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = first as _;
    lock.l_len = count as _;
    // SAFETY: the descriptor is open, and the structure lives through the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Lets packets through from one interface to another; a gateway's work.
///
/// For IPv6, a machine that forwards no longer listens to router advertisements and forgets the default route
/// it has from one, unless its interfaces are told otherwise first (`accept_ra` 2); so they are.
pub fn forwarding(journal: &mut Journal, v4: bool, v6: bool) -> Result<(), SetupError> {
    if v4 {
        plan(journal, "ipv4/ip_forward".into(), "1")?;
    }
    if v6 { forward_v6(journal, None) } else { Ok(()) }
}

/// Lets IPv6 through. All interfaces but `lan` go on listening to router advertisements: a host there
/// that says it is a router is none of this machine's.
pub(super) fn forward_v6(journal: &mut Journal, lan: Option<&str>) -> Result<(), SetupError> {
    let links = crate::links::list()
        .map_err(|e| SetupError::system("listing network interfaces", io::Error::other(e.to_string())))?;
    for link in links.iter().filter(|link| !link.loopback && Some(link.name.as_str()) != lan) {
        let key = accept_ra(&link.name);
        let is = |key: &str, what: &str| read(key).is_ok_and(|value| value == what);
        // By 1 an interface that forwards hears no router, and is not to hear one now. 2 may be another bond's doing.
        let hears = || is(&format!("ipv6/conf/{}/forwarding", link.name), "0");
        if is(&key, "2") || is(&key, "1") && hears() {
            plan(journal, key, "2")?;
        }
    }
    plan(journal, FORWARDING_V6.into(), "1")
}

/// Lets an interface that has come since hear routers, where it would if this machine did not let IPv6
/// through. It forwards like all others from the start.
///
/// # Errors
/// The setting cannot be written, or not noted.
pub fn hear_routers(journal: &mut Journal, interface: &str) -> Result<(), SetupError> {
    let key = accept_ra(interface);
    let is_ours = |change: &Change| matches!(change, Change::Sysctl(s) if s.key == FORWARDING_V6);
    // 2 may be another bond's doing.
    let hears = matches!(read(&key).as_deref(), Ok("1" | "2"));
    if hears && journal.changes().iter().any(is_ours) {
        plan(journal, key, "2")?;
    }
    Ok(())
}

/// Whether an interface hears routers: 1 where it does not forward, 2 always.
fn accept_ra(interface: &str) -> String {
    format!("ipv6/conf/{interface}/accept_ra")
}

/// Takes [`forwarding`] back for an IP version, where nothing else needs it.
pub(super) fn forward_no_more(journal: &mut Journal, v6: bool) -> Result<(), SetupError> {
    let ours = |key: &str| match v6 {
        false => key == "ipv4/ip_forward",
        true => key == FORWARDING_V6 || key.ends_with("/accept_ra"),
    };
    take_back(journal, ours)
}

/// Takes settings back early.
fn take_back(journal: &mut Journal, ours: impl Fn(&str) -> bool) -> Result<(), SetupError> {
    let made = journal.changes().iter().filter(|c| matches!(c, Change::Sysctl(s) if ours(&s.key)));
    let made: Vec<Change> = made.cloned().collect();
    made.iter().rev().try_for_each(|change| journal.undo(change))
}

/// Lets answers in by `interface` although the machine's own default route points elsewhere: reverse path
/// filtering goes from strict to loose (RFC 3704, 2.4) if it is strict.
pub fn reverse_path(journal: &mut Journal, interface: &str) -> Result<(), SetupError> {
    let key = |name: &str| format!("ipv4/conf/{name}/rp_filter");
    let value = |name: &str| read(&key(name)).ok().and_then(|v| v.parse::<u8>().ok()).unwrap_or(0);
    // The kernel takes the greater of the two (ip-sysctl, "rp_filter"). 2 may be another bond's doing.
    if value("all").max(value(interface)) == 1 || value(interface) == 2 {
        plan(journal, key(interface), "2")?;
    }
    Ok(())
}

/// Takes [`reverse_path`] back for an interface.
pub(super) fn reverse_path_again(journal: &mut Journal, interface: &str) -> Result<(), SetupError> {
    let ours = format!("ipv4/conf/{interface}/rp_filter");
    take_back(journal, |key| key == ours)
}

/// Lets IPv4 answers in to clients while rules of routing hold back what comes from the bond's
/// `device` without a mark, and takes that back where there are none. Reverse path filtering (RFC
/// 3704) looks for the way back as if the answer came from there, and without a mark unless
/// `src_valid_mark` is set (net/ipv4/fib_frontend.c, `__fib_validate_source`).
pub(super) fn reverse_path_by_mark(journal: &mut Journal, device: &str) -> Result<(), SetupError> {
    const KEY: &str = "ipv4/conf/all/src_valid_mark";
    let holds_back = |change: &Change| match change {
        Change::Rule(Rule { v6: false, does, .. }) => {
            matches!(does, RuleKind::InToNowhere { .. } | RuleKind::InToUnreachable { .. })
        }
        _ => false,
    };
    if journal.changes().iter().any(holds_back) {
        plan(journal, KEY.into(), "1")?;
        // A client's mark leads to its exit and not back to it; the engine checks its address.
        return reverse_path(journal, device);
    }
    reverse_path_again(journal, device)?;
    take_back(journal, |key| key == KEY)
}

/// Connection tracking does not call segments invalid whose numbers it did not expect: a proxy in
/// front of it acknowledges and repeats what it has not seen. Does nothing where there is no
/// connection tracking.
pub fn liberal_tracking(journal: &mut Journal) -> Result<(), SetupError> {
    plan(journal, "netfilter/nf_conntrack_tcp_be_liberal".into(), "1")
}

/// Connections that begin here ask for marks (ECN, RFC 3168), IPv6's too. Values that ask already
/// stay: 3 and 4 ask for accurate ECN (RFC 9768), or answer it.
pub fn ask_for_marks(journal: &mut Journal) -> Result<(), SetupError> {
    const KEY: &str = "ipv4/tcp_ecn";
    match read(KEY).as_deref() {
        Ok("3" | "4") | Err(_) => Ok(()),
        Ok(_) => plan(journal, KEY.into(), "1"),
    }
}

/// Gives a setting of a device of ours its value; it ends with the device. Where IPv6 is missing, so are its settings. The engine drops what these settings
/// are about, too, so a `/proc/sys` that cannot be written stops nothing.
pub(super) fn insist(key: &str, value: &str) {
    let is_other = read(key).is_ok_and(|before| before != value);
    if let (true, Err(error)) = (is_other, write(key, value)) {
        tracing::warn!("net/{key} cannot be set to {value}: {error}");
    }
}

/// Gives a setting its value, if it has another and is there. One that others set back, or whose
/// interface went and came, is noted once.
pub(super) fn plan(journal: &mut Journal, key: String, after: &str) -> Result<(), SetupError> {
    if let Some(sysctl) = Sysctl::plan(key.clone(), after) {
        return journal.make_again(Change::Sysctl(sysctl));
    }
    match before_of_others(&key) {
        // Another bond has given it its value, and may end before this one.
        Some(before) if before != after => {
            journal.make_again(Change::Sysctl(Sysctl { key, before, after: after.into() }))
        }
        _ => Ok(()),
    }
}

fn path(key: &str) -> PathBuf {
    PathBuf::from("/proc/sys/net").join(key)
}

fn read(key: &str) -> io::Result<String> {
    Ok(std::fs::read_to_string(path(key))?.trim().to_owned())
}

fn write(key: &str, value: &str) -> io::Result<()> {
    std::fs::write(path(key), value)
}
