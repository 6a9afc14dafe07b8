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
    let joined = site.lab.gateway.run(|| ropewalk_net::mptcp::counter(JOINED))?;
    joined.context("the kernel does not count MPTCP's subflows")
}
