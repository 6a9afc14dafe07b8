//! What clients have used, as it is written and deleted.

use super::{Ledger, json};
use crate::copy::Needless;
use crate::etcd::{Compare, Op, StoreError};
use crate::quota::Metered;
use crate::record::Sum;

impl Ledger {
    /// Writes what clients have used at `gateway` in all.
    pub(crate) async fn write_usage(
        &mut self,
        gateway: &str,
        of: &[(String, Metered)],
    ) -> Result<(), StoreError> {
        let then: Vec<Op> =
            of.iter().map(|(client, usage)| Op::put(self.keys.usage(client, gateway), json(usage))).collect();
        self.caller.txn(&[], &then, &[]).await.map(drop)
    }

    /// Writes what a gateway has of its clients in all.
    pub(crate) async fn write_sum(&mut self, gateway: &str, sum: Sum) -> Result<(), StoreError> {
        let op = Op::put(self.keys.sum(gateway), json(&sum));
        self.caller.txn(&[], &[op], &[]).await.map(drop)
    }

    /// Deletes records of usage, all or none: if they, and the clients' own, are as they were read,
    /// and gateways other than `own` do not live. Says whether that was so.
    pub(crate) async fn forget_usage(&mut self, of: &[Needless], own: &str) -> Result<bool, StoreError> {
        let (mut when, mut then) = (Vec::new(), Vec::new());
        for Needless { whose: (client, gateway), revision, record } in of {
            let (usage, client) = (self.keys.usage(client, gateway), self.keys.client(client));
            when.push(Compare::At(usage.clone(), *revision));
            when.push(match record {
                Some(revision) => Compare::At(client, *revision),
                None => Compare::Absent(client),
            });
            if gateway != own {
                when.push(Compare::Absent(self.keys.gateway(gateway)));
            }
            then.push(Op::Delete(usage));
        }
        Ok(self.caller.txn(&when, &then, &[]).await?.succeeded)
    }
}
