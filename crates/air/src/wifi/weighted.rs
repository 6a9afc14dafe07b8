//! Radios on abstract media: an [`AbstractMedium`] for each channel, with the counters that radios
//! of 802.11 have.
//!
//! Radios of one channel share a medium. A radio without a packet time sends beside it: its packets
//! arrive at once. The simulator and the lab drive it in the place of [`Air`](super::Air), each
//! with packets of its own.

use super::abstract_medium::{AbstractMedium, AbstractMediumError, Arrival, WeightedSource};
use super::phy::Channel;
use super::{IfaceId, Mac, PeerStats, RadioId, RadioStats};
use crate::Time;
use crate::wired::Packet;

/// A packet on its way over the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing<T> {
    /// Who sends it.
    pub iface: IfaceId,
    /// Who receives it.
    pub to: Mac,
    /// What is carried.
    pub payload: T,
}

/// Where a radio sends.
#[derive(Debug, Clone, Copy)]
struct Source {
    /// Which medium, and its number there.
    place: (usize, usize),
    packet_time_ns: u64,
}

/// All radios of a run.
#[derive(Debug)]
pub struct WeightedRadios<T> {
    media: Vec<AbstractMedium<Crossing<T>>>,
    /// Which medium each radio hears; none if nobody sends on its channel.
    heard: Vec<Option<usize>>,
    /// By radio; none sends beside the medium.
    sources: Vec<Option<Source>>,
    /// Radios of interfaces.
    radio_of: Vec<RadioId>,
    stats: Vec<RadioStats>,
    /// By interface, then by neighbour's address.
    peers: Vec<Vec<(Mac, PeerStats)>>,
}

impl<T> WeightedRadios<T> {
    /// `sources` and `channels` are by radio, `radio_of` by interface.
    ///
    /// # Errors
    /// What no such medium can be.
    pub fn new(
        sources: &[Option<WeightedSource>],
        channels: &[Channel],
        radio_of: &[RadioId],
    ) -> Result<WeightedRadios<T>, AbstractMediumError> {
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
        Ok(WeightedRadios {
            media,
            heard,
            sources: placed,
            radio_of: radio_of.to_vec(),
            stats: vec![RadioStats::default(); sources.len()],
            peers: vec![Vec::new(); radio_of.len()],
        })
    }

    /// When a packet is next through.
    pub fn next_timeout(&self) -> Option<Time> {
        self.media.iter().filter_map(AbstractMedium::next_timeout).min()
    }

    /// Whether a radio's packets wait for the medium.
    pub fn takes_time(&self, radio: RadioId) -> bool {
        self.sources[usize::from(radio.0)].is_some()
    }

    /// Takes a packet into the queue of its radio. One whose radio sends beside the medium comes
    /// back: it has crossed.
    pub fn send(&mut self, now: Time, packet: Packet<Crossing<T>>) -> Option<Crossing<T>> {
        let radio = self.radio_of[usize::from(packet.payload.iface.0)];
        let Some(source) = self.sources[usize::from(radio.0)] else {
            self.count(&packet.payload, packet.len);
            return Some(packet.payload);
        };
        let (medium, place) = source.place;
        let taken = self.media[medium].enqueue(now, place, packet);
        debug_assert!(taken.is_ok(), "sources are numbered as the medium was told of them");
        None
    }

    /// The next packet that is through by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Arrival<Crossing<T>>> {
        let arrival = self.media.iter_mut().find_map(|m| m.poll(now))?;
        self.count(&arrival.payload, arrival.len);
        Some(arrival)
    }

    /// What queues have dropped since this was last asked. To be asked for after
    /// [`WeightedRadios::send`] and [`WeightedRadios::poll`]: it is kept until then.
    pub fn take_dropped(&mut self) -> Vec<Crossing<T>> {
        let dropped: Vec<_> = self.media.iter_mut().flat_map(AbstractMedium::take_dropped).collect();
        dropped.iter().for_each(|gone| self.peer(gone.iface, gone.to).dropped_packets += 1);
        dropped
    }

    /// Counters of a radio.
    pub fn radio_stats(&self, radio: RadioId) -> RadioStats {
        let index = usize::from(radio.0);
        let here = |s: &Option<Source>| s.is_some_and(|s| Some(s.place.0) == self.heard[index]);
        let all = self.sources.iter().zip(&self.stats).filter(|(s, _)| here(s));
        RadioStats { busy_ns: all.map(|(_, r)| r.airtime_tx_ns).sum(), ..self.stats[index] }
    }

    /// Counters of an interface towards each neighbour.
    pub fn peer_stats(&self, iface: IfaceId) -> &[(Mac, PeerStats)] {
        &self.peers[usize::from(iface.0)]
    }

    fn peer(&mut self, iface: IfaceId, to: Mac) -> &mut PeerStats {
        let list = &mut self.peers[usize::from(iface.0)];
        let place = match list.binary_search_by_key(&to.0, |p| p.0.0) {
            Ok(place) => place,
            Err(place) => {
                list.insert(place, (to, PeerStats::default()));
                place
            }
        };
        &mut list[place].1
    }

    /// A packet is through.
    fn count(&mut self, crossing: &Crossing<T>, len: u32) {
        let radio = usize::from(self.radio_of[usize::from(crossing.iface.0)].0);
        let airtime_ns = self.sources[radio].map_or(0, |s| s.packet_time_ns);
        let peer = self.peer(crossing.iface, crossing.to);
        peer.mpdus_sent += 1;
        peer.delivered_packets += 1;
        peer.delivered_bytes += u64::from(len);
        peer.airtime_tx_ns += airtime_ns;
        self.stats[radio].ppdus_sent += 1;
        self.stats[radio].airtime_tx_ns += airtime_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::super::phy::{Band, Width};
    use super::*;
    use core::time::Duration;

    const AP1: IfaceId = IfaceId(0);
    const AP2: IfaceId = IfaceId(1);
    const FAR: IfaceId = IfaceId(2);
    const STATION: IfaceId = IfaceId(3);

    fn mac(iface: IfaceId) -> Mac {
        Mac::local(u32::from(iface.0))
    }

    /// Two access points on channel 1, one on channel 11, and a station on channel 1.
    fn radios() -> WeightedRadios<u32> {
        let source = |packet_us, weight| {
            let packet_time = Duration::from_micros(packet_us);
            Some(WeightedSource { packet_time, weight, buffer_packets: 20, ..WeightedSource::default() })
        };
        let channel = |number| Channel::new(Band::Ghz2_4, number, Width::Mhz20, None).unwrap();
        let sources = [source(3_000, 4), source(500, 1), source(500, 1), None];
        let radio_of: Vec<RadioId> = (0..4).map(RadioId).collect();
        WeightedRadios::new(&sources, &[1, 1, 11, 1].map(channel), &radio_of).unwrap()
    }

    fn packet(iface: IfaceId, to: Mac, payload: u32) -> Packet<Crossing<u32>> {
        Packet::new(1_500, Crossing { iface, to, payload })
    }

    #[test]
    fn those_of_a_channel_share_it_by_weight_and_another_channel_is_its_own() {
        let mut radios = radios();
        let mut now = Time::ZERO;
        while now < Time::from_secs(10) {
            for iface in [AP1, AP2, FAR] {
                assert_eq!(radios.send(now, packet(iface, mac(STATION), 0)), None);
                assert_eq!(radios.send(now, packet(iface, mac(STATION), 0)), None);
            }
            now = radios.next_timeout().unwrap();
            while radios.poll(now).is_some() {}
            radios.take_dropped();
        }
        let sent = [AP1, AP2, FAR].map(|i| radios.radio_stats(RadioId(i.0)).ppdus_sent);
        assert!((sent[0] as f64 / sent[1] as f64 - 4.0).abs() < 0.1, "{sent:?}");
        assert!((19_900..=20_001).contains(&sent[2]), "{sent:?}");
        // All of a channel hear the same; a round of 12.5 ms has 12 of the first.
        let [first, station] = [AP1, STATION].map(|i| radios.radio_stats(RadioId(i.0)));
        assert_eq!(first.busy_ns, station.busy_ns);
        let share = first.airtime_tx_ns as f64 / first.busy_ns as f64;
        assert!((share - 0.96).abs() < 0.01 && station.airtime_tx_ns == 0, "{share}");
    }

    #[test]
    fn a_station_sends_beside_the_medium_and_is_counted() {
        let mut radios = radios();
        assert!(radios.takes_time(RadioId(0)) && !radios.takes_time(RadioId(3)));
        let answer = Crossing { iface: STATION, to: mac(AP1), payload: 7 };
        assert_eq!(radios.send(Time::ZERO, Packet::new(40, answer)), Some(answer));
        assert_eq!((radios.next_timeout(), radios.poll(Time::from_secs(1))), (None, None));
        let (to, peer) = radios.peer_stats(STATION)[0];
        assert_eq!((to, peer.delivered_packets, peer.delivered_bytes), (mac(AP1), 1, 40));
        assert_eq!(peer.airtime_tx_ns, 0);
    }

    #[test]
    fn what_finds_no_room_comes_back_and_is_counted() {
        let mut radios = radios();
        // One is on the medium, and twenty wait.
        (0..23).for_each(|n| assert_eq!(radios.send(Time::ZERO, packet(AP1, mac(STATION), n)), None));
        let dropped: Vec<u32> = radios.take_dropped().iter().map(|c| c.payload).collect();
        assert_eq!((dropped, radios.take_dropped().len()), (vec![21, 22], 0));
        let arrival = radios.poll(Time::from_millis(4)).unwrap();
        assert_eq!((arrival.at, arrival.payload.payload), (Time::from_millis(3), 0));
        let peer = radios.peer_stats(AP1)[0].1;
        assert_eq!((peer.delivered_packets, peer.dropped_packets), (1, 2));
    }
}
