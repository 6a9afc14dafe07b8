//! What is kept on disk, in the directory that `--state` names.
//!
//! | file | what |
//! |---|---|
//! | `lock` | held by the running daemon |
//! | `key` | this end's static key, base64 |
//! | `clients.json` | gateway: who was invited, and who came |
//! | `grants.json` | gateway: what clients were granted: ports, groups, caps, shares |
//! | `audit.jsonl`, `sessions.jsonl` | gateway: who did what, and who came and went; with `.1` what was before |
//! | `gateway.json` | gateway: where it listened last, for invites while it does not run |
//! | `token` | client: the token used last |
//! | `usage.json` | client: bytes used of metered paths; access point of a bunch: of its uplink |
//! | `web.json` | the page: what each path did, minute by minute |
//! | `changes.json` | what was changed on this machine (`ropewalk_net::setup::Journal`) |
//! | `control.sock` | where commands ask the daemon |
//!
//! The directory is for its owner only, and is refused where others could write. It is opened once, and its files by that, symbolic links not followed: what is
//! put in the way of a path later leads nowhere. Every file is replaced as a whole: written beside, flushed to the disk, renamed.

pub(crate) mod clients;
pub(crate) mod identity;
pub(crate) mod meter;
pub(crate) mod quotas;
pub(crate) mod saver;
pub(crate) mod usage;

pub(crate) use ropewalk_fleet::pool;

use crate::exit::{Code, failure};
use anyhow::Context;
use ropewalk_net::patience::is_late;
use ropewalk_net::peer;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a command such as `invite` may have a state directory that a daemon wants.
const PATIENCE: Duration = Duration::from_secs(2);
const SOCKET: &str = "control.sock";

/// A state directory.
#[derive(Clone, Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    dir: Arc<OwnedFd>,
}

/// Held while a daemon works with a directory, or a command edits it.
#[derive(Debug)]
pub(crate) struct Lock(
    #[expect(dead_code, reason = "held, not read: the lock lasts as long as the file is open")] File,
);

impl StateDir {
    /// The directory at `path`, made if it is not there, to work with. Fails if it is another user's, or others may write there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<StateDir> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.with_context(|| format!("the state directory {} cannot be made", path.display()))?;
        let opened = StateDir::of(path)?;
        opened.check()?;
        Ok(opened)
    }

    /// The directory at `path`, which a daemon should have made, to talk to that daemon. It may be another user's.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<StateDir> {
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => StateDir::of(path),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(hidden(path)),
            _ => {
                let sentence =
                    format!("there is no state directory {}: has a daemon run with it?", path.display());
                Err(failure(Code::NotRunning, sentence))
            }
        }
    }

    fn of(path: &Path) -> anyhow::Result<StateDir> {
        // Without the slash at the end, behind which a link would be followed.
        let whole: PathBuf = std::path::absolute(path)?.components().collect();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::open(&whole, flags, Mode::empty()) {
            Ok(dir) => Ok(StateDir { path: whole, dir: Arc::new(dir) }),
            Err(_) if whole.is_symlink() => Err(failure(
                Code::Usage,
                format!(
                    "{} is a symbolic link: name the directory that it leads to with --state",
                    whole.display()
                ),
            )),
            Err(Errno::ACCESS) => Err(hidden(&whole)),
            Err(e) => {
                Err(e).with_context(|| format!("the state directory {} cannot be read", whole.display()))
            }
        }
    }

    /// Whoever can write into the directory can put a key of its own into it, or names of files that are not the daemon's.
    fn check(&self) -> anyhow::Result<()> {
        let (place, stat) = (self.path.display(), rustix::fs::fstat(&*self.dir)?);
        let (owner, we) = (stat.st_uid, rustix::process::geteuid().as_raw());
        if owner != we {
            let words = format!(
                "the state directory {place} belongs to user {owner}, and this runs as user {we}: run it as that user (`sudo -u \\#{owner} ropewalk …`), or give \
                 the directory to this one (`chown -R {we} {place}`)"
            );
            return Err(failure(Code::Rights, words));
        }
        if stat.st_mode & 0o022 != 0 {
            let words = format!(
                "others may write into the state directory {place}, and so change who is let in: take that right away (`chmod go-w {place}`), and look whether \
                 its files are yours"
            );
            return Err(failure(Code::Rights, words));
        }
        Ok(())
    }

    /// Where it is, for people.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself.
    pub(crate) fn handle(&self) -> anyhow::Result<OwnedFd> {
        Ok(self.dir.try_clone()?)
    }

    /// The daemon's socket, by a path that is this directory's whatever becomes of its name, and short enough for a socket (108 bytes, unix(7)).
    pub(crate) fn socket(&self) -> PathBuf {
        self.at(SOCKET)
    }

    /// A socket of this name, in the same way.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.dir.as_raw_fd()))
    }

    /// Takes the directory for this process. A command that edits it is waited for; a daemon that has it is a failure.
    pub(crate) fn lock(&self) -> anyhow::Result<Lock> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            if self.has_daemon() || Instant::now() >= until {
                let place = self.path.display();
                let words = "another ropewalk runs with the state directory";
                let sentence = format!("{words} {place}: stop it, or choose another with --state");
                return Err(failure(Code::Taken, sentence));
            }
            std::thread::sleep(PATIENCE / 100);
        }
    }

    /// A daemon listens at the directory's socket, also one that takes nobody in.
    fn has_daemon(&self) -> bool {
        match peer::connect(&self.socket(), PATIENCE / 100) {
            Ok(_) => true,
            Err(error) => is_late(&error),
        }
    }

    /// Takes the directory if nobody has it.
    pub(crate) fn try_lock(&self) -> anyhow::Result<Option<Lock>> {
        self.try_lock_at("lock")
    }

    /// The same by a lock of another name: for what runs beside the daemon.
    pub(crate) fn try_lock_at(&self, name: &str) -> anyhow::Result<Option<Lock>> {
        let file = self.open_file(name, OFlags::RDWR | OFlags::CREATE);
        let file = file.with_context(|| format!("{} cannot be opened", self.path.join(name).display()))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(e).with_context(|| format!("{} cannot be locked", self.path.display())),
        }
    }

    fn open_file(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(rustix::fs::openat(&*self.dir, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Takes a file away; no error if it is not there.
    pub(crate) fn remove(&self, name: &str) -> std::io::Result<()> {
        match rustix::fs::unlinkat(&*self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Takes the socket away.
    pub(crate) fn remove_socket(&self) {
        let _ = self.remove(SOCKET);
    }

    /// Whose the directory is.
    pub(crate) fn owner(&self) -> anyhow::Result<u32> {
        Ok(rustix::fs::fstat(&*self.dir)?.st_uid)
    }

    /// Renames a file that is of no use, in place of an earlier one; its new name.
    pub(crate) fn put_aside(&self, name: &str) -> std::io::Result<String> {
        let aside = format!("{name}.bad");
        rustix::fs::renameat(&*self.dir, name, &*self.dir, &aside)?;
        Ok(aside)
    }

    /// The contents of a file; `None` if it is not there.
    pub(crate) fn read(&self, name: &str) -> anyhow::Result<Option<String>> {
        self.read_at_most(name, u64::MAX - 1)
    }

    /// The same of a file that others may have made long: it has `most` bytes, or cannot be read.
    pub(crate) fn read_at_most(&self, name: &str, most: u64) -> anyhow::Result<Option<String>> {
        let Some(bytes) = self.read_bytes(name, most)? else { return Ok(None) };
        let text = String::from_utf8(bytes);
        text.map(Some).with_context(|| format!("{} cannot be read", self.path.join(name).display()))
    }

    /// The same of one that need not be text.
    pub(crate) fn read_bytes(&self, name: &str, most: u64) -> anyhow::Result<Option<Vec<u8>>> {
        let unreadable = || format!("{} cannot be read", self.path.join(name).display());
        let file = match self.open_file(name, OFlags::RDONLY) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(anyhow::anyhow!("it is a symbolic link")).with_context(unreadable);
            }
            Err(e) => return Err(e).with_context(unreadable),
        };
        let mut bytes = Vec::new();
        let read = file.take(most + 1).read_to_end(&mut bytes).with_context(unreadable)?;
        if read as u64 > most {
            return Err(anyhow::anyhow!("it has more than {most} bytes")).with_context(unreadable);
        }
        Ok(Some(bytes))
    }

    /// What a JSON file says; `None` if it is not there.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(text) = self.read(name)? else { return Ok(None) };
        let damaged = || {
            format!("{} is damaged: restore it from a backup, or remove it", self.path.join(name).display())
        };
        serde_json::from_str(&text).map(Some).with_context(damaged)
    }

    /// Replaces a file, for its owner only. The old one stays if there is no room for the new.
    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> anyhow::Result<()> {
        let beside = format!("{name}.new");
        let replaced = self.replace(name, &beside, contents);
        if replaced.is_err() {
            let _ = self.remove(&beside);
        }
        replaced.with_context(|| format!("{} cannot be written", self.path.join(name).display()))
    }

    /// Adds to a file, for its owner only. A file that would become longer than `most` bytes is
    /// renamed to `NAME.1` first, in place of that. After a line that a full disk or a power cut tore, a new one
    /// begins.
    pub(crate) fn append(&self, name: &str, line: &[u8], most: u64) -> anyhow::Result<()> {
        let added = || -> std::io::Result<()> {
            let open = || self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND);
            let mut file = open()?;
            let mut length = file.metadata()?.len();
            if length + line.len() as u64 > most {
                rustix::fs::renameat(&*self.dir, name, &*self.dir, format!("{name}.1"))?;
                file = open()?;
                length = 0;
            }
            let mut last = [b'\n'];
            if length > 0 {
                file.read_exact_at(&mut last, length - 1)?;
            }
            if last != *b"\n" {
                return file.write_all(&[b"\n".as_slice(), line].concat());
            }
            file.write_all(line)
        };
        added().with_context(|| format!("{} cannot be written", self.path.join(name).display()))
    }

    /// Replaces a JSON file.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.write(name, &serde_json::to_vec_pretty(value)?)
    }

    fn replace(&self, name: &str, beside: &str, contents: &[u8]) -> std::io::Result<()> {
        self.remove(beside)?;
        let mut file = self.open_file(beside, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        file.write_all(contents)?;
        file.sync_all()?;
        rustix::fs::renameat(&*self.dir, beside, &*self.dir, name)?;
        // The new name, too, is to survive a power cut.
        Ok(rustix::fs::fsync(&*self.dir)?)
    }
}

/// Whoever asks may not look there.
fn hidden(path: &Path) -> anyhow::Error {
    let words = "is for its user only: run this as root (sudo), or as that user";
    failure(Code::Rights, format!("the state directory {} {words}", path.display()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ropewalk_session::{CipherSet, ClientHello, Extensions, InviteId, InviteSecret};
    use rustix::thread::{CapabilitySet, CapabilitySets};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A state directory that goes away by itself.
    pub(crate) struct Scratch(pub StateDir);

    impl Scratch {
        pub(crate) fn new() -> Scratch {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("ropewalk-test-{}-{number}", std::process::id());
            Scratch(StateDir::open(&std::env::temp_dir().join(name)).unwrap())
        }
    }

    /// What a client with this invite says first.
    pub(crate) fn hello(invite: InviteId, secret: InviteSecret) -> ClientHello {
        ClientHello {
            ciphers: CipherSet::CHACHA,
            tun_mtu: 1420,
            resume: None,
            invite,
            secret,
            extensions: Extensions::default(),
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(self.0.path());
        }
    }

    #[test]
    fn files_are_replaced_whole_and_for_the_owner_only() {
        let scratch = Scratch::new();
        let dir = &scratch.0;
        assert_eq!(dir.read("key").unwrap(), None);
        dir.write("key", b"one").unwrap();
        dir.write("key", b"two").unwrap();
        assert_eq!(dir.read("key").unwrap().as_deref(), Some("two"));
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir.path().join("key")), mode(dir.path())), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_others_may_write_into_is_refused() {
        let scratch = Scratch::new();
        let path = scratch.0.path().to_owned();
        for (mode, refused) in [(0o755, false), (0o770, true), (0o702, true), (0o1777, true), (0o700, false)]
        {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let outcome = StateDir::open(&path);
            assert_eq!(outcome.is_err(), refused, "{mode:o}");
            if let Err(error) = outcome {
                let words = error.to_string();
                assert!(words.contains("others may write") && words.contains("chmod go-w"), "{words}");
            }
            assert!(StateDir::existing(&path).is_ok(), "its daemon may be asked all the same");
        }
    }

    #[test]
    fn somebody_else_s_directory_is_refused() {
        let scratch = Scratch::new();
        let path = scratch.0.path().to_owned();
        // Without root it cannot be given away.
        if std::os::unix::fs::chown(&path, Some(54_321), None).is_err() {
            ropewalk_skip::skip("needs root to give a directory away");
            return;
        }
        let words = StateDir::open(&path).unwrap_err().to_string();
        assert!(words.contains("belongs to user 54321") && words.contains("chown -R"), "{words}");
    }

    /// Does it without the rights of root to look into everything.
    pub(crate) fn without_rights<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        let give_up_and_work = || {
            let none = CapabilitySet::empty();
            let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
            // This thread's only.
            rustix::thread::set_capabilities(None, sets).unwrap();
            work()
        };
        std::thread::scope(|s| s.spawn(give_up_and_work).join().unwrap())
    }

    #[test]
    fn where_nobody_may_look_rights_are_missing() {
        let scratch = Scratch::new();
        let (path, inside) = (scratch.0.path(), scratch.0.path().join("home"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o0)).unwrap();
        for asked in [path, inside.as_path()] {
            let error = without_rights(|| StateDir::existing(asked).unwrap_err());
            assert_eq!(crate::exit::kind_of(&error), Code::Rights, "{error:#}");
            assert!(error.to_string().contains("sudo"), "{error:#}");
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn symbolic_links_are_not_followed() {
        let (scratch, elsewhere) = (Scratch::new(), Scratch::new());
        let (dir, link) = (&scratch.0, scratch.0.path().join("link"));
        std::os::unix::fs::symlink(elsewhere.0.path(), &link).unwrap();
        for named in [link.clone(), link.join("")] {
            let words = StateDir::open(&named).unwrap_err().to_string();
            assert!(words.contains("is a symbolic link"), "{words}");
        }
        let target = elsewhere.0.path().join("target");
        std::fs::write(&target, "theirs").unwrap();
        for name in ["key", "key.new", "lock"] {
            std::os::unix::fs::symlink(&target, dir.path().join(name)).unwrap();
        }
        assert!(format!("{:#}", dir.read("key").unwrap_err()).contains("symbolic link"));
        assert!(dir.try_lock().is_err());
        dir.write("key", b"ours").unwrap();
        assert_eq!(dir.read("key").unwrap().as_deref(), Some("ours"));
        assert_eq!(std::fs::read_to_string(target).unwrap(), "theirs");
    }

    #[test]
    fn what_cannot_be_written_leaves_the_old_file() {
        let scratch = Scratch::new();
        let dir = &scratch.0;
        dir.write("key", b"one").unwrap();
        std::fs::create_dir(dir.path().join("key.new")).unwrap();
        assert!(dir.write("key", b"two").is_err());
        assert_eq!(dir.read("key").unwrap().as_deref(), Some("one"));
    }

    #[test]
    fn only_one_has_the_lock() {
        let scratch = Scratch::new();
        let lock = scratch.0.lock().unwrap();
        let daemon = UnixListener::bind(scratch.0.socket()).unwrap();
        let error = scratch.0.lock().unwrap_err().to_string();
        assert!(error.starts_with("another ropewalk runs with the state directory"), "{error}");
        // The lock's own question waits there now: a daemon that hangs is one, too.
        rustix::net::listen(&daemon, 0).unwrap();
        scratch.0.lock().unwrap_err();
        drop((lock, daemon));
        scratch.0.lock().unwrap();
    }

    #[test]
    fn a_command_that_has_the_lock_is_waited_for() {
        let scratch = Scratch::new();
        let lock = scratch.0.lock().unwrap();
        assert!(scratch.0.try_lock().unwrap().is_none());
        std::thread::scope(|s| {
            let waiting = s.spawn(|| scratch.0.lock());
            std::thread::sleep(Duration::from_millis(50));
            drop(lock);
            waiting.join().unwrap().unwrap();
        });
    }
}
