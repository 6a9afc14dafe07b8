//! The whole fleet at one look, for whoever watches it.

use crate::copy::Copy;
use crate::ledger::{Ledger, LedgerError};
use crate::record::{About, Usage};
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
    /// The gateways that live, by name. Reads who is served where and what was used, and not the
    /// clients themselves.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn overview(&mut self) -> Result<Vec<Standing>, LedgerError> {
        let (gateways, revision) = self.all_of(self.keys.gateway("")).await?;
        let (serving, _) = self.all_of(self.keys.serving("")).await?;
        let (used, _) = self.all_of(format!("{}usage/", self.keys.0)).await?;
        let leases: Vec<(String, i64)> = gateways.iter().map(|kv| (kv.key.clone(), kv.lease)).collect();
        let copy = Copy::of(&self.keys, &[gateways, serving, used].concat(), revision);
        let (served, mut used) = (copy.served(), copy.used_at());
        let mut all = Vec::new();
        for (key, lease) in leases {
            let About::Gateway(name) = self.keys.about(&key) else { continue };
            let Some((_, record)) = copy.gateways().find(|(n, _)| *n == name) else { continue };
            let lease_s = self.caller.remaining(lease).await?;
            all.push(Standing {
                name: name.to_owned(),
                endpoints: record.endpoints.clone(),
                draining: record.draining,
                lease_s,
                clients: served.get(name).copied().unwrap_or(0),
                used: used.remove(name).unwrap_or_default(),
            });
        }
        Ok(all)
    }
}

impl Copy {
    /// What all clients have used at each gateway.
    fn used_at(&self) -> BTreeMap<String, Usage> {
        let mut sums = BTreeMap::<String, Usage>::new();
        self.usage().for_each(|(gateway, usage)| sums.entry(gateway.to_owned()).or_default().add(usage));
        sums
    }
}
