//! Letting a gateway's clients out into the world: address translation and forwarding in the firewall
//! (nftables).

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::nft::{Nft, quoted, table_name};
use crate::setup::{Change, Journal, SetupError, forwarding};

const NFT: Nft = Nft { purpose: "--masquerade" };

/// The firewall table of one bond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The name of the bond's device.
    pub device: String,
    /// The clients' networks, as text.
    pub networks: Vec<String>,
    /// The only interface by which clients may leave, if there is such a rule.
    #[serde(default)]
    pub only: Option<String>,
    /// Nobody behind this machine opens connections to the clients.
    #[serde(default)]
    pub closed: bool,
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
    let table = table(device, networks);
    make(journal, table, networks)
}

/// As [`masquerade`], where clients may leave by the interface `only`, and by no other, and where
/// nobody opens connections to them, this machine included.
///
/// # Errors
/// `nft` is not there, or refuses.
pub fn masquerade_by(
    journal: &mut Journal,
    device: &str,
    networks: &[IpNet],
    only: Option<&str>,
) -> Result<Vec<String>, SetupError> {
    let table = Table { only: only.map(str::to_owned), closed: true, ..table(device, networks) };
    make(journal, table, networks)
}

/// Puts the tables of [`masquerade`] and [`crate::setup::let_through`] in force again: somebody may
/// have flushed the firewall.
///
/// # Errors
/// `nft` refuses.
pub fn tables_again(journal: &mut Journal) -> Result<(), SetupError> {
    let ours = |c: &&Change| matches!(c, Change::NatTable(_) | Change::GlobalNetwork(_));
    let tables: Vec<Change> = journal.changes().iter().filter(ours).cloned().collect();
    tables.iter().try_for_each(|table| journal.replace(table, table.clone()))
}

fn table(device: &str, networks: &[IpNet]) -> Table {
    let networks = networks.iter().map(|n| n.trunc().to_string()).collect();
    Table { device: device.into(), networks, only: None, closed: false }
}

fn make(journal: &mut Journal, table: Table, networks: &[IpNet]) -> Result<Vec<String>, SetupError> {
    let (v4, v6) = (networks.iter().any(|n| n.addr().is_ipv4()), networks.iter().any(|n| n.addr().is_ipv6()));
    journal.make(Change::NatTable(table))?;
    forwarding(journal, v4, v6)?;
    Ok(obstacles(NFT))
}

impl Table {
    pub(crate) fn add(&self) -> Result<(), SetupError> {
        NFT.replace(&self.name(), &self.rules())
    }

    pub(crate) fn delete(&self) -> Result<(), SetupError> {
        NFT.delete(&self.name())
    }

    /// The table's name.
    pub fn name(&self) -> String {
        table_name("", &self.device)
    }

    /// The rules. Segments of connections through the bond are told its MTU in their handshake (RFC 6691),
    /// because too many networks swallow the ICMP messages that would tell them later.
    pub(crate) fn rules(&self) -> String {
        let device = quoted(&self.device);
        let masquerade: String = self
            .networks
            .iter()
            .map(|network| {
                let version = if network.contains(':') { "ip6" } else { "ip" };
                format!("    {version} saddr {network} oifname != {device} masquerade\n")
            })
            .collect();
        let only = self
            .only
            .as_ref()
            .map_or(String::new(), |only| format!("    iifname {device} oifname != {} drop\n", quoted(only)));
        let closed = match self.closed {
            true => format!("    oifname {device} ct state new reject with icmpx admin-prohibited\n"),
            false => String::new(),
        };
        // What this machine opens itself does not pass `forward`.
        let own = match self.closed {
            true => format!(
                "  chain output {{\n    type filter hook output priority filter; policy accept;\n{closed}  }}\n"
            ),
            false => String::new(),
        };
        format!(
            "  chain forward {{\n\
             \x20   type filter hook forward priority filter; policy accept;\n\
             {only}\
             {closed}\
             \x20   iifname {device} tcp flags syn tcp option maxseg size set rt mtu\n\
             \x20   oifname {device} tcp flags syn tcp option maxseg size set rt mtu\n\
             \x20   iifname {device} accept\n\
             \x20   oifname {device} ct state established,related accept\n\
             \x20 }}\n\
             \x20 chain postrouting {{\n\
             \x20   type nat hook postrouting priority srcnat; policy accept;\n\
             {masquerade}\
             \x20 }}\n\
             {own}"
        )
    }
}

/// Other tables that forbid forwarding by default: a packet has to pass them all, whatever ours says.
pub(crate) fn obstacles(nft: Nft) -> Vec<String> {
    let Ok(listing) = nft.run(&["-j", "list", "chains"], "") else { return Vec::new() };
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
        let table = Table {
            device: "rw.0".into(),
            networks: vec!["10.77.0.0/24".into(), "fd77::/64".into()],
            only: None,
            closed: false,
        };
        assert_eq!(table.name(), "ropewalk-rw-0");
        let rules = table.rules();
        assert!(rules.contains("    ip saddr 10.77.0.0/24 oifname != \"rw.0\" masquerade\n"), "{rules}");
        assert!(!rules.contains("drop") && !rules.contains("reject"), "{rules}");
        let closed = Table { closed: true, ..table.clone() }.rules();
        let refusal = "    oifname \"rw.0\" ct state new reject with icmpx admin-prohibited\n";
        assert_eq!(closed.matches(refusal).count(), 2, "what is forwarded, and this machine's own: {closed}");
        assert!(closed.contains("chain output") && !rules.contains("chain output"), "{closed}");
        let only = Table { only: Some("wan".into()), ..table };
        assert!(only.rules().contains("    iifname \"rw.0\" oifname != \"wan\" drop\n"), "{}", only.rules());
        assert!(rules.contains("    ip6 saddr fd77::/64 oifname != \"rw.0\" masquerade\n"), "{rules}");
    }
}
