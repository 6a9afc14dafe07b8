//! Who is at the other end of a local socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

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
    use std::os::unix::net::UnixStream;

    #[test]
    fn this_end_is_ours() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(super::user(&one).unwrap(), rustix::process::getuid().as_raw());
    }
}
