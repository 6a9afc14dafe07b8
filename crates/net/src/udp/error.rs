//! What can go wrong with a path's socket, told apart by what the caller should do about it.

use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody else listens there.
    #[error(
        "{0} is in use by another program: choose another port, or stop that program (`ss -tulpn` names it)"
    )]
    PortInUse(SocketAddr),
    /// The address is not one of this machine's.
    #[error("{0} is not an address of this machine")]
    NoSuchAddress(SocketAddr),
    /// The interface is not there.
    #[error("there is no network interface named `{0}`")]
    NoSuchInterface(String),
    /// The capability for it is missing.
    #[error("{0} needs more rights: run as root, or grant CAP_NET_ADMIN and CAP_NET_RAW")]
    NotPermitted(&'static str),
    /// The kernel has no such address family.
    #[error("this machine has no IPv{0}")]
    NoFamily(u8),
    /// Anything else the kernel says.
    #[error("{what} failed")]
    System {
        /// The operation.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn system(what: &'static str, error: Errno) -> Self {
        match error {
            Errno::PERM | Errno::ACCESS => OpenError::NotPermitted(what),
            e => OpenError::System { what, source: e.into() },
        }
    }
}

/// Why nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The socket's buffer is full (`EAGAIN`): wait until it is writable.
    #[error("the socket's send buffer is full")]
    Full,
    /// The interface's queue is full (`ENOBUFS`): nothing will announce room; try again after a while.
    #[error("the interface's queue is full")]
    NoBuffers,
    /// A segment is larger than the interface's MTU (`EMSGSIZE`): send smaller ones.
    #[error("the datagram is larger than the path's MTU")]
    TooBig,
    /// The path is of no use at present.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Anything else the kernel says.
    #[error("sending a datagram failed")]
    System(#[source] io::Error),
}

/// Why a path is of no use at present. It may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No route to the network; newer kernels say so too when the local address to send from is gone.
    #[error("the interface has no route to the endpoint")]
    NetworkUnreachable,
    /// The next hop does not answer, or a route says unreachable.
    #[error("the endpoint's host cannot be reached through this interface")]
    HostUnreachable,
    /// The interface is down.
    #[error("the interface is down")]
    InterfaceDown,
    /// The interface is gone; a new one of the same name needs a new socket.
    #[error("the interface is gone")]
    InterfaceGone,
    /// The local address to send from is gone.
    #[error("the local address of this path is gone")]
    AddressGone,
    /// A firewall on this machine forbids the packet.
    #[error("a firewall on this machine forbids packets to the endpoint")]
    Forbidden,
}

impl SendError {
    /// What `error` means. `EINVAL` is not among the meanings: the caller knows what it asked for.
    pub(super) fn from_errno(error: Errno) -> Self {
        match error {
            Errno::AGAIN => SendError::Full,
            Errno::NOBUFS | Errno::NOMEM => SendError::NoBuffers,
            Errno::MSGSIZE => SendError::TooBig,
            Errno::NETUNREACH => PathError::NetworkUnreachable.into(),
            Errno::HOSTUNREACH | Errno::HOSTDOWN => PathError::HostUnreachable.into(),
            Errno::NETDOWN => PathError::InterfaceDown.into(),
            Errno::NODEV | Errno::NXIO => PathError::InterfaceGone.into(),
            Errno::ADDRNOTAVAIL => PathError::AddressGone.into(),
            Errno::PERM | Errno::ACCESS => PathError::Forbidden.into(),
            e => SendError::System(e.into()),
        }
    }
}
