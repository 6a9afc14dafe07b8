//! Forwarded TCP goes through a device, and comes back by it.
//!
//! ```text
//! 29200  from all iif DEVICE goto 29203       what came through goes on as if nothing were here
//! 29201  from all iif lo goto 29203           so does what the machine sends itself
//! 29202  from all ipproto tcp lookup 29202    the rest of TCP is for others: into the device
//! 29203  nop                                  where the first two go on; then comes what was there before
//! ```
//!
//! The table has one route, by the device. When the device goes, even with `kill -9`, the table is empty and the rules
//! send nobody anywhere. What is for the machine itself never comes so far: the local table is looked at first.

use super::routes::route_by;
use super::rule::{Rule, RuleKind};
use super::{Change, Journal, SetupError};

/// The first of the four rule priorities.
pub const DIVERT_PRIORITY: u32 = 29_200;
/// The table with the route by the device.
pub const DIVERT_TABLE: u32 = DIVERT_PRIORITY + 2;

/// Sends forwarded TCP of one IP version into the device, which is up. The rules are journaled; the route goes with the
/// device.
///
/// # Errors
/// Another device has the rules, or the kernel refuses.
pub fn divert(journal: &mut Journal, index: u32, device: &str, v6: bool) -> Result<(), SetupError> {
    let everything = if v6 { "::/0" } else { "0.0.0.0/0" };
    // The text is ours.
    let everything = everything.parse().unwrap_or_default();
    route_by(index, everything, DIVERT_TABLE)?;
    let target = DIVERT_PRIORITY + 3;
    let from = |interface: &str| RuleKind::ByGoto { interface: interface.to_owned(), target };
    // The one that sends packets away comes last, so that none goes round in between.
    let rules = [
        (3, RuleKind::Nop),
        (0, from(device)),
        (1, from("lo")),
        (2, RuleKind::TcpToTable { table: DIVERT_TABLE }),
    ];
    rules.into_iter().try_for_each(|(place, does)| {
        journal.make(Change::Rule(Rule { v6, priority: DIVERT_PRIORITY + place, does }))
    })
}

/// Whether this machine forwards an IP version, and so whether there is anything to divert.
pub fn is_forwarding(v6: bool) -> bool {
    let key = if v6 { "ipv6/conf/all/forwarding" } else { "ipv4/ip_forward" };
    std::fs::read_to_string(format!("/proc/sys/net/{key}")).is_ok_and(|v| v.trim() != "0")
}

/// Whether the firewall translates addresses of what the machine forwards: such packets may not pass it twice, as they
/// would by a device. None if `nft` cannot be asked.
pub fn translates_addresses() -> Option<bool> {
    let nft = crate::nft::Nft { purpose: "looking for address translation" };
    let rules = nft.run(&["list", "ruleset"], "").ok()?;
    let words = ["masquerade", "snat", "dnat", "redirect", "MASQUERADE", "SNAT", "DNAT", "REDIRECT"];
    Some(rules.split_whitespace().any(|word| words.contains(&word.trim_matches('"'))))
}
