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

/// Whether the firewall translates addresses of what the machine forwards: such packets may not
/// pass it twice, as they would by a device. None if that cannot be seen: `nft` cannot be asked,
/// and the kernel may have rules for it.
pub fn translates_addresses() -> Option<bool> {
    let nft = crate::nft::Nft { purpose: "looking for address translation" };
    let rules = nft.run(&["list", "ruleset"], "").ok();
    let read = |path| std::fs::read_to_string(path).ok();
    // Each is there as soon as somebody has used a legacy table of its IP version.
    let legacy = ["/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"].map(read);
    translates(rules.as_deref(), &legacy.map(Option::unwrap_or_default).concat(), has_nf_tables)
}

/// `rules` are those of nftables, if they can be read; `legacy` are names of tables, one a line,
/// that nftables does not show.
fn translates(rules: Option<&str>, legacy: &str, has_nf_tables: impl FnOnce() -> bool) -> Option<bool> {
    if legacy.lines().any(|table| table.trim() == "nat") {
        return Some(true);
    }
    let Some(rules) = rules else {
        return if has_nf_tables() { None } else { Some(false) };
    };
    let words = ["masquerade", "snat", "dnat", "redirect", "MASQUERADE", "SNAT", "DNAT", "REDIRECT"];
    Some(rules.split_whitespace().any(|word| words.contains(&word.trim_matches('"'))))
}

/// Whether nftables is in the running kernel: built in, which its symbols alone show, or as a
/// module.
fn has_nf_tables() -> bool {
    let symbols = std::fs::read("/proc/kallsyms").unwrap_or_default();
    let name = b" nft_do_chain";
    symbols.windows(name.len()).any(|w| w == name) || std::path::Path::new("/sys/module/nf_tables").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pep_sees_translation_by_either_firewall() {
        const NFT: &str = "table ip t {\n chain c {\n oifname \"wan\" masquerade\n }\n}\n";
        const COMPATIBLE: &str = "oifname \"wan\" counter xt target \"MASQUERADE\"";
        const FILTER: &str = "table inet filter {\n chain nat {\n tcp dport 22 accept\n }\n}\n";
        let cases = [
            (Some(NFT), "", true, Some(true)),
            (Some(COMPATIBLE), "", true, Some(true)),
            (Some(FILTER), "", true, Some(false)),
            (Some(""), "filter\nmangle\n", true, Some(false)),
            // Of iptables-legacy, which `nft list ruleset` does not show.
            (Some(""), "filter\nnat\n", true, Some(true)),
            (None, "nat\n", false, Some(true)),
            // Rules of nftables may be there, and nobody can read them.
            (None, "filter\n", true, None),
            (None, "", true, None),
            (None, "filter\n", false, Some(false)),
            (None, "", false, Some(false)),
        ];
        for (rules, legacy, nf_tables, expected) in cases {
            let case = format!("{rules:?} {legacy:?} {nf_tables}");
            assert_eq!(translates(rules, legacy, || nf_tables), expected, "{case}");
        }
    }
}
