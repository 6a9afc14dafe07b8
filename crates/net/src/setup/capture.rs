//! Connections of a home's devices go through a device, and come back by it.
//!
//! The firewall marks connections that a device of the home opens to somebody who is helped, from
//! their first packet on, and a rule sends what is marked into the device. So connections that were
//! there before stay as they are. What is left after `kill -9` sends nobody anywhere: the table of
//! routes is empty without the device.

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use super::routes::route_by;
use super::rule::{Rule, RuleKind};
use super::{Change, Journal, SetupError};
use crate::nft::{Nft, quoted, table_name};

/// The mark of captured connections and packets: "bu" in ASCII.
pub const CAPTURE_MARK: u32 = 0x6275;
/// The priority of the rule.
pub const CAPTURE_PRIORITY: u32 = 29_210;
/// The table with the route by the device: the same number.
pub const CAPTURE_TABLE: u32 = CAPTURE_PRIORITY;

/// Where everything is helped, what is near is not: the machine's own networks, and groups.
const NEAR: &str =
    "{ 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16, 224.0.0.0/3 }";

/// Which connections are captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The device into which they go.
    pub device: String,
    /// The interface at which the home's devices are.
    pub home: String,
    /// To whom; with 0.0.0.0/0 everybody but private networks.
    pub destinations: Vec<Ipv4Net>,
    /// UDP too, not only TCP.
    pub udp: bool,
}

/// Sends captured connections into the device with interface index `index`, which is up.
///
/// # Errors
/// `nft` is not there, or another device has the rule.
pub fn capture(journal: &mut Journal, index: u32, capture: Capture) -> Result<(), SetupError> {
    // The text is ours.
    let everything = "0.0.0.0/0".parse().unwrap_or_default();
    match route_by(index, everything, CAPTURE_TABLE) {
        // It is there from the last time that this device captured.
        Ok(()) | Err(SetupError::RuleTaken) => {}
        Err(error) => return Err(error),
    }
    let does = RuleKind::MarkToTable { mark: CAPTURE_MARK, table: CAPTURE_TABLE };
    let rule = Change::Rule(Rule { v6: false, priority: CAPTURE_PRIORITY, does });
    if !journal.changes().contains(&rule) {
        journal.make(rule)?;
    }
    journal.make(Change::Capture(capture))
}

/// Captures nothing new, and nothing of what is there.
///
/// # Errors
/// `nft` refuses.
pub fn release(journal: &mut Journal) -> Result<(), SetupError> {
    let ours = |c: &&Change| matches!(c, Change::Capture(_));
    let made: Vec<Change> = journal.changes().iter().filter(ours).cloned().collect();
    made.iter().try_for_each(|change| journal.undo(change))
}

impl Capture {
    const NFT: Nft = Nft { purpose: "taking a home's connections (--home)" };

    pub(super) fn add(&self) -> Result<(), SetupError> {
        Self::NFT.replace(&self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        Self::NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("capture", &self.device)
    }

    pub(super) fn rules(&self) -> String {
        let home = quoted(&self.home);
        let to = |net: &Ipv4Net| match net.prefix_len() {
            0 => format!("ip daddr != {NEAR}"),
            _ => format!("ip daddr {net}"),
        };
        let mark = |first: &str| {
            let rule = |net: &Ipv4Net| {
                format!("    iifname {home} {} {first} ct state new ct mark set {CAPTURE_MARK}\n", to(net))
            };
            self.destinations.iter().map(rule).collect::<String>()
        };
        let tcp = mark("tcp flags & (syn | ack) == syn");
        let udp = if self.udp { mark("meta l4proto udp") } else { String::new() };
        format!(
            "  chain prerouting {{\n    type filter hook prerouting priority mangle; policy accept;\n{tcp}{udp}    \
             iifname {home} ct mark {CAPTURE_MARK} meta mark set {CAPTURE_MARK}\n  }}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_the_home_and_each_destination() {
        let destinations = ["0.0.0.0/0", "203.0.113.0/24"].map(|n| n.parse().unwrap()).to_vec();
        let capture = Capture { device: "bu0".into(), home: "lan0".into(), destinations, udp: false };
        let rules = capture.rules();
        assert!(rules.contains("iifname \"lan0\" ip daddr 203.0.113.0/24 tcp flags"), "{rules}");
        assert!(rules.contains("ip daddr != { 10.0.0.0/8,") && !rules.contains("udp"), "{rules}");
        assert!(Capture { udp: true, ..capture }.rules().contains("meta l4proto udp"), "{rules}");
    }
}
