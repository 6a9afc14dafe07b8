//! The interfaces that paths can use, and news of them.
//!
//! An interface is usable if it is up, has an address worth sending from, and is neither our own nor one of
//! those that lead nowhere new ([`Unusable`]). It is usable *towards an endpoint* if a route lookup bound to
//! it finds a route ([`route_via`]): with that, a socket bound to the interface reaches the endpoint whatever
//! the default route says.

mod list;
mod neighbour;
mod route;
mod watch;

pub use list::{Address, Link, Unusable, list};
pub use neighbour::neighbour;
pub use route::{Via, interface_towards, route_via};
pub use watch::{Change, Changes, Follower};

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
