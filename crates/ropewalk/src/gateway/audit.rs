//! Who did what at a gateway: JSON lines that are only added to, in two files of the state
//! directory.
//!
//! `audit.jsonl` has what people changed, `sessions.jsonl` when devices came and went. They are
//! two, so that a device that comes and goes all day pushes nothing of the other out. Each is
//! renamed to `….1` at [`MOST`] bytes. Neither has a secret: no token, no key.

use crate::state::StateDir;
use anyhow::Context;
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What people changed.
const CHANGES: &str = "audit.jsonl";
/// Who came and went.
const SESSIONS: &str = "sessions.jsonl";
/// A file is renamed when it would be longer, bytes. With the one before it, each takes twice that.
const MOST: u64 = 1 << 20;
/// Entries that wait for the disk; what comes then is lost, and said to be.
const WAITING: usize = 1024;
/// How long the end of a gateway waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// When, to the second, UTC.
    pub time: Timestamp,
    /// What was done.
    pub what: String,
    /// The device that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The address that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The user whose program asked for it, by the kernel's word; none: the gateway itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

impl Entry {
    /// Now.
    pub(crate) fn new(what: &str) -> Entry {
        let now = Timestamp::now();
        let time = now.round(Unit::Second).unwrap_or(now);
        Entry { time, what: what.into(), client: None, from: None, detail: None, uid: None }
    }

    /// About this device.
    #[must_use]
    pub(crate) fn client(self, name: &str) -> Entry {
        Entry { client: Some(name.into()), ..self }
    }

    /// It came from this address.
    #[must_use]
    pub(crate) fn address(self, remote: String) -> Entry {
        Entry { from: Some(remote), ..self }
    }

    /// More of it.
    #[must_use]
    pub(crate) fn detail(self, words: &str) -> Entry {
        Entry { detail: Some(words.into()), ..self }
    }

    /// Asked for by this user.
    #[must_use]
    pub(crate) fn by(self, uid: u32) -> Entry {
        Entry { uid: Some(uid), ..self }
    }

    fn file(&self) -> &'static str {
        if matches!(self.what.as_str(), "came" | "left") { SESSIONS } else { CHANGES }
    }
}

/// Notes what happens, on a thread of its own: no packet waits for the disk.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    entries: SyncSender<Entry>,
    unwritten: Arc<Unwritten>,
}

/// Dropping it waits until all that was noted is written. The thread itself ends with the process:
/// who answers requests may note something until then.
#[derive(Debug)]
pub(crate) struct AuditEnd(Arc<Unwritten>);

/// How many entries are on their way to the disk.
#[derive(Debug, Default)]
struct Unwritten {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl Audit {
    /// Starts the thread.
    pub(crate) fn start(dir: &StateDir) -> anyhow::Result<(Audit, AuditEnd)> {
        let (entries, inbox) = sync_channel(WAITING);
        let (dir, unwritten) = (dir.clone(), Arc::new(Unwritten::default()));
        let written = Arc::clone(&unwritten);
        let thread = std::thread::Builder::new().name("audit".into());
        thread.spawn(move || work(&dir, &inbox, &written)).context("a thread cannot be started")?;
        let end = AuditEnd(Arc::clone(&unwritten));
        Ok((Audit { entries, unwritten }, end))
    }

    /// Notes it soon.
    pub(crate) fn note(&self, entry: Entry) {
        self.unwritten.add();
        if let Err(refused) = self.entries.try_send(entry) {
            self.unwritten.take();
            let (TrySendError::Full(entry) | TrySendError::Disconnected(entry)) = refused;
            tracing::warn!(what = entry.what, "the audit log is behind, and lacks an entry");
        }
    }
}

impl Drop for AuditEnd {
    fn drop(&mut self) {
        if !self.0.is_none_within(PATIENCE) {
            tracing::warn!("the disk is slow: the audit log lacks what happened last");
        }
    }
}

impl Unwritten {
    fn add(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn take(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.fewer.notify_all();
    }

    fn is_none_within(&self, patience: Duration) -> bool {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.fewer.wait_timeout_while(count, patience, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

fn work(dir: &StateDir, inbox: &Receiver<Entry>, unwritten: &Unwritten) {
    let mut fails = false;
    while let Ok(entry) = inbox.recv() {
        let noted = note(dir, &entry);
        if let (Err(error), false) = (&noted, fails) {
            tracing::error!("{error:#}: the audit log lacks what happens now");
        }
        fails = noted.is_err();
        unwritten.take();
    }
}

/// Notes it at once.
pub(crate) fn note(dir: &StateDir, entry: &Entry) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    dir.append(entry.file(), &line, MOST)
}

/// The same for a command whose change stands: that it is not noted is said, and undoes nothing.
pub(crate) fn note_done(dir: &StateDir, entry: &Entry) {
    if let Err(error) = note(dir, entry) {
        eprintln!("ropewalk: {error:#}: the audit log lacks what was done");
    }
}

/// All that is known, the oldest first, and how many lines are no entries: a full disk or a power cut tore them.
pub(crate) fn read(dir: &StateDir) -> anyhow::Result<(Vec<Entry>, usize)> {
    let (mut all, mut torn) = (Vec::new(), 0);
    for file in [CHANGES, SESSIONS] {
        for name in [format!("{file}.1"), file.to_owned()] {
            // Where a line is torn, a letter may be, too.
            let bytes = dir.read_bytes(&name, u64::MAX - 1)?.unwrap_or_default();
            for line in String::from_utf8_lossy(&bytes).lines() {
                match serde_json::from_str::<Entry>(line) {
                    Ok(entry) => all.push(entry),
                    Err(_) => torn += 1,
                }
            }
        }
    }
    all.sort_by_key(|e| e.time);
    Ok((all, torn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    #[test]
    fn a_device_that_comes_and_goes_pushes_out_no_change_and_the_files_are_bounded() {
        let scratch = Scratch::new();
        let dir = &scratch.0;
        note(dir, &Entry::new("invited").client("alice").by(1000)).unwrap();
        let came = Entry::new("came").client("alice").address("192.0.2.1:4500".into());
        let long = serde_json::to_string(&came).unwrap().len() as u64;
        let enough = 3 * MOST / long;
        let line = format!("{}\n", serde_json::to_string(&came).unwrap()).repeat(1000);
        for _ in 0..enough / 1000 {
            dir.append(SESSIONS, line.as_bytes(), MOST).unwrap();
        }
        note(dir, &came).unwrap();
        let size = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().len();
        assert!(size(SESSIONS) <= MOST && size("sessions.jsonl.1") <= MOST);
        let (all, torn) = read(dir).unwrap();
        assert_eq!(torn, 0);
        assert_eq!((all[0].what.as_str(), all[0].uid), ("invited", Some(1000)), "{:?}", all[0]);
        assert!(all.len() > 1000 && all.last() == Some(&came));
        let text = dir.read(CHANGES).unwrap().unwrap();
        assert!(text.contains(r#""what":"invited","client":"alice","uid":1000}"#), "{text}");
    }

    #[test]
    fn what_was_noted_before_the_end_is_written() {
        let scratch = Scratch::new();
        let (audit, end) = Audit::start(&scratch.0).unwrap();
        for _ in 0..WAITING {
            audit.note(Entry::new("changed"));
        }
        drop(end);
        assert_eq!(read(&scratch.0).unwrap().0.len(), WAITING);
    }

    #[test]
    fn a_torn_line_hides_no_other() {
        let scratch = Scratch::new();
        let torn_in_a_letter = &b"{\"detail\":\"alice leaves by wl\xc3"[..];
        let all_torn = [&b"{\"time\":\"2026-01-0\n"[..], b"{\"time\":\"2026-01-0", torn_in_a_letter];
        for (n, torn) in all_torn.into_iter().enumerate() {
            scratch.0.append(CHANGES, torn, MOST).unwrap();
            note(&scratch.0, &Entry::new("revoked").client("bob")).unwrap();
            let (all, unread) = read(&scratch.0).unwrap();
            assert_eq!((all.len(), unread), (n + 1, n + 1));
        }
    }
}
