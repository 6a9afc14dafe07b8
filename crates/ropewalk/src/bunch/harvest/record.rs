//! Writes down what an uplink carries.

use super::{Record, write};
use crate::exit::{Code, failure};
use crate::logging;
use anyhow::Context;
use jiff::Timestamp;
use ropewalk_net::poll::{Events, Interest, Poller, Signal, Signals};
use ropewalk_table::harvest::Interval;
use std::time::{Duration, Instant};

/// A file is written anew so often: that much is forgotten by a crash.
const SAVE: Duration = Duration::from_secs(60);
const SIGNALS: u64 = 0;

/// Runs until told to stop.
pub(super) fn run(args: &Record) -> anyhow::Result<()> {
    logging::start(args.log.as_deref(), args.log_format)?;
    let mut signals = Signals::new().context("signals cannot be caught")?;
    let poller = Poller::new().context("epoll")?;
    poller.add(&signals, SIGNALS, Interest::Read).context("watching for signals")?;
    let mut recorder = Recorder::new(&args.uplink, args.uplink_rate);
    recorder.take(sent(&args.uplink)?, Timestamp::now().as_second(), Duration::ZERO);
    tracing::info!(uplink = args.uplink, directory = %args.out.display(), "recording");
    let every = Duration::from_secs(args.every.into());
    let (mut looked, mut saved) = (Instant::now(), Instant::now());
    let mut events = Events::new(1);
    loop {
        let wait = (looked + every).saturating_duration_since(Instant::now());
        poller.wait(&mut events, Some(wait)).context("waiting")?;
        let stop = signals.pending().any(|s| s == Signal::Stop);
        let elapsed = looked.elapsed();
        if elapsed < every && !stop {
            continue;
        }
        looked += elapsed;
        match sent(&args.uplink) {
            Ok(bytes) => recorder.take(bytes, Timestamp::now().as_second(), elapsed),
            // It may come again: until then nothing is known.
            Err(error) => {
                tracing::warn!("{error:#}");
                recorder.last = None;
            }
        }
        if stop || saved.elapsed() >= SAVE || recorder.is_full() {
            saved = Instant::now();
            write(&args.out, &recorder.all)?;
        }
        if stop {
            return Ok(());
        }
        if recorder.is_full() {
            recorder.all.clear();
        }
    }
}

/// Bytes that left by an interface so far (proc(5): the ninth figure).
fn sent(interface: &str) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/net/dev").context("the counters cannot be read")?;
    let found = text.lines().filter_map(|l| l.split_once(':')).find(|(name, _)| name.trim() == interface);
    let bytes = found.and_then(|(_, figures)| figures.split_whitespace().nth(8)?.parse().ok());
    bytes.ok_or_else(|| failure(Code::Usage, format!("there is no interface {interface}")))
}

/// The hour that is being recorded.
struct Recorder {
    uplink: String,
    rate_mbps: f64,
    last: Option<u64>,
    all: Vec<Interval>,
}

impl Recorder {
    fn new(uplink: &str, rate_mbps: f64) -> Recorder {
        Recorder { uplink: uplink.to_owned(), rate_mbps, last: None, all: Vec::new() }
    }

    /// Takes the counter at a time, `elapsed` after the last.
    fn take(&mut self, bytes: u64, now_s: i64, elapsed: Duration) {
        let last = self.last.replace(bytes);
        // A counter that began anew says nothing of the time before.
        let Some(sent) = last.and_then(|last| bytes.checked_sub(last)).filter(|_| !elapsed.is_zero()) else {
            return;
        };
        let length_s = elapsed.as_secs_f64();
        self.all.push(Interval {
            at_s: now_s - length_s.round() as i64,
            length_s,
            uplink: self.uplink.clone(),
            rate_mbps: self.rate_mbps,
            used_mbps: sent as f64 * 8.0 / 1e6 / length_s,
        });
    }

    /// An hour is a file.
    fn is_full(&self) -> bool {
        self.all.iter().map(|i| i.length_s).sum::<f64>() >= 3600.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_between_looks_and_a_new_counter_begins_anew() {
        let ten = Duration::from_secs(10);
        let mut recorder = Recorder::new("wan0", 4.0);
        recorder.take(1_000, 100, Duration::ZERO);
        recorder.take(1_251_000, 110, ten);
        recorder.take(500, 120, ten);
        recorder.take(500, 130, ten);
        let seen: Vec<(i64, f64)> = recorder.all.iter().map(|i| (i.at_s, i.used_mbps)).collect();
        assert_eq!(seen, [(100, 1.0), (120, 0.0)]);
        assert!(!recorder.is_full());
        (0..358).for_each(|n| recorder.take(500, 140 + n * 10, ten));
        assert!(recorder.is_full());
    }
}
