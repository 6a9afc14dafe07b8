//! Who is at the other end of a local socket, and reaching it.

use crate::patience::until;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Connects to a Unix socket. A full queue, such as that of a program that hangs, is waited for
/// until `patience` is over.
///
/// # Errors
/// Nobody listens there, or the file is another user's; a late one ([`is_late`]) if the queue stayed
/// full.
///
/// [`is_late`]: crate::patience::is_late
pub fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    until(Instant::now() + patience, |left| {
        // The wait for a place in the queue ends by it, too (socket(7)).
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(left))?;
        Ok(rustix::net::connect(&socket, &address)?)
    })?;
    let stream = UnixStream::from(socket);
    stream.set_write_timeout(None)?;
    Ok(stream)
}

/// The user of the process that connected a Unix socket, by the kernel's word (`SO_PEERCRED`,
/// unix(7)).
///
/// # Errors
/// It is no such socket.
pub fn user(socket: impl AsFd) -> io::Result<u32> {
    // Not rustix's: its process id cannot be 0, which the kernel says of a process in another PID
    // namespace.
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: `who` is writable for `length` bytes, both outlive the call, and every value of its
    // fields is valid.
    let outcome = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut who).cast(), &raw mut length)
    };
    if outcome == 0 { Ok(who.uid) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::is_late;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_full_queue_is_waited_for_and_no_longer() {
        let path = std::env::temp_dir().join(format!("ropewalk-queue-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        // One connection may wait to be accepted, and no other (unix_listen of the kernel).
        rustix::net::listen(&listener, 0).unwrap();
        let first = connect(&path, Duration::from_secs(10)).unwrap();
        assert_eq!(first.write_timeout().unwrap(), None);
        let began = Instant::now();
        let error = connect(&path, Duration::from_millis(50)).unwrap_err();
        assert!(is_late(&error), "{error}");
        assert!(began.elapsed() >= Duration::from_millis(25));
        let accepts = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            (listener.accept().unwrap(), listener)
        });
        connect(&path, Duration::from_secs(10)).unwrap();
        drop(accepts.join().unwrap());
        let error = connect(&path, Duration::from_secs(10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn this_end_is_ours() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(user(&one).unwrap(), rustix::process::getuid().as_raw());
    }
}
