//! Tables of the firewall (nftables) that keep packets where they belong: in front of the tunnel's address, and inside the tunnel.

use std::net::IpAddr;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::within::version;
use super::{Change, Journal, MARK, SetupError};
use crate::nft::{LOOP_WAITS, Nft, quoted, table_name};

/// Refuses packets for the tunnel's addresses that come in by another device: whoever shares a network with this machine could otherwise find out
/// what goes through the tunnel, and speak into its connections (CVE-2019-14899).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The bond's device.
    pub device: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// Lets nothing leave but through the bond's device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillSwitch {
    /// The bond's device.
    pub device: String,
}

/// Guards `addresses`, those of the bond's `device`; earlier ones no longer.
///
/// # Errors
/// `nft` is not there, or refuses.
pub fn guard(journal: &mut Journal, device: &str, addresses: Vec<IpAddr>) -> Result<(), SetupError> {
    let guard = Change::Guard(Guard { device: device.into(), addresses });
    let of_device = |c: &&Change| matches!(c, Change::Guard(g) if g.device == device);
    match journal.changes().iter().find(of_device).cloned() {
        Some(old) => journal.replace(&old, guard),
        None => journal.make(guard),
    }
}

/// Lets nothing leave this machine, or go through it, but by the bond's `device` (which need not be there) and as datagrams of the bond itself. A kill
/// switch that stands is replaced without a gap.
///
/// # Errors
/// `nft` is not there, or refuses.
pub fn kill_switch(journal: &mut Journal, device: &str) -> Result<(), SetupError> {
    let new = Change::KillSwitch(KillSwitch { device: device.into() });
    let old: Vec<Change> = journal.changes().iter().filter(|c| c.is_kill_switch()).cloned().collect();
    if old.contains(&new) {
        // Somebody may have flushed the firewall since.
        new.make()?;
    } else {
        journal.make(new.clone())?;
    }
    old.iter().filter(|o| **o != new).try_for_each(|o| journal.undo(o))
}

impl Guard {
    const NFT: Nft = Nft { purpose: "the guard of the tunnel's address" };

    pub(super) fn add(&self) -> Result<(), SetupError> {
        Self::NFT.replace_within(LOOP_WAITS, &self.name(), &self.rules())
    }

    /// Adds it again while the bond runs.
    pub(super) fn add_table(&self, until: Instant) -> Result<(), SetupError> {
        Self::NFT.replace_until(until, &self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        Self::NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("guard", &self.device)
    }

    pub(super) fn rules(&self) -> String {
        let device = quoted(&self.device);
        let rule = |address: &IpAddr| {
            let version = version(*address);
            format!("    iifname != {device} {version} daddr {address} fib saddr type != local drop\n")
        };
        let rules: String = self.addresses.iter().map(rule).collect();
        format!(
            "  chain prerouting {{\n    type filter hook prerouting priority raw; policy accept;\n{rules}  }}\n"
        )
    }
}

impl KillSwitch {
    const NFT: Nft = Nft { purpose: "--kill-switch" };

    pub(super) fn add(&self) -> Result<(), SetupError> {
        Self::NFT.replace(&self.name(), &self.rules())
    }

    /// Adds it again while the bond runs.
    pub(super) fn add_table(&self, until: Instant) -> Result<(), SetupError> {
        Self::NFT.replace_until(until, &self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        Self::NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("kill-switch", &self.device)
    }

    /// Besides the bond, interfaces may say what keeps them working at all: neighbours, groups (MLD) and DHCP. ARP does not come by here.
    pub(super) fn rules(&self) -> String {
        let device = quoted(&self.device);
        format!(
            "  chain output {{\n\
             \x20   type filter hook output priority filter; policy accept;\n\
             \x20   oifname {device} accept\n\
             \x20   meta mark {MARK} accept\n\
             \x20   fib daddr type local accept\n\
             \x20   icmpv6 type {{ nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report }} accept\n\
             \x20   udp sport 68 udp dport 67 accept\n\
             \x20   udp sport 546 udp dport 547 accept\n\
             \x20   reject with icmpx type admin-prohibited\n\
             \x20 }}\n\
             \x20 chain forward {{\n\
             \x20   type filter hook forward priority filter; policy accept;\n\
             \x20   iifname {device} accept\n\
             \x20   oifname {device} accept\n\
             \x20   reject with icmpx type admin-prohibited\n\
             \x20 }}\n"
        )
    }
}
