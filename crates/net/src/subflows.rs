//! The subflows of all MPTCP connections of this machine, whoever has them: sock_diag
//! (`sock_diag(7)`, `linux/inet_diag.h`).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use netlink_packet_core::{NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable};

use crate::genl::find;
use crate::netlink::Netlink;
use crate::tcp_info::{self, TcpInfo};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const REQUEST: usize = 56;
const ANSWER: usize = 72;
/// `1 << TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1 << 1;
const ATTR_INFO: u16 = 2;
const ATTR_ULP: u16 = 19;
const ULP_NAME: u16 = 1;
/// Where an answer has this end's port and the other's, then this end's address and the other's.
const PORTS: usize = 4;
const LOCAL: usize = 8;
const REMOTE: usize = 24;

/// A subflow that carries data: so much came by it, the last no longer ago. One that waits for a
/// program, or keeps itself alive, says nothing of what its access point carries.
const BUSY_BYTES: u64 = 64 << 10;
const BUSY_WITHIN: Duration = Duration::from_secs(1);

/// Least round trips of the subflows from one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeastRtts {
    /// Of all of them.
    pub all: Option<Duration>,
    /// Of those by which data come now, 64 KiB so far at least.
    pub busy: Option<Duration>,
}

impl LeastRtts {
    /// Those of both.
    pub fn and(self, other: LeastRtts) -> LeastRtts {
        let least = |a: Option<Duration>, b| a.into_iter().chain(b).min();
        LeastRtts { all: least(self.all, other.all), busy: least(self.busy, other.busy) }
    }
}

/// A subflow by which data come now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// This end.
    pub local: SocketAddr,
    /// Who sends.
    pub remote: SocketAddr,
    /// The kernel's figures.
    pub tcp: TcpInfo,
}

/// A message as it came.
#[derive(Clone, Debug)]
pub(crate) struct Diag(Vec<u8>);

impl NetlinkSerializable for Diag {
    fn message_type(&self) -> u16 {
        SOCK_DIAG_BY_FAMILY
    }

    fn buffer_len(&self) -> usize {
        self.0.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..self.0.len()].copy_from_slice(&self.0);
    }
}

impl NetlinkDeserializable for Diag {
    type Error = Infallible;

    fn deserialize(_: &NetlinkHeader, bytes: &[u8]) -> Result<Diag, Infallible> {
        Ok(Diag(bytes.to_vec()))
    }
}

/// The subflows of this machine, as [`all`] finds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subflows {
    /// By addresses of this machine that have a subflow which has measured its round trip.
    pub least_rtts: BTreeMap<IpAddr, LeastRtts>,
    /// Those by which data come now: 64 KiB so far at least, the last within a second.
    pub busy: Vec<Busy>,
}

/// Walks over all TCP connections.
///
/// To know which connections are subflows takes CAP_NET_ADMIN: without it there are none.
///
/// # Errors
/// The kernel's own.
pub fn all() -> io::Result<Subflows> {
    let mut all = Subflows::default();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = vec![0; REQUEST];
        (request[0], request[1], request[2]) = (family as u8, libc::IPPROTO_TCP as u8, 1 << (ATTR_INFO - 1));
        request[4..8].copy_from_slice(&ESTABLISHED.to_ne_bytes());
        // What changes under a dump is here or not here, and either is right.
        let answers = Netlink::open_diag()?.ask(Diag(request), NLM_F_DUMP)?;
        answers.iter().filter_map(|answer| subflow(&answer.0)).for_each(|subflow| all.add(subflow));
    }
    Ok(all)
}

impl Subflows {
    fn add(&mut self, subflow: Busy) {
        if let Some(rtts) = least_rtts(&subflow.tcp) {
            let least = self.least_rtts.entry(subflow.local.ip()).or_default();
            *least = least.and(rtts);
        }
        if is_busy(&subflow.tcp) {
            self.busy.push(subflow);
        }
    }
}

/// A subflow, if it is one.
fn subflow(answer: &[u8]) -> Option<Busy> {
    let (head, attributes) = answer.split_at_checked(ANSWER)?;
    let name = find(find(attributes, ATTR_ULP)?, ULP_NAME)?;
    if name.strip_suffix(&[0]).unwrap_or(name) != b"mptcp" {
        return None;
    }
    let end = |port: usize, at: usize| {
        let address = match i32::from(head[0]) {
            libc::AF_INET => Ipv4Addr::from(*head[at..].first_chunk::<4>()?).into(),
            libc::AF_INET6 => IpAddr::from(Ipv6Addr::from(*head[at..].first_chunk::<16>()?)).to_canonical(),
            _ => return None,
        };
        Some(SocketAddr::new(address, u16::from_be_bytes([head[port], head[port + 1]])))
    };
    let mut info = [0; tcp_info::LENGTH];
    let came = find(attributes, ATTR_INFO)?;
    let length = came.len().min(info.len());
    info[..length].copy_from_slice(&came[..length]);
    Some(Busy { local: end(PORTS, LOCAL)?, remote: end(PORTS + 2, REMOTE)?, tcp: tcp_info::parse(&info) })
}

fn is_busy(tcp: &TcpInfo) -> bool {
    tcp.bytes_received >= BUSY_BYTES && tcp.last_received <= BUSY_WITHIN
}

/// The least round trip of a subflow that has one.
fn least_rtts(tcp: &TcpInfo) -> Option<LeastRtts> {
    let rtt = tcp.rtt_min;
    // The kernel says that it has none by the largest number.
    let none = rtt.is_zero() || rtt.as_micros() >= u32::MAX.into();
    let busy = Some(rtt).filter(|_| is_busy(tcp));
    (!none).then_some(LeastRtts { all: Some(rtt), busy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genl::{nested, nla};

    fn read(answer: &[u8]) -> Option<(IpAddr, LeastRtts)> {
        let subflow = subflow(answer)?;
        Some((subflow.local.ip(), least_rtts(&subflow.tcp)?))
    }

    fn answer(family: i32, address: &[u8], ulp: &[u8], micros: u32) -> Vec<u8> {
        heard(family, address, ulp, micros, (0, 0))
    }

    /// One by which so many bytes came, the last so many milliseconds ago.
    fn heard(family: i32, address: &[u8], ulp: &[u8], micros: u32, (came, ago): (u64, u32)) -> Vec<u8> {
        let mut bytes = vec![0; ANSWER];
        bytes[0] = family as u8;
        bytes[LOCAL..LOCAL + address.len()].copy_from_slice(address);
        let mut info = vec![0; 300];
        info[148..152].copy_from_slice(&micros.to_ne_bytes());
        info[128..136].copy_from_slice(&came.to_ne_bytes());
        info[52..56].copy_from_slice(&ago.to_ne_bytes());
        [bytes, nla(ATTR_INFO, &info), nested(ATTR_ULP, &[nla(ULP_NAME, ulp)])].concat()
    }

    #[test]
    fn a_dump_that_fails_is_no_empty_list() {
        let connections = |protocol: libc::c_int| {
            let mut request = vec![0; REQUEST];
            (request[0], request[1]) = (libc::AF_INET as u8, protocol as u8);
            Netlink::open_diag()?.ask(Diag(request), NLM_F_DUMP)
        };
        if connections(libc::IPPROTO_TCP).is_err() {
            ropewalk_skip::skip("this kernel lists no connections");
            return;
        }
        // A protocol that there is not (RFC 3692; 255 is raw sockets, of which raw_diag tells): the
        // dump's last message says so, and no other does.
        let error = connections(253).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{error}");
    }

    #[test]
    fn subflows_are_read_and_nothing_else() {
        let here = [192, 0, 2, 7];
        let v4 = answer(libc::AF_INET, &here, b"mptcp\0", 12_000);
        let idle = |rtt| LeastRtts { all: Some(rtt), busy: None };
        assert_eq!(read(&v4), Some((here.into(), idle(Duration::from_millis(12)))));
        let v6 = "2001:db8::7".parse::<Ipv6Addr>().unwrap();
        let six = read(&answer(libc::AF_INET6, &v6.octets(), b"mptcp", 5)).unwrap();
        assert_eq!(six, (v6.into(), idle(Duration::from_micros(5))));
        assert_eq!(read(&answer(libc::AF_INET, &here, b"tls\0", 5)), None, "plain TCP");
        for none in [0, u32::MAX] {
            assert_eq!(read(&answer(libc::AF_INET, &here, b"mptcp", none)), None);
        }
        assert_eq!(read(&answer(libc::AF_UNIX, &here, b"mptcp", 5)), None);
        (0..v4.len() - 16).for_each(|length| assert_eq!(read(&v4[..length]), None, "{length} bytes"));
    }

    #[test]
    fn both_ends_of_a_subflow_are_read() {
        let mut bytes = heard(libc::AF_INET, &[192, 0, 2, 7], b"mptcp", 12_000, (1 << 20, 30));
        bytes[4..8].copy_from_slice(&[0x1f, 0x90, 0, 80]);
        bytes[24..28].copy_from_slice(&[198, 51, 100, 1]);
        let info = ANSWER + 4;
        bytes[info + 5] = 8;
        bytes[info + 92..info + 96].copy_from_slice(&40_000_u32.to_ne_bytes());
        let read = subflow(&bytes).unwrap();
        assert_eq!(
            (read.local, read.remote),
            (([192, 0, 2, 7], 8080).into(), ([198, 51, 100, 1], 80).into())
        );
        assert!(read.tcp.has_ecn && is_busy(&read.tcp));
        assert_eq!(read.tcp.rtt_at_receiver, Duration::from_millis(40));
        bytes[info + 5] = 7;
        assert!(!subflow(&bytes).unwrap().tcp.has_ecn);
    }

    #[test]
    fn who_is_idle_counts_for_nobody_that_carries() {
        let here = [192, 0, 2, 7];
        let of = |micros, heard_of| read(&heard(libc::AF_INET, &here, b"mptcp", micros, heard_of)).unwrap().1;
        let carries = of(40_000, (1 << 20, 30));
        assert_eq!(carries.busy, Some(Duration::from_millis(40)));
        // To a server near by: it is quiet, or has said little so far.
        for (idle, why) in [(of(500, (1 << 20, 5_000)), "quiet"), (of(500, (2_000, 10)), "little")] {
            let both = carries.and(idle);
            assert_eq!((both.all, both.busy), (Some(Duration::from_micros(500)), carries.busy), "{why}");
        }
        assert_eq!(LeastRtts::default().and(carries), carries);
        // One walk gives both: the least of all, and those that carry.
        let mut all = Subflows::default();
        for heard_of in [(1 << 20, 30), (1 << 20, 5_000)] {
            all.add(subflow(&heard(libc::AF_INET, &here, b"mptcp", 40_000, heard_of)).unwrap());
        }
        assert_eq!((all.busy.len(), all.least_rtts.len()), (1, 1));
        assert_eq!(all.least_rtts[&IpAddr::from(here)], carries);
    }
}
