//! What is kept on disk, in the directory that `--state` names.
//!
//! | file | what |
//! |---|---|
//! | `lock` | held by the running daemon |
//! | `key` | this end's static key, base64 |
//! | `clients.json` | gateway: who was invited, and who came |
//! | `gateway.json` | gateway: where it listened last, for invites while it does not run |
//! | `token` | client: the token used last |
//! | `usage.json` | client: bytes used of metered paths |
//! | `changes.json` | what was changed on this machine (`ropewalk_net::setup::Journal`) |
//! | `control.sock` | the daemon's ear |
//!
//! The directory is for its owner only, and every file is replaced as a whole: written beside, flushed to the disk, renamed.

pub mod clients;
pub mod identity;
pub mod pool;
pub mod saver;
pub mod usage;

use crate::exit::{Code, failure};
use anyhow::Context;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a command such as `invite` may have a state directory that a daemon wants.
const PATIENCE: Duration = Duration::from_secs(2);

/// A state directory.
#[derive(Clone, Debug)]
pub struct StateDir(PathBuf);

/// Held while a daemon works with a directory, or a command edits it.
#[derive(Debug)]
pub struct Lock(
    #[expect(dead_code, reason = "held, not read: the lock lasts as long as the file is open")] File,
);

impl StateDir {
    /// The directory at `path`, made if it is not there.
    pub fn open(path: &Path) -> anyhow::Result<StateDir> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.with_context(|| format!("the state directory {} cannot be made", path.display()))?;
        let whole = path.canonicalize().with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(StateDir(whole))
    }

    /// The directory at `path`, which a daemon should have made.
    pub fn existing(path: &Path) -> anyhow::Result<StateDir> {
        if !path.is_dir() {
            let sentence =
                format!("there is no state directory {}: has a daemon run with it?", path.display());
            return Err(failure(Code::NotRunning, sentence));
        }
        StateDir::open(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The daemon's socket.
    pub fn socket(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// Takes the directory for this process. A command that edits it is waited for; a daemon that has it is a failure.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            if self.has_daemon() || Instant::now() >= until {
                let place = self.0.display();
                let words = "another ropewalk runs with the state directory";
                let sentence = format!("{words} {place}: stop it, or choose another with --state");
                return Err(failure(Code::Taken, sentence));
            }
            std::thread::sleep(PATIENCE / 100);
        }
    }

    /// A daemon listens at the directory's socket.
    fn has_daemon(&self) -> bool {
        UnixStream::connect(self.socket()).is_ok()
    }

    /// Takes the directory if nobody has it.
    pub fn try_lock(&self) -> anyhow::Result<Option<Lock>> {
        let path = self.0.join("lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.with_context(|| format!("{} cannot be opened", path.display()))?);
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(e).with_context(|| format!("{} cannot be locked", path.display())),
        }
    }

    /// The contents of a file; `None` if it is not there.
    pub fn read(&self, name: &str) -> anyhow::Result<Option<String>> {
        let path = self.0.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).with_context(|| format!("{} cannot be read", path.display())),
        }
    }

    /// What a JSON file says; `None` if it is not there.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(text) = self.read(name)? else { return Ok(None) };
        let damaged =
            || format!("{} is damaged: restore it from a backup, or remove it", self.0.join(name).display());
        serde_json::from_str(&text).map(Some).with_context(damaged)
    }

    /// Replaces a file, for its owner only.
    pub fn write(&self, name: &str, contents: &[u8]) -> anyhow::Result<()> {
        let path = self.0.join(name);
        self.replace(&path, contents).with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Replaces a JSON file.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.write(name, &serde_json::to_vec_pretty(value)?)
    }

    fn replace(&self, path: &Path, contents: &[u8]) -> std::io::Result<()> {
        let beside = path.with_extension("new");
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(contents)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        // The new name, too, is to survive a power cut.
        File::open(&self.0)?.sync_all()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
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
    fn only_one_has_the_lock() {
        let scratch = Scratch::new();
        let lock = scratch.0.lock().unwrap();
        let daemon = UnixListener::bind(scratch.0.socket()).unwrap();
        let error = scratch.0.lock().unwrap_err().to_string();
        assert!(error.starts_with("another ropewalk runs with the state directory"), "{error}");
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
