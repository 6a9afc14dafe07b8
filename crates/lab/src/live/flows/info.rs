//! What the kernel says of a TCP or MPTCP connection: `struct tcp_info` (linux/tcp.h) and the options of `SOL_MPTCP` (linux/mptcp.h).

use std::mem::{MaybeUninit, size_of};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// Most subflows that are looked at; Linux makes at most 8 by default limits and 64 in all.
const SUBFLOWS: usize = 16;
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;
const MPTCP_TCPINFO: libc::c_int = 2;
const MPTCP_SUBFLOW_ADDRS: libc::c_int = 3;
/// `MPTCP_INFO_FLAG_FALLBACK`: the connection is plain TCP.
const FALLBACK: u32 = 1;

/// `struct tcp_info` as of Linux 6.7. Older kernels fill in less; the rest stays zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    state: [u8; 8],
    /// From `tcpi_rto` to `tcpi_rcv_ssthresh`.
    before: [u32; 15],
    /// Smoothed round trip, µs.
    pub rtt: u32,
    rttvar: u32,
    ssthresh: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// From `tcpi_advmss` to `tcpi_rcv_space`.
    between: [u32; 4],
    /// Segments sent again.
    pub retransmissions: u32,
    /// Both pacing rates.
    pacing: [u64; 2],
    /// Bytes that were acknowledged.
    pub bytes_acked: u64,
    bytes_received: u64,
    /// From `tcpi_segs_out` to `tcpi_data_segs_in`.
    segments: [u32; 5],
    /// Segments with data that were sent.
    pub data_segments: u32,
    /// From `tcpi_delivery_rate` to `tcpi_sndbuf_limited`.
    rates: [u64; 4],
    /// `tcpi_delivered` and `tcpi_delivered_ce`.
    pub delivered: [u32; 2],
    bytes: [u64; 2],
    /// From `tcpi_dsack_dups` to `tcpi_rcv_ooopack`.
    disorder: [u32; 3],
    /// The window that the other end advertises, bytes.
    pub send_window: u32,
    receive_window: u32,
    rehash: u32,
    /// Retransmission timeouts.
    pub timeouts: u16,
    recoveries: u16,
    recovery_ms: u32,
}

impl TcpInfo {
    /// Largest segment that is sent, bytes.
    pub(super) fn mss(&self) -> u32 {
        self.before[2]
    }
}

/// A subflow of an MPTCP connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubflowInfo {
    /// This end.
    pub local: SocketAddrV4,
    /// The other end.
    pub remote: SocketAddrV4,
    /// The kernel's figures.
    pub tcp: TcpInfo,
}

/// Reads a socket option into `value`; gives the bytes that the kernel wrote.
fn option<T>(
    socket: impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> rustix::io::Result<usize> {
    let mut len = size_of::<T>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `len` bytes, all of them inside `value`; callers hand in types of plain integers, for which
    // any bytes are a value.
    let said = unsafe { libc::getsockopt(fd, level, name, std::ptr::from_mut(value).cast(), &mut len) };
    if said == 0 {
        Ok(len as usize)
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

/// Figures of a TCP connection.
pub(crate) fn tcp(socket: impl AsFd) -> rustix::io::Result<TcpInfo> {
    let mut info = TcpInfo::default();
    option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Ok(info)
}

/// `struct mptcp_subflow_data` and what follows it.
#[repr(C, align(8))]
struct PerSubflow<T> {
    head_bytes: u32,
    subflows: u32,
    kernel_bytes: u32,
    user_bytes: u32,
    each: [T; SUBFLOWS],
}

/// Asks for something of every subflow.
///
/// # Safety
/// Any bytes must be a value of `T`.
unsafe fn per_subflow<T: Copy>(socket: impl AsFd, name: libc::c_int) -> rustix::io::Result<Vec<T>> {
    let mut all: MaybeUninit<PerSubflow<T>> = MaybeUninit::zeroed();
    // SAFETY: zeros are integers, and any bytes are a `T` by the contract.
    let all = unsafe { all.assume_init_mut() };
    (all.head_bytes, all.user_bytes) = (16, size_of::<T>() as u32);
    option(socket, SOL_MPTCP, name, all)?;
    Ok(all.each[..SUBFLOWS.min(all.subflows as usize)].to_vec())
}

/// One end of `struct mptcp_subflow_addrs`: room for any address, here of IPv4.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Address {
    family: u16,
    port: [u8; 2],
    address: [u8; 4],
    rest: [u8; 120],
}

impl Address {
    fn v4(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::from(self.address), u16::from_be_bytes(self.port))
    }
}

/// The subflows of an MPTCP connection.
pub(crate) fn subflows(socket: impl AsFd) -> rustix::io::Result<Vec<SubflowInfo>> {
    // SAFETY: both types are made of integers alone.
    let figures: Vec<TcpInfo> = unsafe { per_subflow(&socket, MPTCP_TCPINFO) }?;
    // SAFETY: as above.
    let addresses: Vec<[Address; 2]> = unsafe { per_subflow(&socket, MPTCP_SUBFLOW_ADDRS) }?;
    let pair = |(tcp, [local, remote]): (TcpInfo, [Address; 2])| SubflowInfo {
        local: local.v4(),
        remote: remote.v4(),
        tcp,
    };
    Ok(figures.into_iter().zip(addresses).map(pair).collect())
}

/// Whether a connection that asked for MPTCP became plain TCP (trap T-21: then a run measures one path).
pub(crate) fn fell_back(socket: impl AsFd) -> bool {
    // `struct mptcp_info`: six bytes, two of padding, flags, and more that is not looked at.
    let mut info = [0u32; 4];
    match option(socket, SOL_MPTCP, MPTCP_INFO, &mut info) {
        Ok(_) => info[2] & FALLBACK != 0,
        // A kernel without the option, or a socket that is no longer one of MPTCP.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_the_kernels() {
        assert_eq!(size_of::<TcpInfo>(), 248);
        assert_eq!(std::mem::offset_of!(TcpInfo, retransmissions), 100);
        assert_eq!(std::mem::offset_of!(TcpInfo, bytes_acked), 120);
        assert_eq!(std::mem::offset_of!(TcpInfo, data_segments), 156);
        assert_eq!(std::mem::offset_of!(TcpInfo, send_window), 228);
        assert_eq!(std::mem::offset_of!(TcpInfo, timeouts), 240);
        assert_eq!(size_of::<Address>(), 128);
    }

    #[test]
    fn a_connection_on_loopback_has_figures() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        let info = tcp(&client).unwrap();
        assert!(info.data_segments >= 1 && info.rtt > 0 && info.send_window > 1000, "{info:?}");
        assert_eq!((info.retransmissions, info.timeouts), (0, 0));
    }
}
