//! What an interface knows of its neighbours beyond the counters of the air: what waits for them, and the last that was heard of them.

use ropewalk_air::Time;
use ropewalk_air::wifi::{Completion, Mac, Received};

/// Of one neighbour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(super) mac: Mac,
    /// Packets given to the radio and not completed, by access category.
    pub(super) waiting: [u32; 4],
    /// Their bytes.
    pub(super) waiting_bytes: u64,
    /// Rate of the last attempt towards it, bit/s.
    pub(super) tx_rate_bps: u64,
    /// Rate of its last packet, bit/s.
    pub(super) rx_rate_bps: u64,
    /// Power of its last packet, 1/1000 dBm.
    pub(super) signal_mdbm: i32,
    pub(super) heard: Option<Time>,
}

/// Of one interface, sorted by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    all: Vec<Neighbour>,
    /// Rate of the last attempt, bit/s.
    pub(super) tx_rate_bps: u64,
    /// Something has happened that readers were not told.
    pub(super) changed: bool,
}

impl Neighbours {
    fn entry(&mut self, mac: Mac) -> &mut Neighbour {
        self.changed = true;
        let place = self.all.binary_search_by_key(&mac, |n| n.mac).unwrap_or_else(|place| {
            let fresh = Neighbour {
                mac,
                waiting: [0; 4],
                waiting_bytes: 0,
                tx_rate_bps: 0,
                rx_rate_bps: 0,
                signal_mdbm: 0,
                heard: None,
            };
            self.all.insert(place, fresh);
            place
        });
        &mut self.all[place]
    }

    /// What is known of one; nothing if it was neither heard nor sent to.
    pub(super) fn get(&self, mac: Mac) -> Option<&Neighbour> {
        self.all.binary_search_by_key(&mac, |n| n.mac).ok().map(|place| &self.all[place])
    }

    /// Packets and bytes that wait for all of them.
    pub(super) fn waiting(&self) -> (u32, u64) {
        self.all.iter().fold((0, 0), |(packets, bytes), n| {
            (packets + n.waiting.iter().sum::<u32>(), bytes + n.waiting_bytes)
        })
    }

    /// The radio has taken a packet.
    pub(crate) fn on_taken(&mut self, to: Mac, token: u64) {
        let (category, len) = parts(token);
        let n = self.entry(to);
        n.waiting[category] += 1;
        n.waiting_bytes += len;
    }

    /// It is done with one, which went at `rate`, bit/s in the lab's time.
    pub(crate) fn on_completion(&mut self, done: &Completion, rate: Option<u64>) {
        let (category, len) = parts(done.token);
        let n = self.entry(done.to);
        n.waiting[category] = n.waiting[category].saturating_sub(1);
        n.waiting_bytes = n.waiting_bytes.saturating_sub(len);
        n.tx_rate_bps = rate.unwrap_or(n.tx_rate_bps);
        self.tx_rate_bps = rate.unwrap_or(self.tx_rate_bps);
    }

    /// A packet has come at `rate`, bit/s in the lab's time.
    pub(crate) fn on_received<T>(&mut self, received: &Received<T>, rate: u64) {
        let n = self.entry(received.from);
        n.rx_rate_bps = rate;
        n.signal_mdbm = (received.signal_dbm * 1000.0) as i32;
        n.heard = Some(received.at);
    }
}

/// What a completion has to say again: access category and length in bytes.
pub(crate) fn token(category: usize, len_bytes: u32) -> u64 {
    u64::from(len_bytes) << 2 | category as u64 & 3
}

fn parts(token: u64) -> (usize, u64) {
    ((token & 3) as usize, token >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_air::wifi::{IfaceId, Status};
    use std::time::Duration;

    fn done(to: Mac, token: u64) -> Completion {
        Completion {
            at: Time::ZERO,
            iface: IfaceId(0),
            to,
            token,
            status: Status::Dropped,
            attempts: 0,
            rate: None,
            airtime: Duration::ZERO,
        }
    }

    #[test]
    fn what_waits_is_what_was_taken_and_not_completed() {
        let mut n = Neighbours::default();
        let (near, far) = (Mac::local(1), Mac::local(2));
        for (to, category, len) in [(far, 1, 1500), (near, 3, 200), (far, 1, 1000), (far, 0, 90)] {
            n.on_taken(to, token(category, len));
        }
        assert_eq!((n.waiting(), n.get(far).unwrap().waiting), ((4, 2790), [1, 2, 0, 0]));
        n.on_completion(&done(far, token(1, 1500)), None);
        assert_eq!((n.waiting(), n.get(far).unwrap().waiting), ((3, 1290), [1, 1, 0, 0]));
        n.on_completion(&done(near, token(3, 200)), None);
        n.on_completion(&done(far, token(1, 1000)), None);
        n.on_completion(&done(far, token(0, 90)), None);
        assert_eq!(n.waiting(), (0, 0));
        assert!(n.get(Mac::local(3)).is_none());
    }
}
