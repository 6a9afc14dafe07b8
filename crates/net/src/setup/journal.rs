//! The list of changes to take back.
//!
//! One file, `changes.json` in the state directory: a JSON line for the place and boot it is about, then one
//! per change, each written before the change is made. A line that a crash tore belongs to a change that was
//! not made. The file is locked while its owner lives.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{Change, SetupError};

const FILE: &str = "changes.json";

/// The changes of this process, and those that a former one could not take back until now.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    changes: Vec<Change>,
    /// The file is removed and may be another process's by now.
    closed: bool,
}

/// A line of the file after the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    /// About to be made.
    Made(Change),
    /// Taken back, or never made because it failed.
    Undone(Change),
}

/// Where changes were made: after a reboot they are gone, and in another namespace they cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    boot: String,
    namespace: u64,
}

impl Journal {
    /// Opens the journal in `state_dir`, taking back what a former process left behind.
    ///
    /// Returns the journal, empty, and how many changes were taken back. Fails if another process holds it.
    pub fn open(state_dir: &Path) -> Result<(Journal, usize), SetupError> {
        let path = state_dir.join(FILE);
        let failed = |source| SetupError::Journal { path: path.clone(), source };
        let file = lock(&path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => SetupError::Running(state_dir.into()),
            _ => failed(error),
        })?;
        let here = Place::here().map_err(failed)?;
        let changes = read(&file, &here).map_err(failed)?;
        let mut journal = Journal { path: path.clone(), file, changes, closed: false };
        let left_behind = journal.changes.len();
        journal.take_all_back()?;
        journal.start_over(&here)?;
        Ok((journal, left_behind))
    }

    /// Notes `change` and makes it. If it fails, nothing of it stands.
    pub fn make(&mut self, change: Change) -> Result<(), SetupError> {
        self.write(&Entry::Made(change.clone()))?;
        match change.make() {
            Ok(()) => self.changes.push(change),
            // It must be struck out: what was in its way may be another bond's, and is not ours to take back.
            Err(error) => {
                self.write(&Entry::Undone(change))?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes one change back early.
    pub fn undo(&mut self, change: &Change) -> Result<(), SetupError> {
        change.take_back()?;
        self.changes.retain(|c| c != change);
        self.write(&Entry::Undone(change.clone()))
    }

    fn write(&mut self, entry: &impl Serialize) -> Result<(), SetupError> {
        let mut line = serde_json::to_vec(entry).map_err(|e| self.failed(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|e| self.failed(e))
    }

    /// The changes that stand, oldest first.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Takes everything back, newest first, and removes the file. Goes on after a failure, and returns the
    /// first; the file then stays, so that the next start tries again.
    pub fn restore(mut self) -> Result<(), SetupError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), SetupError> {
        self.take_all_back()?;
        self.closed = true;
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.failed(e)),
            _ => Ok(()),
        }
    }

    fn take_all_back(&mut self) -> Result<(), SetupError> {
        let mut first = None;
        let mut stuck = Vec::new();
        while let Some(change) = self.changes.pop() {
            if let Err(error) = change.take_back() {
                tracing::warn!(?change, %error, "a change to this machine could not be taken back");
                first.get_or_insert(error);
                stuck.push(change);
            }
        }
        stuck.reverse();
        self.changes = stuck;
        first.map_or(Ok(()), Err)
    }

    fn start_over(&mut self, here: &Place) -> Result<(), SetupError> {
        self.file.set_len(0).map_err(|e| self.failed(e))?;
        self.write(here)
    }

    fn failed(&self, source: io::Error) -> SetupError {
        SetupError::Journal { path: self.path.clone(), source }
    }
}

impl Drop for Journal {
    /// Restores on the way out of a panic or an early return, too.
    fn drop(&mut self) {
        if !self.closed
            && let Err(error) = self.finish()
        {
            tracing::warn!(%error, "not everything could be taken back; the next start tries again");
        }
    }
}

/// Takes back what a process that died left behind, without starting a new one. Returns how many changes that
/// were.
pub fn cleanup_stale(state_dir: &Path) -> Result<usize, SetupError> {
    if !state_dir.join(FILE).exists() {
        return Ok(0);
    }
    let (journal, count) = Journal::open(state_dir)?;
    journal.restore()?;
    Ok(count)
}

impl Place {
    fn here() -> io::Result<Place> {
        // The thread's own view: threads may live in different namespaces.
        let namespace = std::fs::metadata("/proc/thread-self/ns/net")?.ino();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Place { boot: boot.trim().into(), namespace })
    }
}

/// Opens the file for appending and locks it. The owner removes the file when it is done, so after locking it
/// must still be the one of that name.
fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|e| match e {
            Errno::WOULDBLOCK => io::ErrorKind::WouldBlock.into(),
            e => io::Error::from(e),
        })?;
        match std::fs::metadata(path) {
            Ok(named) if named.ino() == file.metadata()?.ino() => return Ok(file),
            _ => {}
        }
    }
}

/// The changes in the file, oldest first; none if they were made before the last boot or elsewhere.
fn read(file: &File, here: &Place) -> io::Result<Vec<Change>> {
    let mut lines = BufReader::new(file).lines();
    let Some(first) = lines.next().transpose()? else { return Ok(Vec::new()) };
    if serde_json::from_str::<Place>(&first).ok().as_ref() != Some(here) {
        tracing::info!("changes noted before a reboot or in another network namespace are forgotten");
        return Ok(Vec::new());
    }
    let mut changes: Vec<Change> = Vec::new();
    for line in lines {
        match serde_json::from_str(&line?) {
            Ok(Entry::Made(change)) => changes.push(change),
            Ok(Entry::Undone(change)) => changes.retain(|c| *c != change),
            Err(error) => tracing::warn!(%error, "a line of the journal is damaged"),
        }
    }
    Ok(changes)
}
