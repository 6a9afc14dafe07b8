//! Clients whose IPv6 addresses the world sees, and who are closed to it: a network of theirs that
//! is routed to this machine, or lies on a link of it (see [`super::Answers`]).
//!
//! ```text
//! 29230  from all iif lo goto 29234               what this machine says to clients
//! 29231  from all iif DEVICE goto 29234           what clients say to each other has other rules
//! 29232  from all fwmark 0x7236 lookup main       what the firewall has let in
//! 29233  from all to NETWORK prohibit             the rest, and whoever sent it is told
//! 29234  nop                                      where the first two go on
//! ```
//!
//! The firewall marks what may come in, and nothing comes in without the mark. So a firewall that
//! somebody flushes opens nothing. Rules that others take away are put back within seconds.

use ipnet::Ipv6Net;
use serde::{Deserialize, Serialize};

use super::rule::{Rule, RuleKind};
use super::{Change, Journal, SetupError, forwarding};
use crate::nft::{Nft, quoted, table_name};

/// The mark of packets from outside that may go to clients: "r6" in ASCII.
pub const GLOBAL_MARK: u32 = 0x7236;
/// The first of the five rule priorities.
pub const GLOBAL_PRIORITY: u32 = 29_230;
const MAIN: u32 = 254;
const NFT: Nft = Nft { purpose: "--global6" };

/// What a firewall must not drop on its way to somebody else (RFC 4890 §4.3.1): errors, without
/// which connections hang, and echoes. Some of them connection tracking cannot put to a connection.
const MUST_PASS: &str =
    "destination-unreachable, packet-too-big, time-exceeded, parameter-problem, echo-request, echo-reply";

/// The firewall table of a network whose addresses the world sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalNetwork {
    /// The name of the bond's device.
    pub device: String,
    /// The clients' network.
    pub network: Ipv6Net,
}

/// Lets clients in `network`, who come in by the bond's `device`, out with their own addresses, and
/// answers to them in. Nobody opens connections to them, but where [`super::grant`] forwards a
/// port.
///
/// Returns sentences about what else on this machine may stand in the way.
///
/// # Errors
/// `nft` is not there, IPv6 is switched off, or another bond has such a network.
pub fn let_through(journal: &mut Journal, device: &str, network: Ipv6Net) -> Result<Vec<String>, SetupError> {
    let network = network.trunc();
    let global = GlobalNetwork { device: device.into(), network };
    journal.make(Change::GlobalNetwork(global.clone()))?;
    for rule in global.routing() {
        journal.make(Change::Rule(rule))?;
    }
    forwarding(journal, false, true)?;
    Ok(crate::nat::obstacles(NFT))
}

impl GlobalNetwork {
    /// The one that closes the way comes last, so that nothing of ours is refused in between.
    fn routing(&self) -> [Rule; 5] {
        let target = GLOBAL_PRIORITY + 4;
        let from = |interface: &str| RuleKind::ByGoto { interface: interface.to_owned(), target };
        [
            (4, RuleKind::Nop),
            (0, from("lo")),
            (1, from(&self.device)),
            (2, RuleKind::MarkToTable { mark: GLOBAL_MARK, table: MAIN }),
            (3, RuleKind::ToProhibited { network: self.network.into() }),
        ]
        .map(|(place, does)| Rule { v6: true, priority: GLOBAL_PRIORITY + place, does })
    }

    pub(super) fn add(&self) -> Result<(), SetupError> {
        NFT.replace(&self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("global6", &self.device)
    }

    /// A router asks a neighbour itself whether it is still there (RFC 4861 §7.3). Where this
    /// machine answers for the neighbour, it hears that only as something to forward.
    pub(super) fn rules(&self) -> String {
        let (device, network) = (quoted(&self.device), self.network);
        let to = format!("    iifname != {device} ip6 daddr {network}");
        format!(
            "  chain marks {{\n\
             \x20   type filter hook prerouting priority -90; policy accept;\n\
             {to} meta mark {GLOBAL_MARK} meta mark set 0\n\
             {to} ct state established,related meta mark set {GLOBAL_MARK}\n\
             {to} ct status dnat meta mark set {GLOBAL_MARK}\n\
             {to} icmpv6 type {{ {MUST_PASS}, nd-neighbor-solicit }} meta mark set {GLOBAL_MARK}\n\
             \x20 }}\n\
             \x20 chain sizes {{\n\
             \x20   type filter hook forward priority filter; policy accept;\n\
             \x20   iifname {device} ip6 saddr {network} tcp flags syn tcp option maxseg size set rt mtu\n\
             \x20   oifname {device} ip6 daddr {network} tcp flags syn tcp option maxseg size set rt mtu\n\
             \x20 }}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_come_in_is_marked_and_no_other_mark_counts() {
        let network = "2001:db8:1::/64".parse().unwrap();
        let table = GlobalNetwork { device: "rw0".into(), network };
        assert_eq!(table.name(), "ropewalk-rw0-global6");
        let rules = table.rules();
        let to = "    iifname != \"rw0\" ip6 daddr 2001:db8:1::/64";
        let marks: Vec<&str> = rules.lines().filter_map(|line| line.strip_prefix(to)).collect();
        assert_eq!(marks[0], " meta mark 29238 meta mark set 0", "what others marked opens nothing");
        assert_eq!(marks[1], " ct state established,related meta mark set 29238");
        assert_eq!(marks[2], " ct status dnat meta mark set 29238");
        assert!(marks[3].starts_with(" icmpv6 type { destination-unreachable, packet-too-big,"), "{rules}");
        assert!(!rules.contains("masquerade"), "{rules}");
    }
}
