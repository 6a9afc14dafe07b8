//! Kernel settings under `/proc/sys/net`.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
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

/// Which bonds need a machine that forwards: whoever has switched it on holds a lock until he ends,
/// and the last of them switches it off. The lock is on a file that only who may change the network
/// can open, and that each network namespace has: `route/flush`, which is never written here.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<(&'static str, File)>);

impl Held {
    /// A change was made.
    pub(super) fn begin(&mut self, change: &Change) {
        let Change::Sysctl(sysctl) = change else { return };
        let Some(name) = lock_of(&sysctl.key).filter(|_| is_switch(&sysctl.key)) else { return };
        if let Some(file) = open(name).filter(|_| self.0.iter().all(|(other, _)| *other != name))
            && flock(&file, FlockOperation::LockShared).is_ok()
        {
            self.0.push((name, file));
        }
    }

    /// Takes a change back, unless another bond needs it.
    pub(super) fn take_back(&mut self, change: &Change) -> Result<(), SetupError> {
        let name = if let Change::Sysctl(sysctl) = change { lock_of(&sysctl.key) } else { None };
        let Some(name) = name else { return change.take_back() };
        self.0.retain(|(other, _)| *other != name);
        // Nobody else begins before this is over.
        let file = open(name);
        if file.as_ref().is_some_and(is_held) {
            tracing::debug!(?change, "another bond needs it");
            return Ok(());
        }
        change.take_back()
    }
}

/// The lock that goes with a setting, if one does.
fn lock_of(key: &str) -> Option<&'static str> {
    match key {
        "ipv4/ip_forward" => Some("ipv4/route/flush"),
        _ if is_switch(key) || key.ends_with("/accept_ra") => Some("ipv6/route/flush"),
        _ => None,
    }
}

/// The settings that make a machine forward: 0 or 1.
fn is_switch(key: &str) -> bool {
    matches!(key, "ipv4/ip_forward" | "ipv6/conf/all/forwarding")
}

fn open(lock: &str) -> Option<File> {
    OpenOptions::new().write(true).open(path(lock)).ok()
}

/// Whether somebody holds the lock; else nobody else has it until `file` is closed.
fn is_held(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
}

/// Lets packets through from one interface to another; a gateway's work.
///
/// For IPv6, a machine that forwards no longer listens to router advertisements and forgets the default route
/// it has from one, unless its interfaces are told otherwise first (`accept_ra` 2); so they are.
pub fn forwarding(journal: &mut Journal, v4: bool, v6: bool) -> Result<(), SetupError> {
    if v4 {
        plan(journal, "ipv4/ip_forward".into(), "1")?;
    }
    if v6 {
        let links = crate::links::list()
            .map_err(|e| SetupError::system("listing network interfaces", io::Error::other(e.to_string())))?;
        for link in links.iter().filter(|link| !link.loopback) {
            let key = format!("ipv6/conf/{}/accept_ra", link.name);
            if read(&key).is_ok_and(|value| value == "1") {
                plan(journal, key, "2")?;
            }
        }
        plan(journal, "ipv6/conf/all/forwarding".into(), "1")?;
    }
    Ok(())
}

/// Takes [`forwarding`] back for an IP version, where nothing else needs it.
pub(super) fn forward_no_more(journal: &mut Journal, v6: bool) -> Result<(), SetupError> {
    let ours = |key: &str| match v6 {
        false => key == "ipv4/ip_forward",
        true => key == "ipv6/conf/all/forwarding" || key.ends_with("/accept_ra"),
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
    // The kernel takes the greater of the two (ip-sysctl, "rp_filter").
    if value("all").max(value(interface)) == 1 {
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
        Ok("1" | "3" | "4") | Err(_) => Ok(()),
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
    let another = |key: &str| is_switch(key) && lock_of(key).and_then(open).is_some_and(|f| is_held(&f));
    match Sysctl::plan(key.clone(), after) {
        Some(sysctl) => journal.make_again(Change::Sysctl(sysctl)),
        // Another bond has switched it on, and may end before this one.
        None if another(&key) => {
            let (before, after) = ("0".into(), after.into());
            journal.make_again(Change::Sysctl(Sysctl { key, before, after }))
        }
        None => Ok(()),
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
