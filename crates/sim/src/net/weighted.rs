//! The abstract medium under the interfaces of radios: [`ropewalk_air::wifi::weighted`] in place of
//! 802.11.

use super::{IfIndex, Net, Work, interface_of, mac_of};
use crate::packet::{Ecn, PacketRef};
use ropewalk_air::wifi::IfaceId;
use ropewalk_air::wifi::abstract_medium::{AbstractMediumError, WeightedSource};
use ropewalk_air::wifi::weighted::{Crossing, WeightedRadios};
use ropewalk_air::wired::Packet;

/// A packet of the model, and which endpoint is to be told when it is gone, plus one; 0: none.
#[derive(Clone, Debug)]
pub(super) struct Told {
    token: u64,
    packet: PacketRef,
}

/// The abstract media of a world.
pub(super) type WeightedFair = WeightedRadios<Told>;

impl Net {
    /// Puts the abstract medium in the place of 802.11; the air knows from then on only who is
    /// joined to whom. `sources` are by radio; one that is none sends beside the medium. Call it
    /// after [`Net::add_air`].
    ///
    /// # Errors
    /// What no such medium can be.
    pub fn set_weighted_fair(
        &mut self,
        sources: &[Option<WeightedSource>],
    ) -> Result<(), AbstractMediumError> {
        let Some(radios) = &mut self.radios else { return Ok(()) };
        radios.weighted = Some(WeightedRadios::new(sources, &radios.channels, &radios.radio_of)?);
        self.timers.set(radios.timer, None);
        Ok(())
    }

    /// Hands a packet to the abstract medium. `token`: an endpoint to be told, plus one.
    pub(super) fn transmit_weighted(&mut self, iface: IfaceId, to: IfIndex, token: u64, packet: PacketRef) {
        let now = self.now;
        let Some(radios) = &mut self.radios else { return };
        let Some(fair) = &mut radios.weighted else { return };
        let frame = Packet {
            len: packet.len,
            flow: packet.flow_hash(),
            class: 0,
            ecn_capable: packet.ecn != Ecn::NotEct,
            payload: Crossing { iface, to: mac_of(to), payload: Told { token, packet } },
        };
        if let Some(crossing) = fair.send(now, frame) {
            return self.through(crossing, false);
        }
        self.timers.set(radios.timer, fair.next_timeout());
        self.tell_dropped();
    }

    fn tell_dropped(&mut self) {
        let Some(fair) = self.radios.as_mut().and_then(|r| r.weighted.as_mut()) else { return };
        for crossing in fair.take_dropped() {
            self.left(crossing.payload.token, true);
        }
    }

    /// Takes what has crossed the abstract medium.
    pub(super) fn run_weighted(&mut self) {
        let now = self.now;
        while let Some(arrival) =
            self.radios.as_mut().and_then(|r| r.weighted.as_mut()).and_then(|w| w.poll(now))
        {
            self.through(arrival.payload, arrival.ecn_marked);
        }
        self.tell_dropped();
        if let Some(radios) = &self.radios {
            let next = radios.weighted.as_ref().and_then(WeightedFair::next_timeout);
            self.timers.set(radios.timer, next);
        }
    }

    fn through(&mut self, crossing: Crossing<Told>, marked: bool) {
        let Told { token, mut packet } = crossing.payload;
        if marked {
            packet.edit().ecn = Ecn::Ce;
        }
        self.left(token, false);
        let to = interface_of(crossing.to);
        if let Some(iface) = self.iface_of(to) {
            self.arrive(iface, to, packet);
        }
    }

    fn left(&mut self, token: u64, dropped: bool) {
        if token > 0 {
            self.work.push_back(Work::Left { endpoint: token as usize - 1, dropped });
        }
    }
}
