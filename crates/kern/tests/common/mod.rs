//! Namespaces, sockets and waiting.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

/// ip(8), which has to succeed.
pub(crate) fn ip(line: &str) {
    let done = Command::new("ip").args(line.split_whitespace()).output().unwrap();
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Does something in a namespace, on a thread of its own.
pub(crate) fn within<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let file = File::open(format!("/run/netns/{name}")).unwrap();
    let thread = std::thread::spawn(move || {
        // SAFETY: a descriptor of a namespace, which this thread alone enters.
        assert_eq!(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }, 0);
        work()
    });
    thread.join().unwrap()
}

/// A stream socket of a protocol.
pub(crate) fn socket(address: SocketAddr, protocol: i32) -> i32 {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: three numbers go in.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, protocol) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    fd
}

/// Waits until it is so, at most ten seconds.
pub(crate) fn becomes(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("after ten seconds still not: {what}");
}
