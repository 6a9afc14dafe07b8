//! The subflows of all MPTCP connections of this machine, whoever has them: sock_diag
//! (`sock_diag(7)`, `linux/inet_diag.h`).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use netlink_packet_core::{NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable};

use crate::genl::find;
use crate::netlink::Netlink;
use crate::tcp_info;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const REQUEST: usize = 56;
const ANSWER: usize = 72;
/// `1 << TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1 << 1;
const ATTR_INFO: u16 = 2;
const ATTR_ULP: u16 = 19;
const ULP_NAME: u16 = 1;
/// Where an answer has this end's address.
const LOCAL: usize = 8;

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

/// The least round trip of the subflows from each address of this machine; an address that has
/// none, or none that has measured one, is not there.
///
/// To know which connections are subflows takes CAP_NET_ADMIN: without it there are none.
///
/// # Errors
/// The kernel's own.
pub fn least_rtts() -> io::Result<BTreeMap<IpAddr, Duration>> {
    let mut all = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = vec![0; REQUEST];
        (request[0], request[1], request[2]) = (family as u8, libc::IPPROTO_TCP as u8, 1 << (ATTR_INFO - 1));
        request[4..8].copy_from_slice(&ESTABLISHED.to_ne_bytes());
        // What changes under a dump is here or not here, and either is right.
        for answer in Netlink::open_diag()?.ask(Diag(request), NLM_F_DUMP)? {
            if let Some((address, rtt)) = read(&answer.0) {
                all.entry(address).and_modify(|least: &mut Duration| *least = rtt.min(*least)).or_insert(rtt);
            }
        }
    }
    Ok(all)
}

/// This end's address and the least round trip of a subflow that has one.
fn read(answer: &[u8]) -> Option<(IpAddr, Duration)> {
    let (head, attributes) = answer.split_at_checked(ANSWER)?;
    let name = find(find(attributes, ATTR_ULP)?, ULP_NAME)?;
    if name.strip_suffix(&[0]).unwrap_or(name) != b"mptcp" {
        return None;
    }
    let address = match i32::from(head[0]) {
        libc::AF_INET => Ipv4Addr::from(*head[LOCAL..].first_chunk::<4>()?).into(),
        libc::AF_INET6 => IpAddr::from(Ipv6Addr::from(*head[LOCAL..].first_chunk::<16>()?)).to_canonical(),
        _ => return None,
    };
    let mut info = [0; tcp_info::LENGTH];
    let said = find(attributes, ATTR_INFO)?;
    let length = said.len().min(info.len());
    info[..length].copy_from_slice(&said[..length]);
    let rtt = tcp_info::parse(&info).rtt_min;
    // The kernel says that it has none by the largest number.
    let none = rtt.is_zero() || rtt.as_micros() >= u32::MAX.into();
    (!none).then_some((address, rtt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genl::{nested, nla};

    fn answer(family: i32, address: &[u8], ulp: &[u8], micros: u32) -> Vec<u8> {
        let mut bytes = vec![0; ANSWER];
        bytes[0] = family as u8;
        bytes[LOCAL..LOCAL + address.len()].copy_from_slice(address);
        let mut info = vec![0; 300];
        info[148..152].copy_from_slice(&micros.to_ne_bytes());
        [bytes, nla(ATTR_INFO, &info), nested(ATTR_ULP, &[nla(ULP_NAME, ulp)])].concat()
    }

    #[test]
    fn subflows_are_read_and_nothing_else() {
        let here = [192, 0, 2, 7];
        let v4 = answer(libc::AF_INET, &here, b"mptcp\0", 12_000);
        assert_eq!(read(&v4), Some((here.into(), Duration::from_millis(12))));
        let v6 = "2001:db8::7".parse::<Ipv6Addr>().unwrap();
        let said = read(&answer(libc::AF_INET6, &v6.octets(), b"mptcp", 5)).unwrap();
        assert_eq!(said, (v6.into(), Duration::from_micros(5)));
        assert_eq!(read(&answer(libc::AF_INET, &here, b"tls\0", 5)), None, "plain TCP");
        for none in [0, u32::MAX] {
            assert_eq!(read(&answer(libc::AF_INET, &here, b"mptcp", none)), None);
        }
        assert_eq!(read(&answer(libc::AF_UNIX, &here, b"mptcp", 5)), None);
        (0..v4.len() - 16).for_each(|length| assert_eq!(read(&v4[..length]), None, "{length} bytes"));
    }
}
