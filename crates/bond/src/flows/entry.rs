//! One connection: what it carried, and how fast.

use super::pauses::Pauses;
use super::{FlowStatus, Way};
use crate::inner::Inner;
use core::net::IpAddr;
use ropewalk_session::PublicKey;
use ropewalk_time::{Duration, Time};

/// Rates are over this long.
const RATE_OVER: Duration = Duration::from_secs(1);

/// Whose connection it is, in eight bytes of a public key: what else has these would have to be
/// looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Whose(u64);

impl Whose {
    pub(crate) fn of(key: &PublicKey) -> Whose {
        Whose(key.0.first_chunk().map_or(0, |first| u64::from_be_bytes(*first)))
    }
}

/// A five-tuple of one peer, as packets have it that leave this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub whose: Whose,
    protocol: u8,
    here: (IpAddr, u16),
    there: (IpAddr, u16),
}

impl Key {
    /// The flow of a packet that leaves this end.
    pub(super) fn of_leaving(whose: Whose, packet: &Inner) -> Key {
        let (here, there) = ((packet.src, packet.ports.0), (packet.dst, packet.ports.1));
        Key { whose, protocol: packet.protocol, here, there }
    }

    /// The flow of a packet that came to this end.
    pub(super) fn of_arriving(whose: Whose, packet: &Inner) -> Key {
        let (here, there) = ((packet.dst, packet.ports.1), (packet.src, packet.ports.0));
        Key { whose, protocol: packet.protocol, here, there }
    }
}

/// What went one way, and of it since the rate was last worked out.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    bytes: u64,
    packets: u64,
    fresh: u64,
    bps: u64,
}

impl Count {
    fn status(&self, over: Duration) -> Way {
        // Until a second has passed, the rate of the second before counts.
        let bps = match over >= RATE_OVER || self.bps == 0 {
            true => rate(self.fresh, over),
            false => self.bps,
        };
        Way { bytes: self.bytes, packets: self.packets, bps }
    }
}

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: Key,
    /// When its last packet was seen, either way.
    pub used: Time,
    first: Time,
    sent: Count,
    received: Count,
    /// Since when `fresh` counts.
    since: Time,
    /// Bytes either way that kept their order.
    ordered: u64,
    /// When it last sent something.
    pub spoke: Time,
    pub pauses: Pauses,
}

impl Entry {
    pub(super) fn new(key: Key, now: Time) -> Entry {
        Entry {
            key,
            used: now,
            first: now,
            sent: Count::default(),
            received: Count::default(),
            since: now,
            ordered: 0,
            spoke: Time::ZERO,
            pauses: Pauses::default(),
        }
    }

    /// A packet of `bytes` left the device here.
    pub(super) fn on_sent(&mut self, bytes: u64, low_latency: bool, now: Time) {
        self.on_packet(bytes, low_latency, now);
        self.spoke = now;
        count(&mut self.sent, bytes);
    }

    /// A packet of `bytes` was handed to the device here.
    pub(super) fn on_delivered(&mut self, bytes: u64, low_latency: bool, now: Time) {
        self.on_packet(bytes, low_latency, now);
        self.pauses.on_delivery(now);
        count(&mut self.received, bytes);
    }

    fn on_packet(&mut self, bytes: u64, low_latency: bool, now: Time) {
        let over = now.since(self.since);
        if over >= RATE_OVER {
            for way in [&mut self.sent, &mut self.received] {
                (way.bps, way.fresh) = (rate(way.fresh, over), 0);
            }
            self.since = now;
        }
        self.used = now;
        self.ordered += if low_latency { 0 } else { bytes };
    }

    pub(super) fn status(&self, peer: PublicKey, now: Time) -> FlowStatus {
        let over = now.since(self.since);
        let Key { protocol, here, there, .. } = self.key;
        FlowStatus {
            peer,
            protocol,
            here,
            there,
            sent: self.sent.status(over),
            received: self.received.status(over),
            low_latency: self.ordered * 2 < self.sent.bytes + self.received.bytes,
            first: self.first,
            last: self.used,
            longest_gap: self.pauses.longest(),
        }
    }
}

fn count(way: &mut Count, bytes: u64) {
    way.bytes += bytes;
    way.packets += 1;
    way.fresh += bytes;
}

/// Bits per second; over less than a second it is not extrapolated.
fn rate(bytes: u64, over: Duration) -> u64 {
    (bytes as f64 * 8.0 / over.max(RATE_OVER).as_secs_f64()) as u64
}
