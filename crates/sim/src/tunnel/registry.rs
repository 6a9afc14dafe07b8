//! Who may come in to a simulated gateway.

use ropewalk_bond::api::{Admission, Registry};
use ropewalk_session::{ClientHello, Inner, PublicKey, Refusal};
use std::net::Ipv4Addr;

/// Lets its clients in, each with the address that the scenario gives it.
#[derive(Debug)]
pub struct OpenDoor {
    /// The gateway's address inside, and the length of its prefix.
    pub gateway: (Ipv4Addr, u8),
    /// Clients with their addresses inside.
    pub clients: Vec<(PublicKey, Ipv4Addr)>,
}

impl Registry for OpenDoor {
    fn admit(&mut self, key: &PublicKey, _: &ClientHello) -> Result<Admission, Refusal> {
        let Some((_, client)) = self.clients.iter().find(|c| c.0 == *key) else {
            return Err(Refusal::Revoked);
        };
        let (gateway, prefix) = self.gateway;
        let ipv4 = Inner { client: *client, gateway, prefix };
        Ok(Admission { ipv4, ipv6: None, networks: Vec::new(), device: 0 })
    }
}
