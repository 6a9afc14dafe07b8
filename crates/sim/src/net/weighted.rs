//! The abstract medium under the interfaces of radios: [`ropewalk_air::wifi::abstract_medium`] in place of 802.11.
//!
//! Radios of one channel share a medium. A radio without a packet time sends beside it: its packets arrive at once.

use super::{IfIndex, Net, Work};
use crate::net::mac_of;
use crate::packet::{Ecn, PacketRef};
use ropewalk_air::Time;
use ropewalk_air::wifi::abstract_medium::{AbstractMedium, AbstractMediumError, WeightedSource};
use ropewalk_air::wifi::phy::Channel;
use ropewalk_air::wifi::{IfaceId, Mac, PeerStats, RadioId, RadioStats};
use ropewalk_air::wired::Packet;

/// What crosses the medium.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    /// Who sends it, an interface of the air.
    pub iface: IfaceId,
    /// Who receives it.
    pub to: IfIndex,
    /// Endpoint to be told, plus one; 0: none.
    pub token: u64,
    /// The packet.
    pub packet: PacketRef,
}

/// Where a radio sends.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// Which medium, and its number there.
    place: (usize, usize),
    packet_time_ns: u64,
}

/// The abstract media of a world, one per channel.
#[derive(Debug)]
pub(super) struct WeightedFair {
    media: Vec<AbstractMedium<Crossing>>,
    /// Which medium each radio hears; none if nobody sends on its channel.
    heard: Vec<Option<usize>>,
    /// By radio; none sends beside the medium.
    sources: Vec<Option<Source>>,
    radios: Vec<RadioStats>,
    /// By interface of the air, then by neighbour's address.
    peers: Vec<Vec<(Mac, PeerStats)>>,
}

impl WeightedFair {
    /// `sources` and `channels` are by radio.
    pub(super) fn new(
        sources: &[Option<WeightedSource>],
        channels: &[Channel],
        interfaces: usize,
    ) -> Result<WeightedFair, AbstractMediumError> {
        let mut names: Vec<Channel> = Vec::new();
        let mut specs: Vec<Vec<WeightedSource>> = Vec::new();
        let mut placed = vec![None; sources.len()];
        let medium_of =
            |names: &[Channel], channel: &Channel| names.iter().position(|c| c.shares_primary(channel));
        for (i, (source, channel)) in sources.iter().zip(channels).enumerate() {
            let Some(source) = source else { continue };
            let medium = medium_of(&names, channel).unwrap_or_else(|| {
                names.push(*channel);
                specs.push(Vec::new());
                names.len() - 1
            });
            specs[medium].push(*source);
            let place = (medium, specs[medium].len() - 1);
            placed[i] = Some(Source { place, packet_time_ns: source.packet_time.as_nanos() as u64 });
        }
        let heard = channels.iter().map(|channel| medium_of(&names, channel)).collect();
        let media = specs.iter().map(|s| AbstractMedium::new(s)).collect::<Result<_, _>>()?;
        Ok(WeightedFair {
            media,
            heard,
            sources: placed,
            radios: vec![RadioStats::default(); sources.len()],
            peers: vec![Vec::new(); interfaces],
        })
    }

    /// When a packet is next through.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.media.iter().filter_map(AbstractMedium::next_timeout).min()
    }

    /// Whether a radio's packets wait for the medium.
    pub(super) fn takes_time(&self, radio: RadioId) -> bool {
        self.sources[usize::from(radio.0)].is_some()
    }

    /// Counters of a radio.
    pub(super) fn radio_stats(&self, radio: RadioId) -> RadioStats {
        let index = usize::from(radio.0);
        let here = |s: &Option<Source>| s.is_some_and(|s| Some(s.place.0) == self.heard[index]);
        let all = self.sources.iter().zip(&self.radios).filter(|(s, _)| here(s));
        RadioStats { busy_ns: all.map(|(_, r)| r.airtime_tx_ns).sum(), ..self.radios[index] }
    }

    /// Counters of an interface towards each neighbour.
    pub(super) fn peer_stats(&self, iface: IfaceId) -> &[(Mac, PeerStats)] {
        &self.peers[usize::from(iface.0)]
    }

    fn peer(&mut self, iface: IfaceId, to: IfIndex) -> &mut PeerStats {
        let (list, mac) = (&mut self.peers[usize::from(iface.0)], mac_of(to));
        let place = match list.binary_search_by_key(&mac.0, |p| p.0.0) {
            Ok(place) => place,
            Err(place) => {
                list.insert(place, (mac, PeerStats::default()));
                place
            }
        };
        &mut list[place].1
    }

    /// Takes a packet into a source's queue.
    fn send(&mut self, now: Time, (medium, source): (usize, usize), crossing: Crossing) {
        let frame = Packet {
            len: crossing.packet.len,
            flow: crossing.packet.flow_hash(),
            class: 0,
            ecn_capable: crossing.packet.ecn != Ecn::NotEct,
            payload: crossing,
        };
        let taken = self.media[medium].enqueue(now, source, frame);
        debug_assert!(taken.is_ok(), "sources are numbered as the medium was told of them");
    }

    /// The next packet that is through by `now`.
    fn poll(&mut self, now: Time) -> Option<Crossing> {
        let arrival = self.media.iter_mut().find_map(|m| m.poll(now))?;
        let mut crossing = arrival.payload;
        if arrival.ecn_marked {
            crossing.packet.edit().ecn = Ecn::Ce;
        }
        Some(crossing)
    }

    /// What queues have dropped.
    fn take_dropped(&mut self) -> Vec<Crossing> {
        self.media.iter_mut().flat_map(AbstractMedium::take_dropped).collect()
    }

    /// A packet is through.
    fn count(&mut self, radio: RadioId, crossing: &Crossing) {
        let index = usize::from(radio.0);
        let airtime_ns = self.sources[index].map_or(0, |s| s.packet_time_ns);
        let peer = self.peer(crossing.iface, crossing.to);
        peer.mpdus_sent += 1;
        peer.delivered_packets += 1;
        peer.delivered_bytes += u64::from(crossing.packet.len);
        peer.airtime_tx_ns += airtime_ns;
        self.radios[index].ppdus_sent += 1;
        self.radios[index].airtime_tx_ns += airtime_ns;
    }
}

impl Net {
    /// Puts the abstract medium in the place of 802.11; the air knows from then on only who is joined to whom. `sources` are by radio;
    /// one that is none sends beside the medium. Call it after [`Net::add_air`].
    ///
    /// # Errors
    /// What no such medium can be.
    pub fn set_weighted_fair(
        &mut self,
        sources: &[Option<WeightedSource>],
    ) -> Result<(), AbstractMediumError> {
        let Some(radios) = &mut self.radios else { return Ok(()) };
        let fair = WeightedFair::new(sources, &radios.channels, radios.interfaces.len())?;
        radios.weighted = Some(fair);
        self.timers.set(radios.timer, None);
        Ok(())
    }

    /// Hands a packet to the abstract medium.
    pub(super) fn transmit_weighted(&mut self, crossing: Crossing) {
        let now = self.now;
        let Some(radios) = &mut self.radios else { return };
        let radio = radios.radio_of[usize::from(crossing.iface.0)];
        let Some(fair) = &mut radios.weighted else { return };
        let Some(source) = fair.sources[usize::from(radio.0)] else { return self.through(crossing) };
        fair.send(now, source.place, crossing);
        self.timers.set(radios.timer, fair.next_timeout());
        self.tell_dropped();
    }

    fn tell_dropped(&mut self) {
        let Some(fair) = self.radios.as_mut().and_then(|r| r.weighted.as_mut()) else { return };
        for crossing in fair.take_dropped() {
            if let Some(fair) = self.radios.as_mut().and_then(|r| r.weighted.as_mut()) {
                fair.peer(crossing.iface, crossing.to).dropped_packets += 1;
            }
            self.left(crossing.token, true);
        }
    }

    /// Takes what has crossed the abstract medium.
    pub(super) fn run_weighted(&mut self) {
        let now = self.now;
        while let Some(crossing) =
            self.radios.as_mut().and_then(|r| r.weighted.as_mut()).and_then(|w| w.poll(now))
        {
            self.through(crossing);
        }
        self.tell_dropped();
        if let Some(radios) = &self.radios {
            let next = radios.weighted.as_ref().and_then(WeightedFair::next_timeout);
            self.timers.set(radios.timer, next);
        }
    }

    fn through(&mut self, crossing: Crossing) {
        let Some(radios) = &mut self.radios else { return };
        let radio = radios.radio_of[usize::from(crossing.iface.0)];
        if let Some(fair) = &mut radios.weighted {
            fair.count(radio, &crossing);
        }
        self.left(crossing.token, false);
        if let Some(iface) = self.iface_of(crossing.to) {
            self.arrive(iface, crossing.to, crossing.packet);
        }
    }

    fn left(&mut self, token: u64, dropped: bool) {
        if token > 0 {
            self.work.push_back(Work::Left { endpoint: token as usize - 1, dropped });
        }
    }
}
