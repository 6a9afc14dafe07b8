//! Ends flows that connection tracking leads elsewhere (`linux/netfilter/nfnetlink_conntrack.h`).
//!
//! A rule of translation is asked once, when a flow begins: what it said then counts until the
//! flow's entry is gone.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable};

use super::grants::Protocol;
use crate::genl::{find, nested, nla};
use crate::netlink::Netlink;

/// The subsystem's number (`NFNL_SUBSYS_CTNETLINK`) and, below it, the message's.
const GET: u16 = 0x0101;
const DELETE: u16 = 0x0102;
/// `struct nfgenmsg`, whose first byte is the family of addresses.
const HEAD: usize = 4;
const TUPLE_ORIG: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const STATUS: u16 = 3;
const ID: u16 = 12;
const ZONE: u16 = 18;
/// Parts of a tuple, and theirs.
const TUPLE_IP: u16 = 1;
const TUPLE_PROTO: u16 = 2;
const IP_V4_SRC: u16 = 1;
const IP_V6_SRC: u16 = 3;
const PROTO_NUM: u16 = 1;
const PROTO_SRC_PORT: u16 = 2;
const PROTO_DST_PORT: u16 = 3;
/// `IPS_DST_NAT`: the destination was translated.
const DST_NAT: u32 = 1 << 5;

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// `None`: one without ports, such as echoes.
    pub(super) protocol: Option<Protocol>,
    /// Who began it.
    pub(super) from: IpAddr,
    /// The port that it was sent to at first; 0 without ports.
    pub(super) port: u16,
    /// Where it was led; without translation where it was sent.
    pub(super) to: SocketAddr,
    /// Its destination was translated.
    pub(super) translated: bool,
}

/// A message as it comes or goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(super) kind: u16,
    pub(super) body: Vec<u8>,
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..self.body.len()].copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for Message {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, bytes: &[u8]) -> Result<Message, Infallible> {
        Ok(Message { kind: header.message_type, body: bytes.to_vec() })
    }
}

/// Deletes the entries of the flows that `ends` chooses, of all flows or of those alone whose
/// destination was translated. Of those that cannot be deleted it says so at the end, after the
/// others.
pub(super) fn end(all: bool, ends: impl Fn(&Flow) -> bool) -> io::Result<()> {
    let mut netlink = Netlink::open_netfilter()?;
    let mut body = vec![0; HEAD];
    if !all {
        // Older kernels tell of all entries all the same.
        body.extend(nla(STATUS, &DST_NAT.to_be_bytes()));
    }
    let mut orders = Vec::new();
    netlink.each(Message { kind: GET, body }, NLM_F_DUMP, |entry| {
        if read(&entry.body).is_some_and(|flow| (all || flow.translated) && ends(&flow)) {
            orders.extend(deletion(&entry.body));
        }
    })?;
    let mut outcome = Ok(());
    for order in orders {
        match netlink.ask(order, NLM_F_ACK) {
            Ok(_) => {}
            // It ended by itself.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => outcome = Err(error),
        }
    }
    outcome
}

/// The flow of an entry.
fn read(entry: &[u8]) -> Option<Flow> {
    let attributes = entry.get(HEAD..)?;
    let status = u32::from_be_bytes(*find(attributes, STATUS)?.first_chunk()?);
    // Answers come from where the flow was led.
    let (there, back) = (find(attributes, TUPLE_ORIG)?, find(attributes, TUPLE_REPLY)?);
    let protocol = match i32::from(*find(find(there, TUPLE_PROTO)?, PROTO_NUM)?.first()?) {
        libc::IPPROTO_TCP => Some(Protocol::Tcp),
        libc::IPPROTO_UDP => Some(Protocol::Udp),
        _ => None,
    };
    let (port, end) = match protocol {
        Some(_) => (port(there, PROTO_DST_PORT)?, port(back, PROTO_SRC_PORT)?),
        None => (0, 0),
    };
    let (from, to) = (source(there)?, SocketAddr::new(source(back)?, end));
    Some(Flow { protocol, from, port, to, translated: status & DST_NAT != 0 })
}

fn source(tuple: &[u8]) -> Option<IpAddr> {
    let addresses = find(tuple, TUPLE_IP)?;
    Some(match find(addresses, IP_V4_SRC) {
        Some(v4) => IpAddr::from(*v4.first_chunk::<4>()?),
        None => IpAddr::from(*find(addresses, IP_V6_SRC)?.first_chunk::<16>()?),
    })
}

fn port(tuple: &[u8], kind: u16) -> Option<u16> {
    Some(u16::from_be_bytes(*find(find(tuple, TUPLE_PROTO)?, kind)?.first_chunk()?))
}

/// The order to delete an entry. It has to name the flow: without one it would be for all entries
/// of this machine.
fn deletion(entry: &[u8]) -> Option<Message> {
    let (head, attributes) = entry.split_at_checked(HEAD)?;
    let flow = find(attributes, TUPLE_ORIG).filter(|tuple| !tuple.is_empty())?;
    let mut body = vec![head[0], 0, 0, 0];
    body.extend(nested(TUPLE_ORIG, &[flow.to_vec()]));
    // The number is of this entry: another of the same flow may have come since.
    for kind in [ZONE, ID] {
        if let Some(value) = find(attributes, kind) {
            body.extend(nla(kind, value));
        }
    }
    Some(Message { kind: DELETE, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(kind: u16, from: (&[u8], u16), to: (&[u8], u16), protocol: i32) -> Vec<u8> {
        let source = if from.0.len() == 4 { IP_V4_SRC } else { IP_V6_SRC };
        let addresses = [nla(source, from.0), nla(source + 1, to.0)];
        let ports = [
            nla(PROTO_NUM, &[protocol as u8]),
            nla(PROTO_SRC_PORT, &from.1.to_be_bytes()),
            nla(PROTO_DST_PORT, &to.1.to_be_bytes()),
        ];
        nested(kind, &[nested(TUPLE_IP, &addresses), nested(TUPLE_PROTO, &ports)])
    }

    fn entry(addresses: [&[u8]; 3], protocol: i32, status: u32) -> Vec<u8> {
        let [visitor, gateway, client] = addresses;
        let family = if visitor.len() == 4 { libc::AF_INET } else { libc::AF_INET6 };
        [
            vec![family as u8, 0, 0, 0],
            tuple(TUPLE_ORIG, (visitor, 50_000), (gateway, 8080), protocol),
            tuple(TUPLE_REPLY, (client, 80), (visitor, 50_000), protocol),
            nla(STATUS, &status.to_be_bytes()),
            nla(ID, &[1, 2, 3, 4]),
        ]
        .concat()
    }

    #[test]
    fn flows_are_read_with_their_ports_if_they_have_some() {
        let v4: [&[u8]; 3] = [&[10, 1, 9, 1], &[10, 1, 9, 2], &[10, 77, 0, 2]];
        let there = |to: &str| SocketAddr::new(to.parse().unwrap(), 80);
        let tcp = entry(v4, libc::IPPROTO_TCP, 0x1ae);
        let (from, to) = ([10, 1, 9, 1].into(), there("10.77.0.2"));
        let flow = Flow { protocol: Some(Protocol::Tcp), from, port: 8080, to, translated: true };
        assert_eq!(read(&tcp), Some(flow));
        let udp = entry([&[1; 16], &[2; 16], &[3; 16]], libc::IPPROTO_UDP, DST_NAT);
        let (from, to) = (IpAddr::from([1; 16]), there("303:303:303:303:303:303:303:303"));
        let flow6 = Flow { protocol: Some(Protocol::Udp), from, port: 8080, to, translated: true };
        assert_eq!(read(&udp), Some(flow6));
        let plain = read(&entry(v4, libc::IPPROTO_TCP, !DST_NAT));
        assert_eq!(plain, Some(Flow { translated: false, ..flow }));
        let echoes = read(&entry(v4, libc::IPPROTO_ICMP, 0)).unwrap();
        assert_eq!((echoes.protocol, echoes.port, echoes.to.port()), (None, 0, 0));
        assert_eq!((echoes.from, echoes.to.ip()), (flow.from, flow.to.ip()));
        // The last eight bytes are the entry's number.
        (0..tcp.len() - 8).for_each(|length| assert_eq!(read(&tcp[..length]), None, "{length} bytes"));
    }

    #[test]
    fn no_deletion_is_for_all_entries() {
        let v4: [&[u8]; 3] = [&[10, 1, 9, 1], &[10, 1, 9, 2], &[10, 77, 0, 2]];
        let all = entry(v4, libc::IPPROTO_TCP, DST_NAT);
        let order = deletion(&all).unwrap();
        assert_eq!((order.kind, order.body[0]), (DELETE, libc::AF_INET as u8));
        let attributes = &order.body[HEAD..];
        assert_eq!(find(attributes, TUPLE_ORIG), find(&all[HEAD..], TUPLE_ORIG));
        assert_eq!(find(attributes, ID), Some(&[1, 2, 3, 4][..]));
        let nameless = [vec![2, 0, 0, 0], nla(ID, &[1, 2, 3, 4]), nested(TUPLE_ORIG, &[])].concat();
        for entry in [&nameless[..], &nameless[..12], &[], &[2, 0, 0]] {
            assert_eq!(deletion(entry), None);
        }
    }
}
