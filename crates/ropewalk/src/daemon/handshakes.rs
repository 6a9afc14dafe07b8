//! A thread for handshakes: one costs a hundred times what a packet does, and anybody can
//! ask for them.
//!
//! ```text
//!   engine ──HandshakeJob──▶ a few places ──▶ thread: works, rests ──HandshakeResult──▶ waker ──▶ loop ──▶ engine
//! ```
//!
//! The engine keeps what waits, so what is more urgent goes first. The thread comes after the loop where both want the same processor, and
//! takes no more than half of one where nobody else wants it.

use anyhow::Context;
use ropewalk_bond::engine::{Engine, HandshakeJob, HandshakeResult};
use ropewalk_net::poll::Waker;
use ropewalk_net::{clock, priority};
use ropewalk_time::{Duration, Time};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Jobs at the thread: it need not wait for the loop between two of them, and a job that comes later and is more urgent waits for no more.
const UNDER_WAY: usize = 16;
/// So many results wake the loop; fewer do when nothing is left to do. A turn of the loop for each would cost half as much as the job.
const RESULTS: usize = 8;
/// A stack of 2 MiB, which is the default, may become one huge page.
const STACK: usize = 256 << 10;
/// The thread may use one part in so many of a processor.
const SHARE: u32 = 2;
/// It may work for so long before it rests: a thousand clients that come back after a restart take a tenth of a second.
const BURST: Duration = Duration::from_millis(250);
/// How much nicer than the loop it is: about a tenth of the processor where both want all of it (sched(7)).
const NICER: i32 = 10;

/// The loop's end of the thread.
#[derive(Debug)]
pub(super) struct HandshakeThread {
    jobs: SyncSender<HandshakeJob>,
    results: Receiver<HandshakeResult>,
    waker: Arc<Waker>,
    under_way: usize,
}

impl HandshakeThread {
    /// Starts the thread; it ends when this is dropped.
    pub(super) fn start() -> anyhow::Result<HandshakeThread> {
        let (jobs, inbox) = sync_channel(UNDER_WAY);
        let (outbox, results) = sync_channel(UNDER_WAY);
        let waker = Arc::new(Waker::new()?);
        let wake = Arc::clone(&waker);
        let thread = std::thread::Builder::new().name("handshakes".into()).stack_size(STACK);
        let thread = thread.spawn(move || work(&inbox, &outbox, &wake));
        thread.context("a thread cannot be started")?;
        Ok(HandshakeThread { jobs, results, waker, under_way: 0 })
    }

    /// What the poller watches.
    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Gives what is done back to the engine. Clears the waker.
    pub(super) fn take_results(&mut self, engine: &mut Engine, now: Time) {
        self.waker.clear();
        while let Ok(result) = self.results.try_recv() {
            self.under_way -= 1;
            engine.finish_handshake(result, now);
        }
    }

    /// Gives work to the thread, as much as it has places for.
    pub(super) fn give_jobs(&mut self, engine: &mut Engine) {
        while self.under_way < UNDER_WAY
            && let Some(job) = engine.next_handshake()
        {
            // There is a place for each job under way; without a thread there is nobody to take it.
            if self.jobs.try_send(job).is_ok() {
                self.under_way += 1;
            }
        }
    }
}

fn work(jobs: &Receiver<HandshakeJob>, results: &SyncSender<HandshakeResult>, waker: &Waker) {
    if let Err(error) = priority::lower(NICER) {
        tracing::debug!(%error, "handshakes have the niceness of the loop");
    }
    let mut budget = Budget { spent: Duration::ZERO, at: clock::now() };
    let mut untold = 0;
    while let Some(job) = next(jobs, waker, &mut untold) {
        let before = clock::processor_time();
        let result = job.run();
        if results.send(result).is_err() {
            return;
        }
        untold += 1;
        let rest = budget.spend(clock::processor_time().saturating_sub(before), clock::now());
        if untold >= RESULTS || !rest.is_zero() {
            waker.wake();
            untold = 0;
        }
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
    }
}

/// The next job. Before it waits for one, the loop is told of results that it does not know of.
fn next(jobs: &Receiver<HandshakeJob>, waker: &Waker, untold: &mut usize) -> Option<HandshakeJob> {
    if let Ok(job) = jobs.try_recv() {
        return Some(job);
    }
    if std::mem::take(untold) > 0 {
        waker.wake();
    }
    jobs.recv().ok()
}

/// The share of a processor that handshakes may use: a bucket that time empties.
#[derive(Debug)]
struct Budget {
    spent: Duration,
    at: Time,
}

impl Budget {
    /// Accounts work that ended at `now`; how long to rest.
    fn spend(&mut self, work: Duration, now: Time) -> Duration {
        let given_back = now.since(std::mem::replace(&mut self.at, now)) / SHARE;
        self.spent = self.spent.saturating_sub(given_back) + work;
        self.spent.saturating_sub(BURST) * SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Duration = Duration::from_micros(400);

    #[test]
    fn a_flood_of_handshakes_gets_half_a_processor() {
        let (mut now, mut worked) = (Time::from_millis(1000), Duration::ZERO);
        let begin = now;
        let mut budget = Budget { spent: Duration::ZERO, at: now };
        while now.since(begin) < Duration::from_secs(10) {
            now += WORK;
            worked += WORK;
            now += budget.spend(WORK, now);
        }
        let share = (worked - BURST).as_secs_f64() / now.since(begin).as_secs_f64();
        assert!((0.48..=0.501).contains(&share), "{share}");
    }

    #[test]
    fn a_crowd_after_a_quiet_time_waits_for_nothing() {
        let mut now = Time::from_millis(60_000);
        let mut budget = Budget { spent: BURST, at: Time::from_millis(1000) };
        for _ in 0..1000 {
            now += Duration::from_micros(200);
            assert_eq!(budget.spend(Duration::from_micros(200), now), Duration::ZERO);
        }
    }
}
