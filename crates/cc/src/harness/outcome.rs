//! What came of a run of the link model.

use super::{BIN_NS, MTU};
use ropewalk_time::Time;

/// What came of it: per flow and for the queue.
#[derive(Default)]
pub(in super::super) struct Outcome {
    /// Bytes that left the queue, per flow and 10 ms bin.
    pub served: Vec<Vec<u64>>,
    /// Bytes delivered to the receiver, per flow and bin.
    pub delivered: Vec<Vec<u64>>,
    /// Queue delay met by each packet: time sent, delay in ms, flow.
    pub delays: Vec<(f64, f64, usize)>,
    /// Times of tail drops, s.
    pub drops: Vec<f64>,
    /// Controller's window and pacing rate when sampled, per bin of the first flow.
    pub trace: Vec<(f64, f64, u64)>,
}

impl Outcome {
    fn sum(bins: &[u64], from_s: f64, to_s: f64) -> f64 {
        let (a, b) = ((from_s * 100.0).round() as usize, (to_s * 100.0).round() as usize);
        bins.iter().take(b).skip(a).sum::<u64>() as f64
    }

    /// Rate at which flow `i` left the queue between two times, Mb/s.
    pub(in super::super) fn mbps(&self, i: usize, from_s: f64, to_s: f64) -> f64 {
        Self::sum(&self.served[i], from_s, to_s) * 8e-6 / (to_s - from_s)
    }

    /// Mean and 99th percentile of the queue delay met between two times, ms.
    pub(in super::super) fn delay(&self, from_s: f64, to_s: f64) -> (f64, f64) {
        let mut d: Vec<f64> =
            self.delays.iter().filter(|d| d.0 >= from_s && d.0 < to_s).map(|d| d.1).collect();
        if d.is_empty() {
            return (0.0, 0.0);
        }
        d.sort_by(f64::total_cmp);
        (d.iter().sum::<f64>() / d.len() as f64, d[d.len() * 99 / 100])
    }

    /// Largest queue delay met between two times, ms.
    pub(in super::super) fn peak(&self, from_s: f64, to_s: f64) -> f64 {
        self.delays.iter().filter(|d| d.0 >= from_s && d.0 < to_s).map(|d| d.1).fold(0.0, f64::max)
    }

    /// When flow `i`, over a sliding `span_s`, first ran at `mbps` after `from_s`; seconds after `from_s`.
    pub(in super::super) fn reached(&self, i: usize, from_s: f64, mbps: f64, span_s: f64) -> f64 {
        let mut t = from_s;
        while t < self.served[i].len() as f64 / 100.0 {
            if self.mbps(i, t, t + span_s) >= mbps {
                return t - from_s;
            }
            t += 0.01;
        }
        f64::INFINITY
    }
}

/// Counts a packet that left or came at `t`.
pub(super) fn bin(bins: &mut Vec<u64>, t: Time) {
    let n = (t.as_nanos() / BIN_NS) as usize;
    if bins.len() <= n {
        bins.resize(n + 1, 0);
    }
    bins[n] += MTU;
}
