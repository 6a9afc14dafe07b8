//! Backpressure on completions: a link gets the next packets when it has got rid of earlier ones (Multifacet, section 3.1).

use super::{Grant, PathInfo, Scheduler};
use crate::path::PathId;
use crate::wire::MAX_PATHS;

/// Datagrams by one grant in the steady state. The paper decides per batch (MF-21); a quarter of an A-MPDU of 32 keeps the links' turns short beside the
/// deadline of the reordering buffer.
const BATCH: u32 = 8;
/// "Very small" (MF-6): with at most this many datagrams outstanding on every link, each of them is idle as soon as it has sent what it is sending.
const SMALL: u32 = 2;
/// The other links carry what there is if they have work for a smaller part of the time. With 0.9 nothing was lost beside one link, and a TCP whose order was held up
/// now and then did not get the air that was left; with nothing of the kind a tenth more was lost where the clients' link limits (`scenarios/000/placements.toml`).
const FULL: f64 = 0.6;

/// How many datagrams of full length, or as many bytes, a link may hold: the paper's `Device_threshold`, for which it gives no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceThreshold {
    /// Never fewer. One on the air and some behind it, until the next completion is told.
    pub least: u32,
    /// For a link whose completions were not counted yet; the bootstrap sends so many to each.
    pub start: u32,
    /// Never more. 8 ms of 11ac at 800 Mb/s.
    pub most: u32,
}

impl Default for DeviceThreshold {
    fn default() -> Self {
        DeviceThreshold { least: 4, start: 16, most: 512 }
    }
}

/// What a link should hold, as time: between the bounds of mac80211's airtime queue limits (5 and 12 ms a station), whose purpose is the same. Links of
/// unlike rates then hold equally long queues, so what leaves at once arrives at about one time, within the 10 ms of the reordering buffer (MF-9).
const HELD_S: f64 = 0.008;

impl DeviceThreshold {
    /// For a link that completes `rate_pps` full datagrams per second, of which this end hears `feedback_s` seconds later than they are complete.
    pub fn of(&self, rate_pps: f64, feedback_s: f64) -> u32 {
        let wanted = match rate_pps > 0.0 {
            true => (rate_pps * (HELD_S + feedback_s)).ceil() as u32,
            false => self.start,
        };
        wanted.clamp(self.least, self.most)
    }
}

/// The striper of Multifacet.
///
/// *Bootstrap* (MF-4): each link gets as many datagrams as it may hold, in rotation. *Steady* (MF-5): a link takes datagrams while it holds fewer than its
/// threshold; of several, the one that is emptiest for its threshold, since it would be idle first. *Rotation* (MF-6): when no link holds more than two,
/// there is less to send than they carry, and they take turns. What finds no link waits in the queue. A link on the channel of a repeater's clients has a part only
/// while the others are at work most of the time: where they are not, the clients' link is what limits, and needs the air.
///
/// It looks at completions only: windows and pacing of a congestion controller hold it back where there is one. On a single wireless hop
/// `congestion = "none"` leaves the limit to the links' completions.
#[derive(Debug, Default)]
pub struct Backpressure {
    /// Datagrams sent in the bootstrap, by path identifier.
    boot: [u32; MAX_PATHS],
    last: PathId,
}

impl Backpressure {
    fn turn(&self, p: &PathInfo) -> u8 {
        p.id.turn_after(self.last)
    }

    fn choose(&self, paths: &[PathInfo], free: impl Iterator<Item = usize> + Clone) -> Option<(usize, u32)> {
        let booting = |i: &usize| self.boot[paths[*i].id.index()] < paths[*i].threshold;
        if let Some(i) = free.clone().filter(booting).min_by_key(|i| self.turn(&paths[*i])) {
            return Some((i, 1));
        }
        if paths.iter().all(|p| p.outstanding <= SMALL) {
            return free.min_by_key(|i| self.turn(&paths[*i])).map(|i| (i, 1));
        }
        // Compared as fractions: outstanding over threshold.
        let fill = |p: &PathInfo| u64::from(p.outstanding) * 0x1_0000 / u64::from(p.threshold.max(1));
        free.min_by_key(|i| (fill(&paths[*i]), self.turn(&paths[*i]))).map(|i| (i, BATCH))
    }
}

impl Scheduler for Backpressure {
    fn name(&self) -> &'static str {
        "backpressure"
    }

    fn next(&mut self, paths: &[PathInfo]) -> Option<Grant> {
        let is_free = |i: &usize| paths[*i].may_take();
        let own = paths.iter().any(|p| !p.is_shared && p.utilisation < FULL);
        let free = (0..paths.len()).filter(|i| is_free(i) && !(own && paths[*i].is_shared));
        let (path, batch) = self.choose(paths, free)?;
        let datagrams = batch.min(paths[path].slots).max(1) as usize;
        Some(Grant { path, skip_bytes: 0, datagrams, copies: false })
    }

    fn on_sent(&mut self, paths: &[PathInfo], path: usize, bytes: u64) {
        let (id, mtu) = (paths[path].id, u64::from(paths[path].mtu.max(1)));
        let boot = &mut self.boot[id.index()];
        *boot = boot.saturating_add(bytes.div_ceil(mtu) as u32);
        self.last = id;
    }

    /// Acknowledgements of TCP and the like keep off the channel that the clients need (MF-23), and there to one way.
    fn urgent(&mut self, paths: &[PathInfo]) -> Option<usize> {
        (0..paths.len()).min_by(|a, b| {
            let key = |i: &usize| (paths[*i].is_shared, paths[*i].one_way_us);
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::path_id;
    use std::collections::VecDeque;

    /// Links that complete one datagram every so many microseconds.
    struct Hop {
        views: Vec<PathInfo>,
        service_us: Vec<u64>,
        queues: Vec<VecDeque<u64>>,
        taken: Vec<Vec<u64>>,
        idle_us: Vec<u64>,
    }

    impl Hop {
        fn new(service_us: &[u64], threshold: u32) -> Hop {
            let view = |i: usize| PathInfo {
                id: path_id(i as u8),
                has_room: true,
                threshold,
                mtu: 1500,
                ..PathInfo::default()
            };
            let n = service_us.len();
            Hop {
                views: (0..n).map(view).collect(),
                service_us: service_us.to_vec(),
                queues: vec![VecDeque::new(); n],
                taken: vec![Vec::new(); n],
                idle_us: vec![0; n],
            }
        }

        fn look(&mut self) {
            for (v, q) in self.views.iter_mut().zip(&self.queues) {
                v.outstanding = q.len() as u32;
                v.slots = v.threshold.saturating_sub(v.outstanding);
                v.has_room = v.slots > 0;
            }
        }

        /// Hands out what may leave at `now`, at most `budget` datagrams.
        fn fill(&mut self, s: &mut Backpressure, now: u64, mut budget: usize) -> Vec<usize> {
            let mut order = Vec::new();
            loop {
                self.look();
                let Some(g) = s.next(&self.views).filter(|_| budget > 0) else { return order };
                let n = g.datagrams.min(budget);
                for _ in 0..n {
                    let q = &mut self.queues[g.path];
                    let begin = q.back().map_or(now, |last| (*last).max(now));
                    q.push_back(begin + self.service_us[g.path]);
                    self.taken[g.path].push(now);
                    order.push(g.path);
                }
                budget -= n;
                s.on_sent(&self.views, g.path, 1500 * n as u64);
            }
        }

        fn complete(&mut self, now: u64) {
            for (q, idle) in self.queues.iter_mut().zip(&mut self.idle_us) {
                while q.front().is_some_and(|t| *t <= now) {
                    q.pop_front();
                }
                *idle += u64::from(q.is_empty()) * 100;
            }
        }
    }

    #[test]
    fn the_bootstrap_gives_each_link_its_threshold_in_rotation() {
        let mut hop = Hop::new(&[1000, 1000, 1000], 4);
        let mut s = Backpressure::default();
        let order = hop.fill(&mut s, 0, 100);
        assert_eq!(order, [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn in_the_steady_state_links_take_as_they_complete_and_none_is_ever_idle() {
        let mut hop = Hop::new(&[400, 1700], 16);
        let mut s = Backpressure::default();
        for now in (0..2_000_000).step_by(100) {
            hop.complete(now);
            hop.fill(&mut s, now, 1000);
        }
        // 2500 and 588 per second for two seconds; what fills them is counted too.
        assert!((hop.taken[0].len() as i64 - 5016).abs() < 12, "{}", hop.taken[0].len());
        assert!((hop.taken[1].len() as i64 - 1192).abs() < 12, "{}", hop.taken[1].len());
        // The first look is before anything was there.
        assert!(hop.idle_us.iter().all(|t| *t <= 100), "{:?}", hop.idle_us);
    }

    #[test]
    fn little_demand_is_spread_in_rotation_and_a_full_link_is_passed_over() {
        let mut hop = Hop::new(&[300, 300], 8);
        let mut s = Backpressure::default();
        hop.fill(&mut s, 0, 1000);
        hop.complete(1_000_000);
        let order: Vec<usize> = (0..20)
            .flat_map(|k| {
                hop.complete(2_000_000 + k * 1000);
                hop.fill(&mut s, 2_000_000 + k * 1000, 1)
            })
            .collect();
        assert!(order.windows(2).all(|w| w[0] != w[1]), "{order:?}");
        hop.views[0].threshold = 0;
        assert!(hop.fill(&mut s, 3_000_000, 4).iter().all(|p| *p == 1));
    }

    #[test]
    fn a_shared_link_has_no_part_in_what_the_others_carry() {
        let mut hop = Hop::new(&[400, 200], 8);
        hop.views[1].is_shared = true;
        let mut s = Backpressure::default();
        // However much comes at once, as long as the other has been idle now and then.
        hop.views[0].utilisation = 0.5;
        assert_eq!(hop.fill(&mut s, 0, 16), [0; 8]);
        hop.views[0].utilisation = 0.95;
        let order = hop.fill(&mut s, 0, 16);
        assert_eq!(order, [1; 8], "what there is too much of");
        hop.complete(1_000_000);
        let order = hop.fill(&mut s, 1_000_000, 16);
        assert!(order.contains(&0) && order.contains(&1), "{order:?}");
        // Where it is the only one it carries all.
        hop.complete(2_000_000);
        hop.views.remove(0);
        hop.queues.remove(0);
        assert_eq!(hop.fill(&mut s, 2_000_000, 1), [0]);
    }

    #[test]
    fn thresholds_follow_the_rate_within_their_bounds() {
        let t = DeviceThreshold::default();
        assert_eq!(
            (t.of(0.0, 0.0), t.of(100.0, 0.0), t.of(2000.0, 0.0), t.of(2000.0, 0.002)),
            (16, 4, 16, 20)
        );
        assert_eq!(t.of(1e6, 0.0), 512);
    }

    #[test]
    fn urgent_packets_keep_off_the_shared_channel_while_there_is_another() {
        let view = |id, is_shared, one_way_us| PathInfo {
            id: path_id(id),
            is_shared,
            one_way_us,
            ..PathInfo::default()
        };
        let mut s = Backpressure::default();
        assert_eq!(s.urgent(&[view(0, true, 1.0), view(1, false, 900.0)]), Some(1));
        assert_eq!(s.urgent(&[view(0, true, 1.0)]), Some(0));
    }
}
