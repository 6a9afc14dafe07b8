//! Controllers that stay: pinned in the BPF file system.

use crate::loader::Maps;
use crate::shared::{COUNTERS, KEY};
use crate::{Counters, KernError, Law, sys};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where controllers are pinned: a directory for each, with its link and its maps.
pub const PINS: &str = "/sys/fs/bpf/ropewalk";
const BPFFS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` (include/uapi/linux/magic.h).
const BPFFS_MAGIC: u32 = 0xcafe_4a11;
/// Who has locked this one may load and unload.
const LOCK: &str = "/run/ropewalk-mptcp.lock";
/// How long others may take: some loads, and two unloads for which the kernel takes its time
/// ([`FORGETS`]).
const OTHERS: Duration = Duration::from_secs(15);

/// What [`load`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// It was there before; nothing was done.
    pub already: bool,
    /// No BPF file system was at /sys/fs/bpf, and one was mounted.
    pub mounted: bool,
}

/// What [`unload`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unloaded {
    /// It was there.
    pub was_loaded: bool,
    /// Coupled connections that go on under it until they are closed.
    pub connections: usize,
}

/// How a controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Which.
    pub law: Law,
    /// The kernel lists it.
    pub is_registered: bool,
    /// What its maps say; none where it is not pinned here.
    pub figures: Option<(usize, Counters)>,
}

fn directory(law: Law) -> PathBuf {
    Path::new(PINS).join(law.kernel_name())
}

/// Loads a controller and leaves it in the kernel. Twice is once.
pub fn load(law: Law) -> Result<Loaded, KernError> {
    if !rustix::process::geteuid().is_root() {
        return Err(KernError::NotRoot);
    }
    let _locked = lock()?;
    let mounted = mount()?;
    let directory = directory(law);
    if is_registered(law) {
        let already = directory.join("link").exists();
        return if already {
            Ok(Loaded { already, mounted })
        } else {
            Err(KernError::Taken(law.kernel_name()))
        };
    }
    // What is left of a load that was killed.
    remove(&directory)?;
    let maps = Maps::new(law.kernel_name(), law.object(), None)?;
    let link = maps.register(law)?;
    fs::create_dir_all(&directory).map_err(KernError::system("making a directory under /sys/fs/bpf"))?;
    // The link last: with it the controller is there to stay.
    let pins =
        [("connections", maps.map("connections")?), ("counters", maps.map("counters")?), ("link", &link)];
    for (name, fd) in pins {
        let pinned = sys::pin(fd.as_fd(), &directory.join(name));
        if let Err(e) = pinned {
            let _ = remove(&directory);
            return Err(KernError::system("pinning the controller")(e));
        }
    }
    Ok(Loaded { already: false, mounted })
}

/// How long the kernel may take to forget a controller whose last pin is gone: a work queue does it.
const FORGETS: Duration = Duration::from_secs(5);

/// Takes a controller out of the kernel's list, and waits until it is. Connections that run on it
/// keep it until they are closed: the kernel counts them.
pub fn unload(law: Law) -> Result<Unloaded, KernError> {
    if !rustix::process::geteuid().is_root() {
        return Err(KernError::NotRoot);
    }
    let _locked = lock()?;
    let directory = directory(law);
    if !directory.join("link").exists() {
        if is_registered(law) {
            return Err(KernError::PinnedElsewhere(law.kernel_name()));
        }
        remove(&directory)?;
        return Ok(Unloaded { was_loaded: false, connections: 0 });
    }
    let connections = figures(law).map_or(0, |(connections, _)| connections);
    remove(&directory)?;
    // Whoever loads it next would else find it listed, and without a pin.
    match becomes_false(|| is_registered(law), FORGETS) {
        true => Ok(Unloaded { was_loaded: true, connections }),
        false => Err(KernError::PinnedElsewhere(law.kernel_name())),
    }
}

/// Waits until it is so no more; false if it still is after this span.
fn becomes_false(mut is_so: impl FnMut() -> bool, span: Duration) -> bool {
    let until = Instant::now() + span;
    while is_so() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// How each controller does.
pub fn status() -> Vec<Status> {
    let of = |law| Status { law, is_registered: is_registered(law), figures: figures(law) };
    Law::ALL.map(of).into()
}

/// The kernel lists it, and gives it to new connections.
fn is_registered(law: Law) -> bool {
    let listed = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    listed.unwrap_or_default().split_whitespace().any(|name| name == law.kernel_name())
}

fn figures(law: Law) -> Option<(usize, Counters)> {
    let directory = directory(law);
    let connections = sys::pinned(&directory.join("connections")).ok()?;
    let counters = sys::pinned(&directory.join("counters")).ok()?;
    let mut bytes = [0; COUNTERS];
    sys::lookup(counters.as_fd(), &[0; 4], &mut bytes).ok()?;
    Some((keys(connections.as_fd()).ok()?.len(), Counters::from(&bytes)))
}

/// The keys of a map, as far as they can be had while it changes.
pub(crate) fn keys(map: BorrowedFd<'_>) -> io::Result<Vec<[u8; KEY]>> {
    let (mut all, mut next) = (Vec::new(), [0; KEY]);
    // Where an entry goes in between, the kernel begins anew: so there is a bound.
    while all.len() < crate::CONNECTIONS as usize
        && sys::next_key(map, all.last().map(|k: &[u8; KEY]| &k[..]), &mut next)?
    {
        all.push(next);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn remove(directory: &Path) -> Result<(), KernError> {
    let gone = |r: io::Result<()>| match r {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(KernError::system("taking the controller's pins away")(e))
        }
        _ => Ok(()),
    };
    // The link first: nothing may be left that is registered and cannot be found.
    for name in ["link", "connections", "counters"] {
        gone(fs::remove_file(directory.join(name)))?;
    }
    gone(fs::remove_dir(directory))
}

/// Mounts the BPF file system where it is not; says whether it did.
fn mount() -> Result<bool, KernError> {
    if rustix::fs::statfs(BPFFS).is_ok_and(|s| is_bpffs(s.f_type)) {
        return Ok(false);
    }
    let flags = rustix::mount::MountFlags::NOSUID
        | rustix::mount::MountFlags::NODEV
        | rustix::mount::MountFlags::NOEXEC;
    rustix::mount::mount("bpffs", BPFFS, "bpf", flags, c"mode=0700")
        .map_err(|e| KernError::NoBpffs(e.into()))?;
    Ok(true)
}

/// Whether this is the type of a BPF file system. 32-bit machines may have it as a negative number.
fn is_bpffs(kind: impl Into<i128>) -> bool {
    kind.into() as u32 == BPFFS_MAGIC
}

/// Keeps others from loading and unloading for as long as the file is open: of two at once the
/// second would take the first's pins for those of a load that was killed.
fn lock() -> Result<Option<File>, KernError> {
    match lock_file(Path::new(LOCK), OTHERS) {
        // Where there is no /run, there is hardly anybody else.
        Err(KernError::System { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        locked => locked.map(Some),
    }
}

/// Locks a file (flock(2)) for as long as it is open, and makes it where it is not there. Waits up
/// to `patience` for others that load or unload controllers.
///
/// # Errors
/// [`KernError::Locked`] if they take longer; or the file cannot be opened or locked.
pub fn lock_file(path: &Path, patience: Duration) -> Result<File, KernError> {
    let failed = KernError::system("locking a file so that one loads or unloads a controller at a time");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = opened.map_err(&failed)?;
    let mut outcome = Ok(());
    let is_held = || {
        outcome = flock(&file, FlockOperation::NonBlockingLockExclusive);
        outcome == Err(Errno::WOULDBLOCK)
    };
    if !becomes_false(is_held, patience) {
        return Err(KernError::Locked(path.to_owned()));
    }
    outcome.map_err(|e| failed(e.into()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_whatever_its_sign() {
        assert!(is_bpffs(0xcafe_4a11_i64) && is_bpffs(0xcafe_4a11_u32) && is_bpffs(0xcafe_4a11_u32 as i32));
        assert!(!is_bpffs(0x0102_1994_i64), "tmpfs");
    }

    /// As the kernel's list does, whose work queue comes to it in its own time.
    #[test]
    fn what_is_so_for_a_moment_is_waited_for_and_no_longer_than_is_said() {
        let mut listed = [true, true, false].into_iter();
        assert!(becomes_false(|| listed.next().unwrap(), Duration::from_secs(60)));
        assert_eq!(listed.next(), None, "it was asked until then");
        assert!(!becomes_false(|| true, Duration::ZERO));
    }

    /// One that was stopped (Ctrl-Z) holds the lock without an end.
    #[test]
    fn a_lock_that_another_holds_is_waited_for_and_no_longer_than_is_said() {
        let path = std::env::temp_dir().join(format!("ropewalk-mptcp-lock-{}", std::process::id()));
        let first = lock_file(&path, Duration::ZERO).unwrap();
        let second = lock_file(&path, Duration::from_millis(20)).unwrap_err();
        drop(first);
        let third = lock_file(&path, Duration::from_secs(60));
        fs::remove_file(&path).unwrap();
        assert!(matches!(&second, KernError::Locked(file) if *file == path), "{second:?}");
        assert!(second.to_string().contains(&format!("fuser -v {}", path.display())), "{second}");
        assert!(third.is_ok(), "it is free: {third:?}");
    }
}
