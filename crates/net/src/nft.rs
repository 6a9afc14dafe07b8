//! Tables of the firewall, through `nft -f -` as text rather than through a crate: every crate for it calls the same program, and the text is what an
//! administrator sees in `nft list ruleset`.

use crate::command::{CommandError, Tool};
use crate::setup::SetupError;

/// Who wants `nft`, for the sentence that says that it is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nft {
    pub(crate) purpose: &'static str,
}

impl Nft {
    /// Replaces a table of the family `inet`, in one step.
    pub(crate) fn replace(self, name: &str, chains: &str) -> Result<(), SetupError> {
        let all = format!("table inet {name}\ndelete table inet {name}\ntable inet {name} {{\n{chains}}}\n");
        self.run(&["-f", "-"], &all)?;
        Ok(())
    }

    /// Deletes it; no error if it is not there.
    pub(crate) fn delete(self, name: &str) -> Result<(), SetupError> {
        self.run(&["-f", "-"], &format!("table inet {name}\ndelete table inet {name}\n"))?;
        Ok(())
    }

    pub(crate) fn run(self, arguments: &[&str], input: &str) -> Result<String, CommandError> {
        Tool { program: "nft", purpose: self.purpose, package: "nftables" }.run(arguments, input)
    }
}

/// The name of one of our tables for a device: `ropewalk-rw0`, `ropewalk-rw0-guard`. What the firewall's language would not read as a name becomes `-`.
pub(crate) fn table_name(what: &str, device: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let device: String = device.chars().map(plain).collect();
    if what.is_empty() { format!("ropewalk-{device}") } else { format!("ropewalk-{device}-{what}") }
}

/// A device's name as the firewall's language has it.
pub(crate) fn quoted(device: &str) -> String {
    format!("\"{}\"", device.replace('"', ""))
}
