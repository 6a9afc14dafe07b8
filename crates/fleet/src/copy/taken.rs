//! Which addresses inside are clients', and whose.

use crate::runs::Runs;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    by: BTreeMap<IpAddr, Arc<str>>,
    v4: Runs,
    v6: Runs,
}

impl Taken {
    /// A client has this address, whoever had it before.
    pub(super) fn insert(&mut self, address: IpAddr, client: Arc<str>) {
        self.by.insert(address, client);
        match address {
            IpAddr::V4(a) => self.v4.insert(u32::from(a).into()),
            IpAddr::V6(a) => self.v6.insert(a.into()),
        }
    }

    /// A client has this address no longer; another may have it by now.
    pub(super) fn remove(&mut self, address: IpAddr, client: &str) {
        if self.by.get(&address).is_none_or(|by| &**by != client) {
            return;
        }
        self.by.remove(&address);
        match address {
            IpAddr::V4(a) => self.v4.remove(u32::from(a).into()),
            IpAddr::V6(a) => self.v6.remove(a.into()),
        }
    }

    /// Numbers of IPv4 addresses.
    pub(super) fn v4(&self) -> &Runs {
        &self.v4
    }

    /// The same for IPv6.
    pub(super) fn v6(&self) -> &Runs {
        &self.v6
    }
}
