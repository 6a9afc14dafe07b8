//! The abstract medium under the interfaces of radios, in the place of 802.11: the simulator's own
//! ([`ropewalk_air::wifi::weighted`]), at the pace of the clock.

use std::collections::VecDeque;

use ropewalk_air::Time;
use ropewalk_air::wifi::abstract_medium::WeightedSource;
use ropewalk_air::wifi::phy::Channel;
use ropewalk_air::wifi::weighted::{Crossing, WeightedRadios};
use ropewalk_air::wifi::{IfaceId, Mac, PeerStats, RadioId, RadioStats};
use ropewalk_air::wired::Packet;
use ropewalk_sim::BuildError;

use super::engine::Engine;
use super::ether::Piece;
use crate::Result;

/// A piece that has crossed: when, and whether it is to be marked.
type Crossed = (Time, bool, Crossing<Piece>);

/// The abstract media of a lab.
pub(super) struct WeightedFair {
    radios: WeightedRadios<Piece>,
    /// What crossed beside the media, from radios without a packet time.
    beside: VecDeque<Crossed>,
}

impl WeightedFair {
    /// `sources` and `channels` are by radio, `radio_of` by interface of the air.
    pub(super) fn new(
        sources: &[Option<WeightedSource>],
        channels: &[Channel],
        radio_of: &[RadioId],
    ) -> Result<WeightedFair> {
        let radios = WeightedRadios::new(sources, channels, radio_of)
            .map_err(|e| BuildError::new("medium.model", e))?;
        Ok(WeightedFair { radios, beside: VecDeque::new() })
    }

    pub(super) fn send(&mut self, now: Time, iface: IfaceId, to: Mac, piece: Piece) {
        let d = piece.description();
        let packet = Packet {
            len: piece.len(),
            flow: d.flow,
            class: 0,
            ecn_capable: d.ecn_capable,
            payload: Crossing { iface, to, payload: piece },
        };
        let crossed = self.radios.send(now, packet);
        self.beside.extend(crossed.map(|crossing| (now, false, crossing)));
        // Counted, and gone.
        self.radios.take_dropped();
    }

    fn poll(&mut self, now: Time) -> Option<Crossed> {
        let beside = self.beside.pop_front();
        let crossed = beside.or_else(|| self.radios.poll(now).map(|a| (a.at, a.ecn_marked, a.payload)));
        self.radios.take_dropped();
        crossed
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        let beside = self.beside.front().map(|crossed| crossed.0);
        beside.or_else(|| self.radios.next_timeout())
    }

    pub(super) fn radio_stats(&self, radio: RadioId) -> RadioStats {
        self.radios.radio_stats(radio)
    }

    pub(super) fn peer_stats(&self, iface: IfaceId) -> Vec<(Mac, PeerStats)> {
        self.radios.peer_stats(iface).to_vec()
    }
}

impl Engine {
    /// Takes what has crossed the abstract medium.
    pub(super) fn run_weighted(&mut self) {
        let reactor = std::sync::Arc::clone(&self.reactor);
        while let Some((at, marked, crossing)) = self
            .radios
            .as_mut()
            .and_then(|r| r.weighted.as_mut())
            .and_then(|weighted| weighted.poll(reactor.now()))
        {
            let receivers =
                self.radios.as_ref().map_or(Vec::new(), |r| r.receivers(crossing.iface, crossing.to));
            for iface in receivers {
                self.deliver(iface, crossing.payload.clone(), marked, at);
            }
        }
    }
}
