//! Sockets inside namespaces, set as a flow wants them.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SocketAddrAny, SocketFlags, SocketType, ipproto, sockopt};

use crate::{LabError, Namespace, Result};

/// `IPPROTO_MPTCP`.
const MPTCP: u32 = 262;
/// Room for datagrams that nobody has read yet, bytes: what measures must not be where packets are lost.
const DATAGRAM_ROOM: usize = 8 << 20;

/// What a stream's sockets are like.
#[derive(Clone, Debug)]
pub(crate) struct StreamOptions {
    /// Several paths.
    pub mptcp: bool,
    /// The kernel's name of a congestion control.
    pub congestion: &'static str,
    /// The receiver's window, bytes; none: the kernel's own tuning.
    pub window: Option<usize>,
    /// The sender's buffer, bytes; none: the kernel's own tuning.
    pub send_buffer: Option<usize>,
    /// TCP's option value, with the timestamps' 12 bytes.
    pub mss: Option<u16>,
    /// `tcp_ecn` of the namespace while the connection is opened, and otherwise, where the two differ.
    pub ecn: Option<[&'static str; 2]>,
    /// Code point of all packets.
    pub dscp: u8,
}

fn socket(kind: SocketType, protocol: Option<Protocol>) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::INET, kind, flags, protocol)
}

/// The port that a socket got.
pub(crate) fn port(socket: impl AsFd) -> rustix::io::Result<u16> {
    Ok(address(rustix::net::getsockname(socket)?).port())
}

pub(crate) fn address(any: SocketAddrAny) -> SocketAddrV4 {
    any.try_into().unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))
}

/// A stream's socket with its options; `receives`: the window is this end's.
fn stream(options: &StreamOptions, receives: bool) -> rustix::io::Result<OwnedFd> {
    let protocol = options.mptcp.then(|| Protocol::from_raw(MPTCP.try_into().expect("262 is not zero")));
    let socket = socket(SocketType::STREAM, protocol)?;
    set_congestion(&socket, options)?;
    sockopt::set_ip_tos(&socket, options.dscp << 2)?;
    if let Some(mss) = options.mss {
        set_tcp(&socket, libc::TCP_MAXSEG, mss.into())?;
    }
    if let Some(window) = options.window.filter(|_| receives) {
        set_window(&socket, window)?;
    }
    if let Some(bytes) = options.send_buffer.filter(|_| !receives) {
        // Past the machine's limit where that is allowed. The kernel doubles it for what goes with the bytes.
        sockopt::set_socket_send_buffer_size_force(&socket, bytes)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, bytes))?;
    }
    Ok(socket)
}

/// Sets the congestion control; of an MPTCP connection, that of all its present subflows. To be done again for each that is opened or taken:
/// a route that names one (see [`super::super::transport`]) goes before what its socket was set to.
pub(crate) fn set_congestion(socket: impl AsFd, options: &StreamOptions) -> rustix::io::Result<()> {
    sockopt::set_tcp_congestion(socket, options.congestion)
}

/// Switches the receive buffer's own tuning off and makes it this large. The window that is sent is another (trap T-19): half of it
/// at first, later what the packets' overhead in memory leaves.
pub(crate) fn set_window(socket: impl AsFd, bytes: usize) -> rustix::io::Result<()> {
    // Past the machine's limit where that is allowed.
    sockopt::set_socket_recv_buffer_size_force(&socket, bytes)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, bytes))
}

fn set_tcp(socket: impl AsFd, name: libc::c_int, value: libc::c_int) -> rustix::io::Result<()> {
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one integer, which lives until the call returns.
    let said =
        unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, name, std::ptr::from_ref(&value).cast(), len) };
    if said == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

/// A socket that waits for one connection or more at an address of its namespace.
pub(crate) fn listen(
    namespace: &Namespace,
    at: Ipv4Addr,
    options: &StreamOptions,
    receives: bool,
) -> Result<(OwnedFd, u16)> {
    let open = || {
        let socket = stream(options, receives)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(at, 0))?;
        rustix::net::listen(&socket, 128)?;
        let port = port(&socket)?;
        Ok::<_, Errno>((socket, port))
    };
    namespace.run(open)?.map_err(LabError::kernel(format!("listen at {at} in {}", namespace.label())))
}

/// A socket that will open a connection from an address of its namespace.
pub(crate) fn opener(
    namespace: &Namespace,
    from: Ipv4Addr,
    options: &StreamOptions,
    receives: bool,
) -> Result<OwnedFd> {
    let open = || {
        let socket = stream(options, receives)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(from, 0))?;
        Ok::<_, Errno>(socket)
    };
    namespace
        .run(open)?
        .map_err(LabError::kernel(format!("open a socket at {from} in {}", namespace.label())))
}

/// Sends the SYN. Linux takes the wish for ECN from the namespace at this moment, not from the socket: it is set and taken back
/// around the call, one connection of this process at a time.
pub(crate) fn connect(
    namespace: &Namespace,
    socket: impl AsFd,
    to: SocketAddrV4,
    ecn: Option<[&str; 2]>,
) -> Result<()> {
    static ASKING: Mutex<()> = Mutex::new(());
    const KEY: &str = "net.ipv4.tcp_ecn";
    let _one = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some([during, _]) = ecn {
        namespace.sysctl(KEY, during)?;
    }
    let said = rustix::net::connect(&socket, &to);
    if let Some([_, otherwise]) = ecn {
        namespace.sysctl(KEY, otherwise)?;
    }
    match said {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(LabError::kernel(format!("connect to {to} from {}", namespace.label()))(error)),
    }
}

/// A datagram socket at an address of its namespace, and its port.
pub(crate) fn datagram(namespace: &Namespace, at: Ipv4Addr, dscp: u8) -> Result<(OwnedFd, u16)> {
    let open = || {
        let socket = socket(SocketType::DGRAM, None)?;
        sockopt::set_ip_tos(&socket, dscp << 2)?;
        set_window(&socket, DATAGRAM_ROOM)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(at, 0))?;
        let port = port(&socket)?;
        Ok::<_, Errno>((socket, port))
    };
    namespace.run(open)?.map_err(LabError::kernel(format!("open a socket at {at} in {}", namespace.label())))
}

/// A raw ICMP socket; with an address of its own, that of the interface which it is to use.
pub(crate) fn echo(namespace: &Namespace, from: Option<Ipv4Addr>, dscp: u8) -> Result<OwnedFd> {
    let open = || {
        let socket = socket(SocketType::RAW, Some(ipproto::ICMP))?;
        sockopt::set_ip_tos(&socket, dscp << 2)?;
        if let Some(address) = from {
            rustix::net::bind(&socket, &SocketAddrV4::new(address, 0))?;
        }
        Ok::<_, Errno>(socket)
    };
    namespace.run(open)?.map_err(LabError::kernel(format!("open a raw ICMP socket in {}", namespace.label())))
}

/// The address that a namespace's routes choose towards another; none if nothing leads there.
pub(crate) fn source_towards(namespace: &Namespace, to: Ipv4Addr) -> Result<Option<Ipv4Addr>> {
    let ask = || {
        let socket = socket(SocketType::DGRAM, None)?;
        rustix::net::connect(&socket, &SocketAddrV4::new(to, 9))?;
        Ok::<_, Errno>(*address(rustix::net::getsockname(&socket)?).ip())
    };
    Ok(namespace.run(ask)?.ok().filter(|a| !a.is_unspecified()))
}

/// Ends a connection at once: what was written and not sent is forgotten (RFC 9293 §3.10.7.1's reset).
pub(crate) fn abort(socket: OwnedFd) {
    let _ = sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO));
    drop(socket);
}
