//! Ethernet frames: addresses, tags, and what is behind them (IEEE 802.3 clause 3, 802.1Q clause 9).

use super::Inner;
use core::net::{IpAddr, Ipv4Addr};

/// A station's address.
pub type Mac = [u8; 6];

/// Addresses and type without tags.
const HEADER: usize = 14;
const TAG: usize = 4;
/// Tags that are looked past: one of the customer in one of the provider (802.1ad).
const TAGS: usize = 2;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
/// Protocol number of what is no IP packet: reserved by IANA.
pub(super) const NO_IP: u8 = 255;
/// Ports of DHCP and DHCPv6.
const DHCP: [u16; 4] = [67, 68, 546, 547];

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// To whom.
    pub dst: Mac,
    /// From whom.
    pub src: Mac,
    /// What is inside, behind the tags.
    pub ether_type: u16,
    /// Bytes of the header, tags included.
    pub len: u8,
}

impl Frame {
    /// Reads the header of a frame; `None` if it is cut short.
    pub fn parse(bytes: &[u8]) -> Option<Frame> {
        let head: &[u8; HEADER] = bytes.first_chunk()?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *head;
        let (mut len, mut ether_type) = (HEADER, u16::from_be_bytes([t0, t1]));
        for _ in 0..TAGS {
            if ether_type != VLAN && ether_type != PROVIDER_VLAN {
                break;
            }
            let inner = bytes.get(len + 2..len + TAG)?;
            ether_type = u16::from_be_bytes([inner[0], inner[1]]);
            len += TAG;
        }
        let (dst, src) = ([d0, d1, d2, d3, d4, d5], [s0, s1, s2, s3, s4, s5]);
        Some(Frame { dst, src, ether_type, len: len as u8 })
    }

    fn is_ip(&self) -> bool {
        matches!(self.ether_type, IPV4 | IPV6)
    }
}

impl Inner {
    /// Reads the headers of a frame, and of the IP packet in it if there is one; `None` if it is cut short.
    pub fn parse_frame(bytes: &[u8]) -> Option<Inner> {
        let frame = Frame::parse(bytes)?;
        let body = &bytes[usize::from(frame.len)..];
        let ip = if frame.is_ip() { Inner::parse(body) } else { None };
        let other = Inner {
            src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            protocol: NO_IP,
            ports: (0, 0),
            dscp: 0,
            ecn: 0,
            tcp_flags: 0,
            icmp_type: None,
            transport_at: 0,
            payload_len: body.len() as u32,
            frame: None,
        };
        let inner = ip.unwrap_or(other);
        Some(Inner { transport_at: inner.transport_at + u16::from(frame.len), frame: Some(frame), ..inner })
    }

    /// Bytes before the IP header.
    pub fn network_at(&self) -> usize {
        self.frame.map_or(0, |f| f.len.into())
    }

    /// What stations need before they can say anything else: address resolution and configuration.
    pub fn sets_up_a_station(&self) -> bool {
        let dhcp = |port: u16| DHCP.contains(&port);
        self.frame.is_some_and(|f| f.ether_type == ARP)
            || self.frame.is_some() && self.is_udp() && dhcp(self.ports.0) && dhcp(self.ports.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    const ALICE: Mac = [2, 0, 0, 0, 0, 1];
    const BOB: Mac = [2, 0, 0, 0, 0, 2];

    fn udp(tags: usize, ports: (u16, u16)) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ethernet2(ALICE, BOB);
        match tags {
            0 => builder
                .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9)
                .udp(ports.0, ports.1)
                .write(&mut packet, &[0; 9]),
            1 => {
                let id = 7u16.try_into().unwrap();
                let ip = builder.single_vlan(id).ipv6([1; 16], [2; 16], 9);
                ip.udp(ports.0, ports.1).write(&mut packet, &[0; 9])
            }
            _ => {
                let (outer, inner) = (7u16.try_into().unwrap(), 8u16.try_into().unwrap());
                let ip = builder.double_vlan(outer, inner).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9);
                ip.udp(ports.0, ports.1).write(&mut packet, &[0; 9])
            }
        }
        .unwrap();
        packet
    }

    #[test]
    fn flow_and_ports_are_read_past_tags() {
        for (tags, network_at, transport_at) in [(0, 14, 34), (1, 18, 58), (2, 22, 42)] {
            let bytes = udp(tags, (1000, 2000));
            let i = Inner::parse_frame(&bytes).unwrap();
            assert_eq!(
                (i.network_at(), i.transport_at, i.ports, i.payload_len),
                (network_at, transport_at, (1000, 2000), 9)
            );
            assert_eq!(i.frame.map(|f| (f.src, f.dst)), Some((ALICE, BOB)));
            assert!(!i.sets_up_a_station());
        }
        assert!(Inner::parse_frame(&udp(1, (68, 67))).unwrap().sets_up_a_station());
    }

    #[test]
    fn what_is_not_ip_is_a_flow_by_its_addresses() {
        let frame = |src: Mac| [&[0xff; 6], &src[..], &ARP.to_be_bytes(), &[0; 46]].concat();
        let [a, b] = [ALICE, BOB].map(|src| Inner::parse_frame(&frame(src)).unwrap());
        assert!(a.sets_up_a_station());
        assert_ne!(a.flow_hash(&[1; 16]), b.flow_hash(&[1; 16]));
        assert!(!a.is_tcp() && !a.is_icmp() && !a.asks_low_delay());
    }

    #[test]
    fn frames_that_are_cut_short_are_none() {
        for tags in 0..3 {
            let bytes = udp(tags, (1, 2));
            (0..14 + 4 * tags)
                .for_each(|n| assert_eq!(Inner::parse_frame(&bytes[..n]), None, "{n} of {tags}"));
            (14 + 4 * tags..bytes.len()).for_each(|n| assert!(Inner::parse_frame(&bytes[..n]).is_some()));
        }
    }
}
