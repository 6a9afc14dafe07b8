//! Tables of the firewall, through `nft -f -` as text rather than through a crate: every crate for it calls the same program, and the text is what an
//! administrator sees in `nft list ruleset`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::command::{CommandError, PATIENCE, Tool};
use crate::setup::SetupError;

/// How long a table may take that a client's data loop waits for, and all that another thread puts
/// back together, which has the journal meanwhile. A turn of the loop waits so four times at most.
pub(crate) const LOOP_WAITS: Duration = Duration::from_secs(3);

/// Who wants `nft`, for the sentence that says that it is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nft {
    pub(crate) purpose: &'static str,
}

impl Nft {
    /// Replaces a table of the family `inet`, in one step.
    pub(crate) fn replace(self, name: &str, chains: &str) -> Result<(), SetupError> {
        self.replace_within(PATIENCE, name, chains)
    }

    /// The same; it fails if it takes longer than `patience`.
    pub(crate) fn replace_within(
        self,
        patience: Duration,
        name: &str,
        chains: &str,
    ) -> Result<(), SetupError> {
        let all = format!("table inet {name}\ndelete table inet {name}\ntable inet {name} {{\n{chains}}}\n");
        self.tool().run_within(patience, &["-f", "-"], &all)?;
        Ok(())
    }

    /// The same; it fails if it is not done by then, and is not begun after that.
    pub(crate) fn replace_until(self, until: Instant, name: &str, chains: &str) -> Result<(), SetupError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SetupError::system(self.purpose, ErrorKind::TimedOut.into()));
        }
        self.replace_within(left, name, chains)
    }

    /// Deletes it; no error if it is not there.
    pub(crate) fn delete(self, name: &str) -> Result<(), SetupError> {
        self.delete_within(PATIENCE, name)
    }

    /// The same; it fails if it takes longer than `patience`.
    pub(crate) fn delete_within(self, patience: Duration, name: &str) -> Result<(), SetupError> {
        let all = format!("table inet {name}\ndelete table inet {name}\n");
        self.tool().run_within(patience, &["-f", "-"], &all)?;
        Ok(())
    }

    pub(crate) fn run(self, arguments: &[&str], input: &str) -> Result<String, CommandError> {
        self.tool().run(arguments, input)
    }

    fn tool(self) -> Tool {
        Tool { program: "nft", purpose: self.purpose, package: "nftables" }
    }
}

/// What the names of our tables begin with.
pub(crate) const OURS: &str = "ropewalk-";

/// The name of one of our tables for a device: `ropewalk-rw0`, `ropewalk-rw0-guard`. What the firewall's language would not read as a name becomes `-`.
pub(crate) fn table_name(what: &str, device: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let device: String = device.chars().map(plain).collect();
    if what.is_empty() { format!("{OURS}{device}") } else { format!("{OURS}{device}-{what}") }
}

/// How many rules the text of a table has, by chain: one a line.
pub(crate) fn rules_by_chain(chains: &str) -> BTreeMap<&str, usize> {
    let mut all = BTreeMap::<&str, usize>::new();
    let mut chain: Option<&str> = None;
    for line in chains.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix("chain ") {
            chain = head.split_whitespace().next();
        } else if line == "}" {
            chain = None;
        } else if let Some(chain) = chain.filter(|_| !line.is_empty() && !line.starts_with("type ")) {
            *all.entry(chain).or_default() += 1;
        }
    }
    all
}

/// A device's name as the firewall's language has it.
pub(crate) fn quoted(device: &str) -> String {
    format!("\"{}\"", device.replace('"', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::alive_each;

    #[test]
    fn a_client_whose_programs_hang_is_alive_for_systemd() {
        let unit = include_str!("../../../packaging/systemd/ropewalk-client@.service");
        let limit = unit.lines().find_map(|line| line.strip_prefix("WatchdogSec=")).unwrap();
        let limit = Duration::from_secs(limit.parse().unwrap());
        assert!(alive_each(limit) + LOOP_WAITS * 4 < limit);
    }

    #[test]
    fn what_is_late_is_not_begun() {
        let nft = Nft { purpose: "a test" };
        let late = nft.replace_until(Instant::now(), "ropewalk-test", "").unwrap_err();
        assert!(matches!(late, SetupError::System { .. }), "{late}");
    }

    #[test]
    fn each_line_of_a_chain_but_its_hook_is_a_rule() {
        let text = "  limit up1 { rate over 1 bytes/second burst 2 bytes }\n\
                    \x20 chain clients {\n    icmp type echo-request accept\n  }\n\
                    \x20 chain none {\n    type nat hook postrouting priority srcnat; policy accept;\n  }\n\
                    \x20 chain output {\n    type filter hook output priority 0; policy accept;\n    \
                    icmpv6 type { nd-router-solicit, nd-neighbor-advert } accept\n    jump clients\n  }\n";
        assert_eq!(rules_by_chain(text), BTreeMap::from([("clients", 1), ("output", 2)]));
    }
}
