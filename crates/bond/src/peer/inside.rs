//! Which addresses inside the tunnel are whose.

use crate::inner::Inner;
use core::net::IpAddr;
use ipnet::IpNet;

/// The least MTU of a device that carries IPv6 (RFC 8200 §5).
const LEAST_MTU: u16 = 1280;

/// Addresses and networks at both ends of a session.
#[derive(Debug)]
pub(crate) struct Inside {
    /// A client's addresses, from which it may send.
    client: Vec<IpAddr>,
    /// Networks behind the peer, from which it may send too.
    networks: Vec<IpNet>,
    /// This end's, for ICMP errors.
    own: Vec<IpAddr>,
    /// MTU of the peer's device.
    peer_mtu: u16,
}

impl Inside {
    pub(super) fn new(mtu: u16) -> Inside {
        Inside { client: Vec::new(), networks: Vec::new(), own: Vec::new(), peer_mtu: mtu }
    }

    /// A gateway knows its client's addresses.
    pub(crate) fn set_client(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.client = addresses.into_iter().collect();
    }

    pub(crate) fn client(&self) -> &[IpAddr] {
        &self.client
    }

    pub(crate) fn set_own(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.own = addresses.into_iter().collect();
    }

    pub(crate) fn own(&self) -> &[IpAddr] {
        &self.own
    }

    pub(crate) fn set_networks(&mut self, networks: Vec<IpNet>) {
        self.networks = networks;
    }

    pub(crate) fn networks(&self) -> &[IpNet] {
        &self.networks
    }

    pub(crate) fn set_peer_mtu(&mut self, mtu: u16) {
        self.peer_mtu = mtu.max(LEAST_MTU);
    }

    pub(super) fn peer_mtu(&self) -> u16 {
        self.peer_mtu
    }

    /// Whether the peer may send such a packet: it comes from its own addresses, or from behind it.
    pub(super) fn may_send(&self, inner: &Inner) -> bool {
        // On layer 2 anybody may be behind a peer.
        inner.frame.is_some()
            || !inner.is_of_one_link()
                && (self.client.contains(&inner.src) || self.networks.iter().any(|n| n.contains(&inner.src)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Icmpv6Type, PacketBuilder};

    fn peer(networks: &[&str]) -> Inside {
        let mut inside = Inside::new(1420);
        inside.set_networks(networks.iter().map(|n| n.parse().unwrap()).collect());
        inside
    }

    fn icmp(src: &str, kind: u8) -> Inner {
        let mut bytes = Vec::new();
        let src: core::net::Ipv6Addr = src.parse().unwrap();
        let kind = Icmpv6Type::Unknown { type_u8: kind, code_u8: 0, bytes5to8: [0; 4] };
        PacketBuilder::ipv6(src.octets(), [2; 16], 255).icmpv6(kind).write(&mut bytes, &[0; 40]).unwrap();
        Inner::parse(&bytes).unwrap()
    }

    #[test]
    fn no_peer_advertises_routers_or_speaks_from_a_link_local_address() {
        for peer in [peer(&["::/0"]), peer(&["fd77::2/128", "fe80::/10"])] {
            for kind in 133..=137 {
                assert!(!peer.may_send(&icmp("fd77::2", kind)), "{kind}");
            }
            assert!(!peer.may_send(&icmp("fe80::2", 128)) && peer.may_send(&icmp("fd77::2", 128)));
        }
    }

    /// At 169.254.169.254 a gateway's cloud tells the gateway its secrets.
    #[test]
    fn no_peer_reaches_a_link_local_address() {
        let peer = peer(&["0.0.0.0/0", "::/0"]);
        let may_send_to = |dst: &str| {
            let mut bytes = Vec::new();
            let packet = match dst.parse::<IpAddr>().unwrap() {
                IpAddr::V4(dst) => PacketBuilder::ipv4([10, 77, 0, 2], dst.octets(), 64),
                IpAddr::V6(dst) => PacketBuilder::ipv6([0xfd; 16], dst.octets(), 64),
            };
            packet.udp(1, 80).write(&mut bytes, &[0; 40]).unwrap();
            peer.may_send(&Inner::parse(&bytes).unwrap())
        };
        assert!(!may_send_to("169.254.169.254") && !may_send_to("fe80::1"));
        assert!(may_send_to("192.0.2.1") && may_send_to("2001:db8::1") && may_send_to("fd77::1"));
    }

    #[test]
    fn a_gateway_sends_from_what_a_client_s_routes_name() {
        let split = peer(&["fd77::/64"]);
        assert!(split.may_send(&icmp("fd77::1", 129)) && !split.may_send(&icmp("2001:db8::1", 129)));
    }
}
