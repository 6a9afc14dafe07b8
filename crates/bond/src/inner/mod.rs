//! What the engine reads in the packets it carries: addresses, flow, urgency. Parsing is `etherparse`'s.

pub mod edit;
pub mod frame;
pub mod icmp;

use core::hash::{Hash, Hasher};
use core::net::IpAddr;
use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxIpSlice};
use frame::Frame;
use ropewalk_session::Layer;
use siphasher::sip::SipHasher13;

/// TCP flags as they stand in byte 13 of the header.
pub mod tcp_flags {
    /// Last segment of the sender.
    pub const FIN: u8 = 0x01;
    /// First segment.
    pub const SYN: u8 = 0x02;
    /// Abort.
    pub const RST: u8 = 0x04;
}

/// One inner packet's headers, as far as the engine cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// IP protocol number of the transport.
    pub protocol: u8,
    /// Source and destination port; the ICMP identifier stands for both; 0 where there is none.
    pub ports: (u16, u16),
    /// Differentiated services code point (RFC 2474).
    pub dscp: u8,
    /// ECN field (RFC 3168 §5).
    pub ecn: u8,
    /// TCP flags, 0 for anything else.
    pub tcp_flags: u8,
    /// Type of an ICMP or ICMPv6 message; `None` in a fragment that does not begin it, and for anything else.
    pub icmp_type: Option<u8>,
    /// Bytes from the start of the packet, or of the frame, to the transport header.
    pub transport_at: u16,
    /// Bytes after the transport header.
    pub payload_len: u32,
    /// Layer 2: the header of the frame that it came in. One without an IP packet has addresses of zeros and a protocol that is none.
    pub frame: Option<Frame>,
}

impl Inner {
    /// Reads the headers of what a device of this layer carries.
    pub fn of(layer: Layer, bytes: &[u8]) -> Option<Inner> {
        match layer {
            Layer::Two => Inner::parse_frame(bytes),
            Layer::Three => Inner::parse(bytes),
        }
    }

    /// Reads the headers of an IP packet; `None` if it is none.
    pub fn parse(packet: &[u8]) -> Option<Inner> {
        let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
        let tos = match &ip {
            LaxIpSlice::Ipv4(_) => packet[1],
            LaxIpSlice::Ipv6(v6) => v6.header().traffic_class(),
        };
        let (src, dst, dscp, ecn) = (ip.source_addr(), ip.destination_addr(), tos >> 2, tos & 3);
        let payload = ip.payload();
        let body = payload.payload;
        let transport_at = (body.as_ptr() as usize - packet.as_ptr() as usize) as u16;
        let mut inner = Inner {
            src,
            dst,
            protocol: payload.ip_number.0,
            ports: (0, 0),
            dscp,
            ecn,
            tcp_flags: 0,
            icmp_type: None,
            transport_at,
            payload_len: body.len() as u32,
            frame: None,
        };
        if !payload.fragmented {
            inner.read_transport(payload.ip_number, body);
        }
        if inner.is_icmp() && (!payload.fragmented || begins_a_packet(&ip)) {
            inner.icmp_type = body.first().copied();
        }
        Some(inner)
    }

    fn read_transport(&mut self, protocol: IpNumber, body: &[u8]) {
        let word = |i: usize| u16::from_be_bytes([body[i], body[i + 1]]);
        let header = match protocol {
            IpNumber::TCP if body.len() >= 20 => {
                self.ports = (word(0), word(2));
                self.tcp_flags = body[13];
                (body[12] >> 4) as usize * 4
            }
            IpNumber::UDP if body.len() >= 8 => {
                self.ports = (word(0), word(2));
                8
            }
            IpNumber::ICMP | IpNumber::IPV6_ICMP if body.len() >= 8 => {
                self.ports = (word(4), word(4));
                8
            }
            _ => 0,
        };
        self.payload_len = body.len().saturating_sub(header) as u32;
    }

    /// An IP packet, rather than another frame.
    pub(crate) fn is_ip(&self) -> bool {
        self.protocol != frame::NO_IP
    }

    /// A packet of the same flow that goes the other way, as far as addresses and ports say.
    pub(crate) fn answer(&self) -> Inner {
        Inner { src: self.dst, dst: self.src, ports: (self.ports.1, self.ports.0), ..*self }
    }

    /// TCP.
    pub fn is_tcp(&self) -> bool {
        self.protocol == IpNumber::TCP.0
    }

    /// UDP.
    pub fn is_udp(&self) -> bool {
        self.protocol == IpNumber::UDP.0
    }

    /// A TCP segment that carries no data and closes nothing: an acknowledgement, a window update or a SYN. A later one makes an
    /// earlier one void, so it may overtake.
    pub fn is_bare_tcp(&self) -> bool {
        self.is_tcp() && self.payload_len == 0 && self.tcp_flags & (tcp_flags::FIN | tcp_flags::RST) == 0
    }

    /// A plain acknowledgement: one that neither opens a connection nor asks for low delay, so that it may wait for others a little.
    pub fn is_bare_ack(&self) -> bool {
        self.is_bare_tcp() && self.tcp_flags & tcp_flags::SYN == 0 && !self.asks_low_delay()
    }

    /// ICMP or ICMPv6.
    pub fn is_icmp(&self) -> bool {
        self.protocol == IpNumber::ICMP.0 || self.protocol == IpNumber::IPV6_ICMP.0
    }

    /// Neighbour discovery, router advertisements and redirects (RFC 4861 §4, RFC 792, RFC 1256), or
    /// anything from or to a link-local address (RFC 3927 §2.7, RFC 4291 §2.5.6).
    pub fn is_of_one_link(&self) -> bool {
        let is_near = |address: &IpAddr| match address {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        };
        let is_of_neighbours = match self.src {
            IpAddr::V4(_) => self.protocol == IpNumber::ICMP.0 && matches!(self.icmp_type, Some(5 | 9 | 10)),
            IpAddr::V6(_) => {
                self.protocol == IpNumber::IPV6_ICMP.0 && matches!(self.icmp_type, Some(133..=137))
            }
        };
        is_of_neighbours || [self.src, self.dst].iter().any(is_near)
    }

    /// The sender asked for low delay: EF, VOICE-ADMIT, CS4 to CS7 or AF4x (RFC 4594 §2, table 3).
    pub fn asks_low_delay(&self) -> bool {
        matches!(self.dscp, 46 | 44 | 34 | 36 | 38 | 32 | 40 | 48 | 56)
    }

    /// Keyed hash of the flow's five-tuple: an attacker who cannot see the key cannot aim at a queue (RFC 8290 §4.1.3).
    pub fn flow_hash(&self, key: &[u8; 16]) -> u64 {
        let mut h = SipHasher13::new_with_key(key);
        match (self.src, self.dst) {
            (IpAddr::V4(s), IpAddr::V4(d)) => (s.octets(), d.octets()).hash(&mut h),
            (IpAddr::V6(s), IpAddr::V6(d)) => (s.octets(), d.octets()).hash(&mut h),
            _ => {}
        }
        if let (Some(f), frame::NO_IP) = (&self.frame, self.protocol) {
            (f.src, f.dst, f.ether_type).hash(&mut h);
        }
        (self.protocol, self.ports.0, self.ports.1).hash(&mut h);
        h.finish()
    }
}

/// Whether a packet is whole, or the first fragment of one.
pub fn begins_a_packet(ip: &LaxIpSlice<'_>) -> bool {
    match ip {
        LaxIpSlice::Ipv4(v4) => v4.header().fragments_offset().value() == 0,
        LaxIpSlice::Ipv6(v6) => v6.extensions().clone().into_iter().all(|header| match header {
            Ipv6ExtensionSlice::Fragment(fragment) => fragment.fragment_offset().value() == 0,
            _ => true,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn reads_tcp_udp_and_icmp() {
        let mut syn = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1000, 80, 7, 9)
            .syn()
            .write(&mut syn, &[])
            .unwrap();
        let i = Inner::parse(&syn).unwrap();
        assert!(i.is_tcp() && i.is_bare_tcp() && i.ports == (1000, 80) && i.transport_at == 20);

        let mut udp = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(5, 6).write(&mut udp, &[0; 99]).unwrap();
        let i = Inner::parse(&udp).unwrap();
        assert_eq!((i.payload_len, i.ports, i.transport_at), (99, (5, 6), 40));

        assert_eq!(Inner::parse(&[]), None);
        assert_eq!(Inner::parse(&[0x45; 10]), None);
        assert_ne!(i.flow_hash(&[1; 16]), i.flow_hash(&[2; 16]));
    }
}
