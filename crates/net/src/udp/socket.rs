//! Opening the socket with everything a path needs.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use super::error::OpenError;
use super::segmentation::Segmentation;
use super::steering;
use crate::feedback::CompletionCounter;
use ropewalk_bond::engine::Shard;

/// What a socket should be.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The local address; port 0 lets the kernel choose, `0.0.0.0` or `[::]` takes datagrams to any address.
    pub bind: SocketAddr,
    /// Only this interface sends and receives (`SO_BINDTODEVICE`).
    pub device: Option<&'a str>,
    /// Mark for policy routing (`SO_MARK`); see [`crate::setup::MARK`].
    pub mark: Option<u32>,
    /// Wanted size of each of the kernel's two buffers, in bytes. Above `net.core.{r,w}mem_max` it needs
    /// CAP_NET_ADMIN; without that the kernel gives what it may.
    pub buffer_bytes: usize,
}

impl Options<'_> {
    /// A socket at `bind` with buffers of 8 MiB: 70 ms at 1 Gb/s, so that a late wake-up loses nothing.
    pub fn at(bind: SocketAddr) -> Self {
        Options { bind, device: None, mark: None, buffer_bytes: 8 << 20 }
    }
}

/// A nonblocking UDP socket. See the module's page.
#[derive(Debug)]
pub struct UdpSocket {
    pub(super) fd: OwnedFd,
    local: SocketAddr,
    /// Where the kernel cuts batches into datagrams for us.
    pub(super) gso: Segmentation,
    gro: bool,
    /// Counts what the Wi-Fi driver reports, if it was asked to.
    pub(super) completions: Option<CompletionCounter>,
    device: Option<String>,
}

impl UdpSocket {
    /// Opens and binds a socket in the calling thread's network namespace.
    pub fn open(options: &Options<'_>) -> Result<UdpSocket, OpenError> {
        Self::open_one(options, false)
    }

    /// The same for a gateway of several engines: a socket for each, all at one address. The kernel
    /// gives a datagram to the socket of its engine ([`Shard::number_for`]).
    ///
    /// # Errors
    /// As [`UdpSocket::open`]. Another program at that address is found, too.
    pub fn open_group(options: &Options<'_>, shard: Shard) -> Result<Vec<UdpSocket>, OpenError> {
        let first = Self::open(options)?;
        if shard.of() < 2 {
            return Ok(vec![first]);
        }
        // Alone it was refused where somebody listens, which those below would not be: a group may be
        // joined by any program of the same user.
        let options = Options { bind: first.local, ..*options };
        drop(first);
        let group: Vec<UdpSocket> =
            (0..shard.of()).map(|_| Self::open_one(&options, true)).collect::<Result<_, _>>()?;
        if let Some(one) = group.first() {
            let steer = "telling the kernel which socket a datagram is for";
            steering::attach(&one.fd, shard.of()).map_err(|e| OpenError::system(steer, e))?;
        }
        Ok(group)
    }

    fn open_one(options: &Options<'_>, in_group: bool) -> Result<UdpSocket, OpenError> {
        let v6 = options.bind.is_ipv6();
        let family = if v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = rustix::net::socket_with(family, SocketType::DGRAM, flags, None).map_err(|e| match e {
            Errno::AFNOSUPPORT => OpenError::NoFamily(if v6 { 6 } else { 4 }),
            e => OpenError::system("opening a UDP socket", e),
        })?;
        if let Some(device) = options.device {
            bind_to_device(&fd, device)?;
        }
        if let Some(mark) = options.mark {
            set_int(&fd, libc::SOL_SOCKET, libc::SO_MARK, mark as libc::c_int)
                .map_err(|e| OpenError::system("marking packets for policy routing", e))?;
        }
        set_header_options(&fd, v6)?;
        set_buffers(&fd, options.buffer_bytes);
        // The two that only cost speed where they are missing (UDP_GRO is Linux 5.0, UDP_SEGMENT 4.18).
        let gro = set_int(&fd, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        let gso = Segmentation::new(set_int(&fd, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok());
        if in_group {
            set_int(&fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
                .map_err(|e| OpenError::system("sharing a UDP address among sockets", e))?;
        }
        bind(&fd, options.bind)?;
        let local = rustix::net::getsockname(&fd)
            .and_then(SocketAddr::try_from)
            .map_err(|e| OpenError::system("reading the socket's address", e))?;
        Ok(UdpSocket { fd, local, gso, gro, completions: None, device: options.device.map(str::to_owned) })
    }

    /// The one interface that it sends and receives by; `None` if any may.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The address the socket is bound to, with the port the kernel chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Whether batches leave in one piece (UDP GSO). `false` for some minutes when the ways to many
    /// addresses refuse them.
    pub fn has_gso(&self) -> bool {
        self.gso.is_available()
    }

    /// Whether batches arrive in one piece (UDP GRO).
    pub fn has_gro(&self) -> bool {
        self.gro
    }

    /// The size in bytes that the kernel gave the receive and the send buffer, its own overhead included.
    pub fn buffer_bytes(&self) -> (usize, usize) {
        let receive = sockopt::socket_recv_buffer_size(&self.fd).unwrap_or(0);
        (receive, sockopt::socket_send_buffer_size(&self.fd).unwrap_or(0))
    }

    /// Pretends that the kernel cannot cut batches; for tests of the slow way.
    #[doc(hidden)]
    pub fn forbid_gso(&mut self) {
        self.gso.end();
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn bind(fd: &OwnedFd, to: SocketAddr) -> Result<(), OpenError> {
    rustix::net::bind(fd, &to).map_err(|e| match e {
        Errno::ADDRINUSE => OpenError::PortInUse(to),
        Errno::ADDRNOTAVAIL | Errno::NODEV => OpenError::NoSuchAddress(to),
        Errno::ACCESS => OpenError::NotPermitted("listening on a port below 1024"),
        e => OpenError::system("binding a UDP socket", e),
    })
}

/// Never fragment, ignore the kernel's path MTU, and report ECN bits and the local address of what arrives.
fn set_header_options(fd: &OwnedFd, v6: bool) -> Result<(), OpenError> {
    let options: &[(libc::c_int, libc::c_int, libc::c_int)] = if v6 {
        &[
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1),
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
            (libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, 1),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1),
        ]
    } else {
        &[
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
            (libc::IPPROTO_IP, libc::IP_RECVTOS, 1),
            (libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
        ]
    };
    for (level, name, value) in options {
        set_int(fd, *level, *name, *value)
            .map_err(|e| OpenError::system("setting an IP option of a socket", e))?;
    }
    // Not every emulated kernel counts drops; the count is only a metric.
    let _ = set_int(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
    Ok(())
}

/// Buffers as large as wanted with CAP_NET_ADMIN, else as large as the system's limits allow. Smaller ones
/// still work.
fn set_buffers(fd: &OwnedFd, bytes: usize) {
    if sockopt::set_socket_recv_buffer_size_force(fd, bytes).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(fd, bytes);
    }
    let int = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    if set_int(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, int).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(fd, bytes);
    }
}

pub(crate) fn bind_to_device(fd: &OwnedFd, device: &str) -> Result<(), OpenError> {
    // SAFETY: the pointer and the length describe `device`, which lives across the call; the kernel copies
    // it.
    let set = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            device.as_ptr().cast(),
            device.len() as libc::socklen_t,
        )
    };
    match check(set) {
        Ok(()) => Ok(()),
        Err(Errno::NODEV | Errno::INVAL) => Err(OpenError::NoSuchInterface(device.into())),
        Err(e) => Err(OpenError::system("binding a socket to an interface", e)),
    }
}

/// Sets an option that is one int.
pub(crate) fn set_int(
    fd: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> Result<(), Errno> {
    // SAFETY: the pointer and the length describe one int that lives across the call; the kernel copies it.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
}

pub(super) fn check(returned: libc::c_int) -> Result<(), Errno> {
    if returned == 0 { Ok(()) } else { Err(last_error()) }
}

pub(super) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
