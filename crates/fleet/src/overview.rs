//! The whole fleet at one look, for whoever watches it.

use crate::copy::{Copy, parse};
use crate::etcd::KeyValue;
use crate::ledger::{Ledger, LedgerError};
use crate::record::{About, GatewayRecord, Sum, Usage};
use std::collections::BTreeMap;

/// A gateway that lives, as the store has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Where devices reach it.
    pub endpoints: Vec<String>,
    /// It takes no sessions.
    pub draining: bool,
    /// How long it counts as alive if it says nothing from now on, seconds.
    pub lease_s: i64,
    /// How many clients it serves.
    pub clients: usize,
    /// What all clients have used there since ever.
    pub used: Usage,
}

impl Ledger {
    /// The gateways that live, by name. Reads what each says of its clients in all; who is served
    /// where, and what each client used, only while a gateway has not said it yet.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn overview(&mut self) -> Result<Vec<Standing>, LedgerError> {
        let (gateways, _) = self.all_of(self.keys.gateway("")).await?;
        let (sums, _) = self.all_of(self.keys.sum("")).await?;
        let leases: Vec<(String, i64)> = gateways.iter().map(|kv| (kv.key.clone(), kv.lease)).collect();
        let mut copy = Copy::default();
        gateways.iter().for_each(|kv| copy.take(&self.keys, kv));
        let mut sums = self.by_gateway(&sums);
        if copy.gateways().any(|(name, _)| !sums.contains_key(name)) {
            sums = self.count().await?;
        }
        let mut all = Vec::new();
        for (key, lease) in leases {
            let About::Gateway(name) = self.keys.about(&key) else { continue };
            let Some((_, record)) = copy.gateways().find(|(n, _)| *n == name) else { continue };
            let lease_s = self.caller.remaining(lease).await?;
            let Sum { clients, used } = sums.get(name).copied().unwrap_or_default();
            let (endpoints, draining) = (record.endpoints.clone(), record.draining);
            all.push(Standing { name: name.to_owned(), endpoints, draining, lease_s, clients, used });
        }
        Ok(all)
    }

    /// What the gateways that live say of themselves.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn gateways(&mut self) -> Result<Vec<GatewayRecord>, LedgerError> {
        let (all, _) = self.all_of(self.keys.gateway("")).await?;
        Ok(all.iter().filter_map(parse::<GatewayRecord>).collect())
    }

    /// What gateways say.
    fn by_gateway(&self, sums: &[KeyValue]) -> BTreeMap<String, Sum> {
        let prefix = self.keys.sum("");
        let one = |kv: &KeyValue| Some((kv.key.strip_prefix(&prefix)?.to_owned(), parse::<Sum>(kv)?));
        sums.iter().filter_map(one).collect()
    }

    /// The same, counted one by one.
    async fn count(&mut self) -> Result<BTreeMap<String, Sum>, LedgerError> {
        let (mut copy, keys) = (Copy::default(), self.keys.clone());
        for prefix in [keys.serving(""), format!("{}usage/", keys.0)] {
            self.each(&prefix, 0, |kv| copy.take(&keys, &kv)).await?;
        }
        Ok(copy.sums().clone())
    }
}
