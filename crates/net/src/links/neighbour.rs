//! Which neighbour an address of this network belongs to.

use std::net::IpAddr;

use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::LinkError;
use crate::netlink::Netlink;

/// The link-layer address of the neighbour that has `address`, of those that the kernel has met on `interface` (`ip neighbour`); `None` if it has met none, or if
/// the address is behind a router.
///
/// # Errors
/// There is no such interface, or the kernel does not answer.
pub fn neighbour(interface: &str, address: IpAddr) -> Result<Option<[u8; 6]>, LinkError> {
    let index = super::list()?.iter().find(|l| l.name == interface).map(|l| l.index);
    let index = index.ok_or_else(|| LinkError::NoSuchInterface(interface.to_owned()))?;
    let mut request = NeighbourMessage::default();
    request.header.ifindex = index;
    request.header.family = match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    let answers = Netlink::open()?.dump(RouteNetlinkMessage::GetNeighbour(request))?;
    Ok(answers.iter().find_map(|answer| match answer {
        // Old kernels tell of all interfaces, whichever is named.
        RouteNetlinkMessage::NewNeighbour(n) if n.header.ifindex == index => read(n, address),
        _ => None,
    }))
}

pub(super) fn read(neighbour: &NeighbourMessage, address: IpAddr) -> Option<[u8; 6]> {
    let wanted = NeighbourAddress::from(address);
    let is_it = |a: &NeighbourAttribute| matches!(a, NeighbourAttribute::Destination(d) if *d == wanted);
    neighbour.attributes.iter().find(|a| is_it(a))?;
    neighbour.attributes.iter().find_map(|a| match a {
        NeighbourAttribute::LinkLayerAddress(mac) => mac.as_slice().try_into().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_an_address_of_six_bytes_is_none() {
        let of = |attributes: Vec<NeighbourAttribute>| {
            let mut message = NeighbourMessage::default();
            message.attributes = attributes;
            read(&message, IpAddr::from([10, 1, 1, 2]))
        };
        let there = |last| NeighbourAttribute::Destination(IpAddr::from([10, 1, 1, last]).into());
        let mac = |bytes: &[u8]| NeighbourAttribute::LinkLayerAddress(bytes.to_vec());
        assert_eq!(of(vec![there(2), mac(&[2, 0, 0, 0, 1, 0])]), Some([2, 0, 0, 0, 1, 0]));
        assert_eq!(of(vec![there(3), mac(&[2, 0, 0, 0, 1, 0])]), None, "another's");
        assert_eq!(of(vec![there(2)]), None, "not found yet");
        assert_eq!(of(vec![there(2), mac(&[2, 0, 0])]), None);
    }

    #[test]
    fn the_kernel_is_asked() {
        let somebody = IpAddr::from([192, 0, 2, 77]);
        assert!(matches!(neighbour("lo", somebody), Ok(None)));
        assert!(matches!(neighbour("none-such", somebody), Err(LinkError::NoSuchInterface(_))));
    }
}
