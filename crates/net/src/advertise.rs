//! Router advertisements for a network behind this machine (RFC 4861 §6.2): hosts there make
//! addresses of the prefix, and send by this machine.

use std::io;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use ipnet::Ipv6Net;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sockopt};

use crate::udp::{Control, int, set_int};

/// Who hears advertisements, and who hears solicitations (RFC 4291 §2.7.1).
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Types of messages and of options.
const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
const SOURCE_LINK_LAYER: u8 = 1;
const PREFIX: u8 = 3;
const MTU: u8 = 5;
const RDNSS: u8 = 25;
/// Whoever is not a neighbour cannot send so.
const HOP_LIMIT: u8 = 255;
/// How long a router, and a name server, are good for: three of the longest pauses between
/// advertisements, seconds.
const ROUTER_S: u16 = 1800;
/// How long an address is used for new connections, and at all, seconds (RFC 9096 §3.4). A prefix
/// may be another after a crash of this machine.
const PREFERRED_S: u32 = 2700;
const VALID_S: u32 = 5400;
/// The prefix is on the link, and hosts make addresses of it.
const ON_LINK_AND_AUTONOMOUS: u8 = 0xc0;
/// Name servers that are told, at most.
const SERVERS_MAX: usize = 8;
/// The option for a filter of types (linux/icmpv6.h).
const ICMPV6_FILTER: libc::c_int = 1;
/// Messages that are read in a row.
const MOST: usize = 64;
/// Bytes for control messages.
const CONTROL: usize = 64;

/// What hosts are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The network, a /64.
    pub network: Ipv6Net,
    /// The longest packet that leaves it whole, bytes.
    pub mtu: u32,
    /// Name servers (RFC 8106).
    pub servers: Vec<Ipv6Addr>,
}

impl Advertisement {
    /// The message. The kernel fills the checksum in.
    pub fn message(&self) -> Vec<u8> {
        self.message_for(ROUTER_S, PREFERRED_S, VALID_S)
    }

    /// The message that takes it back: this machine is no router, and addresses are for connections
    /// that there are.
    pub fn final_advertisement(&self) -> Vec<u8> {
        self.message_for(0, 0, 0)
    }

    fn message_for(&self, router_s: u16, preferred_s: u32, valid_s: u32) -> Vec<u8> {
        // Hop limit 64, no flags: no DHCPv6; times of neighbour discovery are the hosts' own.
        let mut out = vec![ADVERTISEMENT, 0, 0, 0, 64, 0];
        out.extend(router_s.to_be_bytes());
        out.extend([0; 8]);
        out.extend([PREFIX, 4, self.network.prefix_len(), ON_LINK_AND_AUTONOMOUS]);
        out.extend(valid_s.to_be_bytes());
        out.extend(preferred_s.to_be_bytes());
        out.extend([0; 4]);
        out.extend(self.network.network().octets());
        out.extend([MTU, 1, 0, 0]);
        out.extend(self.mtu.to_be_bytes());
        let servers = &self.servers[..self.servers.len().min(SERVERS_MAX)];
        if !servers.is_empty() {
            out.extend([RDNSS, 1 + 2 * servers.len() as u8, 0, 0]);
            out.extend(u32::from(router_s).to_be_bytes());
            servers.iter().for_each(|server| out.extend(server.octets()));
        }
        out
    }
}

/// A socket that advertises on one interface, and hears hosts that ask.
#[derive(Debug)]
pub struct RouterSocket {
    fd: OwnedFd,
    index: u32,
}

impl RouterSocket {
    /// Opens it on the interface with index `index`, whose link-local address is `from`.
    ///
    /// # Errors
    /// `CAP_NET_RAW` is missing, or the address cannot be used (yet).
    pub fn open(index: u32, from: Ipv6Addr) -> io::Result<RouterSocket> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let icmp = Some(ipproto::ICMPV6);
        let fd = rustix::net::socket_with(AddressFamily::INET6, SocketType::RAW, flags, icmp)?;
        hear_solicitations_only(&fd)?;
        sockopt::set_ipv6_multicast_hops(&fd, HOP_LIMIT.into())?;
        sockopt::set_ipv6_multicast_loop(&fd, false)?;
        set_int(&fd, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)?;
        rustix::net::bind(&fd, &SocketAddrV6::new(from, 0, 0, index))?;
        sockopt::set_ipv6_add_membership(&fd, &ALL_ROUTERS, index)?;
        Ok(RouterSocket { fd, index })
    }

    /// Sends a message to all hosts.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        let to = SocketAddrV6::new(ALL_NODES, 0, 0, self.index);
        rustix::net::sendto(&self.fd, message, SendFlags::empty(), &to)?;
        Ok(())
    }

    /// Takes what has come; says whether a host asks for an advertisement.
    ///
    /// # Errors
    /// The interface is gone or off.
    pub fn was_asked(&self) -> io::Result<bool> {
        let mut was_asked = false;
        for _ in 0..MOST {
            match self.receive() {
                Ok(asks) => was_asked |= asks,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(was_asked)
    }

    /// Takes one message; whether it is a solicitation.
    fn receive(&self) -> io::Result<bool> {
        let (mut buffer, mut control) = ([0u8; 1500], Control::<CONTROL>::new());
        // SAFETY: C structures of numbers and pointers, for which zeroes are valid.
        let (mut name, mut header): (libc::sockaddr_in6, libc::msghdr) = unsafe { std::mem::zeroed() };
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        header.msg_name = (&raw mut name).cast();
        header.msg_namelen = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        // SAFETY: the header points to a name, one buffer and a control buffer with their true
        // lengths, which live across the call.
        let length = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        let is_it = |level, kind| (level, kind) == (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT);
        let mut messages = control.messages(header.msg_controllen as _);
        let hop_limit = messages.find_map(|(level, kind, data)| int(data).filter(|_| is_it(level, kind)));
        let from = Ipv6Addr::from(name.sin6_addr.s6_addr);
        Ok(hop_limit == Some(HOP_LIMIT.into()) && is_solicitation(&buffer[..length], from))
    }
}

impl AsFd for RouterSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Has the kernel drop messages of other types. A bit that is set blocks its type.
fn hear_solicitations_only(fd: &OwnedFd) -> io::Result<()> {
    let mut blocked = [u32::MAX; 8];
    blocked[usize::from(SOLICITATION) / 32] &= !(1 << (SOLICITATION % 32));
    // SAFETY: the pointer and the length describe the filter, which lives across the call; the kernel
    // copies it.
    let returned = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_ICMPV6,
            ICMPV6_FILTER,
            (&raw const blocked).cast(),
            size_of_val(&blocked) as libc::socklen_t,
        )
    };
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a message is a solicitation that a router answers (RFC 4861 §6.1.1).
fn is_solicitation(message: &[u8], from: Ipv6Addr) -> bool {
    let ([SOLICITATION, 0, ..], Some(mut options)) = (message, message.get(8..)) else { return false };
    while let [kind, length, ..] = *options {
        let Some(rest) = options.get(usize::from(length) * 8..).filter(|_| length > 0) else { return false };
        if kind == SOURCE_LINK_LAYER && from.is_unspecified() {
            return false;
        }
        options = rest;
    }
    options.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advertisement(servers: &[&str]) -> Advertisement {
        let servers = servers.iter().map(|s| s.parse().unwrap()).collect();
        Advertisement { network: "2001:db8:100:5::/64".parse().unwrap(), mtu: 1420, servers }
    }

    #[test]
    fn hosts_are_told_the_prefix_the_mtu_and_name_servers() {
        let head: [u8; 16] = [134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        let times: [u8; 16] = [3, 4, 64, 0xc0, 0, 0, 0x15, 0x18, 0, 0, 0x0a, 0x8c, 0, 0, 0, 0];
        let prefix: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
        let mtu: [u8; 8] = [5, 1, 0, 0, 0, 0, 5, 0x8c];
        let without = [&head[..], &times, &prefix, &mtu].concat();
        assert_eq!(advertisement(&[]).message(), without);
        let servers: [u8; 8] = [25, 5, 0, 0, 0, 0, 7, 8];
        let first: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53];
        let second: [u8; 16] = [0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let with = [&without[..], &servers, &first, &second].concat();
        assert_eq!(advertisement(&["2001:db8::53", "fd77::1"]).message(), with);
    }

    #[test]
    fn at_the_end_all_times_are_zero() {
        let advertisement = advertisement(&["2001:db8::53"]);
        let (before, end) = (advertisement.message(), advertisement.final_advertisement());
        let differ: Vec<usize> = (0..before.len()).filter(|i| before[*i] != end[*i]).collect();
        // The router's, the prefix's two, and the name server's.
        assert_eq!(differ, [6, 7, 22, 23, 26, 27, 62, 63]);
        assert!(differ.iter().all(|i| end[*i] == 0) && before.len() == end.len());
    }

    #[test]
    fn no_more_servers_are_told_than_fit() {
        let many = ["2001:db8::53"; 300];
        let message = advertisement(&many).message();
        assert_eq!((message.len(), message[57]), (56 + 8 + 8 * 16, 17));
    }

    #[test]
    fn what_no_host_may_send_is_no_solicitation() {
        let (host, none) = (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7), Ipv6Addr::UNSPECIFIED);
        let bare: [u8; 8] = [133, 0, 0, 0, 0, 0, 0, 0];
        let with = |option: &[u8]| [&bare[..], option].concat();
        let own = with(&[1, 1, 2, 0, 0, 0, 0, 7]);
        assert!(is_solicitation(&bare, host) && is_solicitation(&bare, none) && is_solicitation(&own, host));
        assert!(!is_solicitation(&own, none), "nobody's link address");
        for broken in [
            Vec::new(),
            bare[..7].to_vec(),
            vec![134, 0, 0, 0, 0, 0, 0, 0],
            vec![133, 1, 0, 0, 0, 0, 0, 0],
            with(&[1, 0, 2, 0, 0, 0, 0, 7]),
            with(&[1, 2, 2, 0, 0, 0, 0, 7]),
            with(&[1]),
        ] {
            assert!(!is_solicitation(&broken, host), "{broken:?}");
        }
    }
}
