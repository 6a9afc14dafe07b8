//! Layer 2: where a frame goes. A repeater has one peer, and everything from its device goes there; an access point with several repeaters is a bridge between
//! them and its device.

use super::{Engine, Role};
use crate::api::Event;
use crate::inner::Inner;
use crate::order::Delivery;
use crate::record::Packet;
use crate::time::Time;
use crate::vnet::Vnet;

impl Engine {
    /// The device has a frame.
    pub(super) fn on_frame(&mut self, vnet: Vnet, packet: Packet<'_>, now: Time) {
        let bytes = self.shared.store.bytes_of(packet);
        let Some((inner, frame)) = Inner::parse_frame(bytes).and_then(|i| Some((i, i.frame?))) else {
            self.shared.drops.unroutable += 1;
            return;
        };
        if frame.is_to_group() || self.shared.bridge.has_loop(now) {
            let hash = inner.echo_hash(&self.shared.flow_key, bytes);
            if self.shared.bridge.came_back(now, hash) {
                return self.on_loop(now);
            }
        }
        self.shared.bridge.on_this_side(now, &frame.src);
        let whose = self.shared.bridge.whose(now, &frame.dst).filter(|id| self.peers.contains_key(id));
        match whose.or_else(|| self.only_peer()) {
            Some(id) => self.send_frame(id, &inner, packet, vnet, now),
            None => self.flood(None, &inner, packet, vnet, now),
        }
    }

    fn on_loop(&mut self, now: Time) {
        if self.shared.bridge.is_to_be_told(now) {
            self.event(Event::Looped);
        }
    }

    fn only_peer(&self) -> Option<u32> {
        if self.peers.len() == 1 { self.peers.keys().next().copied() } else { None }
    }

    fn send_frame(&mut self, id: u32, inner: &Inner, packet: Packet<'_>, vnet: Vnet, now: Time) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.accept(&mut self.shared, inner, packet, vnet, now);
        self.mark_ready(id);
    }

    /// To every peer but the one that it came from. Each copy is a record of its own.
    fn flood(&mut self, from: Option<u32>, inner: &Inner, packet: Packet<'_>, vnet: Vnet, now: Time) {
        let packet = self.shared.store.copied(packet);
        let mut copies = 0;
        let mut next = 0;
        while let Some((&id, peer)) = self.peers.range(next..).next() {
            next = id + 1;
            if Some(id) != from && peer.confirmed {
                copies += 1;
                self.send_frame(id, inner, packet, vnet, now);
            }
        }
        if copies == 0 && from.is_none() {
            self.shared.drops.unroutable += 1;
        }
    }

    /// An access point with several repeaters hands frames from one to another itself, since a bridge sends nothing back to the port that it came from. `true`: it is not
    /// for the device.
    pub(super) fn relay(&mut self, d: &Delivery, now: Time) -> bool {
        if !matches!(self.role, Role::Gateway(_)) || self.peers.len() < 2 {
            return false;
        }
        let packet = Packet::Pooled(d.buf, d.len as usize);
        let Some((inner, frame)) =
            Inner::parse_frame(self.shared.store.bytes_of(packet)).and_then(|i| Some((i, i.frame?)))
        else {
            return false;
        };
        let whose = self.shared.bridge.whose(now, &frame.dst).filter(|id| self.peers.contains_key(id));
        if whose == Some(d.from) {
            // Both are behind the same repeater, whose bridge has handed it on already.
            return true;
        }
        match whose {
            Some(id) => self.send_frame(id, &inner, packet, d.vnet, now),
            None => self.flood(Some(d.from), &inner, packet, d.vnet, now),
        }
        whose.is_some()
    }
}
