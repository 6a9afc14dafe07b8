//! What the kernel knows of a TCP connection (`TCP_INFO`, tcp(7)): for the sender, what held it back.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A sender's view of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round trip.
    pub rtt: Duration,
    /// Least round trip.
    pub rtt_min: Duration,
    /// Bytes of payload in a segment.
    pub mss: u32,
    /// Segments with data that were sent, repeated ones included.
    pub sent_segments: u32,
    /// Segments sent again.
    pub retransmitted: u32,
    /// Time with something to send.
    pub busy: Duration,
    /// Of that, time in which the receiver's window forbade more.
    pub window_limited: Duration,
    /// Of that, time in which the sender's own buffer was empty too soon.
    pub buffer_limited: Duration,
    /// The receiver's window, bytes; 0 from kernels before 5.4.
    pub window_bytes: u32,
}

/// As much of the kernel's `struct tcp_info` as is read; newer kernels know more, older ones less.
const LENGTH: usize = 240;

/// Asks the kernel.
///
/// # Errors
/// The kernel's own, such as for a socket that is no TCP.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut bytes = [0_u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `bytes`, which lives until it returns.
    let got = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(parse(&bytes))
}

/// Places are those of `linux/tcp.h`, which only ever grows at its end; what a kernel does not fill stays 0.
fn parse(bytes: &[u8; LENGTH]) -> TcpInfo {
    let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
    let long = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
    let micros = |us: u64| Duration::from_micros(us);
    TcpInfo {
        mss: word(16),
        rtt: micros(word(68).into()),
        retransmitted: word(100),
        rtt_min: micros(word(148).into()),
        sent_segments: word(156),
        busy: micros(long(168)),
        window_limited: micros(long(176)),
        buffer_limited: micros(long(184)),
        window_bytes: word(228),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_on_loopback_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[7; 4096]).unwrap();
        receiver.read_exact(&mut [0; 4096]).unwrap();
        receiver.write_all(&[1]).unwrap();
        sender.read_exact(&mut [0]).unwrap();
        let info = tcp_info(&sender).unwrap();
        assert!(info.mss >= 500 && info.sent_segments >= 1 && info.window_bytes > 4096, "{info:?}");
        assert!(info.rtt > Duration::ZERO && info.rtt_min > Duration::ZERO, "{info:?}");
        assert_eq!((info.retransmitted, info.buffer_limited), (0, Duration::ZERO), "{info:?}");
    }

    #[test]
    fn what_is_no_connection_is_refused() {
        assert!(tcp_info(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
