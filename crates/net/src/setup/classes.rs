//! Three classes for an uplink (HTB, tc-htb(8)): what is short and waited for goes first, then the
//! home's own traffic, and a tunnel that carries for neighbours takes what is left and has a floor.
//!
//! The firewall puts packets into them, since it sees what passes and needs no filter of `tc`: a
//! priority that is a class's number names the class.

use serde::{Deserialize, Serialize};

use super::{Change, Journal, SetupError};
use crate::command::Tool;
use crate::nft::{Nft, quoted, table_name};

/// The qdisc's handle, as tc writes it.
const HANDLE: &str = "627";
/// The class of the background: what [`crate::stream::set_background`] gives a socket.
pub(crate) const BACKGROUND: u32 = 0x0627_0002;
/// What the background is left with at least.
const FLOOR_BPS: u64 = 500_000;
/// Acknowledgements without data, IPv6 and SACK included, have no more bytes.
const BARE: u32 = 100;
/// Voice and what keeps networks going: VA, EF, CS5 to CS7 (RFC 4594 §2.3, RFC 5865).
const FIRST_DSCP: &str = "{ 0x2c, 0x2e, 0x28, 0x30, 0x38 }";
/// What asks to be the background: LE and CS1 (RFC 8622, RFC 4594 §4.10).
const LAST_DSCP: &str = "{ 0x01, 0x08 }";
const NFT: Nft = Nft { purpose: "classes of an uplink (--uplink-rate)" };
const TC: Tool = Tool { program: "tc", purpose: "classes of an uplink (--uplink-rate)", package: "iproute2" };

/// Classes of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// The uplink.
    pub device: String,
    /// What it carries, bits a second.
    pub rate_bps: u64,
}

/// Puts the classes in front of an uplink. What a stream sends that is the background
/// ([`crate::stream::set_background`]) is of the last one.
///
/// # Errors
/// `tc`, `nft` or the kernel's HTB is not there, or somebody else has a qdisc at the uplink.
pub fn classes(journal: &mut Journal, device: &str, rate_bps: u64) -> Result<(), SetupError> {
    journal.make(Change::Classes(Classes { device: device.to_owned(), rate_bps }))
}

impl Classes {
    pub(super) fn add(&self) -> Result<(), SetupError> {
        let made = TC.run(&["-batch", "-"], &self.commands()).map_err(SetupError::from);
        let made = made.and_then(|_| self.add_table());
        if made.is_err() {
            // Some of it may have been done. The first error says more than those that follow.
            let _ = self.delete();
        }
        made
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        // Before the table: where there is no `nft`, the uplink is not left with half of it.
        // Not ours: it is gone with its interface, or another's by now.
        if self.is_ours() {
            TC.run(&["qdisc", "del", "dev", &self.device, "root"], "")?;
        }
        NFT.delete(&self.table())?;
        Ok(())
    }

    fn is_ours(&self) -> bool {
        let said = TC.run(&["qdisc", "show", "dev", &self.device, "root"], "").unwrap_or_default();
        said.contains(&format!("qdisc htb {HANDLE}:"))
    }

    /// The table alone: the qdisc outlasts a flushed firewall.
    pub(super) fn add_table(&self) -> Result<(), SetupError> {
        NFT.replace(&self.table(), &self.rules())
    }

    pub(super) fn table(&self) -> String {
        table_name("classes", &self.device)
    }

    pub(super) fn rules(&self) -> String {
        let device = quoted(&self.device);
        let into = |class: u32| format!("meta priority set {HANDLE}:{class} return");
        let (first, last) = (into(3), into(2));
        let by_dscp: String = ["ip", "ip6"]
            .map(|ip| format!("    {ip} dscp {FIRST_DSCP} {first}\n    {ip} dscp {LAST_DSCP} {last}\n"))
            .concat();
        // What a tunnel's socket has said stays.
        format!(
            "  chain postrouting {{\n    type filter hook postrouting priority mangle; policy accept;\n    \
             oifname != {device} return\n    meta priority {HANDLE}:2 return\n    \
             tcp flags & (syn | fin | rst | ack) == ack meta length <= {BARE} {first}\n{by_dscp}  }}\n"
        )
    }

    fn commands(&self) -> String {
        let Classes { device, rate_bps } = self;
        let floor = FLOOR_BPS.min(rate_bps / 4);
        let first = (rate_bps - floor) / 4;
        let own = rate_bps - floor - first;
        format!(
            "qdisc add dev {device} root handle {HANDLE}: htb default 1\n\
             class add dev {device} parent {HANDLE}: classid {HANDLE}:9 htb rate {rate_bps}bit ceil {rate_bps}bit\n\
             class add dev {device} parent {HANDLE}:9 classid {HANDLE}:3 htb rate {first}bit ceil {rate_bps}bit prio 0\n\
             class add dev {device} parent {HANDLE}:9 classid {HANDLE}:1 htb rate {own}bit ceil {rate_bps}bit prio 1\n\
             class add dev {device} parent {HANDLE}:9 classid {HANDLE}:2 htb rate {floor}bit ceil {rate_bps}bit prio 2\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_has_half_a_megabit_or_a_quarter() {
        let of = |rate_bps| Classes { device: "wan0".into(), rate_bps }.commands();
        let wide = of(10_000_000);
        assert!(wide.contains("627:3 htb rate 2375000bit ceil 10000000bit prio 0"), "{wide}");
        assert!(wide.contains("627:1 htb rate 7125000bit ceil 10000000bit prio 1"), "{wide}");
        assert!(wide.contains("627:2 htb rate 500000bit ceil 10000000bit prio 2"), "{wide}");
        assert!(of(1_000_000).contains("627:2 htb rate 250000bit"));
    }

    #[test]
    fn what_the_tunnel_says_of_itself_comes_before_what_packets_say() {
        let rules = Classes { device: "wan0".into(), rate_bps: 1 }.rules();
        let at = |text: &str| rules.find(text).unwrap_or_else(|| panic!("{text}\n{rules}"));
        assert!(at("oifname != \"wan0\" return") < at("meta priority 627:2 return"));
        assert!(at("meta priority 627:2 return") < at("meta priority set 627:3 return"));
        assert!(at("ip dscp { 0x01, 0x08 } meta priority set 627:2") > 0 && rules.contains("ip6 dscp"));
    }
}
