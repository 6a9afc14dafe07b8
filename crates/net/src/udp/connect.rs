//! A TCP connection by one interface, for a probe beside the bond's own datagrams.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

/// Connects to `to` by `interface` and no other, within `patience`. The stream blocks.
///
/// # Errors
/// There is no such interface, or nobody answers.
pub fn connect_by(interface: &str, to: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let family = if to.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd: OwnedFd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    super::socket::bind_to_device(&fd, interface).map_err(io::Error::other)?;
    match rustix::net::connect(&fd, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(e) => return Err(e.into()),
    }
    let mut wait = [PollFd::new(&fd, PollFlags::OUT)];
    let patience = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
    if rustix::event::poll(&mut wait, Some(&patience))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    sockopt::socket_error(&fd)??;
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
