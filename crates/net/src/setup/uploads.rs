//! Caps of what clients send: a table of the firewall beside that of what else a gateway grants.
//!
//! A bucket of the kernel's begins full. So one is made anew only where its own cap changes, whatever
//! other clients come and go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grants::{Grants, chain};
use super::within::is_of;
use super::{Change, Journal, SetupError};
use crate::nft::{Nft, quoted, table_name};

const NFT: Nft = Nft { purpose: "caps of what clients send (`ropewalk limit set --up`)" };
const CHAIN: &str = "uploads";
/// The kernel's bucket holds a second's bytes, and these: three super-packets, for a drop costs a
/// whole one. A short queue has as many at least.
pub(super) const BURST: u64 = 200_000;

/// All caps. The journal has the device only, by which the table is taken back: it must not grow
/// with every change.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UploadCaps {
    /// The bond's device.
    pub device: String,
    /// Bytes a second of each bucket, by the number of the client's class.
    #[serde(skip)]
    rates: BTreeMap<u16, u64>,
    /// Whose packets ask which bucket.
    #[serde(skip)]
    rules: String,
}

/// Puts the caps of `grants` in force in place of those before; as a whole where it is not known
/// whether those stand.
pub(super) fn cap(journal: &mut Journal, grants: &Grants, is_known: bool) -> Result<(), SetupError> {
    let wanted = UploadCaps::of(grants);
    let stood = journal.changes().iter().find_map(|change| match change {
        Change::UploadCaps(uploads) => Some(uploads.clone()),
        _ => None,
    });
    match stood {
        None if wanted.rates.is_empty() => Ok(()),
        None => journal.make(Change::UploadCaps(wanted)),
        Some(stood) if wanted.rates.is_empty() => journal.undo(&Change::UploadCaps(stood)),
        Some(stood) if is_known && stood == wanted => Ok(()),
        Some(stood) => {
            // It does not fit where others took the table away, or a part of it.
            let fits = is_known && NFT.run(&["-f", "-"], &wanted.changes(&stood)).is_ok();
            if !fits {
                wanted.add()?;
            }
            journal.remember(Change::UploadCaps(wanted));
            Ok(())
        }
    }
}

impl UploadCaps {
    fn of(grants: &Grants) -> UploadCaps {
        let device = quoted(&grants.device);
        let (mut rates, mut rules) = (BTreeMap::new(), String::new());
        for limit in &grants.limits {
            let (class, Some(bps)) = (limit.class, limit.up_bps) else { continue };
            rates.insert(class, (bps / 8).max(1));
            for network in &limit.networks {
                let of = is_of("saddr", network.trunc(), &grants.inside);
                rules.push_str(&format!("    iifname {device} {of} limit name \"up{class}\" drop\n"));
            }
        }
        UploadCaps { device: grants.device.clone(), rates, rules }
    }

    pub(super) fn add(&self) -> Result<(), SetupError> {
        NFT.replace(&self.name(), &self.rules())
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        NFT.delete(&self.name())
    }

    pub(super) fn name(&self) -> String {
        table_name("uploads", &self.device)
    }

    pub(super) fn rules(&self) -> String {
        buckets(&self.rates) + &self.chain()
    }

    fn chain(&self) -> String {
        chain(CHAIN, "filter hook prerouting priority -160", &self.rules)
    }

    /// What makes this table of the one that `stood`, in one step.
    fn changes(&self, stood: &UploadCaps) -> String {
        let name = self.name();
        // A bucket that a rule asks cannot be deleted.
        let mut all = format!("flush chain inet {name} {CHAIN}\n");
        for number in stood.apart_from(self).into_keys() {
            all.push_str(&format!("delete limit inet {name} up{number}\n"));
        }
        let fresh = buckets(&self.apart_from(stood));
        all + &format!("table inet {name} {{\n{fresh}{}}}\n", self.chain())
    }

    /// The rates that are not those of `other`.
    fn apart_from(&self, other: &UploadCaps) -> BTreeMap<u16, u64> {
        let mut rates = self.rates.clone();
        rates.retain(|number, rate| other.rates.get(number) != Some(&*rate));
        rates
    }
}

/// Named limits, which the networks of one client share.
fn buckets(rates: &BTreeMap<u16, u64>) -> String {
    let bucket = |(number, rate): (&u16, &u64)| {
        format!("  limit up{number} {{ rate over {rate} bytes/second burst {BURST} bytes }}\n")
    };
    rates.iter().map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::super::grants::Limit;
    use super::*;

    fn uploads(caps: &[(u16, u64)]) -> UploadCaps {
        let limit = |(class, up_bps): &(u16, u64)| Limit {
            networks: vec![format!("10.77.0.{class}/32").parse().unwrap()],
            down_bps: None,
            up_bps: Some(*up_bps),
            share: 1,
            class: *class,
        };
        let limits = caps.iter().map(limit).collect();
        UploadCaps::of(&Grants { device: "rw0".into(), limits, ..Grants::default() })
    }

    #[test]
    fn the_networks_of_a_client_ask_one_bucket() {
        let networks = ["10.77.0.2/32", "fd77::2/128", "192.168.8.1/24"].map(|n| n.parse().unwrap());
        let limit = Limit {
            networks: networks.to_vec(),
            down_bps: None,
            up_bps: Some(2_000_000),
            share: 1,
            class: 1,
        };
        let free = Limit { up_bps: None, class: 2, ..limit.clone() };
        let inside = ["10.77.0.1/24", "192.168.8.128/25"].map(|n| n.parse().unwrap()).to_vec();
        let grants = Grants { device: "rw0".into(), limits: vec![limit, free], inside, ..Grants::default() };
        let rules = UploadCaps::of(&grants).rules();
        for line in [
            "limit up1 { rate over 250000 bytes/second burst 200000 bytes }\n",
            "iifname \"rw0\" ip saddr 10.77.0.2/32 limit name \"up1\" drop\n",
            "iifname \"rw0\" ip6 saddr fd77::2/128 limit name \"up1\" drop\n",
            "ip saddr 192.168.8.0/24 ip saddr != { 192.168.8.128/25 } limit name \"up1\" drop\n",
        ] {
            assert!(rules.contains(line), "{line}\n{rules}");
        }
        assert!(!rules.contains("up2"), "{rules}");
        assert_eq!(UploadCaps::of(&Grants::default()).rules(), "");
    }

    #[test]
    fn a_bucket_is_made_anew_where_its_own_cap_changes() {
        let (stood, wanted) = (uploads(&[(1, 80), (2, 80), (3, 80)]), uploads(&[(1, 80), (3, 160), (4, 80)]));
        let text = wanted.changes(&stood);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let expected = [
            "flush chain inet ropewalk-rw0-uploads uploads",
            "delete limit inet ropewalk-rw0-uploads up2",
            "delete limit inet ropewalk-rw0-uploads up3",
            "table inet ropewalk-rw0-uploads {",
            "limit up3 { rate over 20 bytes/second burst 200000 bytes }",
            "limit up4 { rate over 10 bytes/second burst 200000 bytes }",
            "chain uploads {",
        ];
        assert_eq!(lines[..expected.len()], expected, "{text}");
        assert_eq!(text.matches(" drop\n").count(), 3, "each has its rule: {text}");
    }

    #[test]
    fn the_journal_has_the_device_only() {
        let text = serde_json::to_string(&uploads(&[(1, 80)])).unwrap();
        assert_eq!(text, r#"{"device":"rw0"}"#);
        let read: UploadCaps = serde_json::from_str(&text).unwrap();
        assert_eq!(read.name(), "ropewalk-rw0-uploads");
    }
}
