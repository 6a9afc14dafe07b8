//! The repeater's end: what waits for each client (MF-11).

use super::{Config, CongestionLevel};
use crate::feedback::LinkState;
use ropewalk_time::{Duration, Time};
use std::collections::BTreeMap;

/// Clients remembered; of more, the one unheard for longest is forgotten.
const MAX_CLIENTS: usize = 256;
/// A client of which nothing is said for this long is gone.
const GONE: Duration = Duration::from_secs(2);
/// Drain rates are measured over this long.
const WINDOW: Duration = Duration::from_millis(100);
/// A client that drains less than this part of an equal share, with a long queue, is held up by its own link.
const WEAK: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
struct Client {
    state: LinkState,
    heard: Time,
    window_start: Time,
    window_base: u64,
    drained_pps: f64,
}

fn came(s: &LinkState) -> u64 {
    s.completed() + u64::from(s.backlog_packets)
}

/// The queues of one repeater towards its clients.
#[derive(Debug, Default)]
pub struct ClientQueues {
    clients: BTreeMap<u32, Client>,
    came: u64,
}

impl ClientQueues {
    /// The radio reports its queue towards `client`.
    pub fn on_queue(&mut self, now: Time, client: u32, state: LinkState) {
        if !self.clients.contains_key(&client) && self.clients.len() >= MAX_CLIENTS {
            let oldest = self.clients.iter().min_by_key(|(_, c)| c.heard).map(|(id, _)| *id);
            oldest.and_then(|id| self.clients.remove(&id));
        }
        // What is gone of a new client's went before anything was counted.
        let before = self.clients.get(&client).map_or(state.completed(), |c| came(&c.state));
        let fresh =
            Client { state, heard: now, window_start: now, window_base: state.completed(), drained_pps: 0.0 };
        let c = self.clients.entry(client).or_insert(fresh);
        if c.state.epoch != state.epoch || state.completed() < c.window_base {
            (c.window_start, c.window_base) = (now, state.completed());
        } else {
            self.came += came(&state).saturating_sub(before);
        }
        (c.state, c.heard) = (state, now);
        let over = now.since(c.window_start);
        if over >= WINDOW {
            c.drained_pps = (state.completed() - c.window_base) as f64 / over.as_secs_f64();
            (c.window_start, c.window_base) = (now, state.completed());
        }
    }

    /// Forgets clients that are gone.
    pub fn expire(&mut self, now: Time) {
        self.clients.retain(|_, c| now.since(c.heard) < GONE);
    }

    /// No client is known.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Clients known.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Packets in the longest queue, each client judged by itself (T-12b): the sum would let many
    /// short queues look like one long. A client that drains far less than its share is held up by
    /// its own link, and its queue counts as `low` at most; or it would block the shared link for
    /// all.
    pub fn longest(&self, low: u32) -> u32 {
        let active = self.clients.values().filter(|c| c.state.backlog_packets > 0 || c.drained_pps > 0.0);
        let (count, total) = active.fold((0u32, 0.0), |(n, sum), c| (n + 1, sum + c.drained_pps));
        let share = total / f64::from(count.max(1));
        let judged = self.clients.values().map(|c| {
            let weak = count > 1 && c.drained_pps < share * WEAK;
            if weak { c.state.backlog_packets.min(low) } else { c.state.backlog_packets }
        });
        judged.max().unwrap_or(0)
    }

    /// Packets that came to the queues, as far as reports tell of their coming.
    pub fn came(&self) -> u64 {
        self.came
    }

    /// Packets per second that leave all queues.
    pub fn drained_pps(&self) -> f64 {
        self.clients.values().map(|c| c.drained_pps).sum()
    }

    /// What to tell the access point.
    pub fn congestion(&self, config: &Config) -> (CongestionLevel, u32) {
        let packets = self.longest(config.low);
        let level = match packets {
            p if p > config.high => CongestionLevel::High,
            p if p < config.low => CongestionLevel::Low,
            _ => CongestionLevel::Normal,
        };
        (level, packets)
    }
}
