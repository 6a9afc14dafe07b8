//! What comes through while it happens: counters of a device and of the cables, read fifty times a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{Cable, LabError, Namespace, Paths, Result};

/// How often the counters are read: what a pause can be told to.
const EVERY: Duration = Duration::from_millis(20);
/// What a figure of the picture is the mean of, in seconds.
const WINDOW_S: f64 = 0.3;
/// How often the picture has a figure, in seconds.
const STEP_S: f64 = 0.1;
/// What "as fast as before" is the mean of, in seconds.
const STEADY_S: f64 = 0.5;

/// What came through in a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The moment, in seconds since the flow began.
    pub at_s: f64,
    /// Mb/s delivered at the gateway.
    pub delivered_mbps: f64,
    /// Mb/s that each link carried, headers of the tunnel included.
    pub links_mbps: [f64; 2],
}

/// Bytes so far.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at_s: f64,
    delivered: u64,
    links: [u64; 2],
}

/// Reads the counters until it is finished.
pub(super) struct Sampler {
    begin: Instant,
    readings: Arc<Mutex<Vec<Reading>>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<()>>,
}

impl Sampler {
    /// Watches `device` at the gateway, and both links towards it.
    pub(super) fn start(lab: &Paths, device: &str) -> Sampler {
        let (begin, readings) = (Instant::now(), Arc::<Mutex<Vec<Reading>>>::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (gateway, cables) = (lab.gateway.clone(), lab.cables.clone());
        let (device, into, until) = (device.to_owned(), Arc::clone(&readings), Arc::clone(&stop));
        let thread = std::thread::spawn(move || watch(&gateway, &cables, &device, begin, &into, &until));
        Sampler { begin, readings, stop, thread }
    }

    /// Seconds since the start.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Mb/s delivered of late.
    pub(super) fn mbps(&self) -> f64 {
        let readings = self.readings.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let record = Record(readings.iter().rev().take(30).rev().copied().collect());
        let end = record.0.last().map_or(0.0, |r| r.at_s);
        record.mean_between(end - STEADY_S, end)
    }

    /// Ends it and gives what was read.
    pub(super) fn finish(self) -> Result<Record> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let readings = self.readings.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Ok(Record(readings.clone()))
    }
}

fn watch(
    gateway: &Namespace,
    cables: &[Cable],
    device: &str,
    begin: Instant,
    into: &Mutex<Vec<Reading>>,
    until: &AtomicBool,
) -> Result<()> {
    gateway.run(|| {
        while !until.load(Ordering::Relaxed) {
            let carried = |i: usize| Ok::<_, LabError>(cables[i].counters()?.forward.bytes_out);
            let links = [carried(0)?, carried(1)?];
            let delivered = received_bytes(device).unwrap_or(0);
            let reading = Reading { at_s: begin.elapsed().as_secs_f64(), delivered, links };
            into.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(reading);
            std::thread::sleep(EVERY);
        }
        Ok(())
    })?
}

/// What a device of the calling thread's namespace has received: the first figure of its line in /proc/net/dev.
fn received_bytes(device: &str) -> Option<u64> {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    let line = table.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What was read, oldest first.
#[derive(Debug, Default)]
pub(super) struct Record(Vec<Reading>);

impl Record {
    /// Mb/s delivered between these seconds.
    pub(super) fn mean_between(&self, from_s: f64, to_s: f64) -> f64 {
        self.rate(from_s, to_s, |r| r.delivered)
    }

    fn rate(&self, from_s: f64, to_s: f64, of: impl Fn(&Reading) -> u64) -> f64 {
        let mut inside = self.0.iter().filter(|r| (from_s..=to_s).contains(&r.at_s));
        let Some(first) = inside.next() else { return 0.0 };
        let last = inside.next_back().unwrap_or(first);
        let seconds = last.at_s - first.at_s;
        if seconds > 0.0 { (of(last) - of(first)) as f64 * 8.0 / seconds / 1e6 } else { 0.0 }
    }

    /// The longest time between these seconds in which nothing was delivered.
    pub(super) fn longest_pause(&self, from_s: f64, to_s: f64) -> Duration {
        let inside: Vec<_> = self.0.iter().filter(|r| (from_s..=to_s).contains(&r.at_s)).collect();
        let still = inside.chunk_by(|a, b| a.delivered == b.delivered);
        let longest = still.map(|s| s[s.len() - 1].at_s - s[0].at_s).fold(0.0, f64::max);
        Duration::from_secs_f64(longest)
    }

    /// When, after `from_s`, delivery was first this fast and stayed so for half a second.
    pub(super) fn first_as_fast(&self, from_s: f64, mbps: f64) -> Option<f64> {
        let starts = self.0.iter().map(|r| r.at_s).filter(|at| *at >= from_s);
        let end = self.0.last()?.at_s;
        starts.take_while(|at| at + STEADY_S <= end).find(|at| self.mean_between(*at, at + STEADY_S) >= mbps)
    }

    /// Figures for a picture, up to this second.
    pub(super) fn samples(&self, to_s: f64) -> Vec<Sample> {
        let moments = (1..).map(|n| f64::from(n) * STEP_S).take_while(|at| *at <= to_s);
        let sample = |at_s: f64| {
            let (from, to) = ((at_s - WINDOW_S / 2.0).max(0.0), at_s + WINDOW_S / 2.0);
            let link = |i: usize| self.rate(from, to, move |r| r.links[i]);
            Sample { at_s, delivered_mbps: self.mean_between(from, to), links_mbps: [link(0), link(1)] }
        };
        moments.map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mb/s for a second, nothing for a second, 16 Mb/s for a second.
    fn record() -> Record {
        let delivered = |ms: u64| match ms {
            0..1000 => ms * 1000,
            1000..2000 => 1_000_000,
            _ => 1_000_000 + (ms - 2000) * 2000,
        };
        let reading = |ms: u64| Reading {
            at_s: ms as f64 / 1e3,
            delivered: delivered(ms),
            links: [0, delivered(ms) * 2],
        };
        Record((0..=3000).step_by(20).map(reading).collect())
    }

    #[test]
    fn rates_pauses_and_recovery() {
        let record = record();
        assert!((record.mean_between(0.0, 0.9) - 8.0).abs() < 0.01);
        assert!((record.mean_between(2.1, 3.0) - 16.0).abs() < 0.01);
        assert_eq!(record.mean_between(7.0, 8.0), 0.0);
        assert_eq!(record.longest_pause(0.0, 3.0), Duration::from_secs(1));
        assert!((record.first_as_fast(1.5, 15.0).unwrap() - 2.0).abs() < 0.1);
        assert_eq!(record.first_as_fast(1.5, 20.0), None);
        let samples = record.samples(3.0);
        assert!((samples[4].links_mbps[1] - 16.0).abs() < 0.5 && samples[4].links_mbps[0] == 0.0);
    }
}
