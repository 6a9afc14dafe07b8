//! Records on the disk: a file for each contributor at a gateway, one at an access point.
//!
//! A file has the newest records; their totals count the earlier ones.

use super::{Record, ledger};
use crate::state::StateDir;
use anyhow::Context;
use ropewalk_session::PublicKey;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Records of a file, some 460 bytes each.
const MOST: usize = 256;
/// No file is longer, bytes.
pub(super) const LONGEST: u64 = 256 << 10;
/// Records that wait for the disk: one of each contributor.
const WAITING: usize = ledger::CONTRIBUTORS;
/// What the files' names begin with.
const PREFIX: &str = "account-";

/// A file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountFile {
    /// The oldest first.
    pub records: Vec<Record>,
}

/// The file of the account with somebody: their key's first eight bytes name it.
fn name(with: &PublicKey) -> String {
    with.0[..8].iter().fold(PREFIX.to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    }) + ".json"
}

/// Reads what is kept.
#[derive(Clone, Debug)]
pub(crate) struct AccountFiles(StateDir);

impl AccountFiles {
    pub(crate) fn new(dir: &StateDir) -> AccountFiles {
        AccountFiles(dir.clone())
    }

    /// The last record with somebody. A damaged file has none: the other end's has.
    pub(crate) fn last(&self, with: &PublicKey) -> Option<Record> {
        let chain = read(&self.0, &name(with)).unwrap_or_else(|error| {
            tracing::warn!("{error:#}: it is put aside when the next record comes");
            None
        });
        chain?.records.pop().filter(Record::is_proved)
    }

    /// All files, by their names.
    pub(super) fn all(&self) -> anyhow::Result<Vec<(String, anyhow::Result<AccountFile>)>> {
        let entries = std::fs::read_dir(self.0.path());
        let entries = entries.with_context(|| format!("{} cannot be read", self.0.path().display()))?;
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let is_one = |n: &String| n.starts_with(PREFIX) && n.ends_with(".json");
        let mut names: Vec<String> = names.filter(is_one).take(2 * ledger::CONTRIBUTORS).collect();
        names.sort();
        let one = |name: String| {
            let chain = read(&self.0, &name).map(Option::unwrap_or_default);
            (name, chain)
        };
        Ok(names.into_iter().map(one).collect())
    }
}

fn read(dir: &StateDir, name: &str) -> anyhow::Result<Option<AccountFile>> {
    let Some(text) = dir.read_at_most(name, LONGEST)? else { return Ok(None) };
    let damaged = || format!("{} is damaged", dir.path().join(name).display());
    serde_json::from_str(&text).map(Some).with_context(damaged)
}

/// Writes records down, on a thread of its own: no packet waits for the disk.
#[derive(Clone, Debug)]
pub(crate) struct Keeper(SyncSender<(PublicKey, Record)>);

impl Keeper {
    /// Starts the thread.
    pub(crate) fn start(dir: &StateDir) -> anyhow::Result<Keeper> {
        let (records, inbox) = sync_channel(WAITING);
        let dir = dir.clone();
        let thread = std::thread::Builder::new().name("accounts".into());
        thread.spawn(move || work(&dir, &inbox)).context("a thread cannot be started")?;
        Ok(Keeper(records))
    }

    /// Keeps a record with somebody. One that is lost comes again from the other end.
    pub(crate) fn keep(&self, with: PublicKey, record: Record) {
        if let Err(TrySendError::Full(_)) = self.0.try_send((with, record)) {
            tracing::warn!("the disk is slow: a record of an account is not kept here");
        }
    }
}

fn work(dir: &StateDir, inbox: &Receiver<(PublicKey, Record)>) {
    let mut fails = false;
    while let Ok((with, record)) = inbox.recv() {
        let kept = add(dir, &with, record);
        if let (Err(error), false) = (&kept, fails) {
            tracing::error!("{error:#}: accounts are not kept");
        }
        fails = kept.is_err();
    }
}

/// Adds a record, and lets the oldest go where there are too many.
pub(super) fn add(dir: &StateDir, with: &PublicKey, record: Record) -> anyhow::Result<()> {
    let name = name(with);
    let follows = |chain: &AccountFile| {
        chain.records.last().is_none_or(|r| record.statement.follows(Some(&r.statement)))
    };
    let mut chain = match read(dir, &name) {
        Ok(None) => AccountFile::default(),
        Ok(Some(chain)) if follows(&chain) => chain,
        // Damaged, or an old one: the other end had newer records.
        Ok(Some(_)) | Err(_) => {
            dir.put_aside(&name)?;
            AccountFile::default()
        }
    };
    chain.records.push(record);
    let excess = chain.records.len().saturating_sub(MOST);
    chain.records.drain(..excess);
    dir.write_json(&name, &chain)
}
