//! A connection whose subflows follow its client's stations (paper 001, §3): one is added when a
//! station has an address, and dropped when it has none any more.

use super::transport::Stream;
use crate::roam::Shared;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The stations that a connection has subflows on.
#[derive(Debug)]
pub struct Roaming {
    client: Shared,
    /// Number, address and count of joins.
    with: Vec<(usize, Ipv4Addr, u32)>,
}

impl Roaming {
    /// A connection that follows this client.
    pub fn new(client: Shared) -> Roaming {
        Roaming { client, with: Vec::new() }
    }

    /// The address that a first subflow would have, if the client has one.
    pub(super) fn first(&mut self) -> Option<Ipv4Addr> {
        let first = self.client.borrow().links().next()?;
        self.with = vec![first];
        Some(first.1)
    }

    /// The station of the first subflow has gone before the handshake was over.
    pub(super) fn has_lost_first(&self) -> bool {
        let client = self.client.borrow();
        self.with.iter().any(|with| client.links().all(|link| link != *with))
    }

    /// Adds and drops subflows, between these ports.
    pub(super) fn follow(&mut self, stream: &mut Stream, port: u16, to: SocketAddrV4) {
        let links: Vec<_> = self.client.borrow().links().collect();
        self.with.retain(|with| {
            let stays = links.contains(with);
            if !stays {
                stream.remove_subflow(with.1);
            }
            stays
        });
        for link in links {
            if !self.with.contains(&link) {
                stream.add_subflow(SocketAddrV4::new(link.1, port), to, link.0 as u8 + 1);
                self.with.push(link);
            }
        }
    }
}
