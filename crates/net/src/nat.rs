//! Letting a gateway's clients out into the world: address translation and forwarding in the firewall
//! (nftables).
//!
//! The rules go through `nft -f -` as text rather than through a crate: every crate for it calls the same
//! program, and the text is what an administrator sees in `nft list table inet ropewalk-rw0`.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::command::Tool;
use crate::setup::{Change, Journal, SetupError, forwarding};

const NFT: Tool = Tool { program: "nft", purpose: "--masquerade", package: "nftables" };

/// The firewall table of one bond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The name of the bond's device.
    pub device: String,
    /// The clients' networks, as text.
    pub networks: Vec<String>,
}

/// Lets clients in `networks`, who come in by the bond's `device`, reach whatever this machine reaches, with
/// its addresses.
///
/// Returns sentences about what else on this machine may stand in the way.
pub fn masquerade(
    journal: &mut Journal,
    device: &str,
    networks: &[IpNet],
) -> Result<Vec<String>, SetupError> {
    let networks: Vec<IpNet> = networks.iter().map(IpNet::trunc).collect();
    let (v4, v6) = (networks.iter().any(|n| n.addr().is_ipv4()), networks.iter().any(|n| n.addr().is_ipv6()));
    let table = Table { device: device.into(), networks: networks.iter().map(IpNet::to_string).collect() };
    journal.make(Change::NatTable(table))?;
    forwarding(journal, v4, v6)?;
    Ok(obstacles())
}

impl Table {
    pub(crate) fn add(&self) -> Result<(), SetupError> {
        NFT.run(&["-f", "-"], &self.rules())?;
        Ok(())
    }

    pub(crate) fn delete(&self) -> Result<(), SetupError> {
        // Declared first, so that deleting a table that is not there succeeds.
        let name = self.name();
        NFT.run(&["-f", "-"], &format!("table inet {name}\ndelete table inet {name}\n"))?;
        Ok(())
    }

    /// The table's name: `ropewalk-` and the device, less what the firewall's language would not read as a
    /// name.
    pub fn name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        format!("ropewalk-{}", self.device.chars().map(plain).collect::<String>())
    }

    /// The rules. Segments of connections through the bond are told its MTU in their handshake (RFC 6691),
    /// because too many networks swallow the ICMP messages that would tell them later.
    fn rules(&self) -> String {
        let (name, device) = (self.name(), self.device.replace('"', ""));
        let masquerade: String = self
            .networks
            .iter()
            .map(|network| {
                let version = if network.contains(':') { "ip6" } else { "ip" };
                format!("    {version} saddr {network} oifname != \"{device}\" masquerade\n")
            })
            .collect();
        format!(
            "table inet {name}\n\
             delete table inet {name}\n\
             table inet {name} {{\n\
             \x20 chain forward {{\n\
             \x20   type filter hook forward priority filter; policy accept;\n\
             \x20   iifname \"{device}\" tcp flags syn tcp option maxseg size set rt mtu\n\
             \x20   oifname \"{device}\" tcp flags syn tcp option maxseg size set rt mtu\n\
             \x20   iifname \"{device}\" accept\n\
             \x20   oifname \"{device}\" ct state established,related accept\n\
             \x20 }}\n\
             \x20 chain postrouting {{\n\
             \x20   type nat hook postrouting priority srcnat; policy accept;\n\
             {masquerade}\
             \x20 }}\n\
             }}\n"
        )
    }
}

/// Other tables that forbid forwarding by default: a packet has to pass them all, whatever ours says.
fn obstacles() -> Vec<String> {
    let Ok(listing) = NFT.run(&["-j", "list", "chains"], "") else { return Vec::new() };
    let Ok(json) = serde_json::from_str::<serde_json::Value>(&listing) else { return Vec::new() };
    let chains = json["nftables"].as_array().into_iter().flatten().map(|entry| &entry["chain"]);
    chains
        .filter(|chain| chain["hook"] == "forward" && chain["policy"] == "drop")
        .map(|chain| {
            format!(
                "the firewall chain {} of table {} {} drops forwarded packets unless a rule of its own accepts them: allow the \
                 bond's device there",
                chain["name"], chain["family"], chain["table"]
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_the_device_and_each_network() {
        let table =
            Table { device: "rw.0".into(), networks: vec!["10.77.0.0/24".into(), "fd77::/64".into()] };
        assert_eq!(table.name(), "ropewalk-rw-0");
        let rules = table.rules();
        assert!(rules.contains("    ip saddr 10.77.0.0/24 oifname != \"rw.0\" masquerade\n"), "{rules}");
        assert!(rules.contains("    ip6 saddr fd77::/64 oifname != \"rw.0\" masquerade\n"), "{rules}");
    }
}
