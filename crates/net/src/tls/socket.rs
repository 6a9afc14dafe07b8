//! TCP sockets as a stream of datagrams wants them.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use super::Target;
use crate::tcp_info::tcp_info;
use crate::udp::{OpenError, bind_to_device, set_int};
use ropewalk_time::{Duration, Time};

/// Bytes of which nothing was acknowledged for so long are the end of a connection.
const DEAD_MS: u32 = 15_000;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 256;
/// Bounds of a record's bytes: one segment, and what TLS allows (RFC 8446, section 5.1).
const RECORD: [usize; 2] = [1400, 16_384];
/// Bounds of what TCP may hold unsent, bytes.
const UNSENT: [usize; 2] = [8 << 10, 128 << 10];
/// How often both are worked out anew.
const SHAPE_EVERY: Duration = Duration::from_millis(50);

/// Listens at `at`.
pub(super) fn listen(at: SocketAddr) -> Result<TcpListener, OpenError> {
    let family = if at.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(|e| match e {
        Errno::AFNOSUPPORT => OpenError::NoFamily(if at.is_ipv6() { 6 } else { 4 }),
        e => OpenError::system("opening a TCP socket", e),
    })?;
    let prepare = || {
        sockopt::set_socket_reuseaddr(&fd, true)?;
        if at.is_ipv6() { sockopt::set_ipv6_v6only(&fd, true) } else { Ok(()) }
    };
    prepare().map_err(|e| OpenError::system("preparing a TCP socket", e))?;
    rustix::net::bind(&fd, &at).map_err(|e| match e {
        Errno::ADDRINUSE => OpenError::PortInUse(at),
        Errno::ADDRNOTAVAIL | Errno::NODEV => OpenError::NoSuchAddress(at),
        Errno::ACCESS => OpenError::NotPermitted("listening on a port below 1024"),
        e => OpenError::system("binding a TCP socket", e),
    })?;
    rustix::net::listen(&fd, BACKLOG).map_err(|e| OpenError::system("listening on a TCP socket", e))?;
    Ok(TcpListener::from(fd))
}

/// Bytes of a segment on a way that is too narrow for datagrams, both ways: what TCP takes where
/// nobody says anything (RFC 9293 §3.7.1, MSS of IPv4).
const NARROW: libc::c_int = 536;

/// Begins to connect.
pub(super) fn connect(target: &Target) -> io::Result<TcpStream> {
    let family = if target.remote.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd: OwnedFd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(device) = &target.device {
        bind_to_device(&fd, device).map_err(|e| io::Error::new(io::ErrorKind::NotFound, e.to_string()))?;
    }
    if let Some(mark) = target.mark {
        set_int(&fd, libc::SOL_SOCKET, libc::SO_MARK, mark as libc::c_int)?;
    }
    if target.is_narrow {
        set_int(&fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, NARROW)?;
    }
    match rustix::net::connect(&fd, &target.remote) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(fd);
    tune(&stream)?;
    Ok(stream)
}

/// Nonblocking, without Nagle's delay, with little that waits in the kernel, and given up when the
/// other end is silent.
pub(super) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    // Without these it works too, only worse. The bond's own congestion control decides what is
    // sent: CUBIC leaves that alone until something is lost, while BBR paces by a rate of its own.
    let _ = sockopt::set_tcp_congestion(stream, "cubic");
    let _ = sockopt::set_tcp_user_timeout(stream, DEAD_MS);
    let _ = set_int(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT[0] as libc::c_int);
    Ok(())
}

/// How long records are, and what TCP may hold unsent: both parts of what it has under way in a
/// round trip.
#[derive(Debug)]
pub(super) struct Shape {
    /// Bytes of a record.
    pub record: usize,
    unsent: usize,
    /// Something was lost.
    loses: bool,
    next: Time,
}

impl Shape {
    pub(super) fn new() -> Shape {
        Shape { record: RECORD[0] * 2, unsent: UNSENT[0], loses: false, next: Time::ZERO }
    }

    /// Works both out anew, when it is time. From the first loss on TCP has BBR, which does not slow
    /// down for each.
    pub(super) fn update(&mut self, stream: &TcpStream, now: Time) {
        if now < self.next {
            return;
        }
        self.next = now + SHAPE_EVERY;
        let Ok(info) = tcp_info(stream) else { return };
        if info.retransmitted > 0 && !std::mem::replace(&mut self.loses, true) {
            let _ = sockopt::set_tcp_congestion(stream, "bbr");
        }
        let window = info.cwnd as usize * info.mss as usize;
        self.record = (window / 2).clamp(RECORD[0], RECORD[1]);
        let unsent = (window / 4).clamp(UNSENT[0], UNSENT[1]);
        if unsent >= self.unsent * 2 || unsent * 2 <= self.unsent {
            self.unsent = unsent;
            let _ = set_int(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, unsent as libc::c_int);
        }
    }
}
