//! What a try costs on the air by an access point, from the rates at which its frames are heard
//! (paper 001, §5.1: the client sees the rate of each frame).
//!
//! The mean is over frames that arrived. Retries that go out at lower rates are among them as often
//! as they arrive, so a rate control that falls back is seen through what it delivers.

use crate::estimate::{Mac, Tries};
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

/// Sliding window, as that of the counts.
const WINDOW: Duration = Duration::from_millis(500);
/// Frames kept of a link, as many as its counts keep.
const MOST_RECORDS: usize = 32_768;
/// Packet times are smoothed over this time.
const SMOOTHED: Duration = Duration::from_secs(2);
/// A packet time is forgotten after this time: the client may be elsewhere.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Links kept; of more, the one that was silent longest goes.
const MOST_LINKS: usize = 256;

/// The air of a frame that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Air {
    /// Its bytes at its rate.
    pub payload: Duration,
    /// What its transmission (PPDU) costs besides, backoff left out: preamble, spaces,
    /// acknowledgement.
    pub overhead: Duration,
    /// The A-MPDU that it was in, by any number that neighbours in time do not share. None: it was
    /// alone.
    pub aggregate: Option<u32>,
}

/// How a channel is contended for, and how long a packet is tried: what a client has to know, since
/// it does not hear it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contention {
    /// Mean backoff before the first try: half of CWmin, in slots; seconds.
    pub backoff_s: f64,
    /// How many times it doubles.
    pub doublings: u32,
    /// Tries after the first.
    pub retries: u32,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    at: Duration,
    payload_ns: u32,
    /// 0 for all but the first of an aggregate.
    overhead_ns: u32,
}

#[derive(Clone, Debug, Default)]
struct Link {
    records: VecDeque<Record>,
    payload_ns: u64,
    overhead_ns: u64,
    transmissions: u64,
    aggregate: Option<u32>,
    aggregates: bool,
    heard: Duration,
}

impl Link {
    fn add(&mut self, air: &Air, now: Duration) {
        self.heard = now;
        self.aggregates = air.aggregate.is_some();
        let is_first = air.aggregate.is_none() || air.aggregate != self.aggregate;
        self.aggregate = air.aggregate;
        let ns = |d: Duration| u32::try_from(d.as_nanos()).unwrap_or(u32::MAX);
        let overhead_ns = if is_first { ns(air.overhead).max(1) } else { 0 };
        let record = Record { at: now, payload_ns: ns(air.payload), overhead_ns };
        if self.records.len() == MOST_RECORDS {
            self.drop_oldest();
        }
        self.records.push_back(record);
        self.payload_ns += u64::from(record.payload_ns);
        self.overhead_ns += u64::from(overhead_ns);
        self.transmissions += u64::from(is_first);
        self.expire(now);
    }

    fn drop_oldest(&mut self) {
        let Some(record) = self.records.pop_front() else { return };
        self.payload_ns -= u64::from(record.payload_ns);
        self.overhead_ns -= u64::from(record.overhead_ns);
        self.transmissions -= u64::from(record.overhead_ns > 0);
    }

    fn expire(&mut self, now: Duration) {
        while self.records.front().is_some_and(|r| now.saturating_sub(r.at) > WINDOW) {
            self.drop_oldest();
        }
    }

    /// What a try costs when a share `delivery` of tries arrives.
    fn tries(&self, delivery: f64, contention: &Contention) -> Option<Tries> {
        let (heard, transmissions) = (self.records.len() as f64, self.transmissions as f64);
        if heard == 0.0 || transmissions == 0.0 {
            return None;
        }
        let payload_s = self.payload_ns as f64 / heard / 1e9;
        let overhead_s = self.overhead_ns as f64 / transmissions / 1e9;
        let Contention { backoff_s, doublings, retries } = *contention;
        Some(match self.aggregates {
            // What was sent in an aggregate and did not arrive shared its costs too.
            true => {
                let sent = heard / transmissions / delivery.max(0.01);
                Tries::of_aggregate(payload_s, overhead_s, backoff_s, sent, retries)
            }
            false => Tries { frame_s: payload_s + overhead_s, backoff_s, doublings, retries },
        })
    }
}

/// Air of the frames of each link over the last 500 ms.
#[derive(Clone, Debug, Default)]
pub struct Airtimes {
    links: BTreeMap<(Mac, Mac), Link>,
}

impl Airtimes {
    /// One that has heard nothing.
    pub fn new() -> Airtimes {
        Airtimes::default()
    }

    /// A data frame from one to another was heard.
    pub fn on_frame(&mut self, transmitter: Mac, receiver: Mac, air: &Air, now: Duration) {
        let key = (transmitter, receiver);
        if self.links.len() >= MOST_LINKS && !self.links.contains_key(&key) {
            let silent = self.links.iter().min_by_key(|(key, link)| (link.heard, **key)).map(|(key, _)| *key);
            silent.and_then(|key| self.links.remove(&key));
        }
        self.links.entry(key).or_default().add(air, now);
    }

    /// Drops what is known of a link: nobody asks for it any more.
    pub fn forget(&mut self, transmitter: Mac, receiver: Mac) {
        self.links.remove(&(transmitter, receiver));
    }

    /// What a try from one to another costs, where a share `delivery` of tries arrives. None:
    /// nothing was heard in the window.
    pub fn tries(
        &mut self,
        (transmitter, receiver): (Mac, Mac),
        delivery: f64,
        contention: &Contention,
        now: Duration,
    ) -> Option<Tries> {
        let link = self.links.get_mut(&(transmitter, receiver))?;
        link.expire(now);
        link.tries(delivery, contention)
    }
}

/// A measured packet time for decisions that last: where two access points are alike, fading makes
/// now one, now the other the better for half a second.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketTime {
    mean_s: Option<f64>,
    at: Duration,
}

impl PacketTime {
    /// A measurement, seconds.
    pub fn on_sample(&mut self, packet_s: f64, now: Duration) {
        let since = now.saturating_sub(self.at);
        let share = since.as_secs_f64() / (since + SMOOTHED).as_secs_f64();
        let mean = self.mean_s.filter(|_| since < REMEMBERED);
        self.mean_s = Some(mean.map_or(packet_s, |mean| mean + share * (packet_s - mean)));
        self.at = now;
    }

    /// The mean; none if nothing was measured for long.
    pub fn get(&self, now: Duration) -> Option<Duration> {
        let mean_s = self.mean_s.filter(|_| now.saturating_sub(self.at) < REMEMBERED)?;
        Duration::try_from_secs_f64(mean_s).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_time_follows_in_seconds_and_is_forgotten() {
        let mut time = PacketTime::default();
        let ms = Duration::from_millis;
        assert_eq!(time.get(ms(0)), None);
        time.on_sample(1e-3, ms(0));
        assert_eq!(time.get(ms(0)), Some(us(1000)));
        // Half a second at twice the time moves it by a fifth, and five seconds nearly wholly.
        (1..=5).for_each(|n| time.on_sample(2e-3, ms(n * 100)));
        let half = time.get(ms(500)).unwrap();
        assert!((us(1150)..us(1300)).contains(&half), "{half:?}");
        (6..=50).for_each(|n| time.on_sample(2e-3, ms(n * 100)));
        assert!(time.get(ms(5000)).unwrap() > us(1850));
        assert_eq!(time.get(ms(15_000)), None);
        time.on_sample(5e-4, ms(16_000));
        assert_eq!(time.get(ms(16_000)), Some(us(500)));
    }

    const A: Mac = [2, 0, 0, 0, 0, 1];
    const B: Mac = [2, 0, 0, 0, 0, 2];
    const DCF: Contention = Contention { backoff_s: 67.5e-6, doublings: 6, retries: 6 };

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn air(payload_us: u64, aggregate: Option<u32>) -> Air {
        Air { payload: us(payload_us), overhead: us(100), aggregate }
    }

    #[test]
    fn a_frame_alone_costs_its_payload_and_its_overhead() {
        let mut airtimes = Airtimes::new();
        for (n, payload) in [200, 400].into_iter().enumerate() {
            airtimes.on_frame(A, B, &air(payload, None), us(n as u64 * 1000));
        }
        let tries = airtimes.tries((A, B), 1.0, &DCF, us(2000)).unwrap();
        assert!((tries.frame_s - 400e-6).abs() < 1e-12, "{tries:?}");
        assert_eq!((tries.doublings, tries.retries), (6, 6));
        assert_eq!(airtimes.tries((B, A), 1.0, &DCF, us(2000)), None);
        // After half a second nothing is known.
        assert_eq!(airtimes.tries((A, B), 1.0, &DCF, us(600_000)), None);
    }

    #[test]
    fn frames_of_an_aggregate_share_its_overhead_with_those_that_were_lost() {
        let mut airtimes = Airtimes::new();
        for aggregate in 0..10 {
            for frame in 0..5 {
                let at = us(u64::from(aggregate) * 2000 + frame);
                airtimes.on_frame(A, B, &air(50, Some(aggregate)), at);
            }
        }
        let all = airtimes.tries((A, B), 1.0, &DCF, us(20_000)).unwrap();
        assert!((all.frame_s - (50e-6 + 100e-6 / 5.0)).abs() < 1e-12, "{all:?}");
        // Half arrived: ten were sent in each.
        let half = airtimes.tries((A, B), 0.5, &DCF, us(20_000)).unwrap();
        assert!((half.frame_s - (50e-6 + 100e-6 / 10.0)).abs() < 1e-12, "{half:?}");
        assert!((half.backoff_s - 67.5e-6 / 10.0).abs() < 1e-12);
    }

    #[test]
    fn memory_has_a_bound() {
        let mut airtimes = Airtimes::new();
        for n in 0..300_u32 {
            let other = [2, 0, 0, 1, (n >> 8) as u8, n as u8];
            airtimes.on_frame(other, B, &air(50, None), us(u64::from(n)));
        }
        assert_eq!(airtimes.links.len(), MOST_LINKS);
        for n in 0..MOST_RECORDS + 10 {
            airtimes.on_frame(A, B, &air(50, None), us(1000 + n as u64));
        }
        assert_eq!(airtimes.links[&(A, B)].records.len(), MOST_RECORDS);
    }
}
