//! Two classes for an uplink: the home's own traffic goes first, a tunnel that carries for
//! neighbours takes what is left and has a floor (HTB, tc-htb(8)).

use serde::{Deserialize, Serialize};

use super::{Change, Journal, SetupError};
use crate::command::Tool;

/// The qdisc's handle, as tc writes it.
const HANDLE: &str = "627";
/// The class of the background: what [`crate::stream::background`] gives a socket.
pub(crate) const BACKGROUND: u32 = 0x0627_0002;
/// What the background is left with at least.
const FLOOR_BPS: u64 = 500_000;
const TC: Tool = Tool { program: "tc", purpose: "classes of an uplink (--uplink-rate)", package: "iproute2" };

/// Classes of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// The uplink.
    pub device: String,
    /// What it carries, bits a second.
    pub rate_bps: u64,
}

/// Puts the classes in front of an uplink. What is said by a socket of
/// [`crate::stream::background`] is of the lower one.
///
/// # Errors
/// `tc` or the kernel's HTB is not there, or somebody else has a qdisc at the uplink.
pub fn classes(journal: &mut Journal, device: &str, rate_bps: u64) -> Result<(), SetupError> {
    journal.make(Change::Classes(Classes { device: device.to_owned(), rate_bps }))
}

impl Classes {
    pub(super) fn add(&self) -> Result<(), SetupError> {
        let made = TC.run(&["-batch", "-"], &self.commands());
        if made.is_err() && self.is_ours() {
            // The first command may have been done.
            self.delete()?;
        }
        Ok(made.map(drop)?)
    }

    pub(super) fn delete(&self) -> Result<(), SetupError> {
        // Gone with its interface, or another's by now.
        if self.is_ours() {
            TC.run(&["qdisc", "del", "dev", &self.device, "root"], "")?;
        }
        Ok(())
    }

    fn is_ours(&self) -> bool {
        let said = TC.run(&["qdisc", "show", "dev", &self.device, "root"], "").unwrap_or_default();
        said.contains(&format!("qdisc htb {HANDLE}:"))
    }

    fn commands(&self) -> String {
        let Classes { device, rate_bps } = self;
        let floor = FLOOR_BPS.min(rate_bps / 4);
        let own = rate_bps - floor;
        format!(
            "qdisc add dev {device} root handle {HANDLE}: htb default 1\n\
             class add dev {device} parent {HANDLE}: classid {HANDLE}:9 htb rate {rate_bps}bit ceil {rate_bps}bit\n\
             class add dev {device} parent {HANDLE}:9 classid {HANDLE}:1 htb rate {own}bit ceil {rate_bps}bit prio 0\n\
             class add dev {device} parent {HANDLE}:9 classid {HANDLE}:2 htb rate {floor}bit ceil {rate_bps}bit prio 1\n"
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
        assert!(wide.contains("627:1 htb rate 9500000bit ceil 10000000bit prio 0"), "{wide}");
        assert!(wide.contains("627:2 htb rate 500000bit ceil 10000000bit prio 1"), "{wide}");
        assert!(of(1_000_000).contains("627:2 htb rate 250000bit"));
    }
}
