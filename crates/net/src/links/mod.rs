//! The interfaces that paths can use, and news of them.
//!
//! An interface is usable if it is up, has an address worth sending from, and is neither our own nor one of
//! those that lead nowhere new ([`Unusable`]). It is usable *towards an endpoint* if a route lookup bound to
//! it finds a route ([`route_via`]): with that, a socket bound to the interface reaches the endpoint whatever
//! the default route says.

mod advertised;
mod list;
mod neighbour;
mod route;
mod watch;

pub use advertised::Advertised;
pub(crate) use advertised::read as read_advertised;
pub use list::{Address, Link, Unusable, list};
pub use neighbour::neighbour;
pub(crate) use route::route_of;
pub use route::{Route, Via, interface_towards, route_via, routed_networks, routes};
pub use watch::{Change, Changes, Follower};

use netlink_packet_route::RouteNetlinkMessage;

/// What can go wrong when the kernel is asked about interfaces.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// An interface cannot reach an endpoint.
    #[error("interface {interface} has no route to {endpoint}: give it one, or leave the interface out")]
    NoRoute {
        /// The interface's name.
        interface: String,
        /// Where to.
        endpoint: std::net::IpAddr,
    },
    /// There is no such interface.
    #[error("there is no network interface named `{0}`")]
    NoSuchInterface(String),
    /// The kernel did not answer.
    #[error("asking the kernel about network interfaces failed")]
    System(#[from] std::io::Error),
}

/// The index of an interface of the calling thread's network namespace.
pub(crate) fn index_of(interface: &str) -> std::io::Result<u32> {
    use rustix::net::{AddressFamily, SocketType, netdevice, socket};
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(netdevice::name_to_index(&any, interface)?)
}

/// Reads a message as the functions of this module do; for the fuzzer.
pub(crate) fn read_any(message: &RouteNetlinkMessage) {
    match message {
        RouteNetlinkMessage::NewLink(m) => {
            let name = list::read_link(m).map(|link| link.name);
            assert!(name.is_none_or(|name| !name.is_empty()), "a link has a name");
        }
        RouteNetlinkMessage::NewAddress(m) => drop(list::read_address(m)),
        RouteNetlinkMessage::NewRoute(m) => drop((route::read(m, 1), route::of_main(m))),
        RouteNetlinkMessage::NewNeighbour(m) => drop(neighbour::read(m, [10, 1, 1, 2].into())),
        _ => {}
    }
}
