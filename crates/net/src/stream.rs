//! TCP connections by one interface: probes, and tunnels, with a send buffer that is known.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, sockopt};

use crate::patience::until;
use crate::udp::{bind_to_device, set_int};

/// A tunnel whose other end has acknowledged nothing for so long is dead.
const DEAD: Duration = Duration::from_secs(4);

/// Connects, by one interface if it is named; the stream blocks.
///
/// # Errors
/// There is no such interface, nobody answers within `patience`, or the other end refuses.
pub fn connect(to: SocketAddr, device: Option<&str>, patience: Duration) -> io::Result<TcpStream> {
    open(to, device, None, patience)
}

/// The same by a protocol; none is TCP.
pub(crate) fn open(
    to: SocketAddr,
    device: Option<&str>,
    protocol: Option<Protocol>,
    patience: Duration,
) -> io::Result<TcpStream> {
    let family = if to.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, protocol)?;
    if let Some(device) = device {
        bind_to_device(&fd, device).map_err(|e| io::Error::new(io::ErrorKind::NotFound, e.to_string()))?;
    }
    match rustix::net::connect(&fd, &to) {
        // Also after a signal the kernel goes on (connect(2)).
        Err(Errno::INPROGRESS | Errno::INTR) => finish(&fd, patience)?,
        outcome => outcome?,
    }
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn finish(fd: &OwnedFd, patience: Duration) -> io::Result<()> {
    until(Instant::now() + patience, |left| {
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let ready = poll(&mut [PollFd::new(fd, PollFlags::OUT)], Some(&limit))?;
        if ready == 0 { Err(Errno::TIMEDOUT.into()) } else { Ok(()) }
    })?;
    Ok(sockopt::socket_error(fd)??)
}

/// Sets a stream up as a tunnel: nonblocking, without Nagle's delay, with CUBIC (a sender of its
/// own, such as BBR, would take more than one connection's share of an uplink), and given up when
/// the other end is silent. `buffer` bytes are to be on the way at most; the kernel's own buffer is
/// larger, so that it is never what ends a write.
///
/// # Errors
/// The stream is gone.
pub fn tune(stream: &TcpStream, buffer: u64) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    // Without these it works too, only worse.
    let _ = sockopt::set_tcp_congestion(stream, "cubic");
    let _ = sockopt::set_tcp_user_timeout(stream, DEAD.as_millis() as u32);
    let _ = sockopt::set_socket_send_buffer_size(stream, (buffer as usize).saturating_mul(2));
    Ok(())
}

/// Whether what the stream sends from now on is the background of its uplink, in the classes of
/// [`crate::setup::classes`].
///
/// # Errors
/// CAP_NET_ADMIN is missing.
pub fn set_background(stream: &impl AsFd, on: bool) -> io::Result<()> {
    let class = if on { crate::setup::BACKGROUND as libc::c_int } else { 0 };
    Ok(set_int(&stream.as_fd(), libc::SOL_SOCKET, libc::SO_PRIORITY, class)?)
}

/// Has the next read acknowledged by what is sent after it, or 40 ms later. Linux often goes back
/// to acknowledging small reads at once, so this is asked for before each.
///
/// # Errors
/// The stream is gone.
pub fn delay_acknowledgement(stream: &TcpStream) -> io::Result<()> {
    Ok(sockopt::set_tcp_quickack(stream, false)?)
}

/// Makes the end of the stream a reset: what waits in it is of no use any more.
pub fn abort(stream: TcpStream) {
    // A plain close is as good an end where this fails.
    let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

/// Bytes that were written and not acknowledged by the other end (`SIOCOUTQ`, tcp(7)).
///
/// # Errors
/// The stream is gone.
pub fn unacknowledged(stream: &TcpStream) -> io::Result<u64> {
    let mut count: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int through the pointer, which lives across the call.
    let done = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(count.max(0) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::thread::JoinHandleExt;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_waits_is_counted_and_an_abort_is_a_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let mut near = connect(to, None, Duration::from_secs(5)).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        tune(&near, 20_000).unwrap();
        assert_eq!(unacknowledged(&near).unwrap(), 0);
        near.write_all(&[7; 1000]).unwrap();
        far.read_exact(&mut [0; 1000]).unwrap();
        while unacknowledged(&near).unwrap() > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        abort(near);
        let end = far.read(&mut [0]).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn nobody_and_no_interface_are_errors() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        drop(listener);
        let refused = connect(to, None, Duration::from_secs(5)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let missing = connect(to, Some("no-such-if"), Duration::from_secs(5)).unwrap_err();
        assert!(missing.to_string().contains("no-such-if"), "{missing}");
    }

    #[test]
    fn signals_do_not_end_the_wait_for_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // One connection waits to be accepted; the next one is not even answered.
        rustix::net::listen(&listener, 0).unwrap();
        let at = listener.local_addr().unwrap();
        let _first = TcpStream::connect(at).unwrap();
        // A signal that somebody handles ends poll(2).
        signal_hook::flag::register(libc::SIGUSR1, Arc::new(AtomicBool::new(false))).unwrap();
        let patience = Duration::from_millis(300);
        let waits = std::thread::spawn(move || connect(at, None, patience).unwrap_err());
        while !waits.is_finished() {
            // SAFETY: the thread was not joined, so its number is its own.
            unsafe { libc::pthread_kill(waits.as_pthread_t(), libc::SIGUSR1) };
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(waits.join().unwrap().kind(), io::ErrorKind::TimedOut);
    }
}
