//! Sockets of MPTCP, and what this network namespace says of MPTCP.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::{stream, tcp_info};

/// Connections that wait to be accepted, as in the standard library.
const BACKLOG: i32 = 128;

/// Whether programs get MPTCP from this kernel, in this network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// They do.
    On,
    /// It is switched off: the sysctl `net.mptcp.enabled` is 0.
    Off,
    /// The kernel has none.
    Missing,
}

/// Tries whether a socket can be had.
///
/// # Errors
/// Another reason than those of [`Support`], such as a filter of system calls.
pub fn support() -> io::Result<Support> {
    match socket(AddressFamily::INET) {
        Ok(_) => Ok(Support::On),
        Err(Errno::NOPROTOOPT) => Ok(Support::Off),
        // Before Linux 5.6 the number of the protocol is out of bounds.
        Err(Errno::PROTONOSUPPORT | Errno::INVAL) => Ok(Support::Missing),
        Err(error) => Err(error.into()),
    }
}

fn socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::MPTCP))
}

/// Connects by MPTCP. Where the other end, or a middlebox, does not take it, the kernel falls back to TCP.
///
/// # Errors
/// There is no MPTCP here, nobody answers within `patience`, or the other end refuses.
pub fn connect(to: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    stream::open(to, None, Some(ipproto::MPTCP), patience)
}

/// Listens by MPTCP where the kernel has it, and by TCP elsewhere. From a listener of MPTCP a client
/// without it gets TCP.
///
/// # Errors
/// The address is taken, no address of this machine, or not allowed.
pub fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let family = if at.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let Ok(fd) = socket(family) else { return TcpListener::bind(at) };
    sockopt::set_socket_reuseaddr(&fd, true)?;
    rustix::net::bind(&fd, &at)?;
    rustix::net::listen(&fd, BACKLOG)?;
    Ok(fd.into())
}

/// Whether a listener gives MPTCP to clients that ask for it.
pub fn listens(listener: impl AsFd) -> bool {
    sockopt::socket_protocol(listener) == Ok(Some(ipproto::MPTCP))
}

/// Whether an open connection is MPTCP; none: this kernel (before Linux 5.16) does not say.
pub fn is_mptcp(stream: impl AsFd) -> Option<bool> {
    if !tcp_info::fell_back(&stream) {
        return Some(true);
    }
    // Nothing has made a new socket fall back. If the kernel says the same of it, it says nothing.
    socket(AddressFamily::INET).map_or(Some(false), |new| (!tcp_info::fell_back(&new)).then_some(false))
}

/// The packet scheduler that new connections of this network namespace get; none before Linux 6.6,
/// which has only one. A connection does not say its own.
pub fn scheduler() -> Option<String> {
    std::fs::read_to_string("/proc/sys/net/mptcp/scheduler").ok().map(|name| name.trim().to_owned())
}

/// A counter of this network namespace (`MPTcpExt` of `/proc/net/netstat`); none: the kernel has no
/// such counter.
pub fn counter(name: &str) -> Option<u64> {
    count(&std::fs::read_to_string("/proc/thread-self/net/netstat").ok()?, name)
}

/// One line has the names, the next the values.
fn count(netstat: &str, name: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("MPTcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|n| n == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_says_whether_it_is_mptcp() {
        if !matches!(support(), Ok(Support::On)) {
            ropewalk_skip::skip("needs a kernel with MPTCP, switched on");
            return;
        }
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let patience = Duration::from_secs(5);
        let both = |listener: &TcpListener, client: TcpStream| {
            let (server, _) = listener.accept().unwrap();
            [is_mptcp(&client), is_mptcp(&server)]
        };
        let sent = || counter("MPCapableSYNTX").unwrap();
        let (listener, before) = (listen(any).unwrap(), sent());
        let at = listener.local_addr().unwrap();
        assert!(listens(&listener));
        assert_eq!(both(&listener, connect(at, patience).unwrap()), [Some(true); 2]);
        assert!(sent() > before);
        assert_eq!(both(&listener, TcpStream::connect(at).unwrap()), [Some(false); 2], "a client of TCP");
        let listener = TcpListener::bind(any).unwrap();
        let at = listener.local_addr().unwrap();
        assert!(!listens(&listener));
        assert_eq!(both(&listener, connect(at, patience).unwrap()), [Some(false); 2], "a server of TCP");
    }

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "TcpExt: D A B\nTcpExt: 0 1 2\nMPTcpExt: A B\nMPTcpExt: 3 4\n";
        assert_eq!((count(text, "A"), count(text, "B"), count(text, "D")), (Some(3), Some(4), None));
        for odd in ["", "MPTcpExt: A B\n", "MPTcpExt: A B\nMPTcpExt: 3\n", "MPTcpExt: A B\nMPTcpExt: 3 x\n"] {
            assert_eq!(count(odd, "B"), None, "{odd}");
        }
    }
}
