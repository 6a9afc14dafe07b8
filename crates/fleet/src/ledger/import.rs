//! Clients written as they are, some at a time: a list of clients that comes from elsewhere.

use super::{Ledger, LedgerError, json};
use crate::etcd::{Compare, KeyValue, Op};
use crate::record::{ClientRecord, is_name};
use ropewalk_session::InviteId;

impl Ledger {
    /// Clients of one call of [`Ledger::import`]: each has up to five keys, and etcd takes 128.
    pub const IMPORT: usize = 25;

    /// Writes clients with their invites, devices and addresses: all of them; or none, where one of
    /// these is there already. At most [`Ledger::IMPORT`]. Says whether all are there now, as they
    /// are given.
    ///
    /// # Errors
    /// A name is none, or the store does not do it.
    pub async fn import(&mut self, clients: &[(String, ClientRecord)]) -> Result<bool, LedgerError> {
        if clients.is_empty() {
            return Ok(true);
        }
        if clients.iter().any(|(name, _)| !is_name(name)) {
            return Err(LedgerError::BadName);
        }
        let puts: Vec<Op> = clients.iter().flat_map(|(name, record)| self.keys_of(name, record)).collect();
        let absent = |op: &Op| match op {
            Op::Put { key, .. } => Some(Compare::Absent(key.clone())),
            Op::Delete(_) | Op::Get(_) => None,
        };
        let when: Vec<Compare> = puts.iter().filter_map(absent).collect();
        let there: Vec<Op> = clients.iter().map(|(name, _)| Op::Get(self.keys.client(name))).collect();
        let txn = self.caller.txn(&when, &puts, &there).await?;
        // It was done, and the answer lost; or some came by another list, and others not.
        let is_it = |((_, record), kv): (&(String, ClientRecord), &Option<KeyValue>)| {
            kv.as_ref().is_some_and(|kv| kv.value == json(record))
        };
        let are_there = || txn.read.len() == clients.len() && clients.iter().zip(&txn.read).all(is_it);
        Ok(txn.succeeded || are_there())
    }

    /// All that the store has of a client who came, or is invited.
    fn keys_of(&self, name: &str, record: &ClientRecord) -> Vec<Op> {
        let mut all = vec![
            Op::put(self.keys.client(name), json(record)),
            Op::put(self.keys.invite(InviteId(record.invite)), name),
        ];
        if !record.revoked {
            all.extend(record.key.iter().map(|key| Op::put(self.keys.device(key), name)));
            all.extend(record.addresses().map(|address| Op::put(self.keys.address(address), name)));
        }
        all
    }
}
