//! The kernel's MPTCP: the client connects by path 1, the gateway tells it of its address on path 2.

use anyhow::{Context, Result, ensure};
use ropewalk_lab::Paths;

use super::Open;
use crate::site::Site;

/// What the kernel calls further subflows that came in.
const JOINED: &str = "MPJoinAckRx";

pub(super) fn open(site: &Site) -> Result<Open> {
    ensure!(site.paths == 2, "the comparison with MPTCP is made over two paths");
    let second = Paths::gateway_address(2);
    for namespace in [&site.lab.client, &site.lab.gateway] {
        namespace.ip(&["mptcp endpoint flush", "mptcp limits set subflows 2 add_addr_accepted 2"])?;
    }
    let signal = format!("mptcp endpoint add {second} dev {} signal", Paths::interface(2));
    site.lab.gateway.ip(&[signal])?;
    Ok(Open { mptcp: true, ..Open::bare(Paths::gateway_address(1)) })
}

/// How many further subflows connections to the gateway have had so far, all together.
pub(crate) fn joined_subflows(site: &Site) -> Result<u64> {
    let said = site.lab.gateway.exec("cat", ["/proc/net/netstat"])?;
    counter(&String::from_utf8(said.stdout)?, JOINED).context("the kernel does not count MPTCP's subflows")
}

/// A counter of MPTCP's: one line has the names, the next the numbers.
fn counter(netstat: &str, name: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("MPTcpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|word| word == name)?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_read_from_its_column() {
        let netstat = "TcpExt: SyncookiesSent MPJoinAckRx\nTcpExt: 7 8\n\
                       MPTcpExt: MPCapableSYNRX MPJoinAckRx AddAddr\nMPTcpExt: 240 228 1\n";
        assert_eq!(counter(netstat, JOINED), Some(228));
        assert_eq!(counter(netstat, "SyncookiesSent"), None);
        assert_eq!(counter("TcpExt: A\nTcpExt: 1\n", JOINED), None);
    }
}
