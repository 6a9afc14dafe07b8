//! Bonding engines as hosts: `ropewalk-bond` unchanged, with the simulated network for sockets and device.
//!
//! All that is random in an engine comes from the seed it is given, and both ends are told to take ChaCha20-Poly1305 whatever the
//! machine is fast at: a run sends the same bytes everywhere. Devices have the offloads of Linux: segments of one flow that come at one instant are one
//! super-packet.

mod airtime;
mod channel_switcher;
mod host;
mod links;
mod offload;
mod registry;

pub use airtime::{AirFeed, AirSource, SharedFeed};
pub use channel_switcher::{ChannelSwitcher, MoverSpec, SharedMover};
pub use host::{BondClient, BondGateway, Outer, Shared, status};
pub use registry::OpenDoor;

use crate::net::{Attach, Net, NodeId};
use crate::packet::{FlowId, IfIndex};
use crate::seed;
use crate::world::{EndpointId, Full, World};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ropewalk_bond::api::EVERYWHERE;
use ropewalk_bond::config::Config;
use ropewalk_bond::engine::{ClientConfig, Engine};
use ropewalk_bond::entropy::Entropy;
use ropewalk_session::{CipherSet, InviteId, InviteSecret, KeyError, StaticKey};
use ropewalk_time::Time;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

/// A tunnel to be made.
#[derive(Clone, Debug)]
pub struct BondSpec {
    /// Name of the device at both ends.
    pub name: String,
    /// The node with several ways.
    pub client: NodeId,
    /// The node at the other end.
    pub gateway: NodeId,
    /// The client's address inside.
    pub client_address: Ipv4Addr,
    /// The gateway's.
    pub gateway_address: Ipv4Addr,
    /// Length of their prefix.
    pub prefix: u8,
    /// The client's paths.
    pub paths: Vec<Outer>,
    /// Both engines' configuration.
    pub config: Config,
    /// The gateway's radio that may leave its channel.
    pub channel_switcher: Option<MoverSpec>,
    /// All chance in it.
    pub seed: u64,
}

/// A tunnel in a world.
#[derive(Clone, Debug)]
pub struct Bond {
    /// Its client and its gateway, to be started in the opposite order.
    pub ends: [EndpointId; 2],
    /// Their devices.
    pub devices: [IfIndex; 2],
    /// Their engines.
    pub engines: [Shared; 2],
    /// The gateway's search for a better channel.
    pub channel_switcher: Option<SharedMover>,
    /// What its client is told of the air under its paths: nothing, until somebody adds to it.
    pub air: SharedFeed,
}

/// Why a tunnel could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BondError {
    /// The cryptographic library refused to make a key.
    #[error("no key could be made for a tunnel: {0}")]
    Key(#[from] KeyError),
    /// The world holds no more endpoints.
    #[error(transparent)]
    Full(#[from] Full),
}

/// Makes a tunnel: two devices and two engines. Routes into it are the caller's.
///
/// # Errors
/// No key, or no room.
pub fn add(world: &mut World, spec: &BondSpec) -> Result<Bond, BondError> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed::of(spec.seed, "bond", 0));
    let keys = (StaticKey::generate(&mut rng)?, StaticKey::generate(&mut rng)?);
    let next = world.next_endpoint().0 as usize;
    let device = |net: &mut Net, node, address, endpoint| {
        let device = net.add_interface(node, &spec.name, Some((address, spec.prefix)));
        let interface = &mut net.interfaces[device.0 as usize];
        interface.attach = Attach::Tunnel(endpoint);
        interface.mtu = u32::from(spec.config.tun_mtu);
        device
    };
    let inner = device(&mut world.net, spec.client, spec.client_address, next);
    let outer = device(&mut world.net, spec.gateway, spec.gateway_address, next + 1);
    world.net.interfaces[inner.0 as usize].announced = false;
    let client = ClientConfig {
        key: keys.0.clone(),
        gateway: keys.1.public(),
        invite: InviteId::generate(&mut rng),
        secret: InviteSecret::generate(&mut rng),
        ciphers: CipherSet::CHACHA,
        routes: EVERYWHERE.to_vec(),
    };
    let door = OpenDoor {
        gateway: (spec.gateway_address, spec.prefix),
        clients: vec![(keys.0.public(), spec.client_address)],
    };
    let client = Engine::client(spec.config.clone(), client, Entropy::repeatable(rng.random()), Time::ZERO);
    let inside = vec![spec.gateway_address.into()];
    let gateway = Engine::gateway(
        spec.config.clone(),
        keys.1,
        inside,
        Box::new(door),
        Entropy::repeatable(rng.random()),
        Time::ZERO,
    );
    let port = EndpointId(next as u32 + 1).port();
    let air = SharedFeed::default();
    let client = BondClient::new(client, inner, spec.paths.clone(), port).hearing_of_air(air.clone());
    let channel_switcher =
        spec.channel_switcher.clone().map(|m| Rc::new(RefCell::new(ChannelSwitcher::new(m))));
    let gateway = BondGateway::new(gateway, outer, channel_switcher.clone());
    let engines = [client.engine(), gateway.engine()];
    let ends = [
        world.add_endpoint(spec.client, FlowId::NONE, Box::new(client))?,
        world.add_endpoint(spec.gateway, FlowId::NONE, Box::new(gateway))?,
    ];
    Ok(Bond { ends, devices: [inner, outer], engines, channel_switcher, air })
}

#[cfg(test)]
mod tests;
