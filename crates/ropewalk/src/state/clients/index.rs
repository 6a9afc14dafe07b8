//! What a handshake looks up in the registry, without a walk along all clients: entries by key and
//! by invite, and which addresses and devices are taken.

use super::{Client, Pool};
use ropewalk_fleet::Runs;
use ropewalk_session::PublicKey;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Addresses, and the number of a device where each client has one.
type Given = (Ipv4Addr, Option<Ipv6Addr>, Option<u32>);

/// Entries are named by their places in the list, so what shortens the list makes it anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    keys: HashMap<PublicKey, usize>,
    invites: HashMap<[u8; 16], usize>,
    v4: Runs,
    v6: Runs,
    devices: Runs,
}

impl Index {
    /// Of all clients.
    pub(super) fn of(clients: &[Client]) -> Index {
        let mut index = Index::default();
        // A device that came by several invites is the one that may come in.
        for is_revoked in [true, false] {
            let of_those = clients.iter().enumerate().filter(|(_, c)| c.revoked == is_revoked);
            of_those.for_each(|(at, client)| index.add(at, client));
        }
        index
    }

    /// The client at this place, as it is now.
    pub(super) fn add(&mut self, at: usize, client: &Client) {
        self.invites.insert(client.invite, at);
        if let Some(key) = client.key {
            self.keys.insert(key.0, at);
        }
        v4(client).into_iter().for_each(|n| self.v4.insert(n));
        v6(client).into_iter().for_each(|n| self.v6.insert(n));
        client.device.into_iter().for_each(|n| self.devices.insert(n.into()));
    }

    /// What this client has is free, until it is added again.
    pub(super) fn release(&mut self, client: &Client) {
        v4(client).into_iter().for_each(|n| self.v4.remove(n));
        v6(client).into_iter().for_each(|n| self.v6.remove(n));
        client.device.into_iter().for_each(|n| self.devices.remove(n.into()));
    }

    /// Where the client with this key is; if several have it, the one that may come in.
    pub(super) fn of_key(&self, key: &PublicKey) -> Option<usize> {
        self.keys.get(key).copied()
    }

    /// Where the client with this invite is.
    pub(super) fn of_invite(&self, invite: &[u8; 16]) -> Option<usize> {
        self.invites.get(invite).copied()
    }

    /// What nobody here has: what `client` had as far as the pool still holds it, else the lowest.
    pub(super) fn free(&self, pool: &Pool, client: &Client) -> Option<Given> {
        let (v4, v6) = (&self.v4, &self.v6);
        let ipv4 = match client.ipv4.filter(|a| pool.holds_v4(*a) && !v4.contains(u32::from(*a).into())) {
            Some(kept) => kept,
            None => pool.free_v4(0, |n| v4.next_free(n))?,
        };
        let ipv6 = match client.ipv6.filter(|a| pool.holds_v6(Some(*a)) && !v6.contains((*a).into())) {
            Some(kept) => Some(kept),
            None => pool.free_v6(0, |n| v6.next_free(n))?,
        };
        let lowest = || self.devices.next_free(0).and_then(|n| u32::try_from(n).ok());
        let device = (!pool.has_addresses()).then(|| client.device.or_else(lowest)).flatten();
        Some((ipv4, ipv6, device))
    }
}

/// Its address; the unspecified one, which all have where the pool has none, is nobody's.
fn v4(client: &Client) -> Option<u128> {
    client.ipv4.filter(|a| !a.is_unspecified()).map(|a| u32::from(a).into())
}

fn v6(client: &Client) -> Option<u128> {
    client.ipv6.filter(|a| !a.is_unspecified()).map(u128::from)
}
