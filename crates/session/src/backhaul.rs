//! What an access point and a repeater tell each other in the handshake: which of the two they are,
//! on which layer they carry, and the repeater's networks. Both ends check what the other says
//! before anything is carried, so that a mistake in a configuration is a sentence and not a
//! silence.

use super::reader::Reader;
use super::{Extensions, Refusal};
use core::net::IpAddr;
use ipnet::IpNet;

/// Extension: `role u8 ‖ layer u8`; this end is one of the two ends of a backhaul.
pub const BACKHAUL: u8 = 2;
/// Extension of a repeater: the networks of its clients, each `4 or 6 u8 ‖ bits u8 ‖ address`.
pub const NETWORKS: u8 = 3;
/// Networks that a repeater may name: they have to fit the hello.
pub const NETWORKS_MAX: usize = 8;

/// Which end of a backhaul.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that is nearer to the servers; a gateway.
    AccessPoint,
    /// The one that the clients are at; a client of the bond.
    Repeater,
}

/// What a backhaul carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// Ethernet frames, as a port of a bridge.
    Two,
    /// IP packets, by routes.
    #[default]
    Three,
}

/// What one end of a backhaul says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackhaulEnd {
    /// Which end it is.
    pub role: Role,
    /// What it carries.
    pub layer: Layer,
    /// A repeater on layer 3: the networks of its clients, at most [`NETWORKS_MAX`].
    pub networks: Vec<IpNet>,
}

impl Layer {
    /// Its number.
    pub fn number(self) -> u8 {
        match self {
            Layer::Two => 2,
            Layer::Three => 3,
        }
    }
}

impl BackhaulEnd {
    /// Adds it to a hello.
    pub fn put(&self, extensions: &mut Extensions) {
        let role = match self.role {
            Role::AccessPoint => 1,
            Role::Repeater => 2,
        };
        // Both are far shorter than an extension may be.
        let _ = extensions.push(BACKHAUL, &[role, self.layer.number()]);
        if self.networks.is_empty() {
            return;
        }
        let mut value = Vec::new();
        for network in self.networks.iter().take(NETWORKS_MAX) {
            match network.addr() {
                IpAddr::V4(a) => {
                    value.extend([4, network.prefix_len()]);
                    value.extend(a.octets());
                }
                IpAddr::V6(a) => {
                    value.extend([6, network.prefix_len()]);
                    value.extend(a.octets());
                }
            }
        }
        let _ = extensions.push(NETWORKS, &value);
    }

    /// What the other end said of itself; `None` if it is no end of a backhaul, or says what this
    /// version does not understand.
    pub fn of(extensions: &Extensions) -> Option<BackhaulEnd> {
        let &[role, layer, ..] = extensions.get(BACKHAUL)? else { return None };
        let role = match role {
            1 => Role::AccessPoint,
            2 => Role::Repeater,
            _ => return None,
        };
        let layer = match layer {
            2 => Layer::Two,
            3 => Layer::Three,
            _ => return None,
        };
        let networks = extensions.get(NETWORKS).map_or(Some(Vec::new()), networks)?;
        Some(BackhaulEnd { role, layer, networks })
    }

    /// Whether the two ends of a session belong together.
    ///
    /// # Errors
    /// What the client is told.
    pub fn check(gateway: Option<&BackhaulEnd>, client: Option<&BackhaulEnd>) -> Result<(), Refusal> {
        let repeater = client.filter(|h| h.role == Role::Repeater);
        match (gateway, repeater) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Refusal::NoAccessPoint),
            (Some(g), _) if g.role != Role::AccessPoint => Err(Refusal::NoAccessPoint),
            (Some(_), None) => Err(Refusal::NoRepeater),
            (Some(g), Some(r)) if g.layer != r.layer => Err(Refusal::OtherLayer),
            (Some(_), Some(_)) => Ok(()),
        }
    }
}

fn networks(value: &[u8]) -> Option<Vec<IpNet>> {
    let mut reader = Reader(value);
    let mut all = Vec::new();
    while let Some(family) = reader.u8() {
        let bits = reader.u8()?;
        let address: IpAddr = match family {
            4 => reader.array::<4>()?.into(),
            6 => reader.array::<16>()?.into(),
            _ => return None,
        };
        all.push(IpNet::new(address, bits).ok()?.trunc());
    }
    (all.len() <= NETWORKS_MAX).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn backhaul(role: Role, layer: Layer, networks: &[&str]) -> BackhaulEnd {
        BackhaulEnd { role, layer, networks: networks.iter().map(|n| n.parse().unwrap()).collect() }
    }

    #[test]
    fn it_survives_the_hello() {
        let most: Vec<String> = (0..NETWORKS_MAX).map(|i| format!("fd00:{i}::/64")).collect();
        let most: Vec<&str> = most.iter().map(String::as_str).collect();
        for networks in [&[][..], &["192.168.8.0/24", "fd00::/64"], &most] {
            for (role, layer) in [(Role::Repeater, Layer::Two), (Role::AccessPoint, Layer::Three)] {
                let said = backhaul(role, layer, networks);
                let mut extensions = Extensions::of_this_version();
                said.put(&mut extensions);
                assert_eq!(BackhaulEnd::of(&extensions), Some(said));
                assert!(extensions.as_bytes().len() <= 320 - 48, "it does not fit a ClientHello");
            }
        }
        assert_eq!(BackhaulEnd::of(&Extensions::of_this_version()), None);
    }

    #[test]
    fn ends_that_do_not_belong_together_are_told_why() {
        let ap = backhaul(Role::AccessPoint, Layer::Three, &[]);
        let repeater = backhaul(Role::Repeater, Layer::Three, &["10.0.0.0/8"]);
        let bridged = backhaul(Role::Repeater, Layer::Two, &[]);
        assert_eq!(BackhaulEnd::check(None, None), Ok(()));
        assert_eq!(BackhaulEnd::check(Some(&ap), Some(&repeater)), Ok(()));
        assert_eq!(BackhaulEnd::check(Some(&ap), Some(&bridged)), Err(Refusal::OtherLayer));
        assert_eq!(BackhaulEnd::check(Some(&ap), None), Err(Refusal::NoRepeater));
        assert_eq!(BackhaulEnd::check(Some(&ap), Some(&ap)), Err(Refusal::NoRepeater));
        assert_eq!(BackhaulEnd::check(None, Some(&repeater)), Err(Refusal::NoAccessPoint));
    }

    proptest! {
        #[test]
        fn any_value_is_taken_or_refused(backhaul in prop::collection::vec(any::<u8>(), 0..6), networks in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut extensions = Extensions::default();
            let _ = extensions.push(BACKHAUL, &backhaul);
            let _ = extensions.push(NETWORKS, &networks);
            if let Some(backhaul) = BackhaulEnd::of(&extensions) {
                let mut again = Extensions::default();
                backhaul.put(&mut again);
                prop_assert_eq!(BackhaulEnd::of(&again), Some(backhaul));
            }
        }
    }
}
