//! Stream sockets that may speak MPTCP, and whose congestion control is chosen.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};

/// A socket for `address`'s family.
pub(crate) fn stream(address: SocketAddr, mptcp: bool) -> Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = if mptcp { ipproto::MPTCP } else { ipproto::TCP };
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(protocol)).with_context(|| {
        let name = if mptcp { "an MPTCP" } else { "a TCP" };
        format!("cannot open {name} socket")
    })
}

/// Has `socket`, and each subflow it will have, use this congestion control.
pub(crate) fn set_congestion(socket: &OwnedFd, name: &str) -> Result<()> {
    sockopt::set_tcp_congestion(socket, name).with_context(|| format!("the kernel does not offer {name}"))
}

/// Has `socket` forget what it has not sent when it is closed: the next measurement wants an empty wire.
pub(super) fn forget_on_close(socket: impl std::os::fd::AsFd) -> Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO))?)
}
