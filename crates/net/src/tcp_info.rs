//! What the kernel knows of a TCP or MPTCP connection: `TCP_INFO` (tcp(7), linux/tcp.h) and the options of `SOL_MPTCP` (linux/mptcp.h).

use std::io;
use std::mem::size_of_val;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// As much of the kernel's `struct tcp_info` as is read: that of Linux 6.7.
pub(crate) const LENGTH: usize = 248;
/// Most subflows that are looked at; Linux makes at most 8 by default limits and 64 in all.
const SUBFLOWS: usize = 16;
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;
const MPTCP_TCPINFO: libc::c_int = 2;
const MPTCP_SUBFLOW_ADDRS: libc::c_int = 3;
/// `TCPI_OPT_ECN`, of `tcpi_options`.
const OPTION_ECN: u8 = 8;
/// `MPTCP_INFO_FLAG_FALLBACK`: the connection is plain TCP.
const FALLBACK: u32 = 1;

/// A sender's view of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round trip; zero before the first was measured.
    pub rtt: Duration,
    /// Least round trip.
    pub rtt_min: Duration,
    /// Smoothed round trip of who receives, by timestamps; zero before it was measured.
    pub rtt_at_receiver: Duration,
    /// Both ends understand marks (ECN).
    pub has_ecn: bool,
    /// Bytes of payload in a segment.
    pub mss: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Bytes that were acknowledged.
    pub bytes_acked: u64,
    /// Bytes that came, each once.
    pub bytes_received: u64,
    /// Since when no data have come.
    pub last_received: Duration,
    /// Segments with data that were sent, repeated ones included.
    pub sent_segments: u32,
    /// Segments sent again.
    pub retransmitted: u32,
    /// Retransmission timeouts; 0 from kernels before 6.7.
    pub timeouts: u16,
    /// Time with something to send.
    pub busy: Duration,
    /// Of that, time in which the receiver's window forbade more.
    pub window_limited: Duration,
    /// Of that, time in which the sender's own buffer was empty too soon.
    pub buffer_limited: Duration,
    /// The receiver's window, bytes; 0 from kernels before 5.4.
    pub window_bytes: u32,
}

/// A subflow of an MPTCP connection.
#[derive(Clone, Copy, Debug)]
pub struct SubflowInfo<A = SocketAddrV4> {
    /// This end.
    pub local: A,
    /// The other end.
    pub remote: A,
    /// The kernel's figures.
    pub tcp: TcpInfo,
}

/// Asks the kernel of a TCP connection.
///
/// # Errors
/// The kernel's own, such as for a socket that is no TCP.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut bytes = [0; LENGTH];
    option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    Ok(parse(&bytes))
}

/// The subflows of an MPTCP connection over IPv4.
///
/// # Errors
/// The kernel's own, such as for a socket that is no MPTCP.
pub fn subflows(socket: impl AsFd) -> io::Result<Vec<SubflowInfo>> {
    read_subflows(socket, address)
}

/// The subflows of an MPTCP connection over either version of IP.
///
/// # Errors
/// Those of [`subflows`].
pub fn subflows_of_any(socket: impl AsFd) -> io::Result<Vec<SubflowInfo<SocketAddr>>> {
    read_subflows(socket, any_address)
}

fn read_subflows<A>(socket: impl AsFd, address: fn(&[u8]) -> A) -> io::Result<Vec<SubflowInfo<A>>> {
    let figures: Vec<[u8; LENGTH]> = per_subflow(&socket, MPTCP_TCPINFO)?;
    let addresses: Vec<[u8; 2 * ADDRESS]> = per_subflow(&socket, MPTCP_SUBFLOW_ADDRS)?;
    let pair = |(tcp, ends): (&[u8; LENGTH], &[u8; 2 * ADDRESS])| SubflowInfo {
        local: address(&ends[..ADDRESS]),
        remote: address(&ends[ADDRESS..]),
        tcp: parse(tcp),
    };
    Ok(figures.iter().zip(&addresses).map(pair).collect())
}

/// Whether a connection that asked for MPTCP became plain TCP.
pub fn fell_back(socket: impl AsFd) -> bool {
    // `struct mptcp_info`: six bytes, two of padding, flags, and more that is not looked at.
    let mut info = [0; 16];
    match option(socket, SOL_MPTCP, MPTCP_INFO, &mut info) {
        Ok(12..) => word(&info, 8) & FALLBACK != 0,
        // A kernel without the option, or a socket that is no longer one of MPTCP.
        _ => true,
    }
}

/// Reads a socket option; gives the bytes that the kernel wrote.
fn option(socket: impl AsFd, level: libc::c_int, name: libc::c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut len = size_of_val(value) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `len` bytes, all of them inside `value`, which lives until it returns.
    let said = unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &mut len) };
    if said < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}

/// Length of `struct mptcp_subflow_data`: its own size, how many subflows follow, the kernel's size of each, and the caller's.
const HEAD: usize = 16;

/// Asks for `EACH` bytes of every subflow: `struct mptcp_subflow_data`, four words long, and what follows it.
fn per_subflow<const EACH: usize>(socket: impl AsFd, name: libc::c_int) -> io::Result<Vec<[u8; EACH]>> {
    let mut all = vec![0; HEAD + SUBFLOWS * EACH];
    for (at, value) in [(0, HEAD), (12, EACH)] {
        all[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
    }
    option(socket, SOL_MPTCP, name, &mut all)?;
    Ok(each_subflow(&all))
}

/// Takes apart what the kernel wrote. Of each subflow it writes no more than its own structure has, and the next one follows at once:
/// 232 bytes of `tcp_info` on Linux 6.1, whoever asks for 248. The rest is 0.
fn each_subflow<const EACH: usize>(all: &[u8]) -> Vec<[u8; EACH]> {
    let (count, written) = (word(all, 4) as usize, (word(all, 8) as usize).min(EACH));
    if written == 0 {
        return Vec::new();
    }
    let padded = |bytes: &[u8]| {
        let mut each = [0; EACH];
        each[..written].copy_from_slice(bytes);
        each
    };
    all[HEAD..].chunks_exact(written).take(count.min(SUBFLOWS)).map(padded).collect()
}

/// Room for any address (`struct sockaddr_storage`), here of IPv4.
const ADDRESS: usize = 128;

fn address(bytes: &[u8]) -> SocketAddrV4 {
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    SocketAddrV4::new(Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]), port)
}

/// The same of either version of IP; of IPv4 also where it is written as IPv6.
fn any_address(bytes: &[u8]) -> SocketAddr {
    let family = u16::from_ne_bytes([bytes[0], bytes[1]]);
    match bytes[8..].first_chunk::<16>() {
        Some(ip) if i32::from(family) == libc::AF_INET6 => {
            SocketAddr::new(Ipv6Addr::from(*ip).to_canonical(), address(bytes).port())
        }
        _ => address(bytes).into(),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

/// Places are those of `linux/tcp.h`, which only ever grows at its end; what a kernel does not fill stays 0.
pub(crate) fn parse(bytes: &[u8; LENGTH]) -> TcpInfo {
    let word = |at: usize| word(bytes, at);
    let long = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
    let micros = |us: u64| Duration::from_micros(us);
    TcpInfo {
        mss: word(16),
        rtt: micros(word(68).into()),
        cwnd: word(80),
        retransmitted: word(100),
        bytes_acked: long(120),
        bytes_received: long(128),
        last_received: Duration::from_millis(word(52).into()),
        rtt_min: micros(word(148).into()),
        rtt_at_receiver: micros(word(92).into()),
        has_ecn: bytes[5] & OPTION_ECN != 0,
        sent_segments: word(156),
        busy: micros(long(168)),
        window_limited: micros(long(176)),
        buffer_limited: micros(long(184)),
        window_bytes: word(228),
        timeouts: u16::from_ne_bytes([bytes[240], bytes[241]]),
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
        assert_eq!(
            (info.retransmitted, info.timeouts, info.buffer_limited),
            (0, 0, Duration::ZERO),
            "{info:?}"
        );
        assert!(subflows(&sender).is_err() && fell_back(&sender), "it is no MPTCP");
    }

    #[test]
    fn figures_of_an_older_kernel_are_those_of_their_subflow() {
        for kernel in [200, LENGTH - 16, LENGTH, LENGTH + 40] {
            let stride = kernel.min(LENGTH);
            let mut all = vec![0; HEAD + SUBFLOWS * LENGTH];
            for (at, value) in [(0, HEAD), (4, 3), (8, kernel), (12, stride)] {
                all[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
            }
            for subflow in 0..3 {
                let at = HEAD + subflow * stride;
                all[at..at + stride].fill(1 + subflow as u8);
            }
            let each: Vec<[u8; LENGTH]> = each_subflow(&all);
            let [one, two, three] = &each[..] else { panic!("{} subflows", each.len()) };
            for (figures, value) in [(one, 1), (two, 2), (three, 3)] {
                assert!(figures[..stride].iter().all(|b| *b == value), "{kernel}");
                assert!(figures[stride..].iter().all(|b| *b == 0), "{kernel}");
            }
        }
        // Nothing is taken for subflows that there is no room for.
        let mut many = vec![0; HEAD + SUBFLOWS * LENGTH];
        many[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
        many[8..12].copy_from_slice(&1_u32.to_ne_bytes());
        assert_eq!(each_subflow::<LENGTH>(&many).len(), SUBFLOWS);
    }

    #[test]
    fn what_is_no_connection_is_refused() {
        assert!(tcp_info(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }

    #[test]
    fn words_are_where_the_kernel_has_them() {
        let mut bytes = [0; LENGTH];
        for (i, word) in bytes.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&(i as u32).to_ne_bytes());
        }
        let info = parse(&bytes);
        assert_eq!((info.mss, info.retransmitted, info.sent_segments, info.window_bytes), (4, 25, 39, 57));
        assert_eq!((info.rtt, info.rtt_min), (Duration::from_micros(17), Duration::from_micros(37)));
        assert_eq!((info.cwnd, info.bytes_acked, info.timeouts), (20, 30 | 31 << 32, 60));
        assert_eq!((info.bytes_received, info.last_received), (32 | 33 << 32, Duration::from_millis(13)));
        let mut ends = [0; ADDRESS];
        ends[2..8].copy_from_slice(&[0x14, 0x51, 10, 0, 0, 1]);
        assert_eq!(address(&ends), "10.0.0.1:5201".parse().unwrap());
        assert_eq!(any_address(&ends), "10.0.0.1:5201".parse().unwrap());
        for (ip, said) in [("2001:db8::7", "[2001:db8::7]:5201"), ("::ffff:10.0.0.1", "10.0.0.1:5201")] {
            ends[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            ends[8..24].copy_from_slice(&ip.parse::<Ipv6Addr>().unwrap().octets());
            assert_eq!(any_address(&ends), said.parse().unwrap());
        }
    }
}
