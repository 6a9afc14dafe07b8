//! The list of changes to take back.
//!
//! One file, `changes.json` in the state directory: a JSON line for the place and boot it is about, then one
//! per change, each written before the change is made. A line that a crash tore belongs to a change that was
//! not made. The file is locked while its owner lives; one that is written anew takes its place with a lock.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::sysctl::Held;
use super::{Change, SetupError};

const FILE: &str = "changes.json";
/// What takes its place.
const BESIDE: &str = "changes.json.new";
/// What the file may grow by beside what stands, bytes, before it is written anew.
const SLACK: u64 = 64 << 10;

/// The changes of this process, and those that a former one could not take back until now.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    dir: OwnedFd,
    file: File,
    here: Place,
    changes: Vec<Change>,
    held: Held,
    /// The file lacks something: it is new, or the disk was full.
    incomplete: bool,
    /// How long the file was when it was written as a whole.
    whole: u64,
    said_full: bool,
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
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(state_dir, flags, Mode::empty());
        let dir = dir.map_err(|e| SetupError::Journal { path: state_dir.join(FILE), source: e.into() })?;
        Journal::open_in(dir, state_dir, |_| false)
    }

    /// The same in a directory that is open, called `state_dir`. What holds something back may stay
    /// ([`Change::is_kill_switch`], [`Change::holds_hosts_back`]): then it is this journal's to take back.
    pub fn open_in(
        dir: OwnedFd,
        state_dir: &Path,
        stays: impl Fn(&Change) -> bool,
    ) -> Result<(Journal, usize), SetupError> {
        let path = state_dir.join(FILE);
        let failed = |source| SetupError::Journal { path: path.clone(), source };
        let file = lock(&dir).or_else(|e| if is_full(&e) { nowhere() } else { Err(e) });
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => SetupError::Running(state_dir.into()),
            _ => failed(error),
        })?;
        let here = Place::here().map_err(failed)?;
        let all = read(&file, &here).map_err(failed)?.into_iter();
        let (kept, left): (Vec<Change>, Vec<Change>) = all.partition(stays);
        let left_behind = left.len();
        let mut journal = Journal {
            path: path.clone(),
            dir,
            file,
            here,
            changes: left,
            held: Held::default(),
            incomplete: true,
            whole: 0,
            said_full: false,
            closed: false,
        };
        let outcome = journal.take_all_back();
        // Also where that failed: what is noted now may take the place of the file.
        journal.changes.splice(0..0, kept);
        outcome?;
        journal.write(None)?;
        Ok((journal, left_behind))
    }

    /// Notes `change` and makes it. If it fails, nothing of it stands.
    pub fn make(&mut self, change: Change) -> Result<(), SetupError> {
        self.write(Some(&Entry::Made(change.clone())))?;
        match change.make() {
            Ok(()) => {
                self.held.begin(&change);
                self.changes.push(change);
            }
            // It must be struck out: what was in its way may be another bond's, and is not ours to take back.
            Err(error) => {
                self.write(Some(&Entry::Undone(change)))?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// The same of a change that may be noted already, and undone by others since: it is noted
    /// once.
    pub(super) fn make_again(&mut self, change: Change) -> Result<(), SetupError> {
        if self.changes.contains(&change) { change.make() } else { self.make(change) }
    }

    /// Makes `new`, which takes the place of `old` in one step: of the old one nothing is left to
    /// take back. If it fails, `old` stands.
    pub fn replace(&mut self, old: &Change, new: Change) -> Result<(), SetupError> {
        if *old == new {
            // Somebody may have taken it away since.
            return new.make();
        }
        self.make(new)?;
        self.changes.retain(|c| c != old);
        self.write(Some(&Entry::Undone(old.clone())))
    }

    /// A table that is noted has these rules now, of which the file knows nothing.
    pub(super) fn remember(&mut self, change: Change) {
        let table = change.table();
        if let Some(noted) = self.changes.iter_mut().find(|c| c.table() == table) {
            *noted = change;
        }
    }

    /// Takes one change back early.
    pub fn undo(&mut self, change: &Change) -> Result<(), SetupError> {
        self.held.take_back(change)?;
        self.changes.retain(|c| c != change);
        self.write(Some(&Entry::Undone(change.clone())))
    }

    /// Adds a line to the file; writes it anew if it lacks something. A full disk stops nobody: the changes are known here, and to be taken back.
    fn write(&mut self, entry: Option<&Entry>) -> Result<(), SetupError> {
        let mut text = Vec::new();
        let length = self.file.metadata().map_err(|e| self.failed(e))?.len();
        // Most lines are of changes that were taken back since.
        self.incomplete |= length > self.whole * 2 + SLACK;
        let start = if self.incomplete { 0 } else { length };
        let is_whole = self.incomplete;
        if is_whole {
            line(&mut text, &self.here).map_err(|e| self.failed(e))?;
            for change in &self.changes {
                line(&mut text, &Entry::Made(change.clone())).map_err(|e| self.failed(e))?;
            }
        }
        if let Some(entry) = entry {
            line(&mut text, entry).map_err(|e| self.failed(e))?;
        }
        // One without a name is where the disk had no room for a file.
        let has_name = self.file.metadata().is_ok_and(|m| m.nlink() > 0);
        let written = match is_whole && has_name {
            true => self.rewrite(&text),
            false => self.file.set_len(start).and_then(|()| self.file.write_all(&text)),
        };
        match written {
            Ok(()) => {
                self.incomplete = false;
                self.whole = if is_whole { text.len() as u64 } else { self.whole };
            }
            Err(error) if is_full(&error) => {
                // A torn line would spoil the next.
                let _ = self.file.set_len(if is_whole && has_name { length } else { start });
                self.say_it_is_full();
            }
            Err(error) => return Err(self.failed(error)),
        }
        Ok(())
    }

    /// Puts a file in place of the present one, so that a process that is killed leaves one of them. Whoever
    /// waits for the lock of the old one finds that it has lost its name.
    fn rewrite(&mut self, text: &[u8]) -> io::Result<()> {
        let remove = || rustix::fs::unlinkat(&self.dir, BESIDE, AtFlags::empty());
        let _ = remove();
        let write = || -> io::Result<File> {
            let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::openat(&self.dir, BESIDE, flags, Mode::RUSR | Mode::WUSR)?);
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.write_all(text)?;
            // Not flushed: after a power cut the changes are gone, too.
            rustix::fs::renameat(&self.dir, BESIDE, &self.dir, FILE)?;
            Ok(file)
        };
        let written = write();
        if written.is_err() {
            let _ = remove();
        }
        self.file = written?;
        Ok(())
    }

    fn say_it_is_full(&mut self) {
        if !std::mem::replace(&mut self.said_full, true) {
            tracing::warn!(
                "{} cannot be written, for the disk is full: what is changed on this machine is taken back when this daemon ends, but not if it is killed. \
                 Make room",
                self.path.display()
            );
        }
        self.incomplete = true;
    }

    /// The changes that stand, oldest first.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Takes everything back, newest first, and removes the file. Goes on after a failure, and returns the
    /// first; the file then stays, so that the next start tries again.
    pub fn restore(mut self) -> Result<(), SetupError> {
        self.take_all_back()?;
        self.close()
    }

    /// Ends as in a process that is killed: nothing is taken back, and the next start finds it all.
    pub fn abandon(mut self) {
        self.closed = true;
    }

    fn close(&mut self) -> Result<(), SetupError> {
        self.closed = true;
        if !self.changes.is_empty() {
            self.incomplete = true;
            return self.write(None);
        }
        match rustix::fs::unlinkat(&self.dir, FILE, AtFlags::empty()) {
            Err(e) if e != Errno::NOENT => Err(self.failed(e.into())),
            _ => Ok(()),
        }
    }

    fn take_all_back(&mut self) -> Result<(), SetupError> {
        let mut first = None;
        let mut stuck = Vec::new();
        while let Some(change) = self.changes.pop() {
            if let Err(error) = self.held.take_back(&change) {
                tracing::warn!(?change, %error, "a change to this machine could not be taken back");
                first.get_or_insert(error);
                stuck.push(change);
            }
        }
        stuck.reverse();
        self.changes = stuck;
        first.map_or(Ok(()), Err)
    }

    fn failed(&self, source: io::Error) -> SetupError {
        SetupError::Journal { path: self.path.clone(), source }
    }
}

impl Drop for Journal {
    /// Restores on the way out of a panic or an early return, too, but for a kill switch, and for what
    /// holds hosts back: they stay when their bond fails.
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        let (stays, goes): (Vec<Change>, Vec<Change>) = std::mem::take(&mut self.changes)
            .into_iter()
            .partition(|c| c.is_kill_switch() || c.holds_any_host_back());
        if stays.iter().any(Change::is_kill_switch) {
            tracing::warn!(
                "the kill switch stays: nothing leaves this machine but by the bond. Start the client again, or take it back with `ropewalk restore`"
            );
        }
        self.changes = goes;
        let outcome = self.take_all_back();
        self.changes.splice(0..0, stays);
        if let Err(error) = outcome.and_then(|()| self.close()) {
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
    refuse_elsewhere(state_dir)?;
    let (journal, count) = Journal::open(state_dir)?;
    journal.restore()?;
    Ok(count)
}

/// Fails if there is a list of changes that were made in another network namespace since the last boot.
/// A daemon forgets such a list, for a container has another namespace at each start.
pub fn refuse_elsewhere(state_dir: &Path) -> Result<(), SetupError> {
    let path = state_dir.join(FILE);
    let failed = |source| SetupError::Journal { path: path.clone(), source };
    let file = match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(failed)?,
    };
    let first = BufReader::new(file).lines().next().transpose().map_err(failed)?;
    let here = Place::here().map_err(failed)?;
    match first.and_then(|line| serde_json::from_str::<Place>(&line).ok()) {
        Some(place) if place.boot == here.boot && place != here => Err(SetupError::Elsewhere(path)),
        _ => Ok(()),
    }
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
fn lock(dir: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let file = File::from(rustix::fs::openat(dir, FILE, flags, Mode::RUSR | Mode::WUSR)?);
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|e| match e {
            Errno::WOULDBLOCK => io::ErrorKind::WouldBlock.into(),
            e => io::Error::from(e),
        })?;
        match rustix::fs::statat(dir, FILE, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if named.st_ino == file.metadata()?.ino() => return Ok(file),
            _ => {}
        }
    }
}

/// A file that ends with the process: where the disk has no room for a name.
fn nowhere() -> io::Result<File> {
    Ok(rustix::fs::memfd_create(FILE, MemfdFlags::CLOEXEC)?.into())
}

/// There is no room left, for anybody or for this user.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn line(text: &mut Vec<u8>, entry: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *text, entry)?;
    text.push(b'\n');
    Ok(())
}

/// The changes in the file, oldest first; none if they were made before the last boot or elsewhere.
fn read(file: impl Read, here: &Place) -> io::Result<Vec<Change>> {
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

/// Reads lines of changes of this place; what is read is written and read the same. For the fuzzer.
pub(crate) fn read_any(lines: &[u8]) {
    let here = Place { boot: "here".into(), namespace: 1 };
    let mut text = Vec::new();
    line(&mut text, &here).expect("a place can be written");
    let Ok(changes) = read(&*[&text, lines].concat(), &here) else { return };
    for change in &changes {
        line(&mut text, &Entry::Made(change.clone())).expect("a change can be written");
    }
    assert_eq!(read(&*text, &here).expect("and read"), changes);
}

#[cfg(test)]
mod tests {
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::super::firewall::KillSwitch;
    use super::super::sysctl::Sysctl;
    use super::*;

    /// Takes a file away as soon as something is logged.
    struct Removes(PathBuf);

    impl Subscriber for Removes {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            let _ = std::fs::remove_file(&self.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn the_file_does_not_grow_with_what_is_made_and_taken_back() {
        let dir = std::env::temp_dir().join(format!("ropewalk-journal-grows-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let setting = |name: &str| {
            let key = dir.join(name);
            std::fs::write(&key, "0").unwrap();
            let key = key.to_str().unwrap().to_owned();
            Change::Sysctl(Sysctl { key, before: "0".into(), after: "1".into() })
        };
        let (stays, goes) = (setting("stays"), setting("goes"));
        let (mut journal, _) = Journal::open(&dir).unwrap();
        journal.make(stays.clone()).unwrap();
        for _ in 0..2000 {
            journal.make(goes.clone()).unwrap();
            journal.undo(&goes).unwrap();
        }
        let length = std::fs::metadata(dir.join(FILE)).unwrap().len();
        let noted = read(File::open(dir.join(FILE)).unwrap(), &Place::here().unwrap()).unwrap();
        journal.restore().unwrap();
        let left = std::fs::read_to_string(dir.join("stays")).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(length < 2 * SLACK, "{length} bytes");
        assert_eq!((noted, left.as_str()), (vec![stays], "0"));
    }

    #[test]
    fn a_file_that_is_written_anew_takes_the_place_of_the_old_one_with_its_lock() {
        let dir = std::env::temp_dir().join(format!("ropewalk-journal-anew-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let key = dir.join("setting");
        std::fs::write(&key, "0").unwrap();
        let key = key.to_str().unwrap().to_owned();
        let change = Change::Sysctl(Sysctl { key, before: "0".into(), after: "1".into() });
        let (mut journal, _) = Journal::open(&dir).unwrap();
        journal.make(change.clone()).unwrap();
        let old = File::open(dir.join(FILE)).unwrap();
        // What a killed process left.
        std::fs::write(dir.join(BESIDE), "torn").unwrap();
        journal.incomplete = true;
        journal.undo(&change).unwrap();
        let nameless = old.metadata().unwrap().nlink() == 0;
        let noted = read(old, &journal.here).unwrap();
        let second = Journal::open(&dir).map(|_| ());
        let files = std::fs::read_dir(&dir).unwrap().count();
        journal.restore().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(nameless && noted == [change], "the old one is whole until the new one is");
        assert!(matches!(second, Err(SetupError::Running(_))), "{second:?}");
        assert_eq!(files, 2);
    }

    #[test]
    fn a_list_of_another_network_namespace_is_not_thrown_away() {
        let dir = std::env::temp_dir().join(format!("ropewalk-journal-elsewhere-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let here = Place::here().unwrap();
        let mut text = Vec::new();
        line(&mut text, &Place { namespace: here.namespace + 1, ..here }).unwrap();
        let switch = Change::KillSwitch(KillSwitch { device: "rw0".into() });
        line(&mut text, &Entry::Made(switch)).unwrap();
        std::fs::write(dir.join(FILE), &text).unwrap();
        let outcome = cleanup_stale(&dir);
        let left = std::fs::read(dir.join(FILE));
        std::fs::remove_dir_all(&dir).unwrap();
        let words = outcome.unwrap_err().to_string();
        assert!(words.contains("another network namespace: run this there"), "{words}");
        assert_eq!(left.unwrap(), text);
    }

    #[test]
    fn a_kill_switch_stays_noted_where_another_change_is_stuck_and_then_is_not() {
        let dir = std::env::temp_dir().join(format!("ropewalk-journal-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        // A setting that nobody may write, until the warning that it is stuck takes it away.
        let stuck = dir.join("stuck");
        std::os::unix::fs::symlink("/proc/sys/kernel/osrelease", &stuck).unwrap();
        let after = std::fs::read_to_string(&stuck).unwrap().trim().to_owned();
        let key = stuck.to_str().unwrap().to_owned();
        let switch = Change::KillSwitch(KillSwitch { device: "rw0".into() });
        let sysctl = Change::Sysctl(Sysctl { key, before: "1".into(), after });
        let (here, mut text) = (Place::here().unwrap(), Vec::new());
        line(&mut text, &here).unwrap();
        for change in [switch.clone(), sysctl] {
            line(&mut text, &Entry::Made(change)).unwrap();
        }
        std::fs::write(dir.join(FILE), text).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&dir, flags, Mode::empty()).unwrap();
        let opened = tracing::subscriber::with_default(Removes(stuck.clone()), || {
            Journal::open_in(handle, &dir, Change::is_kill_switch).is_ok()
        });
        assert!(!opened && !stuck.exists(), "stuck at first, and gone when the journal was dropped");
        let noted = read(File::open(dir.join(FILE)).unwrap(), &here).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(noted, [switch]);
    }
}
